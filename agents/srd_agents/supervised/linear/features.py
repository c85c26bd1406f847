"""Features of linear rankers beside a topic's relevance columns: relations of its documents, and words. Numpy only.

Relations mean the same in every topic, so that few weights serve all: a distance of 1 is a typical one of the topic.
What a topic lacks, and what does not vary in it, is a column of zeros.

Shapes: N candidates, F vector width, D relations, U documents asked for, V words, M pairs of a
document and a word that it uses, L levels of prominence, B bins of a word's share of documents, S subtopics.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from srd_gym.dtypes import BoolArray, IntArray, ScoreArray
from srd_gym.topic import FloatArray, Topic

_WORD = re.compile(r"\w\w+")
LEVELS = (1, 2, 4)
"""Times a document must use a word to cover it, one kind of coverage each (Yue & Joachims' levels)."""
BINS = (0.0, 0.05, 0.1, 0.2, 0.4, 0.7)
"""Where the bins of shares begin: a word is worth what its bin is."""
_ROUNDING = 1e-9
"""Gains that differ by less are equal."""
COVERAGE_NAMES = tuple(f"used {level}+ times, share from {low:g}" for level in LEVELS for low in BINS)
"""Names of the W = L * B kinds of coverage, in the order of the weights."""


@dataclass(frozen=True, kw_only=True)
class Words:
    """The words of N texts; a word is two letters or digits at least, in lower case."""

    words: tuple[str, ...]
    """V, sorted."""
    document: IntArray
    """[M] int64, rising."""
    word: IntArray
    """[M] int64."""
    count: IntArray
    """[M] int64, at least 1."""
    n_documents: int
    """N."""

    @classmethod
    def of(cls, texts: Sequence[str]) -> Words:
        """Count the words of texts."""
        words_of = [_WORD.findall(text.lower()) for text in texts]
        words = sorted({word for one in words_of for word in one})
        place = {word: index for index, word in enumerate(words)}
        flat = [index * len(words) + place[word] for index, one in enumerate(words_of) for word in one]
        pairs, counts = np.unique(np.array(flat, np.int64), return_counts=True)
        document, word = np.divmod(pairs, max(1, len(words)))
        return cls(
            words=tuple(words), document=document, word=word, count=counts.astype(np.int64), n_documents=len(texts)
        )

    @property
    def shares(self) -> NDArray[np.float64]:
        """[V] share of the documents that use a word, above 0 to 1."""
        return np.bincount(self.word, minlength=len(self.words)) / self.n_documents


class WordDirections:
    """Texts as directions: word counts times log(1 / share), scaled to length 1; 0 for a text of common words only.

    Words of all documents (the query's, as a rule) count nothing.
    """

    def __init__(self, words: Words) -> None:
        values = words.count * -np.log(words.shares)[words.word]
        squares = np.bincount(words.document, weights=values**2, minlength=words.n_documents)
        lengths = np.sqrt(squares)[words.document]
        self._words = words
        self._values = np.divide(values, lengths, out=np.zeros_like(values), where=lengths > 0)
        self._starts = np.searchsorted(words.document, np.arange(words.n_documents + 1))

    def cosines(self, index: int) -> NDArray[np.float64]:
        """Cosines of one text with all: [N]."""
        own = slice(self._starts[index], self._starts[index + 1])
        direction = np.zeros(len(self._words.words))
        direction[self._words.word[own]] = self._values[own]
        weights = self._values * direction[self._words.word]
        products = np.bincount(self._words.document, weights=weights, minlength=self._words.n_documents)
        return np.asarray(products, np.float64)

    def mean(self) -> float:
        """The mean cosine over all pairs of texts, each with itself included; 0 where no word tells texts apart."""
        if not len(self._values):
            return 0.0
        total = np.bincount(self._words.word, weights=self._values, minlength=len(self._words.words))
        return float(total @ total) / self._words.n_documents**2


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
        frequent = np.sort((-shares).argsort(kind="stable")[:max_words])
        place = np.full(len(shares), -1)
        place[frequent] = np.arange(len(frequent))
        counts = np.zeros((len(texts), len(frequent)), np.int64)
        among_them = place[words.word] >= 0
        counts[words.document[among_them], place[words.word[among_them]]] = words.count[among_them]
        bins = np.searchsorted(BINS, shares[frequent], side="right") - 1
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


RELATIONS = ("euclidean distance", "cosine distance", "text distance")
"""Relations: of vectors, of vectors, and of texts (1 - cosine of their words)."""
_BLOCK = 1 << 20
"""Distances made in one go."""
_LEAST = 1e-6
"""Typical distances below this are rounding errors where the largest coordinate is 1: all documents are the same."""


class Distances:
    """Distances between a topic's documents, made for those that are asked for: never all N x N at once.

    Euclidean distances are divided by the root of their mean square over the topic, cosine and text distances by their
    mean.

    Args:
        topic: with document vectors.

    Raises:
        ValueError: no document vectors.
    """

    def __init__(self, topic: Topic) -> None:
        given = topic.require_vectors("a learned ranker")
        largest = float(np.abs(given).max(initial=0.0)) or 1.0
        vectors = given / np.float32(largest)
        self._centred = vectors - vectors.mean(axis=0, dtype=np.float64).astype(np.float32)
        self._squares: FloatArray = np.vecdot(self._centred, self._centred)
        self._scale = _inverse(float(np.sqrt(2.0 * self._squares.mean())))
        lengths = np.sqrt(np.vecdot(vectors, vectors))[:, None]
        unit = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)
        self._unit = unit
        self._cosine_scale = _inverse(1.0 - float(np.square(unit.mean(axis=0)).sum())) if unit.any() else 0.0
        self._texts = WordDirections(Words.of(topic.doc_texts or ("",) * topic.n_candidates))
        alike = self._texts.mean()
        self._text_scale = _inverse(1.0 - alike) if alike else 0.0

    def rows(self, documents: IntArray) -> FloatArray:
        """Relations of some documents with all: [U, D, N] float32.

        Args:
            documents: [U] int64 candidate indices.
        """
        out = np.zeros((len(documents), len(RELATIONS), len(self._unit)), np.float32)
        step = max(1, _BLOCK // (len(RELATIONS) * len(self._unit)))
        for start in range(0, len(documents), step):
            self._fill(documents[start : start + step], out[start : start + step])
        return out

    def _fill(self, documents: IntArray, out: FloatArray) -> None:
        """One block of `rows`."""
        if self._scale:
            squares = self._squares[documents][:, None] + self._squares
            squares -= 2.0 * (self._centred[documents] @ self._centred.T)
            out[:, 0] = np.sqrt(np.maximum(squares, 0.0)) * np.float32(self._scale)
        out[:, 1] = np.maximum(1.0 - self._unit[documents] @ self._unit.T, 0.0) * self._cosine_scale
        if self._text_scale:
            for row, index in zip(out, documents.tolist(), strict=True):
                row[2] = np.maximum(1.0 - self._texts.cosines(index), 0.0) * self._text_scale


def _inverse(typical: float) -> float:
    """1 / typical; 0 where that is no more than a rounding error."""
    return 1.0 / typical if typical > _LEAST else 0.0
