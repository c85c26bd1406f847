"""The policy in torch, for learning; `srd_agents.reinforce.rollout` is the same in numpy.

Shapes: B topics, R episodes of each, T ranks, N candidates, F vector width.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from srd_agents.networks.attention import initialise
from srd_agents.networks.directions import Directions, ranked_so_far
from srd_agents.networks.inputs import Inputs
from srd_agents.relational.network import RelationalNetwork
from srd_agents.relational.relations import STATIC


class PolicyNetwork(nn.Module):
    """Scores of candidates: the sum of what their relations and what their directions say.

    Args:
        relations: the part that knows relations alone; None: there is none.
        directions: the part that knows the space of the vectors; None: there is none.
    """

    directions_count: Tensor
    """1 where a ranking asks both parts, 0 where validation chose relations alone."""

    def __init__(self, relations: RelationalNetwork | None, directions: Directions | None) -> None:
        super().__init__()
        self.relations = relations
        self.directions = directions
        self.register_buffer("directions_count", torch.ones(()))

    def initialise(self, generator: torch.Generator) -> None:
        """Draw the first weights of the parts that it has."""
        if self.relations is not None:
            self.relations.initialise(generator)
        if self.directions is not None:
            initialise(self.directions, generator)


def directed(directions: Directions, topics: Inputs, actions: Tensor) -> Tensor:
    """The directions' part of scores at all ranks of known episodes: [B, R, T, N].

    Args:
        directions: the network.
        topics: B topics, with the columns `STATIC` as features.
        actions: [B, R, T] int64, the candidates ranked.
    """
    known = directions.known(topics)
    count, rollouts, ranks = actions.shape
    places = actions[..., :-1].flatten(1)
    hidden = known.rows.shape[2]
    taken = known.rows.gather(1, places[..., None].expand(-1, -1, hidden))
    ranked = ranked_so_far(taken.view(count, rollouts, ranks - 1, hidden))
    pointers, _ = directions.pointers(directions.summaries(known.context, ranked))
    found = torch.bmm(pointers.flatten(1, 2), known.rows.transpose(1, 2)).view(count, rollouts, ranks, -1)
    return found + known.prior[:, None, None]


def directions_of(width: int, hidden: int) -> Directions:
    """The part for directions of a policy: it reads the columns `STATIC`."""
    return Directions(width, hidden, len(STATIC))
