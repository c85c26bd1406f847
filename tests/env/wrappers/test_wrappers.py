from __future__ import annotations

import re
import warnings
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.envs.registration import EnvSpec
from gymnasium.utils import env_checker
from gymnasium.utils.env_checker import check_env as gymnasium_check
from gymnasium.vector import AutoresetMode
from numpy.testing import assert_array_equal
from small_topics import random_topics, refused
from wrapper_stacks import SHARED, STACKS, TOPICS, made

import srd_gym
from srd_gym import wrappers
from srd_gym.envs import SelectionEnv, SelectionVectorEnv
from srd_gym.testing import _require_equal, check_env, check_vector_env
from srd_gym.wrappers import BoolMask, FlatObservation, VectorObservation, expand_observation, topic_tables

WRAPPERS = [BoolMask, FlatObservation, wrappers.TianshouObservation, wrappers.RLlibObservation]
stacks = pytest.mark.parametrize("stack", STACKS)


def gymnasium_checks(env: Any) -> None:
    """Gymnasium's checker, its warnings being errors but for two."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        # Vectors and scores have no bounds, and the wrapped environment is what we want to check.
        expected = "(?s).*(A Box observation space m.*infinity|is different from the unw|candidate .* is masked)"
        warnings.filterwarnings("ignore", message=expected)
        gymnasium_check(env, skip_render_check=True)


@stacks
@pytest.mark.parametrize("shared", [{}, SHARED], ids=["copied", "shared"])
def test_the_laws_hold_and_gymnasiums_checker_agrees(
    stack: str, shared: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    check_env(made(stack, topics=random_topics(8), **shared))
    if shared:
        monkeypatch.setattr(env_checker, "check_returned_data_not_reused", lambda env: None, raising=False)
    gymnasium_checks(made(stack, **shared))


@pytest.mark.skipif(
    not hasattr(env_checker, "check_returned_data_not_reused"), reason="Gymnasium looks at shared memory since 1.4"
)
def test_flat_forms_share_nothing_even_where_documents_are_shared() -> None:
    gymnasium_checks(made("FlatObservation", **SHARED))
    refused(lambda: gymnasium_checks(made("BoolMask", **SHARED)), "share an object", AssertionError)


@stacks
@pytest.mark.parametrize("shared", [{}, SHARED], ids=["copied", "shared"])
def test_stable_baselines3s_checker(stack: str, shared: dict[str, Any]) -> None:
    checker = pytest.importorskip("stable_baselines3.common.env_checker")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # advice: images for matrices, no nested dictionaries
        checker.check_env(made(stack, **shared), warn=True)


@stacks
def test_a_stack_is_rebuilt_from_its_specification(stack: str) -> None:
    env = made(stack)
    again = gym.make(EnvSpec.from_json(env.spec.to_json()))
    assert again.observation_space == env.observation_space
    assert str(again) == str(env)
    _require_equal(again.reset(seed=3)[0], env.reset(seed=3)[0], "observation")


@pytest.mark.parametrize("mode", AutoresetMode, ids=str)
@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_many_environments_observe_what_one_does(wrapper: Any, mode: AutoresetMode) -> None:
    vector = SelectionVectorEnv(random_topics(4), num_envs=3, horizon=3, autoreset_mode=mode)
    many = VectorObservation(vector, wrapper(SelectionEnv(random_topics(4), horizon=3)))
    check_vector_env(many, lambda: wrapper(SelectionEnv(random_topics(4), horizon=3)))


def test_a_flat_observation_is_laid_out_as_it_says() -> None:
    env = made("FlatObservation", horizon=4)
    inner = env.unwrapped
    _, info = env.reset(seed=0)
    action = int(np.flatnonzero(info["action_mask"])[-1])
    env.step(action)
    flat, *_ = env.step(action)  # wastes the second rank
    flat, *_ = env.step(0)
    full = inner._observer.observe(0)
    n, width = full["documents"].shape
    query, documents, scores, places, mask = np.split(flat, np.cumsum([width, n * width, n, n]))
    assert flat.dtype == np.float32
    for part, name in ((query, "query"), (scores, "retrieval_scores"), (mask, "action_mask")):
        assert_array_equal(part, full[name])
    assert_array_equal(documents.reshape(n, width), full["documents"])
    expected = np.zeros(n, np.float32)
    expected[[action, 0]] = 1 / 4, 3 / 4
    assert_array_equal(places, expected)
    assert_array_equal(made("TianshouObservation").reset(seed=1)[0]["obs"], env.reset(seed=1)[0][:-n])


def test_lookup_completes_compact_observations_alone() -> None:
    full = SelectionVectorEnv(TOPICS, num_envs=3)
    compact = SelectionVectorEnv(TOPICS, num_envs=3, observation="compact")
    for source in (compact, made("compact"), TOPICS, srd_gym.load_topics(TOPICS)):
        known = topic_tables(source)
        completed, expected = expand_observation(compact.reset(seed=5)[0], known), full.reset(seed=5)[0]
        assert completed.keys() == expected.keys()
        for name, part in expected.items():
            assert_array_equal(completed[name], part)
    one, _ = made("compact").reset(seed=5)
    assert_array_equal(expand_observation(one, known)["documents"], expected["documents"][0])
    observation, _ = made("nothing").reset(seed=0)
    known, other = topic_tables(TOPICS), gym.make("CartPole-v1")
    message = "a compact observation, with 'topic'"
    refused(lambda: expand_observation(observation, known), message)
    refused(
        lambda: expand_observation({"topic": np.zeros((2, 1), np.float32)}, known), "must be of integer", IndexError
    )
    message = "expected SRD-v0, .*got CartPoleEnv"
    refused(lambda: topic_tables(other), message, TypeError)


@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_wrappers_refuse_what_they_cannot_wrap(wrapper: Any) -> None:
    plain = gym.make("SRD-v0", topics=TOPICS)
    without = gym.wrappers.FilterObservation(plain, ["documents"])
    message = "action_mask of .*observation, got "
    refused(lambda: wrapper(gym.make("CartPole-v1")), message + "Box")
    refused(lambda: wrapper(FlatObservation(plain)), message + "Box")
    refused(lambda: wrapper(without), message + re.escape("['documents']"))
    if wrapper is not BoolMask:
        compact = gym.make("SRD-v0", topics=TOPICS, observation="compact")
        refused(lambda: wrapper(compact), "reads query, .*expand_observation")
