"""Wrappers that lay observations out as other libraries want them: laws, checkers, contents, and what they refuse."""

from __future__ import annotations

import re
import warnings
from functools import partial
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
from srd_gym.envs import SelectionEnv, SelectionVectorEnv
from srd_gym.testing import _require_equal, check_env, check_vector_env
from srd_gym.wrappers import BoolMask, FlatObservation, RLlibObservation, TianshouObservation, lookup, tables, vector
from srd_gym.wrappers.forms import flat_slices

WRAPPERS = [BoolMask, FlatObservation, TianshouObservation, RLlibObservation]
stacks = pytest.mark.parametrize("stack", STACKS)


@stacks
@pytest.mark.parametrize("shared", [{}, SHARED], ids=["copied", "shared"])
def test_the_laws_hold(stack: str, shared: dict[str, Any]) -> None:
    check_env(made(stack, topics=random_topics(8), **shared))


def gymnasium_checks(env: Any) -> None:
    """Gymnasium's checker, its warnings being errors but for two."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        # Vectors and scores have no bounds, and the wrapped environment is what we want to check.
        warnings.filterwarnings(
            "ignore", message="(?s).*(A Box observation space m.*infinity|is different from the unw)"
        )
        gymnasium_check(env, skip_render_check=True)


@stacks
@pytest.mark.parametrize("shared", [{}, SHARED], ids=["copied", "shared"])
def test_gymnasiums_checker(stack: str, shared: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
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


@pytest.mark.parametrize("mode", list(AutoresetMode), ids=str)
@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_vector_wrappers_do_what_single_ones_do(wrapper: Any, mode: AutoresetMode) -> None:
    many, one = getattr(vector, wrapper.__name__), wrapper
    arguments: dict[str, Any] = {"topics": random_topics(4), "horizon": 3}
    if wrapper is TianshouObservation and mode is AutoresetMode.SAME_STEP:
        arguments["observation"] = "compact"
        many, one = partial(many, flat=False), partial(one, flat=False)
    wrapped = many(SelectionVectorEnv(num_envs=3, autoreset_mode=mode, **arguments))
    check_vector_env(wrapped, lambda: one(SelectionEnv(**arguments)))
    assert_array_equal(wrapped.action_masks(), wrapped.unwrapped.action_masks())
    assert wrapped.autoreset_mode is mode


def test_a_flat_observation_says_where_what_lies() -> None:
    env = made("FlatObservation", horizon=4)
    inner = env.unwrapped
    _, info = env.reset(seed=0)
    action = int(np.flatnonzero(info["action_mask"])[-1])
    env.step(action)
    flat, *_ = env.step(action)  # wastes the second rank
    flat, *_ = env.step(0)
    full = inner._builder.observe(0)
    slices = flat_slices(inner.observation_space)
    assert flat.dtype == np.float32
    assert [part.stop for part in slices.values()][-1] == len(flat)
    for name in ("query", "retrieval_scores", "action_mask"):
        assert_array_equal(flat[slices[name]], full[name])
    assert_array_equal(flat[slices["documents"]].reshape(full["documents"].shape), full["documents"])
    places = np.zeros(len(full["action_mask"]), np.float32)
    places[[action, 0]] = 1 / 4, 3 / 4
    assert_array_equal(flat[slices["places"]], places)
    assert_array_equal(made("FlatObservation without mask").reset(seed=1)[0], env.reset(seed=1)[0][: -len(places)])


def test_lookup_completes_compact_observations() -> None:
    full = SelectionVectorEnv(TOPICS, num_envs=3)
    compact = SelectionVectorEnv(TOPICS, num_envs=3, observation="compact")
    for source in (compact, vector.BoolMask(compact), made("compact"), TOPICS, srd_gym.load_topics(TOPICS)):
        known = tables(source)
        completed, expected = lookup(compact.reset(seed=5)[0], known), full.reset(seed=5)[0]
        assert completed.keys() == expected.keys()
        for name, part in expected.items():
            assert_array_equal(completed[name], part)
    one, _ = made("compact").reset(seed=5)
    assert_array_equal(lookup(one, known)["documents"], expected["documents"][0])


def test_lookup_refuses_what_it_cannot_look_up() -> None:
    observation, _ = made("nothing").reset(seed=0)
    known, other = tables(TOPICS), gym.make("CartPole-v1")
    refused(
        lambda: lookup(observation, known), r"expected a compact observation, with 'topic', got \['action_mask', 'doc"
    )
    refused(lambda: lookup({"topic": np.zeros((2, 1), np.float32)}, known), "must be of integer", IndexError)
    message = "expected SRD-v0, its native vector environment, or topics, got CartPoleEnv"
    refused(lambda: tables(other), message, TypeError)


@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_wrappers_refuse_what_they_cannot_wrap(wrapper: Any) -> None:
    name, many = wrapper.__name__, getattr(vector, wrapper.__name__)
    plain, native = gym.make("SRD-v0", topics=TOPICS), SelectionVectorEnv(TOPICS, num_envs=2)
    other, sync = gym.make("CartPole-v1"), gym.make_vec("SRD-v0", 2, "sync", topics=TOPICS)
    without = gym.wrappers.FilterObservation(plain, ["documents"])
    compact = gym.make("SRD-v0", topics=TOPICS, observation="compact")
    refused(lambda: wrapper(other), f"{name} goes around one SRD-v0, got CartPoleEnv", TypeError)
    message = f"around one SRD-v0, got SelectionVectorEnv; .* srd_gym.wrappers.vector.{name}"
    refused(lambda: wrapper(native), message, TypeError)
    refused(lambda: wrapper(FlatObservation(plain)), f"{name} reads SRD-v0's Dict observation, got Box")
    refused(lambda: wrapper(without), re.escape("got ['documents']") if name == "BoolMask" else "'documents'")
    message = f"native vector environment, got SelectionEnv; elsewhere, put .*{name}"
    refused(lambda: many(plain), message, TypeError)
    refused(lambda: many(sync), "native vector environment, got SyncVectorEnv", TypeError)
    refused(lambda: many(vector.FlatObservation(native)), f"{name} reads SRD-v0's Dict observation, got Box")
    if name != "BoolMask":
        message = r"a flat observation is made of observation='full', got one of .*lookup"
        refused(lambda: wrapper(compact), message)
