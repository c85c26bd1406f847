"""Options of the heuristics."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from srd_agents.training.options import Config, CountFromZero, MeasureOption, Positive, Share
from srd_gym.checks import check_integer, check_positive

Relevance = Literal["auto", "cosine", "scores", "scaled", "matched", "rank"]
"""Kinds of relevance, explained at `TradeOffConfig.relevance`."""
KINDS: tuple[str, ...] = get_args(Relevance)
"""The same as words."""


@dataclass(frozen=True, kw_only=True)
class RandomConfig(Config):
    """Options of the random order."""

    seed: CountFromZero = 0
    """Another seed, another shuffle."""


@dataclass(frozen=True, kw_only=True)
class TradeOffConfig(Config):
    """Options of MSD and DPP, and of every heuristic that weighs relevance against something else."""

    lambda_: Share = 0.5
    """Weight of relevance, 0 (only novelty) to 1 (only relevance)."""
    relevance: Relevance = "auto"
    """Relevance of a document: "cosine" (of query and document), "scores" (retrieval scores as they are), "scaled"
    (scores scaled to [0, 1] in the topic), "matched" (scores on the scale of the cosines, see
    `srd_agents.heuristic.relevance.matched`; cosines where there are none), "rank" (falling evenly from 1 along the
    retrieval order), or "auto": "scaled" where the topic has scores, else "cosine"."""


@dataclass(frozen=True, kw_only=True)
class MMRConfig(TradeOffConfig):
    """Options of MMR."""

    clip: bool = False
    """Take similarities below 0 as 0: opposite documents are then no more novel than unrelated ones."""


@dataclass(frozen=True, kw_only=True)
class SSDConfig(TradeOffConfig):
    """Options of SSD."""

    gamma: Positive = 1.0
    """Weight of a unit of novelty beside a standard deviation of relevance."""
    window: int | None = None
    """A document must differ from so many ranked last; None: from all of them."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.window is not None:
            check_integer("window", self.window, 1)


@dataclass(frozen=True, kw_only=True)
class CoverageConfig(TradeOffConfig):
    """Options of rankers that choose documents to stand for all candidates."""

    scale: Literal["mean", "sum"] = "mean"
    """Whether what is covered counts per candidate ("mean"), so that one lambda means the same for any number of them,
    or in total ("sum", as pyversity has it)."""


@dataclass(frozen=True, kw_only=True)
class CoverConfig(CoverageConfig):
    """Options of COVER."""

    gamma: Share = 0.5
    """Power of what is covered, above 0; the lower, the less a second similar document adds (1: as much again)."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive("gamma", self.gamma)


@dataclass(frozen=True, kw_only=True)
class SaturatedCoverageConfig(CoverageConfig):
    """Options of saturated coverage."""

    saturation: Positive = 5.0
    """a: a candidate is covered once the documents chosen resemble it as much as a / N of all candidates do."""


@dataclass(frozen=True, kw_only=True)
class ExplicitConfig(Config):
    """Options of PM-2, and of every explicit method, which is given the subtopics."""

    lambda_: Share = 0.5
    """xQuAD: weight of relevance, 0 (only subtopics) to 1 (only relevance). PM-2: weight of the subtopic whose turn it
    is, 0 to 1; the others (and with coverage "named" the order) share the rest."""
    coverage: Literal["named", "topic", "subtopic", "cosine"] = "named"
    """How far a document covers a subtopic: "named" (estimates that bear missing, irrelevant and repeated subtopics,
    and count the order of the scores beside them; `srd_agents.heuristic.named`), or as the papers have it, by their
    cosine: "cosine" (below 0 is 0), "topic" (scaled to [0, 1] over all pairs of the topic), or "subtopic" (scaled to
    [0, 1] over the candidates, for each subtopic)."""
    sharpness: Positive = 1.0
    """Power that this is raised to: above 1, documents that resemble many subtopics a little cover them less."""
    ordered: bool = True
    """Of coverage "named", for topics without subtopic weights: whether subtopics are listed likeliest first, as a
    language model lists them, so that earlier ones count a little more."""


@dataclass(frozen=True, kw_only=True)
class XQuADConfig(ExplicitConfig):
    """Options of xQuAD."""

    relevance: Relevance = "auto"
    """What relevance is, as for MMR; "auto" with coverage "named": the order, as far as it is trusted."""


@dataclass(frozen=True, kw_only=True)
class OracleConfig(Config):
    """Options of the greedy oracle."""

    measure: MeasureOption = "alpha_DCG"
    """What it maximises greedily, in the notation of `srd_gym.measures.measure`."""
