"""A ranking request: the ranker that is asked for, what it is told, and the limits of its rankings.

Shapes: N documents of a topic, K documents chosen.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, TypeGuard

import numpy as np

from srd_agents.pipeline.capabilities import (
    check_uses_subtopics,
    puts_copies_last,
    with_diversity,
    with_relevance,
)
from srd_agents.pipeline.diversified import Diversified, one_over_rank
from srd_agents.pipeline.documents import Gaps, lacking, warn_lacking
from srd_agents.pipeline.explanation import kept
from srd_agents.pipeline.given import Given, topic_of
from srd_agents.pipeline.limits import Limits, show
from srd_agents.pipeline.naming import Named
from srd_agents.pipeline.per_cost import PerCost, per_cost_of
from srd_agents.registry import RANKERS, load_ranker
from srd_gym.checks import name_of, refuse_class
from srd_gym.dtypes import IntArray
from srd_gym.files import PathLike
from srd_gym.protocols import Ranker
from srd_gym.reading import kind_of
from srd_gym.reading import shown as as_text
from srd_gym.topic import Topic

DEFAULT_RANKER = "safe"
"""Ranker where none is named. It needs no labels, query vector, scores or subtopics."""


class Chooser:
    """A ranker and what limits its rankings.

    Args:
        ranker: as for `diversify`.
        limits: of all topics; rankings at diversity 0 are left as they are, near-duplicates included.
        diversity: as for `diversify`.
        relevance: as for `diversify`.
        per_cost: as for `diversify`.
        subtopics: whether any are named.
        costs: what the caller says of costs; None: there are none.
        option: what the caller calls the diversity, for errors.
        strict: as for `diversify`.

    Raises:
        TypeError: no ranker, or diversity is no number.
        ValueError: an unknown ranker, one that cannot use subtopics or diversity, or diversity out of range.
    """

    def __init__(
        self,
        ranker: PathLike | Ranker | None,
        limits: Limits,
        *,
        diversity: float | None = None,
        relevance: str | None = None,
        per_cost: object = False,
        subtopics: bool = False,
        costs: Any = None,
        option: str = "diversity",
        strict: bool = False,
    ) -> None:
        self.relevance, self.strict = relevance, strict
        self._unnamed: Chooser | None = None
        if not isinstance(per_cost, bool | None):
            raise TypeError(f"per_cost must be True or False, got {as_text(per_cost)}")
        if per_cost:
            self.ranker, self.limits = per_cost_of(ranker, limits, costs, diversity, relevance)
            return
        alone = limits.near_duplicates is None
        weighed = (relevance, diversity, option)
        if _is_kept(ranker, *weighed):
            self.ranker = _of_a_name(ranker, alone, subtopics, *weighed)
        else:
            self.ranker = _weighed(as_ranker(ranker), alone, subtopics, *weighed)
        # The order of relevance holds copies too.
        self.limits = replace(limits, near_duplicates=None) if diversity == 0 else limits
        if subtopics and ranker is not None:  # which may rank no topic without subtopics
            self._unnamed = Chooser(
                None, limits, diversity=diversity, relevance=relevance, option=option, strict=strict
            )

    def diversified(
        self, given: Sequence[Given], k: int, *, alone: bool = False, near: float | None = None
    ) -> list[Diversified]:
        """The documents to show of each topic, with what decided: the ranker's `explain(topic)`, or its name.

        A topic for which a function or a model named no subtopics is ranked by `DEFAULT_RANKER`.

        Args:
            given: the topics.
            k: documents wanted.
            alone: whether there is one topic, which a warning then need not name.
            near: cosine of near-duplicates in explanations; None: results keep nothing to explain them.

        Raises:
            TypeError: something holds no numbers.
            ValueError: shapes that do not match, no documents, numbers that are not finite, or what the ranker refuses.
        """
        if self._unnamed is not None and any(map(_is_unnamed, given)):
            choosers = [self._unnamed if _is_unnamed(one) else self for one in given]
            return [
                own.diversified([one], k, alone=alone, near=near)[0] for own, one in zip(choosers, given, strict=True)
            ]
        topics, orders, limits, notes, lost = [], [], [], [], Counter[str]()
        for one in given:
            gaps: Gaps = None if self.strict else {}
            topic, order = topic_of(one, gaps)
            topics.append(topic)
            orders.append(order)
            limits.append(self.limits.of(topic, order, one, gaps, alone=alone))
            notes.append([one.note, *lacking(gaps)])
            if gaps:
                lost.update(gaps)
        warn_lacking(lost)
        rankings = self.show(topics, k, limits)
        explain = getattr(self.ranker, "explain", lambda topic: f"ranked by {name_of(self.ranker)}")
        results = []
        for place, (ranking, order, topic, limit) in enumerate(zip(rankings, orders, topics, limits, strict=True)):
            note, seen = "; ".join(filter(None, [explain(topic), *notes[place]])), limit.already_shown
            rows = np.array([*seen, *ranking], np.int64) if seen else ranking
            positions = rows.copy() if order is None else order[rows]
            found = Diversified(positions[len(seen) :], one_over_rank(len(ranking)), [note], limit.filled(ranking))
            if near is not None:
                found._why = (kept(given[place], topic, rows, positions, len(ranking), near, note),)
            results.append(found)
        return results

    def show(self, topics: Sequence[Topic], k: int, limits: Sequence[Limits]) -> list[IntArray]:
        """Rankings of topics within their limits, as of `srd_agents.pipeline.limits.show`."""
        if isinstance(self.ranker, PerCost):
            return self.ranker.show(topics, k, limits)
        return show(self.ranker, topics, k, limits)


def as_ranker(ranker: PathLike | Ranker | None) -> Ranker:
    """A ranker that can rank at once, from its name, its folder, or itself; None is `DEFAULT_RANKER`.

    MMR and its like, by name, take scores on the scale of the cosines ("matched").

    Raises:
        TypeError: something else.
        ValueError: an unknown name, a learner's name without a folder, or a folder without a trained ranker.
    """
    if ranker is None or isinstance(ranker, str | os.PathLike):
        loaded = load_ranker(DEFAULT_RANKER if ranker is None else ranker)
        of_a_name = ranker is None or not os.path.isdir(ranker)
        return with_relevance(loaded, "matched") if of_a_name and getattr(loaded, "weighs_cosines", False) else loaded
    refuse_class("ranker", ranker)
    if isinstance(ranker, Ranker):
        return ranker
    raise TypeError(
        'ranker must be a name such as "mmr", the folder of a trained ranker, or an object with rank(topic, k) and '
        f"rank_batch(topics, k), got {kind_of(ranker)}; scores go by name: scores=..."
    )


def _is_unnamed(given: Given) -> bool:
    """Whether a function or a model named no subtopics of the topic."""
    return isinstance(given.subtopics, Named) and not given.subtopics and given.subtopic_scores is None


def _is_kept(ranker: object, *values: object) -> TypeGuard[str | None]:
    """Whether the ranker of this name is made once: one of ours without a folder, as nothing of it can change."""
    if ranker is not None and not (
        isinstance(ranker, str) and ranker in RANKERS.built_in and ":" not in ranker and not os.path.isdir(ranker)
    ):
        return False
    return all(isinstance(value, str | float | None) for value in values)


@lru_cache(maxsize=256, typed=True)
def _of_a_name(
    name: str | None, alone: bool, subtopics: bool, relevance: str | None, diversity: float | None, option: str
) -> Ranker:
    return _weighed(as_ranker(name), alone, subtopics, relevance, diversity, option)


def _weighed(
    ranker: Ranker, alone: bool, subtopics: bool, relevance: str | None, diversity: float | None, option: str
) -> Ranker:
    """The ranker as a caller wants it.

    Args:
        ranker: that is to rank.
        alone: whether near-duplicates come wherever it puts them.
        subtopics: whether any are named.
        relevance: as for `diversify`.
        diversity: as for `diversify`.
        option: what the caller calls the diversity, for errors.
    """
    ranker = with_relevance(ranker, relevance)
    if subtopics:
        check_uses_subtopics(ranker)
    if alone and puts_copies_last(ranker):
        ranker = ranker.with_copies(None)
    return with_diversity(ranker, diversity, option)
