import ast
import inspect
import itertools
from dataclasses import FrozenInstanceError, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_topics import refused

from srd_gym.data.synthetic import PRESETS, SyntheticConfig, catalogue, generate
from srd_gym.topic import Topic, TopicSet

FEW = {"candidates": (1, 3), "subtopics": (5, 5)}
"""More subtopics than documents."""
ARRAYS = ("query_vector", "doc_vectors", "retrieval_scores", "subtopic_vectors", "judgments")


def same(a: Topic, b: Topic) -> bool:
    texts = (a.query_id, a.doc_ids, a.subtopic_ids) == (b.query_id, b.doc_ids, b.subtopic_ids)
    return texts and all(np.array_equal(getattr(a, name), getattr(b, name)) for name in ARRAYS)


def judgments(topic: Topic) -> np.ndarray:
    return topic.judgments


def vectors(topic: Topic) -> np.ndarray:
    return topic.doc_vectors


def subtopics_per_relevant_document(topics: TopicSet) -> float:
    per_document = np.concatenate([judgments(topic).sum(axis=1) for topic in topics])
    return float(per_document[per_document > 0].mean())


def mean_relevant_share(topics: TopicSet) -> float:
    return float(np.mean([judgments(topic).any(axis=1).mean() for topic in topics]))


def alpha_dcg(rows: np.ndarray, order: np.ndarray) -> float:
    """alpha-DCG@10 (alpha 0.5) of an order, written out."""
    coverage = np.zeros(rows.shape[1])
    value = 0.0
    for rank, row in enumerate(rows[order[:10]]):
        value += float((row * 0.5**coverage).sum()) / np.log2(2 + rank)
        coverage += row
    return value


def test_serp_is_like_du_div() -> None:
    topics = generate("serp", n_topics=300)
    assert {topic.n_candidates for topic in topics} == {15}
    assert min(topic.n_subtopics for topic in topics) >= 5
    assert max(topic.n_subtopics for topic in topics) <= 15
    assert 9.3 < np.mean([topic.n_subtopics for topic in topics]) < 10.7
    assert 1.95 < subtopics_per_relevant_document(topics) < 2.2
    assert 0.85 < mean_relevant_share(topics) < 0.95
    assert topics.vector_width == 64


def test_web_is_like_the_trec_sets_and_tiny_is_tiny() -> None:
    tiny = generate("tiny", n_topics=50)
    assert {topic.n_candidates for topic in tiny} <= set(range(6, 13))
    assert ({topic.n_subtopics for topic in tiny}, tiny.vector_width) == ({3}, 8)
    topics = generate("web", n_topics=150)
    sizes = [topic.n_candidates for topic in topics]
    assert (min(sizes) >= 120, max(sizes) <= 280, 185 < np.mean(sizes) < 215) == (True, True, True)
    assert {topic.n_subtopics for topic in topics} == set(range(3, 9))
    assert 1.4 < subtopics_per_relevant_document(topics) < 1.65
    assert 0.28 < mean_relevant_share(topics) < 0.42


@pytest.mark.parametrize(("preset", "ranges"), [*((name, {}) for name in sorted(PRESETS)), ("serp", FEW)])
def test_every_topic_is_complete_and_every_subtopic_covered(preset: str, ranges: dict[str, Any]) -> None:
    topics = generate(preset, n_topics=20, seed=4, **ranges)
    assert (topics.name, topics.marks) == (f"synthetic:{preset}", ("simulated",))
    assert topics[17].doc_ids[0] == f"{preset}-4-17-d0"
    assert not set(topics.query_ids) & set(generate(preset, n_topics=20, seed=5, **ranges).query_ids)
    assert len(np.unique([topic.query_vector for topic in topics], axis=0)) == 20
    for topic in topics:
        assert topic.trainable
        assert judgments(topic).any(axis=0).all()
        assert set(np.unique(judgments(topic))) <= {0, 1}
        assert all(getattr(topic, name) is not None for name in ARRAYS)
        assert (np.diff(topic.retrieval_scores) <= 0).all()
        assert topic.pool is None
        for rows in (vectors(topic), np.asarray(topic.query_vector)[None], np.asarray(topic.subtopic_vectors)):
            np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)


@given(
    preset=st.sampled_from(sorted(PRESETS)), seed=st.integers(0, 2**40), count=st.integers(1, 4), more=st.integers(0, 4)
)
def test_a_topic_depends_on_seed_and_index_alone(preset: str, seed: int, count: int, more: int) -> None:
    few = generate(preset, n_topics=count, seed=seed)
    many = generate(preset, n_topics=count + more, seed=seed)
    assert all(same(a, b) for a, b in zip(few, many, strict=False))


def test_serp_topics_of_all_seeds_share_one_catalogue() -> None:
    shared = catalogue(25, 64)
    np.testing.assert_allclose(np.linalg.norm(shared, axis=1), 1, atol=1e-6)
    np.testing.assert_array_equal(shared, catalogue(25, 64))
    quiet = {"noise": 0.0, "topic_weight": 0.0, "near_duplicate_share": 0.0, "relevant_share": (1.0, 1.0)}
    seen = set()
    for seed in (0, 1):
        for topic in generate("serp", n_topics=20, seed=seed, **quiet):
            rows = shared[np.array(topic.subtopic_ids, dtype=int) - 1]
            np.testing.assert_allclose(np.asarray(topic.subtopic_vectors), rows, atol=1e-6)
            expected = judgments(topic) @ rows
            expected /= np.linalg.norm(expected, axis=1, keepdims=True)
            np.testing.assert_allclose(vectors(topic), expected, atol=1e-5)
            seen.update(topic.subtopic_ids)
    assert seen == {str(i) for i in range(1, 26)}


def test_web_subtopics_are_private_to_their_query() -> None:
    first, second = generate("web", n_topics=2, subtopics=(5, 5), noise=0.0, topic_weight=0.0)
    assert first.subtopic_ids == second.subtopic_ids == tuple("12345")
    cosines = np.asarray(first.subtopic_vectors) @ np.asarray(second.subtopic_vectors).T
    assert np.abs(cosines).max() < 0.6
    assert abs(np.trace(cosines)) < 1.5


def test_near_duplicates_share_subtopics_and_nearly_the_vector() -> None:
    pairs = 0
    for topic in generate("serp", n_topics=50):
        cosines = vectors(topic) @ vectors(topic).T
        near = np.argwhere(np.triu(cosines > 0.97, 1))
        pairs += len(near)
        for i, j in near:
            np.testing.assert_array_equal(judgments(topic)[i], judgments(topic)[j])
    assert pairs >= 2 * 50
    alone = generate("serp", n_topics=20, near_duplicate_share=0.0)
    assert max(np.triu(vectors(topic) @ vectors(topic).T, 1).max() for topic in alone) < 0.97


def test_retrieval_order_is_correlated_with_relevance_as_much_as_asked() -> None:
    def gain(quality: float) -> float:
        rng = np.random.default_rng(0)
        gaps = []
        for topic in generate("serp", n_topics=200, retrieval_quality=quality):
            rows = judgments(topic)
            random = np.mean([alpha_dcg(rows, rng.permutation(15)) for _ in range(5)])
            gaps.append((alpha_dcg(rows, np.arange(15)) - random) / random)
        return float(np.mean(gaps))

    none, default, best = gain(0.0), gain(PRESETS["serp"].retrieval_quality), gain(1.0)
    assert abs(none) < 0.02
    assert 0.02 < default < best


def test_the_noise_and_the_weights_reach_the_vectors() -> None:
    def nearness(**overrides: float) -> float:
        topics = generate("web", n_topics=5, near_duplicate_share=0.0, **overrides)
        return float(np.mean(np.concatenate([vectors(topic) @ topic.query_vector for topic in topics])))

    assert nearness(noise=0.2) > nearness(noise=3.0)
    assert nearness(topic_weight=2.0, off_topic_weight=2.0) > nearness(topic_weight=0.5, off_topic_weight=0.5)


def test_off_topic_documents_are_neither_zero_nor_far_from_all_others() -> None:
    for topic in generate("web", n_topics=5):
        off = ~judgments(topic).any(axis=1)
        cosines = vectors(topic) @ vectors(topic).T
        np.fill_diagonal(cosines, -1)
        assert np.median(cosines[off].max(axis=1)) > 0.35


def test_a_config_is_frozen_and_every_field_has_its_sentence() -> None:
    with pytest.raises(FrozenInstanceError):
        PRESETS["serp"].width = 3
    with pytest.raises(TypeError):
        SyntheticConfig(64)
    body = ast.parse(inspect.getsource(SyntheticConfig)).body[0].body
    for statement, following in itertools.pairwise(body):
        if isinstance(statement, ast.AnnAssign):
            assert isinstance(following, ast.Expr)
            assert isinstance(following.value, ast.Constant)
            assert str(following.value.value).endswith(".")


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"width": 0}, ValueError, "width must be at least 1, got 0"),
        ({"width": 2.5}, TypeError, "width must be an integer, got 2.5"),
        ({"width": True}, TypeError, "width must be an integer"),
        ({"candidates": 5}, TypeError, r"candidates must be a pair \(smallest, largest\), got 5"),
        ({"candidates": (9, 5)}, ValueError, r"candidates must be \(smallest, largest\), got \(9, 5\)"),
        ({"subtopics": (0, 5)}, ValueError, "subtopics must be at least 1, got 0"),
        ({"catalogue_size": 10}, ValueError, "catalogue_size must be at least 15, got 10"),
        ({"subtopics_per_document": (0.5, 0.4)}, ValueError, "subtopics_per_document must be shares"),
        ({"subtopics_per_document": ()}, ValueError, "subtopics_per_document must be shares"),
        ({"relevant_share": (0.5, 1.5)}, ValueError, "relevant_share must be between 0 and 1, got 1.5"),
        ({"near_duplicate_share": 1.0}, ValueError, "near_duplicate_share must be between 0 and 0.9"),
        ({"partly_relevant_strength": 0.0}, ValueError, "partly_relevant_strength must be above 0"),
        ({"noise": float("nan")}, ValueError, "noise must be between 0 and 1000, got nan"),
        ({"noise": "much"}, TypeError, "noise must be a number, got 'much'"),
        ({"retrieval_quality": -0.1}, ValueError, "retrieval_quality must be between 0 and 1, got -0.1"),
    ],
)
def test_a_value_out_of_range_is_refused(changes: dict[str, object], error: type[Exception], message: str) -> None:
    refused(lambda: replace(SyntheticConfig(), **changes), message, error)
    refused(lambda: generate("serp", n_topics=1, **changes), message, error)


def test_unknown_names_and_bad_numbers_are_refused() -> None:
    refused(lambda: generate("serps"), r"unknown synthetic preset 'serps'. Did you mean serp")
    refused(lambda: generate("serp", nosie=1), r"unknown field of SyntheticConfig 'nosie'. Did you mean noise")
    refused(lambda: generate("serp", n_topics=0), "n_topics must be at least 1, got 0")
    refused(lambda: generate("serp", seed=-1), "seed must be at least 0, got -1")
    refused(lambda: generate("serp", seed=1.5), "seed must be an integer", TypeError)
