"""Topics of every shape."""

from __future__ import annotations

import numpy as np
from small_topics import refused

from studies.pretrain.wide import wide_topics


def test_a_larger_set_only_appends_and_seeds_share_nothing() -> None:
    few, many, other = (wide_topics(n, seed=s, width=32, largest=40) for n, s in ((4, 0), (9, 0), (4, 1)))
    for one, same in zip(few, many, strict=False):
        assert one.doc_ids == same.doc_ids
        np.testing.assert_array_equal(one.doc_vectors, same.doc_vectors)
    assert not set(few.query_ids) & set(other.query_ids)
    refused(lambda: wide_topics(2, width=8), "width must be at least 16, got 8")


def test_what_the_topics_are_like() -> None:
    topics = wide_topics(200, seed=5, width=64, largest=60)
    assert topics.simulated
    assert topics.vector_width == 64
    sizes = [topic.n_candidates for topic in topics]
    assert min(sizes) >= 16
    assert max(sizes) <= 60
    assert {topic.n_subtopics for topic in topics} >= set(range(1, 11)), "subtopics without a document are left out"
    for part in ("retrieval_scores", "query_vector"):
        assert 0.02 < np.mean([getattr(topic, part) is None for topic in topics]) < 0.25
    for topic in topics:
        np.testing.assert_allclose(np.linalg.norm(topic.doc_vectors, axis=1), 1, atol=1e-5)
        assert topic.judgments.any(axis=0).all(), "some document covers each subtopic"
        if topic.retrieval_scores is not None:
            assert (np.diff(topic.retrieval_scores) <= 0).all()


def test_documents_of_one_subtopic_are_nearer_to_each_other() -> None:
    nearer = []
    for topic in wide_topics(60, seed=2, width=64):
        relevant = topic.judgments.any(axis=1)
        similar = (topic.doc_vectors @ topic.doc_vectors.T)[relevant][:, relevant]
        share = (topic.judgments @ topic.judgments.T.astype(np.int64))[relevant][:, relevant] > 0
        apart = ~np.eye(len(similar), dtype=np.bool_)
        if (share & apart).any() and (~share).any():
            nearer.append(similar[share & apart].mean() - similar[~share].mean())
    assert np.mean(np.array(nearer) > 0) > 0.9


def test_an_order_tells_relevance_or_follows_the_query() -> None:
    """Half of the first stages match texts, the others know more; so the two kinds of evidence rarely come together."""
    by_query, by_relevance = [], []
    for topic in wide_topics(300, seed=4, width=64):
        relevant = topic.judgments.any(axis=1)
        if topic.query_vector is None or topic.retrieval_scores is None or topic.n_candidates < 40:
            continue
        if relevant.all():
            continue
        place = np.arange(topic.n_candidates)
        by_query.append(-np.corrcoef(place, topic.doc_vectors @ topic.query_vector)[0, 1])
        by_relevance.append(-np.corrcoef(place, relevant)[0, 1])
    assert 0.2 < np.mean(by_query) < 0.5
    assert 0.1 < np.mean(by_relevance) < 0.4
    strong = np.array(by_query) > np.median(by_query)
    assert np.mean(np.array(by_query)[strong]) > 0.4
    assert np.std(by_relevance) > 0.15, "orders are good and bad"
