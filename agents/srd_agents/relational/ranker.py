"""Ranking topics by the network, and the weights that come with the package. Numpy only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import as_file, files

import numpy as np

from srd_agents.config import Config, NotNegative
from srd_agents.decoding import Decoding, Draft, rankings_of
from srd_agents.features import query_vectors
from srd_agents.heuristic.greedy import Progress, Stepwise, rows_of
from srd_agents.relational.forward import Related, Weights, checked_weights
from srd_agents.relational.relations import Array, Relations, relate
from srd_gym.checks import check_integer
from srd_gym.files import PathLike
from srd_gym.protocols import IntArray, ScoreArray
from srd_gym.reading import open_npz
from srd_gym.topic import FloatArray, Topic

CHECKPOINT = "pretrained.npz"
"""The weights that come with the package; docs/relational.md says how they were made."""
NAME = "relational-pretrained"
"""In errors."""


@dataclass(frozen=True, kw_only=True)
class PretrainedConfig(Config):
    """The relational ranker as it comes."""

    checkpoint: str | None = None
    """A file of weights that `make pretrain` wrote. None: those of the package."""
    novelty: NotNegative = 0.0
    """What is added to a score for each logarithm of 1 less the largest cosine with a document chosen; at least 0."""


class Pretrained(Stepwise):
    """The relational ranker with the weights that come with the package: nothing to train, vectors of any model.

    It looks at vectors, and at the query's vector and the retrieval scores where a topic has them. It was trained on
    generated topics only (docs/relational.md).

    Args:
        config: other weights, where wanted.

    Raises:
        FileNotFoundError: no such file of weights.
        ValueError: a file of something else.
    """

    def __init__(self, config: PretrainedConfig | None = None) -> None:
        self.config = config or PretrainedConfig()
        path = self.config.checkpoint
        self.weights = pretrained_weights() if path is None else read_weights(path)

    def rank_batch(self, topics: Sequence[Topic], k: int) -> list[IntArray]:
        """`rank` of every topic; topics of equal size are ranked side by side."""
        check_integer("k", k, 1)
        return rank_topics(self.weights, topics, k, self.config.novelty)

    def progress(self, topic: Topic) -> Progress:
        """An empty ranking of the topic."""
        return DraftProgress(Related(self.weights, relations_of([topic]), novelty=self.config.novelty))


@cache
def pretrained_weights() -> Weights:
    """The weights that come with the package; reading them executes nothing."""
    with as_file(files("srd_agents.relational").joinpath(CHECKPOINT)) as path:
        return read_weights(path)


def read_weights(path: PathLike) -> Weights:
    """The weights of an .npz file; reading it executes nothing.

    Raises:
        FileNotFoundError: no such file.
        ValueError: not such a file, or weights of another version.
    """
    what = "weights of ranker 'relational-pretrained'"
    with open_npz(path, what, "expected one that `make pretrain` wrote") as arrays:
        return checked_weights(dict(arrays), str(path))


def rank_topics(weights: Weights, topics: Sequence[Topic], k: int, novelty: float = 0.0) -> list[IntArray]:
    """Rankings by the highest score each time, [min(k, N)] int64; independent of which topics are ranked together.

    Args:
        weights: of the network.
        topics: the topics.
        k: ranks wanted.
        novelty: of `Related`.

    Raises:
        ValueError: a topic without document vectors.
    """
    return rankings_of(Decoding(), topics, k, lambda block, _: Related(weights, relations_of(block), novelty=novelty))


class DraftProgress(Progress):
    """A draft of one ranking of one topic, step by step."""

    def __init__(self, draft: Draft) -> None:
        self._draft = draft

    def scores(self) -> ScoreArray:
        """[N]."""
        found: ScoreArray = self._draft.scores()[0, 0].astype(np.float64)
        return found

    def add(self, document: int) -> None:
        """Choose a candidate."""
        self._draft.add(np.array([[document]]))


def relations_of(topics: Sequence[Topic]) -> Relations:
    """The relations of topics of equal size and width.

    Raises:
        ValueError: a topic without document vectors.
    """
    vectors = [topic.require_vectors(NAME) for topic in topics]
    n, width = vectors[0].shape
    unit = unit_vectors(vectors[0][None] if len(topics) == 1 else np.stack(vectors))
    scores_given = np.zeros((len(topics), n), np.float32)
    queries = query_vectors(topics, width)
    has_order = np.zeros(len(topics), np.bool_)
    for row, topic in enumerate(topics):
        if topic.retrieval_scores is not None:
            scores_given[row], has_order[row] = topic.retrieval_scores, True
    return relate(unit, scores_given, has_order, unit_vectors(queries) if queries.any() else queries)


def unit_vectors(vectors: FloatArray) -> Array:
    """Vectors of length 1 along the last axis; zero vectors stay zero. Lengths may be anything that float32 holds."""
    return rows_of(vectors).unit(...)
