"""A first stage over a whole corpus: the documents nearest to each query, by cosine or by BM25.

Shapes: M documents of the corpus, F vector width, K documents found.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from srd_gym.topic import FloatArray


class FirstStage(ABC):
    """Scores every document of a corpus for a query."""

    @abstractmethod
    def scores(self, text: str, vector: FloatArray | None) -> FloatArray | None:
        """[M] higher is better; None where the query says nothing.

        Args:
            text: the query's.
            vector: the query's [F], or None.
        """

    def find(self, text: str, vector: FloatArray | None, depth: int) -> tuple[NDArray[np.int64], FloatArray]:
        """The best documents, [K] rows of the corpus and their scores; of equal ones the earlier first."""
        scores = self.scores(text, vector)
        if scores is None:
            return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.float32)
        best = np.argsort(-scores, kind="stable")[:depth]
        return best, scores[best]


class Cosine(FirstStage):
    """By the cosine of query and document.

    Args:
        vectors: [M, F] of the documents.
    """

    def __init__(self, vectors: FloatArray) -> None:
        self._units = unit_rows(vectors)

    def scores(self, text: str, vector: FloatArray | None) -> FloatArray | None:
        """[M] cosines; None without a vector, or with one of zeros."""
        if vector is None or not vector.any():
            return None
        cosines: FloatArray = self._units @ unit_rows(vector[None])[0]
        return cosines


class BM25(FirstStage):
    """By BM25 (Robertson et al. 1994), as the package bm25s scores it (Lucene's variant, English stop words).

    Args:
        texts: M of the documents.

    Raises:
        ImportError: bm25s is not installed.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        try:
            import bm25s
        except ImportError as error:
            raise ImportError(
                "a first stage by BM25 needs bm25s, which is not installed: pip install 'srd-gym[text]'; or take "
                "cosine, which needs vectors only"
            ) from error
        self._bm25s: Any = bm25s
        self._index: Any = bm25s.BM25()
        self._index.index(self._words(texts), show_progress=False)

    def scores(self, text: str, vector: FloatArray | None) -> FloatArray | None:
        """[M]; None where no document has a word of the query."""
        words = [word for word in self._words([text])[0] if word in self._index.vocab_dict]
        if not words:
            return None
        found: FloatArray = np.asarray(self._index.get_scores(words), dtype=np.float32)
        return found

    def find(self, text: str, vector: FloatArray | None, depth: int) -> tuple[NDArray[np.int64], FloatArray]:
        """As of any first stage, but only documents that have a word of the query."""
        best, scores = super().find(text, vector, depth)
        return best[scores > 0], scores[scores > 0]

    def _words(self, texts: Sequence[str]) -> list[list[str]]:
        words: list[list[str]] = self._bm25s.tokenize(list(texts), return_ids=False, show_progress=False)
        return words


def unit_rows(vectors: FloatArray) -> FloatArray:
    """Vectors of length 1; zero vectors stay zero."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    units: FloatArray = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)
    return units
