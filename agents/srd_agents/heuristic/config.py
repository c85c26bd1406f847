"""Options of the heuristics."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal, get_args

from srd_agents.training.options import Config, CountFromZero, MeasureOption, Positive, Share, at_least
from srd_gym.checks import check_positive

Relevance = Literal["auto", "cosine", "scores", "minmax", "matched", "rank"]
"""Kinds of relevance, explained at `TradeOffConfig.relevance`."""
KINDS: tuple[str, ...] = get_args(Relevance)
"""The same as words."""
Metric = Literal["cosine", "dot", "given"]
"""Kinds of similarity, explained at `MMRConfig.metric`."""


@dataclass(frozen=True, kw_only=True)
class OrderConfig(Config):
    """Options of the retrieval order."""

    by: str = ""
    """A column of the topics (`Topic.feature_names`) to order by instead, the largest number first, such as one of
    several fused runs (`srd_gym.data.with_runs`); equal ones keep the retrieval order."""


@dataclass(frozen=True, kw_only=True)
class RandomConfig(Config):
    """Options of the random order."""

    seed: CountFromZero = 0
    """Random seed of the shuffle."""


@dataclass(frozen=True, kw_only=True)
class TradeOffConfig(Config):
    """Options of MSD and DPP, and of every heuristic that weighs relevance against something else."""

    lambda_: Share = 0.5
    """Weight of relevance, 0 (only novelty) to 1 (only relevance)."""
    relevance: Relevance = "auto"
    """Relevance of a document: "cosine" (of query and document), "scores" (retrieval scores, unchanged), "minmax"
    (scores scaled to [0, 1] per topic), "matched" (scores on the scale of the cosines, see
    `srd_agents.heuristic.relevance.matched`; cosines without scores), "rank" (falls evenly from 1 along the retrieval
    order), or "auto": "minmax" where the topic has scores, else "cosine"."""


@dataclass(frozen=True, kw_only=True)
class MMRConfig(TradeOffConfig):
    """Options of MMR."""

    clip: bool = False
    """Count similarities below 0 as 0, so that opposite documents are as novel as unrelated ones."""
    metric: Metric = "cosine"
    """Similarity of two documents, and of query and document: "cosine", or "dot" (the product of the vectors, lengths
    included). "given": the documents' vectors are the rows of a matrix [N, N] of similarities."""


@dataclass(frozen=True, kw_only=True)
class SSDConfig(TradeOffConfig):
    """Options of SSD."""

    gamma: Positive = 1.0
    """Weight of one unit of novelty, in standard deviations of relevance."""
    window: Annotated[int | None, at_least(1)] = None
    """Number of documents, ranked last, from which a document must differ; None: all."""


@dataclass(frozen=True, kw_only=True)
class CoverageConfig(TradeOffConfig):
    """Options of rankers that choose documents to stand for all candidates."""

    scale: Literal["mean", "sum"] = "mean"
    """Scale of coverage: per candidate ("mean"), so that one lambda means the same for any number of candidates, or in
    total ("sum", as in pyversity)."""


@dataclass(frozen=True, kw_only=True)
class CoverConfig(CoverageConfig):
    """Options of COVER."""

    gamma: Annotated[Share, check_positive] = 0.5
    """Power of coverage, above 0 to 1. The lower it is, the less a second similar document adds (1: as much again)."""


@dataclass(frozen=True, kw_only=True)
class ExplicitConfig(Config):
    """Options of PM-2, and of every explicit method, which is given the subtopics."""

    lambda_: Share = 0.5
    """xQuAD: weight of relevance, 0 (only subtopics) to 1 (only relevance). PM-2: weight of the subtopic whose turn it
    is, 0 to 1. The others share the rest (with coverage "named", with the initial ranking)."""
    coverage: Literal["named", "topic", "subtopic", "cosine"] = "named"
    """Estimate of how well a document covers a subtopic. "named" tolerates missing, irrelevant and repeated subtopics,
    and uses the initial ranking too (`srd_agents.heuristic.named`). The others are the papers', by the cosine of both:
    "cosine" (below 0 is 0), "topic" (scaled to [0, 1] over all pairs of the topic), or "subtopic" (scaled to [0, 1]
    over the candidates of each subtopic)."""
    sharpness: Positive = 1.0
    """Power of these estimates. Above 1, documents that resemble many subtopics a little cover them less."""
    ordered: bool = True
    """With coverage "named", for topics without subtopic weights: subtopics are listed likeliest first, as language
    models list them, so earlier ones count a little more."""


@dataclass(frozen=True, kw_only=True)
class XQuADConfig(ExplicitConfig):
    """Options of xQuAD."""

    relevance: Relevance = "auto"
    """Relevance of a document, as for MMR. "auto" with coverage "named": the initial ranking, as far as it is
    trusted."""


@dataclass(frozen=True, kw_only=True)
class OracleConfig(Config):
    """Options of the greedy oracle."""

    measure: MeasureOption = "alpha_DCG"
    """Measure to maximise greedily, in the notation of `srd_gym.measures.parse_measure`."""
