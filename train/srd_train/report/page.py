"""The page: one file with its styles, scripts and data in it, that loads nothing and runs nothing but its own scripts.

Texts of the results are data everywhere: the template escapes them, data blocks hold no `<`, scripts only ever set the
text of elements, and a content security policy names the scripts and styles by their hashes.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from srd_train.experiment.fit import versions
from srd_train.report.columns import LEGEND, Column, columns, notes
from srd_train.report.description import Description
from srd_train.report.payload import Part, payload
from srd_train.report.results import Problem
from srd_train.report.tables import ResultTable, Row

SCRIPTS = ("elements.js", "scales.js", "tables.js", "charts.js", "pairs.js", "explorer.js", "start.js")
"""In this order they make one script."""
PAGE_BYTES = 15_000_000
"""A page stays below."""
RANKING_BYTES = 9_000_000
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


def page(parts: Sequence[Part], description: Description, problems: Sequence[Problem]) -> str:
    """The whole page as HTML.

    Args:
        parts: one for each topic set.
        description: title and text of the head.
        problems: all that is missing.

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
        lists=[_trusted(embedded(part.rankings.topics)) for part in parts],
        tables=[_table(part.table, data["styles"]) for part in parts],
        legend=LEGEND,
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


def _table(table: ResultTable, styles: dict[str, int]) -> dict[str, Any]:
    """A result table for the template."""
    _, *numbers = columns(table)
    first = table.measures[0]
    best = max(row.means[first] for row in table.competitors)
    ends = [end for row in table.competitors for end in row.intervals[first]]
    return {
        "title": table.title,
        "marks": table.marks,
        "heads": [column.head for column in numbers if column.below is None],
        "notes": notes(table),
        "rows": [
            {
                "ranker": row.ranker,
                "style": styles[row.ranker],
                "reads": row.reads_judgments,
                "reference": row.ranker == table.reference,
                "best": not row.reads_judgments and row.means[first] == best,
                "verdict": row.verdict,
                "plot": _plot(row, first, min(ends), max(ends)),
                "cells": _cells(row, numbers),
            }
            for row in table.rows
        ],
    }


def _cells(row: Row, shown: Sequence[Column]) -> list[dict[str, str]]:
    """The cells of a row: text, second line, and the number that it is sorted by, where there is one."""
    cells: dict[str, dict[str, str]] = {}
    for column in shown:
        value = column.value(row)
        if column.below is not None:
            cells[column.below]["small"] = column.text(row)
        else:
            key = "" if value is None else repr(float(value))
            cells[column.head] = {"text": column.text(row), "small": "", "key": key}
    return list(cells.values())


def _plot(row: Row, name: str, lowest: float, highest: float) -> dict[str, float] | None:
    """Where mean and interval stand in a small plot of the competitors' range; None where they are outside of it."""

    def x(value: float) -> float:
        share = (value - lowest) / (highest - lowest) if highest > lowest else 0.5
        return round(4 + share * (_PLOT_WIDTH - 8), 1)

    low, high = row.intervals[name]
    if low < lowest or high > highest:
        return None
    return {
        "low": x(low),
        "high": x(high),
        "mean": x(row.means[name]),
        "width": _PLOT_WIDTH,
        "height": _PLOT_HEIGHT,
        "middle": _PLOT_HEIGHT / 2,
    }


def _made(parts: Sequence[Part]) -> dict[str, Any]:
    """Where the records come from."""
    records = [record for part in parts for record in part.table.records]
    sizes = sorted(part.table.tested for part in parts)
    software = sorted({f"{name} {number}" for r in records for name, number in r["versions"].items()})
    return {
        "cells": len(records),
        "rankers": len({record["ranker"] for record in records}),
        "topics": f"{sizes[0]:,}" if sizes[0] == sizes[-1] else f"{sizes[0]:,} to {sizes[-1]:,}",
        "sets": len(parts),
        "commits": sorted({str(record["commit"] or "unknown") for record in records}),
        "software": software,
    }
