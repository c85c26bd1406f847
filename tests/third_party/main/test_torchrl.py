"""TorchRL's checker on every wrapper stack and on the native vector environment."""

from __future__ import annotations

from functools import partial
from typing import Any

import gymnasium as gym
import pytest
import torch
from torchrl.envs import ActionMask, GymEnv, GymWrapper, ParallelEnv, PettingZooWrapper, TransformedEnv
from torchrl.envs.utils import check_env_specs
from torchrl.modules import MaskedCategorical
from wrapper_stacks import SHARED, STACKS, TOPICS, made

from srd_gym import scoring_v0


@pytest.mark.parametrize("stack", STACKS)
@pytest.mark.parametrize("shared", [{}, SHARED], ids=["copied", "shared"])
@pytest.mark.filterwarnings("ignore:The given NumPy array is not writable")
def test_torchrls_checker(stack: str, shared: dict[str, Any]) -> None:
    check_env_specs(GymWrapper(made(stack, **shared)), seed=0)


def many(mode: str, **arguments: Any) -> Any:
    return gym.make_vec(
        "SRD-v0", num_envs=3, vectorization_mode="vector_entry_point", topics=TOPICS, autoreset_mode=mode, **arguments
    )


def test_torchrls_checker_on_the_native_vector_environment() -> None:
    check_env_specs(GymWrapper(many("disabled")), seed=0)


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_workers_know_the_environment_by_the_id_with_its_module(method: str) -> None:
    make = partial(GymEnv, "srd_gym:SRD-v0", topics=TOPICS, horizon=3)
    env = ParallelEnv(2, make, mp_start_method=method)
    try:
        assert env.rollout(3)["next", "done"][:, -1].all()
    finally:
        env.close()


def numeric(mode: str | None = None) -> Any:
    """TorchRL's environment with our infos: a single one, or the native vector environment."""
    options: dict[str, Any] = {"topics": TOPICS, "horizon": 3, "numeric_infos": True, "measures": ("StRecall@2",)}
    if mode is None:
        return GymEnv("srd_gym:SRD-v0", **options).auto_register_info_dict()
    vector = gym.make_vec("srd_gym:SRD-v0", num_envs=3, autoreset_mode=mode, **options)
    wrapped = GymWrapper(vector, categorical_action_encoding=True)
    # For "same_step" TorchRL reads infos unasked: last observations are among them.
    return wrapped.auto_register_info_dict() if mode == "disabled" else wrapped


@pytest.mark.parametrize("mode", [None, "disabled", "same_step"])
def test_numeric_infos_become_tensors(mode: str | None) -> None:
    env = numeric(mode)
    check_env_specs(env, seed=0)
    frames = env.rollout(9, break_when_any_done=False)["next"]
    ended = frames["done"].squeeze(-1)
    assert ended.sum() == 3 * (1 if mode is None else 3)
    assert frames["measures"].dtype == frames["return"].dtype == torch.float64
    assert frames["topic"].dtype == torch.int64
    _, paid, _ = frames["measures"].unbind(-1)  # by alpha_DCG as in tables, as it is paid, and StRecall
    torch.testing.assert_close(paid[ended], frames["return"][ended])
    assert not frames["measures"][~ended].any()


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_workers_tell_numeric_infos(method: str) -> None:
    env = ParallelEnv(2, numeric, mp_start_method=method)
    try:
        frames = env.rollout(3)["next"]
        assert frames["done"][:, -1].all()
        torch.testing.assert_close(frames["measures"][:, -1, 1], frames["return"][:, -1])
    finally:
        env.close()


def test_the_mode_that_torchrl_refuses_is_named() -> None:
    with pytest.raises(RuntimeError, match="SAME_STEP or DISABLED"):
        GymWrapper(many("next_step"))


def scoring_of_five() -> PettingZooWrapper:
    return PettingZooWrapper(scoring_v0.parallel_env("synthetic:tiny:5", n_scores=5))


def test_spawned_workers_play_scoring() -> None:
    env = ParallelEnv(2, scoring_of_five, mp_start_method="spawn")
    try:
        assert (env.rollout(1)["next", "doc", "reward"] > 0).any()
    finally:
        env.close()


def test_random_actions_obey_a_bool_mask() -> None:
    wrapped = GymWrapper(many("disabled", mask_dtype="bool"), categorical_action_encoding=True)
    env = TransformedEnv(wrapped, ActionMask())
    frames = env.rollout(25, break_when_any_done=False)
    assert frames["action_mask"].dtype == torch.bool
    chances = MaskedCategorical(logits=torch.zeros(frames["action_mask"].shape), mask=frames["action_mask"])
    assert frames["action_mask"].gather(-1, chances.sample()[..., None]).all()
    assert frames["action_mask"].gather(-1, frames["action"][..., None]).all()
    assert frames["next", "done"].any(), "no episode ended, so that nothing was reset"


@pytest.mark.parametrize("observation", ["full", "local", "flat"])
def test_torchrls_checker_on_scoring(observation: Any) -> None:
    scoring = scoring_v0.parallel_env("synthetic:tiny:5", observation=observation, n_scores=5)
    env = PettingZooWrapper(scoring, return_state=True)
    check_env_specs(env, seed=0)
    assert env.reset()["state"].shape == scoring.state_space.shape


def test_scoring_needs_no_option() -> None:
    env = PettingZooWrapper(scoring_v0.parallel_env("synthetic:tiny:5"))
    check_env_specs(env, seed=0)
    told = env.rollout(1)["next", "doc", "info"]
    assert told["rank"].max() == (told["padding"] == 0).sum() - 1


@pytest.mark.parametrize("mode", ["disabled", "same_step"])
def test_torchrl_reads_the_native_vector_environment_of_scoring(mode: str) -> None:
    vector = scoring_v0.vector_env("synthetic:tiny:5", num_envs=3, autoreset_mode=mode)
    env = GymWrapper(vector, categorical_action_encoding=True)
    check_env_specs(env, seed=0)
    frames = env.rollout(4, break_when_any_done=False)
    assert frames["next", "done"].all()
    assert (frames["next", "reward"] > 0).any()
    if mode == "same_step":  # infos are read where TorchRL reads last observations from them
        torch.testing.assert_close(frames["next", "measures"], frames["next", "reward"].double())
