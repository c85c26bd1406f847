from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from small_topics import partial_topic, refused, small_topic

from srd_agents.networks.directions import Directions, ranked_so_far
from srd_agents.networks.policy import acting
from srd_agents.registry import make_ranker
from srd_agents.reinforce.network import RelationsAndDirections, standing
from srd_agents.reinforce.topic_inputs import InputsOfSet, PolicyInputs, inputs_together
from srd_agents.relational.network import RelationalNetwork
from srd_agents.relational.relations import ANCHORS, STATIC
from srd_agents.training.validation import Validation
from srd_gym.dtypes import IntArray
from srd_gym.topic import TopicSet
from studies.pretrain.wide import wide_topics

WIDTH = 6


def a_policy(seed: int = 0) -> RelationsAndDirections:
    network = RelationsAndDirections(RelationalNetwork(8, 6), Directions(WIDTH, 8, len(STATIC)))
    generator = torch.Generator().manual_seed(seed)
    network.initialise(generator)
    for parameter in network.parameters():  # biases too
        with torch.no_grad():
            parameter.add_(torch.empty(parameter.shape).uniform_(-0.2, 0.2, generator=generator))
    network.directions.inputs.shift.uniform_(-1, 1, generator=generator)
    network.directions.inputs.scale.fill_(1.7)
    return network


def scores_along(network: RelationsAndDirections, inputs: PolicyInputs, rankings: IntArray) -> list[Any]:
    draft = standing(acting(network), inputs, rankings.shape[1])
    found = []
    for chosen in np.moveaxis(rankings, 2, 0):
        found.append(draft.scores())
        draft.add(chosen)
    return found


@pytest.mark.parametrize("alone", [True, False])
def test_what_acts_scores_as_what_learns(alone: bool) -> None:
    topics = [partial_topic(seed, n, WIDTH) for seed, n in enumerate((12, 8, 12, 9))]
    network, inputs = a_policy(), InputsOfSet(topics).of(np.arange(4))
    rng = np.random.default_rng(1)
    rankings = np.stack([[rng.permutation(topic.n_candidates)[:5] for _ in range(3)] for topic in topics])
    expected = network.logits(inputs, rankings, alone=alone).detach().numpy()
    network.directions = None if alone else network.directions
    for rank, found in enumerate(scores_along(network, inputs, rankings)):
        np.testing.assert_allclose(found, expected[:, :, rank], atol=1e-5)


@pytest.mark.parametrize("most", [11, ANCHORS + 11])
def test_padding_changes_no_score(most: int) -> None:
    topics = [partial_topic(seed, n, WIDTH) for seed, n in enumerate((4, most, 7))]
    network, padded = a_policy(), InputsOfSet(topics).of(np.arange(3))
    ranking = np.array([[[0, 2, 1]]])
    together = scores_along(network, padded, ranking.repeat(3, axis=0))
    for row, topic in enumerate(topics):
        for rank, alone in enumerate(scores_along(network, inputs_together([topic]), ranking)):
            np.testing.assert_allclose(together[rank][row, :, : topic.n_candidates], alone[0], atol=1e-4)


def test_wasted_ranks_leave_no_trace_but_their_discount() -> None:
    rows, taken = torch.rand(4, 3), torch.tensor([True, False, True, True])
    found = ranked_so_far(rows, taken)
    assert found.shape == (5, 10)
    assert not found[0].any()
    torch.testing.assert_close(found[2], found[1])
    kept = rows[[0, 2, 3]]
    torch.testing.assert_close(found[-1, :3], kept.sum(0) * 10**-0.5)
    discounts = 1 / torch.log2(torch.tensor([2.0, 4.0, 5.0]))
    torch.testing.assert_close(found[-1, 3:6], (kept * discounts[:, None]).sum(0) * 10**-0.5)
    torch.testing.assert_close(found[-1, 6:9], kept.amax(0))
    assert found[-1, 9] == pytest.approx(0.3)


def test_what_ranks_is_chosen_and_set_without_training() -> None:
    topics = wide_topics(24, seed=5, width=32, largest=20)
    ranker: Any = make_ranker("reinforce", epochs=2, hidden_size=8)
    ranker.fit(topics[:16], topics[16:], seed=0)
    best = ranker.history.best_validation
    value = Validation(topics[16:], ranker.config.validation_measure)
    assert value.mean(ranker) == best
    found = {}
    for count in (0.0, 1.0):
        ranker._network.directions_count.fill_(count)
        ranker._policy = None
        found[count] = value.mean(ranker)
    assert max(found.values()) == best
    refused(lambda: ranker.ranking_with(epochs=3), "of ranking of ranker 'reinforce'")


def test_directions_learn_what_relations_cannot_see() -> None:
    """Subtopic "a" is a direction of the space, whatever else stands in a topic."""
    rng = np.random.default_rng(0)
    made = []
    for index in range(60):
        vectors = rng.normal(size=(8, WIDTH))
        covers = (vectors[:, :1] >= np.sort(vectors[:, 0])[-2]).astype(np.int8)
        made.append(small_topic(covers, f"q{index}", doc_vectors=vectors))
    topics = TopicSet(made, name="a direction")
    value = Validation(topics[40:], "alpha_nDCG@3")
    found = {}
    for parts in ("both", "relations"):
        options: dict[str, Any] = {"epochs": 20, "hidden_size": 16, "learning_rate": 0.03, "batch_topics": 4}
        ranker: Any = make_ranker("reinforce", parts=parts, **options)
        ranker.fit(topics[:40], seed=0)
        found[parts] = value.mean(ranker)
    assert found["both"] > 0.9  # five seeds: 0.935 to 0.983
    assert found["relations"] < 0.7
