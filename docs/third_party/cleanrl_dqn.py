"""Masked double DQN in one file, in CleanRL's manner, on the native vector environment of `SRD-v0`.

    python cleanrl_dqn.py --total-steps 100000

The replay keeps compact observations: a topic's index, what is ranked and what is allowed. The vectors are looked up.
Autoreset mode SAME_STEP: the observation after an end is the next topic's, and nothing is estimated beyond an end.
"""

from __future__ import annotations

from dataclasses import dataclass

import gymnasium as gym
import numpy as np
import torch
import tyro
from gymnasium.vector import AutoresetMode
from torch import nn

import srd_gym
from srd_gym.wrappers import expand_observation, topic_tables

Arrays = dict[str, np.ndarray]
Tensors = dict[str, torch.Tensor]


@dataclass
class Args:
    """What can be set on the command line."""

    topics: str = "synthetic:serp"
    """Name or Parquet file of the topics."""
    test_topics: int = 200
    """So many of them, the last ones, are kept for the test."""
    reward: str = "alpha_nDCG@10"
    """The measure whose gains are the rewards."""
    horizon: int = 10
    """Ranks to fill."""
    seed: int = 1
    """Of topics, weights and actions."""
    total_steps: int = 100_000
    """Environment steps of the whole training."""
    num_envs: int = 16
    """Episodes at once."""
    buffer_size: int = 50_000
    """Transitions kept."""
    learning_starts: int = 2_000
    """Steps before the first update."""
    updates: int = 4
    """Gradient steps after each step of all environments."""
    batch_size: int = 64
    """Transitions of one."""
    target_every: int = 500
    """Gradient steps between two copies of the network to the target."""
    learning_rate: float = 1e-3
    """Of Adam; it falls to 0."""
    gamma: float = 1.0
    """Discount: with 1 the return is the measure."""
    start_epsilon: float = 0.5
    """Share of random documents at the start."""
    end_epsilon: float = 0.02
    """The share after half of the steps."""
    hidden: int = 64
    """Width of the network."""


class QNetwork(nn.Module):
    """The value of every candidate, by the same weights: the query, itself and what is ranked already.

    Shapes: B batch, N candidates, F vector width.
    """

    def __init__(self, width: int, hidden: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Linear(3 * width + 2, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, 1)
        )

    def forward(self, seen: Tensors) -> torch.Tensor:
        """[B, N], minus infinity where masked."""
        documents = seen["documents"]
        ranked = (seen["ranking"][..., None] == torch.arange(documents.shape[1])).any(1)  # [B, N]
        alike = (documents @ documents.mT).masked_fill(~ranked[:, None], 0).amax(2, keepdim=True)
        rest = [seen["query"], (documents * ranked[..., None]).sum(1)]
        parts = [documents, seen["retrieval_scores"][..., None], alike]
        parts += [part[:, None].expand_as(documents) for part in rest]
        values: torch.Tensor = self.body(torch.cat(parts, -1)).squeeze(-1)
        return values.masked_fill(~seen["action_mask"].bool(), -torch.inf)


class Replay:
    """The last transitions, in a ring.

    Args:
        size: how many.
        like: an observation of the vector environment.
    """

    def __init__(self, size: int, like: Arrays) -> None:
        self.before, self.after = (
            {name: np.zeros((size, *part.shape[1:]), part.dtype) for name, part in like.items()} for _ in range(2)
        )
        self.action, self.reward = np.zeros(size, np.int64), np.zeros(size, np.float32)
        self.ended, self.count = np.zeros(size, bool), 0

    def add(self, before: Arrays, action: np.ndarray, reward: np.ndarray, ended: np.ndarray, after: Arrays) -> None:
        """One transition of every environment."""
        places = (self.count + np.arange(len(action))) % len(self.action)
        for kept, new in ((self.before, before), (self.after, after)):
            for name, part in new.items():
                kept[name][places] = part
        self.action[places], self.reward[places], self.ended[places] = action, reward, ended
        self.count += len(action)

    def sample(self, size: int, rng: np.random.Generator) -> tuple[Arrays, Tensors, Arrays]:
        """Observations, what was done and paid, and the observations after it."""
        chosen = rng.integers(min(self.count, len(self.action)), size=size)
        done = {"action": self.action, "reward": self.reward, "ended": self.ended}
        return (
            {name: part[chosen] for name, part in self.before.items()},
            {name: torch.from_numpy(part[chosen]) for name, part in done.items()},
            {name: part[chosen] for name, part in self.after.items()},
        )


def make(args: Args, topics: srd_gym.TopicSet, num_envs: int) -> gym.vector.VectorEnv:
    """The environment, in the mode and with the observations that the training below expects."""
    return gym.make_vec(
        "srd_gym:SRD-v0", num_envs=num_envs, vectorization_mode="vector_entry_point",
        autoreset_mode=AutoresetMode.SAME_STEP, observation="compact",
        topics=topics, reward=args.reward, horizon=args.horizon,
    )  # fmt: skip


def seen(observation: Arrays, known: Tensors) -> Tensors:
    """The observation for the network, vectors looked up."""
    return expand_observation({name: torch.from_numpy(part) for name, part in observation.items()}, known)


def known_to(envs: gym.vector.VectorEnv) -> Tensors:
    """The arrays of all topics."""
    return {name: torch.tensor(part) for name, part in topic_tables(envs).items()}


@torch.no_grad()
def evaluate(network: QNetwork | None, args: Args, topics: srd_gym.TopicSet) -> float:
    """Mean of the measure when every topic is ranked once, greedily (or in retrieval order without a network)."""
    envs = make(args, topics, len(topics))
    known = known_to(envs)
    observation, _ = envs.reset(options={"query_ids": list(topics.query_ids)})
    total, running = np.zeros(len(topics)), np.ones(len(topics), dtype=bool)
    while running.any():
        first = observation["action_mask"].argmax(1)
        action = first if network is None else network(seen(observation, known)).argmax(1).numpy()
        observation, reward, ended, _, _ = envs.step(action)
        total += reward * running
        running &= ~ended
    return float(total.mean())


def train(args: Args) -> QNetwork:
    """Train a network."""
    torch.manual_seed(args.seed)
    rng = np.random.default_rng(args.seed)
    envs = make(args, srd_gym.load_topics(args.topics)[: -args.test_topics], args.num_envs)
    known = known_to(envs)
    network, target = (QNetwork(known["documents"].shape[-1], args.hidden) for _ in range(2))
    target.load_state_dict(network.state_dict())
    optimizer = torch.optim.Adam(network.parameters(), lr=args.learning_rate)
    observation, _ = envs.reset(seed=args.seed)
    replay = Replay(args.buffer_size, observation)
    learned = 0
    for step in range(0, args.total_steps, args.num_envs):
        share = step / args.total_steps
        with torch.no_grad():
            action = network(seen(observation, known)).argmax(1).numpy()
        epsilon = max(args.end_epsilon, args.start_epsilon * (1 - 2 * share))
        drawn = np.where(observation["action_mask"] == 1, rng.random(observation["action_mask"].shape), -1).argmax(1)
        action = np.where(rng.random(args.num_envs) < epsilon, drawn, action)  # random, but allowed
        after, reward, ended, _, _ = envs.step(action)
        replay.add(observation, action, reward, ended, after)
        observation = after
        optimizer.param_groups[0]["lr"] = args.learning_rate * (1 - share)
        for _ in range(args.updates if replay.count >= args.learning_starts else 0):
            learn(network, target, optimizer, args, known, replay.sample(args.batch_size, rng))
            learned += 1
            if learned % args.target_every == 0:
                target.load_state_dict(network.state_dict())
    return network


def learn(
    network: QNetwork,
    target: QNetwork,
    optimizer: torch.optim.Optimizer,
    args: Args,
    known: Tensors,
    batch: tuple[Arrays, Tensors, Arrays],
) -> None:
    """One step towards what was paid, plus the target's value of what the network would do next (double DQN)."""
    before, done, after = batch
    with torch.no_grad():
        later = seen(after, known)
        best = network(later).argmax(1, keepdim=True)
        rest = target(later).gather(1, best).squeeze(1)
        worth = done["reward"] + args.gamma * rest.masked_fill(done["ended"], 0)
    value = network(seen(before, known)).gather(1, done["action"][:, None]).squeeze(1)
    optimizer.zero_grad()
    nn.functional.smooth_l1_loss(value, worth).backward()
    nn.utils.clip_grad_norm_(network.parameters(), 10.0)
    optimizer.step()


def main(args: Args) -> None:
    """Train, and compare on the topics kept for the test."""
    test = srd_gym.load_topics(args.topics)[-args.test_topics :]
    network = train(args)
    before, after = evaluate(None, args, test), evaluate(network, args, test)
    print(f"{args.reward} on {len(test)} test topics: retrieval order {before:.4f}, trained {after:.4f}")  # noqa: T201


if __name__ == "__main__":
    main(tyro.cli(Args))
