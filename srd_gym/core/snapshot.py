"""The state of episodes as a small immutable value."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Where some episodes stand: what `SelectionCore.restore` needs and nothing else. Compares and hashes by value.

    The bytes are the core's state arrays; the mask is packed, 1 bit a candidate.
    """

    episodes: tuple[int, ...]
    """The episodes it was taken of."""
    shape: tuple[int, int, int]
    """(N, S, K) of the core: it can be restored only where these agree."""
    topic_index: bytes
    rank: bytes
    done: bytes
    ranking: bytes
    coverage: bytes
    gains: bytes
    allowed: bytes
