"""The network's forward pass. Numpy only, so that ranking needs no torch.

    h_i = relu(S s_i + D d_i + C c + P p + b),  g_i = relu(H h_i + M mean_j h_j + e),  score_i = v'g_i

with s static, d dynamic, c context and p position features (`srd_agents.relational.relations`). The mean over
candidates keeps it equivariant: reordering candidates reorders scores.

Shapes: B topics, R rankings of each, N candidates, H and G units.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from srd_agents.relational.relations import CONTEXT, DYNAMIC, POSITION, STATIC, Array, Ranked, Relations
from srd_agents.storage import check_like
from srd_gym.protocols import BoolArray, IntArray

Weights = Mapping[str, Array]
"""The network: float32 arrays by the names of `weight_shapes`."""


def weight_shapes(units: int, second: int) -> dict[str, tuple[int, ...]]:
    """Name -> shape for H = `units` and G = `second`: S, D, C, P, b, H, M, e and v of the formula."""
    return {
        "static": (len(STATIC), units),
        "dynamic": (DYNAMIC, units),
        "context": (CONTEXT, units),
        "position": (POSITION, units),
        "bias": (units,),
        "hidden": (units, second),
        "pooled": (units, second),
        "hidden_bias": (second,),
        "out": (second,),
    }


def checked_weights(arrays: Mapping[str, NDArray[Any]], source: str = "weights") -> Weights:
    """The weights, ready to multiply with.

    Args:
        arrays: name -> array.
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
    return {name: np.ascontiguousarray(array, np.float32) for name, array in arrays.items()}


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
        self._weights, self._novelty = weights, np.float32(novelty)
        self._share = offered_share(np.ones(relations.unit.shape[:2], np.bool_) if present is None else present)
        # The part of the first layer that stays while a topic is ranked: [B, N, H].
        self._fixed = np.matmul(relations.static, weights["static"])
        self._fixed += (relations.context @ weights["context"] + weights["bias"])[:, None]
        self.ranked = Ranked(relations, self._share, rankings)

    def scores(self) -> Array:
        """[B, R, N] float32, of every candidate as the next document, ranked ones included."""
        weights, ranked = self._weights, self.ranked
        if ranked.size:
            first = np.matmul(ranked.features.transpose(0, 2, 3, 1), weights["dynamic"])
            first += self._fixed[:, None]
        else:  # rankings are alike
            first = self._fixed[:, None].copy()
        first += ranked.position() @ weights["position"]
        np.maximum(first, 0, out=first)
        mean = np.matmul(self._share[:, None, None], first)
        second = np.matmul(first, weights["hidden"])
        second += np.matmul(mean, weights["pooled"]) + weights["hidden_bias"]
        np.maximum(second, 0, out=second)
        found = np.matmul(second, weights["out"])
        if not ranked.size:
            return np.repeat(found, ranked.features.shape[2], axis=1)
        if self._novelty:
            found += self._novelty * np.log(ranked.novelty())
        return np.asarray(found)

    def add(self, chosen: IntArray) -> None:
        """Put these candidates, [B, R] int64, at the next rank."""
        self.ranked.add(chosen)

    def keep(self, rankings: IntArray) -> None:
        """Go on from some of the rankings: [B, R] int64, the ranking that each is a copy of."""
        self.ranked.keep(rankings)


def offered_share(present: BoolArray) -> Array:
    """[B, N] 1 / (real candidates), 0 for padding."""
    share: Array = (present / present.sum(axis=1, keepdims=True)).astype(np.float32)
    return share
