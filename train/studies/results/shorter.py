"""Tables of a benchmark as the pages show them: without columns that others imply, and each note once."""

from __future__ import annotations

import re

LEFT_OUT = {"wins / ties / losses", "alpha_nDCG@5", "StRecall@5", "episodes"}
"""Columns that `srd benchmark` writes and the pages do not show; the stored scores have them."""
_BY_TOPIC_SET = re.compile(r"[^\n]*, by topic set:\n\n\|[^\n]*(?:\n\|[^\n]*)*\n\n")
_SETS = re.compile(r"topics, (\d+) sets\)")
_LEGEND = re.compile(r"^Interval: 95% of the mean, over topics and seeds\..*$", re.MULTILINE)
_REPEATED = (
    "Simulated vectors were drawn from the judgments: compare learners by them, not texts.",
    "Reads the judgments, so an upper bound and not a competitor: oracle.",
)
"""Notes below every table, which are left below the first."""


def shorter(part: str) -> str:
    """The part of a page that `recipe_part` makes, without what the page says elsewhere.

    How to read the columns is on results.md. Means by topic set go where every collection is a single set: they are
    the means by collection.
    """
    if set(_SETS.findall(part)) == {"1"}:
        part = _BY_TOPIC_SET.sub("", part)
    for note in _REPEATED:
        before, found, after = part.partition(note)
        part = before + found + after.replace(f"{note} ", "").replace(note, "")
    part = _LEGEND.sub("[How to read the columns](../results.md#how-to-read-them).", part)
    return re.sub(r"\n{3,}", "\n\n", "\n".join(_narrower(part.split("\n"))))


def _narrower(lines: list[str]) -> list[str]:
    """The lines, tables among them without the columns that are left out."""
    made: list[str] = []
    columns: list[int] = []
    for line in lines:
        if not line.startswith("| "):
            columns = []
        else:
            cells = line.strip("| ").split(" | ")
            columns = columns or [place for place, head in enumerate(cells) if head not in LEFT_OUT]
            line = f"| {' | '.join(cells[place] for place in columns)} |"
        made.append(line)
    return made
