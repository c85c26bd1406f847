"""A ranking request: the ranker that is asked for, what it is told, and the limits of its rankings.

Shapes: N documents of a topic, K documents chosen.
"""

from __future__ import annotations

import os
import warnings
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import lru_cache

import numpy as np

from srd_agents.heuristic.stepwise import Scored
from srd_agents.pipeline.arguments import Knobs, check_knobs
from srd_agents.pipeline.capabilities import (
    check_uses_subtopics,
    puts_copies_last,
    with_diversity,
    with_metric,
    with_relevance,
)
from srd_agents.pipeline.diversified import Diversified
from srd_agents.pipeline.documents import Gaps, lacking, warn_lacking
from srd_agents.pipeline.explanation import kept
from srd_agents.pipeline.given import Given, topic_of
from srd_agents.pipeline.groups import check_counts
from srd_agents.pipeline.limits import COPIES, Limits, show
from srd_agents.pipeline.per_cost import PerCost
from srd_agents.pipeline.safe import Safe, SafeConfig
from srd_agents.registry import RANKERS, load_ranker
from srd_gym.checks import name_of, refuse_class
from srd_gym.files import PathLike
from srd_gym.protocols import Ranker
from srd_gym.reading import kind_of
from srd_gym.reading import shown as as_text
from srd_gym.topic import Topic

DEFAULT_RANKER = "safe"
"""Ranker where none is named. It needs no labels, query vector, scores or subtopics."""


_PLAIN = frozenset({type(None), bool, int, float, str, np.bool_, np.int64, np.float32, np.float64})
"""Types of values that cannot change."""


@dataclass(kw_only=True, eq=False)
class RankingRequest(Knobs):
    """A ranker, as it is to rank, and the limits of its rankings: of any number of topics, checked when it is made.

    Raises:
        TypeError: no ranker, or an argument of another type.
        ValueError: an unknown ranker, one that cannot use what is given, a value out of range, one of a pair without
            the other, or what belongs to none.
    """

    ranker: PathLike | Ranker | None = None
    """As for `diversify`, and so is the following."""
    diversity: float | None = None
    subtopics: bool = False
    """Whether topics have any, and so are the following."""
    similarity: bool = False
    """Whether topics have similarities in place of vectors."""
    groups: bool = False
    costs: bool = False
    called: Mapping[str, str] = field(default_factory=dict)
    """The caller's words for "diversity", "groups" and "costs", for errors."""
    made: Ranker = field(init=False)
    """The ranker, ready to rank."""
    limits: Limits = field(init=False)
    """Those that do not depend on a topic; at diversity 0, the order of relevance, near-duplicates stay."""

    def __post_init__(self) -> None:
        knobs = self.knobs()
        check_knobs(knobs)
        self._check_limits()
        self._unnamed: Ranker | None = None
        self.made = self._ready()
        copies = None if self.diversity == 0 else self.near_duplicates
        if copies == COPIES and puts_copies_last(self.made) and not self.similarity:
            copies = self.made.copies
        knobs |= {"near_duplicates": copies, "budget": float(self.budget or 0.0)}
        knobs["metric"] = "given" if self.similarity else "cosine"
        self.limits = Limits(**{each.name: knobs[each.name] for each in fields(Limits) if each.name in knobs})

    def _ready(self) -> Ranker:
        """The ranker, told what is asked of it."""
        if self.per_cost:
            if self.ranker is not None:
                raise ValueError("per_cost chooses by itself, got a ranker, too: leave one of them out")
            if not self.costs:
                raise ValueError("per_cost divides by costs=, got none: give costs and budget, or leave per_cost out")
            if self.similarity or self.metric not in (None, "cosine"):
                raise ValueError("per_cost compares vectors by their cosine: leave metric and similarity out")
            return PerCost(self.diversity, self.relevance)
        ranker = with_relevance(as_ranker(self.ranker), self.relevance)
        if self.subtopics:
            check_uses_subtopics(ranker)
            if not isinstance(ranker, Safe):  # which may rank no topic without subtopics
                self._unnamed = replace(self, ranker=None, subtopics=False).made
        if self.similarity:
            ranker = with_metric(ranker, "given", "similarity")
        elif self.metric is not None:
            ranker = with_metric(ranker, self.metric)
        if (self.near_duplicates != COPIES or self.similarity) and puts_copies_last(ranker):
            ranker = ranker.with_copies(None if self.similarity else self.near_duplicates)
        return with_diversity(ranker, self.diversity, self.called.get("diversity", "diversity"))

    def _check_limits(self) -> None:
        """Refuse limits that mean nothing."""
        groups, costs = self.called.get("groups", "groups"), self.called.get("costs", "costs")
        told = {"max_per_group": self.max_per_group, "min_per_group": self.min_per_group}
        if self.groups == all(each is None for each in told.values()):
            raise ValueError(
                f"{groups} and max_per_group belong together, got only one of them; give both or neither "
                "(min_per_group may stand in for max_per_group)"
            )
        if self.costs == (self.budget is None):
            raise ValueError(f"{costs} and budget belong together, got only one of them; give both or neither")
        if self.fill and self.max_per_group is None:
            raise ValueError(
                f"fill=True fills up with documents above max_per_group, got none: give {groups} and "
                "max_per_group, or leave fill out"
            )
        for option, counts in told.items():
            if counts is not None:
                check_counts(option, counts)
        if self.near_duplicates is not COPIES:
            SafeConfig(near_duplicates=self.near_duplicates)

    def diversified(
        self, given: Sequence[Given], k: int, *, alone: bool = False, explain: bool = False
    ) -> list[Diversified]:
        """The documents to show of each topic, with what decided: the ranker's `explain(topic)`, or its name.

        Where topics have subtopics, one without is ranked by `DEFAULT_RANKER`, or by the ranker if that is a `Safe`.

        Args:
            given: the topics.
            k: documents wanted.
            alone: whether there is one topic, which a warning then need not name.
            explain: whether results keep what explains them.

        Raises:
            TypeError: something holds no numbers.
            ValueError: shapes that do not match, no documents, numbers that are not finite, or what the ranker refuses.
        """
        topics, orders, limits, notes, lost = [], [], [], [], Counter[str]()
        for one in given:
            gaps: Gaps = None if self.strict else {}
            topic, order = topic_of(one, gaps)
            topics.append(topic)
            orders.append(order)
            limits.append(self.limits.of(topic, order, one, gaps, alone=alone))
            notes.append([one.note, *lacking(gaps)])
            lost.update(gaps or {})
        warn_lacking(lost)
        rankings = self.show(topics, k, limits, alone=alone)
        results, near = [], self.limits.near_duplicates or self.near_duplicates or COPIES
        every = zip(rankings, orders, topics, limits, strict=True)
        for place, ((ranking, scores), order, topic, limit) in enumerate(every):
            made, seen = self._ranker_of(topic), limit.already_shown
            why = made.explain(topic) if hasattr(made, "explain") else f"ranked by {name_of(made)}"
            told = [why, *notes[place], limit.missed(ranking)]
            note = "; ".join(filter(None, told))
            rows = np.array([*seen, *ranking], np.int64) if seen else ranking
            positions = rows.copy() if order is None else order[rows]
            found = Diversified(positions[len(seen) :], scores, [note], limit.filled(ranking))
            if explain:
                found._why = (kept(given[place], topic, limit.costs, rows, positions, len(ranking), near, note),)
            results.append(found)
        return results

    def show(self, topics: Sequence[Topic], k: int, limits: Sequence[Limits], *, alone: bool = False) -> list[Scored]:
        """Rankings of topics within their limits, and scores, as of `srd_agents.pipeline.limits.show`.

        Where `min_per_group` cannot be met, there is one warning.
        """
        rankers, found = list(map(self._ranker_of, topics)), dict[int, Scored]()
        for made in (self.made, self._unnamed):
            places = [place for place, ranker in enumerate(rankers) if ranker is made]
            some = [topics[place] for place in places], k, [limits[place] for place in places]
            if made is not None and places:
                shown = made.show(*some) if isinstance(made, PerCost) else show(made, *some)
                found.update(zip(places, shown, strict=True))
        rankings = [found[place] for place in range(len(topics))]
        if self.min_per_group is not None:
            for topic, (ranking, _), limit in zip(topics, rankings, limits, strict=True):
                if missed := limit.missed(ranking):
                    warnings.warn(missed if alone else f"topic {as_text(topic.query_id)}: {missed}", stacklevel=4)
                    break
        return rankings

    def _ranker_of(self, topic: Topic) -> Ranker:
        """The ranker of a topic; another where the request has subtopics and the topic has none."""
        return self.made if self._unnamed is None or topic.n_subtopics else self._unnamed


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


def is_ours(ranker: PathLike | Ranker | None) -> bool:
    """Whether this is the name of a ranker of the package; None names the default."""
    return ranker is None or (
        isinstance(ranker, str) and ranker in RANKERS.built_in and ":" not in ranker and not os.path.isdir(ranker)
    )


def requested(ranker: PathLike | Ranker | None, **options: object) -> RankingRequest:
    """`RankingRequest` of these options, made once where nothing of it can change: by the name of a ranker of ours."""
    make: Callable[..., RankingRequest] = RankingRequest
    if is_ours(ranker) and _PLAIN.issuperset(map(type, options.values())):
        make = _kept
    return make(ranker=ranker, **options)


_kept = lru_cache(maxsize=256, typed=True)(RankingRequest)
