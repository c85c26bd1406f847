"""The learner from logs: the policy of `reinforce`, and lists that another ranker showed in place of its own episodes.

Shapes: B topics of a batch, R lists of each, K ranks, N candidates.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from torch import Tensor
from torch import from_numpy as tensor_from

from srd_agents.heuristic.stepwise import OneByOne
from srd_agents.reinforce.agent import Reinforce
from srd_agents.reinforce.config import ReinforceConfig
from srd_agents.reinforce.rollout import SampledEpisodes
from srd_agents.reinforce.topic_inputs import InputsOfSet, PolicyInputs
from srd_agents.training.logged import LearnsFromLog
from srd_agents.training.options import Count, Positive, Share
from srd_gym.core.users import users_from
from srd_gym.dtypes import IntArray
from srd_gym.offline import EpsilonPolicy, Log, logged_parts, read_log
from srd_gym.topic import Topic, TopicSet


@dataclass(frozen=True, kw_only=True)
class ReinforceLogsConfig(ReinforceConfig):
    """A policy of relations and directions, trained by REINFORCE on logged lists."""

    logs: str | None = None
    """File of lists shown and clicked, with propensities (`srd_gym.offline.read_log`; Parquet). Topics need no
    judgments then. None: `lists` simulated ones, of judged topics."""
    pays: Literal["reciprocal_rank", "click"] = "reciprocal_rank"
    """Reward of a click: 1 over its rank, or 1."""
    clip: Positive = 3.0
    """Largest weight of a rank: the policy's probability of the document over the logged one."""
    users: str = "Clicks(attraction=0.9)"
    """Who click on simulated lists."""
    lists: Count = 4800
    """Simulated lists: the initial ranking, explored."""
    epsilon: Share = 0.3
    """Share of the ranks of simulated lists that show a random document."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("reward", "pruning"):
            if getattr(self, name) != getattr(ReinforceConfig, name):
                raise ValueError(f"{name} is of episodes, but lists of a log are learned from: leave it out (see pays)")


class ReinforceLogs(LearnsFromLog, Reinforce):
    """`reinforce`, from logged lists and their clicks in place of episodes.

    At each rank of a list the policy's probability of the document shown, over its propensity, weighs the gradient, and
    is clipped (off-policy correction, Chen et al., WSDM 2019, Sections 4 and 4.4). As there, the ranks above are taken
    as shown: the product of all weights would be unbiased, but of ten ranks hardly a list would count. Documents never
    shown for a topic are learned of through the features that they share with others. Validation is as of
    `srd_agents.training.logged.LearnsFromLog`.

    Differs from the paper: propensities are logged, not estimated; there is no factor for sets (Section 4.3), as the
    policy fills one rank after the other; and the mean return of other lists of the topic at the same rank is
    subtracted, so that a topic counts from its second list on.
    """

    name: str = "reinforce-logs"
    config_class: ClassVar[type[Any]] = ReinforceLogsConfig
    fewest_lists = 2
    only_training: ClassVar[tuple[str, ...]] = (*Reinforce.only_training, "_log", "_rows", "_first", "_lists", "_drawn")

    config: ReinforceLogsConfig
    _log: Log
    _rows: IntArray
    """Lists of the log, those of a topic side by side."""
    _first: IntArray
    """[T] place in `_rows` of each topic's first list."""
    _lists: IntArray
    """[T] number of lists of each topic."""
    _drawn: int = 0
    """Ranks filled in the lists of this update."""

    def _prepare(self, topics: TopicSet, seed: int) -> None:
        if self._many:
            raise ValueError(f"ranker {self.name!r} learns of one seed at a time; call fit for each seed")
        self._begin_with(topics, seed)
        self._set_inputs = InputsOfSet(topics)
        path = self.config.logs
        self._log = self._simulated(topics, seed) if path is None else read_log(path, topics, others="leave out")
        self._rows = np.argsort(self._log.topic_index, kind="stable")
        self._lists = np.bincount(self._log.topic_index, minlength=len(topics))
        self._first = np.cumsum(self._lists) - self._lists

    def _simulated(self, topics: TopicSet, seed: int) -> Log:
        """Lists of the candidates' own order, explored."""
        users, config = users_from(self.config.users), self.config
        if users is None:
            raise ValueError(f"users must be Clicks or Clicks(option=value, ...), got {config.users!r}")
        depth = min(config.horizon or topics.max_candidates, topics.max_candidates)
        parts = logged_parts(
            _AsGiven(), topics, users, EpsilonPolicy(config.epsilon), depth=depth, episodes=config.lists, seed=seed
        )
        return Log.joined([part() for part in parts])

    @property
    def _ranks(self) -> int:
        return int(self._log.shown.shape[1])

    def _begin_update(self) -> None:
        super()._begin_update()
        self._drawn = 0

    def _filled(self, batch: IntArray) -> int:
        return self._drawn

    def _play(self, inputs: PolicyInputs, batch: IntArray, rollouts: int) -> SampledEpisodes:
        """Lists of these topics, drawn from the log with replacement; a topic of one list or none has empty ones."""
        which = self._generator.random((len(batch), rollouts)) * self._lists[batch][:, None]
        rows = self._rows[np.minimum(self._first[batch][:, None] + which.astype(np.int64), len(self._rows) - 1)]
        shown = np.where((self._lists[batch] > 1)[:, None, None], self._log.shown[rows], -1)
        active, actions = shown >= 0, np.maximum(shown, 0)
        self._drawn += max(1, int(np.count_nonzero(active)))
        rewards = np.where(active, self._log.clicks[rows], False).astype(np.float32)
        if self.config.pays == "reciprocal_rank":
            rewards /= np.arange(1, self._ranks + 1, dtype=np.float32)
        allowed = np.repeat(inputs.present[:, None, None, :], rollouts, axis=1).repeat(self._ranks, axis=2)
        for rank in range(1, self._ranks):
            allowed[:, :, rank] &= allowed[:, :, rank - 1]
            np.put_along_axis(allowed[:, :, rank], actions[:, :, rank - 1, None], False, axis=2)
        return SampledEpisodes(actions, allowed, rewards, active, self._log.propensities[rows])

    def _told(self, figures: Mapping[str, object]) -> Mapping[str, object]:
        return figures if self.stays_on_device else super()._told(figures)

    def _weighed(self, log_pi: Tensor, played: SampledEpisodes) -> Tensor:
        weights = log_pi.detach().exp() / tensor_from(played.propensities).to(log_pi)
        return weights.clamp(max=self.config.clip) * log_pi


class _AsGiven(OneByOne):
    """Candidates in their order."""

    def rank(self, topic: Topic, k: int) -> IntArray:
        return np.arange(min(k, topic.n_candidates))
