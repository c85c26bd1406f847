"""Many seeds of REINFORCE at once: one pass of episodes and one gradient for all.

Shapes: E seeds, B topics, R episodes of each, T ranks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from srd_agents.reinforce.loss import policy_loss, worths_of
from srd_agents.reinforce.one_pass import by_levels, one_pass
from srd_agents.training.many import Together, mapped
from srd_gym.dtypes import IntArray


class EpisodesTogether(Together):
    """Updates of `srd_agents.reinforce.learner.PolicyGradient`, of every seed at once."""

    def _loss(
        self, inputs: object, topic: Tensor, levels: Tensor, users: Tensor | None, filled: Tensor, alone: Tensor
    ) -> Any:
        """The loss of one seed's episodes, which it plays, and its figures."""
        learner, how = self.learners[0], self.learners[0].config
        draft = learner._tensor_draft(inputs, how.rollouts, alone)
        choose, most = by_levels(levels), self._most
        played = one_pass(draft, learner._simulator, topic, choose, users, rollouts=how.rollouts, width=most)
        (worth,) = worths_of([played], how.rollouts, filled)
        loss, spread = policy_loss(
            played.log_pi, played.entropy, played.active, worth.detach(), how.entropy_coef / filled.to(worth.dtype)
        )
        return loss, (loss.detach(), spread, played.rewards.double().sum(), played.offered.sum())

    @torch.no_grad()
    def update(self, batches: IntArray, running: Sequence[int]) -> list[dict[str, object]]:  # noqa: D102 - as the base
        learners, first = self.learners, self.learners[0]
        simulator, how, (count, width) = first._simulator, first.config, batches.shape
        parts = [learner._parts(batch) for learner, batch in zip(learners, batches, strict=True)]
        batches = np.stack([np.concatenate(own) for own in parts])  # in the order in which one seed alone plays them
        inputs, self._most = first._see(batches.flatten()), int(first._core.arrays.n_candidates[batches].max())
        levels: NDArray[np.float64] = np.zeros((count, min(simulator.horizon, self._most), width, how.rollouts))
        users = None if simulator.users is None else np.zeros((count, width, how.rollouts), np.int64)
        for index in running:
            learners[index]._begin_update()
            start = 0
            for part in parts[index]:
                drawn, user = learners[index]._draws(part)
                levels[index, : len(drawn), start : start + len(part)] = drawn
                if users is not None:
                    users[index, start : start + len(part)] = user
                start += len(part)
        filled = np.array([first._filled(batch) for batch in batches], np.float64)
        arrays, place = (batches, levels, users, filled, np.array([each._alone for each in learners])), simulator.device
        given = mapped(arrays, lambda part: torch.from_numpy(part).to(place, non_blocking=True))
        apart = mapped(inputs, lambda part: part.view(count, width, *part.shape[1:]))
        gradients, (_, (losses, spreads, paid, offered)) = self.each(self._loss, (apart, *given), slopes=True)
        norms = self.descend(gradients, running)
        for index in running:
            learners[index]._end_update()
        episodes = width * how.rollouts
        return [
            {
                "return": paid[index] / episodes,
                "entropy": spreads[index] / filled[index],
                "loss": losses[index],
                "learning_rate": self._optimizer.param_groups[0]["lr"],
                "grad_norm": norms[index],
                "episodes": how.rollouts,
                "steps": filled[index] / width,
                "evaluations": offered[index] / width,
            }
            for index in range(count)
        ]
