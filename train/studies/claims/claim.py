"""Whether the stored scores bear a claim, and the numbers in its sentence."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from srd_train.report.significance import difference_interval, holm, paired_test
from srd_train.report.tables import FEWEST_SEEDS, ResultTable
from studies.claims.book import Claim
from studies.claims.stored import Stored, mean_of, row_of, scores_of

DECIMAL = re.compile(r"(?<![\w.])\d+\.(\d+)(?![\w]|\.\d)")
"""A number with decimals, no part of a version or a name."""


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
    adjusted: dict[int, float] = {}
    for recipe in {claim.recipe for claim in claims}:
        tested = [one for several in compared.values() for one in several if one.claim.recipe == recipe]
        tested = [one for one in tested if one.claim.relation == "significant"]
        adjusted |= zip(map(id, tested), holm([1.0 if one.p is None else one.p for one in tested]), strict=True)
    for claim in claims:
        for one in compared.get(claim.id, ()):
            if not _holds(one, adjusted.get(id(one), 1.0)):
                yield f"claim {claim.id!r} ({claim.relation}) no longer holds on {one}"
        yield from _unborne(claim, compared.get(claim.id, ()))


def comparisons(claim: Claim, stored: Stored) -> Iterator[Comparison]:
    """The first row against each of the others, on each topic set; ValueError where cells or seeds are missing."""
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
    means, p, interval = (mean_of(one), mean_of(two)), paired_test(*pairs), difference_interval(*pairs)
    return Comparison(claim=claim, topics=topics, other=other, means=means, p=p, interval=interval)


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
