"""Options of the relational ranker as it comes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from srd_agents.config import Config, NotNegative


@dataclass(frozen=True, kw_only=True)
class PretrainedConfig(Config):
    """The relational ranker as it comes."""

    checkpoint: str | None = None
    """A file of weights that `make pretrain` wrote. None: those of the package."""
    strategy: Literal["greedy", "one-pass"] = "greedy"
    """"greedy" looks at all candidates anew at every rank; "one-pass" scores them once and sorts: faster, less diverse.
    A file of other weights must have been made for it."""
    novelty: NotNegative = 0.0
    """What is added to a score for each logarithm of 1 less the largest cosine with a document chosen; at least 0, and
    0 for "one-pass"."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.novelty and self.strategy == "one-pass":
            raise ValueError('novelty counts what is chosen so far, which "one-pass" does not look at; use "greedy"')
