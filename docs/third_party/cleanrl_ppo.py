"""Masked PPO in one file, in CleanRL's manner, on the native vector environment of `SRD-v0`.

    python cleanrl_ppo.py --total-steps 300000

It expects autoreset mode SAME_STEP: the observation after an end is the next topic's, so that every transition is a
real one. Episodes end and are never cut off: the value after an end is 0, and `infos["final_obs"]` is not looked at.
"""

from __future__ import annotations

from dataclasses import dataclass

import gymnasium as gym
import numpy as np
import torch
import tyro
from gymnasium.vector import AutoresetMode
from torch import nn
from torch.distributions import Categorical

import srd_gym


@dataclass
class Args:
    """What can be set on the command line."""

    topics: str = "synthetic:serp"
    """Name or Parquet file of the topics."""
    test_topics: int = 200
    """So many of them, the last ones, are kept for the test."""
    reward: str = "alpha_DCG"
    """The measure whose gains are the rewards."""
    horizon: int = 10
    """Ranks to fill."""
    seed: int = 1
    """Of topics, weights and actions."""
    total_steps: int = 300_000
    """Environment steps of the whole training."""
    num_envs: int = 64
    """Episodes at once."""
    num_steps: int = 20
    """Steps of each between two updates."""
    update_epochs: int = 4
    """Passes over these steps."""
    num_minibatches: int = 4
    """Parts of each pass."""
    learning_rate: float = 1e-3
    """At the start; it falls to 0."""
    gamma: float = 1.0
    """Discount: with 1 the return is the measure."""
    gae_lambda: float = 0.95
    """Between one step (0) and whole episodes (1) in the estimate of advantages."""
    clip_coef: float = 0.2
    """How far the new probability of an action may move from the old one."""
    ent_coef: float = 0.01
    """Weight of the entropy."""
    vf_coef: float = 0.5
    """Weight of the value's error."""
    max_grad_norm: float = 0.5
    """Longest gradient."""
    hidden: int = 64
    """Width of the network."""


class Agent(nn.Module):
    """Scores every candidate with the same weights, by the query, itself and what is ranked already.

    Shapes: B episodes, N candidates, F vector width, K horizon.
    """

    def __init__(self, width: int, hidden: int) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(3 * width + 2, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU())
        self.actor, self.critic = nn.Linear(hidden, 1), nn.Linear(hidden, 1)
        nn.init.zeros_(self.actor.weight)  # begin with even chances

    def forward(self, seen: dict[str, torch.Tensor]) -> tuple[Categorical, torch.Tensor]:
        """What to do, and the value [B] of where we are."""
        documents, mask = seen["documents"], seen["action_mask"].bool()
        ranked = (seen["ranking"][..., None] == torch.arange(documents.shape[1])).any(1)  # [B, N]
        alike = (documents @ documents.transpose(1, 2)).masked_fill(~ranked[:, None], 0).amax(2, keepdim=True)
        rest = [seen["query"], (documents * ranked[..., None]).sum(1)]
        parts = [documents, seen["retrieval_scores"][..., None], alike]
        parts += [part[:, None].expand_as(documents) for part in rest]
        hidden = self.body(torch.cat(parts, -1))  # [B, N, hidden]
        logits = self.actor(hidden).squeeze(-1).masked_fill(~mask, torch.finfo(torch.float32).min)
        return Categorical(logits=logits), self.critic((hidden * mask[..., None]).sum(1) / mask.shape[1]).squeeze(-1)


def tensors(observation: dict[str, np.ndarray]) -> dict[str, torch.Tensor]:
    """The observation for the network."""
    return {name: torch.from_numpy(part) for name, part in observation.items()}


def make(args: Args, topics: srd_gym.TopicSet, num_envs: int) -> gym.vector.VectorEnv:
    """The environment, in the mode that the training below expects."""
    return gym.make_vec(
        "srd_gym:SRD-v0", num_envs=num_envs, vectorization_mode="vector_entry_point",
        autoreset_mode=AutoresetMode.SAME_STEP, topics=topics, reward=args.reward, horizon=args.horizon,
    )  # fmt: skip


@torch.no_grad()
def evaluate(agent: Agent | None, args: Args, topics: srd_gym.TopicSet) -> float:
    """Mean of the measure when every topic is ranked once, greedily (or in retrieval order without an agent)."""
    envs = make(args, topics, len(topics))
    observation, _ = envs.reset(options={"query_ids": list(topics.query_ids)})
    total, running = np.zeros(len(topics)), np.ones(len(topics), dtype=bool)
    while running.any():
        first = observation["action_mask"].argmax(1)
        action = first if agent is None else agent(tensors(observation))[0].mode.numpy()
        observation, reward, ended, _, _ = envs.step(action)
        total += reward * running
        running &= ~ended
    return float(total.mean())


def train(args: Args) -> Agent:
    """Train an agent."""
    torch.manual_seed(args.seed)
    topics = srd_gym.load_topics(args.topics)[: -args.test_topics]
    envs = make(args, topics, args.num_envs)
    agent = Agent(envs.single_observation_space["query"].shape[0], args.hidden)
    optimizer = torch.optim.Adam(agent.parameters(), lr=args.learning_rate, eps=1e-5)
    batch_size = args.num_envs * args.num_steps
    updates = max(1, args.total_steps // batch_size)
    observation, _ = envs.reset(seed=args.seed)
    for update in range(updates):
        optimizer.param_groups[0]["lr"] = args.learning_rate * (1 - update / updates)
        steps: list[dict[str, torch.Tensor]] = []
        for _ in range(args.num_steps):
            seen = tensors(observation)
            with torch.no_grad():
                chances, value = agent(seen)
                action = chances.sample()
            observation, reward, ended, _, _ = envs.step(action.numpy())
            steps.append(
                seen
                | {"action": action, "log_prob": chances.log_prob(action), "value": value}
                | {"reward": torch.from_numpy(reward).float(), "ended": torch.from_numpy(ended)}
            )
        with torch.no_grad():
            after = agent(tensors(observation))[1]
        learn(agent, optimizer, args, steps, after)
    return agent


def learn(
    agent: Agent,
    optimizer: torch.optim.Optimizer,
    args: Args,
    steps: list[dict[str, torch.Tensor]],
    after: torch.Tensor,
) -> None:
    """One update on the steps since the last."""
    advantage, advantages = torch.zeros_like(after), []
    for step in reversed(steps):
        going_on = (~step["ended"]).float()
        surprise = step["reward"] + args.gamma * after * going_on - step["value"]
        advantage = surprise + args.gamma * args.gae_lambda * going_on * advantage
        advantages.append(advantage)
        after = step["value"]
    batch = {name: torch.cat([step[name] for step in steps]) for name in steps[0]}
    batch["advantage"] = torch.cat(advantages[::-1])
    batch["return"] = batch["advantage"] + batch["value"]
    for _ in range(args.update_epochs):
        for part in torch.randperm(len(batch["action"])).chunk(args.num_minibatches):
            seen = {name: values[part] for name, values in batch.items()}
            chances, value = agent(seen)
            ratio = (chances.log_prob(seen["action"]) - seen["log_prob"]).exp()
            advantage = (seen["advantage"] - seen["advantage"].mean()) / (seen["advantage"].std() + 1e-8)
            clipped = ratio.clamp(1 - args.clip_coef, 1 + args.clip_coef)
            policy_loss = -torch.min(advantage * ratio, advantage * clipped).mean()
            value_loss = 0.5 * ((value - seen["return"]) ** 2).mean()
            loss = policy_loss + args.vf_coef * value_loss - args.ent_coef * chances.entropy().mean()
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(agent.parameters(), args.max_grad_norm)
            optimizer.step()


def main(args: Args) -> None:
    """Train, and compare on the topics kept for the test."""
    test = srd_gym.load_topics(args.topics)[-args.test_topics :]
    agent = train(args)
    before, after = evaluate(None, args, test), evaluate(agent, args, test)
    print(f"{args.reward} on {len(test)} test topics: retrieval order {before:.4f}, trained {after:.4f}")  # noqa: T201


if __name__ == "__main__":
    main(tyro.cli(Args))
