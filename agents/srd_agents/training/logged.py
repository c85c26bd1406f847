"""Learning from a log of lists shown and clicked: the topics that it has, and validation without judgments."""

from __future__ import annotations

import warnings
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from srd_agents.training.learner import Learner
from srd_agents.training.validation import Validation, check_pair
from srd_gym.offline import Log, evaluate_offline, read_log
from srd_gym.protocols import Ranker
from srd_gym.reading import few
from srd_gym.topic import TopicSet

CLIP = 3.0
"""Largest importance weight in validation."""


class LearnsFromLog(Learner[Any]):
    """A learner with the option `logs`, a file that `srd_gym.offline.read_log` reads; None: as without a log.

    Topics need no judgments then. Validation topics without any are validated by the log: clicks on a list of the
    ranker, estimated by "cascade-dr".
    """

    fewest_lists: ClassVar[int] = 1
    """Lists from which on a topic can be learned from."""

    def learnable(self, topics: TopicSet, validation: TopicSet | None) -> tuple[TopicSet, list[str]]:
        """The topics with lists enough in the log, and the ids of the others."""
        path = self.config.logs
        if path is None:
            return super().learnable(topics, validation)
        if validation is not None:
            check_pair(self.name, topics, validation)
        log = read_log(path, topics, others="leave out")
        enough = np.bincount(log.topic_index, minlength=len(topics)) >= self.fewest_lists
        least = "no list" if self.fewest_lists == 1 else f"fewer than {self.fewest_lists} lists"
        fewer = f"{least} in {Path(path).name}"
        if not enough.any():
            raise ValueError(f"ranker {self.name!r}: all {len(topics)} training topics have {fewer}")
        excluded = [topics.query_ids[index] for index in np.flatnonzero(~enough)]
        if excluded:
            told = f"{len(excluded)} of {len(topics)} training topics have {fewer} and are left out of training"
            warnings.warn(f"{told}: {few(excluded, 10)}", stacklevel=3)
        return topics.select(np.array(topics.query_ids)[enough].tolist()), excluded

    def validation_on(self, topics: TopicSet) -> Validation:
        """By judgments where all topics have some, else by the log."""
        if self.config.logs is None or all(topic.labelled for topic in topics):
            return super().validation_on(topics)
        return LoggedValidation(read_log(self.config.logs, topics, others="leave out"))


class LoggedValidation(Validation):
    """Clicks on a list of a ranker, estimated from the lists that were logged.

    Args:
        log: of the validation topics.
    """

    def __init__(self, log: Log) -> None:
        self.topics, self._log, self.name = log.topics, log, "clicks (cascade-dr)"

    @cached_property
    def baseline(self) -> tuple[str, float]:
        """The lists that were logged, and the mean number of clicks on one."""
        return "logged lists", float(self._log.clicks.sum(axis=1).mean())

    def mean(self, ranker: Ranker) -> float:
        """Clicks on a list of the ranker."""
        how: dict[str, Any] = {"estimators": ("cascade-dr",), "clip": CLIP, "resamples": 10}
        return evaluate_offline(self._log, ranker, **how)["cascade-dr"].value
