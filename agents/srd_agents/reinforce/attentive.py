"""An expensive policy: at every rank self-attention over the candidates that are on offer then, and over no others.

Not in the papers. MDP-DIV's bilinear policy looks at every candidate alone, and its products with the documents are
taken once a topic, so that an evaluation costs a handful of multiplications. Here what a candidate is worth depends on
what else is on offer, which changes from rank to rank: the attention is computed anew at every rank, in time that
grows with the square of the candidates on offer. Pruned steps do pruned work.

    r_i      = tanh(A (x_i - shift) / scale)                      once a topic
    e_i      = r_i + B h_t                                        at every rank, for the candidates on offer
    logit_i  = x_i' U h_t + v' tanh(e_i + attention(e)_i)

v begins at 0: the first weights rank as those of the bilinear policy.

Shapes: M topics, B episodes, C candidates on offer (at most), N candidates, F vector width, H hidden width, W width of
the attention, T ranks.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from srd_agents.features import order_features
from srd_agents.networks.attention import SelfAttention, dense, initialise
from srd_agents.reinforce.network import PolicyNetwork, Projection
from srd_gym.core import TopicArrays
from srd_gym.core.pruner import Pruner
from srd_gym.protocols import BoolArray, IntArray, Pruning, ScoreArray
from srd_gym.topic import Topic, TopicSet


class AttentivePolicyNetwork(PolicyNetwork):
    """`PolicyNetwork` with attention among the candidates on offer.

    Args:
        width: F.
        hidden: H.
        attention_width: W, a multiple of `heads`.
        heads: of the attention.
        order_features: as for `PolicyNetwork`.
        dtype: float32, or float64 for tests.

    Raises:
        ValueError: a width that the heads cannot share evenly.
    """

    def __init__(
        self,
        width: int,
        hidden: int,
        *,
        attention_width: int,
        heads: int,
        order_features: int = 0,
        dtype: torch.dtype = torch.float32,
    ) -> None:
        super().__init__(width, hidden, order_features=order_features, dtype=dtype)
        self.row_layer = dense(width, attention_width, bias=False, dtype=dtype)
        """A."""
        self.state_layer = dense(hidden, attention_width, dtype=dtype)
        """B, and a constant."""
        self.attention = SelfAttention(attention_width, attention_width, heads, dtype=dtype)
        self.worth_layer = dense(attention_width, 1, bias=False, dtype=dtype)
        """v."""

    def initialise(self, bounds: dict[str, float], generator: torch.Generator) -> None:
        """As `PolicyNetwork.initialise`; the attention's layers by their own bounds, v at 0."""
        super().initialise(bounds, generator)
        self._initialise_attention(generator)

    def initialise_by_similarity(self, generator: torch.Generator) -> None:
        """As `PolicyNetwork.initialise_by_similarity`; the attention's layers by their own bounds, v at 0."""
        super().initialise_by_similarity(generator)
        self._initialise_attention(generator)

    def project(self, documents: Tensor, queries: Tensor, order: Tensor | None = None) -> Projection:
        """As `PolicyNetwork.project`, with the rows r_i that the attention starts from."""
        plain = super().project(documents, queries, order)
        weight = self.row_layer.weight / self.scale
        return plain._replace(rows=torch.tanh((documents - self.shift) @ weight.T))

    def worth(self, rows: Tensor, present: Tensor | None, state: Tensor) -> Tensor:
        """What the attention adds to the logits of the candidates on offer.

        Args:
            rows: [B, C, W], r_i.
            present: [B, C] bool, the real ones, at least one an episode; None: all are.
            state: [B, H], h_t.

        Returns:
            [B, C].
        """
        mixed = rows + self.state_layer(state)[:, None]
        found: Tensor = self.worth_layer(torch.tanh(mixed + self.attention(mixed, present))).squeeze(-1)
        return found

    def _initialise_attention(self, generator: torch.Generator) -> None:
        """First weights of what `PolicyNetwork` does not have."""
        for layer in (self.row_layer, self.state_layer, self.attention):
            initialise(layer, generator)
        with torch.no_grad():
            self.worth_layer.weight.zero_()


class AttentiveRanking:
    """Ranking by an attentive policy, topic by topic, so that a ranking does not depend on what else is ranked.

    Args:
        network: on the CPU or elsewhere; it is read at every call.
    """

    def __init__(self, network: AttentivePolicyNetwork) -> None:
        self._network = network

    def rank_batch(self, topics: Sequence[Topic], k: int) -> list[IntArray]:
        """The first k documents of each topic, best first: [min(k, N)] int64 each."""
        return [self._rank_one(topic, k, None) for topic in topics]

    def rank_pruned(self, topics: Sequence[Topic], k: int, strategy: Pruning) -> list[IntArray]:
        """`rank_batch` with candidates taken off offer by a strategy; the attention sees only those on offer."""
        return [self._rank_one(topic, k, strategy) for topic in topics]

    @torch.no_grad()
    def logits(self, topic: Topic, selected: IntArray, allowed: BoolArray | None = None) -> ScoreArray:
        """The logits after these documents were ranked: [N] float64, minus infinity where not on offer.

        Args:
            topic: with vectors of width F.
            selected: [r] int64, in order.
            allowed: [N] bool, the candidates on offer; None: all that are not selected.
        """
        projection = self._projection(topic)
        state = projection.initial
        for document in selected:
            state = self._network.next_state(state, projection.inputs[0, int(document)])
        on_offer = np.ones(topic.n_candidates, bool) if allowed is None else allowed.copy()
        on_offer[selected] = False
        found = np.full(topic.n_candidates, -np.inf)
        offered = np.flatnonzero(on_offer)
        if len(offered):
            found[offered] = self._offered(projection, offered, state)
        return found

    @torch.no_grad()
    def _rank_one(self, topic: Topic, k: int, strategy: Pruning | None) -> IntArray:
        """The first k documents of one topic."""
        projection = self._projection(topic)
        state, ranks = projection.initial, min(k, topic.n_candidates)
        here, allowed = np.zeros(1, np.int64), np.ones((1, topic.n_candidates), bool)
        pruner = None
        if strategy is not None:
            pruner = Pruner(strategy, TopicArrays(TopicSet([topic], name=topic.query_id)), ranks)
            allowed = pruner.at_reset(here, np.array([ranks]))
        ranking = np.full((1, ranks), -1, np.int64)
        for rank in range(ranks):
            offered = np.flatnonzero(allowed[0])
            best = ranking[0, rank] = offered[self._offered(projection, offered, state).argmax()]
            allowed[0, best] = False
            if pruner is not None and rank + 1 < ranks:
                allowed = pruner.after_step(
                    here, ranking, ranking[0, rank : rank + 1], allowed, here + ranks - rank - 1
                )
            state = self._network.next_state(state, projection.inputs[0, int(best)])
        found: IntArray = ranking[0]
        return found

    def _projection(self, topic: Topic) -> Projection:
        """The topic as the policy sees it."""
        place, vectors, query = self._network.shift, topic.doc_vectors, topic.query_vector
        if vectors is None:
            raise ValueError(f"topic {topic.query_id!r} has no document vectors")

        def moved(array: NDArray[np.float32]) -> Tensor:
            return torch.from_numpy(np.array(array[None])).to(place.device, place.dtype)

        order = moved(order_features(topic)) if self._network.order_weight is not None else None
        return self._network.project(
            moved(vectors), moved(np.zeros(vectors.shape[1], np.float32) if query is None else query), order
        )

    def _offered(self, projection: Projection, offered: IntArray, state: Tensor) -> ScoreArray:
        """The logits of the candidates on offer, [C]."""
        rows = torch.from_numpy(offered).to(state.device)
        logits = projection.scoring[0, rows] @ state[0]
        if projection.prior is not None:
            logits = logits + projection.prior[0, rows]
        if projection.rows is not None:
            logits = logits + self._network.worth(projection.rows[:, rows], None, state)[0]
        return np.asarray(logits.cpu().numpy(), dtype=np.float64)
