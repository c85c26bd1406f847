"""The one form that every measure takes: a value with parameters, bound to topics as plain arrays.

Most are cascades: a subtopic that is covered again is worth (1 - alpha) times as much each time. Of a topic a measure
needs its `IdealPool`: the documents that the ideal ranking is made of, and the ideal itself.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import Field, dataclass, field, fields, replace
from typing import ClassVar, Literal, Self

import numpy as np

from srd_gym.checks import check_integer, check_number, check_option, finite_numbers
from srd_gym.dtypes import IntArray, ScoreArray
from srd_gym.measures.bound import BoundMeasure, Term, geometric_novelty
from srd_gym.measures.ideal import NORMALIZERS, IdealPool, Normalizer, ideal_gains
from srd_gym.reading import shown
from srd_gym.showing import short_repr

Normalization = Literal["ndeval", "chapelle"]


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

    `str(measure)` is the notation that `srd_gym.measures.parse_measure` reads back; defaults are left out.
    `measure @ 5` is the same measure at cutoff 5. A measure of the user's own is a subclass with `_terms`; parameters
    make it a frozen, keyword-only dataclass. Notation reads it once `add_measure` knows it; all else needs no
    registration.
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

    def __init_subclass__(cls, **options: object) -> None:
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


def parameters(kind: type[Measure]) -> list[Field[object]]:
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
