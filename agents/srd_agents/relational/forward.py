"""The network's forward pass and the greedy ranking by it. Numpy only, so that ranking needs no torch.

    h_i = relu(S s_i + D d_i + C c + P p + b),  g_i = relu(H h_i + M mean_j h_j + e),  score_i = v'g_i

with s static, d dynamic, c context and p position features (`srd_agents.relational.relations`). The mean over
candidates keeps it equivariant: reordering candidates reorders scores.

Shapes: B topics, R rankings of each, N candidates, K ranks, H and G units.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from srd_agents.decoding import Decoding, decode
from srd_agents.relational.relations import CONTEXT, DYNAMIC, POSITION, STATIC, Array, Ranked, Relations
from srd_agents.storage import check_like
from srd_gym.protocols import BoolArray, IntArray


@dataclass(frozen=True, kw_only=True)
class Weights:
    """The network, float32."""

    static: Array
    """S: [D, H]."""
    dynamic: Array
    """D: [D, H]."""
    context: Array
    """C: [C, H]."""
    position: Array
    """P: [P, H]."""
    bias: Array
    """b: [H]."""
    hidden: Array
    """H: [H, G]."""
    pooled: Array
    """M: [H, G]."""
    hidden_bias: Array
    """e: [G]."""
    out: Array
    """v: [G]."""

    @classmethod
    def of(cls, arrays: Mapping[str, NDArray[Any]], source: str = "weights") -> Weights:
        """The weights by their names.

        Args:
            arrays: name -> array, for each field.
            source: where they came from, for the error.

        Raises:
            ValueError: other names or shapes, or values that are not finite numbers.
        """
        hidden = arrays.get("hidden", np.empty(0))
        units, second = hidden.shape if hidden.ndim == 2 else (0, 0)
        check_like(arrays, weight_shapes(units, second), source)
        for name, array in arrays.items():
            if not (np.issubdtype(array.dtype, np.floating) and np.isfinite(array).all()):
                raise ValueError(f"{source}: {name} holds what is no finite number; train again")
        return cls(**{name: np.ascontiguousarray(array, np.float32) for name, array in arrays.items()})


def weight_shapes(units: int, second: int) -> dict[str, tuple[int, ...]]:
    """Name -> shape for H = `units` and G = `second`."""
    return {
        "static": (len(STATIC), units),
        "dynamic": (len(DYNAMIC), units),
        "context": (len(CONTEXT), units),
        "position": (len(POSITION), units),
        "bias": (units,),
        "hidden": (units, second),
        "pooled": (units, second),
        "hidden_bias": (second,),
        "out": (second,),
    }


def first_layer(weights: Weights, relations: Relations) -> Array:
    """The part of the first layer that stays while a topic is ranked: [B, N, H]."""
    fixed = np.matmul(relations.static, weights.static)
    fixed += (relations.context @ weights.context + weights.bias)[:, None]
    return np.asarray(fixed)


def scores(weights: Weights, fixed: Array, ranked: Ranked, share: Array) -> Array:
    """The score of each candidate at the next rank, ranked ones included.

    Args:
        weights: the network.
        fixed: [B, N, H], of `first_layer`.
        ranked: what is ranked so far.
        share: [B, N], 1 / (real candidates), 0 for padding.

    Returns:
        [B, R, N] float32.
    """
    rankings = ranked.features.shape[2]
    if ranked.size:
        first = np.matmul(ranked.features.transpose(0, 2, 3, 1), weights.dynamic)
        first += fixed[:, None]
    else:  # rankings are alike
        first = fixed[:, None].copy()
    first += ranked.position() @ weights.position
    np.maximum(first, 0, out=first)
    mean = np.matmul(share[:, None, None], first)
    second = np.matmul(first, weights.hidden)
    second += np.matmul(mean, weights.pooled) + weights.hidden_bias
    np.maximum(second, 0, out=second)
    found = np.matmul(second, weights.out)
    return np.asarray(found if found.shape[1] == rankings else np.repeat(found, rankings, axis=1))


class Related:
    """R rankings of each of B topics as far as they have come, as the network sees them (`srd_agents.decoding.Draft`).

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
        self._novelty = np.float32(novelty)
        every = np.ones(relations.unit.shape[:2], np.bool_) if present is None else present
        self._weights, self._share = weights, offered_share(every)
        self._fixed = first_layer(weights, relations)
        self.ranked = Ranked(relations, rankings, present)

    def scores(self) -> Array:
        """[B, R, N] float32, of every candidate as the next document, ranked ones included."""
        found = scores(self._weights, self._fixed, self.ranked, self._share)
        if self._novelty and self.ranked.size:
            found += self._novelty * np.log(self.ranked.novelty())
        return found

    def add(self, chosen: IntArray) -> None:
        """Put these candidates, [B, R] int64, at the next rank."""
        self.ranked.add(chosen)

    def keep(self, rankings: IntArray) -> None:
        """Go on from some of the rankings: [B, R] int64, the ranking that each is a copy of."""
        self.ranked.keep(rankings)


def greedy(weights: Weights, relations: Relations, k: int, *, novelty: float = 0.0) -> IntArray:
    """Rank by taking the highest score each time: [B, K] int64; ties go to the earlier candidate.

    Args:
        weights: the network.
        relations: of B topics of equal size.
        k: ranks, at most N.
        novelty: of `Related`.
    """
    count, n = relations.unit.shape[:2]
    return decode(Decoding(), Related(weights, relations, novelty=novelty), (count, n), k, ())


def one_pass(weights: Weights, relations: Relations, k: int) -> IntArray:
    """Rank by the scores before anything is ranked: [B, K] int64. Ties go to the earlier candidate.

    Args:
        weights: of a network trained for it (`studies.pretrain.distil`).
        relations: of B topics of equal size.
        k: ranks, at most N.
    """
    first = first_layer(weights, relations)
    np.maximum(first, 0, out=first)
    second = np.matmul(first, weights.hidden)
    second += (first.mean(axis=1) @ weights.pooled + weights.hidden_bias)[:, None]
    np.maximum(second, 0, out=second)
    score = np.matmul(second, weights.out)
    return np.asarray(np.argsort(-score, axis=1, kind="stable")[:, :k])


def offered_share(present: BoolArray) -> Array:
    """[B, N] 1 / (real candidates), 0 for padding."""
    share: Array = (present / present.sum(axis=1, keepdims=True)).astype(np.float32)
    return share
