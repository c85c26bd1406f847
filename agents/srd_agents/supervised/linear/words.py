"""Words of a topic's texts: how often each document uses each word. Numpy only.

Shapes: N candidates, V words, M pairs of a document and a word that it uses.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from srd_gym.protocols import IntArray

_WORD = re.compile(r"\w\w+")


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
        found = [_WORD.findall(text.lower()) for text in texts]
        words = sorted({word for one in found for word in one})
        place = {word: index for index, word in enumerate(words)}
        flat = [index * len(words) + place[word] for index, one in enumerate(found) for word in one]
        pairs, counts = np.unique(np.array(flat, np.int64), return_counts=True)
        document, word = np.divmod(pairs, max(1, len(words)))
        return cls(
            words=tuple(words), document=document, word=word, count=counts.astype(np.int64), n_documents=len(texts)
        )

    @property
    def shares(self) -> NDArray[np.float64]:
        """[V] share of the documents that use a word, above 0 to 1."""
        shares: NDArray[np.float64] = np.bincount(self.word, minlength=len(self.words)) / self.n_documents
        return shares


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

    @property
    def differ(self) -> bool:
        """Whether some word tells texts apart."""
        return bool(self._values.any())

    def cosines(self, index: int) -> NDArray[np.float64]:
        """Cosines of one text with all: [N]."""
        own = slice(self._starts[index], self._starts[index + 1])
        direction = np.zeros(len(self._words.words))
        direction[self._words.word[own]] = self._values[own]
        return self._projected(direction)

    def mean(self) -> float:
        """The mean cosine over all pairs of texts, each with itself included."""
        if not len(self._values):
            return 0.0
        total = np.bincount(self._words.word, weights=self._values, minlength=len(self._words.words))
        return float(total @ total) / self._words.n_documents**2

    def _projected(self, direction: NDArray[np.float64]) -> NDArray[np.float64]:
        """[N] products of all texts with a direction [V]."""
        weights = self._values * direction[self._words.word]
        products = np.bincount(self._words.document, weights=weights, minlength=self._words.n_documents)
        return np.asarray(products, np.float64)
