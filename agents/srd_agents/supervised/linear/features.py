"""What linear rankers see of a topic: relevance columns, and relations between its documents. Numpy only.

Columns mean the same in every topic, so that few weights serve all: relevance runs from 0 to 1, and a distance of 1 is
a typical one of the topic. What a topic lacks, and what does not vary in it, is a column of zeros.

Shapes: N candidates, F vector width, R relevance columns, D relations, U documents asked for.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from srd_agents.features import FEATURES, relevance_features
from srd_agents.supervised.linear.words import WordDirections, Words
from srd_gym.names import unknown
from srd_gym.protocols import IntArray
from srd_gym.topic import Topic

Floats = NDArray[np.float32]

RELEVANCE = FEATURES
"""Relevance columns that every topic has: the query's cosine, and three made of the retrieval order."""
RELATIONS = ("euclidean distance", "cosine distance", "text distance")
"""Relations: of vectors, of vectors, and of texts (1 - cosine of their words)."""
OWN_RELATION = "relation:"
"""A topic's own column (`Topic.feature_names`) whose name begins so is a position (of a URL's site, a date, ...): the
relation of two documents is how far apart they stand in it."""
_BLOCK = 1 << 20
"""Distances made in one go."""
_LEAST = 1e-6
"""Typical distances below this share of the largest possible are rounding errors: all documents are the same."""


def relevance_names(columns: Sequence[str]) -> tuple[str, ...]:
    """Names of the R relevance columns, given the topics' own ones that are wanted."""
    return (*RELEVANCE, *(name for name in columns if not name.startswith(OWN_RELATION)))


def relation_names(columns: Sequence[str]) -> tuple[str, ...]:
    """Names of the D relations, given the topics' own columns that are wanted."""
    return (*RELATIONS, *(name for name in columns if name.startswith(OWN_RELATION)))


def relevance_columns(topic: Topic, columns: Sequence[str] = ()) -> Floats:
    """[N, R] float32, each column from 0 (the topic's least) to 1 (its largest); 0 where all are equal.

    Args:
        topic: with document vectors.
        columns: the topic's own columns that are wanted, by `Topic.feature_names`.

    Raises:
        ValueError: no document vectors, or no such column.
    """
    own = [_own(topic, name)[:, None] for name in columns if not name.startswith(OWN_RELATION)]
    values = np.concatenate([relevance_features(topic), *own], axis=1).astype(np.float64)
    low, high = values.min(axis=0), values.max(axis=0)
    spread = high - low
    # Equal numbers may differ by a rounding error, which must not become an order.
    spread[spread <= 1e-6 * np.maximum(np.abs(low), np.abs(high))] = np.inf
    scaled: Floats = ((values - low) / spread).astype(np.float32)
    return scaled


class Relations:
    """Distances between a topic's documents, made for those that are asked for: never all N x N at once.

    Euclidean distances are divided by the root of their mean square over the topic, cosine and text distances and
    those of own columns by their mean (own columns: the root of the mean square).

    Args:
        topic: with document vectors.
        columns: the topic's own columns that are wanted; those named "relation:..." are relations.

    Raises:
        ValueError: no document vectors, or no such column.
    """

    def __init__(self, topic: Topic, columns: Sequence[str] = ()) -> None:
        given = topic.require_vectors("a learned ranker")
        largest = float(np.abs(given).max(initial=0.0)) or 1.0
        vectors = given / np.float32(largest)
        centred = vectors - vectors.mean(axis=0, dtype=np.float64).astype(np.float32)
        lengths = np.sqrt(np.vecdot(vectors, vectors))[:, None]
        unit = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)
        positions = [_own(topic, name) for name in columns if name.startswith(OWN_RELATION)]
        self.n = topic.n_candidates
        self.width = len(relation_names(columns))
        self._spaces = [
            _Space(centred, 1.0),
            *(_Space(own[:, None] - own.mean(), float(np.abs(own).max())) for own in positions),
        ]
        self._unit = unit
        self._cosine_scale = _inverse(1.0 - float(np.square(unit.mean(axis=0)).sum()), 1.0) if unit.any() else 0.0
        self._texts = WordDirections(Words.of(topic.doc_texts or ("",) * self.n))
        self._text_scale = _inverse(1.0 - self._texts.mean(), 1.0) if self._texts.differ else 0.0

    def rows(self, documents: IntArray) -> Floats:
        """Relations of some documents with all: [U, D, N] float32.

        Args:
            documents: [U] int64 candidate indices.
        """
        out = np.empty((len(documents), self.width, self.n), np.float32)
        step = max(1, _BLOCK // (self.n * self.width))
        for start in range(0, len(documents), step):
            self._fill(documents[start : start + step], out[start : start + step])
        return out

    def _fill(self, documents: IntArray, out: Floats) -> None:
        """One block of `rows`."""
        vectors, *own = self._spaces
        out[:, 0] = vectors.distances(documents)
        out[:, 1] = np.maximum(1.0 - self._unit[documents] @ self._unit.T, 0.0) * self._cosine_scale
        out[:, 2] = 0.0
        if self._text_scale:
            for row, index in zip(out, documents.tolist(), strict=True):
                row[2] = np.maximum(1.0 - self._texts.cosines(index), 0.0) * self._text_scale
        for place, space in enumerate(own, start=len(RELATIONS)):
            out[:, place] = space.distances(documents)


class _Space:
    """Euclidean distances of centred points, [N, W], in shares of the root of their mean square.

    Args:
        points: the points.
        largest: the largest coordinate before they were centred: what rounding errors are measured by.
    """

    def __init__(self, points: Floats, largest: float) -> None:
        self._points = points
        self._squares: Floats = np.vecdot(points, points)
        self._scale = _inverse(float(np.sqrt(2.0 * self._squares.mean())), largest)

    def distances(self, documents: IntArray) -> Floats:
        """Of some points with all: [U, N]."""
        if not self._scale:
            return np.zeros((len(documents), len(self._points)), np.float32)
        squares = self._squares[documents][:, None] + self._squares - 2.0 * (self._points[documents] @ self._points.T)
        distances: Floats = np.sqrt(np.maximum(squares, 0.0)) * np.float32(self._scale)
        return distances


def _inverse(typical: float, largest: float) -> float:
    """1 / typical; 0 where that is no more than a rounding error."""
    return 1.0 / typical if typical > _LEAST * largest else 0.0


def _own(topic: Topic, name: str) -> Floats:
    """A topic's own column, [N].

    Raises:
        ValueError: it has no such column; the message suggests the nearest.
    """
    if topic.doc_features is None or name not in topic.feature_names:
        raise unknown(f"feature column of topic {topic.query_id!r}:", name, topic.feature_names)
    column: Floats = topic.doc_features[:, topic.feature_names.index(name)]
    return column
