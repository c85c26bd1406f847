"""Ranking by a trained policy (Algorithm 3 of the paper): at every rank the most probable candidate. Numpy only.

Shapes: M topics, N candidates, F vector width, H hidden width.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from srd_agents.decoding import Decoding, decode
from srd_agents.features import order_features
from srd_gym.core import TopicArrays
from srd_gym.core.pruner import Pruner
from srd_gym.protocols import IntArray, Pruning
from srd_gym.topic import Topic, TopicSet

Floats = NDArray[np.float32]

_CHUNK = 32
"""Topics ranked together: enough to spread the cost of a numpy call, few enough to stay in the processor's cache."""


@dataclass(frozen=True, kw_only=True)
class GreedyPolicy:
    """The weights of a policy with the shift and scale of the vectors folded in.

    A topic's ranking does not depend on the topics ranked beside it, to the last bit: matrix products are taken topic
    by topic, and what is taken over a batch is elementwise. Ties go to the first candidate.
    """

    query_weight: Floats
    """[H, F]."""
    query_bias: Floats
    """[H]."""
    input_weight: Floats
    """[H, F]."""
    input_bias: Floats
    """[H]."""
    state_weight: Floats
    """[H, H]."""
    scoring_weight: Floats
    """[H, F], the paper's U, transposed."""
    order_weight: Floats | None = None
    """[D], where the policy looks at the retrieval order."""

    @classmethod
    def of(cls, weights: dict[str, Floats], shift: Floats, scale: Floats) -> GreedyPolicy:
        """The policy of a network.

        Args:
            weights: by the names of `PolicyNetwork`'s parameters.
            shift: [F].
            scale: [].
        """
        query, inputs = weights["query_weight"] / scale, weights["input_weight"] / scale
        return cls(
            query_weight=query,
            query_bias=np.negative(query @ shift),
            input_weight=inputs,
            input_bias=np.negative(inputs @ shift),
            state_weight=weights["state_weight"],
            scoring_weight=np.ascontiguousarray((weights["scoring_weight"] / scale).T),
            order_weight=weights.get("order_weight"),
        )

    def rank_batch(self, topics: Sequence[Topic], k: int) -> list[IntArray]:
        """The first k documents of each topic, best first: [min(k, N)] int64 each."""
        out: list[IntArray] = []
        for start in range(0, len(topics), _CHUNK):
            part = topics[start : start + _CHUNK]
            largest = max(topic.n_candidates for topic in part)
            rankings = decode(Decoding(), self.drafts(part, 1), (len(part), largest), min(k, largest), ())
            out += [row[: topic.n_candidates] for row, topic in zip(rankings, part, strict=True)]
        return out

    def rank_pruned(self, topics: Sequence[Topic], k: int, strategy: Pruning) -> list[IntArray]:
        """`rank_batch` with candidates taken off offer by a strategy.

        As many candidates stay on offer as there are ranks left.
        """
        return [self._rank_one(topic, min(k, topic.n_candidates), strategy) for topic in topics]

    def logits(self, topic: Topic, selected: IntArray) -> Floats:
        """The logits of all candidates after these documents were ranked: [N].

        Args:
            topic: with vectors of the width trained on.
            selected: [r] int64, in order.
        """
        draft = self.drafts([topic], 1)
        for document in selected:
            draft.add(np.array([[document]]))
        found: Floats = draft.scores()[0, 0]
        return found

    def _rank_one(self, topic: Topic, ranks: int, strategy: Pruning) -> IntArray:
        draft, here = self.drafts([topic], 1), np.zeros(1, np.int64)
        pruner = Pruner(strategy, TopicArrays(TopicSet([topic], name=topic.query_id)), ranks)
        allowed = pruner.at_reset(here, np.array([ranks]))
        ranking = np.full((1, ranks), -1, np.int64)
        for rank in range(ranks):
            best = np.where(allowed, draft.scores()[0], -np.inf).argmax(axis=1)
            ranking[:, rank] = best
            allowed[0, best] = False
            if rank + 1 < ranks:
                left = np.array([ranks - rank - 1])
                allowed = pruner.after_step(here, ranking, best, allowed, left)
                draft.add(best[None])
        found: IntArray = ranking[0]
        return found

    def drafts(self, topics: Sequence[Topic], rankings: int) -> _Drafts:
        """Empty rankings, as many of each of these topics, for `srd_agents.decoding`."""
        return _Drafts(self, topics, rankings)

    def next_state(self, state: Floats, ranked: Floats) -> Floats:
        """h_{t+1} of states [..., H] and the documents ranked [..., F]."""
        # One matrix-vector product a topic, so that the result does not depend on M.
        new = np.matmul(self.input_weight, ranked[..., None])[..., 0]
        old = np.matmul(self.state_weight, state[..., None])[..., 0]
        return _sigmoid(new + self.input_bias + old)

    def _initial(self, topic: Topic) -> Floats:
        """h_0, [H]."""
        query = topic.query_vector
        if query is None or not query.any():
            return np.full(len(self.query_bias), 0.5, np.float32)
        return _sigmoid(self.query_weight @ query + self.query_bias)

    def _prior(self, topic: Topic) -> Floats:
        """[N], what the retrieval order adds to the logits."""
        if self.order_weight is None or topic.retrieval_scores is None:
            return np.zeros(topic.n_candidates, np.float32)
        return order_features(topic) @ self.order_weight


class _Drafts:
    """Several rankings of each of some topics, in numpy; padding behind the shorter ones is never taken."""

    def __init__(self, policy: GreedyPolicy, topics: Sequence[Topic], rankings: int) -> None:
        self._policy = policy
        self._vectors = [topic.require_vectors("a learned ranker") for topic in topics]
        shape = (len(topics), len(policy.query_bias), max(topic.n_candidates for topic in topics))
        self._rows = np.zeros(shape, np.float32)
        self._prior = np.full((shape[0], 1, shape[2]), -np.inf, np.float32)
        for rows, prior, vectors, topic in zip(self._rows, self._prior, self._vectors, topics, strict=True):
            np.matmul(policy.scoring_weight, vectors.T, out=rows[:, : len(vectors)])
            prior[:, : len(vectors)] = policy._prior(topic)
        self._state = np.stack([policy._initial(topic) for topic in topics])[:, None].repeat(rankings, axis=1)
        self._topics = np.arange(len(topics))[:, None]

    def scores(self) -> Floats:
        """[B, R, N]."""
        # Topics that are padded to each other have one ranking each: elementwise over N, sums do not see the padding.
        single = self._state.shape[1] == 1
        found = np.einsum("brh,bhn->brn", self._state, self._rows) if single else np.matmul(self._state, self._rows)
        found += self._prior
        return np.asarray(found)

    def add(self, chosen: IntArray) -> None:
        """[B, R] candidates, at the next rank."""
        ranked = np.empty((*chosen.shape, self._vectors[0].shape[1]), np.float32)
        for rows, vectors, each in zip(ranked, self._vectors, chosen, strict=True):
            vectors.take(each, axis=0, out=rows, mode="clip")  # "raise", the default, would take a copy
        self._state = self._policy.next_state(self._state, ranked)

    def keep(self, rankings: IntArray) -> None:
        """[B, R], the ranking that each is a copy of."""
        self._state = self._state[self._topics, rankings]


def _sigmoid(x: Floats) -> Floats:
    """The logistic function, by tanh: no overflow on either side."""
    return np.asarray(0.5 * np.tanh(0.5 * x) + 0.5, dtype=np.float32)
