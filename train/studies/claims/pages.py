"""The pages: parts that are made from stored scores, the prose between them, and what is wrong with either."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

from srd_train.report.markup import FEW, markdown, short
from srd_train.report.significance import Scores, difference_interval, holm, paired_test
from srd_train.report.tables import SIGNIFICANT, ResultTable
from studies.claims.book import Book, Pivot, Situation, read_book
from studies.claims.claim import DECIMAL
from studies.claims.claim import faults as claim_faults
from studies.claims.stored import Stored, mean_of, row_of

DECISION = "which ranker"
"""The marks of the table that says which ranker to use."""
LIST = "recipe pages"
"""The marks of the list of all pages of results."""
_AND = " + "
"""Between the recipes whose macro-averages are made together."""
_TABLES = re.compile(r"^\*\*.*?(?=^!\[|^Made by )", re.DOTALL | re.MULTILINE)
_LEFT_OUT = (r"<!--.*?-->", r"^( *)(`{3,}|~{3,}).*?^ *\2`*$", r"\$\$.*?\$\$|\$[^$\n]+\$")
_AROUND = 40
MOST_BYTES = 10_000_000
"""Of all scores together."""
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
    text = f"{by_name[name].mean():.3f}" + (f" {FEW}" if row_of(table, name).too_few_seeds else "")
    return f"**{text}**" if name in bold else text


def _significant(
    table: ResultTable, by_name: Mapping[str, Scores], names: Sequence[str], above: Sequence[str]
) -> set[str]:
    """The rows significantly above all of `above` that the table has, adjusted by Holm's method over the line."""
    against = [name for name in above if name in by_name]
    few = {name: row_of(table, name).too_few_seeds for name in {*names, *against}}
    pairs = [(n, a) for n in names for a in against if n != a and n not in above and not few[n] and not few[a]]
    adjusted = holm([paired_test((by_name[n], by_name[a])) for n, a in pairs])
    won = {
        pair
        for pair, p in zip(pairs, adjusted, strict=True)
        if p < SIGNIFICANT and by_name[pair[0]].mean() > by_name[pair[1]].mean()
    }
    return {n for n, _ in pairs if all((n, a) in won for a in against)}


def prose(text: str, parts: Collection[str]) -> str:
    """A page as one line: without code blocks, the generated parts named, comments and formulas; of links the words.

    Code within lines and the bars of tables stay, and what stands between other marks.
    """
    generated = (rf"<!-- {re.escape(name)}: begin -->.*?<!-- {re.escape(name)}: end -->" for name in parts)
    for pattern in (*generated, *_LEFT_OUT):
        text = re.sub(pattern, " ", text, flags=re.DOTALL | re.MULTILINE)
    return plain(text)


def plain(text: str) -> str:
    """Text without emphasis, addresses of links and line ends: how a sentence is looked for."""
    text = re.sub(r"!?\[([^\]]*)\]\([^)\s]*\)", r"\1", text)
    return " ".join(text.replace("*", "").split())


def decimals(text: str, sentences: Sequence[str], patterns: Sequence[str]) -> Iterator[str]:
    """The numbers with decimals in a page's prose, outside of these sentences and patterns, with the words around."""
    for sentence in sorted(map(plain, sentences), key=len, reverse=True):
        text = text.replace(sentence, " ... ")
    text = re.sub(r"`[^`]*`", " ", text)
    for pattern in patterns:
        text = re.sub(pattern, " ", text)
    for number in DECIMAL.finditer(text):
        start = max(0, number.start() - _AROUND)
        yield f'{number[0]} in "...{text[start : number.end() + _AROUND]}..."'


def faults(docs: Path) -> list[str]:
    """What the pages in this folder, beside README.md, say and the stored scores do not: a line each."""
    book, stored = read_book(docs / "claims.toml"), Stored(docs / "results")
    return [
        *claim_faults(book.claims, stored),
        *_prose(docs, book, stored),
        *_results(book, stored),
        *_parts(docs, book, stored),
    ]


def pages(docs: Path) -> dict[str, Path]:
    """Pages that are written by hand, by their names in lists."""
    own = {path.name: path for path in sorted(docs.glob("*.md"))}
    return {"README.md": docs.parent / "README.md", **own}


def remade_pages(docs: Path, book: Book, stored: Stored) -> Iterator[tuple[Path, str, str]]:
    """Every page with its text and what it should be; a recipe's own page is called like it."""
    for path in (*pages(docs).values(), *sorted((docs / "results").glob("*.md"))):
        text = path.read_text(encoding="utf-8")
        name = path.stem if path.parent.name == "results" else ""
        yield path, text, remade(text, name, book, stored, "docs/" if path.name == "README.md" else "")


def _prose(docs: Path, book: Book, stored: Stored) -> Iterator[str]:
    """Numbers that nothing bears, and what is listed and stands nowhere."""
    allowed = [one.text for one in book.allowed if one.text] + [claim.sentence for claim in book.claims]
    patterns = [one.pattern for one in book.allowed if one.pattern]
    parts = {DECISION, LIST, *(table.name for table in book.tables), *stored.recipes, *book.other_parts}
    by_hand = {name: prose(path.read_text(encoding="utf-8"), parts) for name, path in pages(docs).items()}
    for name, text in by_hand.items():
        found = list(decimals(text, allowed, patterns))
        if name not in book.unchecked:
            yield from (f"{name}: {one}: make it a claim, let a table say it, or delete it" for one in found)
        elif not found:
            yield f"{name}: nothing is left to check; take it out of `unchecked`"
    yield from (f"`unchecked` names {name}, which is no page" for name in book.unchecked if name not in by_hand)
    everywhere = " ".join(by_hand.values())
    for claim in book.claims:
        if plain(claim.sentence) not in everywhere:
            yield f"claim {claim.id!r} stands on no page: {claim.sentence}"
    for one in book.allowed:
        if plain(one.text) not in everywhere:
            yield f"allowed text that stands on no page: {one.text}"


def _results(book: Book, stored: Stored) -> Iterator[str]:
    """Pages of results without scores, scores without a page, and too many bytes."""
    names = {path.stem for path in stored.folder.glob("*.md")}
    listed = {name.removesuffix(".md") for name in book.without_scores}
    for name in sorted(names - listed - set(stored.recipes)):
        yield f"results/{name}.md has no scores beside it: `srd benchmark {name} --scores docs/results/{name}.parquet`"
    for name in sorted(set(stored.recipes) - names):
        yield f"results/{name}.parquet has no page beside it"
    for name in sorted(listed - names | listed & set(stored.recipes)):
        yield f"`without_scores` names {name}.md, which is no page without scores"
    size = sum(path.stat().st_size for path in stored.folder.glob("*.parquet"))
    if size > MOST_BYTES:
        yield f"the scores of all pages take {size:,} bytes; expected at most {MOST_BYTES:,}"


def _parts(docs: Path, book: Book, stored: Stored) -> Iterator[str]:
    """Generated parts that are not what the scores say."""
    try:
        for path, text, new in remade_pages(docs, book, stored):
            if text != new:
                old, changed = (set(version.splitlines()) for version in (text, new))
                line = next(iter(sorted(old - changed)), "")
                yield f"{path.relative_to(docs.parent)} is not what its scores say, as in {line!r}; run `make results`"
    except (ValueError, FileNotFoundError) as error:
        yield str(error)
