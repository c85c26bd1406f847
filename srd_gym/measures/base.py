"""The one form that every measure takes: a value with parameters, bound to topics as plain arrays.

Most are cascades: a subtopic that is covered again is worth (1 - alpha) times as much each time. Of a topic a measure
needs its `IdealPool`: the documents that the ideal ranking is made of, and the ideal itself.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import Field, dataclass, field, fields, replace
from functools import cached_property
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from srd_gym.checks import check_integer, check_number, check_option, finite_numbers
from srd_gym.dtypes import IntArray, ScoreArray
from srd_gym.measures.bound import BoundMeasure, Term, geometric_novelty, greedy_by_novelty
from srd_gym.reading import few, shown
from srd_gym.showing import short_repr
from srd_gym.topic import GradeArray, Topic, TopicSet

Normalization = Literal["ndeval", "chapelle"]
Normalizer = Literal["pool", "candidates"]
NORMALIZERS: tuple[Normalizer, ...] = ("pool", "candidates")
_CELLS = 1 << 14
"""Judgments of a batch of ideal rankings at most, unless one alone has more: what is worked on stays in the cache."""


class IdealPool:
    """The judged documents that a topic's ideal ranking and its number of subtopics come from.

    Ideal gains are computed once per relevance level, alpha and depth, and kept.

    Args:
        pool: [P, S] int8 judgments.
        pool_ids: ids of the P documents; ties of the ideal go to the larger id, without ids to the smaller index.
        subtopic_weights: [S] positive weights; 1 each where absent.

    Raises:
        ValueError: ids or weights that do not match the judgments.
    """

    def __init__(
        self, pool: ArrayLike, pool_ids: Sequence[str] | None = None, subtopic_weights: ArrayLike | None = None
    ) -> None:
        self.pool: GradeArray = np.asarray(pool, dtype=np.int8)
        self.pool_ids = pool_ids
        count, self.n_subtopics = self.pool.shape
        if pool_ids is not None and len(pool_ids) != count:
            raise ValueError(f"expected one id for each of {count} pool documents, got {len(pool_ids)}")
        weights = np.ones(self.n_subtopics) if subtopic_weights is None else subtopic_weights
        self.weights: ScoreArray = np.asarray(weights, dtype=np.float64)
        if self.weights.shape != (self.n_subtopics,):
            raise ValueError(f"expected one weight for each of {self.n_subtopics} subtopics, got {self.weights.shape}")
        self._ideals: dict[tuple[float, int], ScoreArray] = {}

    @classmethod
    def of(cls, topic: Topic, normalizer: Normalizer) -> IdealPool:
        """The reference of a topic.

        Args:
            topic: a judged topic.
            normalizer: "pool" (as ndeval: every judged document) or "candidates" (only those retrieved).

        Raises:
            ValueError: "pool" for a topic without one, a topic without judgments, or another normalizer.
        """
        if normalizer == "candidates":
            return cls(judged(topic), topic.doc_ids, topic.subtopic_weights)
        check_option("normalizer", normalizer, NORMALIZERS)
        if topic.pool is None:
            raise ValueError(
                f"topic {shown(topic.query_id)} has no pool of judged documents to normalise by; "
                "load the qrels with it, or use normalizer='candidates'"
            )
        return cls(topic.pool, topic.pool_ids, topic.subtopic_weights)

    def relevant(self, rel: int) -> IntArray:
        """[S] int64, relevant pool documents of each subtopic."""
        counts: IntArray = np.count_nonzero(self.pool >= rel, axis=0).astype(np.int64)
        return counts

    @cached_property
    def order(self) -> IntArray:
        """[P] int64, pool documents in the order in which ties are broken."""
        return preference(len(self.pool), self.pool_ids)

    def ideal_global_gains(self, rel: int) -> ScoreArray:
        """[P] float64, global gains sum_s w_s j_s of all pool documents, largest first (Sakai & Song 2011)."""
        return np.sort(np.einsum("ps,s->p", self.pool >= rel, self.weights))[::-1]

    def _useful_rows(self, rel: int) -> NDArray[np.bool_]:
        """[U, S] bool: rows of documents that cover something, in order of preference."""
        covers = self.pool[self.order] >= rel
        return covers[covers.any(axis=1)]

    def _knows(self, alpha: float, rel: int, depth: int | None) -> bool:
        """Whether ideal gains to this depth (or as far as documents gain) are known."""
        ideal = self._ideals.get((alpha, rel))
        if ideal is None:
            return False
        return len(ideal) >= (depth or np.inf) or len(ideal) >= len(self._useful_rows(rel))


@dataclass(frozen=True, eq=False, slots=True)
class Statistics:
    """References of T topics, padded to S subtopics."""

    __repr__ = short_repr

    references: tuple[IdealPool, ...]
    """The T references."""
    weights: ScoreArray
    """[T, S] float64 subtopic weights; 0 where no reference document covers the subtopic, and for padding."""
    relevant: IntArray
    """[T, S] int64 relevant reference documents."""

    @classmethod
    def of(cls, references: Sequence[IdealPool], rel: int, n_subtopics: int | None) -> Statistics:
        """Gather them; `n_subtopics` is the S to pad to, by default the largest."""
        width = n_subtopics or max((reference.n_subtopics for reference in references), default=0)
        weights = np.zeros((len(references), width))
        relevant = np.zeros((len(references), width), dtype=np.int64)
        for row, reference in enumerate(references):
            relevant[row, : reference.n_subtopics] = reference.relevant(rel)
            weights[row, : reference.n_subtopics] = reference.weights
        return cls(tuple(references), np.where(relevant > 0, weights, 0.0), relevant)

    @property
    def total(self) -> ScoreArray:
        """[T] float64, S': subtopics with a relevant reference document (the sum of their weights)."""
        sums: ScoreArray = self.weights.sum(axis=1)
        return sums


@dataclass(frozen=True, kw_only=True)
class Measure(ABC):
    """A measure of rankings: a value, equal to another with the same parameters, usable as a dictionary key.

    `str(measure)` is the notation that `srd_gym.measures.measure` reads back; defaults are left out. `measure @ 5` is
    the same measure at cutoff 5. A measure of the user's own is a subclass with `_terms`; parameters make it a frozen,
    keyword-only dataclass. Notation reads it once `add_measure` knows it; all else needs no registration.
    """

    name: ClassVar[str]
    """The name in the notation; that of the class unless it says otherwise."""
    whole_list: ClassVar[bool] = False
    """Whether the measure without a cutoff is of the whole list (NRBP, MAP_IA); others take the depth for cutoff."""
    lower_is_better: ClassVar[bool] = False
    """Whether a lower value is better; `plain()` is then what grows instead."""

    cutoff: int | None = None
    """k of "measure@k": ranks that count."""
    rel: int = 1
    """Relevance level: a judgment >= rel is relevant."""
    normalizer: Normalizer | None = None
    """Where ideal and S' come from: "pool" (as ndeval), "candidates", or None (pool where every topic has one)."""
    known_as: str | None = field(default=None, repr=False, compare=False)
    """The name that notation called it by, where that is not the class's (`add_measure`). No parameter: measures that
    differ in nothing else are equal."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "name" not in vars(cls):
            cls.name = cls.__name__

    def __post_init__(self) -> None:
        if self.cutoff is not None:
            check_integer(f"{self.name}: cutoff", self.cutoff, 1)
        check_integer(f"{self.name}: rel", self.rel, 1)
        if self.normalizer is not None:
            check_option(f"normalizer of {self.name}:", self.normalizer, NORMALIZERS)

    def __str__(self) -> str:
        values = [(each, getattr(self, each.name)) for each in parameters(type(self))]
        given = ", ".join(f"{each.name}={shown(value)}" for each, value in values if value != each.default)
        cutoff = "" if self.cutoff is None else f"@{self.cutoff}"
        return (self.known_as or self.name) + (f"({given})" if given else "") + cutoff

    def at(self, k: int) -> Self:
        """The same measure at cutoff k, unless it has a cutoff of its own."""
        return self if self.cutoff is not None else replace(self, cutoff=k)

    def __matmul__(self, cutoff: int) -> Self:
        return replace(self, cutoff=cutoff)

    def plain(self) -> Self:
        """The measure as a reward: the sum without collection-independent normalisation.

        Measures that divide by an ideal ranking stay as they are.
        """
        return self

    def bind(self, references: Sequence[IdealPool], depth: int, n_subtopics: int | None = None) -> BoundMeasure:
        """Compute, once, all that scoring these topics takes.

        Args:
            references: one for each topic, in the order of the topic indices used later.
            depth: K, the number of ranks that will ever be scored.
            n_subtopics: S that judgments are padded to; the largest reference's where absent.

        Raises:
            ValueError: a reference with more than `n_subtopics` subtopics, or terms that are not finite numbers of
                the right shapes.
        """
        bound = self if self.whole_list else self.at(depth)
        statistics = Statistics.of(references, self.rel, n_subtopics)
        shapes = {"discounts": (depth,), "novelty": (depth + 1,), "weights": statistics.weights.shape}
        terms = []
        for term in bound._terms(statistics, depth):
            arrays = [finite_numbers(f"measure {self}, {name}", getattr(term, name), shapes[name]) for name in shapes]
            for array in arrays:
                array.flags.writeable = False
            terms.append(Term(*arrays))
        return BoundMeasure(name=str(bound), cutoff=bound.cutoff, rel=self.rel, depth=depth, terms=tuple(terms))

    @abstractmethod
    def _terms(self, statistics: Statistics, depth: int) -> tuple[Term, ...]:
        """The additive form for these topics; the cutoff is set unless the measure is of whole lists."""

    def _cut(self, discounts: ScoreArray) -> ScoreArray:
        """Discounts by rank, 0 past the cutoff."""
        return discounts if self.cutoff is None else np.where(np.arange(len(discounts)) < self.cutoff, discounts, 0.0)


def parameters(kind: type[Measure]) -> list[Field[Any]]:
    """Parameters of the notation: the fields by which measures differ, but for the cutoff."""
    return [each for each in fields(kind) if each.compare and each.name != "cutoff"]


@dataclass(frozen=True, kw_only=True)
class Cascade(Measure):
    """Measures whose novelty is (1 - alpha)^c."""

    alpha: float = 0.5
    """Redundancy intolerance, 0 (repetition is fine) to 1 (a covered subtopic is worth nothing more)."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number(f"{self.name}: alpha", self.alpha, 0, 1)

    @abstractmethod
    def _discounts(self, depth: int) -> ScoreArray:
        """[depth] float64, the discount of each rank, whatever the cutoff."""

    def _cascade(self, weights: ScoreArray, depth: int) -> tuple[Term, ...]:
        """The single term of a cascade with these weights."""
        return (Term(self._cut(self._discounts(depth)), geometric_novelty(self.alpha, depth), weights),)

    def _ideal(self, statistics: Statistics) -> ScoreArray:
        """[T] float64, the same sum over the greedy ideal ranking of each reference, to the same cutoff."""
        gains = ideal_gains(statistics.references, self.alpha, self.rel, self.cutoff)
        longest = max(map(len, gains), default=0)
        padded = np.zeros((len(gains), longest))
        for row, each in enumerate(gains):
            padded[row, : len(each)] = each
        sums: ScoreArray = np.einsum("tr,r->t", padded, self._cut(self._discounts(longest)))
        return sums

    def _terms(self, statistics: Statistics, depth: int) -> tuple[Term, ...]:
        """The cascade divided by its ideal, unless a measure says otherwise."""
        return self._cascade(ratio(statistics.weights, self._ideal(statistics)), depth)

    def _ndeval_divisor(self, statistics: Statistics) -> ScoreArray:
        """[T] float64: S' * sum over r <= k of (1 - alpha)^(r - 1) discount(r), what ndeval divides by.

        A ranking in which every document covered every subtopic would have this sum. The tool's loop begins at rank 2,
        so that the values at rank 1 stay undivided.
        """
        cutoff = self.cutoff or 1
        if cutoff == 1:
            return (statistics.total > 0).astype(np.float64)
        constant = float(np.dot(geometric_novelty(self.alpha, cutoff)[:cutoff], self._discounts(cutoff)))
        return statistics.total * constant


@dataclass(frozen=True, kw_only=True)
class CollectionIndependent(Cascade):
    """Cascades that can be divided by a constant that ignores what the collection holds."""

    normalizations: ClassVar[tuple[Normalization, ...]] = ("ndeval",)
    """The normalizations there are, beside none."""

    normalization: Normalization | None = "ndeval"
    """"ndeval": divided as ndeval does; None: the plain sum."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.normalization is not None:
            check_option(f"normalization of {self.name}:", self.normalization, self.normalizations)

    def plain(self) -> Self:
        """The sum without normalisation."""
        return replace(self, normalization=None)

    def _terms(self, statistics: Statistics, depth: int) -> tuple[Term, ...]:
        weights = statistics.weights
        if self.normalization == "ndeval":
            weights = ratio(weights, self._ndeval_divisor(statistics))
        elif self.normalization == "chapelle":
            weights = ratio(self.alpha * weights, statistics.total)
        return self._cascade(weights, depth)


def ratio(numerator: ScoreArray, divisor: ScoreArray) -> ScoreArray:
    """[T, S] each row divided by its divisor [T]; 0 where that is 0."""
    rows = divisor[:, None]
    return np.divide(numerator, rows, out=np.zeros_like(numerator), where=rows > 0)


def ideal_gains(references: Sequence[IdealPool], alpha: float, rel: int, depth: int | None) -> list[ScoreArray]:
    """Undiscounted gains sum_s w_s j_s (1 - alpha)^c_s of the greedy ideal ranking of each reference, rank by rank.

    Those that are not known yet are computed together, those of similar size in one batch.

    Args:
        references: whose ideals are wanted.
        alpha: redundancy intolerance.
        rel: relevance level.
        depth: ranks needed; None means all that gain.

    Returns:
        Float64 of at least min(depth, relevant documents) ranks each; what follows would be 0.
    """
    rows = [(r, r._useful_rows(rel)) for r in references if not r._knows(alpha, rel, depth)]
    rows.sort(key=lambda pair: len(pair[1]), reverse=True)
    width = max((reference.n_subtopics for reference, _ in rows), default=0)
    while rows:
        together = max(1, _CELLS // max(1, len(rows[0][1]) * width))
        _fill_batch(rows[:together], alpha, rel, depth)
        rows = rows[together:]
    return [reference._ideals[alpha, rel] for reference in references]


def _fill_batch(batch: list[tuple[IdealPool, NDArray[np.bool_]]], alpha: float, rel: int, depth: int | None) -> None:
    """Ideal gains of references whose rows are padded to the largest."""
    largest = len(batch[0][1])
    width = max(reference.n_subtopics for reference, _ in batch)
    covers = np.zeros((len(batch), largest, width), dtype=np.bool_)
    weights = np.zeros((len(batch), width))
    for item, (reference, rows) in enumerate(batch):
        covers[item, : len(rows), : rows.shape[1]] = rows
        weights[item, : reference.n_subtopics] = reference.weights
    _, gains = greedy_by_novelty(covers, weights, alpha, depth or largest)
    for item, (reference, rows) in enumerate(batch):
        reference._ideals[alpha, rel] = np.maximum(gains[item, : len(rows)], 0.0)


class NoJudgmentsError(ValueError):
    """A topic without judgments where they are needed."""


def judged(topic: Topic) -> GradeArray:
    """The judgments of a topic: [N, S] int8.

    Raises:
        NoJudgmentsError: the topic is not judged.
    """
    if topic.judgments is None:
        raise NoJudgmentsError(
            f"topic {shown(topic.query_id)} has no judgments, which a measure needs; give it judgments, or leave it out"
        )
    return topic.judgments


def tell_irrelevant(
    where: str,
    judged: Iterable[tuple[str, GradeArray]],
    levels: Iterable[int],
    what: Literal["candidate judged", "judgment of"] = "candidate judged",
) -> None:
    """Warn where no judgment of a topic reaches a relevance level: whatever ranks it, it scores 0.

    Args:
        where: what holds the topics, for the notice.
        judged: query ids and judgments.
        levels: relevance levels of the measures asked for.
        what: what the judgments are, for the notice: those of candidates or all.
    """
    largest = {query_id: int(judgments.max(initial=0)) for query_id, judgments in judged}
    for rel in sorted(set(levels)):
        lacking = [query_id for query_id, most in largest.items() if most < rel]
        if lacking:
            warnings.warn(
                f"{where}: {len(lacking):,} of {len(largest):,} judged topics have no {what} at least {rel} (the "
                f"largest is {max(largest[query_id] for query_id in lacking)}), so that every ranking of them scores "
                f"0: {few(lacking)}",
                stacklevel=3,
            )


def default_normalizer(topics: TopicSet) -> Normalizer:
    """The "pool", as in ndeval, where every topic has one, else "candidates"; tables print it."""
    return "pool" if topics.has_pool else "candidates"


def references(topics: TopicSet, normalizer: Normalizer | None = None) -> tuple[IdealPool, ...]:
    """The reference of every topic of a set, in its order; an unlabelled topic gets an empty one and scores 0.

    Args:
        topics: the topic set.
        normalizer: None means `default_normalizer(topics)`.

    Raises:
        ValueError: "pool" where a judged topic has none.
    """
    chosen = normalizer or default_normalizer(topics)
    return tuple(
        IdealPool.of(topic, chosen) if topic.labelled else IdealPool(np.zeros((0, topic.n_subtopics), dtype=np.int8))
        for topic in topics
    )


def greedy_ideal(
    judgments: ArrayLike,
    *,
    ids: Sequence[str] | None = None,
    alpha: float = 0.5,
    rel: int = 1,
    weights: ArrayLike | None = None,
    depth: int | None = None,
) -> IntArray:
    """The greedy ideal ranking of one topic's documents by sum_s w_s j_s (1 - alpha)^c_s.

    Args:
        judgments: [P, S] judgments; >= rel covers.
        ids: [P] document ids; ties go to the larger id, as in ndeval. Without ids, to the smaller index.
        alpha: redundancy intolerance, 0 to 1.
        rel: relevance level.
        weights: [S] subtopic weights; 1 each where absent.
        depth: how many ranks; all P where absent.

    Returns:
        [min(depth, P)] int64 indices into judgments, best first.
    """
    table = np.asarray(judgments)
    reference = IdealPool(table if table.dtype == np.bool_ else table >= rel, ids, weights)
    order = reference.order
    covers = reference.pool[order].astype(np.bool_)[None]
    rankings, _ = greedy_by_novelty(covers, reference.weights[None], alpha, depth or len(table))
    ranking: IntArray = order[rankings[0]]
    return ranking


def preference(count: int, ids: Sequence[str] | None) -> IntArray:
    """[count] int64, document indices so that of two equal gains the earlier wins: larger id, else smaller index."""
    if ids is None:
        return np.arange(count, dtype=np.int64)
    return np.array(sorted(range(count), key=ids.__getitem__, reverse=True), dtype=np.int64)
