from __future__ import annotations

from dataclasses import replace
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from small_topics import random_topics, refused, small_topic

from srd_gym import Clicks, TopicSet, scoring_v0
from srd_gym.core import ScoringCore, SelectionCore, TopicArrays
from srd_gym.core.users import users_from
from srd_gym.envs import SelectionEnv, SelectionVectorEnv
from srd_gym.testing import check_env, check_scoring_env

MODELS: list[Clicks] = [
    Clicks(),
    Clicks(pays="reciprocal_rank", noise=0.1, boredom=0.5, reveal_intent=True),
    Clicks(model="dbn", pays="satisfaction", attraction=(0.05, 0.5, 0.9), satisfaction=0.6, patience=0.8),
    Clicks(model="pbm", attraction=(0.1, 0.7), satisfaction=(0.0, 0.3, 0.8), decay=0.5),
    Clicks(model="dbn", expected=True, patience=0.9, cutoff=3),
]
models = pytest.mark.parametrize("clicks", MODELS, ids=str)


def binary(weights: list[float] | None = None) -> TopicArrays:
    rows = [[1, 0, 0, 0], [1, 1, 0, 0], [0, 0, 0, 0], [0, 1, 1, 0], [1, 0, 0, 0], [0, 0, 1, 1], [0, 1, 0, 1]]
    return TopicArrays.of([small_topic(rows, subtopic_weights=weights)])


def expectation(arrays: TopicArrays, clicks: Clicks, ranking: list[int]) -> float:
    bound = clicks.bind(arrays, len(ranking))
    return float(bound.pay(np.zeros(1, np.int64), np.array([ranking]), np.zeros(1, np.int64)).sum())


def plain(arrays: TopicArrays, name: str, ranking: list[int]) -> float:
    core = SelectionCore(arrays, reward=name, horizon=len(ranking), normalizer="candidates")
    core.reset([0])
    for candidate in ranking:
        core.step([candidate])
    return float(core.returns()[0])


RANKING = [1, 2, 0, 3, 5, 4, 6]
ALPHA = 0.5 * 0.6
DBN = {"model": "dbn", "attraction": 0.5, "satisfaction": 0.6, "expected": True}
IDENTITIES: dict[str, tuple[Clicks, str, float]] = {
    # users, measure, what the expected reward is of it (uniform weights of S = 4 subtopics, all of them covered)
    "the cascade's reciprocal rank is ERR_IA": (
        Clicks(pays="reciprocal_rank", attraction=0.3, expected=True), "ERR_IA(alpha=0.3, normalization=None)@7",
        0.3 / 4,
    ),
    "the DBN's satisfaction is NRBP": (
        Clicks(**DBN, pays="satisfaction", patience=0.8), f"NRBP(alpha={ALPHA}, beta=0.8)",
        ALPHA / (1 - (1 - ALPHA) * 0.8),
    ),
    "certain satisfaction is StRecall": (Clicks(attraction=1, pays="satisfaction", expected=True), "StRecall@7", 1.0),
    "position is P_IA": (Clicks(model="pbm", attraction=0.3, decay=0.0, expected=True), "P_IA@7", 0.3 * 7),
}  # fmt: skip


@pytest.mark.parametrize("what", IDENTITIES)
def test_the_expected_pay_is_a_measure(what: str) -> None:
    clicks, name, constant = IDENTITIES[what]
    arrays = binary()
    assert expectation(arrays, clicks, RANKING) == pytest.approx(constant * plain(arrays, name, RANKING), abs=1e-12)


def test_weights_of_any_sum_are_those_of_intents() -> None:
    weights = [2.0, 1.0, 1.0, 4.0]
    clicks = Clicks(pays="reciprocal_rank", expected=True, attraction=0.3)
    arrays = binary(weights)
    value = plain(arrays, "ERR_IA(alpha=0.3, normalization=None)@7", RANKING)
    assert expectation(arrays, clicks, RANKING) == pytest.approx(0.3 * value / 8, abs=1e-12)
    intents = clicks.bind(arrays, 1).intents(np.zeros(80_000, np.int64), np.arange(80_000))
    shares = np.bincount(intents) / 80_000
    assert_allclose(shares, np.array(weights) / 8, atol=4 * 0.5 / np.sqrt(80_000))


@pytest.mark.parametrize("clicks", [clicks for clicks, _, _ in IDENTITIES.values()] + MODELS[:4], ids=str)
def test_the_mean_of_users_is_the_expectation(clicks: Clicks) -> None:
    graded = small_topic([[2, 0], [1, 1], [-2, 1], [0, 0], [3, 1]], subtopic_weights=[3, 1])
    for arrays, ranking in ((binary(), RANKING), (TopicArrays.of([graded]), [1, 0, 2, -1, 4])):
        bound = replace(clicks, expected=False).bind(arrays, len(ranking))
        n = 100_000
        users = np.random.default_rng(5).integers(2**63, size=n)
        paid = bound.pay(np.zeros(n, np.int64), np.tile(ranking, (n, 1)), users).sum(axis=1)
        error = paid.std() / np.sqrt(n)
        expected = expectation(arrays, replace(clicks, expected=True), ranking)
        assert abs(paid.mean() - expected) <= 4 * error + 1e-12


def test_cascade_users_click_once_and_pbm_users_need_not() -> None:
    arrays, n = binary(), 2_000
    at, shown, users = np.zeros(n, np.int64), np.tile(RANKING, (n, 1)), np.arange(n)
    clicks = {model: Clicks(model=model, attraction=0.9).bind(arrays, 7).clicks(at, shown, users).sum(axis=1)
              for model in ("cascade", "pbm")}  # fmt: skip
    assert clicks["cascade"].max() == 1
    assert clicks["pbm"].max() > 1


def test_position_based_users_reward_no_novelty() -> None:
    """What they pay is the sum of what single documents pay, in any company."""
    clicks, arrays = Clicks(model="pbm", expected=True), binary()
    alone = [expectation(arrays, clicks, [-1] * rank + [document]) for rank, document in enumerate(RANKING)]
    assert expectation(arrays, clicks, RANKING) == pytest.approx(sum(alone), abs=1e-12)
    cascade = Clicks(expected=True)
    same, other = expectation(arrays, cascade, [0, 4]), expectation(arrays, cascade, [0, 5])
    assert other > same  # 5 covers what 0 leaves uncovered


def test_users_leave_where_nothing_is_new_to_them_or_relevant() -> None:
    arrays = binary()
    calm, bored = Clicks(expected=True), Clicks(expected=True, boredom=1.0)
    assert expectation(arrays, bored, [0, 3, 5]) == expectation(arrays, calm, [0, 3, 5])
    assert expectation(arrays, bored, [0, 4, 3]) == expectation(arrays, calm, [0, 4])
    assert expectation(arrays, bored, [2, 3]) == 0
    arrays = TopicArrays.of([small_topic([[1, 0], [1, 0]], subtopic_weights=[1, 3])])
    assert expectation(arrays, Clicks(attraction=1.0, expected=True), [0, 1]) == pytest.approx(0.25, abs=1e-15)
    bound, users, at = Clicks(attraction=1.0).bind(arrays, 2), np.arange(500), np.zeros(500, np.int64)
    wants_nothing = bound.intents(at, users) == 1
    clicked = bound.clicks(at, np.tile([0, 1], (500, 1)), users).any(axis=1)
    assert_array_equal(clicked, ~wants_nothing)


@models
def test_notation_is_read_back(clicks: Clicks) -> None:
    assert users_from(str(clicks)) == clicks
    env: Any = gym.make("SRD-v0", topics=random_topics(0), reward=str(clicks)).unwrapped
    assert env.core.reward_name == clicks.name == str(clicks)


@models
def test_checkers_accept_every_model(clicks: Clicks) -> None:
    topics = random_topics(3, unlabelled=True)
    check_env(SelectionEnv(topics, reward=clicks, horizon=4))
    check_env(SelectionEnv(topics, reward=clicks, horizon=4, reward_type="sparse"))
    check_scoring_env(scoring_v0.parallel_env(topics, reward=clicks, n_scores=4, ties="random"))


def test_infos_tell_clicks_and_hide_the_intent() -> None:
    env = gym.make("SRD-Click-v0", topics=random_topics(1, n=6), horizon=4)
    _, info = env.reset(seed=3)
    assert "intent" not in info
    assert (info["click"], info["clicks"].tolist()) == (False, [False] * 4)
    told = []
    for action in range(4):
        _, reward, *_, info = env.step(action)
        assert "intent" not in info
        assert reward == float(info["click"])
        told.append(info["click"])
    assert_array_equal(info["clicks"], told)
    shown = gym.make("SRD-v0", topics=random_topics(1, n=6), reward=Clicks(reveal_intent=True))
    _, info = shown.reset(seed=3)
    assert 0 <= info["intent"] < shown.unwrapped.core.arrays.max_subtopics  # type: ignore[attr-defined]


def test_the_seed_decides_what_the_user_does_and_every_episode_has_its_own() -> None:
    env: Any = gym.make("SRD-Click-v0").unwrapped
    users = []
    for seed in (1, 1, None):
        env.reset(seed=seed)
        users.append(env.core.user[0])
    assert users[0] == users[1] != users[2]


def test_both_cores_pay_alike() -> None:
    topics, clicks = random_topics(4, n=5), Clicks(model="dbn", noise=0.2, pays="reciprocal_rank", cutoff=4)
    selection, scoring = SelectionCore(topics, reward=clicks, horizon=5), ScoringCore(topics, reward=clicks)
    every, users = np.arange(len(topics)), np.arange(len(topics)) + 99
    selection.reset(every, users=users)
    for candidate in range(5):
        selection.step(np.full(len(topics), candidate))
    lists = np.tile(np.arange(5), (len(topics), 1))
    assert_array_equal(selection.returns(), scoring.rewards(every, lists, users))
    assert_array_equal(selection.clicks(every), scoring.clicks(every, lists, users))


def test_nobody_draws_users_where_none_pay() -> None:
    core, generator = SelectionCore(random_topics(0)), np.random.default_rng(0)
    core.reset([0, 1], users=generator)
    assert generator.random() == np.random.default_rng(0).random()
    refused(lambda: core.clicks(np.array([0])), "nobody clicks")


@pytest.mark.parametrize(("values", "message", "error"), [
    ({"model": "casacde"}, "Did you mean cascade", ValueError),
    ({"attraction": 1.5}, "attraction must be between 0 and 1", ValueError),
    ({"attraction": (0.1, -0.5)}, "attraction .*between 0 and 1, got -0.5", ValueError),
    ({"attraction": ()}, "attraction is empty", ValueError),
    ({"satisfaction": "much"}, "satisfaction must be a number", TypeError),
    ({"attraction": (0.1, 0.5), "noise": 0.1}, "leave noise out", ValueError),
    ({"model": "pbm", "boredom": 0.5}, "boredom is an option of users", ValueError),
    ({"decay": 0.5}, "decay is an option of users of 'pbm'", ValueError),
    ({"cutoff": 0}, "cutoff must be at least 1", ValueError),
])  # fmt: skip
def test_users_that_cannot_be_are_refused(values: dict[str, Any], message: str, error: type[Exception]) -> None:
    refused(lambda: Clicks(**values), message, error)


def test_simulators_ask_for_users_where_they_pay() -> None:
    topics, two = random_topics(0), np.zeros(2, np.int64)
    core = SelectionCore(topics, reward="Clicks")
    refused(lambda: core.reset(two), "pass users=, one per episode")
    refused(lambda: core.reset(two, users=[1]), "expected one user for each of 2 episodes")
    refused(lambda: core.reset(two, users=[1, -1]), "0 to 2\\*\\*63 - 1")
    refused(lambda: core.reset(two, users=[0.5, 1.0]), "users must be integers", TypeError)  # type: ignore[list-item]
    refused(lambda: SelectionCore(topics, reward="Clicks(models='dbn')"), "unexpected keyword")
    scoring = ScoringCore(topics, reward="Clicks")
    refused(lambda: scoring.rewards(two, np.zeros((2, 1), np.int64)), "pass users=")
    SelectionCore(topics, reward="Clicks(expected=True)").reset(two)


def test_topics_without_subtopics_have_no_users_intent() -> None:
    topics = TopicSet([small_topic(np.zeros((2, 0), np.int64))], name="none")
    core = SelectionCore(topics, reward=Clicks(reveal_intent=True), horizon=2)
    core.reset([0], users=[5])
    assert core.step([1]).reward == 0
    assert core.intents(core.every) == -1


# What a user will do cannot be read


POSTERIORS: dict[str, tuple[Clicks, str]] = {
    "cascade": (Clicks(attraction=0.7), "dense"),
    "cascade, bored and noisy": (Clicks(pays="reciprocal_rank", noise=0.2, patience=0.8, boredom=0.5), "dense"),
    "dbn, satisfaction is not told": (Clicks(model="dbn", satisfaction=0.4, patience=0.9), "dense"),
    "dbn, satisfaction is paid at the end": (Clicks(model="dbn", pays="satisfaction", satisfaction=0.4), "sparse"),
    "dbn, satisfaction is told": (Clicks(model="dbn", pays="satisfaction", satisfaction=0.4), "dense"),
    "pbm": (Clicks(model="pbm", decay=0.5), "dense"),
}


@pytest.mark.parametrize("name", POSTERIORS)
@pytest.mark.parametrize("who", [2, 11])
def test_after_restore_intent_and_future_have_their_probabilities_given_what_was_seen(name: str, who: int) -> None:
    (clicks, reward_type), arrays = POSTERIORS[name], binary([2.0, 1.0, 1.0, 4.0])
    core = SelectionCore(arrays, reward=clicks, horizon=5, reward_type=reward_type)  # type: ignore[arg-type]
    core.reset([0], users=[who])
    for action in (0, 3, 0):  # the last one is wasted
        core.step([action])
    seen, snapshot = core.clicks(core.every)[0, :3], core.snapshot(0)
    told = core.gains[0, :3].copy() if reward_type == "dense" else None
    bound, shown = clicks.bind(arrays, 5), np.array([[0, 3, -1, 5, 6]])
    users = np.random.default_rng(1).integers(2**63, size=100_000)
    every, lists = np.zeros(len(users), np.int64), shown.repeat(len(users), axis=0)
    alike = (bound.clicks(every, lists[:, :3], users) == seen).all(axis=1)
    if told is not None:
        alike &= (bound.pay(every, lists[:, :3], users) == told).all(axis=1)
    users = users[alike]
    expected = [bound.intents(every[alike], users) == intent for intent in range(4)]
    expected += list(bound.clicks(every[alike], lists[alike], users).T[3:])

    drawn, count = [], 800
    many = SelectionCore(arrays, reward=clicks, horizon=5, reward_type=reward_type, episodes=count)  # type: ignore[arg-type]
    many.restore(snapshot, many.every, np.random.default_rng(2))
    assert (many.clicks(many.every)[:, :3] == seen).all()
    assert told is None or (many.gains[:, :3] == told).all()
    drawn += [many.intents(many.every) == intent for intent in range(4)]
    for action in (5, 6):
        many.step(np.full(count, action))
        drawn.append(many.clicks(many.every)[:, many.rank[0] - 1])
    for ours, theirs in zip(drawn, expected, strict=True):
        share = theirs.mean()
        assert abs(ours.mean() - share) <= 4.5 * np.sqrt(share * (1 - share) / count) + 1e-12
    assert_array_equal(many.returns(), bound.pay(np.zeros(count, np.int64), many.ranking, many.user).sum(axis=1))


def test_what_was_told_stays_true_and_only_the_rest_is_drawn() -> None:
    topics = random_topics(1, n=6)
    clicks = Clicks(model="dbn", noise=0.2, pays="reciprocal_rank", reveal_intent=True)
    env, vector = SelectionEnv(topics, reward=clicks, horizon=4), SelectionVectorEnv(topics, num_envs=1, reward=clicks)
    for each in (env, vector):
        each.reset(seed=3)
    _, info = env.reset(seed=3)
    paid = [env.step(action)[1] for action in (0, 0)]
    snapshot, users = env.snapshot(), set()
    for _ in range(8):
        env.restore(snapshot)
        assert env.core.intents(env.core.every) == info["intent"]
        assert env.core.gains[0, :2].tolist() == paid
        users.add(env.core.user.item())
        *_, told = env.step(1)
        assert told["return"] == pytest.approx(sum(paid) + env.core.gains[0, 2])
    assert len(users) == 8
    env.restore(snapshot, same_future=True)
    assert env.snapshot() == snapshot


@pytest.mark.parametrize("kind", ["single", "vector"])
def test_futures_have_a_stream_of_their_own_that_the_seed_starts(kind: str) -> None:
    """One seed gives one result; topics and users of later episodes are those of a run without restores."""
    topics = random_topics(1, n=6)

    def users(restores: int) -> list[list[int]]:
        env: Any = (
            SelectionEnv(topics, reward=Clicks())
            if kind == "single"
            else SelectionVectorEnv(topics, num_envs=2, reward=Clicks())
        )
        env.reset(seed=5)
        first = []
        for _ in range(restores):
            env.restore(env.snapshot())
            first.append(env.core.user.tolist())
        env.reset()
        return [*first, [*env.core.user.tolist(), *env.core.topic_index.tolist()]]

    assert users(2) == users(2)
    assert len({tuple(each) for each in users(2)}) == 3
    assert users(2)[-1] == users(0)[-1]


def test_the_core_asks_for_a_generator_where_users_pay_and_for_none_elsewhere() -> None:
    core = SelectionCore(random_topics(0, n=4), reward=Clicks(), horizon=2)
    core.reset([0, 1], users=[3, 4])
    snapshot = core.snapshot()
    refused(lambda: core.restore(snapshot), "needs users: pass users=")
    core.restore(snapshot, same_future=True)
    assert core.snapshot() == snapshot
    for reward in ("Clicks(expected=True)", "ERR_IA"):
        other = SelectionCore(random_topics(0, n=4), reward=reward, horizon=2)
        other.reset([0, 1])
        other.restore(other.snapshot())


class Stubborn(np.random.Generator):
    """Draws one and the same user."""

    def integers(self, *_: Any, size: int, **__: Any) -> Any:
        return np.full(size, self.user)


def test_an_episode_in_whose_place_nobody_is_found_ends_rather_than_be_read() -> None:
    clicks = Clicks(attraction=1.0)
    intents = clicks.bind(binary(), 1).intents(np.zeros(100, np.int64), np.arange(100)).tolist()
    core = SelectionCore(binary(), reward=clicks, horizon=3)
    core.reset([0], users=[intents.index(0)])
    assert core.step([1]).reward == 1
    draws = Stubborn(np.random.PCG64(0))
    draws.user = intents.index(0)  # type: ignore[attr-defined]
    core.restore(core.snapshot(), users=draws)
    draws.user = intents.index(3)  # type: ignore[attr-defined] # who does not click on it
    message = "users would have done on 1 ranks"
    refused(lambda: core.restore(core.snapshot(), users=draws), message)
    assert core.done.all()


def test_numbers_of_numpy_are_written_as_numbers() -> None:
    several = np.array([0.25, 0.5])
    for given in (several, tuple(several), several.tolist()):
        users = Clicks(model="dbn", attraction=given, satisfaction=np.float64(0.5), boredom=np.float32(0.125))
        assert str(users) == "Clicks(model='dbn', attraction=(0.25, 0.5), satisfaction=0.5, boredom=0.125)"
        assert str(users_from(str(users))) == str(users)
