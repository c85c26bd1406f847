from __future__ import annotations

import copy
from functools import partial
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv
from gymnasium.wrappers.vector import RecordEpisodeStatistics
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from own_parts import Early
from small_topics import COUNTED_MODES, FirstRankOnly, random_topics, refused, seeds

from srd_gym import Clicks
from srd_gym.envs import SelectionEnv, SelectionVectorEnv
from srd_gym.envs.observations import KINDS
from srd_gym.measures import MEASURES
from srd_gym.testing import _require_equal, check_vector_env

MODES = list(AutoresetMode)
modes = st.sampled_from(MODES)
USERS = [Clicks(boredom=0.5, reveal_intent=True), Clicks(model="dbn"), Clicks(model="pbm"), Clicks(expected=True)]
arguments = st.fixed_dictionaries(
    {
        "horizon": st.sampled_from([1, 3, None]),
        "observation": st.sampled_from([*KINDS, ["features", "ranking", "topic"]]),
        "mask_dtype": st.sampled_from(["int8", "bool"]),
        "reward_type": st.sampled_from(["dense", "sparse"]),
        "on_invalid": st.sampled_from(["skip", "next"]),
        "measures": st.sampled_from([[], ["NRBP", "StRecall@2"]]),
        "share_documents": st.booleans(),
        "numeric_infos": st.booleans(),
    }
)


@pytest.mark.parametrize("reward", [*MEASURES, FirstRankOnly(), Early(), *USERS], ids=str)
@given(seed=seeds, mode=modes, how=arguments, episodes=st.integers(1, 5), unlabelled=st.booleans())
@settings(max_examples=5)
def test_it_is_sync_vector_env_bit_for_bit(
    reward: Any, seed: int, mode: AutoresetMode, how: dict[str, Any], episodes: int, unlabelled: bool
) -> None:
    topics, how = random_topics(seed, unlabelled=unlabelled), how | {"reward": reward}
    vector = SelectionVectorEnv(topics, num_envs=episodes, autoreset_mode=mode, **how)
    check_vector_env(vector, lambda: SelectionEnv(topics, **how), seed=seed, steps=14)


@given(seeds, st.lists(st.sampled_from(["q0", "q1", "q4", None]), min_size=4, max_size=4), st.integers(1, 15))
def test_reset_masks_and_seeds_are_those_of_sync(seed: int, query_ids: list[str | None], bits: int) -> None:
    topics = random_topics(seed, n=4)
    mask = np.array([bits >> episode & 1 for episode in range(4)], bool)
    mode = AutoresetMode.DISABLED
    vector = SelectionVectorEnv(topics, num_envs=4, autoreset_mode=mode, horizon=3)
    sync: Any = SyncVectorEnv([lambda: SelectionEnv(topics, horizon=3)] * 4, autoreset_mode=mode)
    both = (vector, sync)
    _require_equal(*(env.reset(seed=11) for env in both), "seed")
    _require_equal(*(env.reset(seed=[5, 6, None, 5]) for env in both), "seeds")
    for env in both:
        env.step(np.array([0, 1, 2, 3]))
    _require_equal(*(env.reset(seed=seed, options={"reset_mask": mask.copy()}) for env in both), "reset_mask")
    assert vector.np_random_seed == sync.np_random_seed
    assert [g.bit_generator.state for g in vector.np_random] == [g.bit_generator.state for g in sync.np_random]
    _require_equal(*(env.step(np.array([3, 2, 1, 0])) for env in both), "step")
    _require_equal(*(env.reset(options={"query_id": "q3"}) for env in both), "query_id")

    before = vector.core.topic_index.copy()
    ignored = [query_id if begins else "no such query" for begins, query_id in zip(mask, query_ids, strict=True)]
    _, infos = vector.reset(options={"reset_mask": mask, "query_ids": ignored})
    for episode, (begins, query_id) in enumerate(zip(mask, query_ids, strict=True)):
        got = topics.query_ids[vector.core.topic_index[episode]]
        assert not begins or query_id in (None, got)
        assert begins or vector.core.topic_index[episode] == before[episode]
        assert infos["query_id"][episode] == (got if begins else None)
        assert infos["_query_id"][episode] == begins


@pytest.mark.parametrize("mode", MODES)
def test_through_make_vec(mode: AutoresetMode) -> None:
    for given_mode in (mode, mode.name, mode.name.lower(), mode.value):
        vector = gym.make_vec("SRD-v0", num_envs=3, topics=random_topics(1), autoreset_mode=given_mode)
        assert isinstance(vector, SelectionVectorEnv)
        assert vector.autoreset_mode is vector.metadata["autoreset_mode"] is mode
    assert SelectionVectorEnv.metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP


@pytest.mark.parametrize("kind", ["sync", "async", "vector_entry_point"])
def test_the_mode_is_given_to_whoever_resets(kind: str) -> None:
    native = kind == "vector_entry_point"
    right: dict[str, Any] = {"autoreset_mode": "SameStep"}
    wrong: dict[str, Any] = {"vector_kwargs": right}
    if not native:
        right, wrong = wrong, right

    def make(how: dict[str, Any]) -> Any:
        return gym.make_vec("srd_gym:SRD-v0", 2, kind, topics="synthetic:tiny:5", horizon=1, **how)

    vector = make(right)
    assert vector.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
    vector.reset(seed=0)
    *_, infos = vector.step([0, 0])
    assert infos["_final_obs"].all()
    vector.close()
    if kind == "async":  # its worker tells, and Gymnasium says no more than that it stopped
        return
    message = "can be passed arguments only through" if native else "keyword argument 'autoreset_mode'"
    refused(lambda: make(wrong), message, (TypeError, gym.error.Error))


@pytest.mark.parametrize("mode", COUNTED_MODES)
def test_gymnasiums_statistics_are_the_returns(mode: AutoresetMode) -> None:
    vector = RecordEpisodeStatistics(SelectionVectorEnv("synthetic:tiny:5", num_envs=3, horizon=4, autoreset_mode=mode))
    _, infos = vector.reset(seed=0)
    seen = 0
    for _ in range(15):
        *_, ended, _, infos = vector.step(infos["action_mask"].argmax(axis=1))
        assert ("episode" in infos) == ended.any()
        if ended.any():
            seen += 1
            told = infos.get("final_info", infos)
            np.testing.assert_allclose(infos["episode"]["r"], told["return"], rtol=1e-12)
            assert infos["episode"]["l"].tolist() == [4, 4, 4]
    assert seen >= 3


def test_gymnasiums_statistics_of_one_are_the_return() -> None:
    env = gym.wrappers.RecordEpisodeStatistics(gym.make("srd_gym:SRD-v0", topics="synthetic:tiny:5"))
    _, info = env.reset(seed=0)
    while "episode" not in info:
        *_, info = env.step(int(info["action_mask"].argmax()))
    assert info["episode"]["r"] == pytest.approx(info["return"])
    assert list(env.return_queue) == [info["episode"]["r"]]


def test_call_answers_for_each_episode_as_sync_vector_env_does() -> None:
    topics = random_topics(1, n=6)
    vector = SelectionVectorEnv(topics, num_envs=3, render_mode="ansi")
    sync: Any = SyncVectorEnv([lambda: SelectionEnv(topics, render_mode="ansi")] * 3)
    for env in (vector, sync):
        env.reset(seed=0)
        env.step([0, 1, 2])
    for name in ("action_masks", "render", "render_mode"):
        _require_equal(vector.call(name), sync.call(name), name)
    refused(lambda: vector.call("step", [0, 0, 0]), "step acts on all episodes at once", AttributeError)
    refused(lambda: vector.call("action_mask"), "action_mask", AttributeError)


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
@pytest.mark.parametrize("through", ["functions", "make_vec"])
def test_gymnasiums_workers_know_the_environment(method: str, through: str) -> None:
    arguments: dict[str, Any] = {"topics": "synthetic:tiny:5", "horizon": 3}
    if through == "functions":
        vector: Any = AsyncVectorEnv([partial(gym.make, "srd_gym:SRD-v0", **arguments)] * 2, context=method)
    else:
        vector = gym.make_vec("srd_gym:SRD-v0", 2, "async", vector_kwargs={"context": method}, **arguments)
    native: Any = gym.make_vec("srd_gym:SRD-v0", 2, **arguments)
    for env in (vector, native):
        env.reset(seed=3)
    _require_equal(vector.step([1, 2]), native.step([1, 2]), "a step of workers")
    _require_equal(vector.call("action_masks"), native.call("action_masks"), "masks")
    vector.close()


@pytest.mark.parametrize("share", [False, True])
def test_snapshots_and_deep_copies_go_their_own_way(share: bool) -> None:
    vector = SelectionVectorEnv(random_topics(3, n=6), num_envs=3, horizon=4, share_documents=share)
    refused(vector.snapshot, "nothing to take a snapshot of", ResetNeeded)
    given_first, _ = vector.reset(seed=0)
    documents = given_first["documents"].copy()
    other = copy.deepcopy(vector)
    for _ in range(6):
        told, *_ = other.step([0, 1, 2])
    assert_array_equal(told["documents"], other.core.arrays.documents[other.core.topic_index])
    assert vector.core.rank.tolist() == [0, 0, 0]
    assert_array_equal(given_first["documents"], documents)
    vector.step([0, 1, 2])
    snapshot = vector.snapshot()
    first = copy.deepcopy(vector.step([3, 1, 4]))
    vector.restore(snapshot)
    _require_equal(vector.step([3, 1, 4]), first, "the step again")
    for call in (lambda: vector.snapshot(3), lambda: vector.restore(snapshot, [0, 1, 3])):
        refused(call, "there is no episode 3: expected 0 to 2")
    other = SelectionVectorEnv(random_topics(3, n=6), num_envs=3, horizon=4, reward="ERR_IA")
    refused(lambda: other.restore(snapshot), "these have ERR_IA")
    vector.restore(vector.snapshot(np.array([False, True, False])), np.array([True, False, True]))
    observation, *_ = vector.step([5, 5, 5])
    assert (observation["ranking"] == observation["ranking"][1]).all()
    assert_array_equal(observation["documents"][0], observation["documents"][1])


@pytest.mark.parametrize("mode", ["same_step", "next_step"])
def test_an_episode_restored_at_its_end_begins_anew_in_the_next_step(mode: str) -> None:
    topics = random_topics(3, n=6)
    single = SelectionEnv(topics, horizon=2)
    single.reset(seed=0)
    single.step(0)
    single.step(1)
    vector = SelectionVectorEnv(topics, num_envs=2, horizon=2, autoreset_mode=mode)
    vector.reset(seed=0)
    vector.restore(single.snapshot(), [0])
    _, reward, terminated, _, _ = vector.step([0, 0])
    assert (reward[0], terminated.tolist(), vector.core.rank.tolist()) == (0, [False, False], [0, 1])
    *_, terminated, _, _ = vector.step([0, 1])
    assert terminated.tolist() == [False, True]


@pytest.mark.parametrize(("options", "error", "message"), [
    ({"reset_mask": np.array([1, 0])}, ValueError, r"reset_mask must be \[2\] bool"),
    ({"reset_mask": [True]}, ValueError, r"got \[True\] \(array of shape \(1,\)\)"),
    ({"reset_mask": np.array([False, False])}, ValueError, r"at least one .*, got \[False, False\]"),
    ({"query_ids": ["q1"]}, ValueError, r"one id \(or None\) for each of 2"),
    ({"query_ids": ["q1", "q9"]}, ValueError, "unknown query id"),
    ({"query_ids": [1, 2]}, TypeError, "a query id is text"),
    ({"query_id": "q1", "query_ids": ["q1", "q1"]}, ValueError, "exclude each other"),
    ({"reset_masks": None}, ValueError, r"Did you mean reset_mask\?"),
])  # fmt: skip
def test_bad_reset_options_are_refused(options: dict[str, Any], error: type[Exception], message: str) -> None:
    vector = SelectionVectorEnv(random_topics(0, n=4), num_envs=2, autoreset_mode="disabled")
    vector.reset(seed=0)
    refused(lambda: vector.reset(options=options), message, error)


def test_misuse_is_refused() -> None:
    topics = random_topics(0, n=4)
    refused(lambda: SelectionVectorEnv(topics, num_envs=0), "num_envs must be at least 1, got 0")
    message = "'nextstp'. Did you mean .*next_step"
    refused(lambda: SelectionVectorEnv(topics, autoreset_mode="nextstp"), message)
    vector = SelectionVectorEnv(topics, num_envs=2, autoreset_mode="disabled", horizon=1)
    refused(lambda: vector.step([0, 0]), r"\[0, 1\] have ended or were never", ResetNeeded)
    one = {"reset_mask": np.array([True, False])}
    refused(lambda: vector.reset(options=one), "reset all of them first", ResetNeeded)
    drawn = SelectionVectorEnv(topics, render_mode="ansi")
    refused(drawn.render, "so there is nothing to render", ResetNeeded)
    vector.reset()  # without a seed
    vector.step([0, 0])
    refused(lambda: vector.step([0, 0]), "reset them first", ResetNeeded)
    refused(lambda: vector.reset(seed=[1, 2, 3]), "one seed for each of 2")
