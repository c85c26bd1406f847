"""Differences between rankers by every measure of a table, tested and adjusted over all that are shown together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np

from srd_gym.checks import check_option
from srd_train.report.significance import (
    Scores,
    difference_interval,
    holm,
    paired_test,
    randomisation_tests,
    wins_ties_losses,
)
from srd_train.report.tables import ResultTable, Verdict, sign_of, verdict_of

Test = Literal["t", "randomisation"]
TESTS: dict[Test, str] = {
    "t": "two-sided paired t-test over topics",
    "randomisation": "two-sided paired randomisation test over topics",
}
"""Test -> how captions call it."""


@dataclass(frozen=True, kw_only=True)
class Difference:
    """One ranker's mean less a baseline's, by one measure."""

    measure: str
    ranker: str
    baseline: str
    mean: float
    """Mean of the ranker less that of the baseline."""
    interval: tuple[float, float]
    """Its 95% interval, by Student's t."""
    raw_p_value: float
    """Two-sided p of the paired test."""
    p_value: float
    """The same, Holm-adjusted over all differences that are shown together."""
    wins_ties_losses: tuple[int, int, int]
    """Topics on which the ranker is better than the baseline, as good, and worse."""

    @property
    def verdict(self) -> Verdict:
        """The ranker's place against the baseline, by the adjusted p."""
        return verdict_of(self.p_value, self.mean)


def differences(table: ResultTable, *, pairs: bool = False, test: Test = "t") -> tuple[Difference, ...]:
    """The differences that a table shows, by every measure.

    Rankers that read the judgments, or were trained with too few seeds, are not tested.

    Args:
        table: of `complete_tables`.
        pairs: compare all pairs, the one that is earlier in the table with the later one; else each ranker is compared
            with the table's reference.
        test: "t", over topics and seeds; or "randomisation", of the means over seeds.

    Returns:
        Measure by measure; p is Holm-adjusted over all of them.

    Raises:
        ValueError: an unknown test.
    """
    check_option("test", test, tuple(TESTS))
    baseline = table.reference
    tested = [row.ranker for row in table.rows if not row.reads_judgments and not row.too_few_seeds]
    if pairs:
        compared = list(combinations(tested, 2))
    else:
        compared = [(name, baseline) for name in tested if name != baseline and baseline in tested]
    chosen = [(measure, *both) for measure in table.measures for both in compared]
    scores = [(table.scores[measure][one], table.scores[measure][other]) for measure, one, other in chosen]
    raw = _p_values(scores, test)
    return tuple(
        Difference(
            measure=measure,
            ranker=ranker,
            baseline=other,
            mean=float(first.mean() - second.mean()),
            interval=difference_interval((first, second)),
            raw_p_value=p_value,
            p_value=adjusted,
            wins_ties_losses=wins_ties_losses(sign_of(measure) * first, sign_of(measure) * second),
        )
        for (measure, ranker, other), (first, second), p_value, adjusted in zip(
            chosen, scores, raw, holm(raw), strict=True
        )
    )


def _p_values(scores: Sequence[tuple[Scores, Scores]], test: Test) -> list[float]:
    """Two-sided p of each pair of [S, T] and [S', T] scores."""
    if test == "t" or not scores:
        return [paired_test(pair) for pair in scores]
    return randomisation_tests(np.stack([first.mean(axis=0) - second.mean(axis=0) for first, second in scores]))
