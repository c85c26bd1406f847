"""Families of tests: what p values are adjusted over."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made_results import made_runs
from run_srd import Srd
from scipy import stats
from small_topics import refused

from srd_gym.data import as_qrels, as_run
from srd_gym.trec_files import read_qrels, read_run
from srd_train.report.comparison import Comparison, compare

NAMES = ("first", "second", "third")
MEASURES = ("alpha_nDCG@5", "StRecall@5")


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return made_runs(tmp_path_factory.mktemp("runs"))


def compared(files: dict[str, Path], **options: Any) -> Comparison:
    runs = {name: read_run(files[name]) for name in NAMES}
    return compare(read_qrels(files["qrels"]), runs, MEASURES, **options)


def p_values(made: Comparison) -> np.ndarray[Any, Any]:
    (found,) = made.differences
    return np.array([each.p_value for each in found]).reshape(len(MEASURES), -1)


def test_families_are_all_tests_those_of_a_measure_or_none(files: dict[str, Path]) -> None:
    raw = p_values(compared(files, pairs=True, adjust="none"))
    assert raw.shape == (2, 3)
    for row, own in zip(raw, p_values(compared(files, pairs=True, adjust="measure")), strict=True):
        smallest, middle, largest = np.sort(row)
        expected = np.minimum(1, np.maximum.accumulate([3 * smallest, 2 * middle, largest]))
        np.testing.assert_allclose(np.sort(own), expected, rtol=1e-12)
    every = p_values(compared(files, pairs=True))
    np.testing.assert_allclose(every.min(), min(1, 6 * raw.min()), rtol=1e-12)
    assert (every >= p_values(compared(files, pairs=True, adjust="measure")) - 1e-12).all()


def test_tukeys_test_is_that_of_a_two_way_analysis_of_variance(files: dict[str, Path]) -> None:
    made = compared(files, pairs=True, adjust="tukey")
    (table,) = made.tables
    for measure, found in zip(MEASURES, p_values(made), strict=True):
        scores = np.array([table.scores[measure][row.ranker][0] for row in table.rows])
        count, topics = scores.shape
        total = ((scores - scores.mean()) ** 2).sum()
        of_rankers = topics * ((scores.mean(axis=1) - scores.mean()) ** 2).sum()
        of_topics = count * ((scores.mean(axis=0) - scores.mean()) ** 2).sum()
        freedom = (count - 1) * (topics - 1)
        error = (total - of_rankers - of_topics) / freedom
        for p_value, (one, other) in zip(found, itertools.combinations(scores, 2), strict=True):
            apart = abs(one.mean() - other.mean()) / np.sqrt(error / topics)
            assert p_value == pytest.approx(stats.studentized_range.sf(apart, count, freedom), rel=1e-9)


@pytest.mark.parametrize("topics", [1, 2, 4, 8])
def test_tukeys_test_of_constant_differences_is_that_of_their_signs(topics: int) -> None:
    qrels = as_qrels({str(i): {"a": {"x": 1}, "b": {"x": 1, "y": 1}} for i in range(topics)})
    runs = {name: as_run({str(i): [name] for i in range(topics)}) for name in ("x", "y", "z")}  # scores 1, 0.5 and 0
    (found,) = compare(qrels, runs, ["StRecall@1"], pairs=True, adjust="tukey").differences
    signs = np.array(list(itertools.product([-1, 1], repeat=topics)))
    share = (np.abs(signs.sum(axis=1)) >= topics).mean()
    assert [each.p_value for each in found] == pytest.approx([min(1, 3 * share)] * 3)


@pytest.mark.parametrize(("options", "said"), [
    ({}, "Holm-adjusted over the 4 comparisons shown"),
    ({"pairs": True, "adjust": "measure"}, "Holm-adjusted over the 3 comparisons by each measure"),
    ({"adjust": "none"}, "not adjusted"),
    ({"pairs": True, "adjust": "tukey"}, "Tukey's HSD of the 3 pairs by each measure"),
])  # fmt: skip
def test_every_form_says_what_p_is_adjusted_over(files: dict[str, Path], options: Any, said: str) -> None:
    made = compared(files, **options)
    for form in (made.legend, made.markdown(), made.latex()):
        assert said in form
        assert ("t-test" in form) is (options.get("adjust") != "tukey"), "Tukey's is another test"


def test_the_command_takes_the_family(files: dict[str, Path], srd: Srd) -> None:
    words = ("compare", *(files[name] for name in NAMES), "--qrels", files["qrels"], "--measures", *MEASURES)
    told = srd.works(*words, "--pairs", "--adjust", "tukey", "--json").json
    assert told["adjust"] == "tukey"
    expected = p_values(compared(files, pairs=True, adjust="tukey")).ravel()
    np.testing.assert_array_equal([each["p_value"] for each in told["differences"]], expected)
    assert "--pairs" in srd.fails(*words, "--adjust", "tukey")


@pytest.mark.parametrize("options", [{}, {"pairs": True, "test": "randomisation"}])
def test_tukeys_test_goes_with_all_pairs_and_no_other_test(files: dict[str, Path], options: Any) -> None:
    refused(lambda: compared(files, adjust="tukey", **options), "all pairs")
