from __future__ import annotations

import ast
import inspect
import itertools
import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_topics import refused

from srd_gym.core import SelectionCore
from srd_gym.data import load_topics
from srd_gym.data.synthetic import PRESETS, SyntheticConfig, catalogue, generate

FEW = {"candidates": (1, 3), "subtopics": (5, 5)}
"""More subtopics than documents."""


@pytest.mark.parametrize(("preset", "count", "width", "bounds"), [
    ("serp", 300, 64, ((15, 15), (5, 15), (9.3, 10.7), (1.95, 2.2), (0.85, 0.95))),  # DU-DIV
    ("web", 150, 64, ((120, 280), (3, 8), (5, 6), (1.4, 1.65), (0.28, 0.42))),  # the TREC sets
    ("tiny", 50, 8, ((6, 12), (3, 3), (2.9, 3.1), (1, 3), (0, 1))),
])  # fmt: skip
def test_presets_are_like_the_sets_that_they_stand_for(preset: str, count: int, width: int, bounds: Any) -> None:
    """Bounds of candidates, of subtopics, of their mean, of what a relevant document covers, of the relevant share."""
    topics = generate(preset, n_topics=count)
    assert topics.vector_width == width
    subtopics = [topic.n_subtopics for topic in topics]
    covered = np.concatenate([topic.judgments.sum(axis=1) for topic in topics])
    share = np.mean([topic.judgments.any(axis=1).mean() for topic in topics])
    made = ([topic.n_candidates for topic in topics], subtopics, np.mean(subtopics), covered[covered > 0].mean(), share)
    for (least, most), values in zip(bounds, made, strict=True):
        assert least <= np.min(values) <= np.max(values) <= most


def test_topics_are_the_same_on_every_kind_of_processor() -> None:
    """OPENBLAS_CORETYPE chooses the matrix products of one kind; they differ in their last bits."""
    code = "from srd_gym.data.synthetic import PRESETS, generate\n"
    code += "print([generate(preset, n_topics=3).fingerprint for preset in PRESETS])"
    environments = [{**os.environ, "OPENBLAS_CORETYPE": kind} for kind in ("PRESCOTT", "HASWELL", "SKYLAKEX")]
    commands = [subprocess.run([sys.executable, "-c", code], env=each, stdout=-1, check=True) for each in environments]
    assert len({command.stdout for command in commands}) == 1


def test_retrieval_order_is_correlated_with_relevance_as_much_as_asked() -> None:
    def gain(quality: float) -> float:
        topics, rng = generate("serp", n_topics=200, retrieval_quality=quality), np.random.default_rng(0)
        orders = [np.tile(np.arange(15), (200, 1)), *(rng.permuted([range(15)] * 200, axis=1) for _ in "12345")]
        core = SelectionCore(topics)
        core.reset(range(200))
        given, *random = (core.bound.score_rankings(o, core.arrays.judgments, range(200)).mean() for o in orders)
        return float(given / np.mean(random) - 1)

    none, default, best = gain(0.0), gain(PRESETS["serp"].retrieval_quality), gain(1.0)
    assert abs(none) < 0.02
    assert 0.02 < default < best


@pytest.mark.parametrize(("preset", "ranges"), [*((name, {}) for name in sorted(PRESETS)), ("serp", FEW)])
def test_every_topic_is_complete_and_every_subtopic_covered(preset: str, ranges: dict[str, Any]) -> None:
    topics = generate(preset, n_topics=20, seed=4, **ranges)
    assert (topics.name, topics.marks) == (f"synthetic:{preset}", ("simulated",))
    assert topics[17].doc_ids[0] == f"{preset}-4-17-d0"
    assert not set(topics.query_ids) & set(generate(preset, n_topics=20, seed=5, **ranges).query_ids)
    assert len(np.unique([topic.query_vector for topic in topics], axis=0)) == 20
    for topic in topics:
        assert topic.judgments.any(axis=0).all()
        assert set(np.unique(topic.judgments)) <= {0, 1}
        assert (np.diff(topic.retrieval_scores) <= 0).all()
        assert topic.pool is None
        for rows in (topic.doc_vectors, topic.query_vector[None], topic.subtopic_vectors):
            np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)


@given(st.sampled_from(sorted(PRESETS)), st.integers(0, 2**40), st.integers(1, 4), st.integers(0, 4))
def test_a_topic_depends_on_seed_and_index_alone(preset: str, seed: int, count: int, more: int) -> None:
    few, many = (generate(preset, n_topics=n, seed=seed) for n in (count, count + more))
    assert few.fingerprint == many[:count].fingerprint


def test_serp_topics_of_all_seeds_share_one_catalogue() -> None:
    shared = catalogue(25, 64)
    np.testing.assert_allclose(np.linalg.norm(shared, axis=1), 1, atol=1e-6)
    np.testing.assert_array_equal(shared, catalogue(25, 64))
    quiet = {"noise": 0.0, "topic_weight": 0.0, "near_duplicate_share": 0.0, "relevant_share": (1.0, 1.0)}
    seen = set()
    for seed in (0, 1):
        for topic in generate("serp", n_topics=20, seed=seed, **quiet):
            rows = shared[np.array(topic.subtopic_ids, dtype=int) - 1]
            np.testing.assert_allclose(topic.subtopic_vectors, rows, atol=1e-6)
            expected = topic.judgments @ rows
            expected /= np.linalg.norm(expected, axis=1, keepdims=True)
            np.testing.assert_allclose(topic.doc_vectors, expected, atol=1e-5)
            seen.update(topic.subtopic_ids)
    assert seen == {str(i) for i in range(1, 26)}


def test_web_subtopics_are_private_to_their_query() -> None:
    first, second = generate("web", n_topics=2, subtopics=(5, 5), noise=0.0, topic_weight=0.0)
    assert first.subtopic_ids == second.subtopic_ids == tuple("12345")
    cosines = first.subtopic_vectors @ second.subtopic_vectors.T
    assert np.abs(cosines).max() < 0.6
    assert abs(np.trace(cosines)) < 1.5


def test_near_duplicates_share_subtopics_and_nearly_the_vector() -> None:
    pairs = 0
    for topic in generate("serp", n_topics=50):
        cosines = topic.doc_vectors @ topic.doc_vectors.T
        near = np.argwhere(np.triu(cosines > 0.97, 1))
        pairs += len(near)
        for i, j in near:
            np.testing.assert_array_equal(topic.judgments[i], topic.judgments[j])
    assert pairs >= 2 * 50
    alone = generate("serp", n_topics=20, near_duplicate_share=0.0)
    assert max(np.triu(topic.doc_vectors @ topic.doc_vectors.T, 1).max() for topic in alone) < 0.97


def test_the_noise_and_the_weights_reach_the_vectors() -> None:
    def nearness(**overrides: float) -> float:
        topics = generate("web", n_topics=5, near_duplicate_share=0.0, **overrides)
        return float(np.mean(np.concatenate([topic.doc_vectors @ topic.query_vector for topic in topics])))

    assert nearness(noise=0.2) > nearness(noise=3.0)
    assert nearness(topic_weight=2.0, off_topic_weight=2.0) > nearness(topic_weight=0.5, off_topic_weight=0.5)


def test_off_topic_documents_are_neither_zero_nor_far_from_all_others() -> None:
    for topic in generate("web", n_topics=5):
        off = ~topic.judgments.any(axis=1)
        cosines = topic.doc_vectors @ topic.doc_vectors.T
        np.fill_diagonal(cosines, -1)
        assert np.median(cosines[off].max(axis=1)) > 0.35


def test_every_option_has_its_sentence() -> None:
    body = ast.parse(inspect.getsource(SyntheticConfig)).body[0].body
    for statement, following in itertools.pairwise(body):
        if isinstance(statement, ast.AnnAssign):
            assert following.value.value.endswith(".")


def test_unknown_names_and_bad_numbers_are_refused() -> None:
    refused(lambda: generate("serps"), "preset 'serps'. Did you mean serp")
    refused(lambda: generate("serp", nosie=1), "unexpected keyword argument 'nosie'", TypeError)
    refused(lambda: generate("serp", width=0), "width must be at least 1, got 0")
    refused(lambda: generate("serp", width=True), "width must be a whole number", TypeError)
    refused(lambda: generate("serp", noise=float("nan")), "between 0 and 1000, got nan")
    refused(lambda: generate("serp", noise="much"), "noise must be a number, got 'much'", TypeError)
    refused(lambda: generate("serp", n_topics=0), "n_topics must be at least 1, got 0")
    refused(lambda: load_topics("synthetic:tiny:1000000000000"), "n_topics must be at most 1,000,000")
    refused(lambda: generate("serp", seed=-1), "seed must be at least 0, got -1")
    refused(lambda: generate("serp", seed=1.5), "seed must be a whole number", TypeError)
