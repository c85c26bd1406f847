"""Options of the heuristics."""

from __future__ import annotations

from dataclasses import dataclass

from srd_agents.config import check_between, check_count, check_one_of

RELEVANCE = ("auto", "cosine", "scores", "rank", "reciprocal_rank")


@dataclass(frozen=True, kw_only=True)
class RetrievalOrderConfig:
    """Retrieval order has no options."""


@dataclass(frozen=True, kw_only=True)
class RandomConfig:
    """Options of the random order."""

    seed: int = 0
    """Another seed, another shuffle."""

    def __post_init__(self) -> None:
        check_count("seed", self.seed, low=0)


@dataclass(frozen=True, kw_only=True)
class MMRConfig:
    """Options of MMR."""

    lambda_: float = 0.5
    """Weight of relevance, 0 (only novelty) to 1 (only relevance)."""
    relevance: str = "auto"
    """What relevance is: "cosine" (of query and document), "scores" (retrieval scores scaled to [0, 1] in the topic),
    "rank" (falling evenly from 1 along the retrieval order), "reciprocal_rank", or "auto": scores where the topic has
    them, else cosine."""

    def __post_init__(self) -> None:
        check_between("lambda_", self.lambda_, 0.0, 1.0)
        check_one_of("relevance", self.relevance, RELEVANCE)


@dataclass(frozen=True, kw_only=True)
class OracleConfig:
    """Options of the greedy oracle."""

    measure: str = "alpha_DCG"
    """What it maximises greedily, in the notation of `srd_gym.measures.measure`."""
