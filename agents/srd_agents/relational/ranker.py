"""The relational ranker: the network's scores, its weights, and rankings by it. Numpy only: ranking needs no torch.

    h_i = relu(S s_i + D d_i + C c + P p + b),  g_i = relu(H h_i + M mean_j h_j + e),  score_i = v'g_i

with s static, d dynamic, c context and p position features (`srd_agents.relational.relations`). The mean over
candidates keeps it equivariant: reordering candidates reorders scores.

Shapes: B topics, R rankings of each, N candidates, H and G units.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import as_file, files
from typing import Any

import numpy as np

from srd_agents.heuristic.blend import Blend
from srd_agents.heuristic.greedy import rows_of
from srd_agents.heuristic.relevance import ByRelevance
from srd_agents.heuristic.stepwise import EXACT, STRETCHED, PartialRanking, Stepwise, Tied
from srd_agents.networks.features import query_vectors, relu
from srd_agents.relational.decoding import Draft, rankings_of
from srd_agents.relational.relations import (
    CONTEXT,
    DYNAMIC,
    POSITION,
    STATIC,
    Array,
    Ranked,
    Relations,
    position_of,
    relate,
)
from srd_agents.training.files import check_like
from srd_agents.training.options import Config, NotNegative
from srd_gym.checks import check_integer
from srd_gym.dtypes import AnyArray, BoolArray, IntArray, ScoreArray
from srd_gym.files import PathLike
from srd_gym.protocols import Ranker
from srd_gym.reading import open_npz
from srd_gym.topic import Topic

CHECKPOINT = "pretrained.npz"
"""The weights that come with the package; docs/relational.md says how they were made."""
NAME = "relational-pretrained"
"""In errors."""
Weights = Mapping[str, Array]
"""The network: float32 arrays by the names of `weight_shapes`."""


def weight_shapes(first: int, second: int) -> dict[str, tuple[int, ...]]:
    """Name -> shape for H = `first` and G = `second`: S, D, C, P, b, H, M, e and v of the formula."""
    return {
        "static": (len(STATIC), first),
        "dynamic": (DYNAMIC, first),
        "context": (CONTEXT, first),
        "position": (POSITION, first),
        "bias": (first,),
        "hidden": (first, second),
        "pooled": (first, second),
        "hidden_bias": (second,),
        "out": (second,),
    }


def checked_weights(arrays: Mapping[str, AnyArray], source: str = "weights") -> Weights:
    """The weights, ready to multiply with.

    Args:
        arrays: name -> array.
        source: where they came from, for the error.

    Raises:
        ValueError: other names or shapes, or values that are not finite numbers.
    """
    hidden = arrays.get("hidden", np.empty(0))
    first, second = hidden.shape if hidden.ndim == 2 else (0, 0)
    check_like(arrays, weight_shapes(first, second), source)
    return {name: np.ascontiguousarray(array, np.float32) for name, array in arrays.items()}


def fixed_part(weights: Mapping[str, Any], static: Any, context: Any) -> Any:
    """The part of the first layer that stays while a topic is ranked: [B, N, H].

    Args:
        weights: by name, arrays of numpy or tensors of torch, as all others.
        static: [B, N, D] with the columns `STATIC`.
        context: [B, C].
    """
    fixed = static @ weights["static"]
    fixed += (context @ weights["context"] + weights["bias"])[:, None]
    return fixed


def network_scores(weights: Mapping[str, Any], fixed: Any, dynamic: Any, position: Any, share: Any) -> Any:
    """The formula above, [..., N]: for ranking on arrays of numpy, for learning on tensors of torch.

    Args:
        weights: by name.
        fixed: [..., N, H], of `fixed_part`.
        dynamic: [..., N, D], `Ranked.features`; None where nothing is ranked.
        position: [P], or [..., 1, P] for several ranks at once.
        share: [..., 1, N], 1 / (real candidates).
    """
    stays = fixed + position @ weights["position"]
    if dynamic is None:
        first = relu(stays)
    else:
        first = dynamic @ weights["dynamic"]
        first += stays
        first = relu(first)
    second = first @ weights["hidden"]
    second += share @ first @ weights["pooled"] + weights["hidden_bias"]
    return relu(second) @ weights["out"]


class Related:
    """R rankings of each of B topics as far as they have come, as the network sees them (a `decoding.Draft`).

    Args:
        weights: the network.
        relations: of the topics.
        rankings: R.
        present: [B, N] bool, real candidates where topics are padded; None: all are.
        novelty: what is added to a score for each logarithm of 1 less the largest cosine with a ranked document.
    """

    def __init__(
        self,
        weights: Weights,
        relations: Relations,
        rankings: int = 1,
        present: BoolArray | None = None,
        *,
        novelty: float = 0.0,
    ) -> None:
        self._weights, self._novelty = weights, np.float32(novelty)
        self._share = offered_share(np.ones(relations.unit.shape[:2], np.bool_) if present is None else present)
        self._fixed = fixed_part(weights, relations.static, relations.context)
        self.ranked = Ranked(relations, self._share, rankings)

    def scores(self) -> Array:
        """[B, R, N] float32, of every candidate as the next document, ranked ones included."""
        weights, ranked = self._weights, self.ranked
        dynamic = ranked.features.transpose(0, 2, 3, 1) if ranked.size else None  # rankings begin alike
        scores = network_scores(
            weights, self._fixed[:, None], dynamic, position_of(ranked.size), self._share[:, None, None]
        )
        if not ranked.size:
            return np.repeat(scores, ranked.features.shape[2], axis=1)
        if self._novelty:
            scores += self._novelty * np.log(ranked.novelty())
        return np.asarray(scores)

    def add(self, chosen: IntArray) -> None:
        """Put these candidates, [B, R] int64, at the next rank."""
        self.ranked.add(chosen)


def offered_share(present: BoolArray) -> Array:
    """[B, N] 1 / (real candidates), 0 for padding."""
    share: Array = (present / present.sum(axis=1, keepdims=True)).astype(np.float32)
    return share


@dataclass(frozen=True, kw_only=True)
class PretrainedConfig(Config):
    """The pretrained relational ranker."""

    checkpoint: str | None = None
    """A file of weights that `make pretrain` wrote. None: those of the package."""
    novelty: NotNegative = 0.0
    """Weight of novelty, at least 0: the logarithm of 1 less the largest cosine with a chosen document."""


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

    name = NAME

    def __init__(self, config: PretrainedConfig | None = None) -> None:
        self.config = config or PretrainedConfig()
        path = self.config.checkpoint
        self.weights = pretrained_weights() if path is None else read_weights(path)

    def rank_batch(self, topics: Sequence[Topic], k: int) -> list[IntArray]:
        """`rank` of every topic; topics of equal size are ranked side by side."""
        check_integer("k", k, 1)
        weights, novelty = self.weights, self.config.novelty
        return rankings_of(topics, k, lambda block: Related(weights, relations_of(block), novelty=novelty), STRETCHED)

    def progress(self, topic: Topic) -> PartialRanking:
        """An empty ranking of the topic."""
        return DraftProgress(Related(self.weights, relations_of([topic]), novelty=self.config.novelty), STRETCHED)

    def with_diversity(self, diversity: float) -> Ranker:
        """Blended with relevance and the distance to what is chosen."""
        return Blend(self, diversity, novel=True) if diversity else ByRelevance(None)


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


class DraftProgress(PartialRanking):
    """A draft of one ranking of one topic, step by step."""

    def __init__(self, draft: Draft, tied: Tied = EXACT) -> None:
        self._draft, self.tied = draft, tied

    def scores(self) -> ScoreArray:
        """[N]."""
        scores: ScoreArray = self._draft.scores()[0, 0].astype(np.float64)
        return scores

    def add(self, document: int) -> None:
        """Choose a candidate."""
        self._draft.add(np.array([[document]]))


def relations_of(topics: Sequence[Topic]) -> Relations:
    """The relations of topics of equal size and width.

    Raises:
        ValueError: a topic without document vectors.
    """
    vectors = [topic.require_vectors(f"ranker {NAME!r}") for topic in topics]
    n, width = vectors[0].shape
    unit = rows_of(vectors[0][None] if len(topics) == 1 else np.stack(vectors)).unit(...)
    scores_given = np.zeros((len(topics), n), np.float32)
    queries = query_vectors(topics, width)
    has_order = np.zeros(len(topics), np.bool_)
    for row, topic in enumerate(topics):
        if topic.retrieval_scores is not None:
            scores_given[row], has_order[row] = topic.retrieval_scores, True
    return relate(unit, scores_given, has_order, rows_of(queries).unit(...) if queries.any() else queries)
