from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made_results import recipe_file
from run_srd import Srd

from studies.convergence.effort import SetConvergence, convergence, learning_curve, ratio_interval
from studies.convergence.episode_costs import EpisodeCost, episode_costs
from studies.convergence.page import PUBLISHED, all_tables, cost_table

LEARNER = 'ranker = "{}"\nseeds = [0, 1]\nconfig = {{ epochs = 12, patience = 0, learning_rate = 0.1 }}'


def cell(
    ranker: str, fold: int, seed: int, returns: list[float], validation: list[float | None], **changes: Any
) -> Any:
    """A record of ten topics an epoch, one episode each; the first validation is of epoch 0."""
    per_epoch, before = changes.pop("evaluations", 100.0), changes.pop("before", 0.0)
    lines = [{"topics": 0, "episodes": 0, "cpu_seconds": before, "validation": validation[0]}]
    for epoch, (gain, value) in enumerate(zip(returns, validation[1:], strict=True), 1):
        line = {"topics": 10 * epoch, "episodes": 10 * epoch, "cpu_seconds": before + 2.0 * epoch, "validation": value}
        lines.append({**line, "return": gain, "evaluations": per_epoch})
    return {
        "ranker": ranker,
        "registry_name": ranker,
        "fold": fold,
        "seed": seed,
        "topic_set": {"name": "serp", "full_name": "trec-rl4srd made up"},
        "config": {"policy": "bilinear"},
        "measures": {"alpha_nDCG@10": 0.5 + 0.01 * seed},
        "validation": 0.9,
        "normalizer": "pool",
        "commit": "abc",
        "history": {"measure": "alpha_nDCG(normalizer='pool')@10", "records": lines, "best_validation": 0.9},
    } | changes


def quick_costs() -> list[EpisodeCost]:
    few = [(policy, m, m, how) for policy in ("bilinear", "attention") for m in (1, 2) for how in (None, "knn:0.3")]
    return episode_costs(rounds=1, size=0.01, cases=few)


def only(found: list[SetConvergence], ranker: str, quality: str, share: float) -> Any:
    return next(r for r in found[0].reached if (r.ranker, r.quality, r.share) == (ranker, quality, share))


def test_effort_is_summed_from_the_first_episode_on() -> None:
    curve = learning_curve(cell("mdp-div", 1, 0, [1.0, 2.0], [0.1, None, 0.3], before=5.0))
    np.testing.assert_array_equal(curve.effort["episodes"], [0, 10, 20])
    np.testing.assert_array_equal(curve.effort["evaluations"], [0, 1_000, 2_000])
    np.testing.assert_array_equal(curve.effort["cpu_seconds"], [5, 7, 9])
    np.testing.assert_array_equal(curve.quality["return"], [np.nan, 1, 2])
    np.testing.assert_array_equal(curve.quality["validation"], [0.1, np.nan, 0.3])


def test_smoothing_looks_back_only() -> None:
    curve = learning_curve(cell("mdp-div", 1, 0, [1, 2, 3, 4, 5, 6], [0.1, 0.3, None, 0.2, 0.5, 0.4, 0.4]))
    np.testing.assert_allclose(curve.smooth("return"), [np.nan, 1, 1.5, 2, 2.5, 3, 4])
    many = cell("mdp-div", 1, 0, [1, 2, 3, 4], [None] * 5)
    for line in many["history"]["records"]:
        line["episodes"] *= 20  # 200 an epoch: two epochs are 400
    np.testing.assert_allclose(learning_curve(many).smooth("return"), [np.nan, 1, 1.5, 2.5, 3.5])
    np.testing.assert_allclose(curve.smooth("validation"), [0.1, 0.3, 0.3, 0.3, 0.5, 0.5, 0.5])


@pytest.mark.parametrize(
    ("level", "expected"),
    [(0.2, 5.0), (0.3, 10.0), (0.4, 15.0), (0.5, 20.0), (0.51, None), (0.05, 10.0)],
)
def test_a_level_is_reached_on_the_line_between_epochs(level: float, expected: float | None) -> None:
    curve = learning_curve(cell("mdp-div", 1, 0, [1, 1, 1], [0.1, 0.3, 0.5, 0.2]))
    found = curve.reach("validation", level, "episodes")
    assert found == (None if expected is None else pytest.approx(expected))
    late = learning_curve(cell("mdp-div", 1, 0, [1, 1, 1], [None, None, 0.3, 0.5]))  # nothing is read into other epochs
    assert np.isnan(late.smooth("validation")[:2]).all()
    assert late.reach("validation", 0.2, "episodes") == 10.0
    # What is there from the start is charged its first episodes: a speed-up is never infinite.
    assert curve.reach("validation", 0.05, "cpu_seconds") == 2.0


def test_ratios_are_of_means_with_intervals_over_pairs() -> None:
    rng = np.random.default_rng(0)
    same = ratio_interval([6.0, 6.0, 6.0], [2.0, 2.0, 2.0], rng)
    assert (same.value, same.low, same.high) == (3, 3, 3)
    first = np.array([10.0, 20.0, 30.0, 40.0])
    paired = ratio_interval(list(first), list(first / 2), rng)
    assert paired.value == paired.low == paired.high == pytest.approx(2)
    noisy = ratio_interval([10, 20, 30, 40], [10, 5, 30, 20], rng)
    assert noisy.value == pytest.approx(100 / 65)
    assert 1 <= noisy.low < noisy.value < noisy.high <= 4
    assert ratio_interval([4.0], [2.0], rng).high == 2
    with pytest.raises(ValueError, match="as many values on both sides, at least one, got 1 and 0"):
        ratio_interval([1.0], [], rng)


def test_speed_ups_compare_pairs_at_the_folds_own_levels() -> None:
    records = []
    for fold, scale in ((1, 1.0), (2, 10.0)):  # fold 2 pays ten times as much: no common level would do
        for seed in (0, 1):
            slow = [scale * g for g in (1, 1, 1, 1, 1, 2, 2, 2, 2, 2)]
            fast = [scale * g for g in (2, 2, 2, 2, 2, 2, 2, 2, 2, 2)]
            nothing: list[float | None] = [0.5] * 11
            records.append(cell("mdp-div", fold, seed, slow, nothing))
            records.append(cell("mdp-div-knn30", fold, seed, fast, nothing, evaluations=50.0))
    found = convergence(records, ["mdp-div"])
    own, other = (only(found, name, "return", 0.5) for name in ("mdp-div", "mdp-div-knn30"))
    assert (own.runs, own.reached, own.pairs) == (4, 4, 4)
    assert found[0].ends[0].own["episodes"].mean == pytest.approx(95)  # type: ignore[union-attr]
    assert own.level == pytest.approx((1.5 + 15) / 2)
    assert own.cost["episodes"].mean == pytest.approx(75)  # the mean of the last five epochs passes the middle there
    assert all(ratio is None for ratio in own.ratio.values())
    assert other.cost["episodes"].mean == 10
    assert other.ratio["episodes"].value == pytest.approx(7.5)
    assert other.ratio["evaluations"].value == pytest.approx(15)
    assert found[0].unlearned == {"mdp-div": ("validation",)}
    assert found[0].ends[0].test.deviation == pytest.approx(np.std([0.5, 0.51] * 2, ddof=1))


def test_a_level_that_is_never_reached_has_no_ratio() -> None:
    rising, flat = [1.0, 2.0, 3.0], [1.0, 1.0, 1.0]
    values: list[float | None] = [0.1, 0.2, 0.3, 0.4]
    records = [cell("mdp-div", 1, 0, rising, values), cell("mdp-div-knn10", 1, 0, flat, [0.1] * 4)]
    line = only(convergence(records, ["mdp-div"]), "mdp-div-knn10", "validation", 0.9)
    assert (line.reached, line.pairs) == (0, 0)
    assert line.ratio["episodes"] is None
    assert line.cost["episodes"] is None


def test_rankers_are_compared_with_the_unpruned_one_of_their_policy() -> None:
    values: list[float | None] = [0.1, 0.2, 0.3]
    records = [
        cell(name, 1, 0, [1.0, 2.0], values, config={"policy": policy})
        for name, policy in (("a", "bilinear"), ("b", "attention"), ("c", "attention"), ("d", "bilinear"))
    ]
    assert convergence(records, ["b", "a"])[0].references == {"a": "a", "b": "b", "c": "b", "d": "a"}
    assert convergence(records, ["b"])[0].references == {"b": "b", "c": "b"}


def test_cells_without_a_course_are_refused() -> None:
    record = cell("mdp-div", 1, 0, [1.0], [0.1, 0.2])
    for line in record["history"]["records"]:
        del line["cpu_seconds"]
    with pytest.raises(ValueError, match="no cell has a curve to compare: expected learners that count episodes"):
        convergence([record, {**record, "history": None}], ["mdp-div"])


def test_published_figures_stand_beside_ours_and_are_named_so() -> None:
    values: list[float | None] = [0.1, 0.2, 0.3]
    costs = [
        EpisodeCost(
            policy="bilinear", topics=1, rollouts=1, pruning=pruning, evaluations=e,
            project=0.1, simulate=s, act=0.2, learn=0.5, evaluate=0.01,
        )
        for pruning, e, s in ((None, 2065.0, 0.2), ("knn:0.3", 679.0, 1.2))
    ]  # fmt: skip
    records = [cell(name, 1, seed, [1.0, 2.0], values) for name in PUBLISHED for seed in (0, 1) if name != "ntn-div"]
    text = "\n".join(table.as_markdown() for table in all_tables(convergence(records, ["mdp-div"]), costs))
    assert "| mdp-div-knn30 | 0.5050 ± 0.0071 | 0.4844 | 16 |" in text
    assert "65 / 16 = 4.1" in text
    assert "hours, published" in text
    assert cost_table(costs).rows[1][-1] == "0.50"
    elsewhere = [{**r, "topic_set": {"name": "x", "full_name": "ambient"}} for r in records]
    assert "published" not in "\n".join(t.as_markdown() for t in all_tables(convergence(elsewhere, ["mdp-div"]), costs))


def test_episode_costs_count_what_is_evaluated() -> None:
    costs = quick_costs()
    assert [cost.evaluations for cost in costs if cost.pruning is None] == pytest.approx([2065] * 4)
    assert [cost.evaluations for cost in costs if cost.pruning] == pytest.approx([679] * 4)
    for cost in costs:
        assert min(cost.project, cost.simulate, cost.learn, cost.evaluate) > 0
        assert cost.total == pytest.approx(cost.project + cost.simulate + cost.act + cost.learn)


def test_the_command_runs_resumes_and_writes_its_page(
    study: Srd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("matplotlib")
    monkeypatch.setattr("studies.convergence.run.episode_costs", quick_costs)
    out, page = tmp_path / "out", tmp_path / "docs" / "page.md"
    topics = 'source = "synthetic:tiny:24"\nfolds = 3\nrun_folds = [1]'
    recipe = recipe_file(tmp_path, "random", LEARNER.format("mdp-div-knn30"), LEARNER.format("mdp-div"), topics=topics)
    recipe.write_text(recipe.read_text().replace("alpha_nDCG@5", "alpha_nDCG@10"))
    page.parent.mkdir()
    shown = study.works("convergence", recipe, "--out", out, "--markdown", page).out
    assert "after all epochs" in shown
    text = page.read_text()
    assert "![Learning curves against episodes, evaluations and processor time](page.svg)" in text
    assert "| mdp-div-knn30 |" in text
    assert (page.parent / "page-times.svg").read_text().startswith("<?xml")
    stamps = {path: path.stat().st_mtime_ns for path in (out / "cells").iterdir()}
    assert len(stamps) == 5
    again = study.works("convergence", recipe, "--out", out, "--json").json
    assert stamps == {path: path.stat().st_mtime_ns for path in (out / "cells").iterdir()}
    taken = study.works("convergence", recipe, "--out", out, "--finished", "--json").json
    assert [(end["ranker"], end["test"]) for end in taken["sets"][0]["ends"]] == [
        (end["ranker"], end["test"]) for end in again["sets"][0]["ends"]
    ]
    cells = [json.loads(path.read_text()) for path in stamps if "mdp-div-knn30" in path.name]
    expected = np.mean([c["measures"]["alpha_nDCG@10"] for c in cells])
    end = next(e for e in again["sets"][0]["ends"] if e["ranker"] == "mdp-div-knn30")
    assert end["test"]["mean"] == pytest.approx(expected)
    assert "give one of them" in study.fails("convergence", recipe, "--fresh", "--finished")
    assert "there is no " in study.fails("convergence", recipe, "--out", tmp_path / "none", "--finished")
