"""The environments of TorchRL that live on a device."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from tensordict import TensorDict
from tensordict.nn import TensorDictModule, TensorDictSequential
from torch import nn
from torchrl.data import LazyTensorStorage, ReplayBuffer
from torchrl.envs import ActionMask, TransformedEnv
from torchrl.envs.utils import check_env_specs
from torchrl.modules import EGreedyModule, MaskedCategorical, QMixer, QValueModule
from torchrl.objectives import SoftUpdate
from torchrl.objectives.multiagent import QMixerLoss

from srd_agents.integrations.torchrl import ScoringEnv, SelectionEnv
from srd_agents.simulators import ScoringSimulator, SelectionSimulator
from srd_gym import scoring_v0
from srd_gym.core import Clicks
from srd_gym.pruning import KNN
from srd_gym.sources import topics_from

SETTINGS: dict[str, dict[str, Any]] = {
    "plain": {},
    "paid at the end": {"reward_type": "sparse", "reward": "alpha_nDCG", "on_invalid": "next"},
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


def scoring(num_envs: int, topics: str = "synthetic:tiny:5", **options: Any) -> ScoringEnv:
    return ScoringEnv(ScoringSimulator(topics_from(topics), n_scores=options.pop("n_scores", 6), **options), num_envs)


@pytest.mark.parametrize("num_envs", [1, 7])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_torchrls_checker_of_scoring(num_envs: int, dtype: torch.dtype) -> None:
    check_env_specs(scoring(num_envs, dtype=dtype), seed=0)


def test_lists_are_paid_as_the_parallel_environment_pays_them() -> None:
    env, theirs = scoring(5, dtype=torch.float64), scoring_v0.parallel_env("synthetic:tiny:5", n_scores=6)
    topic = torch.arange(5)
    frame = env.reset(env.reset().select("topic").set("topic", topic))
    scores = torch.randint(6, frame["documents", "action_mask"].shape[:2], generator=torch.Generator().manual_seed(0))
    frame = env.step(frame.set(("documents", "action"), scores))
    for index, query_id in enumerate(theirs.core.arrays.topics.query_ids):
        seen, _ = theirs.reset(options={"query_id": query_id})
        first = seen[theirs.agents[0]]
        both = torch.from_numpy(first["query"]), torch.from_numpy(first["document"])
        assert torch.equal(frame["documents", "observation"][index, 0], torch.cat(both))
        actions = dict(zip(theirs.agents, scores[index].tolist(), strict=True))
        (reward, *_) = theirs.step(actions)[1].values()
        assert frame["next", "reward"][index].item() == pytest.approx(reward, abs=1e-12)
    assert frame["next", "done"].all()
    assert not frame["documents", "action_mask"][..., 0].logical_not().any()


def test_qmix_of_torchrl_learns_to_score() -> None:
    torch.manual_seed(0)
    env = scoring(64, "synthetic:serp:40", n_scores=5)
    n, width = env.observation_spec["documents", "observation"].shape[1:]
    values = TensorDictModule(
        nn.Sequential(nn.Linear(width, 64), nn.ReLU(), nn.Linear(64, 5)),
        in_keys=[("documents", "observation")],
        out_keys=[("documents", "action_value")],
    )
    keys = {"action_mask_key": ("documents", "action_mask")}
    greedy = TensorDictSequential(
        values,
        QValueModule(
            action_value_key=("documents", "action_value"),
            out_keys=[("documents", "action"), ("documents", "action_value"), ("documents", "chosen_action_value")],
            spec=env.action_spec,
            action_space="categorical",
            **keys,
        ),
    )
    exploring = TensorDictSequential(
        greedy,
        EGreedyModule(env.action_spec, eps_init=0.3, eps_end=0.3, action_key=("documents", "action"), **keys),
    )
    mixer = TensorDictModule(
        QMixer((env.observation_spec["state"].shape[-1],), 16, n, "cpu"),
        in_keys=[("documents", "chosen_action_value"), "state"],
        out_keys=["chosen_action_value"],
    )
    loss_of = QMixerLoss(greedy, mixer, delay_value=True, action_space="categorical")
    loss_of.set_keys(
        action=("documents", "action"),
        action_value=("documents", "action_value"),
        local_value=("documents", "chosen_action_value"),
        global_value="chosen_action_value",
    )
    loss_of.make_value_estimator(gamma=0.0)
    target, optimizer = SoftUpdate(loss_of, tau=0.1), torch.optim.Adam(loss_of.parameters(), lr=3e-3)
    replay = ReplayBuffer(storage=LazyTensorStorage(4_096), batch_size=256)

    def mean_reward() -> float:
        every = torch.arange(40).repeat(2)[:64]
        with torch.no_grad():
            frame = env.reset(TensorDict({"topic": every}, [64]))
            return env.step(greedy(frame))["next", "reward"].mean().item()

    before = mean_reward()
    for _ in range(100):
        with torch.no_grad():
            replay.extend(env.rollout(1, exploring).reshape(-1))
        for _ in range(2):
            loss = loss_of(replay.sample())["loss"]
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            target.step()
    after = mean_reward()
    assert after > before + 0.03, (before, after)


def test_scoring_that_cannot_be_is_refused() -> None:
    with pytest.raises(ValueError, match="num_envs"):
        scoring(0)
    with pytest.raises(RuntimeError, match="call reset"):
        scoring(1)._step({})  # type: ignore[arg-type]
