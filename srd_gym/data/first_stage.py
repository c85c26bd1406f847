"""A first stage over a whole corpus: the documents nearest to each query, by cosine, by BM25, or by both.

Shapes: M documents of the corpus, F vector width, K documents found.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from srd_gym.topic import FloatArray

_FUSION = 60
"""What Cormack et al. add to a rank."""


class FirstStage(ABC):
    """Scores every document of a corpus for a query."""

    @abstractmethod
    def scores(self, text: str, vector: FloatArray | None) -> FloatArray | None:
        """[M] higher is better, -inf: not found; None where the query says nothing.

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
        best = best[scores[best] > -np.inf]
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
        """[M], -inf without a word of the query; None where no document has one."""
        words = [word for word in self._words([text])[0] if word in self._index.vocab_dict]
        if not words:
            return None
        found = np.asarray(self._index.get_scores(words), dtype=np.float32)
        return np.where(found > 0, found, np.float32(-np.inf))

    def _words(self, texts: Sequence[str]) -> list[list[str]]:
        words: list[list[str]] = self._bm25s.tokenize(list(texts), return_ids=False, show_progress=False)
        return words


class Hybrid(FirstStage):
    """By reciprocal rank fusion (Cormack et al. 2009): the sum over stages of 1 / (60 + rank).

    Args:
        stages: over the same M documents; one that does not find a document adds nothing to it.
    """

    def __init__(self, stages: Sequence[FirstStage]) -> None:
        self._stages = stages

    def scores(self, text: str, vector: FloatArray | None) -> FloatArray | None:
        """[M], -inf where no stage finds a document; None where none finds any."""
        fused: FloatArray | None = None
        for stage in self._stages:
            found = stage.scores(text, vector)
            if found is None:
                continue
            best, _ = stage.find(text, vector, found.size)
            fused = np.zeros_like(found) if fused is None else fused
            fused[best] += 1 / (_FUSION + np.arange(1, best.size + 1, dtype=np.float32))
        return None if fused is None else np.where(fused > 0, fused, np.float32(-np.inf))


def unit_rows(vectors: FloatArray) -> FloatArray:
    """Vectors of length 1; zero vectors stay zero."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    units: FloatArray = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)
    return units
