"""Ranking topics by the network, and the weights that come with the package. Numpy only."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from importlib.resources import as_file, files

import numpy as np

from srd_agents.features import query_vectors
from srd_agents.heuristic.greedy import Progress, Stepwise, in_blocks, rows_of
from srd_agents.relational.config import PretrainedConfig
from srd_agents.relational.forward import Related, Weights, greedy, one_pass
from srd_agents.relational.relations import Array, Relations, relate
from srd_gym.checks import check_integer
from srd_gym.files import PathLike
from srd_gym.protocols import IntArray, ScoreArray
from srd_gym.reading import open_npz
from srd_gym.topic import FloatArray, Topic

CHECKPOINTS = {"greedy": "pretrained.npz", "one-pass": "pretrained-one-pass.npz"}
"""The weights that come with the package, by strategy; docs/relational.md says how they were made."""
NAME = "relational-pretrained"
"""In errors."""
_BLOCK = 1 << 19
"""Vector entries worked on at once: a block fits the processor's cache."""


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
        self.weights = pretrained_weights(self.config.strategy) if path is None else read_weights(path)

    def rank_batch(self, topics: Sequence[Topic], k: int) -> list[IntArray]:
        """`rank` of every topic; topics of equal size are ranked side by side."""
        check_integer("k", k, 1)
        novel = partial(greedy, novelty=self.config.novelty)
        return rank_topics(self.weights, topics, k, novel if self.config.strategy == "greedy" else one_pass)

    def progress(self, topic: Topic) -> Progress:
        """An empty ranking of the topic."""
        return _RelationalProgress(self.weights, topic, self.config.novelty)


@lru_cache(maxsize=2)
def pretrained_weights(strategy: str = "greedy") -> Weights:
    """The weights that come with the package; reading them executes nothing."""
    with as_file(files("srd_agents.relational").joinpath(CHECKPOINTS[strategy])) as path:
        return read_weights(path)


def read_weights(path: PathLike) -> Weights:
    """The weights of an .npz file; reading it executes nothing.

    Raises:
        FileNotFoundError: no such file.
        ValueError: not such a file, or weights of another version.
    """
    what = "weights of ranker 'relational-pretrained'"
    with open_npz(path, what, "expected one that `make pretrain` wrote") as arrays:
        return Weights.of(dict(arrays), str(path))


def rank_topics(
    weights: Weights,
    topics: Sequence[Topic],
    k: int,
    strategy: Callable[[Weights, Relations, int], IntArray] = greedy,
) -> list[IntArray]:
    """Rankings of topics, each [min(k, N)] int64; independent of which topics are ranked together.

    Args:
        weights: of a network trained for the strategy.
        topics: the topics.
        k: ranks wanted.
        strategy: `greedy` or `one_pass`.

    Raises:
        ValueError: a topic without document vectors.
    """
    shapes = [topic.require_vectors(NAME).shape for topic in topics]
    return in_blocks(
        topics, shapes, _BLOCK, lambda block: strategy(weights, relations_of(block), min(k, block[0].n_candidates))
    )


class _RelationalProgress(Progress):
    """The greedy choice for one topic, step by step."""

    def __init__(self, weights: Weights, topic: Topic, novelty: float) -> None:
        self._related = Related(weights, relations_of([topic]), novelty=novelty)

    def scores(self) -> ScoreArray:
        found: ScoreArray = self._related.scores()[0, 0].astype(np.float64)
        return found

    def add(self, document: int) -> None:
        self._related.add(np.array([[document]]))


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
    rows = rows_of(vectors)
    unit: Array = rows.vectors * rows.scale[..., None]
    return unit
