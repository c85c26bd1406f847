"""The environment of TorchRL that lives on a device."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from tensordict.nn import TensorDictModule
from torchrl.envs import ActionMask, TransformedEnv
from torchrl.envs.utils import check_env_specs
from torchrl.modules import MaskedCategorical

from srd_agents.integrations.torchrl import SelectionEnv
from srd_agents.simulators import SelectionSimulator
from srd_gym.core import Clicks
from srd_gym.pruning import KNN
from srd_gym.sources import topics_from

SETTINGS: dict[str, dict[str, Any]] = {
    "plain": {},
    "paid at the end": {"pay": "end", "reward": "alpha_nDCG", "on_invalid": "next"},
    "pruned": {"pruning": KNN(0.3), "horizon": 4},
    "users": {"reward": Clicks(model="dbn")},
    "float64": {"dtype": torch.float64, "reward": "StRecall"},
}


def made(num_envs: int = 3, observation: Any = "full", **options: Any) -> SelectionEnv:
    return SelectionEnv(
        SelectionSimulator(topics_from("synthetic:tiny:5"), **options), num_envs, observation=observation
    )


@pytest.mark.parametrize("observation", ["full", "compact"])
@pytest.mark.parametrize("setting", SETTINGS)
def test_torchrls_checker(setting: str, observation: str) -> None:
    for num_envs in (1, 7):
        check_env_specs(made(num_envs, observation, **SETTINGS[setting]), seed=0)


def test_random_actions_obey_the_mask_and_ended_episodes_begin_anew() -> None:
    torch.manual_seed(0)
    env = TransformedEnv(made(4, horizon=3), ActionMask())
    frames = env.rollout(20, break_when_any_done=False)
    assert frames.batch_size == (4, 20)
    assert frames["action_mask"].gather(-1, frames["action"][..., None]).all()
    chances = MaskedCategorical(logits=torch.zeros(frames["action_mask"].shape), mask=frames["action_mask"])
    assert frames["action_mask"].gather(-1, chances.sample()[..., None]).all()
    done = frames["next", "done"][..., 0]
    assert done.sum(1).tolist() == [6] * 4
    assert (frames["ranking"][:, 1:][done[:, :-1]] == -1).all()
    assert len(frames["topic"].unique()) > 1


def test_returns_are_those_of_the_simulator() -> None:
    env = made(5, reward="alpha_nDCG", horizon=4)
    topic = torch.tensor([0, 1, 2, 3, 4])
    first = env.reset(env.reset().select("topic").set("topic", topic))
    assert torch.equal(first["topic"], topic)
    torch.testing.assert_close(first["documents"], env.simulator.topics.documents[topic])
    state, total, total_of_env, frame = env.simulator.reset(topic), 0.0, 0.0, first
    for rank in range(4):
        actions = torch.full((5,), rank)
        state, result = env.simulator.step(state, actions)
        frame = env.step(frame.set("action", actions))["next"]
        total, total_of_env = total + result.reward, total_of_env + frame["reward"][:, 0]
    assert torch.equal(total, total_of_env)
    assert frame["done"].all()


def test_a_seed_repeats_topics_and_users() -> None:
    found = [made(6, reward=Clicks(), horizon=2) for _ in range(2)]
    for env in found:
        env.set_seed(3)
    first = TensorDictModule(lambda mask: mask.int().argmax(-1), in_keys=["action_mask"], out_keys=["action"])
    frames = [env.rollout(8, first, break_when_any_done=False) for env in found]
    assert torch.equal(frames[0]["topic"], frames[1]["topic"])
    assert torch.equal(frames[0]["next", "reward"], frames[1]["next", "reward"])


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(ValueError, match="num_envs"):
        made(0)
    with pytest.raises(ValueError, match="observation"):
        made(1, "nothing")
    with pytest.raises(RuntimeError, match="call reset"):
        made(1)._step({"action": torch.zeros(1)})  # type: ignore[arg-type]
