"""Many seeds of QMIX, VDN and independent Q-learning at once.

Shapes: E seeds, B topics, V visits, R joint actions each, U topics of them, N candidates.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from srd_agents.networks.inputs import Inputs
from srd_agents.training.many import Together, mapped
from srd_agents.training.torch_learner import told
from srd_gym.dtypes import IntArray


class ScoresTogether(Together):
    """Updates of `srd_agents.qmix.agent.ScoringLearner`, of every seed at once, from one replay."""

    def __init__(self, learners: Sequence[Any]) -> None:
        super().__init__(learners)
        self._replay = learners[0]._new_replay((len(learners),))

    @torch.no_grad()
    def update(self, batches: IntArray, running: Sequence[int]) -> list[dict[str, Any]]:  # noqa: D102 - as the base
        first, epsilon = self.learners[running[0]], self.learners[running[0]]._epsilon
        actions, rewards = self._play(batches, epsilon)
        self._replay.add(batches.T, actions.transpose(0, 1), rewards.transpose(0, 1))
        paid = [each._paid(part) for each, part in zip(self.learners, rewards, strict=True)]
        learned = [self._learn(running) for _ in range(first.config.updates)]
        losses, norms = (torch.stack(figures).mean(0) for figures in zip(*learned, strict=True))
        return [
            first._figures(mean, epsilon, told(loss), told(norm))
            for mean, loss, norm in zip(paid, losses, norms, strict=True)
        ]

    def each(self, work: Any, arguments: object, *, slopes: bool = False) -> Any:  # noqa: D102 - as the base
        if torch.device(self.learners[0].config.device).type != "cpu":
            return super().each(work, arguments, slopes=slopes)
        with sdpa_kernel(SDPBackend.MATH):  # the others are not vectorised there
            return super().each(work, arguments, slopes=slopes)

    def _play(self, batches: IntArray, epsilon: float) -> tuple[Tensor, Tensor]:
        """As `ScoringLearner.play`: (scores [E, B, R, N], rewards [E, B, R])."""
        first, flat = self.learners[0], batches.flatten()
        drawn = [each._drawn(batch, epsilon) for each, batch in zip(self.learners, batches, strict=True)]
        explores, random = (np.concatenate(parts) for parts in zip(*drawn, strict=True))
        best = self.each(first._best, (self._inputs(batches),)).flatten(0, 1) if epsilon < 1 else None
        actions = first._mixed(flat, explores, random, best)
        lists = actions.view(*batches.shape, *actions.shape[1:])
        if first._core.users is None:
            return lists, first._rewards_of(flat, actions).view(lists.shape[:3])
        every = zip(self.learners, batches, lists, strict=True)
        return lists, torch.stack([each._rewards_of(batch, part) for each, batch, part in every])

    def _learn(self, running: Sequence[int]) -> tuple[Tensor, Tensor]:
        """One gradient update of the seeds that run: [E] losses, [E] lengths of gradients."""
        first = self.learners[0]
        visits = self._replay.sample(first.config.batch_size, *(each._generator for each in self.learners))
        found = [np.unique(topics, return_inverse=True) for topics in visits.topics.T]
        most = max(len(topics) for topics, _ in found)
        # Seeds with fewer topics take some twice, which no visit is of.
        inputs = self._inputs(np.stack([np.resize(topics, most) for topics, _ in found]))
        which = first._moved(np.stack([each for _, each in found]))

        def loss(*arguments: object) -> tuple[Tensor, Tensor]:
            found = first._loss_of(*arguments)
            return found, found.detach()

        arguments = (inputs, which, visits.actions.transpose(0, 1), visits.rewards.transpose(0, 1))
        gradients, (_, losses) = self.each(loss, arguments, slopes=True)
        return losses, self.descend(gradients, running)

    def _inputs(self, topics: IntArray) -> Inputs:
        """Inputs of [E, U] topics."""
        inputs = self.learners[0]._tensors.batch(topics.flatten())
        apart: Inputs = mapped(inputs, lambda part: part.view(*topics.shape, *part.shape[1:]))
        return apart
