"""Options of the heuristics."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from srd_agents.training.options import Config, CountFromZero, NotNegative, Positive, Share

Relevance = Literal["auto", "cosine", "scores", "raw_scores", "rank"]
"""What relevance may be."""


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
    """What relevance is: "cosine" (of query and document), "scores" (retrieval scores scaled to [0, 1] in the topic),
    "raw_scores" (as they are), "rank" (falling evenly from 1 along the retrieval order), or "auto": scores where the
    topic has them, else cosine."""


@dataclass(frozen=True, kw_only=True)
class MMRConfig(TradeOffConfig):
    """Options of MMR."""

    clip: bool = False
    """Take similarities below 0 as 0: opposite documents are then no more novel than unrelated ones."""


@dataclass(frozen=True, kw_only=True)
class ExplicitConfig(Config):
    """Options of PM-2, and of every explicit method, which is told the subtopics."""

    lambda_: Share = 0.5
    """xQuAD: weight of relevance, 0 (only subtopics) to 1 (only relevance). PM-2: weight of the subtopic whose turn it
    is, 0 to 1; the others share the rest."""
    coverage: Literal["topic", "subtopic", "cosine", "standardised"] = "topic"
    """How far a document covers a subtopic: their cosine, "cosine" (below 0 is 0), "topic" (scaled to [0, 1] over all
    pairs of the topic), "subtopic" (scaled to [0, 1] over the candidates, for each subtopic), or "standardised" (how
    far it stands out of both: e to the power of its standard score among all pairs and half of that for its subtopic,
    by the largest of the topic)."""
    sharpness: Positive = 1.0
    """Power that this is raised to: above 1, documents that resemble many subtopics a little cover them less."""
    order_weight: NotNegative = 0.0
    """Weight of the order of the scores as one more subtopic, which the document at rank r (from 0) covers by
    exp(-r / 25): 1 is that of a subtopic on average, so that the order counts the more, the fewer are named. Without
    scores it is that of the query's vector. Above 0, subtopics that are wrong, or miss most of what the query means,
    do less harm."""
    novel: bool = False
    """Multiply what a document covers by how new it is, 1 less its largest cosine with a chosen one (below 0 is 0):
    documents then differ where the subtopics do not tell them apart, those that nobody named among them."""


@dataclass(frozen=True, kw_only=True)
class XQuADConfig(ExplicitConfig):
    """Options of xQuAD."""

    relevance: Relevance = "auto"
    """What relevance is, as for MMR."""


@dataclass(frozen=True, kw_only=True)
class OracleConfig(Config):
    """Options of the greedy oracle."""

    measure: str = "alpha_DCG"
    """What it maximises greedily, in the notation of `srd_gym.measures.measure`."""
