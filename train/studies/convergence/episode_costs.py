"""Where the time of an episode goes, with and without pruning: the policy's own work, the simulator's, and learning.

Shapes: M topics, R episodes of each, B = M * R, N candidates, F vector width.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from srd_gym.core import SelectionCore
from srd_gym.data.synthetic import generate
from srd_gym.protocols import IntArray
from srd_gym.pruning import parse_pruning
from srd_gym.topic import TopicSet

if TYPE_CHECKING:
    from srd_agents.mdp_div.network import PolicyNetwork, Projection
    from srd_agents.mdp_div.rollout import Episodes

CANDIDATES, WIDTH = 211, 64
"""N and F of the topics that are measured on."""
Case = tuple[str, int, int, str | None]
CASES: tuple[Case, ...] = tuple(
    (policy, topics, rollouts, pruning)
    for policy in ("bilinear", "attention")
    for topics, rollouts in ((1, 1), (16, 4))
    for pruning in (None, "knn:0.3")
)
"""Policy, topics of an update, episodes of each, pruning: one episode as in MDP-DIV, and a batch."""

_ROUNDS = 5
_SINGLE = 30
_HIDDEN = 16


@dataclass(frozen=True, kw_only=True)
class EpisodeCost:
    """What an episode costs in training, in milliseconds of processor time of one thread."""

    policy: str
    topics: int
    """Of an update."""
    rollouts: int
    """Episodes of each topic."""
    pruning: str | None
    evaluations: float
    """Candidates that the policy looks at in an episode."""
    project: float
    """Products of all candidates with the policy's weights, once a topic."""
    simulate: float
    """The simulator: masks, rewards, and finding what is pruned."""
    act: float
    """Gathering what is on offer, evaluating it, and drawing."""
    learn: float
    """Log-probabilities with gradients, and the gradients."""
    evaluate: float
    """Evaluating what is on offer and nothing else, without gradients: a part of `act`, and once more of `learn`."""

    @property
    def total(self) -> float:
        """An episode, in all."""
        return self.project + self.simulate + self.act + self.learn

    def as_dict(self) -> dict[str, Any]:
        """As plain values."""
        return asdict(self)


def episode_costs(*, rounds: int = _ROUNDS, size: float = 1.0, cases: Sequence[Case] = CASES) -> list[EpisodeCost]:
    """The costs of all cases: the least of several rounds, in which the cases take turns.

    Args:
        rounds: how many count, after one that does not.
        size: share of the full work, for tests.
        cases: policy, topics of an update, episodes of each, pruning.
    """
    topics = generate("web", n_topics=16, seed=0, width=WIDTH, candidates=(CANDIDATES, CANDIDATES))
    runs = [_Case(topics, *case) for case in cases]
    best: list[dict[str, float]] = [{} for _ in runs]
    for number in range(rounds + 1):
        for run, least in zip(runs, best, strict=True):
            times = run.measure(max(1, int((_SINGLE if run.topics == 1 else 2) * size)))
            if number:
                for stage, value in times.items():
                    least[stage] = min(value, least.get(stage, value))
    return [
        EpisodeCost(
            policy=run.policy, topics=run.topics, rollouts=run.rollouts, pruning=run.pruning, **least
        )
        for run, least in zip(runs, best, strict=True)
    ]  # fmt: skip


class _Case:
    """One case, ready to be measured again and again."""

    def __init__(self, topics: TopicSet, policy: str, count: int, rollouts: int, pruning: str | None) -> None:
        import torch

        from srd_agents.mdp_div.attentive import AttentivePolicyNetwork
        from srd_agents.mdp_div.network import PolicyNetwork
        from srd_agents.networks.inputs import TopicTensors

        self.policy, self.topics, self.rollouts, self.pruning = policy, count, rollouts, pruning
        self._network: PolicyNetwork = (
            AttentivePolicyNetwork(WIDTH, _HIDDEN, attention_width=32, heads=2)
            if policy == "attention"
            else PolicyNetwork(WIDTH, _HIDDEN)
        )
        self._generator = torch.Generator().manual_seed(0)
        self._network.initialise_by_similarity(self._generator)
        self._core = SelectionCore(topics, pruning=None if pruning is None else parse_pruning(pruning))
        self._tensors = TopicTensors(self._core.arrays, self._network.shift)

    def measure(self, updates: int) -> dict[str, float]:
        """Milliseconds an episode by stage, and evaluations."""
        from srd_agents.mdp_div.rollout import episode_log_policy, roll_out
        from srd_agents.networks.inputs import chosen_log_policy
        from srd_agents.reinforce.loss import reinforce_loss

        spent = dict.fromkeys(("project", "simulate", "act", "learn", "evaluate", "evaluations"), 0.0)
        parameters = list(self._network.parameters())
        for update in range(updates):
            chosen = (np.arange(self.topics, dtype=np.int64) + update) % len(self._core.arrays)
            clock = _Clock()
            projection = self._network.project(self._tensors.batch(chosen))
            spent["project"] += clock.lap()
            episodes = roll_out(self._network, projection, self._core, chosen, self.rollouts, self._generator)
            acted = clock.lap()
            self._replay(np.repeat(chosen, self.rollouts), episodes.actions.numpy())
            simulated = clock.lap()
            log_pi = episode_log_policy(self._network, projection, episodes)
            loss = reinforce_loss(chosen_log_policy(log_pi, episodes.actions), episodes.rewards, episodes.active).sum()
            _gradients(loss, parameters)
            spent["learn"] += clock.lap()
            spent["evaluate"] += self._evaluation(projection, episodes)
            spent["simulate"] += simulated
            spent["act"] += max(0.0, acted - simulated)
            spent["evaluations"] += episodes.evaluations() / 1_000
        per_episode = 1_000 / (updates * self.topics * self.rollouts)
        return {stage: value * per_episode for stage, value in spent.items()}

    def _evaluation(self, projection: Projection, episodes: Episodes) -> float:
        """Seconds to gather and evaluate what was on offer."""
        import torch

        from srd_agents.mdp_div.network import on_offer_side_by_side

        known = projection.detach()
        count, ranks = episodes.actions.shape
        n = known.scoring.shape[1]
        first_row = (torch.arange(count) // self.rollouts * n)[:, None]
        state, total = known.initial.repeat_interleave(self.rollouts, dim=0), 0.0
        with torch.no_grad():
            for rank in range(ranks):
                offered, real = on_offer_side_by_side(episodes.allowed[:, rank].numpy(), state.device)
                clock = _Clock()
                self._network.offered_logits(known, first_row + offered, real, state)
                total += clock.lap()
        return total

    def _replay(self, topics: IntArray, actions: IntArray) -> None:
        """The simulator's part of known episodes."""
        self._core.reset(topics)
        for rank in range(actions.shape[1]):
            if len(topics) == 1:
                self._core.step_episode(0, int(actions[0, rank]))
            else:
                self._core.step(actions[:, rank])


class _Clock:
    """Laps of processor time, in seconds."""

    def __init__(self) -> None:
        self._last = time.process_time()

    def lap(self) -> float:
        """Since the last one."""
        now = time.process_time()
        since, self._last = now - self._last, now
        return since


def _gradients(loss: Any, parameters: list[Any]) -> None:
    """Gradients of a loss, thrown away."""
    import torch

    torch.autograd.grad(loss, parameters, allow_unused=True)
