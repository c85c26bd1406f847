"""Tables of what named subtopics bring, from the stored scores of `studies.named`."""

from __future__ import annotations

from collections.abc import Sequence

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
RANKERS = ("safe", "xquad", "pm2")
"""Rows of the stored scores, tested together."""
SHOWN = ("safe", "pm2")
"""Those that the page shows."""
JUDGES = "judges"
AVERAGES = {"model": "a model's lists", JUDGES: "judges' lists"}
AVERAGED = ("AMBIENT", "key-points", "perspectives", "medical-questions")


def tables_of(tables: Sequence[ResultTable]) -> str:
    """A table for each collection and kind of vectors, a row for each list, from stored scores."""
    cases: dict[str, list[tuple[str, ResultTable]]] = {}
    for table in tables:
        collection, vectors, title = table.topics.split(", ", 2)
        cases.setdefault(f"{collection}, {vectors}", []).append((title, table))
    parts = []
    for case, own in cases.items():
        before = own[0][1].scores[MEASURE][ORDER]
        rows = [["initial ranking", *[f"{before.mean():.3f}"] * len(SHOWN), "-"]]
        every = {(title, name): table.scores[MEASURE].get(name) for title, table in own for name in RANKERS}
        found = {place: scores for place, scores in every.items() if scores is not None}
        p_values = dict(zip(found, holm([paired_test((scores, before)) for scores in found.values()]), strict=True))
        for title, _ in own:
            places = [(title, name) for name in SHOWN]
            cells = [_cell(found[one], before, p_values[one]) if one in found else "-" for one in places]
            rows.append([title, *cells, " ".join(difference((found[places[0]], before)))])
        parts.append(f"**{case} vectors, {own[0][1].tested} queries**")
        parts.append(markdown(("names", *SHOWN, f"{SHOWN[0]} less the initial ranking"), rows))
    return "\n\n".join(parts)


def part_of(tables: Sequence[ResultTable]) -> str:
    """The part of the page that is made from stored scores."""
    made = origin(tables, NAME).replace(f"srd benchmark {NAME}", f"make {NAME}")
    return f"{tables_of(tables)}\n\n{made}"


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
