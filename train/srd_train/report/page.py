"""The page: one file with its styles, scripts and data in it, that loads nothing and runs nothing but its own scripts.

Texts of the results are data everywhere: the template escapes them, data blocks hold no `<`, scripts only ever set the
text of elements, and a content security policy names the scripts and styles by their hashes.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from srd_train.experiment.provenance import versions
from srd_train.report.columns import SIGNS, columns, notes
from srd_train.report.comparison import Comparison, Standing
from srd_train.report.description import Description
from srd_train.report.payload import Part, payload
from srd_train.report.results import Problem

SCRIPTS = ("elements.js", "scales.js", "tables.js", "charts.js", "pairs.js", "explorer.js", "start.js")
"""In this order they make one script."""
PAGE_BYTES = 15_000_000
"""A page stays below."""
LIST_BYTES = 9_000_000
"""Of these, what rankings and texts may take."""
_PLOT_WIDTH, _PLOT_HEIGHT = 120, 16
_KINDS = {
    "failed": "Cells that failed",
    "unreadable": "Records that cannot be read",
    "version": "Records of another version",
    "twice": "Cells that were run again",
    "incomplete": "Rankers that were not run on all topics",
    "run": "Rankings that cannot be read",
    "texts": "Topics that cannot be shown",
    "left out": "Left out for size",
}


@dataclass(frozen=True, kw_only=True)
class _Cell:
    """A cell of a table."""

    text: str
    small: str
    key: str
    """What it is sorted by: a number, or nothing."""


def page(parts: Sequence[Part], description: Description, problems: Sequence[Problem]) -> str:
    """The whole page as HTML.

    Args:
        parts: one for each topic set.
        description: what it is about.
        problems: all that is lacking.

    Raises:
        ImportError: jinja2 is not installed.
    """
    try:
        import jinja2
    except ImportError as error:
        raise ImportError('reports need jinja2: pip install "srd-gym[report]"') from error

    data, left_out = payload(parts)
    problems = [*problems, *left_out]
    script = "\n".join(["(() => {", '"use strict";', *(_file(name) for name in SCRIPTS), "})();"])
    style = _file("page.css")
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True)
    environment.lstrip_blocks = True
    template = environment.from_string(_file("page.html"))
    text = template.render(
        description=description,
        policy=_policy(script, style),
        style=_trusted(style),
        script=_trusted(script),
        data=_trusted(embedded(data)),
        lists=[_trusted(embedded(part.lists.topics)) for part in parts],
        tables=[_table(part.comparison, data["styles"]) for part in parts],
        problems=[(_KINDS[kind], [p for p in problems if p.kind == kind]) for kind in _KINDS],
        any_problem=bool(problems),
        made=_made(parts),
        version=versions().get("srd-gym", ""),
        learned=any(entry["curves"] for entry in data["sets"]),
    )
    return text.encode("utf-8", errors="replace").decode("utf-8")


def embedded(value: Any) -> str:
    """A value as JSON that stays inside its element: no `<`, `>` or `&`, and ASCII throughout."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _policy(script: str, style: str) -> str:
    """What the browser may do: run this script and use this style, and nothing else."""

    def named(text: str) -> str:
        return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii")

    return (
        f"default-src 'none'; script-src 'sha256-{named(script)}'; style-src 'sha256-{named(style)}'; "
        "base-uri 'none'; form-action 'none'"
    )


def _file(name: str) -> str:
    """One of the page's own files."""
    return Path(str(resources.files("srd_train.report") / "templates" / name)).read_text(encoding="utf-8")


def _trusted(text: str) -> Any:
    """Our own text, or text made safe by `embedded`: the template leaves it as it is."""
    from markupsafe import Markup

    return Markup(text)


def _table(comparison: Comparison, styles: dict[str, int]) -> dict[str, Any]:
    """A result table for the template."""
    shown = columns(comparison)
    table = comparison.table
    competing = [s for s in comparison.standings if not s.reads_judgments] or list(comparison.standings)
    best = max(s.row.means[table.measures[0]] for s in competing)
    span = _span(comparison)
    return {
        "title": table.title,
        "marks": table.marks,
        "heads": [column.head for column in shown],
        "notes": notes(comparison),
        "rows": [
            {
                "ranker": s.row.ranker,
                "style": styles[s.row.ranker],
                "reads": s.reads_judgments,
                "reference": s.row.ranker == table.reference,
                "best": not s.reads_judgments and s.row.means[table.measures[0]] == best,
                "verdict": s.verdict,
                "sign": SIGNS[s.verdict],
                "plot": _plot(s, table.measures[0], span),
                "cells": [_cell(column.text(s), column.small(s), column.value(s)) for column in shown],
            }
            for s in comparison.standings
        ],
    }


def _cell(text: str, small: str, value: float | None) -> _Cell:
    """A cell with its sorting key."""
    return _Cell(text=text, small=small, key="" if value is None else repr(float(value)))


def _span(comparison: Comparison) -> tuple[float, float]:
    """The range of the small interval plots: the first measure's intervals of those that compete."""
    name = comparison.table.measures[0]
    competing = [s for s in comparison.standings if not s.reads_judgments] or comparison.standings
    ends = [end for s in competing for end in s.row.intervals[name]]
    low, high = min(ends), max(ends)
    return (low, high) if high > low else (low - 0.5, high + 0.5)


def _plot(standing: Standing, name: str, span: tuple[float, float]) -> dict[str, float] | None:
    """Where mean and interval stand in a small plot; None where they are far off (an oracle's)."""

    def x(value: float) -> float:
        return round(4 + (value - span[0]) / (span[1] - span[0]) * (_PLOT_WIDTH - 8), 1)

    low, high = standing.row.intervals[name]
    if low < span[0] or high > span[1]:
        return None
    return {
        "low": x(low),
        "high": x(high),
        "mean": x(standing.row.means[name]),
        "width": _PLOT_WIDTH,
        "height": _PLOT_HEIGHT,
        "middle": _PLOT_HEIGHT / 2,
    }


def _made(parts: Sequence[Part]) -> dict[str, Any]:
    """Where the records come from."""
    records = [record for part in parts for record in part.comparison.records]
    sizes = sorted(len(part.comparison.topic_ids) for part in parts)
    software = sorted({f"{name} {number}" for r in records for name, number in (r.get("versions") or {}).items()})
    return {
        "cells": len(records),
        "rankers": len({record["ranker"] for record in records}),
        "topics": f"{sizes[0]:,}" if sizes[0] == sizes[-1] else f"{sizes[0]:,} to {sizes[-1]:,}",
        "sets": len(parts),
        "commits": sorted({str(record.get("commit") or "unknown") for record in records}),
        "software": software,
    }
