"""Result tables as Markdown and CSV, and parts of pages that are generated between marks, the text around them kept.

Texts from the results stay texts. One list of columns serves the terminal, Markdown and the page. A new
column is one entry of `columns`; numbers of the records are in `Row.medians` under their keys.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path

import numpy as np

from srd_gym.files import written_atomically
from srd_train.experiment.records import grouped
from srd_train.report.differences import Difference
from srd_train.report.significance import Scores, difference_interval
from srd_train.report.tables import FEWEST_SEEDS, SIGNIFICANT, Problem, ResultTable, Row, sign_of

SIGNS = {"above": "▲", "below": "▼", "level": "≈", "": ""}
"""Signs of the verdicts: a shape each, so that no colour is needed."""
FEW = "†"
"""Behind the mean of a row that was trained with too few seeds."""
_LEGEND = (
    "Interval: 95% of the mean, over topics and seeds. p: paired t test of the first measure over topics and seeds, "
    f"Holm-adjusted within the table; {SIGNS['above']} significantly above the first reference, {SIGNS['below']} "
    f"significantly below, {SIGNS['level']} no significant difference (p >= {SIGNIFICANT:g}). Wins, ties and losses: "
    "topics against that reference, by the first measure."
)
_TIMES = " Times: processor time, medians over cells, on the machine that ran them."
_MARK_NOTES = {
    "simulated": "Simulated vectors were drawn from the judgments: compare learners by them, not texts.",
    "transductive": "Transductive vectors were fitted on texts of all folds, the test topics' included.",
}

Value = float | str | None


@dataclass(frozen=True)
class Column:
    """A column of a result table."""

    head: str
    value: Callable[[Row], Value]
    """Value that the page sorts by; None where there is nothing."""
    form: Callable[[Row], str]
    """The text of a cell whose value is not None."""
    below: str | None = None
    """On the page it is the second line of this column's cells, elsewhere a column."""
    page_only: bool = False
    """Whether it is left out elsewhere."""

    def text(self, row: Row) -> str:
        """Text of a cell."""
        return "-" if self.value(row) is None else self.form(row)


def columns(table: ResultTable) -> list[Column]:
    """The columns of which any row has a value; the first names the ranker, the others hold numbers."""
    first, *others = table.measures

    def shown_spread(row: Row) -> str:
        return f"{row.seed_spread[first]:.4f} ({len(row.seeds)})"

    def shown_test(row: Row) -> str:
        return f"{p_text(row.p_value or 0.0)} {SIGNS[row.verdict]}"

    def lead(row: Row) -> int | None:
        return None if row.wins_ties_losses is None else row.wins_ties_losses[0] - row.wins_ties_losses[2]

    def shown_lead(row: Row) -> str:
        return " / ".join(f"{count:,}" for count in row.wins_ties_losses or ())

    every = [
        Column("ranker", lambda row: row.ranker, lambda row: row.ranker),
        Column(first, lambda row: row.means[first], lambda row: mean_text(row, first)),
        _number("published", lambda row: table.published.get(row.ranker), "{:.4f}".format),
        _interval("95% interval", first),
        Column("sd over seeds", lambda row: row.seed_spread[first], shown_spread),
        Column(f"p against {table.reference}", lambda row: row.p_value, shown_test),
        _number(f"p against {table.second_reference}", lambda row: row.second_p_value, p_text),
        Column("wins / ties / losses", lead, shown_lead),
    ]
    for name in others:
        every += [_mean(name), _interval(f"{name}, 95% interval", name, page_only=True)]
    return _with_values(every, table) + cost_columns(table)


def mean_text(row: Row, measure: str) -> str:
    """A row's mean, marked where its seeds are too few."""
    return f"{row.means[measure]:.4f}" + (f" {FEW}" if row.too_few_seeds else "")


def cost_columns(table: ResultTable) -> list[Column]:
    """Episodes, steps and times, as far as any row has them."""
    every = [
        _median("episodes", "environment_episodes", "{:,.0f}".format),
        _median("steps", "environment_steps", "{:,.0f}".format),
        _median("training, CPU s", "fit_cpu_seconds", short),
        _median("ms per query", "rank_milliseconds", short),
    ]
    return _with_values(every, table)


def _with_values(every: Sequence[Column], table: ResultTable) -> list[Column]:
    """The columns of which any row has a value."""
    return [column for column in every if any(column.value(row) is not None for row in table.rows)]


def legend_of(tables: Sequence[ResultTable]) -> str:
    """Legend of all these tables."""
    return _LEGEND + (_TIMES if any(table.timed for table in tables) else "")


def notes(table: ResultTable) -> list[str]:
    """Notes of this table, besides the legend."""
    oracles = [row.ranker for row in table.rows if row.reads_judgments]
    few = "; ".join(row.ranker for row in table.rows if row.too_few_seeds)
    falling = [name for name in table.measures if sign_of(name) < 0]
    return [
        *([f"Lower is better: {', '.join(falling)}."] if falling else []),
        *(_MARK_NOTES.get(mark, f"Vectors: {mark}.") for mark in table.marks),
        *([f"Reads the judgments, so an upper bound and not a competitor: {', '.join(oracles)}."] if oracles else []),
        *([f"{FEW} Trained with fewer than {FEWEST_SEEDS} seeds, so not tested: {few}."] if few else []),
        *([f"Published: {table.published_source}."] if table.published else []),
        *(
            f"One fit ({name}, a seed and fold) serves {len(rows)} rows: {'; '.join(row.ranker for row in rows)}."
            for name, rows in grouped(table.rows, attrgetter("fitted_as")).items()
            if len(rows) > 1
        ),
    ]


def _number(head: str, value: Callable[[Row], float | None], form: Callable[[float], str]) -> Column:
    """A column of numbers."""
    return Column(head, value, lambda row: form(value(row) or 0.0))


def _median(head: str, key: str, form: Callable[[float], str]) -> Column:
    """The median over cells of a number of the records."""
    return _number(head, lambda row: row.medians.get(key), form)


def _mean(name: str) -> Column:
    """Means of another measure than the first."""
    return _number(name, lambda row: row.means[name], "{:.4f}".format)


def _interval(head: str, name: str, *, page_only: bool = False) -> Column:
    """Intervals of a measure's mean."""

    def ends(row: Row) -> str:
        return "[{:.4f}, {:.4f}]".format(*row.intervals[name])

    return Column(head, lambda row: row.intervals[name][0], ends, below=name, page_only=page_only)


def short(value: float) -> str:
    """A time as text, with two or three digits."""
    if value >= 100:
        return f"{value:,.0f}"
    if value >= 10:
        return f"{value:.1f}"
    return f"{value:.2f}" if value >= 0.01 else "< 0.01"


def signed(value: float) -> str:
    """A difference as text."""
    return f"{value:+.4f}"


def difference(*pairs: tuple[Scores, Scores]) -> tuple[str, str]:
    """The difference of two rankers and its 95% interval, by their [S, T] scores of each collection."""
    low, high = difference_interval(*pairs)
    return f"{np.mean([one.mean() - other.mean() for one, other in pairs]):+.3f}", f"[{low:+.3f}, {high:+.3f}]"


def p_text(value: float) -> str:
    """A p value as text."""
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


_MARKS = "<!-- {}: {} -->"
_MARKDOWN = re.compile(r"([\\`*\[\]<>|~#&])")


def as_markdown(
    tables: Sequence[ResultTable],
    problems: Sequence[Problem] = (),
    *,
    legend: str | None = None,
    more: str = "",
    left_out: Collection[str] = (),
) -> str:
    """The tables for a Markdown page, then more, the legend and the problems.

    A note of several tables stands below the first.

    Args:
        tables: of `complete_tables`.
        problems: of the same.
        legend: instead of the usual one.
        more: said before it.
        left_out: heads of columns that are not shown.
    """
    parts, said = [], set[str]()
    for table in tables:
        heads, rows = plain_cells(table, left_out)
        own = [note for note in notes(table) if note not in said]
        said.update(own)
        parts.append(f"**{escaped(table.title)}**")
        parts.append(markdown_of(heads, rows))
        parts.append(escaped(" ".join(own)))
    parts += [more, legend_of(tables) if legend is None else legend]
    if problems:
        parts += ["**Problems**", "\n".join(f"- {escaped(str(problem))}" for problem in problems)]
    return "\n\n".join(filter(None, parts))


def difference_cells(compared: Sequence[Difference]) -> tuple[list[str], list[list[str]]]:
    """Heads and rows of differences; the first two columns are words."""
    heads = ["measure", "difference of", "difference", "95% interval", "p", "wins / ties / losses"]
    rows = [
        [
            each.measure,
            f"{each.ranker} minus {each.baseline}",
            signed(each.mean),
            "[{}, {}]".format(*map(signed, each.interval)),
            f"{p_text(each.p_value)} {SIGNS[each.verdict]}",
            " / ".join(f"{count:,}" for count in each.wins_ties_losses),
        ]
        for each in compared
    ]
    return heads, rows


def pair_cells(rankers: Sequence[str], compared: Sequence[Difference]) -> dict[str, list[str]]:
    """Differences of all pairs by one measure as a matrix: a row for each ranker, its mean minus each column's."""
    cells = {(one, other): "" for one in rankers for other in rankers}
    opposite = {"above": "below", "below": "above", "level": "level"}
    for each in compared:
        cells[each.ranker, each.baseline] = f"{signed(each.mean)} {SIGNS[each.verdict]}"
        cells[each.baseline, each.ranker] = f"{signed(-each.mean)} {SIGNS[opposite[each.verdict]]}"
    return {one: [cells[one, other] for other in rankers] for one in rankers}


def differences_markdown(compared: Sequence[Difference]) -> str:
    """The differences as a Markdown table."""
    heads, rows = difference_cells(compared)
    return markdown_of(heads, rows, words=2)


_CSV = (
    "table", "topics", "measure", "ranker", "mean", "low", "high", "baseline", "difference", "difference_low",
    "difference_high", "p", "p_adjusted", "wins", "ties", "losses",
)  # fmt: skip


def as_csv(tables: Sequence[ResultTable], compared: Sequence[Sequence[Difference]]) -> str:
    """The tables as CSV: a row for each measure, ranker and baseline; all ends are of 95% intervals.

    The column "table" has the name of the topic set, "topics" their number.

    Args:
        tables: of `complete_tables`.
        compared: the differences that each shows. A ranker without any has one row without a baseline.
    """
    rows: list[Sequence[object]] = [_CSV]
    for table, own in zip(tables, compared, strict=True):
        for measure in table.measures:
            for row in table.rows:
                names = [table.topics, len(table.topic_ids), measure, row.ranker]
                about = [*names, row.means[measure], *row.intervals[measure]]
                several = [each for each in own if (each.measure, each.ranker) == (measure, row.ranker)]
                rows += [[*about, *_csv_cells(each)] for each in several] or [about + [""] * (len(_CSV) - len(about))]
    return _csv_text(rows)


def _csv_cells(each: Difference) -> list[object]:
    """Cells of a difference in a row of CSV."""
    return [each.baseline, each.mean, *each.interval, each.raw_p_value, each.p_value, *each.wins_ties_losses]


def topics_csv(tables: Sequence[ResultTable]) -> str:
    """The scores topic by topic, means over seeds, as CSV: a row for each measure, ranker and topic."""
    rows: list[Sequence[object]] = [("table", "measure", "ranker", "topic", "value")]
    for table in tables:
        for measure in table.measures:
            for row in table.rows:
                values = table.scores[measure][row.ranker].mean(axis=0).tolist()
                rows += [
                    (table.topics, measure, row.ranker, topic, value)
                    for topic, value in zip(table.topic_ids, values, strict=True)
                ]
    return _csv_text(rows)


def _csv_text(rows: Sequence[Sequence[object]]) -> str:
    """Rows as CSV, with plain line ends; "'" before a name that a spreadsheet would take for a formula."""
    text, formulas = io.StringIO(), tuple("=+-@\t\r")
    plain = [[f"'{one}" if isinstance(one, str) and one.startswith(formulas) else one for one in row] for row in rows]
    csv.writer(text, lineterminator="\n").writerows(plain)
    return text.getvalue()


def plain_cells(table: ResultTable, left_out: Collection[str] = ()) -> tuple[list[str], list[list[str]]]:
    """Heads and rows of the terminal and Markdown."""
    own = [column for column in columns(table) if not column.page_only and column.head not in left_out]
    return [column.head for column in own], [[column.text(row) for column in own] for row in table.rows]


def escaped(text: str) -> str:
    """Text that Markdown shows as it is; line ends would end a row of a table."""
    return _MARKDOWN.sub(r"\\\1", " ".join(text.split()))


def markdown_of(heads: Sequence[str], rows: Sequence[Sequence[str]], *, words: int = 1) -> str:
    """`markdown` whose heads and words are shown as they are."""
    plain = [[*map(escaped, row[:words]), *row[words:]] for row in rows]
    return markdown(list(map(escaped, heads)), plain, words=words)


def markdown(heads: Sequence[str], rows: Sequence[Sequence[str]], *, words: int = 1) -> str:
    """A Markdown table; the first columns are words, the others numbers, which stand right."""
    rule = [*["---"] * words, *["---:"] * (len(heads) - words)]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (heads, rule, *rows))


def with_parts(text: str, parts: Mapping[str, str]) -> str:
    """The page with each part between its marks `<!-- NAME: begin -->` and `<!-- NAME: end -->`.

    Raises:
        ValueError: a part whose marks the page lacks.
    """
    for name, part in parts.items():
        begin, end = _MARKS.format(name, "begin"), _MARKS.format(name, "end")
        if begin not in text or end not in text:
            raise ValueError(f"the page has no marks {begin} and {end}; write them where the part belongs")
        before, rest = text.split(begin, 1)
        text = f"{before}{begin}\n{part}\n{end}{rest.split(end, 1)[1]}"
    return text


def marked_page(path: Path, name: str, title: str) -> str:
    """The text of a page that has marks for a part; of one that is not there yet, its title and the marks.

    Raises:
        ValueError: a page without these marks, whose text would be lost.
    """
    begin, end = (_MARKS.format(name, word) for word in ("begin", "end"))
    page = path.read_text(encoding="utf-8") if path.is_file() else ""
    if page.strip() and not (begin in page and end in page):
        raise ValueError(
            f"{path} has no marks {begin} and {end}: write them where the tables belong, or give a new file"
        )
    return page if page.strip() else f"# {title}\n\n{begin}\n{end}\n"


def write_page(path: Path, name: str, title: str, part: str) -> None:
    """Put a part between its marks in a page, or write a new page of title and part; never half of it.

    Raises:
        ValueError: as of `marked_page`.
    """
    write_text(path, with_parts(marked_page(path, name, title), {name: part}))


def write_text(path: Path, text: str) -> None:
    """Write a file at once or not at all."""
    with written_atomically(path) as temporary:
        temporary.write_text(text, encoding="utf-8", errors="replace")
