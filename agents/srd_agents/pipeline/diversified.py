"""Documents chosen by `srd_agents.diversify`: of one topic, or of a batch.

Shapes: B topics, K documents chosen.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from srd_agents.pipeline.explanation import Explanation, Kept, explained
from srd_gym.dtypes import BoolArray, IntArray, ScoreArray


class _Chosen(NamedTuple):
    """The tuple of a result."""

    indices: IntArray
    """[K] or [B, K] int64, positions among the documents given; -1 where fewer than K of a batch's topic are shown."""
    scores: ScoreArray
    """[K] or [B, K] float64, and 0 beside -1: what the ranker gave each document when it chose it, in the light of
    those above it (MMR's value, what a document adds to the logarithm of DPP's determinant, the score itself where
    order is kept; with `per_cost`, what it adds, or adds per cost). They need not fall along the ranking: what sorts by
    score goes by 1 / rank instead. A ranker that has no such scores (`rank_scored`), such as a language model or a
    trained one, gives 1 / rank (ranks from 1)."""


class Diversified(_Chosen):
    """Documents chosen, best first: of one topic, or of the topics of a batch, one a row.

    Args:
        indices: [K] or [B, K].
        scores: [K] or [B, K].
        notes: a sentence on each topic: what decided its ranking.
        filled: [K] or [B, K] documents above `max_per_group`, which `fill=True` takes; None: none.
    """

    notes: tuple[str, ...]
    filled: BoolArray
    _why: tuple[Kept | Explanation, ...] = ()
    """Copies of the documents shown, one for each topic, which explain its ranking; nothing else that was given."""

    def __new__(
        cls, indices: IntArray, scores: ScoreArray, notes: Sequence[str] = (), filled: BoolArray | None = None
    ) -> Diversified:
        """A tuple of two, with its notes and what filled it up beside them."""
        made = super().__new__(cls, indices, scores)
        made.notes = tuple(notes)
        made.filled = np.zeros(indices.shape, np.bool_) if filled is None else filled
        return made

    @property
    def note(self) -> str:
        """Reason for the ranking in a sentence; of a batch, each sentence once."""
        return "; ".join(dict.fromkeys(self.notes))

    def __repr__(self) -> str:
        note = f", note={self.note!r}" if self.note else ""
        return f"Diversified(indices={np.array2string(self.indices, separator=', ', threshold=20)}{note})"

    def topics(self) -> list[Diversified]:
        """The rows of a batch without -1, each a result of its own; of one topic, itself alone."""
        if self.indices.ndim == 1:
            return [self]
        lengths = (self.indices >= 0).sum(axis=1).tolist()
        rows = [
            Diversified(self.indices[b, :n], self.scores[b, :n], self.notes[b : b + 1], self.filled[b, :n])
            for b, n in enumerate(lengths)
        ]
        for b, row in enumerate(rows):
            row._why = self._why[b : b + 1]
        return rows

    def explain(self) -> Explanation:
        """Why these documents: relevance, similarity, subtopics, groups and costs of each, and diversity of the list.

        It is computed here, of copies of what is shown: arrays given to `diversify` may have changed since.

        Raises:
            ValueError: of a batch, or of a result that `diversify` did not make.
        """
        if self.indices.ndim != 1 or not self._why:
            raise ValueError("explain() is of one query: expected a result of diversify, or one of a batch's topics()")
        return explained(self._why[0])

    def to_dict(self) -> dict[str, object]:
        """Plain lists for JSON: `indices`, `scores`, `notes` and `filled`."""
        arrays = {"indices": self.indices, "scores": self.scores, "filled": self.filled}
        return {name: array.tolist() for name, array in arrays.items()} | {"notes": list(self.notes)}

    def __eq__(self, other: object) -> bool:
        """Whether both show the same documents for the same reasons."""
        return isinstance(other, Diversified) and self.to_dict() == other.to_dict()

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = None  # type: ignore[assignment]

    def __getstate__(self) -> dict[str, object]:
        """The content of a pickle: explanations in place of vectors."""
        return self.__dict__ | {"_why": tuple(map(explained, self._why))}


def nothing() -> Diversified:
    """The result for a topic for which nothing was retrieved."""
    nothing = Diversified(np.empty(0, np.int64), np.empty(0), ["nothing was retrieved"])
    nothing._why = (Explanation(nothing.note, (), None, 0.0),)
    return nothing


def stacked(topics: Sequence[Diversified]) -> Diversified:
    """Results of a batch one below the other: [B, K], padded with -1."""
    lengths = np.array([len(topic.indices) for topic in topics], dtype=np.int64)
    width = int(lengths.max(initial=0))
    held = np.arange(width) < lengths[:, None]
    indices, filled = np.full(held.shape, -1, dtype=np.int64), np.zeros(held.shape, np.bool_)
    scores = np.zeros(held.shape)
    if topics:
        indices[held] = np.concatenate([topic.indices for topic in topics])
        scores[held] = np.concatenate([topic.scores for topic in topics])
        filled[held] = np.concatenate([topic.filled for topic in topics])
    notes = [note for topic in topics for note in topic.notes]
    stacked = Diversified(indices, scores, notes, filled)
    stacked._why = tuple(why for topic in topics for why in topic._why)
    return stacked
