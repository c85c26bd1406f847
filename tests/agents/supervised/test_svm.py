"""StructSVM and SVM-DIV: inference against brute force, losses by hand, learning, missing texts."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from srd_agents.registry import make_ranker
from srd_agents.supervised.linear.features import BINS, COVERAGE_NAMES, LEVELS, WordCoverage, greedy_cover
from srd_agents.supervised.linear.svm import joint_features, most_violating
from srd_gym.topic import Topic, TopicSet

LEARNERS = ("structsvm", "svm-div")
NONE: Any = (np.zeros(0), np.zeros((6, 0), np.bool_))


def toy(index: int) -> Topic:
    """Two subtopics of three documents each, told apart by a word; three documents more, of rare words."""
    rng = np.random.default_rng([index, 3])
    judgments = np.zeros((9, 2), np.int8)
    judgments[np.arange(6), [0, 0, 0, 1, 1, 1]] = 1
    kinds = ["alpha beta"] * 3 + ["gamma delta"] * 3
    texts = [f"query {kind} w{index}{i}" for i, kind in enumerate(kinds)]
    texts += [f"query x{i}y x{i}z x{i}u x{i}v" for i in range(3)]
    order = rng.permutation(9)
    return Topic(
        query_id=f"toy{index}",
        doc_ids=tuple(f"d{i}" for i in range(9)),
        doc_texts=tuple(texts[i] for i in order),
        doc_vectors=rng.normal(size=(9, 3)),
        subtopic_ids=("0", "1"),
        judgments=judgments[order],
        doc_features=((np.arange(9) < 6) + 0.3 * rng.random(9))[order, None],
        feature_names=("BM25",),
    )


def toys(count: int = 6) -> TopicSet:
    return TopicSet([toy(index) for index in range(count)], name="toys")


def made(name: str, **options: Any) -> Any:
    return make_ranker(name, **({"columns": "BM25"} if name == "structsvm" else {}) | options)


def prepared(name: str, topic: Topic, **options: Any) -> tuple[Any, Any]:
    learner = made(name, **options)
    learner.vector_width = 3
    learner._build(3)
    learner._prepare(TopicSet([topic], name="one"), 0)
    return learner, learner._topics[0]


@given(seed=st.integers(0, 300))
@settings(max_examples=25, deadline=None)
def test_sorting_maximises_the_joint_features(seed: int) -> None:
    rng = np.random.default_rng(seed)
    relevance, weights = rng.random((5, 3), np.float32), rng.normal(size=3)
    best = max(itertools.permutations(range(5)), key=lambda y: weights @ joint_features(relevance, np.array(y)))
    assert list(best) == (-(relevance @ weights)).argsort().tolist()


def test_joint_features_by_hand() -> None:
    relevance = np.array([[1.0], [3.0]], np.float32)
    assert joint_features(relevance, np.array([1, 0])).tolist() == pytest.approx([3 + 1 / math.log2(3)])


@pytest.mark.parametrize("measure", ["alpha_nDCG", "ERR_IA", "Dsharp_nDCG"])
def test_the_most_violating_ranking_is_greedy_step_by_step(measure: str) -> None:
    learner, problem = prepared("structsvm", toy(0), measure=measure, depth=4)
    weights = np.array(list(learner.weights_by_name.values()))
    ranking, value = most_violating(problem, weights)
    judgments, scores = problem.judgments, problem.relevance.astype(float) @ weights

    def worth(y: list[int]) -> float:
        rows = np.zeros((1, 4, 2), np.int8)
        rows[0, : len(y)] = judgments[y]
        gain = sum(scores[d] / math.log2(2 + r) for r, d in enumerate(y))
        return gain - float(problem.bound.values(rows, 0)[0]) / problem.ideal_value

    for rank in range(4):
        before = ranking[:rank].tolist()
        options = {d: worth([*before, d]) for d in range(9) if d not in before}
        assert options[int(ranking[rank])] == pytest.approx(max(options.values()))
    rows = judgments[ranking][None]
    assert value == pytest.approx(float(problem.bound.values(rows, 0)[0]) / problem.ideal_value)


@pytest.mark.parametrize("name", LEARNERS)
def test_gradient_is_finite_differences(name: str) -> None:
    learner, problem = prepared(name, toy(1), depth=3, regularisation=0.1)

    def loss_at(values: Any) -> tuple[float, Any]:
        learner._values = values
        found: tuple[float, Any] = learner._loss(problem)
        return found

    start = np.random.default_rng(0).random(len(learner.weights_by_name))
    loss, gradient = loss_at(start)
    assert loss > 0
    for place, step in enumerate(1e-6 * np.eye(len(start))):
        slope = (loss_at(start + step)[0] - loss_at(start - step)[0]) / 2e-6
        assert gradient[place] == pytest.approx(slope, abs=1e-4)


def test_word_coverage_by_hand() -> None:
    words = WordCoverage.of(("aa aa bb", "bb", "cc aa", ""), max_words=2)
    assert words.n_words == 2  # aa and bb are used most
    assert words.covers[:, :2].tolist() == [[True, True], [False, True], [True, False], [False, False]]
    assert words.covers[:, 2:4].tolist() == [[True, False], [False, False], [False, False], [False, False]]
    assert not words.covers[:, 4:].any()
    half = BINS.index(0.4)
    found = words.covered_by(np.array([0, 1]))
    wanted = np.zeros(len(COVERAGE_NAMES))
    wanted[half], wanted[len(BINS) + half] = 1.0, 0.5
    np.testing.assert_array_equal(found, wanted)
    assert len(COVERAGE_NAMES) == len(BINS) * len(LEVELS)


@given(seed=st.integers(0, 300))
@settings(max_examples=25, deadline=None)
def test_greedy_cover_is_within_1_minus_1_by_e_of_the_best_set(seed: int) -> None:
    rng = np.random.default_rng(seed)
    texts = [" ".join(rng.choice(["aa", "bb", "cc", "dd", "ee", "ff"], size=3)) for _ in range(6)]
    words, weights = WordCoverage.of(texts, 100), rng.random(len(COVERAGE_NAMES))
    chosen = greedy_cover(words, weights, *NONE, 3)
    sets = [weights @ words.covered_by(np.array(three)) for three in itertools.combinations(range(6), 3)]
    assert weights @ words.covered_by(chosen) >= (1 - 1 / math.e) * max(sets) - 1e-6
    first = [weights @ words.covered_by(np.array([d])) for d in range(6)]
    assert first[int(chosen[0])] == pytest.approx(max(first), rel=1e-5)


def test_loss_augmented_cover_avoids_subtopics() -> None:
    words, weights = WordCoverage.of(("aa", "bb", "cc"), 10), np.zeros(len(COVERAGE_NAMES))
    covers = np.array([[True, False], [False, True], [False, False]])
    assert greedy_cover(words, weights, np.array([0.7, 0.3]), covers, 3).tolist() == [2, 1, 0]


@pytest.mark.parametrize("name", LEARNERS)
def test_one_candidate_and_constant_columns(name: str) -> None:
    single = replace(toy(0).take([0]), query_id="one")
    same = replace(toy(1), query_id="same", doc_features=np.ones((9, 1)), doc_texts=("same",) * 9)
    topics = TopicSet([single, same, toy(2)], name="odd")
    ranker = made(name, epochs=3)
    ranker.fit(topics, seed=0)
    assert ranker.rank(single, 5).tolist() == [0]
    assert ranker.rank(same, 9).tolist() == list(range(9))
    empty = made("svm-div", epochs=1)
    empty.fit(TopicSet([replace(toy(3), doc_texts=("",) * 9)], name="no words"), seed=0)
    assert empty.rank(toy(4), 3).shape == (3,)
    assert min(empty.weights_by_name.values()) >= 0


def test_refusals() -> None:
    without = TopicSet([replace(topic, doc_texts=None) for topic in toys(3)], name="without")
    message = r"'toy\d' has no document texts, and ranker 'svm-div' covers their words.*structsvm, r-ltr, pamm, mmr"
    with pytest.raises(ValueError, match=message):
        made("svm-div").fit(without)
    trained = made("svm-div", epochs=1)
    trained.fit(toys(3), seed=0)
    with pytest.raises(ValueError, match=message):
        trained.rank(without[0], 3)
    for name in LEARNERS:
        with pytest.raises(ValueError, match="regularisation must be a finite number at least 0"):
            made(name, regularisation=-1.0)
    with pytest.raises(ValueError, match="unknown measure"):
        made("structsvm", measure="alpha_nDCGG").fit(toys(3))
    with pytest.raises(ValueError, match="max_words must be at least 1, got 0"):
        made("svm-div", max_words=0)
