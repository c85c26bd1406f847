from __future__ import annotations

import numpy as np
import pytest
from small_topics import bare_topic, refused

from srd_agents import make_ranker
from srd_agents.heuristic.representative import Representative
from srd_gym.testing import check_ranker
from srd_gym.topic import Topic


def drawn(n: int, seed: int = 0, **others: object) -> Topic:
    vectors = np.random.default_rng(seed).standard_normal((n, 12), dtype=np.float32)
    vectors[:1] = 0
    return bare_topic(n, f"q{seed}", doc_vectors=vectors, **others)


@pytest.mark.parametrize(("n", "k"), [(1, 1), (2, 2), (7, 2), (40, 6)])
def test_it_is_facility_location_without_relevance(n: int, k: int) -> None:
    """At the first ranks: later on, two that stand for each other alone tie but for rounding."""
    plain = make_ranker("facility-location", lambda_=0.0)
    for seed in range(5):
        topic = drawn(n, seed, retrieval_scores=-np.arange(n))
        assert Representative().rank(topic, k).tolist() == plain.rank(topic, k).tolist()


def test_each_group_of_documents_has_one_that_stands_for_it() -> None:
    rng = np.random.default_rng(0)
    group = np.repeat([0, 1, 2], [20, 12, 6])
    vectors = np.eye(3)[group] + 0.1 * rng.standard_normal((38, 3))
    ranking = Representative().rank(bare_topic(38, doc_vectors=vectors), 3)
    assert group[ranking].tolist() == [0, 1, 2]


def test_of_many_candidates_a_sample_is_compared() -> None:
    """It is ranked as a topic of its own, the others follow, and what is added need not be in it."""
    topic, ranker = drawn(48), Representative(sample=16)
    units = topic.doc_vectors / np.maximum(np.linalg.norm(topic.doc_vectors, axis=1, keepdims=True), 1e-9)
    best_first = np.argsort(-units @ units.mean(axis=0), kind="stable")
    inside = np.sort(best_first[np.arange(16) * 3])
    ranking = ranker.rank(topic, 48)
    np.testing.assert_array_equal(inside[Representative().rank(topic.take(inside), 16)], ranking[:16])
    assert ranking[16:].tolist() == [document for document in best_first.tolist() if document not in inside]
    np.testing.assert_array_equal(Representative(sample=48).rank(topic, 20), Representative().rank(topic, 20))
    check_ranker(ranker, [topic, drawn(16, 1), drawn(3, 2)])
    progress, (first, *_) = ranker.progress(topic), inside
    progress.add(int(ranking[-1]))
    near = np.maximum(units[inside] @ units[ranking[-1]], 0)
    wanted = np.maximum(units[inside] @ units[first], near).mean()
    assert progress.scores()[first] == pytest.approx(wanted, abs=1e-6)
    assert progress.scores()[ranking[16:]].max() < progress.scores()[inside].min()


def test_bad_input() -> None:
    refused(lambda: Representative(sample=0), "sample must be at least 1")
    refused(lambda: Representative().rank(drawn(3), 0), "k must be at least 1")
    refused(lambda: Representative().rank(bare_topic(query_vector=np.ones(2)), 1), "representative")
