"""Pruning strategies: their laws in simulator and environments, and what they refuse."""

from __future__ import annotations

import copy
import itertools
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from small_topics import EvenOnly, KeepAll, random_topic, random_topics, refused, seeds

import srd_gym  # noqa: F401 registers the environments
from srd_gym.core import SelectionCore, TopicArrays
from srd_gym.protocols import BoolArray, IntArray, Pruning, ScoreArray
from srd_gym.pruning import KNN, ByRanker, Chain
from srd_gym.testing import check_env, check_vector_env
from srd_gym.topic import Topic, TopicSet


@dataclass(frozen=True)
class ById:
    """Test-only ranker: candidates by the sum of their vectors; given some, also by distance to the last."""

    def rank(self, topic: Topic, k: int) -> IntArray:
        return np.argsort(-topic.doc_vectors.sum(1), kind="stable")[:k].astype(np.int64)

    def rank_batch(self, topics: Any, k: int) -> list[IntArray]:
        return [self.rank(topic, k) for topic in topics]

    def score(self, topic: Topic, selected: IntArray, allowed: BoolArray) -> ScoreArray:
        vectors = topic.doc_vectors
        return (vectors.sum(1) + np.abs(vectors - vectors[selected[-1]]).sum(1)).astype(np.float64)


STRATEGIES: list[Any] = [
    KNN(0.3),
    KNN(0.1, metric="cosine"),
    KNN(k=2),
    KNN(k=1000),
    KNN(0.0),
    ByRanker(ById(), 0.5),
    ByRanker(ById(), 3),
    ByRanker(ById(), 0.5, when="step"),
    Chain((KNN(0.2), ByRanker(ById(), 0.5))),
    Chain((ByRanker(ById(), 4, when="step"), KNN(k=1))),
    EvenOnly(),
    EvenOnly(at_once=True),
]
each_strategy = pytest.mark.parametrize("pruning", STRATEGIES, ids=str)


def play(core: SelectionCore, generator: np.random.Generator, *, waste: float = 0.0) -> list[BoolArray]:
    """Random episodes of all topics to their end; the masks before each step."""
    core.reset(range(len(core.arrays)))
    masks = [core.allowed.copy()]
    while not core.done.all():
        actions = np.array([generator.choice(np.flatnonzero(row)) if row.any() else 0 for row in core.allowed])
        wasted = generator.random(len(actions)) < waste
        core.step(np.where(wasted, generator.integers(0, core.arrays.max_candidates, len(actions)), actions))
        masks.append(core.allowed.copy())
    return masks


NOTHING = [KNN(0.0), ByRanker(ById(), 1.0), ByRanker(ById(), 99, when="step"), KeepAll()]


@given(seeds, st.sampled_from(NOTHING))
@settings(max_examples=25, deadline=None)
def test_pruning_nothing_is_the_identity(seed: int, pruning: Pruning) -> None:
    topics = random_topics(seed)
    plain, pruned = SelectionCore(topics, horizon=4), SelectionCore(topics, horizon=4, pruning=pruning)
    masks = [play(core, np.random.default_rng(seed), waste=0.2) for core in (plain, pruned)]
    for one, other in zip(*masks, strict=True):
        assert_array_equal(one, other)
    assert_array_equal(plain.ranking, pruned.ranking)
    assert_array_equal(plain.gains, pruned.gains)


@each_strategy
@given(seed=seeds)
@settings(max_examples=12, deadline=None)
def test_drops_are_final_and_every_rank_can_be_filled(pruning: Any, seed: int) -> None:
    topics = random_topics(seed)
    core = SelectionCore(topics, horizon=5, pruning=pruning, on_invalid="raise")
    masks = play(core, np.random.default_rng(seed))
    for before, after in itertools.pairwise(masks):
        assert not (after & ~before).any()
    for row, length in zip(core.ranking, core.length, strict=True):
        filled = row[row >= 0]
        assert len(filled) == length == len(set(filled.tolist()))


@each_strategy
@pytest.mark.parametrize("mode", ["next_step", "same_step", "disabled"])
def test_environments_prune_alike(pruning: Any, mode: str) -> None:
    arguments: dict[str, Any] = {"topics": random_topics(5), "pruning": pruning, "horizon": 4}
    if mode == "disabled":
        check_env(gym.make("SRD-v0", **arguments))
    vector = gym.make_vec("SRD-v0", num_envs=3, autoreset_mode=mode, **arguments)
    check_vector_env(vector, lambda: gym.make("SRD-v0", **arguments), steps=15)


@each_strategy
def test_single_episodes_batches_and_snapshots_are_pruned_alike(pruning: Any) -> None:
    topics = random_topics(11, n=9)
    batch, single = (SelectionCore(topics, horizon=5, pruning=pruning) for _ in range(2))
    masks = play(batch, np.random.default_rng(3))
    for episode, topic in enumerate(range(len(topics))):
        single.reset([topic])
        for rank in range(5):
            assert_array_equal(single.allowed[0], masks[rank][episode])
            before = single.snapshot(0)
            single.step_episode(0, int(batch.ranking[episode, rank]))
            after = single.allowed.copy()
            single.restore(before, 0)
            single.step_episode(0, int(batch.ranking[episode, rank]))
            assert_array_equal(single.allowed, after)
        assert_array_equal(single.ranking[0], batch.ranking[episode])


def line(places: list[float], query: str = "q") -> Topic:
    """Documents on a line."""
    vectors = np.array(places, np.float32)[:, None] * np.array([1.0, 0.0, 0.0], np.float32)
    return Topic(
        query_id=query,
        doc_ids=tuple(f"d{i}" for i in range(len(places))),
        doc_vectors=vectors,
        subtopic_ids=("s",),
        judgments=np.ones((len(places), 1), np.int8),
    )


@given(seed=seeds, fraction=st.floats(0, 0.95), metric=st.sampled_from(["euclidean", "cosine"]))
@settings(max_examples=30, deadline=None)
def test_knn_is_what_a_loop_would_do(seed: int, fraction: float, metric: Any) -> None:
    generator = np.random.default_rng(seed)
    n = int(generator.integers(2, 40))
    topic = random_topic(generator, 0, n=n)
    vectors = np.asarray(topic.doc_vectors, np.float64)
    if metric == "cosine":
        vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    core = SelectionCore(TopicSet([topic], name="one"), horizon=6, pruning=KNN(fraction, metric=metric))
    core.reset([0])
    left = set(range(n))
    for rank in range(min(6, n)):
        assert set(np.flatnonzero(core.allowed[0]).tolist()) == left
        action = int(generator.choice(sorted(left)))
        left.remove(action)
        core.step([action])
        if rank + 1 == min(6, n):
            break
        near = sorted(left, key=lambda other: float(np.linalg.norm(vectors[other] - vectors[action])))
        drop = min(int(fraction * len(left) + 1e-9), len(left) - (min(6, n) - rank - 1))
        left -= set(near[:drop])


def test_of_two_equally_near_the_later_goes_and_a_wasted_rank_drops_nothing() -> None:
    topic = line([0, 1, 2, 3, 10, 11, 12, 20, 30, 31, 40])
    core = SelectionCore(TopicSet([topic], name="test"), horizon=3, pruning=KNN(k=1))
    core.reset([0])
    for _ in range(2):
        core.step([5])
        assert np.flatnonzero(core.allowed[0]).tolist() == [0, 1, 2, 3, 4, 7, 8, 9, 10]


@pytest.mark.parametrize(("fraction", "share"), [(0.1, 0.7), (0.2, 0.5), (0.3, 1 / 3)])
def test_knn_saves_policy_evaluations(fraction: float, share: float) -> None:
    topics = TopicSet([random_topic(np.random.default_rng(0), 0, n=211)], name="test")
    counts = []
    for pruning in (None, KNN(fraction)):
        core = SelectionCore(topics, pruning=pruning)
        counts.append(sum(int(mask.sum()) for mask in play(core, np.random.default_rng(0))[:-1]))
    assert counts[0] == sum(range(202, 212))
    assert counts[1] / counts[0] == pytest.approx(share, abs=0.05)


def test_by_ranker_at_reset_keeps_the_rankers_first_half() -> None:
    topic = line([5, 4, 3, 2, 1, 0, 9])
    core = SelectionCore(TopicSet([topic], name="test"), horizon=2, pruning=ByRanker(ById(), 0.5))
    core.reset([0])
    assert np.flatnonzero(core.allowed[0]).tolist() == [0, 1, 6]  # 3.5 rounded down
    core.step([0])
    assert np.flatnonzero(core.allowed[0]).tolist() == [1, 6]


def test_by_ranker_at_each_step_prunes_once_and_is_asked_once() -> None:
    asked = []

    class Counting(ById):
        def score(self, topic: Topic, selected: IntArray, allowed: BoolArray) -> ScoreArray:
            asked.append(len(selected))
            return super().score(topic, selected, allowed)

    topics = TopicSet([line([0, 1, 2, 3, 4, 5, 6, 7])], name="test")
    core = SelectionCore(topics, horizon=4, pruning=ByRanker(Counting(), 0.5, when="step"))
    core.reset([0])
    for action, left in ((0, [4, 5, 6, 7]), (7, [4, 5, 6]), (6, [4, 5])):
        core.step([action])
        assert np.flatnonzero(core.allowed[0]).tolist() == left
    assert asked == [1]


def test_by_ranker_takes_registry_names() -> None:
    topics = random_topics(4, n=8)
    named = SelectionCore(topics, horizon=3, pruning=ByRanker("random", 4))
    named.reset(range(5))
    assert (named.allowed.sum(1) == 4).all()
    unknown, unable = ByRanker("randm", 4), ByRanker("random", 4, when="step")
    refused(lambda: SelectionCore(topics, pruning=unknown), r"unknown ranker 'randm'.*Did you mean random")
    refused(lambda: SelectionCore(topics, pruning=unable), r"needs `score` .*which RandomOrder lacks", TypeError)
    strategy = ByRanker(ById(), 0.5)
    assert copy.deepcopy(strategy).ranker is strategy.ranker, "specifications copy a strategy without its ranker"


def test_arrays_share_one_table_of_neighbours() -> None:
    arrays = TopicArrays(random_topics(0))
    one, other = KNN(0.3).bind(arrays, 3), KNN(k=2).bind(arrays, 3)
    assert one.table is other.table
    assert KNN(0.3, metric="cosine").bind(arrays, 3).table is not one.table
