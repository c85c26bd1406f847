"""Differences between rankers by every measure of a table, tested and adjusted over all that are shown together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from string import ascii_lowercase
from typing import Literal

import numpy as np
from scipy import stats

from srd_gym.checks import check_option
from srd_train.report.significance import (
    ROUNDING,
    Scores,
    by_topic,
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
Adjust = Literal["all", "measure", "none", "tukey"]
ADJUSTMENTS: tuple[Adjust, ...] = ("all", "measure", "none", "tukey")
"""Families that p values are adjusted over: every comparison shown (Holm), those of each measure (Holm), none; or all
pairs by each measure (Tukey's honestly significant difference)."""


@dataclass(frozen=True, kw_only=True)
class Difference:
    """One ranker's mean minus a baseline's, by one measure."""

    measure: str
    ranker: str
    baseline: str
    mean: float
    """Mean of the ranker minus that of the baseline."""
    interval: tuple[float, float]
    """Its 95% interval, by Student's t."""
    raw_p_value: float
    """Two-sided p of the paired test."""
    p_value: float
    """The same, adjusted over its family; Tukey's own where that is asked for."""
    family: str
    """The words for what p is adjusted over."""
    wins_ties_losses: tuple[int, int, int]
    """Topics on which the ranker is better than the baseline, as good, and worse."""

    @property
    def verdict(self) -> Verdict:
        """The ranker's place against the baseline, by the adjusted p."""
        return verdict_of(self.p_value, self.mean)


def differences(
    table: ResultTable, *, pairs: bool = False, test: Test = "t", adjust: Adjust = "all"
) -> tuple[Difference, ...]:
    """The differences that a table shows, by every measure.

    Rankers that read the judgments, or were trained with too few seeds, are not tested.

    Args:
        table: of `complete_tables`.
        pairs: compare all pairs, the one that is earlier in the table with the later one; else each ranker is compared
            with the table's reference.
        test: "t", over topics and seeds; or "randomisation", of the means over seeds.
        adjust: the family of tests, one of `ADJUSTMENTS`. "tukey" is a test of its own, of all pairs, over the means
            over seeds.

    Returns:
        Measure by measure.

    Raises:
        ValueError: an unknown test or adjustment, or "tukey" with another test or without pairs.
    """
    check_option("test", test, tuple(TESTS))
    check_option("adjust", adjust, ADJUSTMENTS)
    if adjust == "tukey" and (test != "t" or not pairs):
        raise ValueError(
            "adjust='tukey' is a test of all pairs at once: ask for all pairs (--pairs), and leave the test out"
        )
    baseline = table.reference
    tested = [row.ranker for row in table.rows if not row.reads_judgments and not row.too_few_seeds]
    if pairs:
        compared = list(combinations(tested, 2))
    else:
        compared = [(name, baseline) for name in tested if name != baseline and baseline in tested]
    chosen = [(measure, *both) for measure in table.measures for both in compared]
    scores = [(table.scores[measure][one], table.scores[measure][other]) for measure, one, other in chosen]
    raw = _p_values(scores, test)
    p_values, family = raw, "not adjusted"
    if adjust == "tukey" and len(tested) > 1:
        p_values = [p for name in table.measures for p in _tukey([table.scores[name][row] for row in tested])]
        family = f"Tukey's HSD of the {len(compared)} pairs by each measure"
    elif adjust == "measure" and len(raw) > 1:
        starts = range(0, len(raw), len(compared))
        p_values = [p for start in starts for p in holm(raw[start : start + len(compared)])]
        family = f"Holm-adjusted over the {len(compared)} comparisons by each measure"
    elif adjust == "all" and len(raw) > 1:
        p_values = holm(raw)
        family = f"Holm-adjusted over the {len(raw)} comparisons shown"
    return tuple(
        Difference(
            measure=measure,
            ranker=ranker,
            baseline=other,
            mean=float(first.mean() - second.mean()),
            interval=difference_interval((first, second)),
            raw_p_value=p_value,
            p_value=adjusted,
            family=family,
            wins_ties_losses=wins_ties_losses(sign_of(measure) * first, sign_of(measure) * second),
        )
        for (measure, ranker, other), (first, second), p_value, adjusted in zip(
            chosen, scores, raw, p_values, strict=True
        )
    )


def letters(rankers: Sequence[str], compared: Iterable[Difference]) -> dict[str, str]:
    """Letters of rankers, the fewest that insert-and-absorb finds: those that share one do not differ significantly.

    Piepho, "An algorithm for a letter-based representation of all-pairwise comparisons", J. Comput. Graph. Stat. 2004.

    Args:
        rankers: by name, in the order in which letters are given.
        compared: all pairs, by one measure.

    Returns:
        Ranker -> its letters; a number in brackets stands for a letter beyond z.
    """
    groups = [frozenset(rankers)]
    for each in compared:
        if each.verdict in ("above", "below"):
            pair = {each.ranker, each.baseline}
            halves = [group - {one} if pair <= group else group for group in groups for one in pair]
            distinct = dict.fromkeys(halves)
            groups = [group for group in distinct if not any(group < other for other in distinct)]
    groups.sort(key=lambda group: [rankers.index(name) for name in rankers if name in group])
    named = [ascii_lowercase[i] if i < len(ascii_lowercase) else f"({i + 1})" for i in range(len(groups))]
    return {
        name: "".join(letter for letter, group in zip(named, groups, strict=True) if name in group) for name in rankers
    }


def _tukey(scores: Sequence[Scores]) -> list[float]:
    """Tukey's honestly significant difference: p of each pair, in the order of `combinations`.

    The error is that of a two-way analysis of variance of topics and rankers (Carterette, TOIS 2012, "Multiple testing
    in statistical analysis of systems-based information retrieval experiments"). Without any error to divide by, p is
    that of `paired_test` of each pair, adjusted by Holm.

    Args:
        scores: [S, T] of each ranker; means over seeds count.
    """
    means = np.stack([by_topic(each) for each in scores])  # [M, T]
    rankers, topics = means.shape
    left = means - means.mean(axis=0) - means.mean(axis=1, keepdims=True) + means.mean()
    freedom = (rankers - 1) * (topics - 1)
    error = np.sqrt((left**2).sum() / max(freedom, 1) / topics)
    if error < ROUNDING:  # every ranker differs by the same on every topic, or there is one topic
        return holm([paired_test(pair) for pair in combinations(scores, 2)])
    apart = [abs(float(first.mean() - second.mean())) for first, second in combinations(means, 2)]
    return [float(stats.studentized_range.sf(each / error, rankers, freedom)) for each in apart]


def _p_values(scores: Sequence[tuple[Scores, Scores]], test: Test) -> list[float]:
    """Two-sided p of each pair of [S, T] and [S', T] scores."""
    if test == "t" or not scores:
        return [paired_test(pair) for pair in scores]
    return randomisation_tests(np.stack([by_topic(first) - by_topic(second) for first, second in scores]))
