"""Tables of what named subtopics bring, from the stored scores of `studies.named`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from srd_train.experiment.recipe import RankerEntry, Recipe
from srd_train.experiment.sources import TopicsEntry
from srd_train.report.macro import origin
from srd_train.report.markup import difference, markdown
from srd_train.report.significance import Scores, holm, paired_test
from srd_train.report.tables import SIGNIFICANT, ResultTable

NAME = "named"
"""Of the page and its scores."""
MEASURE = "alpha_nDCG@10"
ORDER, MMR = "retrieval-order", "mmr, as it comes"
RANKERS = ("safe", "xquad", "pm2", "query-expansion")
"""Rows of the stored scores, tested together."""
SHOWN = ("safe", "query-expansion")
"""Those that the page shows."""
JUDGES = "judges"
AVERAGES = {"model": "a model's lists", JUDGES: "judges' lists"}
AVERAGED = (
    "AMBIENT",
    "clarifying-questions",
    "expert-questions",
    "key-points",
    "medical-questions",
    "perspectives",
    "textbook-sections",
)


def tables_of(tables: Sequence[ResultTable]) -> str:
    """A table for each collection, a row for each list, from stored scores; p is adjusted by kind of vectors."""
    cases: dict[str, dict[str, dict[str, ResultTable]]] = {}
    for table in tables:
        collection, vectors, title = table.topics.split(", ", 2)
        cases.setdefault(collection, {}).setdefault(vectors, {})[title] = table
    parts = []
    for collection, by_vectors in cases.items():
        first, *_ = by_vectors.values()
        columns = [column for vectors, own in by_vectors.items() for column in _columns(vectors, own)]
        heads, *rows = zip(["names", "initial ranking", *first], *columns, strict=True)
        parts.append(f"**{collection}, {next(iter(first.values())).tested} queries**")
        parts.append(markdown(heads, rows))
    return "\n\n".join(parts)


def _columns(vectors: str, tables: Mapping[str, ResultTable]) -> list[list[str]]:
    """The columns of one kind of vectors: a head, the initial ranking, then each list."""
    before = next(iter(tables.values())).scores[MEASURE][ORDER]
    every = {(title, name): table.scores[MEASURE].get(name) for title, table in tables.items() for name in RANKERS}
    found = {place: scores for place, scores in every.items() if scores is not None}
    p_values = dict(zip(found, holm([paired_test((scores, before)) for scores in found.values()]), strict=True))
    columns = []
    for name in SHOWN:
        places = [(title, name) for title in tables]
        cells = [_cell(found[one], before, p_values[one]) if one in found else "-" for one in places]
        columns.append([f"{name}, {vectors}", f"{before.mean():.3f}", *cells])
    gains = [" ".join(difference((found[title, SHOWN[0]], before))) for title in tables]
    return [*columns, [f"gain of {SHOWN[0]}, {vectors}", "-", *gains]]


def part_of(tables: Sequence[ResultTable]) -> str:
    """The part of the page that is made from stored scores."""
    return f"{tables_of(tables)}\n\n{origin(tables, f'make {NAME}', versions=False)}"


def _cell(scores: Scores, before: Scores, p_value: float) -> str:
    less = float((scores - before).mean())
    clear = less != 0 and p_value < SIGNIFICANT
    return f"{scores.mean():.3f}" + (" ▲" if clear and less > 0 else " ▼" if clear else "")


def recipe_of(names: Sequence[str]) -> Recipe:
    """What tables and macro-averages are made by, of topic sets by these names; no benchmark runs it.

    Args:
        names: "COLLECTION, VECTORS, LIST" each. With MiniLM's vectors, all lists that a model wrote without having seen
            results are part of one average, all judges' of another, the collections with both.
    """
    entries = []
    for name in dict.fromkeys(names):
        collection, vectors, title = name.split(", ", 2)
        average = AVERAGES.get(title, "") if vectors == "MiniLM" and collection in AVERAGED else ""
        entries.append(TopicsEntry(name=name, source=f"{NAME}.parquet", average=average, collection=collection))
    others = (RankerEntry(ranker=name) for name in RANKERS)
    rankers = (RankerEntry(ranker=ORDER), RankerEntry(ranker="mmr", name=MMR), *others)
    return Recipe(name=NAME, title="Named subtopics", topics=tuple(entries), rankers=rankers, reference=ORDER)
