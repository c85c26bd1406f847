"""Advice on lists, in one sentence with its reason: what was measured, or else what never did harm.

The rule and its error on collections that did not choose it: docs/audit_study.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from srd_train.report.actions import ORDER, REMOVE
from srd_train.report.differences import Difference

CROWDED = 0.5
"""Near-duplicates per page, and share of the largest source, from which on advice speaks of them."""
FEWEST = 20
"""Judged lists below which a gain is not trusted."""


@dataclass(frozen=True, kw_only=True)
class Advice:
    """An action and its reason."""

    action: Literal["keep the order", "remove copies", "cap sources", "MMR", "safe"]
    row: str
    """The row of the table that does it."""
    sentence: str
    """The advice with its reason."""


def measured(gains: Sequence[Difference], lists: int) -> Advice:
    """Advice where judgments tell the gain of each action.

    Args:
        gains: differences of the quality of actions from the order, adjusted over all of them.
        lists: judged lists.
    """
    others = [each for each in gains if each.ranker != ORDER]
    above = [each for each in others if each.verdict == "above"]
    best = max(above or others, key=lambda each: each.mean, default=None)
    if best is None:
        return Advice(action="keep the order", row=ORDER, sentence="Keep the order: no action tried changes a list.")
    told = f"{best.mean:+.3f} {best.measure} [{best.interval[0]:+.3f}, {best.interval[1]:+.3f}] on {lists} judged lists"
    if best.verdict == "above" and lists >= FEWEST:
        return Advice(
            action=_kind(best.ranker),
            row=best.ranker,
            sentence=f"Use {best.ranker}: it gains {told}, which also chose it.",
        )
    few = f", fewer than {FEWEST}" if lists < FEWEST else ""
    why = f"no action gains significantly; the best is {best.ranker}, {told}{few}"
    return Advice(action="keep the order", row=ORDER, sentence=f"Keep the order: {why}. Naming subtopics may help.")


def unmeasured(means: Mapping[str, Mapping[str, float]], k: int, *, scored: bool) -> Advice:
    """Advice without judgments.

    Args:
        means: row -> measure -> mean over lists.
        k: documents of a page.
        scored: whether scores or a run gave the order.
    """
    order = means[ORDER]
    copies, top = order[f"duplicates@{k}"], order.get(f"top_source@{k}", 0.0)
    crowded = f" One source has {top:.0%} of a page: a cap costs relevance, so judge some lists first." * (
        top >= CROWDED
    )
    row = next((name for name in means if name.startswith(REMOVE)), None)
    if copies >= CROWDED and row is not None:
        left, cost = (means[row][f"{name}@{k}"] for name in ("duplicates", "score"))
        why = f"of {k} documents {copies:.1f} repeat an earlier one, then {left:.1f}"
        paid = f", for {order[f'score@{k}'] - cost:.3f} of the mean score"
        return Advice(action="remove copies", row=row, sentence=f"Remove copies ({row}): {why}{paid}.{crowded}")
    why = f"of {k} documents {copies:.1f} repeat an earlier one, and no number that needs no judgments predicts a gain"
    if not scored:
        why += "; without scores, `safe` is the tested default"
    more = " To diversify, name subtopics or judge some lists."
    return Advice(action="keep the order", row=ORDER, sentence=f"Keep the order: {why}.{crowded}{more}")


def _kind(row: str) -> Literal["remove copies", "cap sources", "MMR", "safe"]:
    """The action of a row."""
    if row.startswith("MMR"):
        return "MMR"
    return "remove copies" if row.startswith(REMOVE) else "safe" if row.startswith("safe") else "cap sources"
