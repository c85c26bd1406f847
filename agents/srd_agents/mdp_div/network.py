"""The policy of MDP-DIV: a recurrent user state and a bilinear choice among the remaining candidates.

Xia et al., "Adapting Markov Decision Process for Search Result Diversification", SIGIR 2017. Equation numbers below
are not the paper's; its section 4 states the same three formulas:

    h_0     = sigma(V_q q)                                 the state before the first rank
    h_{t+1} = sigma(V x + W h_t)                           after document x was ranked
    pi(i | h_t) = exp(x_i' U h_t) / sum_j exp(x_j' U h_t)  over the remaining candidates

Documents enter only through U'x and V x, both of width H. They are computed once for a topic and shared by all ranks
and all of its rollouts, so that no step touches the F-wide vectors.

Whoever acts or learns asks the policy through `project`, `states` and `next_state`, and `logits` (all candidates) or
`offered_logits` (those on offer, gathered). `srd_agents.mdp_div.greedy` is the same policy in numpy, for ranking.

Shapes: M topics, R rollouts of each, L states of a topic, N candidates, F vector width, H hidden width, T ranks.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from srd_agents.networks.inputs import Inputs, ShiftAndScale, orthonormal
from srd_gym.protocols import BoolArray


class Projection(NamedTuple):
    """What the policy knows of the candidates of M topics."""

    scoring: Tensor
    """[M, N, H], rows U'x: the logit of a candidate is its row times the state."""
    inputs: Tensor
    """[M, N, H], rows V x: what a candidate adds to the next state."""
    initial: Tensor
    """[M, H], the state h_0."""
    prior: Tensor | None = None
    """[M, N], what the retrieval order adds to each candidate's logit; None where the policy does not look at it."""

    def detach(self) -> Projection:
        """The same numbers outside the gradient's graph."""
        return Projection(*(None if part is None else part.detach() for part in self))  # type: ignore[arg-type]


class PolicyNetwork(ShiftAndScale):
    """V_q, V, W and U, and a fixed shift and scale of the vectors.

    Vectors enter as (x - shift) / scale; shift 0 and scale 1 are the paper's network. The two are folded into the
    weights' products, so that no second copy of the documents is made.

    Args:
        width: F.
        hidden: H; the paper uses 5.
        order_features: D, columns of the retrieval order that add a linear term to the logits; 0 as in the paper.
    """

    def __init__(self, width: int, hidden: int, *, order_features: int = 0) -> None:
        super().__init__(width)
        self.width = width
        self.hidden = hidden
        self.query_weight = nn.Parameter(torch.zeros(hidden, width))
        """V_q, [H, F]."""
        self.input_weight = nn.Parameter(torch.zeros(hidden, width))
        """V, [H, F]."""
        self.state_weight = nn.Parameter(torch.zeros(hidden, hidden))
        """W, [H, H]."""
        self.scoring_weight = nn.Parameter(torch.zeros(width, hidden))
        """U, [F, H]."""
        self.order_weight = nn.Parameter(torch.zeros(order_features)) if order_features else None
        """[D]; what a policy that looks at the retrieval order adds to x'U h is its product with these."""

    @torch.no_grad()
    def initialise(self, bounds: dict[str, float], generator: torch.Generator) -> None:
        """Draw each weight matrix uniformly from [-bound, bound].

        Args:
            bounds: bound of each parameter, by name; those without one begin at 0.
            generator: on the CPU, so that a seed gives the same start on every device.
        """
        for name, parameter in self.named_parameters():
            drawn = torch.empty(parameter.shape, dtype=parameter.dtype).uniform_(-1, 1, generator=generator)
            parameter.copy_(drawn * bounds.get(name, 0.0))

    @torch.no_grad()
    def initialise_by_similarity(self, generator: torch.Generator) -> None:
        """Start as a rough MMR: prefer documents near the query and, more weakly, away from those ranked.

        Hidden units come in pairs with opposite weights b and -b, for H/2 orthonormal random directions b: the pair's
        difference is tanh(z/2), which is what makes x'U h a similarity, x projected on the directions times tanh(z/2).
        z begins as the projected query; each ranked document is subtracted from it (V = -0.1 b), and W carries it on,
        as 2 tanh(z/2) is about z. Not in the paper: on topics whose subtopics are their own, uniform first weights
        overfit and learn nothing else. The retrieval order, where the policy looks at it, begins with weights of 1.

        Args:
            generator: on the CPU.
        """
        half, dtype = self.hidden // 2, self.shift.dtype
        for parameter in self.parameters():
            parameter.zero_()  # an odd unit out stays so, and learns from there
        if self.order_weight is not None:
            self.order_weight.fill_(1.0)
        if not half:
            return
        directions = orthonormal(half, self.width, generator).to(dtype)
        pairs = torch.cat([directions, -directions])
        one = torch.eye(half, dtype=dtype)
        self.query_weight[: 2 * half].copy_(pairs)
        self.input_weight[: 2 * half].copy_(-0.1 * pairs)
        self.state_weight[: 2 * half, : 2 * half].copy_(
            torch.cat([torch.cat([one, -one], 1), torch.cat([-one, one], 1)]) * 2
        )
        self.scoring_weight[:, : 2 * half].copy_(pairs.T * half**-0.5)

    def project(self, topics: Inputs) -> Projection:
        """Everything that depends on the topic alone.

        Args:
            topics: M topics, with features where the policy looks at the retrieval order; a missing query vector gives
                the state sigma(0).

        Returns:
            The projection, with gradients to all that it is made of.
        """
        queries, documents, _, order = topics
        weights = torch.cat([self.scoring_weight, self.input_weight.T], dim=1) / self.scale
        both = documents @ weights
        # The shift moves all logits of a state alike, which the softmax does not see: only V x needs it.
        inputs = both[..., self.hidden :] - self.shift @ weights[:, self.hidden :]
        given = (queries != 0).any(dim=1, keepdim=True)
        centred = torch.where(given, (queries - self.shift) / self.scale, 0.0)
        initial = torch.sigmoid(centred @ self.query_weight.T)
        prior = None if self.order_weight is None or order is None else order @ self.order_weight
        return Projection(both[..., : self.hidden], inputs, initial, prior)

    def next_state(self, state: Tensor, inputs: Tensor) -> Tensor:
        """h_{t+1} = sigma(V x + W h_t).

        Args:
            state: [..., H], h_t.
            inputs: [..., H], V x of the documents just ranked.
        """
        return torch.sigmoid(inputs + state @ self.state_weight.T)

    def states(self, initial: Tensor, inputs: Tensor) -> Tensor:
        """The states of whole episodes whose documents are known (teacher forcing).

        Args:
            initial: [B, H], h_0 of each episode.
            inputs: [B, T, H], V x of the documents ranked; the last one is not needed.

        Returns:
            [B, T, H]: h_0 ... h_{T-1}, with gradients through all of them.
        """
        state, out = initial, [initial]
        for step in range(inputs.shape[1] - 1):
            state = self.next_state(state, inputs[:, step])
            out.append(state)
        return torch.stack(out, dim=1)

    def logits(self, known: Projection, states: Tensor) -> Tensor:
        """x_i' U h for each candidate and state, and what the retrieval order adds: [M, L, N] of states [M, L, H]."""
        scoring, prior = known.scoring, known.prior
        # For a single topic a plain matrix product is several times faster than a batched one.
        one = len(scoring) == 1
        found = (states[0] @ scoring[0].T)[None] if one else torch.bmm(states, scoring.transpose(1, 2))
        return found if prior is None else found + prior[:, None]

    def offered_logits(self, known: Projection, places: Tensor, state: Tensor) -> Tensor:
        """`logits` of the candidates on offer, evaluated for no other.

        Args:
            known: the projection of M topics.
            places: [B, C] int64, candidates on offer, counted through all topics: topic * N + candidate.
            state: [B, H].

        Returns:
            [B, C].
        """
        # index_select, as its gradient is several times faster than that of plain indexing.
        rows = known.scoring.flatten(0, 1).index_select(0, places.flatten()).view(*places.shape, -1)
        found = (rows * state[:, None]).sum(-1)
        return found if known.prior is None else found + known.prior.flatten()[places]

    def episode_logits(self, known: Projection, states: Tensor, allowed: Tensor, active: Tensor) -> Tensor:
        """`offered_logits` of whole episodes at once, with gradients.

        Args:
            known: the projection of M topics, B / M episodes of each.
            states: [B, T, H].
            allowed: [B, T, N] bool, the candidates on offer.
            active: [B, T] bool, the ranks that were filled.

        Returns:
            [B, T, N]; 0 where a candidate was not on offer.
        """
        wanted = allowed & active[..., None]
        episode, rank, candidate = wanted.nonzero(as_tuple=True)
        places = episode // (len(wanted) // len(known.scoring)) * wanted.shape[2] + candidate
        reached = states.flatten(0, 1).index_select(0, episode * wanted.shape[1] + rank)
        found = self.offered_logits(known, places[:, None], reached).squeeze(1)
        return torch.zeros(wanted.shape, dtype=found.dtype, device=found.device).masked_scatter(wanted, found)


def on_offer_side_by_side(allowed: BoolArray, device: torch.device) -> tuple[Tensor, Tensor]:
    """The candidates on offer, side by side: (indices [B, C] int64, 0 in the padding; which are real [B, C] bool)."""
    counts = allowed.sum(axis=1)
    real = np.arange(max(int(counts.max()), 1)) < counts[:, None]
    candidates = np.zeros(real.shape, np.int64)
    candidates[real] = np.nonzero(allowed)[1]
    return torch.from_numpy(candidates).to(device), torch.from_numpy(real).to(device)
