"""The observation "features": what a general network can learn from, a few numbers in [-1, 1] for each candidate.

Shapes: T topics, B episodes, N candidates, C columns.
"""

from __future__ import annotations

import numpy as np

from srd_gym.core.arrays import TopicArrays
from srd_gym.core.episodes import Where
from srd_gym.core.selection import SelectionCore
from srd_gym.pruning.knn import Distances
from srd_gym.topic import FloatArray, Topic
from srd_gym.topic_fields import read_only

FEATURES = (
    "query_cosine",
    "retrieval_score",
    "reciprocal_rank",
    "largest_cosine",
    "mean_cosine",
    "ranked",
    "present",
)
"""The columns of `features`; `SelectionEnv` has their formulas and ranges."""
_LARGEST, _MEAN, _RANKED = (FEATURES.index(name) for name in ("largest_cosine", "mean_cosine", "ranked"))
_CUT = 3.0
"""Standard deviations at which standardised values are cut off."""
_ALIKE = 1e-6
"""Standard deviations below this, relative to the largest value, are rounding: such values are all alike."""
_WHO = "an environment with observation='features' (not 'compact')"


class Features:
    """The features of a core's episodes, kept up to date by one row of cosines for each document ranked.

    They depend on topic and ranking alone, so each call compares these with what was seen before: an episode that was
    begun anew or restored is made from the start, any other goes on.

    Args:
        core: the simulator.

    Raises:
        ValueError: topics without document vectors.
    """

    def __init__(self, core: SelectionCore) -> None:
        arrays = core.arrays
        arrays.topics.require_vectors(_WHO)
        self._core = core
        self._initial: FloatArray = arrays.cache("features", lambda: initial_features(arrays))
        self._scales: FloatArray = arrays.cache("similarities", lambda: _similarities(arrays))
        self._distances = Distances(arrays, "cosine")
        self._topics = np.full(core.n_episodes, -1)
        self._ranking = np.full(core.ranking.shape, -1)
        self._count = np.zeros(core.n_episodes, np.int64)
        self._sum = np.zeros((core.n_episodes, arrays.max_candidates), np.float32)
        self._values = np.zeros((core.n_episodes, *self._initial.shape[1:]), np.float32)

    def __call__(self, where: Where) -> FloatArray:
        """The features of one episode [N C], or of all [B, N C], float32, brought to where the episodes are."""
        ranking, topics = self._core.ranking, self._core.topic_index
        fresh = ranking != self._ranking
        anew = (topics != self._topics) | (fresh & (self._ranking >= 0)).any(axis=1)
        if anew.any():
            fresh[anew] = ranking[anew] >= 0
            self._values[anew] = self._initial[topics[anew]]
            self._count[anew], self._sum[anew] = 0, 0.0
            self._topics[:] = topics
        for episode, rank in zip(*(index.tolist() for index in fresh.nonzero()), strict=True):
            self._add(episode, ranking.item(episode, rank))
        self._ranking[:] = ranking
        return self._values.reshape(len(ranking), -1)[where].copy()

    def _add(self, episode: int, document: int) -> None:
        """A document more in an episode's ranking."""
        topic = self._topics.item(episode)
        row = self._distances.row(topic, document)
        mean, scale = self._scales[topic]
        cosines, n = ((1 - row - mean) * scale).clip(-1, 1), len(row)
        values, total = self._values[episode, :n], self._sum[episode, :n]
        total += cosines
        count = self._count[episode] = self._count[episode] + 1
        values[:, _LARGEST] = cosines if count == 1 else np.maximum(values[:, _LARGEST], cosines)
        values[:, _MEAN] = total / np.float32(count)
        values[document, _RANKED] = 1


def initial_features(arrays: TopicArrays) -> FloatArray:
    """[T, N, C] float32, the features of all topics before anything is ranked."""
    table = np.zeros((len(arrays), arrays.max_candidates, len(FEATURES)), np.float32)
    for rows, topic in zip(table, arrays.topics, strict=True):
        rows = rows[: topic.n_candidates]
        rows[:, FEATURES.index("query_cosine")] = _standardised(_query_cosines(topic))
        if topic.retrieval_scores is not None:
            rows[:, FEATURES.index("retrieval_score")] = _standardised(topic.retrieval_scores)
            rows[:, FEATURES.index("reciprocal_rank")] = 1 / np.arange(1, len(rows) + 1)
        rows[:, FEATURES.index("present")] = 1
    return read_only(table)


def _query_cosines(topic: Topic) -> FloatArray:
    """[n] float32, the cosines of a topic's documents and its query."""
    documents = topic.require_vectors(_WHO)
    if topic.query_vector is None:
        return np.zeros(len(documents), np.float32)
    cosines: FloatArray = _units(documents) @ _units(topic.query_vector[None])[0]
    return cosines.clip(-1, 1)


def _similarities(arrays: TopicArrays) -> FloatArray:
    """[T, 2] float32, of each topic the mean cosine of two documents, and 1 / (3 standard deviations); 0 if alike."""
    scales = np.zeros((len(arrays), 2), np.float32)
    for row, topic in zip(scales, arrays.topics, strict=True):
        units = _units(topic.require_vectors(_WHO)).astype(np.float64)
        n = len(units)
        pairs = n * (n - 1)
        if not pairs:
            continue
        # Sums over all pairs of the [n, n] products, from one [F] and one [F, F] (or [n, n], where that is smaller).
        lengths = np.einsum("nf,nf->n", units, units)
        square = units @ units.T if n < units.shape[1] else units.T @ units
        mean = (np.square(units.sum(axis=0)).sum() - lengths.sum()) / pairs
        spread = np.sqrt(max((np.square(square).sum() - np.square(lengths).sum()) / pairs - mean**2, 0.0))
        row[:] = mean, 1 / (_CUT * spread) if spread > _ALIKE else 0
    return scales


def _units(vectors: FloatArray) -> FloatArray:
    """Vectors of length 1 along the last axis; zero vectors stay zero. Lengths may be anything that float32 holds."""
    largest = np.abs(vectors).max(axis=-1, keepdims=True)
    scaled = np.divide(vectors, largest, out=np.zeros_like(vectors), where=largest > 0)
    lengths = np.linalg.norm(scaled, axis=-1, keepdims=True)
    units: FloatArray = np.divide(scaled, lengths, out=scaled, where=lengths > 0)
    return units


def _standardised(values: FloatArray) -> FloatArray:
    """[n] float32, the values of one topic, standardised and cut off."""
    wide = values.astype(np.float64)
    centred = wide - wide.mean()
    spread = centred.std()
    if spread <= _ALIKE * np.abs(wide).max():
        return np.zeros_like(values)
    standardised: FloatArray = (centred / (_CUT * spread)).clip(-1, 1).astype(np.float32)
    return standardised
