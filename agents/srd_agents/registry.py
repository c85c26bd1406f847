"""All rankers by name. Importing this imports no torch: rankers are loaded when asked for."""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

from srd_agents.config import config_from
from srd_agents.learner import CONFIG_FILE, read_model_config
from srd_gym.files import PathLike
from srd_gym.names import unknown
from srd_gym.protocols import Ranker

GROUP = "srd_gym.rankers"
"""The entry-point group in which other distributions announce rankers: name -> "module:SPEC" of a `RankerSpec`."""


@dataclass(frozen=True, kw_only=True)
class RankerSpec:
    """A ranker as the registry knows it."""

    name: str
    """How commands, tables and model folders call it."""
    summary: str
    """One line for lists."""
    config_path: str
    """Where its options are: "module:Dataclass"."""
    class_path: str
    """Where it is: "module:Class"; the class takes the options as its only argument."""
    learns: bool = False
    """Whether it must be fitted: the class is then a `srd_agents.learner.Learner`."""
    needs: tuple[str, ...] = ()
    """What a topic must have to be ranked: "vectors", "texts", "subtopic vectors", "query", "retrieval order",
    "judgments"; "model file": the options must name one."""
    uses: tuple[str, ...] = ()
    """What it also looks at where a topic has it."""
    parameters_to_tune: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    """Options that are chosen on validation topics, and the values to try."""

    @property
    def config_class(self) -> type[Any]:
        """The dataclass of its options, imported now."""
        found: type[Any] = _import(self.config_path, self.name)
        return found

    @property
    def ranker_class(self) -> type[Any]:
        """The class, imported now (a learner's imports torch)."""
        found: type[Any] = _import(self.class_path, self.name)
        return found

    def configure(self, **overrides: Any) -> Any:
        """The options, with these values in place of the defaults.

        Raises:
            ValueError: an unknown option (the message suggests the nearest) or a value out of range.
        """
        return config_from(self.config_class, overrides, f"ranker {self.name!r}")

    def build(self, config: Any = None, seed: int | None = None) -> Ranker:
        """The ranker with these options; a learner comes untrained.

        Args:
            config: an instance of `config_class`; None takes the defaults.
            seed: for rankers that draw while ranking (an option `seed`); learners take theirs in `fit`.

        Raises:
            TypeError: options of another ranker.
        """
        config_class = self.config_class
        config = config_class() if config is None else config
        if not isinstance(config, config_class):
            raise TypeError(f"ranker {self.name!r} takes {config_class.__name__}, got {type(config).__name__}")
        if seed is not None and "seed" in {option.name for option in dataclasses.fields(config)}:
            config = dataclasses.replace(config, seed=seed)
        ranker: Ranker = self.ranker_class(config)
        return ranker


_LAMBDAS = tuple(i / 10 for i in range(11))
"""What every heuristic's trade-off is chosen from on validation topics."""
_EXPLICIT: Mapping[str, tuple[Any, ...]] = {
    "lambda_": _LAMBDAS,
    "coverage": ("topic", "subtopic", "cosine"),
    "sharpness": (1.0, 2.0, 4.0, 8.0),
}
"""What explicit methods choose besides: how cosines with subtopics become coverage."""

_BUILT_IN = (
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
    RankerSpec(
        name="mmr",
        summary="maximal marginal relevance (Carbonell & Goldstein 1998)",
        config_path="srd_agents.heuristic.config:MMRConfig",
        class_path="srd_agents.heuristic.mmr:MMR",
        needs=("vectors",),
        uses=("query", "retrieval order"),
        parameters_to_tune={"lambda_": _LAMBDAS},
    ),
    RankerSpec(
        name="msd",
        summary="max-sum diversification: relevance and the sum of distances (Borodin et al. 2012)",
        config_path="srd_agents.heuristic.config:MSDConfig",
        class_path="srd_agents.heuristic.msd:MSD",
        needs=("vectors",),
        uses=("query", "retrieval order"),
        parameters_to_tune={"lambda_": _LAMBDAS},
    ),
    RankerSpec(
        name="dpp",
        summary="greedy inference for a determinantal point process (Chen et al. 2018)",
        config_path="srd_agents.heuristic.config:DPPConfig",
        class_path="srd_agents.heuristic.dpp:DPP",
        needs=("vectors",),
        uses=("query", "retrieval order"),
        parameters_to_tune={"lambda_": _LAMBDAS},
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
        config_path="srd_agents.heuristic.config:PM2Config",
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
        name="oracle",
        summary="greedy on the judgments themselves: the upper reference, no competitor",
        config_path="srd_agents.heuristic.config:OracleConfig",
        class_path="srd_agents.heuristic.oracle:Oracle",
        needs=("judgments",),
    ),
    RankerSpec(
        name="mdp-div",
        summary="REINFORCE, one topic at a time, exactly as published (Xia et al. 2017)",
        config_path="srd_agents.reinforce.config:MdpDivConfig",
        class_path="srd_agents.reinforce.agent:MdpDiv",
        learns=True,
        needs=("vectors",),
        uses=("query",),
    ),
    RankerSpec(
        name="mdp-div-batched",
        summary="MDP-DIV trained on batches of topics and rollouts: baseline, Adam, entropy, clipping",
        config_path="srd_agents.reinforce.config:MdpDivBatchedConfig",
        class_path="srd_agents.reinforce.agent:MdpDivBatched",
        learns=True,
        needs=("vectors",),
        uses=("query",),
    ),
    RankerSpec(
        name="m2div",
        summary="Monte Carlo tree search guided by a network that learns from it (M2Div, Feng et al. 2018)",
        config_path="srd_agents.mcts.config:M2DivConfig",
        class_path="srd_agents.mcts.agent:M2Div",
        learns=True,
        needs=("vectors",),
        uses=("query",),
    ),
    RankerSpec(
        name="ntn-div",
        summary="novelty as a neural tensor network, learned from ideal rankings (Xia et al. 2016)",
        config_path="srd_agents.supervised.config:NtnDivConfig",
        class_path="srd_agents.supervised.ntn:NtnDiv",
        learns=True,
        needs=("vectors",),
        uses=("query", "retrieval order"),
    ),
    RankerSpec(
        name="daletor",
        summary="self-attention scores all candidates, trained on a smooth alpha_DCG (Yan et al. 2021)",
        config_path="srd_agents.supervised.smooth_config:DaletorConfig",
        class_path="srd_agents.supervised.smooth:Daletor",
        learns=True,
        needs=("vectors",),
        uses=("query", "retrieval order"),
    ),
    RankerSpec(
        name="mo4srd",
        summary="as daletor, with Gaussian scores and a measure of expected ranks (Yu 2022)",
        config_path="srd_agents.supervised.smooth_config:Mo4srdConfig",
        class_path="srd_agents.supervised.smooth:Mo4srd",
        learns=True,
        needs=("vectors",),
        uses=("query", "retrieval order"),
    ),
    RankerSpec(
        name="r-ltr",
        summary="linear relevance and relations to what is ranked, the likelihood of ideal rankings (Zhu et al. 2014)",
        config_path="srd_agents.supervised.linear_config:RltrConfig",
        class_path="srd_agents.supervised.rltr:Rltr",
        learns=True,
        needs=("vectors",),
        uses=("query", "retrieval order", "own columns", "texts"),
    ),
    RankerSpec(
        name="pamm",
        summary="as r-ltr, a perceptron on pairs of rankings by any measure (Xu et al. 2017)",
        config_path="srd_agents.supervised.linear_config:PammConfig",
        class_path="srd_agents.supervised.rltr:Pamm",
        learns=True,
        needs=("vectors",),
        uses=("query", "retrieval order", "own columns", "texts"),
    ),
    RankerSpec(
        name="sgdmm-log",
        summary="as pamm, with a logistic loss",
        config_path="srd_agents.supervised.linear_config:SgdmmLogConfig",
        class_path="srd_agents.supervised.rltr:SgdmmLog",
        learns=True,
        needs=("vectors",),
        uses=("query", "retrieval order", "own columns", "texts"),
    ),
    RankerSpec(
        name="sgdmm-exp",
        summary="as pamm, with an exponential loss",
        config_path="srd_agents.supervised.linear_config:SgdmmExpConfig",
        class_path="srd_agents.supervised.rltr:SgdmmExp",
        learns=True,
        needs=("vectors",),
        uses=("query", "retrieval order", "own columns", "texts"),
    ),
    RankerSpec(
        name="listmle",
        summary="linear relevance, the likelihood of the order by covered subtopics (Xia et al. 2008)",
        config_path="srd_agents.supervised.linear_config:ListMleConfig",
        class_path="srd_agents.supervised.rltr:ListMle",
        learns=True,
        needs=("vectors",),
        uses=("query", "retrieval order", "own columns"),
    ),
    RankerSpec(
        name="structsvm",
        summary="linear relevance, a structural SVM whose loss is 1 - any measure",
        config_path="srd_agents.supervised.linear_config:StructSvmConfig",
        class_path="srd_agents.supervised.svm:StructSvm",
        learns=True,
        needs=("vectors",),
        uses=("query", "retrieval order", "own columns"),
    ),
    RankerSpec(
        name="svm-div",
        summary="a structural SVM that covers weighted words (Yue & Joachims 2008)",
        config_path="srd_agents.supervised.linear_config:SvmDivConfig",
        class_path="srd_agents.supervised.svm:SvmDiv",
        learns=True,
        needs=("vectors", "texts"),
    ),
    RankerSpec(
        name="mdp-div-knn10",
        summary="MDP-DIV that drops the nearest 10% of what remains after each rank (Liu et al. 2018)",
        config_path="srd_agents.reinforce.config:MdpDivKnn10Config",
        class_path="srd_agents.reinforce.pruned:MdpDivKnn10",
        learns=True,
        needs=("vectors",),
        uses=("query",),
    ),
    RankerSpec(
        name="mdp-div-knn20",
        summary="MDP-DIV that drops the nearest 20% of what remains after each rank",
        config_path="srd_agents.reinforce.config:MdpDivKnn20Config",
        class_path="srd_agents.reinforce.pruned:MdpDivKnn20",
        learns=True,
        needs=("vectors",),
        uses=("query",),
    ),
    RankerSpec(
        name="mdp-div-knn30",
        summary="MDP-DIV that drops the nearest 30% of what remains after each rank",
        config_path="srd_agents.reinforce.config:MdpDivKnn30Config",
        class_path="srd_agents.reinforce.pruned:MdpDivKnn30",
        learns=True,
        needs=("vectors",),
        uses=("query",),
    ),
    RankerSpec(
        name="mdp-div-ntn-d",
        summary="MDP-DIV on the half of the candidates that NTN-DIV ranks first",
        config_path="srd_agents.reinforce.config:MdpDivNtnConfig",
        class_path="srd_agents.reinforce.pruned:MdpDivNtnD",
        learns=True,
        needs=("vectors",),
        uses=("query", "retrieval order"),
    ),
    RankerSpec(
        name="mdp-div-ntn-e",
        summary="MDP-DIV on what NTN-DIV puts first after each rank",
        config_path="srd_agents.reinforce.config:MdpDivNtnEachConfig",
        class_path="srd_agents.reinforce.pruned:MdpDivNtnE",
        learns=True,
        needs=("vectors",),
        uses=("query", "retrieval order"),
    ),
    RankerSpec(
        name="qmix",
        summary="every document is an agent that scores itself, learned with QMIX (MA4DIV, Chen et al. 2025)",
        config_path="srd_agents.qmix.config:QmixConfig",
        class_path="srd_agents.qmix.agent:Qmix",
        learns=True,
        needs=("vectors",),
        uses=("query",),
    ),
    RankerSpec(
        name="vdn",
        summary="as qmix, the agents' values added up (Sunehag et al. 2018)",
        config_path="srd_agents.qmix.config:VdnConfig",
        class_path="srd_agents.qmix.agent:Vdn",
        learns=True,
        needs=("vectors",),
        uses=("query",),
    ),
    RankerSpec(
        name="iql",
        summary="as qmix, every agent learning from the shared reward on its own (Tan 1993)",
        config_path="srd_agents.qmix.config:IqlConfig",
        class_path="srd_agents.qmix.agent:Iql",
        learns=True,
        needs=("vectors",),
        uses=("query",),
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
    ),
)


class Registry(Mapping[str, RankerSpec]):
    """Built-in rankers and those that installed distributions announce; a built-in name cannot be taken over.

    Args:
        built_in: specs of this distribution.
        group: the entry-point group of the others.
    """

    def __init__(self, built_in: tuple[RankerSpec, ...], group: str) -> None:
        self._built_in = {spec.name: spec for spec in built_in}
        self._group = group

    def __getitem__(self, name: str) -> RankerSpec:
        """The spec of this name.

        Raises:
            KeyError: none; `find` gives the friendlier error.
            TypeError: the entry point is no `RankerSpec`.
        """
        if name in self._built_in:
            return self._built_in[name]
        point = self._announced()[name]
        spec = point.load()
        if not isinstance(spec, RankerSpec):
            raise TypeError(
                f"entry point {point.name!r} in {self._group!r} ({point.value}) gives {type(spec).__name__}, "
                "expected a srd_agents.registry.RankerSpec"
            )
        return spec

    def __iter__(self) -> Iterator[str]:
        yield from self._built_in
        yield from (name for name in self._announced() if name not in self._built_in)

    def __len__(self) -> int:
        return len(list(iter(self)))

    def find(self, name: str, hint: str = "") -> RankerSpec:
        """The spec of this name.

        Args:
            name: what the user typed.
            hint: a last sentence for the error.

        Raises:
            ValueError: none; the message suggests the nearest names.
        """
        if name not in self:
            raise unknown("ranker", name, self, hint)
        return self[name]

    def __contains__(self, name: object) -> bool:
        # Mapping's own would import a third-party ranker only to see whether its name exists.
        return name in self._built_in or name in self._announced()

    def _announced(self) -> dict[str, EntryPoint]:
        """Entry points by name, nothing imported."""
        return {point.name: point for point in entry_points(group=self._group)}


RANKERS = Registry(_BUILT_IN, GROUP)
"""Name -> spec."""


def make_ranker(name: str, **overrides: Any) -> Ranker:
    """A ranker by name, with these options in place of the defaults: `make_ranker("mmr", lambda_=0.7)`.

    Raises:
        ValueError: an unknown name or option (the message suggests the nearest), or a value out of range.
    """
    spec = RANKERS.find(name)
    return spec.build(spec.configure(**overrides))


def load_ranker(name_or_folder: PathLike) -> Ranker:
    """A ranker that can rank at once: a trained one from its folder, or one that needs no training by name.

    Raises:
        ValueError: a learner's name without a folder, an unknown name, or a folder that holds no trained ranker.
    """
    folder = Path(name_or_folder)
    if folder.is_dir():
        if not (folder / CONFIG_FILE).is_file():
            raise ValueError(f"{folder} holds no trained ranker (no {CONFIG_FILE}); expected a folder of `srd train`")
        return load_trained(folder)
    name = str(name_or_folder)
    spec = RANKERS.find(name, hint="A trained ranker is given by its folder, and there is no such folder.")
    if spec.learns:
        raise ValueError(f"ranker {name!r} must be trained first: give the folder that `srd train {name}` wrote")
    return spec.build()


def load_trained(folder: PathLike) -> Ranker:
    """The trained ranker in a folder: a learner with its weights, or a heuristic with the options chosen for it.

    Raises:
        ValueError: a folder of an unknown ranker, or whatever `Learner.load` refuses.
    """
    content = read_model_config(folder)
    spec = RANKERS.find(content["ranker"], hint=f"{folder} holds its weights; install what provides it.")
    if not spec.learns:
        return spec.build(spec.configure(**content["config"]))
    learner: Ranker = spec.ranker_class.load(folder)
    return learner


def _import(path: str, owner: str) -> Any:
    """What "module:Name" stands for."""
    module, _, name = path.partition(":")
    try:
        return getattr(importlib.import_module(module), name)
    except ModuleNotFoundError as error:
        if error.name in ("torch", "safetensors"):
            raise ImportError(f'ranker {owner!r} needs {error.name}: pip install "srd-gym[agents]"') from error
        raise
