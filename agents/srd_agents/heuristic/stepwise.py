"""Rankers that choose one document after the other, each in the light of those before."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from srd_gym.protocols import BoolArray, IntArray, ScoreArray
from srd_gym.topic import Topic


class Progress(ABC):
    """A topic's ranking in the making."""

    @abstractmethod
    def scores(self) -> ScoreArray:
        """[N] the score of each candidate as the next document; those of chosen ones mean nothing."""

    @abstractmethod
    def add(self, document: int) -> None:
        """Choose a candidate."""


class Stepwise(ABC):
    """A ranker whose rankings can be followed, and changed, step by step."""

    @abstractmethod
    def progress(self, topic: Topic) -> Progress:
        """An empty ranking of the topic.

        Raises:
            ValueError: the topic lacks what the ranker needs.
        """

    def score(self, topic: Topic, selected: IntArray, allowed: BoolArray) -> ScoreArray:
        """The score of each candidate as the next document: [N] float64; minus infinity where not allowed.

        Args:
            topic: the topic.
            selected: [r] int64, candidates ranked so far.
            allowed: [N] bool.
        """
        progress = self.progress(topic)
        for document in selected:
            progress.add(int(document))
        scores: ScoreArray = np.where(allowed, progress.scores(), -np.inf)
        return scores
