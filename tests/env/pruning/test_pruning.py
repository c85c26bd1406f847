from __future__ import annotations

import copy
import itertools
from dataclasses import dataclass
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.envs.registration import EnvSpec
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from small_topics import (
    Answers,
    EvenOnly,
    KeepAll,
    OneByOne,
    alone,
    bare_topic,
    random_topic,
    random_topics,
    refused,
    seeds,
    small_topic,
)  # fmt: skip

import srd_gym.pruning.knn as distances
from srd_gym.core import SelectionCore, TopicArrays
from srd_gym.dtypes import BoolArray, IntArray, ScoreArray
from srd_gym.protocols import Pruning
from srd_gym.pruning import KNN, ByRanker, Chain, by_ranker, parse_pruning, pruning_from
from srd_gym.pruning.knn import neighbour_distances
from srd_gym.testing import check_env, check_vector_env
from srd_gym.topic import Topic, TopicSet
from srd_gym.wrappers import KNNPruning, RankerPruning


@dataclass(frozen=True)
class ById(OneByOne):
    """Test-only ranker: candidates by the sum of their vectors; given some, also by distance to the last."""

    def rank(self, topic: Topic, k: int) -> IntArray:
        return np.argsort(-topic.doc_vectors.sum(1), kind="stable")[:k].astype(np.int64)

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
@settings(max_examples=12)
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
def test_environments_single_and_vector_and_snapshots_are_pruned_alike(pruning: Any) -> None:
    arguments: dict[str, Any] = {"topics": random_topics(5), "pruning": pruning, "horizon": 4}
    check_env(gym.make("SRD-v0", **arguments))
    for mode in ("next_step", "same_step", "disabled"):
        vector = gym.make_vec("SRD-v0", num_envs=3, autoreset_mode=mode, **arguments)
        check_vector_env(vector, lambda: gym.make("SRD-v0", **arguments), steps=15)


def line(*places: float) -> TopicSet:
    return alone(small_topic(np.ones((len(places), 1)), doc_vectors=np.outer(places, [1, 0, 0])))


@given(seed=seeds, fraction=st.floats(0, 0.95), metric=st.sampled_from(["euclidean", "cosine"]))
def test_knn_is_what_a_loop_would_do(seed: int, fraction: float, metric: Any) -> None:
    generator = np.random.default_rng(seed)
    n = int(generator.integers(2, 40))
    topic = random_topic(generator, 0, n=n)
    vectors = np.asarray(topic.doc_vectors, np.float64)
    if metric == "cosine":
        vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    core = SelectionCore(alone(topic), horizon=6, pruning=KNN(fraction, metric=metric))
    core.reset([0])
    left, length = set(range(n)), min(6, n)
    for rank in range(length):
        assert set(np.flatnonzero(core.allowed[0]).tolist()) == left
        action = int(generator.choice(sorted(left)))
        left.remove(action)
        core.step([action])
        near = sorted(left, key=lambda other: float(np.linalg.norm(vectors[other] - vectors[action])))
        drop = min(int(fraction * len(left) + 1e-9), len(left) - (length - rank - 1))
        left -= set(near[:drop])


def left_after(core: SelectionCore, *actions: int) -> list[int]:
    core.reset([0])
    for action in actions:
        core.step([action])
    return np.flatnonzero(core.allowed[0]).tolist()


def test_the_later_of_two_goes_wasted_ranks_drop_nothing_and_chains_drop_in_turn() -> None:
    core = SelectionCore(line(0, 1, 2, 3, 10, 11, 12, 20, 30, 31, 45), horizon=3, pruning=KNN(k=1))
    assert left_after(core, 5) == left_after(core, 5, 5) == [0, 1, 2, 3, 4, 7, 8, 9, 10]
    for pruning in (Chain((KNN(k=1), KNN(k=1))), KNN(k=2)):
        core = SelectionCore(line(0, 1, 3, 6, 10, 15, 21), horizon=3, pruning=pruning)
        assert left_after(core, 0) == [3, 4, 5, 6]


def test_by_ranker_keeps_the_first_half_at_reset_or_is_asked_once_at_a_step() -> None:
    asked = []

    class Counting(ById):
        def score(self, topic: Topic, selected: IntArray, allowed: BoolArray) -> ScoreArray:
            asked.append(len(selected))
            return super().score(topic, selected, allowed)

    core = SelectionCore(line(*range(8)), horizon=4, pruning=ByRanker(Counting(), 0.5, when="step"))
    assert left_after(core, 0) == [4, 5, 6, 7]
    assert left_after(core, 0, 7, 6) == [4, 5]
    assert asked == [1, 1], "once an episode"
    core = SelectionCore(line(5, 4, 3, 2, 1, 0, 9), horizon=2, pruning=ByRanker(ById(), 0.5))
    assert left_after(core) == [0, 1, 6]  # 3.5 rounded down
    assert left_after(core, 0) == [1, 6]


def load_by_id(name: str) -> ById:
    assert name == "theirs"
    return ById()


def test_names_are_for_the_loader_that_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    points = [EntryPoint("theirs", f"{__name__}:load_by_id", by_ranker.LOADERS)]
    monkeypatch.setattr(by_ranker, "entry_points", lambda group: points if group == "srd_gym.ranker_loaders" else [])
    assert isinstance(ByRanker("theirs", 0.5).resolved, ById)
    points.clear()
    refused(lambda: ByRanker("mmr", 0.5).resolved, "no installed.* loads rankers", ImportError)


def test_by_ranker_takes_registry_names() -> None:
    topics = random_topics(4, n=8)
    named = SelectionCore(topics, horizon=3, pruning=ByRanker("random", 4))
    named.reset(range(5))
    assert (named.allowed.sum(1) == 4).all()
    unknown, unable = ByRanker("randm", 4), ByRanker("random", 4, when="step")
    refused(lambda: SelectionCore(topics, pruning=unknown), "'randm'.*Did you mean random")
    refused(lambda: SelectionCore(topics, pruning=unable), r"needs `score` .*which random lacks", TypeError)
    strategy = ByRanker(ById(), 0.5)
    assert copy.deepcopy(strategy).ranker is strategy.ranker, "specifications copy a strategy without its ranker"


def test_arrays_share_one_table_of_neighbours() -> None:
    arrays = TopicArrays(random_topics(0))
    by_share, by_number = KNN(0.3).bind(arrays, 3), KNN(k=2).bind(arrays, 3)
    assert by_share.distances is by_number.distances
    assert KNN(0.3, metric="cosine").bind(arrays, 3).distances is not by_share.distances


# What is refused, notation, distances and wrappers


@pytest.mark.parametrize(("make", "error", "message"), [
    (lambda: KNN(1.0), ValueError, "fraction must be below 1; 0.3 drops"),
    (lambda: KNN(k=0), ValueError, "k must be at least 1, got 0"),
    (lambda: KNN(), ValueError, "either a fraction .* a number"),
    (lambda: KNN(0.3, k=4), ValueError, "either .* got fraction=0.3 and k=4"),
    (lambda: KNN(0.3, metric="euclid"), ValueError, "metric 'euclid'. Did you mean euclidean"),
    (lambda: ByRanker("mmr", 0), ValueError, "a number of .* must be at least 1, got 0"),
    (lambda: ByRanker("mmr", 1.5), ValueError, "keep, a share .* and 1, got 1.5"),
    (lambda: ByRanker("mmr", 0.0), ValueError, "a share of .* must be above 0"),
    (lambda: ByRanker("mmr", True), TypeError, "a number of .* whole number, got True"),
    (lambda: ByRanker("mmr", 0.5, when="steps"), ValueError, "unknown moment to prune 'steps'"),
    (lambda: ByRanker(object(), 0.5), TypeError, "`rank_batch`.*which object lacks"),
    (lambda: ByRanker(object(), 0.5, when="step"), TypeError, "needs `score`.*which object lacks"),
    (lambda: Chain(()), ValueError, "Chain needs at least one strategy"),
    (lambda: Chain(("knn",)), TypeError, "pruning must be a strategy with `bind`"),
    (lambda: SelectionCore(random_topics(0), pruning="KNN"), TypeError, "a strategy with `bind`.*got str"),
    (lambda: pruning_from({"kind": "kn"}), ValueError, "kind of pruning 'kn'. Did you mean knn"),
    (lambda: parse_pruning("knn"), ValueError, "pruning description 'knn'"),
    (lambda: parse_pruning("knn:much"), ValueError, "cannot read the number 'much'"),
    (lambda: parse_pruning("ranker:0.5:later:mmr"), ValueError, "cannot read the pruning description"),
    (lambda: parse_pruning(0.3), TypeError, r"a pruning description is text, got 0.3"),
])  # fmt: skip
def test_bad_input_is_named(make: Any, error: type[Exception], message: str) -> None:
    refused(make, message, error)


@pytest.mark.parametrize(("when", "answer", "message"), [
    ("reset", [4, 1, 4], "ranks a document of topic 'q0' twice"),
    ("reset", [4, 1], "ranked 2 documents of topic .*expected 6"),
    ("step", [1.0, 2.0], "pruning by .*: expected scores of shape"),
    ("step", [1.0, 2.0, np.nan, 1.0, 1.0, 1.0], "the score of document 2 is NaN"),
])  # fmt: skip
def test_broken_rankings_and_scores_are_named(when: Any, answer: Any, message: str) -> None:
    ranker = Answers(np.asarray(answer))
    core = SelectionCore(random_topics(0, n=6), horizon=2, pruning=ByRanker(ranker, 3, when=when))
    refused(lambda: (core.reset([0]), core.step([0])), message)


def test_topics_without_vectors_are_refused_when_distances_are_needed() -> None:
    core = SelectionCore(alone(bare_topic(4)), horizon=2, pruning=KNN(k=1))
    core.reset([0])
    refused(lambda: core.step([0]), "no document vectors, which kNN pruning")


@pytest.mark.parametrize(("text", "strategy"), [
    ("knn:0.3", KNN(0.3)),
    ("knn:20", KNN(k=20)),
    ("knn:0.1:cosine", KNN(0.1, metric="cosine")),
    ("ranker:0.5:reset:mmr", ByRanker("mmr", 0.5)),
    ("ranker:7:step:C:/models/ntn", ByRanker("C:/models/ntn", 7, when="step")),
    ("knn:0.1+ranker:0.5:step:mmr", Chain((KNN(0.1), ByRanker("mmr", 0.5, when="step")))),
    ("ranker:3:reset:c++/ntn+knn:5", Chain((ByRanker("c++/ntn", 3), KNN(k=5)))),
])  # fmt: skip
def test_the_notation_is_read_and_written(text: str, strategy: Any) -> None:
    assert parse_pruning(text) == pruning_from(text) == strategy
    assert str(strategy) == text


def test_strategies_survive_a_specification_in_json() -> None:
    for strategy in (KNN(0.3), KNN(k=3, metric="cosine"), ByRanker("mmr", 0.5), Chain((KNN(0.1), ByRanker("mmr", 3)))):
        env = gym.make("SRD-v0", topics="synthetic:serp:5", pruning=strategy)
        for spec in (env.spec, EnvSpec.from_json(env.spec.to_json())):
            assert gym.make(spec).unwrapped.core.pruning == strategy
    plain = gym.make("SRD-v0", topics="synthetic:serp:5")
    wrapped = RankerPruning(KNNPruning(plain, k=3), ranker=Path("mmr"), keep=0.5, when="step")
    for env in (wrapped, gym.make(EnvSpec.from_json(wrapped.spec.to_json()))):
        assert env.unwrapped.core.pruning == Chain((KNN(k=3), ByRanker("mmr", 0.5, when="step")))
    other = gym.make("CartPole-v1")
    refused(lambda: KNNPruning(other, 0.3), "around SRD-v0, got CartPoleEnv", TypeError)


def test_distances_of_long_zero_and_unusable_vectors() -> None:
    long = np.array([[1e30, 0], [2e30, 0], [9e30, 1]], np.float32)
    assert neighbour_distances(long, "euclidean")[0].argsort().tolist() == [0, 1, 2]
    far = np.array([[1e4, 0], [1e4 + 1, 0], [1e4 + 3, 0]], np.float32)
    _, near, other = neighbour_distances(far, "euclidean")[0].tolist()
    assert other == pytest.approx(9 * near, rel=1e-3), "exact far from the origin, too"
    zeros = np.zeros((3, 2), np.float32)
    assert not neighbour_distances(zeros, "euclidean").any()
    assert neighbour_distances(zeros, "cosine").tolist() == [[0, 1, 1], [1, 0, 1], [1, 1, 0]]
    for bad in (np.nan, np.inf):
        long[1, 0] = bad
        with np.errstate(all="ignore"):
            refused(lambda: neighbour_distances(long, "euclidean"), "between document vectors are not finite")


def test_rows_of_matrices_that_are_not_kept_order_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    topics = random_topics(3, n=9)
    kept = KNN(0.3).bind(TopicArrays(topics), 3)
    rows = [kept.row(topic, 2) for topic in range(5)]
    monkeypatch.setattr(distances, "_KEPT_BYTES", 4 * 9 * 9)
    passing = KNN(0.3).bind(TopicArrays(topics), 3)
    for topic in (0, 1, 2, 3, 4, 0, 1):
        assert_allclose(passing.row(topic, 2), rows[topic], atol=1e-6)
    assert not passing.distances


def test_nothing_is_pruned_below_the_ranks_to_fill() -> None:
    class KeepNone(KeepAll):
        def at_reset(self, topic: Any, allowed: Any, needed: Any) -> Any:
            return np.zeros_like(allowed)

    class KeepInt8(KeepAll):
        def at_reset(self, topic: Any, allowed: Any, needed: Any) -> Any:
            return allowed.astype(np.int8)

    few, wrong = (SelectionCore(random_topics(0, n=6), horizon=3, pruning=each()) for each in (KeepNone, KeepInt8))
    refused(lambda: few.reset([0]), "keeps 0 candidates .*`needed`")
    refused(lambda: wrong.reset([0]), "KeepInt8 returned .*; expected bool")


def test_a_strategy_sees_read_only_state() -> None:
    class Meddler(KeepAll):
        def after_step(self, topic: Any, ranking: Any, action: Any, allowed: Any, needed: Any) -> Any:
            for array in (topic, ranking, action, allowed, needed):
                with pytest.raises(ValueError, match="read-only"):
                    array[...] = 0
            return allowed

    core = SelectionCore(random_topics(0, n=6), horizon=3, pruning=Meddler())
    core.reset([0])
    core.step([0])
    assert core.rank.tolist() == [1]
