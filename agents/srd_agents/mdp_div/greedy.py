"""Ranking by a trained policy (Algorithm 3 of the paper): at every rank the most probable candidate. Numpy only.

Shapes: M topics, N candidates, F vector width, H hidden width.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from srd_agents.features import order_features
from srd_gym.core import TopicArrays
from srd_gym.core.pruner import Pruner
from srd_gym.protocols import BoolArray, IntArray, Pruning, ScoreArray
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
            out.extend(self._rank_chunk(topics[start : start + _CHUNK], k))
        return out

    def rank_pruned(self, topics: Sequence[Topic], k: int, strategy: Pruning) -> list[IntArray]:
        """`rank_batch` with candidates taken off offer by a strategy; only those on offer are evaluated.

        As many candidates stay on offer as there are ranks left.
        """
        return [self._rank_one(topic, min(k, topic.n_candidates), strategy) for topic in topics]

    def logits(self, topic: Topic, selected: IntArray, allowed: BoolArray | None = None) -> ScoreArray:
        """The logits after these documents were ranked: [N] float64, minus infinity where not on offer.

        Args:
            topic: with vectors of the width trained on.
            selected: [r] int64, in order.
            allowed: [N] bool, the candidates on offer; None: all that are not selected.
        """
        begun = _Begun(self, topic)
        for document in selected:
            begun.rank(int(document))
        on_offer = np.ones(topic.n_candidates, bool) if allowed is None else allowed.copy()
        on_offer[selected] = False
        found = np.full(topic.n_candidates, -np.inf)
        offered = np.flatnonzero(on_offer)
        if len(offered):
            found[offered] = begun.logits(offered)
        return found

    def _rank_one(self, topic: Topic, ranks: int, strategy: Pruning) -> IntArray:
        begun, here = _Begun(self, topic), np.zeros(1, np.int64)
        pruner = Pruner(strategy, TopicArrays(TopicSet([topic], name=topic.query_id)), ranks)
        allowed = pruner.at_reset(here, np.array([ranks]))
        ranking = np.full((1, ranks), -1, np.int64)
        for rank in range(ranks):
            offered = np.flatnonzero(allowed[0])
            best = ranking[0, rank] = offered[begun.logits(offered).argmax()]
            allowed[0, best] = False
            if rank + 1 < ranks:
                left = np.array([ranks - rank - 1])
                allowed = pruner.after_step(here, ranking, ranking[0, rank : rank + 1], allowed, left)
                begun.rank(int(best))
        found: IntArray = ranking[0]
        return found

    def drafts(self, topics: Sequence[Topic], rankings: int) -> _Drafts:
        """Empty rankings, as many of each of these topics of equal size, for `srd_agents.decoding`."""
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

    def _rank_chunk(self, topics: Sequence[Topic], k: int) -> list[IntArray]:
        """`rank_batch` of a few topics."""
        counts = np.array([topic.n_candidates for topic in topics])
        depth, rows = min(k, int(counts.max())), np.arange(len(topics))
        # [M, H, N], not [M, N, H]: sums over H are then elementwise over N, whatever the padding.
        scoring = np.zeros((len(topics), len(self.query_bias), int(counts.max())), np.float32)
        for row, topic in enumerate(topics):
            np.matmul(
                self.scoring_weight, topic.require_vectors("a learned ranker").T, out=scoring[row, :, : counts[row]]
            )
        blocked = np.full((len(topics), scoring.shape[2]), -np.inf, np.float32)
        for row, topic in enumerate(topics):
            blocked[row, : counts[row]] = self._prior(topic)
        state = np.stack([self._initial(topic) for topic in topics])
        ranking = np.empty((len(topics), depth), np.int64)
        logits = np.empty_like(blocked)
        for rank in range(depth):
            np.einsum("mhn,mh->mn", scoring, state, out=logits)
            logits += blocked
            best = ranking[:, rank] = logits.argmax(axis=1)
            blocked[rows, best] = -np.inf
            if rank + 1 < depth:
                state = self.next_state(
                    state,
                    np.stack([t.require_vectors("a learned ranker")[i] for t, i in zip(topics, best, strict=True)]),
                )
        return [row[: min(k, count)] for row, count in zip(ranking, counts, strict=True)]


class _Begun:
    """A topic and what was ranked of it, in numpy."""

    def __init__(self, policy: GreedyPolicy, topic: Topic) -> None:
        self._policy, self._vectors = policy, topic.require_vectors("a learned ranker")
        self._rows: Floats = self._vectors @ policy.scoring_weight.T
        self._prior = policy._prior(topic)
        self._state: Floats = policy._initial(topic)

    def logits(self, offered: IntArray) -> Floats:
        """Of the candidates on offer, [C]."""
        found: Floats = self._rows[offered] @ self._state + self._prior[offered]
        return found

    def rank(self, document: int) -> None:
        """Put this document at the next rank."""
        self._state = self._policy.next_state(self._state, self._vectors[document])


class _Drafts:
    """Several rankings of each of some topics of equal size, in numpy."""

    def __init__(self, policy: GreedyPolicy, topics: Sequence[Topic], rankings: int) -> None:
        self._policy = policy
        self._vectors = np.stack([topic.require_vectors("a learned ranker") for topic in topics])
        self._rows = np.matmul(policy.scoring_weight, self._vectors.swapaxes(1, 2))
        self._prior = np.stack([policy._prior(topic) for topic in topics])[:, None]
        self._state = np.stack([policy._initial(topic) for topic in topics])[:, None].repeat(rankings, axis=1)
        self._topics = np.arange(len(topics))[:, None]

    def scores(self) -> Floats:
        """[B, R, N]."""
        return np.asarray(np.matmul(self._state, self._rows) + self._prior)

    def add(self, chosen: IntArray) -> None:
        """[B, R] candidates, at the next rank."""
        self._state = self._policy.next_state(self._state, self._vectors[self._topics, chosen])

    def keep(self, rankings: IntArray) -> None:
        """[B, R], the ranking that each is a copy of."""
        self._state = self._state[self._topics, rankings]


def _sigmoid(x: Floats) -> Floats:
    """The logistic function, by tanh: no overflow on either side."""
    return np.asarray(0.5 * np.tanh(0.5 * x) + 0.5, dtype=np.float32)
