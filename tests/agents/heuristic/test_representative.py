from __future__ import annotations

from dataclasses import replace

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


@pytest.mark.parametrize("lambda_", [0.0, 0.01, 0.4, 1.0])
@pytest.mark.parametrize(("n", "k"), [(1, 1), (2, 2), (7, 2), (40, 6)])
def test_it_is_facility_location_by_the_cosine(n: int, k: int, lambda_: float) -> None:
    """At the first ranks: later on, two that stand for each other alone tie but for rounding."""
    plain, alone = (make_ranker("facility-location", lambda_=one, relevance="cosine") for one in (lambda_, 0.0))
    ranker = Representative(lambda_)
    for seed in range(5):
        topic, query = drawn(n, seed, retrieval_scores=-np.arange(n)), np.random.default_rng(9).standard_normal(12)
        vectors = topic.doc_vectors if topic.doc_vectors is not None else np.empty((0, 12))
        turned = vectors * np.where(vectors @ query < 0, -1, 1)[:, None]  # towards the query: none comes last for it
        topic = replace(topic, doc_vectors=turned, query_vector=query)
        assert ranker.rank(topic, k).tolist() == plain.rank(topic, k).tolist()
        if lambda_ < 1:
            assert ranker.rank(replace(topic, query_vector=None), k).tolist() == alone.rank(topic, k).tolist()


def test_each_group_of_documents_has_one_that_stands_for_it() -> None:
    rng = np.random.default_rng(0)
    group = np.repeat([0, 1, 2], [20, 12, 6])
    vectors = np.eye(3)[group] + 0.1 * rng.standard_normal((38, 3))
    ranking = Representative().rank(bare_topic(38, doc_vectors=vectors), 3)
    assert group[ranking].tolist() == [0, 1, 2]


@pytest.mark.parametrize("sample", [9, 40])
def test_what_has_nothing_in_common_with_the_query_comes_last(sample: int) -> None:
    """Up to rounding; those that are not compared come after it."""
    vectors = np.abs(drawn(18).doc_vectors) + 0.1
    far = np.arange(18) % 4 == 0
    vectors[far, :6], vectors[~far, 6:] = 1e-9, 0
    topic = replace(drawn(18), doc_vectors=vectors, query_vector=np.repeat([1.0, 0.0], 6))
    ranking = Representative(sample=sample).rank(topic, 18)[:sample].tolist()
    assert far[ranking].tolist() == sorted(far[ranking])
    assert np.count_nonzero(far[ranking]) > 1
    blind = Representative(sample=sample).rank(replace(topic, query_vector=None), 18)[:sample].tolist()
    assert sorted(ranking) == sorted(blind)  # the same are compared


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
    wanted = 0.99 * np.maximum(units[inside] @ units[first], near).mean()
    assert progress.scores()[first] == pytest.approx(wanted, abs=1e-6)
    assert progress.scores()[ranking[16:]].max() < progress.scores()[inside].min()


def test_bad_input() -> None:
    refused(lambda: Representative(sample=0), "sample must be at least 1")
    refused(lambda: Representative(1.5), "lambda_ must be")
    refused(lambda: Representative().rank(drawn(3), 0), "k must be at least 1")
    refused(lambda: Representative().rank(bare_topic(query_vector=np.ones(2)), 1), "representative")
