"""The policy of `reinforce`: what relations say and what directions say of the next document.

Shapes: B topics, R rankings of each, T ranks, N candidates, F vector width.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from srd_agents.networks.directions import Directions
from srd_agents.networks.inputs import Inputs
from srd_agents.networks.policy import Steps, TensorSteps, on
from srd_agents.reinforce.topic_inputs import PolicyInputs
from srd_agents.relational.network import RelationalNetwork, TensorRelated
from srd_agents.relational.ranker import Related
from srd_gym.dtypes import IntArray


class RelationsAndDirections(nn.Module):
    """Scores of candidates: the sum of what their relations and what their directions say.

    Args:
        relations: the part that knows relations alone; None: there is none.
        directions: the part that knows the space of the vectors, and reads the columns `STATIC`; None: there is none.
    """

    directions_count: Tensor
    """1 where a ranking asks both parts, 0 where validation chose relations alone."""

    def __init__(self, relations: RelationalNetwork | None, directions: Directions | None) -> None:
        super().__init__()
        self.relations = relations
        self.directions = directions
        self.register_buffer("directions_count", torch.ones(()))

    def initialise(self, generator: torch.Generator) -> None:
        """Draw the initial weights of the parts that it has."""
        for part in (self.relations, self.directions):
            if part is not None:
                part.initialise(generator)

    def logits(self, inputs: PolicyInputs, actions: IntArray, *, alone: bool = False) -> Tensor:
        """Scores at all ranks of known rankings, [B, R, T, N], for learning.

        Args:
            inputs: the topics.
            actions: [B, R, T] int64, the candidates ranked.
            alone: whether directions are left out.
        """
        parts = []
        if self.relations is not None:
            parts.append(self.relations.logits(inputs.relations, inputs.present, actions))
        if self.directions is not None and not alone:
            place = self.directions_count.device
            parts.append(self.directions.logits(on(place, inputs.of_directions()), torch.from_numpy(actions).to(place)))
        return parts[0] if len(parts) == 1 else parts[0] + parts[1]


class Standing:
    """R rankings of each of B topics, as far as they have come (a `srd_agents.relational.decoding.Draft`).

    Args:
        parts: what relations say, what directions say, or both.
        alone: [] bool, whether the first part counts alone, where only the device knows.
    """

    def __init__(self, parts: Sequence[Any], alone: Tensor | None = None) -> None:
        self._parts, self._alone = parts, alone

    def scores(self) -> Any:
        """[B, R, N] float32, of every candidate as the next document, ranked ones included."""
        scores = self._parts[0].scores()
        for part in self._parts[1:]:
            more = part.scores()
            scores = scores + (more if self._alone is None else more.masked_fill(self._alone, 0.0))
        return scores

    def add(self, chosen: Any) -> None:
        """Put these candidates, [B, R] int64, at the next rank."""
        for part in self._parts:
            part.add(chosen)


def standing(
    policy: RelationsAndDirections, inputs: PolicyInputs, rankings: int = 1, *, alone: bool = False
) -> Standing:
    """Empty rankings, in numpy.

    Args:
        policy: what `srd_agents.networks.policy.acting` made of the network.
        inputs: the topics.
        rankings: R.
        alone: whether directions are left out.
    """
    parts: list[Any] = []
    if policy.relations is not None:
        parts.append(Related(policy.relations.weights(), inputs.relations, rankings, inputs.present))
    if policy.directions is not None and not alone:
        parts.append(Steps(policy.directions, inputs.of_directions(), rankings))
    return Standing(parts)


def tensor_standing(
    policy: RelationsAndDirections, inputs: PolicyInputs, rankings: int = 1, *, alone: bool | Tensor = False
) -> Standing:
    """Empty rankings, in torch, whose scores have gradients.

    Arguments are those of `standing`, the inputs being tensors; `alone` may be one too.
    """
    parts: list[Any] = []
    present: Any = inputs.present
    if policy.relations is not None:
        share = present / present.sum(1, keepdim=True)
        parts.append(TensorRelated(policy.relations.weights(), inputs.relations, share, rankings))
    if policy.directions is not None and alone is not True:
        arrays: Any = (inputs.queries, inputs.documents, present.float(), inputs.relations.static)
        parts.append(TensorSteps(policy.directions, Inputs(*arrays), rankings))
    return Standing(parts, alone if isinstance(alone, Tensor) else None)
