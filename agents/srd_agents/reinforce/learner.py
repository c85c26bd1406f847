"""REINFORCE for every policy: roll out, weigh what was done by what it earned, one step along the gradient."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, TypeVar

import numpy as np
import torch
from torch import Tensor

from srd_agents.reinforce.config import EpisodesConfig
from srd_agents.reinforce.loss import policy_loss, worths_of
from srd_agents.reinforce.rollout import SampledEpisodes, roll_out
from srd_agents.relational.decoding import Draft
from srd_agents.training.torch_learner import NetworkLearner
from srd_gym.core import SelectionCore
from srd_gym.dtypes import IntArray

C = TypeVar("C", bound=EpisodesConfig)


class PolicyGradient(NetworkLearner[C]):
    """A learner of sampled episodes; its options say how many `rollouts` of a topic, `entropy_coef`, `max_grad_norm`.

    A policy is what begins rankings for acting (`_draft`) and scores known ones for learning (`_logits`).
    """

    scores_are_logits: ClassVar[bool] = True
    """Whether `progress` scores candidates by logits, from which a policy may draw."""
    _generator: np.random.Generator
    _core: SelectionCore
    only_training: ClassVar[tuple[str, ...]] = ("_optimizer", "_core")

    def _parts(self, batch: IntArray) -> Sequence[IntArray]:
        """The batch in parts that are rolled out and learned from one by one."""
        return [batch]

    @abstractmethod
    def _see(self, batch: IntArray) -> Any:
        """These topics as the policy sees them."""

    @abstractmethod
    def _draft(self, inputs: Any, rollouts: int) -> Draft:
        """Empty rankings of them."""

    @abstractmethod
    def _logits(self, inputs: Any, actions: IntArray) -> Tensor:
        """The policy's logits at all ranks of rankings [B, R, T] of them, with gradients: [B, R, T, N]."""

    @torch.no_grad()
    def _play(self, inputs: Any, batch: IntArray, rollouts: int) -> SampledEpisodes:
        """Sampled episodes of these topics."""
        return roll_out(self._draft(inputs, rollouts), self._core, batch, rollouts, self._generator)

    def _update(self, batch: IntArray) -> Mapping[str, float]:
        how: Any = self.config
        played = []
        for part in self._parts(batch):
            inputs = self._see(part)
            played.append((inputs, self._play(inputs, part, how.rollouts)))
        episodes = [each for _, each in played]
        worths, filled = worths_of(episodes, how.rollouts)
        self._optimizer.zero_grad()
        total, spread = 0.0, 0.0
        for (inputs, each), worth in zip(played, worths, strict=True):
            loss, entropies = policy_loss(self._logits(inputs, each.actions), each, worth, how.entropy_coef / filled)
            loss.backward()  # type: ignore[no-untyped-call]
            total, spread = total + float(loss.detach()), spread + float(entropies) / filled
        norm = torch.nn.utils.clip_grad_norm_(self._network.parameters(), how.max_grad_norm)
        self._optimizer.step()
        paid = sum(float(each.rewards.sum()) for each in episodes)
        return {
            "return": paid / (len(batch) * how.rollouts),
            "entropy": spread,
            "loss": total,
            "learning_rate": self._optimizer.param_groups[0]["lr"],
            "grad_norm": float(norm),
            "episodes": how.rollouts,
            "steps": filled / len(batch),
            "evaluations": sum(np.count_nonzero(each.allowed) for each in episodes) / len(batch),
        }
