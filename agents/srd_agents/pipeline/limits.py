"""Limits on the candidates that may be shown, and the choice of a ranker within them.

Shapes: N candidates of a topic, P of them shown before, K chosen.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from srd_agents.heuristic.config import Metric
from srd_agents.heuristic.stepwise import PartialRanking, Scored, one_over_rank, progress_of
from srd_agents.pipeline.capabilities import puts_copies_last
from srd_agents.pipeline.documents import Gaps, add_gaps
from srd_agents.pipeline.groups import Kind, kinds_of
from srd_agents.pipeline.near_duplicates import near_copies
from srd_agents.pipeline.selection import Selection
from srd_gym.checks import all_finite, array_from, checked_rankings, falling, is_missing, numbers_of
from srd_gym.dtypes import AnyArray, BoolArray, IntArray, ScoreArray
from srd_gym.protocols import Ranker
from srd_gym.reading import few, with_type
from srd_gym.reading import shown as as_text
from srd_gym.showing import short_repr
from srd_gym.topic import FloatArray, Topic

COPIES: float | None = 0.9999
"""Cosine from which on a document is a near-duplicate, unless another is asked for."""

_ROUNDED = 1 + 1e-7
"""Factor of a budget, so that costs whose exact sum is the budget fit it (.1 + .1 + .1 is above .3), in float32 too."""


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Limits of all topics, as a `srd_agents.pipeline.request.RankingRequest` has them, then, `of` one topic.

    Fields with the name of a knob (`srd_agents.pipeline.arguments.Knobs`) have its value.
    """

    __repr__ = short_repr

    near_duplicates: float | None = None
    """Cosine from which on a document is a near-duplicate of one shown before it, and comes last; None: never."""
    max_per_group: Any = None
    """Documents that may be shown of each group, those shown before among them, as of `Kind`s (`kinds_of`)."""
    min_per_group: Any = None
    """Documents that must be shown of each, where there are enough; the same."""
    budget: float = 0.0
    """Largest total cost of the chosen documents; one part in ten million more still fits."""
    groups: tuple[Kind, ...] = ()
    """Groups of the candidates, of each kind."""
    costs: ScoreArray | None = None
    """[N] at least 0."""
    already_shown: tuple[int, ...] = ()
    """[P] candidates shown before, which are not shown again."""
    pinned: tuple[int | None, ...] = ()
    """[R] candidate that stands in each of the first places; None: the ranker chooses."""
    metric: Metric = "cosine"
    """Similarity by which documents are near-duplicates."""
    without_vector: tuple[int, ...] = ()
    """Candidates that are no near-duplicates, as they have no vectors of their own."""
    fill: bool = False
    """Whether documents above `max_per_group` come last, where those within it are too few, not at all."""

    def of(self, topic: Topic, order: IntArray | None, given: Any, gaps: Gaps = None, *, alone: bool = False) -> Limits:
        """Limits of a topic, from what its caller says of the documents given.

        Args:
            topic: its candidates stand in their own order.
            order: [N] the document given that each candidate is; None: the same.
            given: a `srd_agents.pipeline.given.Given`, with groups, costs and positions of documents shown before.
            gaps: what documents may lack; None: nothing.
            alone: whether it is the only topic, which a warning then need not name.

        Raises:
            TypeError: something of another type.
            ValueError: other lengths, or a value out of range.
        """
        groups, costs, seen, pinned = given.groups, given.costs, given.already_shown, given.pinned
        bare = given.without_vector
        if groups is None and costs is None and seen is None and pinned is None and not bare:
            return self
        query_id, count = topic.query_id, topic.n_candidates
        order = np.arange(count) if order is None else order
        prices = None if costs is None else costs_of(query_id, costs, count, gaps)[order]
        if prices is not None and self.affordable < prices.min():
            warnings.warn(
                ("" if alone else f"topic {as_text(query_id)}: ")
                + f"no document fits a budget of {self.budget}, the cheapest costs {prices.min()}; nothing is shown",
                stacklevel=4,
            )
        asked, candidate_of = (self.max_per_group, self.min_per_group), np.argsort(order)
        shown = () if seen is None else _positions(query_id, "already_shown", seen, candidate_of)
        limits = replace(
            self,
            groups=() if groups is None else kinds_of(query_id, groups, *asked, count, order, gaps),
            costs=prices,
            already_shown=tuple(dict.fromkeys(shown)),
            pinned=() if pinned is None else _pinned(query_id, pinned, candidate_of),
            without_vector=tuple(candidate_of[list(bare)].tolist()),
        )
        limits._check_pinned(query_id)
        return limits

    def _check_pinned(self, query_id: str) -> None:
        """Refuse pinned documents that cannot all be shown."""
        pins = self.pins
        if len(set(pins)) < len(pins) or not set(pins).isdisjoint(self.already_shown):
            raise ValueError(
                f"topic {as_text(query_id)}: pinned must name a document once, and none of already_shown; leave the "
                "other place of it out"
            )
        if self.costs is not None and (price := float(self.costs[pins].sum())) > self.affordable:
            raise ValueError(
                f"topic {as_text(query_id)}: pinned documents must fit the budget of {self.budget}, they cost {price}; "
                "raise budget, or pin fewer"
            )

    @property
    def pins(self) -> list[int]:
        """Pinned candidates."""
        return [each for each in self.pinned if each is not None]

    def free(self, count: int) -> BoolArray:
        """[N] whether each of `count` candidates may be chosen: it is neither shown before nor pinned."""
        free = np.ones(count, np.bool_)
        free[[*self.already_shown, *self.pins]] = False
        return free

    @property
    def affordable(self) -> float:
        """Largest sum of costs that fits the budget."""
        return self.budget * _ROUNDED

    def kept_by(self, topic: Topic, ranking: IntArray, *, copies_last: bool) -> bool:
        """Whether nothing stands in the way of this ranking; a greedy ranker would then choose it stepwise, too.

        Args:
            topic: the topic.
            ranking: of its candidates.
            copies_last: whether its near-duplicates are known to come last.
        """
        if self.already_shown or self.pinned:
            return False
        for kind in self.groups:
            counts = kind.counts(ranking)
            if (counts > kind.most).any() or (counts < kind.least).any():
                return False
        if self.costs is not None and len(ranking) and np.cumsum(self.costs[ranking])[-1] > self.affordable:
            return False
        if self.near_duplicates is None or copies_last:
            return True
        vectors = self.compared(topic).take(ranking, axis=0)
        if self.metric == "given":
            vectors = vectors[:, ranking]
        return not near_copies(vectors, self.near_duplicates, self.metric).any()

    def compared(self, topic: Topic) -> FloatArray:
        """[N, F] vectors by which documents are near-duplicates: zeros, which are like none, for `without_vector`."""
        vectors = topic.require_vectors("near_duplicates=")
        if self.without_vector:
            vectors = vectors.copy()
            vectors[list(self.without_vector)] = 0.0
        return vectors

    def filled(self, ranking: IntArray) -> BoolArray:
        """[K] documents of a ranking that are above `max_per_group`: with `fill`, its last ones."""
        filled, pins = np.zeros(len(ranking), np.bool_), set(self.pins)
        if not self.fill:
            return filled
        counts = [kind.counts([*self.already_shown, *pins]) for kind in self.groups]
        for place, document in enumerate(ranking.tolist()):
            for kind, count in zip(self.groups, counts, strict=True):
                if document not in pins:
                    filled[place] |= count[kind.of[document]] >= kind.most[kind.of[document]]
                    count[kind.of[document]] += 1
        return filled

    def missed(self, ranking: IntArray) -> str:
        """A sentence on documents that `min_per_group` asks for and the ranking lacks; "": none."""
        if self.min_per_group is None:
            return ""
        told = [
            f"{shown} of {least} of {as_text(name)}"
            for kind in self.groups
            for name, least, shown in zip(
                kind.names, kind.least, kind.counts([*self.already_shown, *ranking]), strict=True
            )
            if shown < least
        ]
        return f"no more can be shown of what min_per_group asks for: {few(told)}" if told else ""

    def choose(self, topic: Topic, k: int, progress: PartialRanking) -> Scored:
        """The candidate of the highest score that may be shown, again and again, and these scores: [at most k].

        A candidate may be shown if what is left can still meet `min_per_group`. Near copies of what is shown come only
        where nothing else fits, and documents above `max_per_group` after them. Pinned documents count from the
        beginning, whatever their place.

        Raises:
            ValueError: more places are pinned than there are.
        """
        if len(self.pinned) > k:
            raise ValueError(f"pinned must name a document for each of at most k={k} places, got {len(self.pinned)}")
        selection = Selection(self, topic, progress, k - len(self.pins))
        placed = self._placed(selection.choose())
        return placed, np.array([selection.scores[document] for document in placed.tolist()], np.float64)

    def _placed(self, chosen: list[int]) -> IntArray:
        """The pinned documents in their places, and those chosen around them."""
        rest = iter(chosen)
        placed = [next(rest, None) if pin is None else pin for pin in self.pinned]
        return np.array([each for each in (*placed, *rest) if each is not None], np.int64)


def show(ranker: Ranker, topics: Sequence[Topic], k: int, limits: Sequence[Limits]) -> list[Scored]:
    """Rankings of topics within their limits, [at most min(k, N)] each, and the scores of documents when chosen.

    A ranker that scores candidates in the light of those chosen chooses among what is left at each step, those shown
    before counting as chosen; of any other the whole ranking is filtered. Scores are 1 / rank where it has no
    `rank_scored`.

    Raises:
        ValueError: what the ranker refuses, or an answer of it that is no ranking.
    """
    if any(limit.without_vector for limit in limits) and puts_copies_last(ranker):
        ranker = ranker.with_copies(None)  # it would compare documents without vectors of their own
    if scored := hasattr(ranker, "rank_scored"):
        found = list[Scored](ranker.rank_scored(topics, k))
        rankings = checked_rankings([ranking for ranking, _ in found], topics, ranker, k)
    else:
        rankings = checked_rankings(ranker.rank_batch(topics, k), topics, ranker, k)
        found = [(ranking, one_over_rank(len(ranking))) for ranking in rankings]
    moved = ranker.copies if puts_copies_last(ranker) else None
    for place, (topic, limit) in enumerate(zip(topics, limits, strict=True)):
        if not limit.kept_by(topic, rankings[place], copies_last=limit.near_duplicates == moved):
            found[place] = ranking, scores = limit.choose(topic, k, progress_of(ranker, topic))
            if not scored:
                found[place] = ranking, one_over_rank(len(scores))
    return found


def array_of(
    query_id: str, name: str, values: object, kinds: str = "fiub", what: str = "numbers", *, may_lack: bool = False
) -> AnyArray:
    """Convert an argument for a topic to an array.

    Args:
        query_id: of the topic, for errors.
        name: of what is given, for errors.
        values: any numbers or text in rows.
        kinds: letters of the types that it may have (`numpy.dtype.kind`).
        what: what these are called.
        may_lack: whether NaN and infinity pass: `Topic` refuses what it does not take.

    Raises:
        TypeError: something of another type.
        ValueError: no array, masked values, or one that holds NaN or infinity.
    """
    if may_lack and type(values) is np.ndarray and values.dtype.kind in kinds:  # as most are
        return values
    try:
        array = numbers_of(name, values, kinds, what, lacks=name == "subtopic_scores")
        if array.ndim and not may_lack and not all_finite(array):
            row = int(np.argwhere(~np.isfinite(array))[0][0])
            raise ValueError(f"{name} holds NaN or infinity (first at row {row}); expected finite numbers")
    except (TypeError, ValueError) as error:
        raise type(error)(f"topic {as_text(query_id)}: {error}") from error
    return array


def row_of(
    query_id: str, name: str, values: object, count: int | None, kinds: str = "fiub", what: str = "numbers"
) -> AnyArray:
    """`array_of` for one row: [count], or of any length (None)."""
    row = array_of(query_id, name, values, kinds, what)
    if row.ndim != 1 or (count is not None and len(row) != count):
        wanted = "[P]" if count is None else f"({count},): one a document"
        raise ValueError(f"topic {as_text(query_id)}: {name} have shape {row.shape}, expected {wanted}")
    return row


def was_shown(where: str, cell: object, *, strict: bool = False) -> bool:
    """Whether a column or a document's metadata say that it was shown before; where they say nothing, it was not.

    Args:
        where: it says so, for the error.
        cell: what it says.
        strict: whether nothing is refused, too.

    Raises:
        TypeError: neither True nor False, such as text, which Python takes for true.
    """
    if not strict and is_missing(cell):
        return False
    if not isinstance(cell, bool | np.bool_ | int | float) or cell not in (True, False):
        raise TypeError(f"{where} must hold True or False, got {with_type(cell)}")
    return bool(cell)


def costs_of(query_id: str, costs: object, count: int, gaps: Gaps = None) -> ScoreArray:
    """[N] float64; a document without a cost has the largest.

    Raises:
        TypeError, ValueError: as `row_of`, a cost below 0, or no document has one.
    """
    row, absent = _row_with_gaps(query_id, "costs", costs, count, gaps, "cost, which count as the largest", "iuf")
    prices: ScoreArray = row.astype(np.float64)
    if len(wrong := np.flatnonzero(prices < 0)):
        raise ValueError(
            f"topic {as_text(query_id)}: costs must be at least 0, got {prices[wrong[0]]} (document {wrong[0]})"
        )
    if absent is not None:
        if absent.all():
            raise ValueError(f"topic {as_text(query_id)}: no document has a cost; give costs, or leave budget out")
        prices[absent] = prices.max()
    return prices


def scores_of(
    query_id: str, name: str, scores: object, count: int, gaps: Gaps = None
) -> tuple[AnyArray | None, IntArray | None]:
    """Scores of documents, and the order in which they fall.

    Args:
        query_id: of the topic, for errors.
        name: of the scores, for errors.
        scores: [N], in any order; a missing one counts as the lowest, and comes last.
        count: N.
        gaps: takes note of missing ones; None: they are refused.

    Returns:
        [N] as given, or None where all are missing; and [N] the order (None: as they are).
    """
    row, absent = _row_with_gaps(query_id, name, scores, count, gaps, "score, which come last")
    if absent is None:
        return row, falling(row)
    if absent.all():
        return None, None
    row[absent] = row[~absent].min()
    order = falling(row)
    order = np.arange(count) if order is None else order
    return row, np.concatenate([order[~absent[order]], order[absent[order]]])


def _row_with_gaps(
    query_id: str, name: str, values: object, count: int, gaps: Gaps, what: str, kinds: str = "fiub"
) -> tuple[AnyArray, BoolArray | None]:
    """`row_of`, with 0 for what is missing, and which are missing (None: none is)."""
    array = None
    with contextlib.suppress(TypeError, ValueError, RuntimeError, OverflowError):  # of these row_of tells
        array = array_from(values)
    if array is None or gaps is None or array.dtype.kind not in "fO" or array.ndim != 1:
        return row_of(query_id, name, values, count, kinds), None
    if array.dtype.kind == "f" and array.shape == (count,) and all_finite(array):
        return array, None
    listed = array.tolist()
    absent = np.array([is_missing(each) for each in listed], np.bool_)
    add_gaps(gaps, what, 0 if absent.all() else int(absent.sum()))
    known = [0 if gone else each for each, gone in zip(listed, absent, strict=True)]
    row = row_of(query_id, name, known, count, kinds)
    return (row.copy(), absent) if absent.any() else (row, None)


def _positions(query_id: str, option: str, positions: object, candidate_of: IntArray) -> list[int]:
    """The candidates that these documents are."""
    places = row_of(query_id, option, positions, None, "iu", "whole numbers (positions)").astype(np.int64)
    wrong = places[(places < 0) | (places >= len(candidate_of))]
    if len(wrong):
        raise ValueError(
            f"topic {as_text(query_id)}: {option} names document {wrong[0]}, where there are {len(candidate_of)}, "
            "numbered from 0; -1 fills up the rows of a batch, topics() leaves it out"
        )
    candidates: list[int] = candidate_of[places].tolist()
    return candidates


def _pinned(query_id: str, pinned: Any, candidate_of: IntArray) -> tuple[int | None, ...]:
    """[R] the candidate in each place.

    Raises:
        TypeError, ValueError: no list, or what `_positions` refuses.
    """
    if isinstance(pinned, str | Mapping) or not hasattr(pinned, "__len__"):
        raise TypeError(
            f"topic {as_text(query_id)}: pinned must be a list of positions, None for places that are free, got "
            f"{as_text(pinned)}"
        )
    places = list(pinned)
    free = [is_missing(each) for each in places]
    named = [each for each, is_free in zip(places, free, strict=True) if not is_free]
    candidates = iter(_positions(query_id, "pinned", named, candidate_of) if named else ())
    return tuple([None if is_free else next(candidates) for is_free in free])
