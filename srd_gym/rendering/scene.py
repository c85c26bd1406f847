"""Contents of a picture of an episode, as plain values; nothing is drawn here.

Shapes: N candidates, S subtopics, F vector width.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from srd_gym.core.scoring import ScoringCore
from srd_gym.core.selection import SelectionCore
from srd_gym.dtypes import BoolArray, IntArray, ScoreArray
from srd_gym.showing import short_repr
from srd_gym.topic import Topic


@dataclass(frozen=True, kw_only=True)
class Scene:
    """One moment of an episode."""

    __repr__ = short_repr

    topic: Topic
    ranking: Sequence[int]
    """The candidates ranked so far, best first; -1 where the rank was wasted."""
    slots: int
    """Ranks there are to fill, at least as many as are ranked."""
    offered: BoolArray
    """[N] candidates that may still be chosen."""
    covers: BoolArray | None = None
    """[N, S] which subtopics each candidate covers; None where nothing is judged."""
    gains: Sequence[float] | None = None
    """Gain of each rank; None where there are no judgments."""
    scores: Sequence[int] | None = None
    """The documents' own scores by rank, where documents score themselves; empty until they have."""
    reward: str
    """Measure that the gains add up to, as tables name it."""
    measures: Mapping[str, float]
    """Name -> value of the list so far, the reward's first; empty where nothing is judged or scored yet."""

    def counts(self) -> IntArray:
        """[ranks, S] int64: how often each subtopic is covered once a rank's document is there, 0 where it adds none.

        The document that covers a subtopic first has a 1 there, the next one a 2, and so on.
        """
        chosen = np.array(self.ranking, np.int64)
        if self.covers is None:
            return np.zeros((len(chosen), 0), np.int64)
        own = self.covers[chosen] & (chosen >= 0)[:, None]
        counts: IntArray = own.cumsum(axis=0) * own
        return counts


def selection_scene(core: SelectionCore, episode: int) -> Scene:
    """Scene of one episode of the selection task.

    Args:
        core: the simulator.
        episode: which episode.
    """
    index, filled = int(core.topic_index[episode]), int(core.rank[episode])
    topic = core.arrays.topics[index]
    return Scene(
        topic=topic,
        ranking=core.ranking[episode, :filled].tolist(),
        slots=int(core.length[episode]),
        offered=core.allowed[episode, : topic.n_candidates].copy(),
        covers=_covers(topic, core.covers[index]),
        gains=core.gains[episode, :filled].tolist() if topic.labelled else None,
        reward=core.reward_name,
        measures=core.episode_measures(episode) if topic.labelled else {},
    )


def scoring_scene(
    core: ScoringCore,
    topic_index: int,
    scores: IntArray,
    ranking: Sequence[int],
    measures: Mapping[str, float],
    users: IntArray | None = None,
) -> Scene:
    """Scene of an episode of the scoring task: the documents by score, or nothing before the step.

    Args:
        core: the simulator.
        topic_index: the episode's topic.
        scores: [N] the documents' scores.
        ranking: candidates, best first; empty before the step.
        measures: name -> value of the list; empty where there is nothing to score.
        users: [1] who pays, where users do.
    """
    topic = core.arrays.topics[topic_index]
    return Scene(
        topic=topic,
        ranking=ranking,
        slots=topic.n_candidates,
        offered=np.ones(topic.n_candidates, np.bool_),
        covers=_covers(topic, core.arrays.covers(1)[topic_index]),
        gains=_list_gains(core, topic_index, ranking, users) if topic.labelled else None,
        scores=scores[list(ranking)].tolist(),
        reward=core.reward_name,
        measures=measures,
    )


def _covers(topic: Topic, padded: BoolArray) -> BoolArray | None:
    """[N, S] of the topic alone."""
    return padded[: topic.n_candidates, : topic.n_subtopics] if topic.labelled else None


def _list_gains(core: ScoringCore, topic_index: int, ranking: Sequence[int], users: IntArray | None) -> list[float]:
    """Gain of each rank in reward: the differences between the rewards of growing lists."""
    prefixes = np.where(np.tri(len(ranking), dtype=np.bool_), np.array(ranking, np.int64), -1)
    growing = None if users is None else users.repeat(len(ranking))
    paid = core.rewards([topic_index] * len(ranking), prefixes, growing)
    gains: list[float] = np.diff(paid, prepend=0.0).tolist()
    return gains


def map_of(topic: Topic) -> tuple[ScoreArray, ScoreArray | None] | None:
    """The candidates' vectors in the plane in which they differ most: their two first principal components.

    Args:
        topic: with or without vectors.

    Returns:
        (candidates [N, 2], query [2] or None), or None without document vectors.
    """
    if topic.doc_vectors is None:
        return None
    vectors = topic.doc_vectors.astype(np.float64)
    centre = vectors.mean(axis=0)
    axes = np.zeros((len(centre), 2))
    for place, direction in enumerate(np.linalg.svd(vectors - centre, full_matrices=False)[2][:2]):
        axes[:, place] = direction
    query = None if topic.query_vector is None else (topic.query_vector - centre) @ axes
    return (vectors - centre) @ axes, query
