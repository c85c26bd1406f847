"""Pruning by a ranker: its last candidates are masked.

Shapes: B episodes, N candidates, K horizon.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from importlib.metadata import entry_points
from os import PathLike, fspath
from typing import Any, Literal

import numpy as np

from srd_gym.checks import (
    check_integer,
    check_option,
    check_positive,
    checked_ranking,
    name_of,
    refuse_class,
)
from srd_gym.core.arrays import TopicArrays
from srd_gym.core.own import path_of
from srd_gym.dtypes import BoolArray, IntArray, ScoreArray
from srd_gym.protocols import Ranker, SequentialScorer
from srd_gym.pruning.knn import _ROUNDING
from srd_gym.reading import shown
from srd_gym.showing import short_repr
from srd_gym.topic import Topic

When = Literal["reset", "step"]

LOADERS = "srd_gym.ranker_loaders"
"""Entry-point group of functions from a name or a folder to a ranker; the first that is installed is asked."""


@dataclass(frozen=True)
class ByRanker:
    """Keeps the candidates that a ranker puts first: MDP-DIV-NTN(D) and (E) of Liu et al. 2018 with NTN-DIV.

    `when="reset"` (D): the ranker (`Ranker`) ranks a topic's candidates once; its first ones are allowed.
    `when="step"` (E): after each selection the ranker (`SequentialScorer`) scores what is allowed given the documents
    ranked so far; its first ones stay. Drops are final: as the number kept is a share of the initial candidates, this
    prunes once, after the first selection, and the ranker is not asked again while there is nothing to drop.
    Nothing is pruned below the ranks still to fill. Ties go to the earlier candidate.

    The ranker must always answer alike; with "reset" it is asked once a topic.

    Args:
        ranker: a registry name ("mmr"), the folder of a trained ranker, or an object. Names and folders survive in an
            environment's specification; they are resolved when the strategy is first bound.
        keep: a float in (0, 1] is a share of the topic's candidates, rounded down; a whole number is a count, at
            least 1.
        when: "reset" or "step".

    Raises:
        TypeError: arguments of the wrong kind; when bound, an object that cannot rank ("reset") or score ("step").
        ValueError: arguments out of range; when bound, an unknown ranker.
    """

    __repr__ = short_repr

    ranker: Any
    keep: float
    when: When = "reset"
    kind: str = field(default="by_ranker", init=False)

    def __post_init__(self) -> None:
        if isinstance(self.ranker, PathLike):
            object.__setattr__(self, "ranker", fspath(self.ranker))
        check_option("moment to prune", self.when, ("reset", "step"))
        if isinstance(self.keep, int | np.integer):
            check_integer("keep, a number of candidates,", self.keep, 1)
        else:
            check_positive("keep, a share of the candidates,", self.keep, 1)
        if not isinstance(self.ranker, str):
            self._check_able(self.ranker)

    def __deepcopy__(self, memo: dict[int, object]) -> ByRanker:
        # Gymnasium copies specifications; a ranker is not to be copied with each.
        return self

    def __str__(self) -> str:
        keep = int(self.keep) if isinstance(self.keep, int | np.integer) else float(self.keep)
        return f"ranker:{keep!r}:{self.when}:{self.ranker if isinstance(self.ranker, str) else path_of(self.ranker)}"

    def bind(self, topics: TopicArrays, horizon: int) -> BoundByRanker:
        """The strategy at work on these topics; topics are ranked when first needed."""
        if hasattr(self.resolved, "check_topics"):  # a learner's: widths, and the encoder of the vectors
            self.resolved.check_topics(topics.topics)
        return BoundByRanker(self, topics)

    @cached_property
    def resolved(self) -> Any:
        """The ranker itself; a name or folder is loaded once for each strategy object.

        Raises:
            ImportError: the ranker is given by name and no loader is installed.
            TypeError: it cannot do what is asked of it.
            ValueError: an unknown name, or a folder without a trained ranker.
        """
        if not isinstance(self.ranker, str):
            return self.ranker
        for announced in entry_points(group=LOADERS):
            loaded = announced.load()(self.ranker)
            self._check_able(loaded)
            return loaded
        raise ImportError(
            f"no installed package loads rankers, such as {shown(self.ranker)}, by name or folder (entry-point "
            f"group {LOADERS!r}): install srd-gym anew (in a checkout: `pip install -e .`), or pass a ranker"
        )

    def _check_able(self, ranker: object) -> None:
        """Refuse a ranker that lacks the method which is called."""
        refuse_class("ranker", ranker)
        needed: type = Ranker if self.when == "reset" else SequentialScorer
        if not isinstance(ranker, needed):
            methods = "`rank` and `rank_batch`" if self.when == "reset" else "`score`"
            raise TypeError(
                f"pruning by a ranker with when={self.when!r} needs {methods} (srd_gym.protocols.{needed.__name__}), "
                f"which {name_of(ranker)} lacks; mmr and ntn-div have all of them"
            )


class BoundByRanker:
    """`ByRanker` on known topics.

    Args:
        strategy: what to do.
        arrays: the topics.
    """

    def __init__(self, strategy: ByRanker, arrays: TopicArrays) -> None:
        self._strategy, self._ranker, self._topics = strategy, strategy.resolved, arrays.topics
        self._rankings: dict[int, IntArray] = {}

    def at_reset(self, topic_index: IntArray, allowed: BoolArray, needed: IntArray) -> BoolArray:
        """With "reset" the candidates that the ranker puts first, else all: [B, N] bool."""
        if self._strategy.when == "step":
            return allowed
        stay = np.zeros_like(allowed)
        for episode, index in enumerate(topic_index.tolist()):
            ranking = self._ranking(index)
            on_offer = ranking[allowed[episode, ranking]]
            stay[episode, on_offer[: self._size(index, int(needed[episode]))]] = True
        return stay

    def after_step(
        self, topic_index: IntArray, ranking: IntArray, action: IntArray, allowed: BoolArray, needed: IntArray
    ) -> BoolArray:
        """With "step" the candidates that the ranker puts first now, else those allowed: [B, N] bool."""
        if self._strategy.when == "reset":
            return allowed
        stay = allowed.copy()
        for episode, index in enumerate(topic_index.tolist()):
            topic, size = self._topics[index], self._size(index, int(needed[episode]))
            selected, pool = ranking[episode][ranking[episode] >= 0], allowed[episode, : topic.n_candidates]
            offered = np.flatnonzero(pool)
            if len(selected) and len(offered) > size:
                scores = _checked_scores(self._ranker.score(topic, selected, pool), topic, pool, self._ranker)
                stay[episode, offered[np.argsort(-scores[offered], kind="stable")[size:]]] = False
        return stay

    def _size(self, topic_index: int, needed: int) -> int:
        """Number of candidates of a topic that stay."""
        keep = self._strategy.keep
        if not isinstance(keep, int | np.integer):
            keep = int(np.floor(keep * self._topics[topic_index].n_candidates + _ROUNDING))
        return max(int(keep), needed)

    def _ranking(self, topic_index: int) -> IntArray:
        """[n] the ranker's ranking of all of a topic's candidates, kept once found."""
        if topic_index not in self._rankings:
            topic = self._topics[topic_index]
            n = topic.n_candidates
            self._rankings[topic_index] = checked_ranking(self._ranker.rank(topic, n), topic, self._ranker, n)
        return self._rankings[topic_index]


def _checked_scores(scores: object, topic: Topic, pool: BoolArray, ranker: object) -> ScoreArray:
    """[N] float64, if there is a number for each allowed candidate."""
    given = np.asarray(scores, dtype=np.float64)
    who = f"topic {shown(topic.query_id)}, pruning by ranker {name_of(ranker)}:"
    if given.shape != (topic.n_candidates,):
        raise ValueError(f"{who} expected scores of shape ({topic.n_candidates},), got {given.shape}")
    if np.isnan(given[pool]).any():
        raise ValueError(f"{who} the score of document {int(np.flatnonzero(pool & np.isnan(given))[0])} is NaN")
    return given
