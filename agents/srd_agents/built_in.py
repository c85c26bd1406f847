"""The rankers of this distribution, a spec each, in the order of lists. Nothing of theirs is imported here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from srd_agents.spec import RankerSpec

_LAMBDAS = tuple(i / 10 for i in range(11))
"""What every heuristic's trade-off is chosen from on validation topics."""
_EXPLICIT: Mapping[str, tuple[Any, ...]] = {
    "lambda_": _LAMBDAS,
    "coverage": ("topic", "subtopic", "cosine"),
    "sharpness": (1.0, 2.0, 4.0, 8.0),
}
"""What explicit methods choose besides: how cosines with subtopics become coverage."""

_MMR = RankerSpec(
    name="mmr",
    summary="maximal marginal relevance (Carbonell & Goldstein 1998)",
    config_path="srd_agents.heuristic.config:MMRConfig",
    class_path="srd_agents.heuristic.mmr:MMR",
    needs=("vectors",),
    uses=("query", "retrieval order"),
    parameters_to_tune={"lambda_": _LAMBDAS},
)
_MDP_DIV = RankerSpec(
    name="mdp-div",
    summary="REINFORCE, one topic at a time, exactly as published (Xia et al. 2017)",
    config_path="srd_agents.reinforce.config:MdpDivConfig",
    class_path="srd_agents.reinforce.agent:MdpDiv",
    learns=True,
    needs=("vectors",),
    uses=("query",),
)
_MCTS = RankerSpec(
    name="mcts",
    summary="Monte Carlo tree search guided by a network that learns from it (after M2Div)",
    config_path="srd_agents.mcts.config:MctsConfig",
    class_path="srd_agents.mcts.agent:Mcts",
    learns=True,
    needs=("vectors",),
    uses=("query",),
)
_DALETOR = RankerSpec(
    name="daletor",
    summary="self-attention scores all candidates, trained on a smooth alpha_DCG (Yan et al. 2021)",
    config_path="srd_agents.supervised.smooth.config:DaletorConfig",
    class_path="srd_agents.supervised.smooth.agent:Daletor",
    learns=True,
    needs=("vectors",),
    uses=("query", "retrieval order"),
)
_R_LTR = RankerSpec(
    name="r-ltr",
    summary="linear relevance and relations to what is ranked, the likelihood of ideal rankings (Zhu et al. 2014)",
    config_path="srd_agents.supervised.linear.config:RltrConfig",
    class_path="srd_agents.supervised.linear.r_ltr:Rltr",
    learns=True,
    needs=("vectors",),
    uses=("query", "retrieval order", "own columns", "texts"),
)
_PAMM = replace(
    _R_LTR,
    name="pamm",
    summary="as r-ltr, a perceptron on pairs of rankings by any measure (Xu et al. 2017)",
    config_path="srd_agents.supervised.linear.config:PairConfig",
    class_path="srd_agents.supervised.linear.r_ltr:Pamm",
)
_LISTMLE = RankerSpec(
    name="listmle",
    summary="linear relevance, the likelihood of the order by covered subtopics (Xia et al. 2008)",
    config_path="srd_agents.supervised.linear.config:ListMleConfig",
    class_path="srd_agents.supervised.linear.r_ltr:ListMle",
    learns=True,
    needs=("vectors",),
    uses=("query", "retrieval order", "own columns"),
)
_MDP_DIV_NTN_D = RankerSpec(
    name="mdp-div-ntn-d",
    summary="MDP-DIV on the half of the candidates that NTN-DIV ranks first",
    config_path="srd_agents.reinforce.config:MdpDivNtnConfig",
    class_path="srd_agents.reinforce.pruned:MdpDivNtn",
    learns=True,
    needs=("vectors",),
    uses=("query", "retrieval order"),
)
_QMIX = RankerSpec(
    name="qmix",
    summary="every document is an agent that scores itself, learned with QMIX (after MA4DIV)",
    config_path="srd_agents.qmix.config:QmixConfig",
    class_path="srd_agents.qmix.agent:Qmix",
    learns=True,
    needs=("vectors",),
    uses=("query",),
)

BUILT_IN = (
    RankerSpec(
        name="retrieval-order",
        summary="the candidates as they were retrieved",
        config_path="srd_agents.heuristic.config:RetrievalOrderConfig",
        class_path="srd_agents.heuristic.order:RetrievalOrder",
        needs=("retrieval order",),
    ),
    RankerSpec(
        name="random",
        summary="a seeded shuffle, the same for a topic whatever is ranked with it",
        config_path="srd_agents.heuristic.config:RandomConfig",
        class_path="srd_agents.heuristic.order:RandomOrder",
    ),
    _MMR,
    replace(
        _MMR,
        name="msd",
        summary="max-sum diversification: relevance and the sum of distances (Borodin et al. 2012)",
        config_path="srd_agents.heuristic.config:TradeOffConfig",
        class_path="srd_agents.heuristic.msd:MSD",
    ),
    replace(
        _MMR,
        name="dpp",
        summary="greedy inference for a determinantal point process (Chen et al. 2018)",
        config_path="srd_agents.heuristic.config:TradeOffConfig",
        class_path="srd_agents.heuristic.dpp:DPP",
    ),
    RankerSpec(
        name="xquad",
        summary="explicit: relevance and subtopics not yet covered (xQuAD, Santos et al. 2010)",
        config_path="srd_agents.heuristic.config:XQuADConfig",
        class_path="srd_agents.heuristic.xquad:XQuAD",
        needs=("vectors", "subtopic vectors"),
        uses=("query", "retrieval order"),
        parameters_to_tune=_EXPLICIT,
    ),
    RankerSpec(
        name="pm2",
        summary="explicit: ranks shared among subtopics in proportion (PM-2, Dang & Croft 2012)",
        config_path="srd_agents.heuristic.config:ExplicitConfig",
        class_path="srd_agents.heuristic.pm2:PM2",
        needs=("vectors", "subtopic vectors"),
        parameters_to_tune=_EXPLICIT,
    ),
    RankerSpec(
        name="relational-pretrained",
        summary="relations of candidates, learned from generated topics: any vectors, needs no training",
        config_path="srd_agents.relational.config:PretrainedConfig",
        class_path="srd_agents.relational.ranker:Pretrained",
        needs=("vectors",),
        uses=("query", "retrieval order"),
    ),
    RankerSpec(
        name="relational",
        summary="the same, fine-tuned on your topics (or trained from the start) by REINFORCE",
        config_path="srd_agents.relational.config:RelationalConfig",
        class_path="srd_agents.relational.agent:Relational",
        learns=True,
        needs=("vectors",),
        uses=("query", "retrieval order"),
    ),
    RankerSpec(
        name="cautious",
        summary="keeps the order of scores, near copies last; without scores relations, with subtopics PM-2",
        config_path="srd_agents.cautious:CautiousConfig",
        class_path="srd_agents.cautious:Cautious",
        needs=("vectors",),
        uses=("query", "retrieval order", "subtopic vectors"),
    ),
    RankerSpec(
        name="oracle",
        summary="greedy on the judgments themselves: the upper reference, no competitor",
        config_path="srd_agents.heuristic.config:OracleConfig",
        class_path="srd_agents.heuristic.oracle:Oracle",
        needs=("judgments",),
    ),
    _MDP_DIV,
    replace(
        _MDP_DIV,
        name="reinforce",
        summary="REINFORCE on batches of topics and rollouts: baseline, Adam, entropy, clipping (after MDP-DIV)",
        config_path="srd_agents.reinforce.config:ReinforceConfig",
        class_path="srd_agents.reinforce.agent:Reinforce",
    ),
    _MCTS,
    replace(
        _MCTS,
        name="m2div",
        summary="the same with the settings of M2Div as published (Feng et al. 2018)",
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
    RankerSpec(
        name="ntn-div",
        summary="novelty as a neural tensor network, learned from ideal rankings (Xia et al. 2016)",
        config_path="srd_agents.supervised.ntn_div.config:NtnDivConfig",
        class_path="srd_agents.supervised.ntn_div.agent:NtnDiv",
        learns=True,
        needs=("vectors",),
        uses=("query", "retrieval order"),
    ),
    _DALETOR,
    replace(
        _DALETOR,
        name="mo4srd",
        summary="as daletor, with Gaussian scores and a measure of expected ranks (Yu 2022)",
        config_path="srd_agents.supervised.smooth.config:Mo4srdConfig",
        class_path="srd_agents.supervised.smooth.agent:Mo4srd",
    ),
    _R_LTR,
    _PAMM,
    replace(
        _PAMM,
        name="sgdmm-log",
        summary="as pamm, with a logistic loss",
        class_path="srd_agents.supervised.linear.r_ltr:SgdmmLog",
    ),
    replace(
        _PAMM,
        name="sgdmm-exp",
        summary="as pamm, with an exponential loss",
        class_path="srd_agents.supervised.linear.r_ltr:SgdmmExp",
    ),
    _LISTMLE,
    replace(
        _LISTMLE,
        name="structsvm",
        summary="linear relevance, a structural SVM whose loss is 1 - any measure",
        config_path="srd_agents.supervised.linear.config:StructSvmConfig",
        class_path="srd_agents.supervised.linear.svm:StructSvm",
    ),
    RankerSpec(
        name="svm-div",
        summary="a structural SVM that covers weighted words (Yue & Joachims 2008)",
        config_path="srd_agents.supervised.linear.config:SvmDivConfig",
        class_path="srd_agents.supervised.linear.svm:SvmDiv",
        learns=True,
        needs=("vectors", "texts"),
    ),
    replace(
        _MDP_DIV,
        name="mdp-div-knn10",
        summary="MDP-DIV that drops the nearest 10% of what remains after each rank (Liu et al. 2018)",
        options={"pruning": "knn:0.1"},
    ),
    replace(
        _MDP_DIV,
        name="mdp-div-knn20",
        summary="MDP-DIV that drops the nearest 20% of what remains after each rank",
        options={"pruning": "knn:0.2"},
    ),
    replace(
        _MDP_DIV,
        name="mdp-div-knn30",
        summary="MDP-DIV that drops the nearest 30% of what remains after each rank",
        options={"pruning": "knn:0.3"},
    ),
    _MDP_DIV_NTN_D,
    replace(
        _MDP_DIV_NTN_D,
        name="mdp-div-ntn-e",
        summary="MDP-DIV on what NTN-DIV puts first after each rank",
        options={"when": "step"},
    ),
    _QMIX,
    replace(
        _QMIX,
        name="ma4div",
        summary="the same with the settings of MA4DIV as published for DU-DIV's lists of 15 (Chen et al. 2025)",
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
    replace(
        _QMIX,
        name="vdn",
        summary="as qmix, the agents' values added up (Sunehag et al. 2018)",
        config_path="srd_agents.qmix.config:VdnConfig",
        class_path="srd_agents.qmix.agent:Vdn",
    ),
    replace(
        _QMIX,
        name="iql",
        summary="as qmix, every agent learning from the shared reward on its own (Tan 1993)",
        config_path="srd_agents.qmix.config:ScoringConfig",
        class_path="srd_agents.qmix.agent:Iql",
    ),
    RankerSpec(
        name="maskable-ppo",
        summary="sb3-contrib's MaskablePPO with a policy that scores candidates one like the other",
        config_path="srd_agents.sb3.config:MaskablePpoConfig",
        class_path="srd_agents.sb3.agent:MaskablePpo",
        learns=True,
        needs=("vectors",),
        uses=("query", "retrieval order"),
    ),
    RankerSpec(
        name="sb3",
        summary="a model that Stable-Baselines3 or sb3-contrib trained, from its zip file",
        config_path="srd_agents.sb3.config:Sb3ModelConfig",
        class_path="srd_agents.sb3.ranker:Sb3Model",
        needs=("vectors", "model file"),
        uses=("query", "retrieval order"),
        foreign_code=True,
    ),
)
