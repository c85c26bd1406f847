"""Ranking topics with a `CandidateNetwork`, greedily, one document after the other; needs torch alone.

Shapes: N candidates.
"""

from __future__ import annotations

import numpy as np
import torch

from srd_agents.features import order_columns
from srd_agents.networks.inputs import Inputs, inputs_of
from srd_agents.sb3.network import CandidateNetwork
from srd_gym.protocols import IntArray, ScoreArray
from srd_gym.topic import Topic


@torch.inference_mode()
def rank_greedily(network: CandidateNetwork, topic: Topic, k: int) -> IntArray:
    """The candidate of the highest score at each rank, the first of equals: [min(k, N)] int64.

    Topics go one by one: in a batch, a topic's scores would depend on the others in their last bit.
    """
    count = min(k, topic.n_candidates)
    inputs, place = topic_inputs(network, topic), network.inputs.shift.device
    ranking = torch.full((1, count), -1, dtype=torch.int64, device=place)
    allowed = torch.ones((1, topic.n_candidates), dtype=torch.bool, device=place)
    for rank in range(count):
        scores = network(inputs, ranking).scores
        best = int(scores.masked_fill(~allowed, -torch.inf).argmax())
        ranking[0, rank] = best
        allowed[0, best] = False
    found: IntArray = ranking[0].cpu().numpy().copy()
    return found


@torch.inference_mode()
def next_scores(network: CandidateNetwork, topic: Topic, selected: IntArray) -> ScoreArray:
    """The score of each candidate after these were ranked: [N] float64.

    Args:
        network: of the topic's width.
        topic: the topic.
        selected: [r] int64, candidates ranked so far, in order.
    """
    place = network.inputs.shift.device
    ranking = torch.from_numpy(np.append(selected, -1).astype(np.int64))[None].to(place)
    judged = network(topic_inputs(network, topic), ranking)
    scores: ScoreArray = judged.scores[0].cpu().numpy().astype(np.float64)
    return scores


def topic_inputs(network: CandidateNetwork, topic: Topic) -> Inputs:
    """What the network sees of one topic.

    Raises:
        ValueError: no vectors, or of another width than the network's.
    """
    if topic.vector_width != network.width:
        raise ValueError(
            f"the policy was built for document vectors of width {network.width}, but topic {topic.query_id!r} has "
            f"{topic.vector_width or 'none'}; make its vectors the same way as those of training"
        )
    seen, n = inputs_of([topic], network.inputs.shift), topic.n_candidates
    scores = np.zeros(n, np.float32) if topic.retrieval_scores is None else topic.retrieval_scores
    order = order_columns(scores[None], np.ones((1, n), np.bool_))
    return seen._replace(features=torch.from_numpy(order).to(seen.documents.device))
