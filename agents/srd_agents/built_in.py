"""The rankers of this distribution, in the order of lists: name -> what a `RankerSpec` says. Nothing is imported."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Row = Mapping[str, Any]

_LAMBDAS = tuple(i / 10 for i in range(11))
"""What every heuristic's trade-off is chosen from on validation topics."""
_EXPLICIT: Row = {
    "lambda_": _LAMBDAS,
    "coverage": ("topic", "subtopic", "cosine"),
    "sharpness": (1.0, 2.0, 4.0, 8.0),
}
"""What explicit methods choose besides: how cosines with subtopics become coverage."""
_ORDER = ("query", "retrieval order")
_COLUMNS = (*_ORDER, "own columns")
_PAIRS: Row = {"config": "PairConfig", "uses": (*_COLUMNS, "texts")}


def _ranker(class_path: str, summary: str, config: str = "", **more: Any) -> Row:
    """A row.

    Args:
        class_path: "room.module:Class" below `srd_agents`.
        summary: one line for lists.
        config: its dataclass, beside the class where it is linear, else in the room's `config` module; the class's name
            with Config behind it unless given.
        more: what else a `RankerSpec` says.
    """
    module, name = class_path.split(":")
    place = module if module.startswith("supervised.linear.") else f"{module.rpartition('.')[0]}.config"
    config_path = f"srd_agents.{place}:{config or name + 'Config'}"
    return {"class_path": f"srd_agents.{class_path}", "config_path": config_path, "summary": summary, **more}


def _learner(class_path: str, summary: str, config: str = "", **more: Any) -> Row:
    """The row of a ranker that is fitted; it needs vectors and looks at the query unless `more` says otherwise."""
    return _ranker(class_path, summary, config, **{"learns": True, "needs": ("vectors",), "uses": ("query",), **more})


def _by_vectors(class_path: str, summary: str, config: str = "") -> Row:
    """The row of a heuristic that weighs relevance against the distances of vectors."""
    tuned = {"lambda_": _LAMBDAS}
    return _ranker(class_path, summary, config, needs=("vectors",), uses=_ORDER, parameters_to_tune=tuned)


BUILT_IN: Mapping[str, Row] = {
    "retrieval-order": _ranker(
        "heuristic.order:RetrievalOrder", "the candidates as they were retrieved", needs=("retrieval order",)
    ),
    "random": _ranker(
        "heuristic.order:RandomOrder",
        "a seeded shuffle, the same for a topic whatever is ranked with it",
        "RandomConfig",
    ),
    "mmr": _by_vectors("heuristic.mmr:MMR", "maximal marginal relevance (Carbonell & Goldstein 1998)"),
    "msd": _by_vectors(
        "heuristic.msd:MSD",
        "max-sum diversification: relevance and the sum of distances (Borodin et al. 2012)",
        "TradeOffConfig",
    ),
    "dpp": _by_vectors(
        "heuristic.dpp:DPP",
        "greedy inference for a determinantal point process (Chen et al. 2018)",
        "TradeOffConfig",
    ),
    "xquad": _ranker(
        "heuristic.xquad:XQuAD",
        "explicit: relevance and subtopics not yet covered (xQuAD, Santos et al. 2010)",
        needs=("vectors", "subtopic vectors"),
        uses=_ORDER,
        parameters_to_tune=_EXPLICIT,
    ),
    "pm2": _ranker(
        "heuristic.pm2:PM2",
        "explicit: ranks shared among subtopics in proportion (PM-2, Dang & Croft 2012)",
        "ExplicitConfig",
        needs=("vectors", "subtopic vectors"),
        parameters_to_tune=_EXPLICIT,
    ),
    "relational-pretrained": _ranker(
        "relational.ranker:Pretrained",
        "relations of candidates, learned from generated topics: any vectors, needs no training",
        needs=("vectors",),
        uses=_ORDER,
    ),
    "relational": _learner(
        "reinforce.agent:Reinforce",
        "relations alone, fine-tuned on your topics (or trained from the start) by REINFORCE",
        options={"parts": "relations"},
        uses=_ORDER,
    ),
    "cautious": {
        "class_path": "srd_agents.cautious:Cautious",
        "config_path": "srd_agents.cautious:CautiousConfig",
        "summary": "keeps the order of scores, near copies last; without scores relations, with subtopics PM-2",
        "needs": ("vectors",),
        "uses": (*_ORDER, "subtopic vectors"),
    },
    "oracle": _ranker(
        "heuristic.oracle:Oracle",
        "greedy on the judgments themselves: the upper reference, no competitor",
        needs=("judgments",),
    ),
    "mdp-div": _learner("mdp_div.agent:MdpDiv", "REINFORCE, one topic at a time, as published (Xia et al. 2017)"),
    "mdp-div-return-only": _learner(
        "mdp_div.agent:MdpDiv",
        "MDP-DIV paid once, at the end of the list (its ReturnOnly)",
        options={"return_only": True},
    ),
    "mdp-div-s-recall": _learner(
        "mdp_div.agent:MdpDiv", "MDP-DIV paid by subtopic recall (its S-recall)", options={"reward": "StRecall"}
    ),
    "mdp-div-batched": _learner(
        "mdp_div.agent:MdpDivBatched",
        "MDP-DIV's policy learned in batches of topics and rollouts: baseline, Adam, entropy, clipping",
    ),
    "reinforce": _learner(
        "reinforce.agent:Reinforce",
        "REINFORCE on a policy of relations and directions: what transfers is chosen on validation",
        uses=_ORDER,
    ),
    "mcts": _learner(
        "mcts.agent:Mcts", "Monte Carlo tree search guided by a network that learns from it (after M2Div)"
    ),
    "m2div": _learner(
        "mcts.agent:Mcts",
        "mcts with the settings of M2Div as published (Feng et al. 2018)",
        options={
            "batch_topics": 1,
            "root": "puct",
            "simulations": 5000,
            "rank_simulations": 5000,
            "hidden": 5,
            "init": "uniform",
            "optimizer": "adagrad",
            "learning_rate": 0.01,
            "clip_norm": 0.0,
            "standardize": False,
            "validation_measure": "alpha_nDCG@5",
        },
    ),
    "ntn-div": _learner(
        "supervised.ntn_div.agent:NtnDiv",
        "novelty as a neural tensor network, learned from ideal rankings (Xia et al. 2016)",
        uses=_ORDER,
    ),
    "daletor": _learner(
        "supervised.smooth.agent:Daletor",
        "self-attention scores all candidates, trained on a smooth alpha_DCG (Yan et al. 2021)",
        uses=_ORDER,
    ),
    "mo4srd": _learner(
        "supervised.smooth.agent:Mo4srd",
        "as daletor, with Gaussian scores and a measure of expected ranks (Yu 2022)",
        uses=_ORDER,
    ),
    "r-ltr": _learner(
        "supervised.linear.r_ltr:Rltr",
        "linear relevance and relations to what is ranked, the likelihood of ideal rankings (Zhu et al. 2014)",
        uses=(*_COLUMNS, "texts"),
    ),
    "pamm": _learner(
        "supervised.linear.r_ltr:Pamm",
        "as r-ltr, a perceptron on pairs of rankings by any measure (Xu et al. 2017)",
        **_PAIRS,
    ),
    "sgdmm-log": _learner("supervised.linear.r_ltr:SgdmmLog", "as pamm, with a logistic loss", **_PAIRS),
    "sgdmm-exp": _learner("supervised.linear.r_ltr:SgdmmExp", "as pamm, with an exponential loss", **_PAIRS),
    "listmle": _learner(
        "supervised.linear.r_ltr:ListMle",
        "linear relevance, the likelihood of the order by covered subtopics (Xia et al. 2008)",
        uses=_COLUMNS,
    ),
    "structsvm": _learner(
        "supervised.linear.svm:StructSvm",
        "linear relevance, a structural SVM whose loss is 1 - any measure",
        uses=_COLUMNS,
    ),
    "svm-div": _learner(
        "supervised.linear.svm:SvmDiv",
        "a structural SVM that covers weighted words (Yue & Joachims 2008)",
        needs=("vectors", "texts"),
        uses=(),
    ),
    **{
        f"mdp-div-knn{percent}": _learner(
            "mdp_div.agent:MdpDiv",
            f"MDP-DIV that drops the nearest {percent}% of what remains after each rank (Liu et al. 2018)",
            options={"pruning": f"knn:{percent / 100:g}"},
        )
        for percent in (10, 20, 30)
    },
    "mdp-div-ntn-d": _learner(
        "mdp_div.pruned:MdpDivNtn", "MDP-DIV on the half of the candidates that NTN-DIV ranks first", uses=_ORDER
    ),
    "mdp-div-ntn-e": _learner(
        "mdp_div.pruned:MdpDivNtn",
        "MDP-DIV on what NTN-DIV puts first after each rank",
        options={"when": "step"},
        uses=_ORDER,
    ),
    "qmix": _learner(
        "qmix.agent:Qmix", "every document is an agent that scores itself, learned with QMIX (after MA4DIV)"
    ),
    "ma4div": _learner(
        "qmix.agent:Qmix",
        "qmix with the settings of MA4DIV as published for DU-DIV's lists of 15 (Chen et al. 2025)",
        options={
            "reward": "alpha_nDCG@5 + alpha_nDCG@15",
            "state": "flat",
            "max_candidates": 15,
            "n_scores": 15,
            "attention_width": 256,
            "hidden": 256,
            "layers": 1,
            "mixing_width": 32,
            "rollouts": 1,
            "updates": 1,
            "learning_rate": 1e-4,
            "epsilon_episodes": 300_000,
            "standardize": False,
        },
    ),
    "vdn": _learner("qmix.agent:Vdn", "as qmix, the agents' values added up (Sunehag et al. 2018)"),
    "iql": _learner(
        "qmix.agent:Iql",
        "as qmix, every agent learning from the shared reward on its own (Tan 1993)",
        "ScoringConfig",
    ),
    "maskable-ppo": _learner(
        "sb3.agent:MaskablePpo",
        "sb3-contrib's MaskablePPO with a policy that scores candidates one like the other",
        uses=_ORDER,
    ),
    "sb3": _ranker(
        "sb3.ranker:Sb3Model",
        "a model that Stable-Baselines3 or sb3-contrib trained, from its zip file",
        needs=("vectors", "model file"),
        uses=_ORDER,
        foreign_code=True,
    ),
}
