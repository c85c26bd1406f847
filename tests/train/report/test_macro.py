"""Macro-averages: collections count the same however many topics and sets they have."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from made_results import cells, recipe, record, table_of
from scipy import stats

from srd_train.experiment.sources import TopicsEntry
from srd_train.report.macro import collection_cells, macro_cells, macro_markdown, macro_tables, recipe_part
from srd_train.report.tables import ResultTable, complete_tables

ENTRIES = (
    TopicsEntry(name="small, A", source="words", average="all", collection="small"),
    TopicsEntry(name="small, B", source="words", average="all", collection="small"),
    TopicsEntry(name="large", source="words", average="all", collection="large"),
    TopicsEntry(name="apart", source="words"),
)
RECIPE = recipe("random", "mmr", "msd", topics=ENTRIES, reference="mmr")


def table(name: str, topic_ids: tuple[str, ...], **scores: list[float]) -> ResultTable:
    """A table with these scores; "oracle" reads the judgments."""
    made = table_of([record()])
    rows = tuple(replace(made.rows[0], ranker=ranker, reads_judgments=ranker == "oracle") for ranker in scores)
    measure = made.measures[0]
    arrays = {ranker: np.atleast_2d(values) for ranker, values in scores.items()}
    return replace(made, topics=name, topic_ids=topic_ids, rows=rows, scores={measure: arrays})


def tables() -> list[ResultTable]:
    large = tuple(f"l{i}" for i in range(40))
    return [
        table("small, A", ("a", "b"), random=[0, 0.4], mmr=[0.2, 0.4], msd=[0, 0], oracle=[1, 1]),
        table("small, B", ("b", "c"), random=[0.2, 0.6], mmr=[0.4, 0.6], msd=[0, 0], oracle=[1, 1]),
        table("large", large, random=[0.5] * 40, mmr=[0.6] * 40, oracle=[1] * 40),
        table("apart", ("x",), random=[0], mmr=[0]),
    ]


def test_topics_then_collections_are_averaged() -> None:
    (found,) = macro_tables(tables(), RECIPE)
    assert found.title == "all: alpha_nDCG@5, mean over small (3 topics, 2 sets), large (40 topics)"
    assert list(found.scores) == ["random", "mmr", "oracle"], "msd is not in all of them"
    np.testing.assert_allclose(found.scores["mmr"][0], [[0.2, 0.4, 0.6]])
    assert collection_cells(found)[0] == ["ranker", "small", "large"]
    by_collection = dict(zip(found.scores, collection_cells(found)[1], strict=True))
    assert by_collection["random"] == ["random", "0.300", "0.500"], "the order that the others are compared with"
    assert by_collection["oracle"] == ["oracle", "1.000", "1.000"], "it competes with nobody"
    assert by_collection["mmr"][2] == "0.600 (+0.100 [+0.100, +0.100])"
    heads, rows = macro_cells(found)
    assert heads[2::2] == ["minus random [95% interval]", "minus mmr [95% interval]"]
    means = [[row[0], row[1], row[2].split()[0]] for row in rows]
    assert means == [["random", "0.400", "-"], ["mmr", "0.500", "+0.100"], ["oracle", "1.000", "-"]]


def test_intervals_and_tests_are_over_topics_within_collections() -> None:
    (found,) = macro_tables(tables(), RECIPE)
    # By topic 0.2, 0.1 and 0 in the small collection, 0.1 everywhere in the large one.
    reach = stats.t.ppf(0.975, 2) * 0.1 / math.sqrt(3) / 2
    p_value = 2 * stats.t.sf(0.1 / (0.1 / math.sqrt(3) / 2), 2)
    interval = f"[{0.1 - reach:+.3f}, {0.1 + reach:+.3f}]"
    assert macro_cells(found)[1][1] == ["mmr", "0.500", f"+0.100 {interval}", f"{p_value:.3f}", "-", "-"]


def test_a_ranker_equal_to_the_reference_differs_by_nothing() -> None:
    same = [replace(one, scores={m: {**s, "mmr": s["random"]} for m, s in one.scores.items()}) for one in tables()]
    cells = macro_cells(macro_tables(same, RECIPE)[0])[1][1]
    assert cells[2:4] == ["+0.000 [+0.000, +0.000]", "1.000"]


def test_a_row_that_lacks_a_seed_on_one_set_is_left_out_and_names_are_shown_as_they_are() -> None:
    several = tables()
    short = several[0].rows[0]
    odd = replace(several[0], rows=(replace(short, seeds=(0, 1)), *several[0].rows[1:]))
    (macro,) = macro_tables([odd, *several[1:]], RECIPE)
    assert "random" not in macro.scores
    (macro,) = macro_tables(several, RECIPE)
    named = replace(macro, scores={"a | b": macro.scores["mmr"]}, competitors=("a | b",), references=(), order=None)
    assert r"| a \| b |" in macro_markdown([named])


def test_on_a_page_beside_others_sets_with_the_same_rows_share_a_table() -> None:
    sets = [{**record()["topic_set"], "name": f"made, {name}", "fingerprint": name * 16} for name in "abc"]
    names = [one["name"] for one in sets]
    records = [one for each in sets for one in [*cells("mmr", 0.5, topic_set=each), *cells("msd", 0.6, topic_set=each)]]
    entries = tuple(TopicsEntry(name=name, source="words") for name in names)
    described = recipe("mmr", "msd", topics=entries, reference="mmr")

    def part(*shown: str, **options: Any) -> str:
        own = [one for one in records if one["topic_set"]["name"] in shown]
        return recipe_part(complete_tables(own, described)[0], described, **options)

    whole = part(*names)
    brief = part(*names, left_out={"wins / ties / losses"}, legend="The legend is elsewhere.")
    two = part(*names[:2], legend="The legend is elsewhere.")
    assert "| ranker | a (12) | b (12) | c (12) |" in brief
    assert "| msd | 0.6100 ▲ | 0.6100 ▲ | 0.6100 ▲ |" in brief
    assert [page.count("| p against mmr |") for page in (whole, brief, two)] == [3, 1, 2]
    assert "by topic set" not in whole + two
    assert whole.count("Simulated vectors were drawn from the judgments") == 1, "below the first table"
    assert "python 3)." in whole
    assert "wins / ties / losses |" in whole
    assert "wins" not in brief
    assert brief.endswith("The legend is elsewhere.\n\nMade by `srd benchmark r`, cells at commit abc.")
