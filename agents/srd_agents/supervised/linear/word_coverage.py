"""Which words a set of documents covers, and how much that is worth: SVM-DIV's side of a topic. Numpy only.

Shapes: N candidates, V words, L levels of prominence, B bins of a word's share of documents, S subtopics.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from srd_agents.supervised.linear.words import Words
from srd_gym.protocols import BoolArray, IntArray, ScoreArray

LEVELS = (1, 2, 4)
"""How often a document must use a word to cover it, one kind of coverage each (Yue & Joachims' levels)."""
BINS = (0.0, 0.05, 0.1, 0.2, 0.4, 0.7)
"""Where the bins of shares begin: a word is worth what its bin is."""
_ROUNDING = 1e-9
"""Gains that differ by less are equal."""
COVERAGE_NAMES = tuple(f"used {level}+ times, share from {low:g}" for level in LEVELS for low in BINS)
"""Names of the W = L * B kinds of coverage, in the order of the weights."""


@dataclass(frozen=True, kw_only=True)
class WordCoverage:
    """The words that each document of a topic covers, level by level."""

    covers: NDArray[np.bool_]
    """[N, L * V], level by level."""
    kind: IntArray
    """[L * V] int64, the kind of coverage (index into `COVERAGE_NAMES`) of each word at each level."""

    @classmethod
    def of(cls, texts: Sequence[str], max_words: int) -> WordCoverage:
        """The words of N texts.

        Args:
            texts: N texts.
            max_words: V at most; those that most documents use stay, of equals the first by the alphabet.
        """
        words = Words.of(texts)
        shares = words.shares
        kept = np.sort((-shares).argsort(kind="stable")[:max_words])
        place = np.full(len(shares), -1)
        place[kept] = np.arange(len(kept))
        counts = np.zeros((len(texts), len(kept)), np.int64)
        known = place[words.word] >= 0
        counts[words.document[known], place[words.word[known]]] = words.count[known]
        bins = np.searchsorted(BINS, shares[kept], side="right") - 1
        return cls(
            covers=np.concatenate([counts >= level for level in LEVELS], axis=1),
            kind=np.concatenate([bins + len(BINS) * place for place in range(len(LEVELS))]),
        )

    def covered_by(self, documents: IntArray) -> ScoreArray:
        """Psi of a set: the share of a topic's words of each kind that it covers, [W] float64.

        Shares of all words, at every level: a topic with long texts weighs as much as one with short ones.
        """
        covered = self.covers[documents].any(axis=0)
        return np.bincount(self.kind[covered], minlength=len(COVERAGE_NAMES)) / self.n_words

    @property
    def n_words(self) -> int:
        """V; 1 where there are none."""
        return max(1, len(self.kind) // len(LEVELS))


def greedy_cover(words: WordCoverage, weights: ScoreArray, shares: ScoreArray, covers: BoolArray, k: int) -> IntArray:
    """The documents whose words are worth most, less the worth of the subtopics that they cover, one by one.

    With no subtopics this is how SVM-DIV ranks; with them, it is the set that its training is violated most by.

    Args:
        words: of N documents.
        weights: [W], by kind of coverage.
        shares: [S], worth of the subtopics; S may be 0.
        covers: [N, S] bool.
        k: documents at most.

    Returns:
        [min(k, N)] int64; ties (all documents, once no word is left) go to the document whose own words are worth most,
        then to the first candidate.
    """
    remaining = (weights / words.n_words)[words.kind]
    table, of_subtopics = words.covers.astype(np.float64), covers.astype(np.float64)
    own, missed = table @ remaining, shares.astype(np.float64)
    chosen = np.empty(min(k, len(table)), np.int64)
    left = np.zeros(len(table))
    for rank in range(len(chosen)):
        gains = table @ remaining - of_subtopics @ missed + left
        best = chosen[rank] = int(np.where(gains >= gains.max() - _ROUNDING, own, -np.inf).argmax())
        left[best] = -np.inf
        remaining[words.covers[best]] = 0.0
        missed[covers[best]] = 0.0
    return chosen
