"""One claim: a sentence that compares systems, and what the stored scores must say for it to stand."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Literal

from srd_train.report.significance import difference_interval, holm, paired_test
from srd_train.report.tables import FEWEST_SEEDS, ResultTable
from studies.claims.stored import Stored, mean_of, row_of, scores_of

DECIMAL = re.compile(r"(?<![\w.])\d+\.(\d+)(?![\w]|\.\d)")
"""A number with decimals, no part of a version or a name."""


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A `[[claim]]` of docs/claims.toml. It must hold on each of its topic sets."""

    id: str
    sentence: str
    """As it stands on a page: a sentence, a part of one or a cell of a table. Each number in it with decimals must be a
    figure of the claim: a mean, a difference, an end of its interval, a p value, a cost."""
    recipe: str
    """Whose stored scores bear it."""
    topics: Sequence[str] = ()
    """Topic sets of the recipe, or its macro-averages; none named: all topic sets."""
    rows: tuple[str, ...]
    """The first is held against each of the others; all of them where the relation takes a `value`."""
    relation: Literal["greater", "at_least", "not_worse", "significant", "level"]
    """greater: a higher mean. significant: greater, with a paired test's p below `p`, adjusted by Holm's method over
    the recipe's significant claims. not_worse: the 95% interval of the difference stays above -`margin`. level: p is
    at least `p`. at_least: every row's mean is at least `value`, or the first's at least `times` each other's."""
    measure: str = ""
    """Of the table, or a cost: fit_cpu_seconds, rank_milliseconds, environment_steps; empty: the first measure."""
    p: float = 0.05
    margin: float = 0.0
    value: float | None = None
    times: float | None = None

    def __post_init__(self) -> None:
        """Refuse what cannot be checked."""
        alone = self.relation == "at_least" and self.value is not None
        if not alone and len(self.rows) < 2:
            raise ValueError(
                f"claim {self.id!r}: expected two rows or more for {self.relation!r}, got {list(self.rows)}"
            )
        if self.relation == "at_least" and (self.value is None) == (self.times is None):
            raise ValueError(f"claim {self.id!r}: at_least takes either a `value` or `times`")


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """The first row of a claim and another one on one topic set."""

    claim: Claim
    topics: str
    other: str
    means: tuple[float, float]
    p: float | None
    """Of the paired test, not adjusted; None of a cost, which has no topics."""
    interval: tuple[float, float] | None

    @property
    def figures(self) -> list[float]:
        """What its sentence can say."""
        one, other = self.means
        ratios = [one / other] if other else []
        ratios += [other / one] if one else []
        rest = [] if self.interval is None else list(self.interval)
        return [one, other, abs(one - other), *ratios, *map(abs, rest), *([] if self.p is None else [self.p])]

    def __str__(self) -> str:
        shown = "p = -" if self.p is None else f"p = {self.p:.3g}"
        return f"{self.topics}: {self.claim.rows[0]} {self.means[0]:.4f}, {self.other} {self.means[1]:.4f}, {shown}"


def faults(claims: Sequence[Claim], stored: Stored) -> Iterator[str]:
    """What the stored scores do not bear, a line each."""
    compared: dict[str, list[Comparison]] = {}
    for claim in claims:
        try:
            compared[claim.id] = list(comparisons(claim, stored))
        except (ValueError, FileNotFoundError) as error:
            yield f"claim {claim.id!r}: {error}"
    adjusted = _adjusted([one for several in compared.values() for one in several])
    for claim in claims:
        for one in compared.get(claim.id, ()):
            if not _holds(one, adjusted.get(id(one), 1.0)):
                yield f"claim {claim.id!r} ({claim.relation}) no longer holds on {one}"
        yield from _unborne(claim, compared.get(claim.id, ()))


def comparisons(claim: Claim, stored: Stored) -> Iterator[Comparison]:
    """The first row against each of the others, on each topic set.

    Raises:
        ValueError: cells that do not exist, or a trained row of fewer than three seeds.
    """
    names = claim.topics or [table.topics for table in stored.tables(claim.recipe)]
    others = claim.rows if claim.value is not None else claim.rows[1:]
    for name in names:
        collections = stored.collections(claim.recipe, name)
        for row, table in product(claim.rows, (table for several in collections for table in several)):
            if row_of(table, row).too_few_seeds:
                seeds = len(row_of(table, row).seeds)
                raise ValueError(f"{row!r} on {name} has {seeds} seed(s); a trained row needs {FEWEST_SEEDS}")
        for other in others:
            yield _compared(claim, name, collections, other)


def _compared(claim: Claim, topics: str, collections: list[list[ResultTable]], other: str) -> Comparison:
    """Two rows on one topic set, or on the collections of a macro-average."""
    first = other if claim.value is not None else claim.rows[0]
    costs = [row_of(collections[0][0], name).medians.get(claim.measure) for name in (first, other)]
    if costs[0] is not None and costs[1] is not None:
        return Comparison(claim=claim, topics=topics, other=other, means=(costs[0], costs[1]), p=None, interval=None)
    one, two = (scores_of(collections, name, claim.measure) for name in (first, other))
    pairs = list(zip(one, two, strict=True))
    return Comparison(
        claim=claim,
        topics=topics,
        other=other,
        means=(mean_of(one), mean_of(two)),
        p=paired_test(*pairs),
        interval=difference_interval(*pairs),
    )


def _adjusted(found: Sequence[Comparison]) -> Mapping[int, float]:
    """Comparison of a significant claim -> its p value, adjusted over those of its recipe."""
    adjusted: dict[int, float] = {}
    tested = [one for one in found if one.claim.relation == "significant"]
    for recipe in {one.claim.recipe for one in tested}:
        own = [one for one in tested if one.claim.recipe == recipe]
        adjusted |= zip(map(id, own), holm([1.0 if one.p is None else one.p for one in own]), strict=True)
    return adjusted


def _holds(one: Comparison, adjusted: float) -> bool:
    """Whether a comparison bears its claim."""
    claim, (first, other) = one.claim, one.means
    if claim.relation == "greater":
        return first > other
    if claim.relation == "significant":
        return first > other and adjusted < claim.p
    if claim.relation == "not_worse":
        return one.interval is not None and one.interval[0] > -claim.margin
    if claim.relation == "level":
        return one.p is not None and one.p >= claim.p
    return first >= (claim.value if claim.value is not None else (claim.times or 0) * other)


def _unborne(claim: Claim, found: Sequence[Comparison]) -> Iterator[str]:
    """The numbers in a sentence that are none of its figures."""
    figures = [claim.p, claim.margin, *(each for each in (claim.value, claim.times) if each is not None)]
    figures += [figure for one in found for figure in one.figures]
    for number in DECIMAL.finditer(claim.sentence) if found else ():
        room = 0.5 * 10.0 ** -len(number[1]) + 1e-9
        if not any(abs(figure - float(number[0])) <= room for figure in figures):
            shown = "; ".join(str(one) for one in found)
            yield f"claim {claim.id!r}: {number[0]} is no figure of it ({shown})"
