"""The parts of pages that are made from stored scores: tables of recipes, and those that docs/claims.toml describes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from srd_train.report.markup import FEW, markdown, short
from srd_train.report.significance import Scores, difference_interval, holm, paired_test
from srd_train.report.tables import SIGNIFICANT, ResultTable
from studies.claims.book import Book, Pivot, Situation
from studies.claims.stored import Stored, mean_of, row_of

DECISION = "which ranker"
"""The marks of the table that says which ranker to use."""
LIST = "recipe pages"
"""The marks of the list of all pages of results."""
_AND = " + "
"""Between the recipes whose macro-averages are made together."""
_TABLES = re.compile(r"^\*\*.*?(?=^!\[|^Made by )", re.DOTALL | re.MULTILINE)
_MARKED = re.compile(r"<!-- ([^\n]*?): begin -->\n(.*?)<!-- \1: end -->", re.DOTALL)


def remade(text: str, name: str, book: Book, stored: Stored, folder: str = "") -> str:
    """A page with its generated parts as the stored scores make them now; what else it says stays.

    Args:
        text: of the page.
        name: of the recipe whose page it is, or any other name.
        book: describes tables.
        stored: the scores.
        folder: of the documentation, as the page's links name it.
    """
    tables = {table.name: table for table in book.tables}

    def part(found: re.Match[str]) -> str:
        mark, old = found[1], found[2].rstrip("\n")
        if mark == DECISION:
            new = decision_table(book.situations, stored).replace("](", f"]({folder}")
        elif mark == LIST:
            new = page_list(stored)
        elif mark in tables:
            new = pivot_table(tables[mark], stored)
        elif mark in stored.recipes:
            new = of_recipe(old, mark, stored)
        elif set(mark.split(_AND)) <= set(stored.recipes):
            new = stored.averages(mark.split(_AND))
        else:
            return found[0]
        return f"<!-- {mark}: begin -->\n{new}\n<!-- {mark}: end -->"

    text = _MARKED.sub(part, text)
    return of_recipe(text, name, stored) if name in stored.recipes and not _MARKED.search(text) else text


def of_recipe(text: str, recipe: str, stored: Stored) -> str:
    """A page that `srd benchmark --markdown` wrote, with its tables made anew; title, pictures and origin stay."""
    return _TABLES.sub(lambda _: f"{stored.markdown(recipe)}\n\n", text, count=1)


def decision_table(situations: Sequence[Situation], stored: Stored) -> str:
    """Which ranker to use where."""
    heads = ("you have", "use", "over the untouched order", "over MMR as it comes", "to train", "to rank a topic")
    return markdown(heads, [_situation(one, stored) for one in situations], words=2)


def _situation(one: Situation, stored: Stored) -> list[str]:
    """A line."""
    collections = stored.collections(one.recipe, one.topics)
    row = row_of(collections[0][0], one.ranker)
    fit, rank = (row.medians.get(key, 0.0) for key in ("fit_cpu_seconds", "rank_milliseconds"))
    return [
        one.situation,
        one.use,
        *(_gain(one, collections, other, stored) for other in (one.order, one.mmr)),
        f"{short(fit)} s" if row.trained else "-",
        f"{short(rank)} ms",
    ]


def _gain(one: Situation, collections: list[list[ResultTable]], other: str, stored: Stored) -> str:
    """The difference from another row in the first measure, with its interval, bold where it is significant."""
    if not other:
        return "-"
    recipe, _, row = other.rpartition(": ")
    others = stored.collections(recipe, one.topics) if recipe else collections
    pairs = stored.pairs(collections, one.ranker, others, row)
    low, high = difference_interval(*pairs)
    tables = [(table, one.ranker) for several in collections for table in several]
    tables += [(table, row) for several in others for table in several]
    sure = paired_test(*pairs) < SIGNIFICANT and not any(row_of(*place).too_few_seeds for place in tables)
    mark, chosen = "**" if sure else "", "" if row == one.order or "as it comes" in row else " (chosen)"
    first, second = (mean_of(list(scores)) for scores in zip(*pairs, strict=True))
    gained = round(first - second, 3) + 0.0  # no -0.000
    return f"{mark}{gained:+.3f}{mark} [{low:+.3f}, {high:+.3f}]{chosen}"


def page_list(stored: Stored) -> str:
    """All pages of results by their titles, and the scores that lie beside them."""
    rows = []
    for path in sorted(stored.folder.glob("*.md")):
        title = path.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")
        scores = f"[scores](results/{path.stem}.parquet)" if path.stem in stored.recipes else "-"
        rows.append([f"[{path.stem}](results/{path.name})", title, scores])
    return markdown(("page", "what", "scores"), rows, words=3)


def pivot_table(pivot: Pivot, stored: Stored) -> str:
    """Means of the first measure, three digits; bold where significantly above the rows it names."""
    rows = []
    for label, where in pivot.lines.items():
        recipe, _, topics = where.partition(": ")
        table = stored.table(recipe, topics)
        by_name = table.scores[table.measures[0]]
        bold = _significant(table, by_name, [name for name in pivot.columns.values() if name in by_name], pivot.above)
        rows.append([label, *(_mean(table, by_name, name, bold) for name in pivot.columns.values())])
    return markdown((pivot.head, *pivot.columns), rows)


def _mean(table: ResultTable, by_name: Mapping[str, Scores], name: str, bold: set[str]) -> str:
    """A cell of a pivot table."""
    if name not in by_name:
        return "-"
    text = f"{by_name[name].mean():.3f}" + (f" {FEW}" if _few(table, [name]) else "")
    return f"**{text}**" if name in bold else text


def _significant(
    table: ResultTable, by_name: Mapping[str, Scores], names: Sequence[str], above: Sequence[str]
) -> set[str]:
    """The rows significantly above all of `above` that the table has, adjusted by Holm's method over the line."""
    against = [name for name in above if name in by_name]
    pairs = [(n, a) for n in names for a in against if n != a and n not in above and not _few(table, (n, a))]
    adjusted = holm([paired_test((by_name[n], by_name[a])) for n, a in pairs])
    won = {
        pair
        for pair, p in zip(pairs, adjusted, strict=True)
        if p < SIGNIFICANT and by_name[pair[0]].mean() > by_name[pair[1]].mean()
    }
    return {n for n, _ in pairs if all((n, a) in won for a in against)}


def _few(table: ResultTable, names: Sequence[str]) -> bool:
    """Whether any of these rows was trained with too few seeds."""
    return any(row_of(table, name).too_few_seeds for name in names)
