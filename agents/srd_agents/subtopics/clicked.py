"""Learners from clicks: the classifier, taught by those on the initial ranking, and REINFORCE on top of it."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from srd_agents.networks.features import side_by_side
from srd_agents.subtopics.agent import PredictedSubtopics, ReinforceSubtopics, SubtopicClassifier
from srd_agents.subtopics.config import ClickedConfig, ClickedLogsConfig, ReinforceClicksConfig
from srd_agents.subtopics.features import unit_rows
from srd_agents.subtopics.network import Seen
from srd_agents.training.logged import LearnsFromLog
from srd_agents.training.options import RewardOption
from srd_gym.core.selection import SelectionCore
from srd_gym.core.users import required_users
from srd_gym.dtypes import BoolArray, IntArray
from srd_gym.offline import read_log
from srd_gym.topic import FloatArray, TopicSet

_KNOWN = 0.5
"""Share of the candidates that must have been shown for what is learned of them to hold for the others."""
_PASSES = 20
"""Largest number of passes of k-means."""


class LearnsFromClicks(PredictedSubtopics[Any]):
    """Learns from the clicks of simulated users on the initial ranking in the place of judgments.

    A document that anybody clicked is relevant; one that was shown and never clicked is not; of those below nothing is
    learned. Clicks tell no subtopics: clusters of the clicked documents' vectors (k-means, Lloyd 1982) take their
    place. Training sees judgments through these users alone; validation is as of every learner.
    """

    only_training: ClassVar[tuple[str, ...]] = (*ReinforceSubtopics.only_training, "_shown")

    _shown: list[BoolArray]

    @property
    @abstractmethod
    def _users_shown(self) -> RewardOption:
        """Those to whom the initial ranking is shown."""

    def _judged(self, topics: TopicSet, seed: int) -> TopicSet:
        clicks, shown = self._logged(topics, np.random.default_rng([seed, 1]))
        self._shown = [row[: topic.n_candidates] for row, topic in zip(shown, topics, strict=True)]
        return self._judged_by(topics, clicks, np.random.default_rng([seed, 2]))

    def _learn_corrections(self, *, always: bool = False) -> None:
        """Let the part that reads vectors learn if lists show at least half of the candidates, or always."""
        corrects = self._network.correction if self._hidden_size else None
        if corrects is not None:
            shown = sum(row.sum() for row in self._shown)
            corrects.requires_grad_(always or bool(shown >= _KNOWN * sum(map(len, self._shown))))

    def _logged(self, topics: TopicSet, random: np.random.Generator) -> tuple[BoolArray, BoolArray]:
        """Whether candidates were clicked by anybody, and whether they were shown: [T, max N] each."""
        core = SelectionCore(topics, reward=self._users_shown, horizon=min(self.config.shown, topics.max_candidates))
        required_users(core.users, core.reward_name)
        clicked, left = np.zeros((len(topics), topics.max_candidates), np.bool_), self.config.lists
        while left:
            on = random.permutation(len(topics))[:left]
            core.reset(on, users=random)
            for rank in range(core.horizon):
                core.step(np.minimum(rank, core.arrays.n_candidates[on] - 1))
            clicked[on, : core.horizon] |= core.clicks(np.arange(len(on)))
            left -= len(on)
        if not clicked.any():
            raise ValueError(
                f"ranker {self.name!r}: nobody clicked in {self.config.lists} lists; expected clicks to learn "
                "from; show more `lists`, or take other users"
            )
        places = np.arange(topics.max_candidates)
        return clicked, (places < core.horizon) & (places < core.arrays.n_candidates[:, None])

    def _judged_by(self, topics: TopicSet, clicked: BoolArray, random: np.random.Generator) -> TopicSet:
        """The topics, judged by clicks; subtopics are clusters of what was clicked."""
        units = [unit_rows(topic.require_vectors(self.name)) for topic in topics]
        hits = [np.flatnonzero(row[: len(rows)]) for row, rows in zip(clicked, units, strict=True)]
        cluster = _clusters(
            np.concatenate([rows[on] for rows, on in zip(units, hits, strict=True)]), self.config.clusters, random
        )
        of_topics = np.split(cluster, np.cumsum([len(on) for on in hits])[:-1])
        names = tuple(f"cluster {number}" for number in range(self.config.clusters))
        made = []
        for topic, on, own in zip(topics, hits, of_topics, strict=True):
            judgments = np.zeros((topic.n_candidates, len(names)), np.int8)
            judgments[on, own] = 1
            made.append(
                replace(
                    topic,
                    subtopic_ids=names,
                    judgments=judgments,
                    subtopic_texts=None,
                    pool_ids=None,
                    pool=None,
                    subtopic_vectors=None,
                    subtopic_weights=None,
                    subtopic_scores=None,
                )
            )
        return topics.replace(made)

    def _counted(self, seen: Seen, batch: IntArray) -> Tensor:
        shown = side_by_side([self._shown[index] for index in batch])
        return self._moved(torch.from_numpy(shown)).float()


class ClickClassifier(LearnsFromClicks, SubtopicClassifier):
    """`subtopic-classifier`, taught by clicks on the initial ranking."""

    name: str = "click-classifier"
    config_class: ClassVar[type[Any]] = ClickedConfig

    @property
    def _users_shown(self) -> RewardOption:
        users: RewardOption = self.config.users
        return users


class ReinforceClicks(LearnsFromClicks, ReinforceSubtopics):
    """`reinforce-subtopics` from clicks alone: taught by those on the initial ranking first, then by those on its own.

    Of the lists shown in all, `lists` are the initial ranking, the others its episodes, `rollouts` of each topic an
    epoch. Where those show less than half of the candidates, the part of `hidden_size` learns nothing from them: what
    it makes of vectors would not hold for documents that are never shown.
    """

    name: str = "reinforce-clicks"
    config_class: ClassVar[type[Any]] = ReinforceClicksConfig

    @property
    def _users_shown(self) -> RewardOption:
        reward: RewardOption = self.config.reward
        return reward

    def _learn_first(self, order: np.random.Generator) -> None:
        self._learn_corrections()
        super()._learn_first(order)
        self._learn_corrections(always=True)


class ClickClassifierLogs(LearnsFromLog, ClickClassifier):
    """`click-classifier`, taught by the clicks of a log; propensities are not read.

    Subtopics are clusters, so a document shown for one reason alone may be clicked for another: what is learned is
    which documents users click, and which of them are alike. Its network is that of `reinforce-clicks`.
    """

    name: str = "click-classifier-logs"
    config_class: ClassVar[type[Any]] = ClickedLogsConfig

    def _build(self, vector_width: int) -> None:
        self._hidden_size = self.config.hidden_size
        super()._build(vector_width)

    def _prepare(self, topics: TopicSet, seed: int) -> None:
        super()._prepare(topics, seed)
        self._learn_corrections()

    def _logged(self, topics: TopicSet, random: np.random.Generator) -> tuple[BoolArray, BoolArray]:
        if self.config.logs is None:
            return super()._logged(topics, random)
        log = read_log(self.config.logs, topics, others="leave out")
        clicked, shown = np.zeros((2, len(topics), topics.max_candidates + 1), np.bool_)
        shown[log.topic_index[:, None], log.shown] = True
        clicked[log.topic_index[:, None], np.where(log.clicks, log.shown, -1)] = True
        return clicked[:, :-1], shown[:, :-1]


def _clusters(rows: FloatArray, count: int, random: np.random.Generator) -> IntArray:
    """[M] the cluster of each row, by k-means that begins with `count` of the rows [M, F]."""
    centers = rows[random.permutation(len(rows))[:count]]
    nearest = np.full(len(rows), -1)
    for _ in range(_PASSES):
        before, nearest = nearest, (rows @ centers.T - 0.5 * (centers * centers).sum(axis=1)).argmax(axis=1)
        if np.array_equal(before, nearest):
            break
        sums = np.zeros_like(centers)
        np.add.at(sums, nearest, rows)
        sizes = np.bincount(nearest, minlength=len(centers))
        centers = np.where(sizes[:, None] > 0, sums / np.maximum(sizes, 1)[:, None], centers).astype(rows.dtype)
    return nearest
