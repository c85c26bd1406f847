"""The network behind our SB3 policies: it scores candidates with shared weights, given the ranked documents.

It ranks topics too, greedily, and needs torch alone.

Shapes: B states, U topics, N candidates, F vector width, K ranks of the ranking given, H hidden width.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from srd_agents.networks.attention import dense
from srd_agents.networks.directions import Directions, ranked_so_far
from srd_agents.networks.features import ORDER_FEATURES, order_columns
from srd_agents.networks.inputs import Inputs, Standardizer, inputs_of
from srd_agents.networks.policy import gather_rows
from srd_gym.dtypes import IntArray
from srd_gym.reading import shown
from srd_gym.topic import Topic

_RELATIONS = 3  # of a candidate: to the query, to the nearest ranked document, to the ranked documents' mean


class Judged(NamedTuple):
    """Output of the network for B states."""

    scores: Tensor
    """[B, N], unmasked; padding has finite scores that mean nothing."""
    value: Tensor
    """[B, 1], the expected return from here on, for learners that want it."""
    summary: Tensor
    """[B, H], the state as the network sees it."""


class CandidateNetwork(nn.Module):
    """Scores candidates with shared weights: permuting them permutes the scores, and any number of them will do.

    Rows, state and pointer are `srd_agents.networks.directions.Directions`, as in `reinforce`. To a candidate's
    score its cosines with the query and the ranked documents are added, whose weights come from the state as well, so
    that MMR is among what can be learned. The value is another network of the state.

    Args:
        width: F.
        hidden: H.
    """

    def __init__(self, width: int, hidden: int = 64) -> None:
        super().__init__()
        self.width, self.hidden = width, hidden
        self.directions = Directions(width, hidden, len(ORDER_FEATURES), extra=_RELATIONS)
        self.critic = nn.Sequential(dense(6 * hidden + 1, hidden), nn.ReLU(), dense(hidden, 1))

    @property
    def inputs(self) -> Standardizer:
        """The fixed shift and scale of the vectors."""
        return self.directions.inputs

    def forward(self, topics: Inputs, ranking: Tensor, which: Tensor | None = None) -> Judged:
        """Judge B states.

        Args:
            topics: U topics, their features those of `srd_agents.networks.features.order_columns`; without `which`,
                the one of each state.
            ranking: [B, K] int64, candidates ranked so far by rank; -1 where empty or wasted.
            which: [B] int64, the topic of each state, where several states share one.
        """
        rows, context, prior = self.directions.topic_rows(topics)
        relations = _cosines(topics, ranking, which)
        if which is not None:
            # index_select: its gradient is several times faster than that of plain indexing.
            rows, context, prior = (part.index_select(0, which) for part in (rows, context, prior))
        ranked = ranked_so_far(gather_rows(rows, ranking.clamp(min=0)), ranking >= 0)[:, -1]
        summary = self.directions.summaries(context, ranked)
        pointer, weights = self.directions.pointers(summary)
        scores = (rows * pointer[:, None]).sum(2) + prior + (relations * weights[:, None]).sum(2)
        return Judged(scores, self.critic(torch.cat([context, ranked], dim=1)), summary)


def _cosines(topics: Inputs, ranking: Tensor, which: Tensor | None) -> Tensor:
    """[B, N, 3], a candidate's cosine with the query, the largest with a ranked document, and the mean with them.

    0 where there is no query, or nothing ranked. No gradient goes through it.
    """
    with torch.no_grad():
        units = functional.normalize(topics.documents, dim=2)
        query = (units * functional.normalize(topics.queries, dim=1)[:, None]).sum(2)
        if which is not None:
            units, query = units.index_select(0, which), query.index_select(0, which)
        taken = ranking >= 0
        near = torch.bmm(units, gather_rows(units, ranking.clamp(min=0)).transpose(1, 2))
        nearest = near.masked_fill(~taken[:, None], -math.inf).amax(2).masked_fill(~taken.any(1, keepdim=True), 0.0)
        count = taken.sum(1, keepdim=True).clamp(min=1).to(near.dtype)
        mean = (near * taken[:, None]).sum(2) / count
        return torch.stack([query, nearest, mean], dim=2)


@torch.inference_mode()
def rank_greedily(network: CandidateNetwork, topic: Topic, k: int) -> IntArray:
    """The candidate of the highest score at each rank, the first of equals: [min(k, N)] int64.

    Topics go one by one: in a batch, a topic's scores would depend on the others in their last bit.

    Raises:
        ValueError: no vectors, or of another width than the network's.
    """
    if topic.vector_width != network.width:
        raise ValueError(
            f"the policy was built for document vectors of width {network.width}, but topic {shown(topic.query_id)} "
            f"has {topic.vector_width or 'none'}; make its vectors the same way as those of training"
        )
    n, count = topic.n_candidates, min(k, topic.n_candidates)
    given = np.zeros(n, np.float32) if topic.retrieval_scores is None else topic.retrieval_scores
    order = order_columns(given[None], np.ones((1, n), np.bool_))
    inputs, place = inputs_of([topic], network.inputs.shift, features=[*order]), network.inputs.shift.device
    ranking = torch.full((1, count), -1, dtype=torch.int64, device=place)
    allowed = torch.ones((1, n), dtype=torch.bool, device=place)
    for rank in range(count):
        scores = network(inputs, ranking).scores
        best = int(scores.masked_fill(~allowed, -torch.inf).argmax())
        ranking[0, rank] = best
        allowed[0, best] = False
    return ranking[0].cpu().numpy().copy()
