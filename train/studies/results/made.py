"""Parts of pages that are made from stored scores, by the words in the comment before them.

A part stands between `<!-- KIND:` with its lines `-->` and `<!-- end -->`. Semicolons divide the fields of a line:

compare     RECIPE; TOPICS; ROW; ROW[; MEASURE]      a sentence each
gains       LABEL; RECIPE; TOPICS; ROW; ROW          a table of the same
picture     FILE, then lines of gains                a picture of the same
curves      FILE, then lines of reach                a picture of scores over the lists shown in training
reach       RECIPE; TOPICS; ROWS                     a table: the fewest lists to a mean of 0.90, by curve
worth       RECIPE; TOPICS; ROWS                     a table: as many lists of the first curve, by score
            (in these three * in ROWS stands for any letters; rows "NAME, 4,800 lists", ... are the curve NAME)
costs       FILE, then lines RECIPE; TOPICS; ROW     a picture of gains over a row against the time of training
sizes       FILE, then a line RECIPE[; ROW]...       a picture of scores by training queries, without these rows
decision    RECIPE; TOPICS; ROW; ORDER; MMR          the last three columns of the table below, a line a row
table       RECIPE; TOPICS                           a short table
pages       all                                      the list of all pages
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from srd_train.report.markup import markdown, p_text, short
from studies.results.curve import reach, worth
from studies.results.stored import Compared, Stored, few_text

Lines = Sequence[Sequence[str]]
"""Fields of each line."""
PART = re.compile(r"<!-- (\w+):[ \n]((?:(?!-->).)*)-->\n((?:(?!<!-- \w+:).)*?)<!-- end -->", re.DOTALL)
MARKED = re.compile(r"<!-- ([^\n]*?): begin -->\n(.*?)<!-- \1: end -->", re.DOTALL)
STALE = re.compile(r"<!-- stale:(.*?)-->", re.DOTALL)
"""Names of the pages whose commits the main history lacks, on results.md."""


def compare(lines: Lines, stored: Stored) -> str:
    """Sentences."""
    each = [stored.compared(*line) for line in lines]
    return "\n".join(f"- {sentence(one, stored.page(one.recipe))}" for one in each)


def sentence(one: Compared, page: str) -> str:
    """Two rows compared, in the words that their tests allow; the page shows their table."""
    first, second = (f"`{name}`" for name in one.rows)
    figures = f"{one.means[0]:.3f} and {one.means[1]:.3f}, {_difference(one)}"
    where = f"{one.topics}, [{one.recipe}](results/{page})"
    verb = {
        "above": f"{first} is above {second}",
        "below": f"{first} is below {second}",
        "": f"{first} and {second} were {few_text(one)}",
    }.get(one.verb, f"{first} and {second} {'show' if one.verb.startswith('no ') else 'are'} {one.verb}")
    return f"{verb} ({figures}{'' if one.p is None else ', ' + _p(one)}; {where})."


def gains(lines: Lines, stored: Stored) -> str:
    """A table of comparisons."""
    rows = []
    for label, *names in lines:
        one = stored.compared(*names)
        verdict = one.verb or f"- ({one.few})"
        rows.append([label, *(f"`{name}`" for name in one.rows), f"{one.means[0]:.3f}", _difference(one), verdict])
    return markdown(
        ("topics", "ranker", "compared with", "mean", "difference [95% interval]", "verdict"), rows, words=3
    )


def decision(lines: Lines, stored: Stored, table: str) -> str:
    """Which ranker to use where: a written table whose last three columns are made.

    Args:
        lines: one for each row of the table.
        stored: the scores.
        table: the one that stands on the page.
    """
    heads, _, *written = table.splitlines()
    if len(lines) != len(written):
        raise ValueError(f"a decision has {len(written)} rows, and lines for {len(lines)}; expected one each")
    rows = []
    for (recipe, topics, ranker, order, mmr), text in zip(lines, written, strict=True):
        row = stored.row(recipe, topics, ranker)
        fit, rank = (row.medians.get(key, 0.0) for key in ("fit_cpu_seconds", "rank_milliseconds"))
        cost = f"{short(fit)} s, {short(rank)} ms" if row.trained else f"{short(rank)} ms"
        differences = [
            _difference(stored.compared(recipe, topics, ranker, one)) if one else "-" for one in (order, mmr)
        ]
        rows.append([*_cells(text)[:WRITTEN], *differences, cost])
    return markdown(_cells(heads), rows, words=WRITTEN)


def written(part: re.Match[str]) -> str:
    """The words of a part that are written by hand: the first columns of a decision, nothing of other kinds."""
    lines = part[3].splitlines() if part[1] == "decision" else []
    return "\n\n".join(["", *(cell for line in lines for cell in _cells(line)[:WRITTEN]), ""])


def _cells(line: str) -> list[str]:
    """The cells of a line of a table."""
    return line.strip("| ").split(" | ")


def table(lines: Lines, stored: Stored) -> str:
    """The rows of a topic set in six columns."""
    parts = []
    for recipe, topics in lines:
        made = next(table for table in stored.tables(recipe) if table.topics == topics)
        measure, rows = made.measures[0], []
        for row in made.rows:
            less = "-"
            if row.ranker != made.reference and not row.reads_judgments:
                less = _difference(stored.compared(recipe, topics, row.ranker, made.reference))
            p_value = "-" if row.p_value is None else p_text(row.p_value)
            costs = [short(row.medians[key]) for key in ("fit_cpu_seconds", "rank_milliseconds")]
            rows.append([f"`{row.ranker}`", f"{row.means[measure]:.3f}", less, p_value, *costs])
        heads = ("ranker", measure, f"minus {made.reference} [95% interval]", "p", "training, CPU s", "ms per query")
        parts.append(markdown(heads, rows))
    return "\n\n".join(parts)


def pages(stored: Stored, stale: Sequence[str] = ()) -> str:
    """All pages of results by their titles, and the scores that lie beside them."""
    rows = []
    for recipe in stored.recipes:
        title, page = stored.recipe(recipe).title, stored.page(recipe)
        if page == f"{recipe}.md":
            title = (stored.folder / page).read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")
        scores = f"[scores](results/{recipe}.parquet)" + (" (stale)" if recipe in stale else "")
        rows.append([f"[{recipe}](results/{page})", title, scores])
    return markdown(("page", "what", "scores"), rows, words=3)


WRITTEN = 3
"""Columns of a decision that are written by hand."""
PICTURES = {
    "picture": "Differences with their 95% intervals",
    "costs": "Gain of each ranker over MMR against the processor seconds of its training",
    "curves": "Scores over the lists shown in training",
    "sizes": "Scores on the test queries by the number of training queries",
}
"""Kinds of pictures, and their texts for those who do not see them."""
FIELDS = {
    "compare": (4, 5),
    "gains": (5, 6),
    "decision": (5,),
    "table": (2,),
    "reach": (3,),
    "worth": (3,),
}
"""Numbers of fields that a line of each kind may have."""
KINDS: Mapping[str, Callable[[Lines, Stored], str]] = {
    "compare": compare,
    "gains": gains,
    "table": table,
    "reach": reach,
    "worth": worth,
}


def remade(text: str, path: Path, stored: Stored, folder: str = "") -> str:
    """A page with its generated parts as the stored scores make them now; what else it says stays.

    Args:
        text: of the page.
        path: of the page; that of a recipe is called like it.
        stored: the scores.
        folder: of the documentation, as the page's links name it.
    """
    beside = path.parent == stored.folder
    name = path.stem if beside else ""
    if name in stored.recipes and f"<!-- {name}: begin -->" not in text:
        title = stored.recipe(name).title
        text = f"# {title}\n\n<!-- {name}: begin -->\n<!-- {name}: end -->\n"

    def part(found: re.Match[str]) -> str:
        kind, words = found[1], found[2]
        if kind in PICTURES:
            file = words.strip().partition("\n")[0].strip()
            new = f"![{PICTURES[kind]}]({folder}{file})"
        elif kind == "pages":
            new = pages(stored, stale_pages(text))
        elif kind in FIELDS:
            lines = _lines(path, kind, words)
            if kind == "decision":
                new = decision(lines, stored, found[3])
            else:
                new = KINDS[kind](lines, stored).replace("](results/", "](" if beside else f"]({folder}results/")
        else:
            raise ValueError(f"{path.name}: no part is called {kind!r}; expected one of {', '.join(FIELDS)}")
        return f"<!-- {kind}:{found[0][len(kind) + 6]}{words}-->\n{new}\n<!-- end -->"

    def marked(found: re.Match[str]) -> str:
        if found[1] not in stored.recipes:
            return found[0]
        return f"<!-- {found[1]}: begin -->\n{stored.part(found[1])}\n<!-- {found[1]}: end -->"

    return PART.sub(part, MARKED.sub(marked, text))


def _lines(path: Path, kind: str, words: str) -> Lines:
    """The lines of a part of a page, with as many fields as its kind takes."""
    lines = fields(words)
    for line in lines:
        if len(line) not in FIELDS[kind]:
            raise ValueError(f"{path.name}: {kind} takes {FIELDS[kind][0]} fields, got {'; '.join(line)!r}")
    return lines


def fields(words: str) -> Lines:
    """The lines of a part's comment."""
    return [[field.strip() for field in line.split(";")] for line in words.strip().splitlines() if line.strip()]


def stale_pages(text: str) -> list[str]:
    """Names of the pages that are listed as stale."""
    return [name.strip() for found in STALE.findall(text) for name in found.split(";") if name.strip()]


def _difference(one: Compared) -> str:
    """With its interval, bold where the adjusted test says so."""
    value = f"{round(one.difference, 3) + 0.0:+.3f}"  # no -0.000
    mark = "**" if one.verb in ("above", "below") else ""
    return f"{mark}{value}{mark} [{one.interval[0]:+.3f}, {one.interval[1]:+.3f}]"


def _p(one: Compared) -> str:
    """Its p value, adjusted over the page."""
    text = p_text(one.p or 0.0)
    return f"adjusted p {text}" if text.startswith("<") else f"adjusted p = {text}"
