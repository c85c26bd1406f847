"""The policy of MDP-DIV: a recurrent user state and a bilinear choice among the remaining candidates.

Xia et al., "Adapting Markov Decision Process for Search Result Diversification", SIGIR 2017. Equation numbers below
are not the paper's; its section 4 states the same three formulas:

    h_0     = sigma(V_q q)                                 the state before the first rank
    h_{t+1} = sigma(V x + W h_t)                           after document x was ranked
    pi(i | h_t) = exp(x_i' U h_t) / sum_j exp(x_j' U h_t)  over the remaining candidates

Documents enter only through U'x and V x, both of width H. They are computed once for a topic and shared by all ranks
and all of its rollouts, so that no step touches the F-wide vectors.

`srd_agents.mdp_div.rollout` acts with it and has its gradient; `srd_agents.mdp_div.greedy` is the same policy in numpy,
for ranking.

Shapes: M topics, L states of a topic, N candidates, F vector width, H hidden width.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from srd_agents.networks.inputs import Inputs, ShiftAndScale, orthonormal


class Projection(NamedTuple):
    """What the policy knows of the candidates of M topics."""

    scoring: Tensor
    """[M, H + 1, N], columns U'x and what the retrieval order adds: a candidate's logit is its column times the state
    and a 1."""
    inputs: Tensor
    """[M, N, H], rows V x: what a candidate adds to the next state."""
    initial: Tensor
    """[M, H], the state h_0."""


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
    def initialise(self, generator: torch.Generator, bound: float = 1.0) -> None:
        """Draw all weights uniformly from [-bound, bound], as in the paper.

        Args:
            generator: on the CPU, so that a seed gives the same start on every device.
            bound: 1 in the paper.
        """
        for parameter in self.parameters():
            drawn = torch.empty(parameter.shape, dtype=parameter.dtype).uniform_(-1, 1, generator=generator)
            parameter.copy_(drawn * bound)

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
        scoring, inputs = both[..., : self.hidden], both[..., self.hidden :]
        prior = torch.zeros_like(scoring[..., 0])
        if self.order_weight is not None and order is not None:
            prior = order @ self.order_weight
        return Projection(
            torch.cat([scoring.transpose(1, 2), prior[:, None]], dim=1),
            # The shift moves all logits of a state alike, which the softmax does not see: only V x needs it.
            inputs - self.shift @ weights[:, self.hidden :],
            torch.sigmoid(self.standardized(queries) @ self.query_weight.T),
        )

    def carried_back(
        self, topics: Inputs, scoring: Tensor, initial: Tensor, ranked: Tensor, inputs: Tensor
    ) -> dict[str, Tensor]:
        """The gradient of the parameters that `project` reads, by name, from that of what it gives.

        Args:
            topics: M topics.
            scoring: [M, H + 1, N], the gradient with regard to `Projection.scoring`.
            initial: [M, H], with regard to what the initial states are the logistic function of.
            ranked: [V] int64, candidates that were ranked, counted through all topics: topic * N + candidate.
            inputs: [V, H], with regard to their rows of `Projection.inputs`.
        """
        queries, documents, _, order = topics
        vectors = documents.flatten(0, 1).index_select(0, ranked)
        found = {
            "query_weight": initial.T @ self.standardized(queries),
            "input_weight": (inputs.T @ vectors - inputs.sum(0)[:, None] * self.shift) / self.scale,
            "scoring_weight": (torch.bmm(scoring[:, :-1], documents).sum(0) / self.scale).T.contiguous(),
        }
        if self.order_weight is not None and order is not None:
            found["order_weight"] = order.flatten(0, 1).T @ scoring[:, -1].flatten()
        return found

    def standardized(self, queries: Tensor) -> Tensor:
        """Queries [M, F] shifted and scaled; one of zeros (none) stays as it is."""
        given = (queries != 0).any(dim=1, keepdim=True)
        return torch.where(given, (queries - self.shift) / self.scale, 0.0)

    def next_state(self, state: Tensor, inputs: Tensor) -> Tensor:
        """h_{t+1} = sigma(V x + W h_t).

        Args:
            state: [..., H], h_t.
            inputs: [..., H], V x of the documents just ranked.
        """
        return torch.sigmoid(inputs + state @ self.state_weight.T)
