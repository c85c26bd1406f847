"""The scoring task in torch: `srd_gym.core.ScoringCore` on tensors.

Shapes: B lists, N candidates, A scores, L ranks that count, T topics.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from srd_agents.simulators.measures import MeasureTensors
from srd_agents.simulators.topics import NoTensorFormError, TopicTensors
from srd_gym.core import ScoringCore
from srd_gym.core.arrays import Topics
from srd_gym.measures import Measure, Normalizer
from srd_gym.protocols import Reward


class ScoringSimulator:
    """`ScoringCore` on tensors: all candidates of a topic score themselves, and the sorted list is paid.

    Rewards are sums in another order: equal within 1e-12 in float64, within 2e-6 in float32.

    Args:
        topics: a topic set, or `TopicTensors`, whose device is then taken.
        reward: a measure, or several whose values are added up.
        n_scores: A.
        normalizer: as of `ScoringCore`.
        device: where.
        dtype: of rewards.

    Raises:
        NoTensorFormError: users pay, who have no form in tensors here, or a measure that is no sum over ranks.
    """

    def __init__(
        self,
        topics: Topics | TopicTensors,
        *,
        reward: str | Measure | Reward | Sequence[str | Measure] = "alpha_nDCG@10",
        n_scores: int = 30,
        normalizer: Normalizer | None = None,
        device: str | torch.device = "cpu",
        dtype: torch.dtype = torch.float32,
    ) -> None:
        self.topics = topics if isinstance(topics, TopicTensors) else TopicTensors(topics, device)
        core = ScoringCore(self.topics.arrays, reward=reward, n_scores=n_scores, normalizer=normalizer)
        if core.users is not None:
            raise NoTensorFormError(
                f"reward {core.reward_name} has no form in tensors for whole lists: simulate with "
                "srd_gym.core.ScoringCore"
            )
        self.n_scores, self.depth, self.reward_name = core.n_scores, core.depth, core.reward_name
        self.dtype = dtype
        self._paid = [MeasureTensors(bound, self.topics, dtype) for bound in core.paid_measures]

    def rank(self, topic: Tensor, scores: Tensor) -> Tensor:
        """The first L candidates by score, the earlier of equals first: [B, L] int64; -1 behind the last real one.

        Args:
            topic: [B] int64.
            scores: [B, N] int64, 0 to A - 1; those of padding are ignored.
        """
        n = self.topics.max_candidates
        # Score and place in one whole number: no two are alike, so that ties need no stable sort.
        keys = scores * n + torch.arange(n - 1, -1, -1, device=scores.device)
        best = keys.masked_fill(~self.topics.present[topic], -1).topk(min(self.depth, n), dim=1).values
        return torch.where(best < 0, -1, n - 1 - best % n)

    def step(self, topic: Tensor, scores: Tensor) -> Tensor:
        """The reward of each list, [B]; arguments as `rank`."""
        rankings = self.rank(topic, scores)
        return torch.stack([each.values(rankings, topic) for each in self._paid]).sum(0)
