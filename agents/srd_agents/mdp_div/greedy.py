"""Ranking by a trained policy (Algorithm 3 of the paper): at every rank the most probable candidate. Numpy only.

Shapes: M topics, N candidates, F vector width, H hidden width.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from srd_agents.networks.features import order_features
from srd_gym.core import TopicArrays
from srd_gym.core.pruner import Pruner
from srd_gym.protocols import IntArray, Pruning
from srd_gym.topic import Topic, TopicSet

Floats = NDArray[np.float32]

_CHUNK = 32
"""Topics ranked together: enough to spread the cost of a numpy call, few enough to stay in the processor's cache."""


class GreedyPolicy:
    """The weights of a policy with the shift and scale of the vectors folded in.

    A topic's ranking does not depend on the topics ranked beside it, to the last bit: matrix products are taken topic
    by topic, and what is taken over a batch is elementwise. Ties go to the first candidate.

    Args:
        weights: by the names of `PolicyNetwork`'s parameters and buffers.
    """

    def __init__(self, weights: Mapping[str, Floats]) -> None:
        shift, scale = weights["shift"], weights["scale"]
        self.query_weight = weights["query_weight"] / scale
        self.query_bias = np.negative(self.query_weight @ shift)
        self.input_weight = weights["input_weight"] / scale
        self.input_bias = np.negative(self.input_weight @ shift)
        self.state_weight = weights["state_weight"]
        self.scoring_weight = np.ascontiguousarray((weights["scoring_weight"] / scale).T)
        """[H, F], the paper's U, transposed."""
        self.order_weight = weights.get("order_weight")
        """[D], where the policy looks at the retrieval order."""

    def rank_batch(self, topics: Sequence[Topic], k: int, pruning: Pruning | None = None) -> list[IntArray]:
        """The first k documents of each topic, best first: [min(k, N)] int64 each.

        Args:
            topics: with vectors of the width trained on.
            k: ranks wanted.
            pruning: takes candidates off offer; as many stay there as there are ranks left.
        """
        out: list[IntArray] = []
        together = _CHUNK if pruning is None else 1
        for start in range(0, len(topics), together):
            part = topics[start : start + together]
            rankings = self._ranked(part, min(k, max(topic.n_candidates for topic in part)), pruning)
            out += [row[: topic.n_candidates] for row, topic in zip(rankings, part, strict=True)]
        return out

    def _ranked(self, topics: Sequence[Topic], ranks: int, pruning: Pruning | None) -> IntArray:
        """[M, K] the best on offer at each rank; behind its own candidates a topic of fewer repeats some."""
        vectors = [topic.require_vectors("a learned ranker") for topic in topics]
        here, most, width = np.arange(len(topics)), max(map(len, vectors)), vectors[0].shape[1]
        columns = np.zeros((len(topics), len(self.state_weight), most), np.float32)
        prior = np.full((len(topics), most), -np.inf, np.float32)
        for row, added, rows, topic in zip(columns, prior, vectors, topics, strict=True):
            np.matmul(self.scoring_weight, rows.T, out=row[:, : len(rows)])
            added[: len(rows)] = self._prior(topic)
        state = np.stack([self._initial(topic) for topic in topics])
        pruner = None
        if pruning is not None:
            pruner = Pruner(pruning, TopicArrays(TopicSet(topics, name=topics[0].query_id)), ranks)
            allowed = pruner.at_reset(here, np.array([ranks]))
        rankings = np.full((len(topics), ranks), -1, np.int64)
        for rank in range(ranks):
            # Elementwise over N: sums do not see the padding.
            scores = np.einsum("mh,mhn->mn", state, columns)
            scores += prior
            if pruner is not None:
                scores[~allowed] = -np.inf
            best = rankings[:, rank] = scores.argmax(axis=1)
            prior[here, best] = -np.inf
            if rank + 1 == ranks:
                break
            if pruner is not None:
                allowed[here, best] = False
                allowed = pruner.after_step(here, rankings, best, allowed, np.array([ranks - rank - 1]))
            ranked = np.empty((len(topics), width), np.float32)
            for document, rows, place in zip(ranked, vectors, best, strict=True):
                document[:] = rows[place]
            state = self._next_state(state, ranked)
        return rankings

    def _initial(self, topic: Topic) -> Floats:
        """h_0, [H]."""
        query = topic.query_vector
        if query is None or not query.any():
            return np.full(len(self.query_bias), 0.5, np.float32)
        return _sigmoid(self.query_weight @ query + self.query_bias)

    def _next_state(self, state: Floats, ranked: Floats) -> Floats:
        """h_{t+1} of states [M, H] and the documents ranked [M, F]."""
        # One matrix-vector product a topic, so that the result does not depend on M.
        new = np.matmul(self.input_weight, ranked[..., None])[..., 0]
        old = np.matmul(self.state_weight, state[..., None])[..., 0]
        return _sigmoid(new + self.input_bias + old)

    def _prior(self, topic: Topic) -> Floats | float:
        """[N], what the retrieval order adds to the logits."""
        return 0.0 if self.order_weight is None else order_features(topic) @ self.order_weight


def _sigmoid(x: NDArray[np.floating]) -> Floats:
    """The logistic function, by tanh: no overflow on either side."""
    return np.asarray(0.5 * np.tanh(0.5 * x) + 0.5, dtype=np.float32)
