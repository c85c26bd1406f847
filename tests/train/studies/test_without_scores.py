"""The study of the default without scores: what is left out chooses nothing, and its rules are those of the default."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from srd_agents import make_ranker
from studies import without_scores as study
from studies.pretrain.wide import wide_topics

WHOLE = wide_topics(12, seed=1)
WHOLE = WHOLE.replace(t for t in WHOLE if t.query_vector is not None and t.retrieval_scores is not None)
PLACES = [(name, study.RETRIEVED) for name in "abc"]


def test_what_is_left_out_chooses_nothing() -> None:
    means = {name: dict.fromkeys(PLACES, value) for name, value in (("random", 0.2), ("good", 0.6), ("bad", 0.4))}
    means["bad"][PLACES[0]], means["good"][PLACES[0]] = 1.0, 0.3
    picked = study.left_out(means, ["good", "bad"], [])
    assert picked == {PLACES[0]: "good", PLACES[1]: "bad", PLACES[2]: "bad"}


@pytest.mark.parametrize(
    ("rule", "wanted"),
    [
        ({"a": 0.6, "b": 0.5}, 0.55),
        ({"a": 0.6, "b": 0.45}, 0.525 - 0.04),  # 0.05 below the better of both, of which 0.01 is free
        ({"a": 0.9, "b": 0.1}, 0.5 - 0.39 - 0.2),  # and below random
    ],
)
def test_worth(rule: dict[str, float], wanted: float) -> None:
    means = {
        "random": {PLACES[0]: 0.3, PLACES[1]: 0.3},
        "one": {PLACES[0]: 0.5, PLACES[1]: 0.4},
        "other": {PLACES[0]: 0.4, PLACES[1]: 0.5},
        "rule": {PLACES[0]: rule["a"], PLACES[1]: rule["b"]},
    }
    assert study.worth("rule", means, ["one", "other"], PLACES[:2]) == pytest.approx(wanted)


def test_the_rule_is_that_of_the_default() -> None:
    default = make_ranker("safe", near_duplicates=None)
    for topic in study.shuffled(WHOLE):
        assert study.WITH_QUERY["DPP, lambda 0.7"](topic, 10).tolist() == default.rank(topic, 10).tolist()
        alone = replace(topic, query_vector=None)
        assert study.DOCUMENTS_ALONE["representative"](topic, 10).tolist() == default.rank(alone, 10).tolist()


def test_tables() -> None:
    part = study.part_of(iter([(place, WHOLE) for place in PLACES] * 2))
    lines = part.splitlines()
    assert sum(line.startswith("| a, retrieved |") for line in lines) == 2
    (row,) = [line for line in lines if line.startswith("| a |")]
    assert row.split(" | ")[2] == "+0.0000"  # nothing in these topics is there twice
    means = [line for line in lines if line.startswith(("| mean of the collections", "| mean, retrieved"))]
    assert len(means) == 3
    random = np.mean([s for s in study.by_query({"random": {PLACES[0]: _scores()}})["random"][PLACES[0]]])
    assert f"| {random:.3f} |" in lines[4]


def _scores() -> dict[str, list[float]]:
    table: study.Table = {}
    study.add(table, PLACES[0], study.shuffled(WHOLE), study.RANDOM)
    return table["random"][PLACES[0]]
