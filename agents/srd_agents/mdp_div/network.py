"""The policy of MDP-DIV: a recurrent user state and a bilinear choice among the remaining candidates.

Xia et al., "Adapting Markov Decision Process for Search Result Diversification", SIGIR 2017. Equation numbers below
are not the paper's; its section 4 states the same three formulas:

    h_0     = sigma(V_q q)                                 the state before the first rank
    h_{t+1} = sigma(V x + W h_t)                           after document x was ranked
    pi(i | h_t) = exp(x_i' U h_t) / sum_j exp(x_j' U h_t)  over the remaining candidates

Written for arrays of numpy as well: they act and rank, torch learns. `srd_agents.mdp_div.step_updates` has the
gradient of the paper's own updates in numpy.

Shapes: M topics, N candidates, F vector width, H hidden width.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import nn

from srd_agents.networks.inputs import Inputs, ShiftAndScale, orthonormal
from srd_agents.networks.policy import StatePolicy, gather_rows, given, linear, sigmoid


class Projection(NamedTuple):
    """Inputs of the policy for the candidates of M topics."""

    scoring: Any
    """[M, H, N], columns U'x: a candidate's logit is its column times the state."""
    documents: Any
    """[M, N, F]."""
    prior: Any
    """[M, 1, N], what the retrieval order adds to logits; None where the policy does not look at it."""


class RecurrentPolicy(ShiftAndScale, StatePolicy):
    """V_q, V, W and U, and a fixed shift and scale of the vectors.

    Vectors enter as (x - shift) / scale; shift 0 and scale 1 are the paper's network. No second copy of the
    documents is made: the scale is folded into U, and the shift adds the same to all logits of a state.

    Args:
        width: F.
        hidden: H; the paper uses 5.
        order_features: D, columns of the retrieval order that add a linear term to the logits; 0 as in the paper.
        resembles_mmr: whether it starts as a rough MMR; the paper's first weights are uniform.
    """

    serves_numpy = True

    def __init__(self, width: int, hidden: int, *, order_features: int = 0, resembles_mmr: bool = False) -> None:
        super().__init__(width)
        self.resembles_mmr = resembles_mmr
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
    def initialise(self, generator: torch.Generator) -> None:
        """Draw all weights uniformly from [-1, 1], as in the paper, or such that they resemble MMR.

        Args:
            generator: on the CPU, so that a seed gives the same start on every device.
        """
        if self.resembles_mmr:
            self._initialise_by_similarity(generator)
            return
        for parameter in self.parameters():
            parameter.uniform_(-1, 1, generator=generator)

    def _initialise_by_similarity(self, generator: torch.Generator) -> None:
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

    def begin(self, topics: Inputs) -> tuple[Projection, Any]:
        """The topics' projection, and h_0: [M, H].

        Args:
            topics: M topics, with features where the policy looks at the retrieval order; a missing query vector gives
                the state sigma(0).
        """
        queries, documents, _, order = topics
        # A shift moves all logits of a state alike, which the softmax does not see.
        scoring = documents @ (self.scoring_weight / self.scale)
        prior = None if self.order_weight is None or order is None else (order @ self.order_weight)[:, None]
        fixed = Projection(scoring.swapaxes(1, 2), documents, prior)
        return fixed, sigmoid(linear(self.standardized(queries) * given(queries), self.query_weight))

    def standardized(self, vectors: Any) -> Any:
        """Vectors [..., F] shifted and scaled."""
        return (vectors - self.shift) / self.scale

    def scores(self, fixed: Projection, states: Any) -> Any:
        """X'U h, and what the retrieval order adds."""
        logits = states @ fixed.scoring
        return logits if fixed.prior is None else logits + fixed.prior

    def next_state(self, fixed: Projection, states: object, chosen: object) -> Any:
        """h_{t+1} = sigma(V x + W h_t)."""
        ranked = self.standardized(gather_rows(fixed.documents, chosen))
        return sigmoid(linear(ranked, self.input_weight) + linear(states, self.state_weight))
