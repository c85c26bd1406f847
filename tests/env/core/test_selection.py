from __future__ import annotations

import copy
import pickle
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from small_topics import (
    EvenOnly,
    FirstRankOnly,
    alone,
    bare_topic,
    judged_topic,
    random_topics,
    refused,
    seeds,
    small_topic,
)  # fmt: skip

from srd_gym.core import SelectionCore, TopicArrays
from srd_gym.envs import SelectionEnv, SelectionVectorEnv
from srd_gym.measures import MEASURES, parse_measure
from srd_gym.topic import TopicSet

STATE = ("topic_index", "rank", "length", "done", "allowed", "mask", "ranking", "coverage", "gains")
ARRAYS = ("documents", "queries", "retrieval_scores", "judgments", "present", "n_candidates", "labelled")
measures = st.sampled_from(sorted(MEASURES))


def play(core: SelectionCore, generator: np.random.Generator) -> list[tuple[np.ndarray, ...]]:
    """Random actions, allowed or not, to the end of all episodes; the mask keeps its laws all the while."""
    given = []
    while not core.done.all():
        _check_mask(core)
        result = core.step(generator.integers(0, core.arrays.max_candidates, core.n_episodes))
        given.append((result.reward, result.gain, result.invalid, result.terminated))
    return given


def _check_mask(core: SelectionCore) -> None:
    """It offers no ranked document and no padding, and enough for the ranks to fill."""
    for episode in range(core.n_episodes):
        ranked = core.ranking[episode][core.ranking[episode] >= 0]
        assert len(set(ranked.tolist())) == len(ranked)
        assert not core.allowed[episode, ranked].any()
        assert not core.allowed[episode, core.arrays.n_candidates[core.topic_index[episode]] :].any()
        left = core.length[episode] - core.rank[episode]
        assert core.done[episode] == (left == 0)
        assert core.allowed[episode].sum() >= left


def begun(seed: int, episodes: int = 6, **arguments: Any) -> SelectionCore:
    core = SelectionCore(random_topics(seed, unlabelled=arguments.pop("unlabelled", False)), **arguments)
    core.reset(np.random.default_rng(seed).integers(0, 5, episodes))
    return core


@given(seeds, measures, st.sampled_from([None, 1, 4, 12]), st.sampled_from(["dense", "sparse"]))
def test_rewards_telescope_to_the_measure(seed: int, name: str, horizon: int | None, paid: Any) -> None:
    core = begun(seed, reward=name, horizon=horizon, reward_type=paid)
    returns, bound = sum(reward for reward, *_ in play(core, np.random.default_rng(seed))), core.bound
    assert_array_equal(returns, core.returns())
    assert_array_equal(returns, np.cumsum(core.gains, axis=1)[:, -1])
    values = bound.score_rankings(core.ranking, core.arrays.judgments, core.topic_index)
    assert_allclose(returns, values, rtol=1e-12, atol=1e-15)
    assert core.reward_name == bound.name


@given(seeds, measures)
def test_permuting_documents_changes_no_reward(seed: int, name: str) -> None:
    topics = random_topics(seed, n=7)
    orders = np.random.default_rng(seed).permuted([range(7)] * 5, axis=1)
    shuffled = topics.replace(topic.take(order) for topic, order in zip(topics, orders, strict=True))
    one, other = (SelectionCore(each, reward=name, horizon=4) for each in (topics, shuffled))
    one.reset(range(5))
    other.reset(range(5))
    for rank in range(4):
        assert_allclose(one.step(orders[:, rank]).reward, other.step([rank] * 5).reward, rtol=1e-12, atol=1e-15)


@given(seeds, st.integers(0, 4), st.booleans())
def test_going_on_after_restore_is_going_on_without(seed: int, taken: int, prunes: bool) -> None:
    core = begun(seed, horizon=6, pruning=EvenOnly() if prunes else None)
    generator = np.random.default_rng(seed)
    for _ in range(taken):
        core.step(generator.integers(0, core.arrays.max_candidates, core.n_episodes))
    snapshot = core.snapshot()
    first = play(core, np.random.default_rng(seed + 1))
    state = {name: getattr(core, name).copy() for name in STATE}
    core.restore(snapshot)
    assert core.snapshot() == snapshot
    assert hash(core.snapshot()) == hash(snapshot)
    again = play(core, np.random.default_rng(seed + 1))
    assert_array_equal([np.stack(step) for step in first], [np.stack(step) for step in again])
    for name in STATE:
        assert_array_equal(getattr(core, name), state[name])


def test_a_snapshot_of_one_episode_is_small_and_goes_into_many() -> None:
    core = begun(4, episodes=5, horizon=3)
    core.step([0] * 5)
    snapshot = core.snapshot(2)
    core.restore(snapshot, [0, 1, 4])
    for episode in (0, 1, 4):
        assert core.snapshot(episode).state == snapshot.state
    fresh = SelectionCore(core.arrays, horizon=3, episodes=1)
    fresh.restore(snapshot, 0)
    assert_array_equal(fresh.ranking[0], core.ranking[2])
    large = SelectionCore(alone(judged_topic(200, width=100, subtopics=6)))
    large.reset([0])
    assert len(pickle.dumps(large.snapshot())) < 700, "a snapshot is small"


def test_bad_snapshots_and_resets_are_refused() -> None:
    core = begun(4, horizon=3)
    snapshot = core.snapshot()
    other = SelectionCore(core.arrays, horizon=4, episodes=6)
    refused(lambda: other.restore(snapshot), r"snapshot is of a core with \(N, S, K\)")
    refused(lambda: core.restore(snapshot, [0, 1]), "cannot restore 6 episodes")
    refused(lambda: core.restore(core.snapshot(0), 9), "there is no episode 9: expected 0 to 5")
    refused(lambda: core.reset([0, 5]), "topic_index must be 0 to 4, got 0 to 5")
    refused(lambda: core.reset([0.5]), "must be \\[B\\] integers")
    refused(lambda: core.reset([0], episodes=[0, 1]), "one topic for each of 2 episodes, got 1")


@pytest.mark.parametrize(("changed", "message"), [
    ({"topics": random_topics(4, n=9).replace(list(random_topics(4, n=9))[::-1])}, "is of other topics than 'random'"),
    ({"reward": "alpha_nDCG"}, "these have alpha_nDCG@10"),
    ({"reward": FirstRankOnly()}, r"have first_rank \(reward_type='dense'"),
    ({"reward_type": "sparse"}, r"these .* \(reward_type='sparse'"),
])  # fmt: skip
def test_a_snapshot_goes_only_where_topics_and_reward_are_the_same(changed: dict[str, Any], message: str) -> None:
    def made(**arguments: Any) -> SelectionEnv:
        environment = SelectionEnv(**({"topics": random_topics(4, n=9)} | arguments))
        environment.reset(seed=0)
        return environment

    here, there = made(), made(**changed)
    assert here.core._shape == there.core._shape
    before = there.snapshot()
    refused(lambda: there.restore(here.snapshot()), message)
    assert there.snapshot() == before
    again = made(**changed)
    again.restore(before)
    assert again.snapshot() == before
    made().restore(here.snapshot())


def test_rewards_of_one_name_are_told_apart_by_class_and_repr() -> None:
    class Other(FirstRankOnly):
        pass

    @dataclass(frozen=True)
    class Scaled(FirstRankOnly):
        scale: float = 1.0

    class Plain:
        name, bind, __call__ = "plain", FirstRankOnly.bind, FirstRankOnly.__call__

    rewards = [FirstRankOnly(), Other(), Scaled(), Scaled(scale=2.0), Plain()]
    made = [type(reward)(**getattr(reward, "__dict__", {})) for reward in rewards]
    for i, one in enumerate(rewards):
        for j, other in enumerate(made):
            taken, core = (SelectionCore(random_topics(1), reward=each, episodes=1) for each in (one, other))
            if i == j:
                core.restore(taken.snapshot())
            else:
                refused(lambda core=core, taken=taken: core.restore(taken.snapshot()), "these have")


@pytest.mark.parametrize(("episodes", "error", "message"), [
    ([0.7, 1.2], TypeError, r"\[0.7, 1.2\] \(array of shape"),
    ([[0, 1]], TypeError, r"\[\[0, 1\]\] \(array of shape \(1, 2\)\)"),
    ("two", TypeError, "got .'two'"),
    (6, ValueError, "there is no episode 6: expected 0 to 5"),
    ([0, -1], ValueError, "there is no episode -1: expected 0 to 5"),
    ([True, False], ValueError, r"episodes must be \[6\] bool"),
    ([False] * 6, ValueError, r"got \[False, False"),
])  # fmt: skip
def test_episodes_that_are_not_there_are_refused(episodes: Any, error: type[Exception], message: str) -> None:
    core = begun(4)
    one, before = core.snapshot(0), core.snapshot()
    refused(lambda: core.snapshot(episodes), message, error)
    refused(lambda: core.restore(one, episodes), message, error)
    assert core.snapshot() == before


def test_a_mask_says_which_episodes() -> None:
    core = begun(4)
    core.step(core.allowed.argmax(axis=1))
    mask = np.array([False, True, False, True, True, False])
    assert core.snapshot(mask) == core.snapshot(mask.tolist()) == core.snapshot([1, 3, 4])
    core.restore(core.snapshot(0), mask)
    assert len({core.snapshot(episode).state for episode in (0, 1, 3, 4)}) == 1
    kept = core.snapshot()
    core.restore(core.snapshot(0), np.flatnonzero(np.zeros(6, bool)))  # into none
    assert core.snapshot() == kept


def test_candidate_gains_are_what_steps_pay() -> None:
    core = begun(7, horizon=5)
    while not core.done.all():
        best = np.where(core.allowed, core.candidate_gains(), -1).argmax(axis=1)
        expected = core.candidate_gains()[np.arange(core.n_episodes), best]
        assert_allclose(core.step(best).reward, expected, rtol=1e-12, atol=1e-15)
    assert not core.candidate_gains().any()


def test_ended_episodes_stay_as_they_are() -> None:
    core = SelectionCore(TopicSet([judged_topic(2), judged_topic(6)], name="two"), horizon=5)
    core.reset([0, 1])
    for _ in range(2):
        core.step(core.allowed.argmax(axis=1))
    before = core.snapshot(0)
    result = core.step([10**6, int(core.allowed[1].argmax())])  # an ended episode's action is not even looked at
    assert (result.reward[0], result.invalid[0], result.terminated.tolist()) == (0.0, False, [True, False])
    assert core.snapshot(0) == before
    assert core.step_episode(0, 10**6) == (0.0, False, True)
    own = SelectionCore(core.arrays, reward=FirstRankOnly(), horizon=1)
    own.reset([0])
    assert own.step_episode(0, 1) == (1.1, False, True)
    assert own.step_episode(0, 10**6) == (0.0, False, True)


def test_invalid_actions_raise_and_change_nothing_where_asked() -> None:
    how: Any = {"on_invalid": "raise", "max_candidates": 6, "pruning": EvenOnly(at_once=True), "horizon": 2}
    core = SelectionCore(random_topics(1, n=4), **how)
    core.reset([0, 1])
    core.step([0, 2])
    before = core.snapshot()
    reasons = {2: "'q1-d2' is ranked already", 5: "'q1' has 4 candidates, the rest is padding", 1: "'q1-d1' was pruned"}
    for action, why in reasons.items():
        message = f"{action} is masked: .*{why}.*on_invalid="
        refused(lambda action=action: core.step([2, action]), message)
        refused(lambda action=action: core.step_episode(1, action), message)
    assert core.snapshot() == before


@pytest.mark.parametrize("on_invalid", ["skip", "raise"])
def test_actions_that_no_candidate_has_are_refused(on_invalid: Any) -> None:
    core = begun(0, episodes=2, on_invalid=on_invalid)
    for action in (-1, core.arrays.max_candidates):
        message = f"no candidate {action}: actions are 0 to {core.arrays.max_candidates - 1}"
        refused(lambda action=action: core.step([0, action]), message)
        refused(lambda action=action: core.step_episode(0, action), message)
    for actions in ([0.0, 1.0], [True, 1], [np.True_, 1], (1, False), [True, True], np.array([True, False])):
        refused(lambda actions=actions: core.step(actions), "must be integers", TypeError)
    hidden = np.ma.masked_array([0, 1], mask=[1, 0])  # type: ignore[no-untyped-call]
    refused(lambda: core.step(hidden), "some values are masked")
    refused(lambda: core.step([0, 1, 2]), "one action for each of 2 episodes")
    assert not core.rank.any()


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda core: pickle.loads(pickle.dumps(core))])
def test_a_copy_goes_its_own_way(duplicate: Any) -> None:
    core = begun(5, horizon=4)
    core.step(core.allowed.argmax(axis=1))
    other = duplicate(core)
    before = core.snapshot()
    play(other, np.random.default_rng(0))
    assert core.snapshot() == before
    assert other.done.all()


def test_a_reward_of_the_users_own() -> None:
    core = begun(
        0, episodes=3, reward=FirstRankOnly(), horizon=3, measures=["StRecall@1", parse_measure("NRBP"), "StRecall"]
    )
    core.reset([0, 2, 3])
    paid = [core.step(core.allowed.argmax(axis=1)).reward for _ in range(core.length.max())]
    expected = [1.0 + sum(range(length)) / 10 for length in core.length]
    assert_allclose(np.sum(paid, axis=0), expected)
    assert list(core.measures()) == ["first_rank", "StRecall@1", "NRBP", "StRecall@3"]
    assert_allclose(core.measures()["first_rank"], expected)
    refused(core.candidate_gains, "'first_rank' is not a measure")


class Wrong:
    """Test-only reward: 0.5 each, but for one rank, where it pays whatever it was given."""

    name = "wrong"

    def __init__(self, paid: Any, rank: int = 0) -> None:
        self.paid, self.rank = paid, rank

    def bind(self, topics: Any, horizon: int) -> Any:
        return lambda step: self.paid(len(step.rank)) if step.rank[0] == self.rank else np.full(len(step.rank), 0.5)


WRONG: dict[str, tuple[Any, str]] = {
    "nan": (lambda b: np.full(b, np.nan), r"got nan at \(0,\)"),
    "one of all": (lambda b: [0.5] * (b - 1) + [np.nan], r"got nan at \(\d,\)"),
    "scalar": (lambda b: 0.5, r"got 0.5 \(float\)"),
    "too many": (lambda b: np.ones(b + 1), r"got .*\(array of shape \(\d,\)\)"),
    "text": (lambda b: ["much"] * b, "got .'much'"),
    "nothing": (lambda b: None, r"got None \(NoneType\)"),
    "ragged": (lambda b: [[1.0], [1.0, 2.0]], r"got \[\[1.0\], \[1.0, 2.0\]\] \(list\)"),
}


@pytest.mark.parametrize("made", ["single", "vector", "core"])
@pytest.mark.parametrize("rank", [0, 2])
@pytest.mark.parametrize("how", WRONG)
def test_a_reward_that_pays_no_numbers_is_refused_and_nothing_has_changed(how: str, rank: int, made: str) -> None:
    paid, message = WRONG[how]
    count, arguments = (1 if made == "single" else 3), {"reward": Wrong(paid, rank), "horizon": 4}
    topics = random_topics(1, n=6)
    env: Any = SelectionCore(topics, **arguments)
    if made == "core":
        env.reset([0, 1, 2])
    else:
        env = SelectionEnv(topics, **arguments) if count == 1 else SelectionVectorEnv(topics, num_envs=3, **arguments)
        env.reset(seed=0)
    for done in range(rank):
        env.step(done if count == 1 else [done] * count)
    before = env.snapshot()
    who = rf"reward 'wrong' .*of shape \({count},\), "
    refused(lambda: env.step(5 if count == 1 else [5] * count), who + message)
    assert env.snapshot() == before


@pytest.mark.parametrize("what", ["alpha_nDCG", FirstRankOnly()])
def test_unlabelled_topics_pay_nothing_and_have_no_measures(what: Any) -> None:
    core = SelectionCore(random_topics(1, unlabelled=True), reward=what, measures=["ERR_IA"], normalizer="candidates")
    core.reset([0, 1])
    rewards = sum(reward for reward, *_ in play(core, np.random.default_rng(0)))
    assert rewards[1] == 0.0
    assert all(np.isnan(values[1]) and np.isfinite(values[0]) for values in core.measures().values())
    assert np.isnan(list(core.episode_measures(1).values())).all()
    bare = SelectionCore(alone(bare_topic(2)), measures=["alpha_nDCG"])
    bare.reset([0])
    assert [bare.step([0]).reward.item(), bare.step_episode(0, 1)[0]] == [0.0, 0.0]


def test_the_pool_normalises_where_every_topic_has_one() -> None:
    topics = alone(small_topic([[1, 0], [0, 0]], pool=[[1, 0], [0, 1]], pool_ids=("a", "z")))
    values = {}
    for normalizer in (None, "pool", "candidates"):
        core = SelectionCore(topics, reward="alpha_nDCG", normalizer=normalizer, horizon=2)
        core.reset([0])
        values[normalizer] = core.step([0]).reward.item()
    assert values[None] == values["pool"] == pytest.approx(1 / (1 + 1 / np.log2(3)))
    assert values["candidates"] == pytest.approx(1.0)


# The arrays of topics


@pytest.mark.parametrize("name", [*STATE, *ARRAYS])
def test_state_and_arrays_are_read_only_to_callers(name: str) -> None:
    core = begun(0)
    with pytest.raises(ValueError, match="read-only"):
        getattr(core if name in STATE else core.arrays, name)[0] = 0


def test_arrays_hold_the_judgments_and_pad_with_zeros() -> None:
    topics = random_topics(3, unlabelled=True)
    arrays = TopicArrays(topics, max_candidates=topics.max_candidates + 2)
    assert arrays.documents.shape == (5, topics.max_candidates + 2, 3)
    for index, topic in enumerate(topics):
        n, s = topic.n_candidates, topic.n_subtopics
        given = np.zeros((n, s)) if topic.judgments is None else topic.judgments
        assert arrays.labelled[index] == topic.labelled
        assert_array_equal(arrays.judgments[index, :n, :s], given)
        assert_array_equal(arrays.covers(2)[index, :n, :s], given >= 2)
        assert arrays.present[index].tolist() == [True] * n + [False] * (topics.max_candidates + 2 - n)
        assert not arrays.judgments[index, n:].any()
        assert not arrays.judgments[index, :, s:].any()


def test_the_same_set_shares_its_arrays() -> None:
    topics = random_topics(0)
    arrays = TopicArrays.of(topics)
    assert TopicArrays.of(topics) is TopicArrays.of(arrays) is arrays is copy.deepcopy(arrays)
    assert TopicArrays.of(topics, topics.max_candidates) is arrays
    assert TopicArrays.of(topics, 50) is not arrays
    assert TopicArrays.of(random_topics(0)) is not arrays
    again = pickle.loads(pickle.dumps(TopicArrays(topics, 12)))
    assert again.max_candidates == 12
    assert_array_equal(again.documents[:, : arrays.max_candidates], arrays.documents)


def test_bad_arrays_are_refused_and_missing_vectors_explained() -> None:
    topics = random_topics(0, n=6)
    refused(lambda: TopicArrays(topics, 4), "max_candidates=4, .* raise it to 6")
    refused(lambda: TopicArrays(TopicSet([], name="none")), "'none' is empty")
    refused(lambda: TopicArrays.of([1]), "whose entry 0 is 1", TypeError)
    refused(lambda: TopicArrays.of(TopicArrays(topics), 9), "room for 6 .* max_candidates=9")
    arrays = TopicArrays(alone(bare_topic(doc_texts=("text",)), "texts"))
    message = "no document vectors.*simulate_vectors"
    refused(lambda: arrays.documents, message)
    refused(lambda: arrays.queries, message)
