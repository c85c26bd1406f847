"""Learning curves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made_results import recipe, table_of

from srd_gym.data.synthetic import generate
from srd_train.experiment.benchmark import run_benchmark
from srd_train.experiment.recipe import RankerEntry
from srd_train.experiment.sources import TopicsEntry
from srd_train.report.curves import Panel, panels
from srd_train.report.markup import as_markdown


def cell(ranker: str, seed: int, points: list[tuple[int, float, float | None]], **changes: Any) -> dict[str, Any]:
    """A record of episodes, seconds and validation values, with an epoch 0 before."""
    records = [{"episodes": 0, "cpu_seconds": 0.001, "validation": 0.1}]
    records += [{"episodes": e, "cpu_seconds": s, "validation": v} for e, s, v in points]
    record = {
        "ranker": ranker,
        "seed": seed,
        "view": None,
        "topic_set": {"name": "serp"},
        "select_by": "alpha_nDCG@10",
        "validation": 0.9,
        "history": {"measure": "alpha_nDCG(normalizer='candidates')@10", "records": records},
    }
    return record | changes


def curve(found: list[Panel], against: str, ranker: str) -> Any:
    panel = next(panel for panel in found if panel.against == against)
    return next(found_curve for found_curve in panel.curves if found_curve.ranker == ranker)


def test_a_line_is_the_mean_over_seeds_with_their_range() -> None:
    points = [(100, 1, 0.2), (10_000, 4, 0.6)], [(100, 2, 0.4), (10_000, 8, 0.8)]
    found = panels([cell("qmix", seed, own) for seed, own in enumerate(points)])
    assert [panel.against for panel in found] == ["episodes", "cpu_seconds"]
    assert {panel.measure for panel in found} == {"alpha_nDCG@10"}
    line = curve(found, "episodes", "qmix")
    assert line.seeds == 2
    assert line.start == pytest.approx(0.1)
    assert (line.x[0], line.x[-1]) == (100, 10_000)
    assert (line.mean[0], line.low[0], line.high[0]) == pytest.approx((0.3, 0.2, 0.4))
    assert (line.mean[-1], line.low[-1], line.high[-1]) == pytest.approx((0.7, 0.6, 0.8))
    # Nothing is read before a cell's first record or beyond its last.
    assert curve(found, "cpu_seconds", "qmix").x[[0, -1]] == pytest.approx([2, 4])
    # Between its records a curve is a straight line on the logarithmic axis: 1,000 is half way.
    assert np.interp(np.log(1_000), np.log(line.x), line.mean) == pytest.approx(0.5)


def test_folds_are_averaged_before_seeds_are_compared() -> None:
    points = [(100, 1.0, 0.2), (200, 2.0, 0.4)], [(100, 1.0, 0.4), (200, 2.0, 0.6)]
    line = curve(panels([cell("qmix", 0, points[0]), cell("qmix", 0, points[1])]), "episodes", "qmix")
    assert line.seeds == 1
    assert line.mean[[0, -1]] == pytest.approx([0.3, 0.5])
    np.testing.assert_array_equal(line.low, line.high)


def test_what_does_not_learn_is_a_level_where_validation_chose_it() -> None:
    learned = cell("qmix", 0, [(100, 1, 0.2), (200, 2, None), (300, 3, 0.6)])
    others = (("mmr", 0.7), ("mmr", 0.9), ("random", None))
    found = panels([learned, *(cell(name, 0, [], history=None, validation=value) for name, value in others)])
    assert [dict(panel.levels) for panel in found] == [{"mmr": pytest.approx(0.8)}] * 2
    assert [one.ranker for one in found[0].curves] == ["qmix"]


def test_a_panel_is_of_the_measure_that_validated() -> None:
    points = [(100, 1, 0.2), (300, 3, 0.6)]
    by_recall = {
        "measure": "StRecall(normalizer='candidates')@5",
        "records": cell("vdn", 0, points)["history"]["records"],
    }
    chosen = cell("mmr", 0, [], history=None, validation=0.7, select_by="StRecall@5")
    found = panels([cell("qmix", 0, points), cell("vdn", 0, points, history=by_recall), chosen])
    assert [(panel.measure, len(panel.levels)) for panel in found] == [("alpha_nDCG@10", 0)] * 2 + [
        ("StRecall@5", 1)
    ] * 2


def test_views_and_cells_without_episodes_have_no_curve() -> None:
    points = [(100, 1, 0.2), (200, 2, 0.6)]
    bare = cell("listmle", 0, [])
    bare["history"]["records"] = [{"epoch": 1, "cpu_seconds": 1.0, "validation": 0.5}]
    found = panels([cell("m2div", 0, points), cell("by value", 0, points, view={"rank_by": "value"}), bare])
    assert [[one.ranker for one in panel.curves] for panel in found] == [["m2div"]] * 2
    assert panels([bare]) == []


def test_cells_say_how_many_episodes_and_steps_were_played(tmp_path: Path) -> None:
    learners = [RankerEntry(ranker=name, config={"epochs": 2, "rollouts": 2}) for name in ("qmix", "reinforce")]
    topics = generate("tiny", n_topics=15, seed=0).folds(5, seed=0)[0].train
    one_fold = TopicsEntry(name="tiny", source="synthetic:tiny:15:0", run_folds=(1,))
    records = run_benchmark(recipe("mmr", *learners, topics=(one_fold,), depth=10), tmp_path)
    page = as_markdown([table_of(records, reference="mmr")])
    assert "| episodes | steps | training, CPU s | ms per query |" in page
    for record in records:
        if record["ranker"] == "mmr":
            assert record["environment_episodes"] is record["environment_steps"] is None
            continue
        # One step scores a whole list; selection takes a step a document, ten at most.
        steps = sum(1 if record["ranker"] == "qmix" else min(10, topic.n_candidates) for topic in topics)
        played = [(line["episodes"], line["steps"]) for line in record["history"]["records"]]
        assert played == [(epoch * len(topics) * 2, epoch * steps * 2) for epoch in range(3)]
        assert (record["environment_episodes"], record["environment_steps"]) == played[-1]
        assert "| {:,} | {:,} |".format(*played[-1]) in page
