"""What pruning refuses, its notation, its distances, and the wrappers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.envs.registration import EnvSpec
from numpy.testing import assert_allclose, assert_array_equal
from small_topics import KeepAll, KeepNone, random_topics, refused

import srd_gym  # noqa: F401 registers the environments
import srd_gym.pruning.knn as distances
from srd_gym.core import SelectionCore, TopicArrays
from srd_gym.pruning import KNN, ByRanker, Chain, parse_pruning, pruning_from
from srd_gym.pruning.knn import NeighbourTable, neighbour_distances
from srd_gym.topic import Topic, TopicSet
from srd_gym.wrappers import KNNPruning, RankerPruning


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: KNN(1.0), ValueError, "fraction must be below 1; 0.3 drops"),
        (lambda: KNN(-0.1), ValueError, "fraction must be between 0 and 1, got -0.1"),
        (lambda: KNN(float("nan")), ValueError, "fraction must be between 0 and 1, got nan"),
        (lambda: KNN("0.3"), TypeError, r"fraction must be a number, got '0.3' \(str\)"),
        (lambda: KNN(k=0), ValueError, "k must be at least 1, got 0"),
        (lambda: KNN(k=2.5), TypeError, r"k must be an integer, got 2.5"),
        (lambda: KNN(), ValueError, "either a fraction .* or a number of neighbours"),
        (lambda: KNN(0.3, k=4), ValueError, "either a fraction .* got fraction=0.3 and k=4"),
        (lambda: KNN(0.3, metric="euclid"), ValueError, "unknown metric 'euclid'. Did you mean euclidean"),
        (lambda: ByRanker("mmr", 0), ValueError, "keep, a number of candidates, must be at least 1, got 0"),
        (lambda: ByRanker("mmr", 0.0), ValueError, "keep, a share .* must be between .* and 1, got 0.0"),
        (lambda: ByRanker("mmr", 1.5), ValueError, "keep, a share .* and 1, got 1.5"),
        (lambda: ByRanker("mmr", True), TypeError, "keep, a number of candidates, must be an integer, got True"),
        (lambda: ByRanker("mmr", 0.5, when="steps"), ValueError, "unknown moment to prune 'steps'"),
        (lambda: ByRanker(object(), 0.5), TypeError, "needs `rank` and `rank_batch`.*which object lacks"),
        (lambda: ByRanker(object(), 0.5, when="step"), TypeError, "needs `score`.*which object lacks"),
        (lambda: Chain(()), ValueError, "Chain needs at least one strategy"),
        (lambda: Chain(("knn",)), TypeError, "pruning must be a strategy with `bind`.*got str"),
        (lambda: Chain(KNN(0.3)), TypeError, "Chain takes a tuple of strategies, got KNN"),
        (lambda: pruning_from(KNN), TypeError, "pruning must be a strategy.*got KNN"),
        (lambda: pruning_from({"kind": "kn"}), ValueError, "unknown kind of pruning 'kn'. Did you mean knn"),
        (
            lambda: pruning_from({"kind": "knn", "fractoin": 1}),
            ValueError,
            "unknown field of KNN: 'fractoin'.*fraction",
        ),
        (lambda: parse_pruning("knn"), ValueError, "cannot read the pruning description 'knn'. Write \"knn:FRACTION"),
        (lambda: parse_pruning("knn:much"), ValueError, "cannot read the number 'much'"),
        (lambda: parse_pruning("ranker:0.5:later:mmr"), ValueError, "cannot read the pruning description"),
        (lambda: parse_pruning(0.3), TypeError, r"a pruning description is text, got 0.3"),
    ],
)
def test_bad_input_is_named(make: Any, error: type[Exception], message: str) -> None:
    refused(make, message, error)


class Broken:
    """A ranker that answers with what it is given."""

    def __init__(self, answer: Any) -> None:
        self.answer = np.asarray(answer)

    def rank(self, topic: Topic, k: int) -> Any:
        return self.answer

    def rank_batch(self, topics: Any, k: int) -> Any:
        return [self.answer for _ in topics]

    def score(self, topic: Topic, selected: Any, allowed: Any) -> Any:
        return self.answer


@pytest.mark.parametrize(
    ("when", "answer", "message"),
    [
        ("reset", [0, 1, 99], "ranker 'Broken' ranks a document that topic 'q0' does not have; they are 0 to 5"),
        ("reset", [0, -1, 2], "a document that topic 'q0' does not have"),
        ("reset", [4, 1, 4], "ranks a document of topic 'q0' twice"),
        ("reset", [4, 1], "asked for 3 documents, the ranker returned 2"),
        ("reset", [0.5, 1.0, 2.0], r"returned float64 of shape \(3,\) for topic 'q0'; expected whole numbers"),
        ("step", [1.0, 2.0], r"topic 'q0', pruning by Broken: expected scores of shape \(6,\), got \(2,\)"),
        ("step", [1.0, 2.0, np.nan, 1.0, 1.0, 1.0], "the score of document 2 is NaN"),
    ],
)
def test_broken_rankings_and_scores_are_named(when: Any, answer: Any, message: str) -> None:
    core = SelectionCore(random_topics(0, n=6), horizon=2, pruning=ByRanker(Broken(answer), 3, when=when))
    refused(lambda: (core.reset([0]), core.step([0])), message)


def test_topics_without_vectors_are_refused_when_distances_are_needed() -> None:
    topics = TopicSet([Topic(query_id="q", doc_ids=tuple("abcd"))], name="bare")
    core = SelectionCore(topics, horizon=2, pruning=KNN(k=1))
    core.reset([0])
    refused(lambda: core.step([0]), "topic 'q' has no document vectors, which kNN pruning")


@pytest.mark.parametrize(
    ("text", "strategy"),
    [
        ("knn:0.3", KNN(0.3)),
        ("knn:20", KNN(k=20)),
        ("knn:0.1:cosine", KNN(0.1, metric="cosine")),
        ("ranker:0.5:reset:mmr", ByRanker("mmr", 0.5)),
        ("ranker:7:step:C:/models/ntn", ByRanker("C:/models/ntn", 7, when="step")),
        ("knn:0.1+ranker:0.5:step:mmr", Chain((KNN(0.1), ByRanker("mmr", 0.5, when="step")))),
        ("ranker:3:reset:c++/ntn+knn:5", Chain((ByRanker("c++/ntn", 3), KNN(k=5)))),
    ],
)
def test_the_notation_is_read(text: str, strategy: Any) -> None:
    assert parse_pruning(text) == strategy


def test_strategies_survive_a_specification_in_json() -> None:
    for strategy in (KNN(0.3), KNN(k=3, metric="cosine"), ByRanker("mmr", 0.5), Chain((KNN(0.1), ByRanker("mmr", 3)))):
        env = gym.make("SRD-v0", topics="synthetic:serp:5", pruning=strategy)
        for spec in (env.spec, EnvSpec.from_json(env.spec.to_json())):
            assert gym.make(spec).unwrapped.core.pruning == strategy
    wrapped = RankerPruning(KNNPruning(gym.make("SRD-v0", topics="synthetic:serp:5"), k=3), Path("mmr"), 0.5)
    again: Any = gym.make(EnvSpec.from_json(wrapped.spec.to_json()))
    assert again.unwrapped.core.pruning == Chain((KNN(k=3), ByRanker("mmr", 0.5)))
    other = gym.make("CartPole-v1")
    refused(lambda: KNNPruning(other, 0.3), "pruning wrappers go around SRD-v0, got CartPoleEnv", TypeError)


def test_distances_are_those_of_numpy() -> None:
    vectors = np.random.default_rng(0).normal(5, 40, (17, 6)).astype(np.float32)
    vectors[3] = vectors[4]
    wide = vectors.astype(np.float64)
    squares = np.square(wide[:, None] - wide).sum(-1)
    assert_allclose(neighbour_distances(vectors, "euclidean") * 2 * np.abs(wide).max() ** 2, squares, atol=1e-2)
    unit = wide / np.linalg.norm(wide, axis=1, keepdims=True)
    found = neighbour_distances(vectors, "cosine")
    assert_allclose(found, 1 - unit @ unit.T, atol=1e-6)
    assert_array_equal(found, found.T)


def test_distances_of_long_zero_and_unusable_vectors() -> None:
    long = np.array([[1e30, 0], [2e30, 0], [9e30, 1]], np.float32)
    assert neighbour_distances(long, "euclidean")[0].argsort().tolist() == [0, 1, 2]
    zeros = np.zeros((3, 2), np.float32)
    assert not neighbour_distances(zeros, "euclidean").any()
    assert neighbour_distances(zeros, "cosine").tolist() == [[0, 1, 1], [1, 0, 1], [1, 1, 0]]
    for bad in (np.nan, np.inf):
        long[1, 0] = bad
        with np.errstate(all="ignore"):
            refused(lambda: neighbour_distances(long, "euclidean"), "distances between document vectors are not finite")


def test_rows_of_matrices_that_are_not_kept_order_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    topics = random_topics(3, n=9)
    kept = NeighbourTable(TopicArrays(topics), "euclidean")
    rows = [kept.row(topic, 2) for topic in range(5)]
    monkeypatch.setattr(distances, "_KEPT_BYTES", 4 * 9 * 9)
    one = NeighbourTable(TopicArrays(topics), "euclidean")
    for topic in (0, 1, 2, 3, 4, 0, 1):
        assert_allclose(one.row(topic, 2), rows[topic], atol=1e-6)


def test_wrappers_install_the_strategy() -> None:
    topics = random_topics(7, n=9)
    direct: Any = gym.make(
        "SRD-v0", topics=topics, horizon=4, pruning=Chain((KNN(0.3), ByRanker("mmr", 6, when="step")))
    )
    wrapped: Any = RankerPruning(
        KNNPruning(gym.make("SRD-v0", topics=topics, horizon=4), 0.3), ranker="mmr", keep=6, when="step"
    )
    assert wrapped.unwrapped.core.pruning == direct.unwrapped.core.pruning
    masks: list[list[Any]] = [[], []]
    for env, seen in zip((direct, wrapped), masks, strict=True):
        observation, info = env.reset(seed=1)
        ended = False
        while not ended:
            seen.append(observation["action_mask"])
            assert_array_equal(info["action_mask"], observation["action_mask"])
            observation, _, ended, _, info = env.step(int(observation["action_mask"].argmax()))
    assert_array_equal(masks[0], masks[1])
    assert_array_equal(wrapped.action_masks(), wrapped.unwrapped.action_masks())


def test_nothing_is_pruned_below_the_ranks_to_fill() -> None:
    few, wrong = (
        SelectionCore(random_topics(0, n=6), horizon=3, pruning=each) for each in (KeepNone(), KeepNone("dtype"))
    )
    message = r"KeepNone keeps 0 candidates of an episode with 3 ranks to fill.*`needed`"
    refused(lambda: few.reset([0]), message)
    refused(lambda: wrong.reset([0]), r"KeepNone returned int8 of shape \(1, 6\); expected bool \(1, 6\)")
    message = r"pruning must be a strategy with `bind`.*got str"
    refused(lambda: SelectionCore(random_topics(0), pruning="KNN"), message, TypeError)


def test_a_strategy_sees_read_only_state() -> None:
    class Meddler(KeepAll):
        def bind(self, topics: Any, horizon: int) -> Meddler:
            return self

        def after_step(self, topic: Any, ranking: Any, action: Any, allowed: Any, needed: Any) -> Any:
            for array in (topic, ranking, action, allowed, needed):
                with pytest.raises(ValueError, match="read-only"):
                    array[...] = 0
            return allowed

    core = SelectionCore(random_topics(0, n=6), horizon=3, pruning=Meddler())
    core.reset([0])
    core.step([0])
    assert core.rank.tolist() == [1]
