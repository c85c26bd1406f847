"""Users who click, in torch: those of `srd_gym.core.users.BoundClicks`, rank by rank.

Shapes: T topics, B episodes, S subtopics, L levels of a document's worth to an intent.
"""

from __future__ import annotations

import torch
from torch import Tensor

from srd_agents.simulators.draws import uniform
from srd_agents.simulators.topics import TopicTensors
from srd_gym.core.users import DRAWS, BoundClicks


class ClickTensors:
    """`BoundClicks` on a device.

    Args:
        bound: the users.
        topics: their topics.
    """

    def __init__(self, bound: BoundClicks, topics: TopicTensors) -> None:
        self.expected = bound.expected
        self._model, self._pays = bound.model, bound.pays
        self._patience, self._boredom = bound.patience, bound.boredom

        def on_device(values: object) -> Tensor:
            return torch.tensor(values, dtype=torch.float64, device=topics.device)

        self._attract, self._satisfy = on_device(bound.attract), on_device(bound.satisfy)
        self._looked_at, self._worth = on_device(bound.looked_at), on_device(bound.worth)
        self._chances, self._cumulated = on_device(bound.intent_probabilities), on_device(bound.cumulated)
        grades = topics.judgments.flatten(0, 1)
        self._grades = grades if grades.shape[1] else grades.new_zeros(len(grades), 1)
        self._n, self._draws = topics.max_candidates, torch.arange(1, 1 + DRAWS, device=topics.device)

    def begin(self, topic: Tensor) -> Tensor:
        """Who reads at the first rank: [B, 1] whether the user does, or [B, S] how likely those of each intent do."""
        width = self._chances.shape[1] if self.expected else 1
        return torch.ones(len(topic), width, dtype=torch.float64, device=topic.device)

    def intents(self, topic: Tensor, user: Tensor) -> Tensor:
        """[B] int64, the subtopic that each user wants; -1 for none."""
        cumulated = self._cumulated[topic]
        total = cumulated[:, -1:].sum(1)  # there may be no subtopic
        drawn = uniform(user, torch.zeros_like(user))
        return torch.where(total > 0, (cumulated <= (drawn * total)[:, None]).sum(1), -1)

    def step(
        self, topic: Tensor, rank: Tensor, chosen: Tensor, shown: Tensor, fresh: Tensor, user: Tensor, reads: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Pay of a rank, [B] float64, and who reads the next one.

        Args:
            topic: [B] int64.
            rank: [B] int64 from 0.
            chosen: [B] int64, the candidate there.
            shown: [B] bool, False where the rank is empty.
            fresh: [B] bool, whether the document covers a subtopic that those above leave uncovered.
            user: [B] int64.
            reads: as of `begin`.
        """
        grades = self._grades[topic * self._n + chosen].long().clamp(0, len(self._attract) - 2)
        levels = torch.where(shown[:, None], 1 + grades, 0)
        goes_on = self._patience * (1.0 - self._boredom * (~fresh).double())
        if self.expected:
            return self._expected(topic, rank, levels, goes_on, reads)
        intent, looked = self.intents(topic, user), self._looked_at[rank]
        level = levels.gather(1, intent.clamp(min=0)[:, None])[:, 0] * (intent >= 0)
        draws = uniform(user[:, None], rank[:, None] * DRAWS + self._draws)
        clicked = draws[:, 0] < self._attract[level]
        satisfied = clicked & (draws[:, 1] < self._satisfy[level])
        if self._model == "pbm":
            examined = draws[:, 2] < looked
        else:
            examined = (reads[:, 0] > 0) & (looked > 0)
            stops = (clicked if self._model == "cascade" else satisfied) | (draws[:, 2] >= goes_on)
            reads = reads * ~stops[:, None]
        paid = (clicked if self._pays == "click" else satisfied) & examined
        return paid * self._worth[rank], reads

    def _expected(
        self, topic: Tensor, rank: Tensor, levels: Tensor, goes_on: Tensor, reads: Tensor
    ) -> tuple[Tensor, Tensor]:
        """`step`, expected over all users."""
        click = self._attract[levels]
        satisfied = click * self._satisfy[levels]
        reach = self._chances[topic] * self._looked_at[rank][:, None]
        if self._model != "pbm":
            reach = reach * reads
            reads = reads * ((1.0 - (click if self._model == "cascade" else satisfied)) * goes_on[:, None])
        return ((click if self._pays == "click" else satisfied) * reach).sum(1) * self._worth[rank], reads
