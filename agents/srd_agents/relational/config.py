"""Options of the relational ranker as it comes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from srd_agents.config import Config


@dataclass(frozen=True, kw_only=True)
class PretrainedConfig(Config):
    """The relational ranker as it comes."""

    checkpoint: str | None = None
    """A file of weights that `make pretrain` wrote; "{seed}" in it stands for the seed. None: those of the package."""
    seed: int = 0
    """Stands in for "{seed}"."""
    strategy: Literal["greedy", "one-pass", "unordered"] = "greedy"
    """"greedy" looks at all candidates anew at every rank; "one-pass" scores them once and sorts: faster, less diverse;
    "unordered" is greedy, with weights for topics without retrieval scores, and prefers what is unlike all that is
    chosen. A file of other weights must have been made for it."""

    def path(self) -> str | None:
        """The file, None for the package's own."""
        return None if self.checkpoint is None else self.checkpoint.replace("{seed}", str(self.seed))
