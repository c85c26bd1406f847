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

import numpy as np
import torch
from torch import Tensor

from srd_agents.features import order_features
from srd_agents.mdp_div.greedy import StepwisePolicy
from srd_agents.mdp_div.network import PolicyNetwork, Projection, on_offer_side_by_side, rows_at
from srd_agents.networks.attention import SelfAttention, dense, initialise
from srd_agents.networks.inputs import Inputs, inputs_of
from srd_gym.protocols import IntArray, ScoreArray
from srd_gym.topic import Topic


class AttentivePolicyNetwork(PolicyNetwork):
    """`PolicyNetwork` with attention among the candidates on offer.

    Args:
        width: F.
        hidden: H.
        attention_width: W, a multiple of `heads`.
        heads: of the attention.
        order_features: as for `PolicyNetwork`.

    Raises:
        ValueError: a width that the heads cannot share evenly.
    """

    gathers = True

    def __init__(
        self,
        width: int,
        hidden: int,
        *,
        attention_width: int,
        heads: int,
        order_features: int = 0,
    ) -> None:
        super().__init__(width, hidden, order_features=order_features)
        self.row_layer = dense(width, attention_width, bias=False)
        """A."""
        self.state_layer = dense(hidden, attention_width)
        """B, and a constant."""
        self.attention = SelfAttention(attention_width, attention_width, heads)
        self.worth_layer = dense(attention_width, 1, bias=False)
        """v."""

    def initialise(self, bounds: dict[str, float], generator: torch.Generator) -> None:
        """As `PolicyNetwork.initialise`; the attention's layers by their own bounds, v at 0."""
        super().initialise(bounds, generator)
        self._initialise_attention(generator)

    def initialise_by_similarity(self, generator: torch.Generator) -> None:
        """As `PolicyNetwork.initialise_by_similarity`; the attention's layers by their own bounds, v at 0."""
        super().initialise_by_similarity(generator)
        self._initialise_attention(generator)

    def project(self, topics: Inputs) -> Projection:
        """As `PolicyNetwork.project`, with the rows r_i that the attention starts from."""
        weight = self.row_layer.weight / self.scale
        rows = torch.tanh((topics.documents - self.shift) @ weight.T)
        return super().project(topics)._replace(rows=rows)

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

    def offered_logits(self, known: Projection, places: Tensor, real: Tensor | None, state: Tensor) -> Tensor:
        """As `PolicyNetwork.offered_logits`, with what the attention adds."""
        worth = self.worth(rows_at(_rows(known), places), _some_present(real), state)
        return super().offered_logits(known, places, real, state) + worth

    def episode_logits(self, known: Projection, states: Tensor, allowed: Tensor, active: Tensor) -> Tensor:
        """As `PolicyNetwork.episode_logits`; the attention goes rank by rank over what was on offer."""
        rows = _rows(known)
        n_topics, n = known.scoring.shape[:2]
        first = (torch.arange(n_topics, device=states.device) * n).repeat_interleave(len(allowed) // n_topics)
        on_offer, worth = allowed.cpu().numpy(), []
        for rank in range(allowed.shape[1]):
            offered, real = on_offer_side_by_side(on_offer[:, rank], states.device)
            found = self.worth(rows_at(rows, first[:, None] + offered), _some_present(real), states[:, rank])
            # Padding repeats index 0: it must not write there.
            empty = found.new_zeros(len(allowed), n)
            worth.append(empty.scatter_add(1, offered, found.masked_fill(~real, 0.0)))
        return super().episode_logits(known, states, allowed, active) + torch.stack(worth, dim=1)

    def _initialise_attention(self, generator: torch.Generator) -> None:
        """First weights of what `PolicyNetwork` does not have."""
        for layer in (self.row_layer, self.state_layer, self.attention):
            initialise(layer, generator)
        with torch.no_grad():
            self.worth_layer.weight.zero_()


def _rows(known: Projection) -> Tensor:
    """[M, N, W], r_i."""
    if known.rows is None:
        raise ValueError("an attentive policy needs a projection made by its own network")
    return known.rows


def _some_present(real: Tensor | None) -> Tensor | None:
    """What attention looks at: None where all are real; the first, where an ended episode has none."""
    if real is None or bool(real.all()):
        return None
    some = real.clone()
    some[:, 0] = True
    return some


class AttentiveRanking(StepwisePolicy):
    """Ranking by an attentive policy, topic by topic, so that a ranking does not depend on what else is ranked.

    Args:
        network: on the CPU or elsewhere; it is read at every call.
    """

    def __init__(self, network: AttentivePolicyNetwork) -> None:
        self._network = network

    def begin(self, topic: Topic) -> _Begun:
        """The topic before its first rank."""
        return _Begun(self._network, topic)


class _Begun:
    """A topic and what was ranked of it, in torch."""

    def __init__(self, network: AttentivePolicyNetwork, topic: Topic) -> None:
        self._network, place = network, network.shift
        seen = inputs_of([topic], place)
        if network.order_weight is not None:
            order = torch.from_numpy(order_features(topic))[None].to(place.device, place.dtype)
            seen = seen._replace(features=order)
        with torch.no_grad():
            self._known = network.project(seen)
        self._state = self._known.initial

    @torch.no_grad()
    def logits(self, offered: IntArray) -> ScoreArray:
        """Of the candidates on offer, [C]."""
        places = torch.from_numpy(offered)[None].to(self._state.device)
        found = self._network.offered_logits(self._known, places, None, self._state)[0]
        return np.asarray(found.cpu().numpy(), dtype=np.float64)

    @torch.no_grad()
    def rank(self, document: int) -> None:
        """Put this document at the next rank."""
        self._state = self._network.next_state(self._state, self._known.inputs[0, document])
