"""Macro-averages: collections count the same however many topics and sets they have."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from made_results import recipe, record, table_of
from scipy import stats

from srd_train.experiment.recipe import TopicsEntry
from srd_train.report.macro import macro_tables
from srd_train.report.tables import ResultTable

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
    assert found.topics == {"small": 3, "large": 40}
    assert found.sets == {"small": ("small, A", "small, B"), "large": ("large",)}
    assert [row.ranker for row in found.rows] == ["random", "mmr", "oracle"], "msd is not in all of them"
    random, mmr, oracle = found.rows
    assert random.collections["small"] == pytest.approx((0 + 0.3 + 0.6) / 3)
    assert random.mean == pytest.approx((0.3 + 0.5) / 2)
    assert mmr.collections["small"] == pytest.approx((0.2 + 0.4 + 0.6) / 3)
    assert found.references == ("random", "mmr")
    assert mmr.against["random"].difference == pytest.approx((0.1 + 0.1) / 2)
    assert not oracle.against
    assert not oracle.by_collection


def test_intervals_and_tests_are_over_topics_within_collections() -> None:
    (found,) = macro_tables(tables(), RECIPE)
    against = found.rows[1].against["random"]
    # By topic 0.2, 0.1 and 0 in the small collection, 0.1 everywhere in the large one.
    reach = stats.t.ppf(0.975, 2) * 0.1 / math.sqrt(3) / 2
    assert against.interval == pytest.approx((0.1 - reach, 0.1 + reach))
    assert against.p_value == pytest.approx(2 * stats.t.sf(0.1 / (0.1 / math.sqrt(3) / 2), 2))
    assert found.rows[1].by_collection["large"].interval == pytest.approx((0.1, 0.1))
    assert found.rows[1].by_collection["small"].p_value > 0.1


def test_a_ranker_equal_to_the_reference_differs_by_nothing() -> None:
    same = [replace(one, scores={m: {**s, "mmr": s["random"]} for m, s in one.scores.items()}) for one in tables()]
    against = macro_tables(same, RECIPE)[0].rows[1].against["random"]
    assert (against.difference, against.interval, against.p_value) == (0, (0, 0), 1)
