from __future__ import annotations

from dataclasses import replace
from math import log, log2
from typing import Any

import numpy as np
import pytest
import torch
from small_topics import judged_topic, refused, small_topic

from srd_agents import make_ranker
from srd_agents.supervised.desa.network import context_gains, list_pairwise_loss, pair_weights
from srd_gym.measures import IdealPool, parse_measure
from srd_gym.topic import Topic


def alpha_dcg(judgments: Any, ranking: list[int]) -> float:
    seen, total = np.zeros(judgments.shape[1]), 0.0
    for rank, document in enumerate(ranking, start=1):
        total += float((judgments[document] * 0.5**seen).sum()) / log2(1 + rank)
        seen += judgments[document]
    return total


@pytest.mark.parametrize("contexts", [1, 3, 9])
def test_pairs_weigh_what_one_adds_more_after_each_beginning_of_the_ideal(contexts: int) -> None:
    rng = np.random.default_rng(0)
    judgments = (rng.random((6, 4)) < 0.5).astype(np.int8)
    ideal = np.array([4, 1, 0, 5])[:contexts]
    wanted = np.zeros((6, 6))
    for size in range(len(ideal)):
        context = ideal[:size].tolist()
        left = [d for d in range(6) if d not in context]
        gains = {d: alpha_dcg(judgments, [*context, d]) for d in left}
        for a in left:
            for b in left:
                wanted[a, b] += max(0.0, gains[a] - gains[b])
    bound = parse_measure("alpha_DCG").plain().bind([IdealPool.of(small_topic(judgments), "candidates")], len(ideal))
    np.testing.assert_allclose(pair_weights(context_gains(bound, judgments, ideal)), wanted, atol=1e-6)


def test_loss_by_hand() -> None:
    weights = torch.zeros(2, 3, 3)
    weights[0, 0, 1], weights[0, 0, 2] = 3.0, 1.0
    scores = torch.tensor([[2.0, 0.0, 2.0], [0.0, 0.0, 0.0]])
    # The second topic has no pair, and counts 0.
    assert float(list_pairwise_loss(scores, weights)) == pytest.approx((0.75 * log(1 + np.exp(-2)) + 0.25 * log(2)) / 2)


@pytest.fixture(scope="module")
def trained() -> Any:
    ranker: Any = make_ranker("desa", width=16, heads=2, feed_forward=16, blocks=2, epochs=3, batch_topics=3)
    ranker.fit(topics())
    return ranker


def topics() -> list[Topic]:
    rng = np.random.default_rng(2)
    sizes = [(9, 3), (5, 1), (12, 6), (7, 2)]
    return [judged_topic(n, n, 5, s, subtopic_vectors=rng.normal(size=(s, 5))) for n, s in sizes]


def scores_of(ranker: Any, topic: Topic) -> Any:
    return ranker._scores([ranker._parts(topic)])[0]


def test_permuted_documents_have_permuted_scores_and_permuted_subtopics_the_same(trained: Any) -> None:
    topic = replace(topics()[2], retrieval_scores=None)
    rng, plain = np.random.default_rng(3), scores_of(trained, topic)
    documents, subtopics = rng.permutation(12), rng.permutation(6)
    np.testing.assert_allclose(scores_of(trained, topic.take(documents)), plain[documents], atol=1e-5)
    vectors: Any = topic.subtopic_vectors
    moved = replace(topic, subtopic_vectors=vectors[subtopics], judgments=None, pool=None)
    np.testing.assert_allclose(scores_of(trained, moved), plain, atol=1e-5)
    other = replace(topic, subtopic_vectors=vectors[::-1] * 3 + 1)
    assert np.abs(scores_of(trained, other) - plain).max() > 1e-3


def test_without_subtopics_the_query_stands_for_them(trained: Any) -> None:
    topic = topics()[0]
    query: Any = topic.query_vector
    as_query = replace(topic, subtopic_vectors=np.tile(query, (3, 1)))
    without = replace(topic, subtopic_vectors=None)
    np.testing.assert_allclose(scores_of(trained, as_query), scores_of(trained, without), atol=1e-5)
    neither = replace(without, query_vector=None)
    assert np.isfinite(scores_of(trained, neither)).all()
    blind: Any = make_ranker("desa", width=16, heads=2, feed_forward=16, epochs=1, subtopics=False)
    blind.fit([without])
    np.testing.assert_array_equal(scores_of(blind, topic), scores_of(blind, without))


def test_options_that_cannot_be_are_refused() -> None:
    refused(lambda: make_ranker("desa", width=9), "width must be a multiple of heads")
    refused(lambda: make_ranker("desa", alpha=1.0), "alpha must be below 1")
