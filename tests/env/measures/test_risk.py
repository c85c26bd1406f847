from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from small_topics import refused

from srd_gym.data import as_qrels, generate, load_trec, read_qrels, read_weights, write_qrels
from srd_gym.measures import IdealPool, evaluate_run, parse_measure, risk_against

JUDGMENTS = np.array([[1, 0, 0], [2, 0, 0], [1, 1, 0], [0, 0, 0], [0, 0, 1]], np.int8)


@pytest.mark.parametrize(("notation", "weights", "ranking", "expected"), [
    # k = 2: best 2/2, 1/2, 1/2; the first two documents give 2/2, 0, 0: losses 0, 1/2, 1/2.
    ("VRisk@2", None, [0, 1], 0.5),
    ("VRisk(beta=0.5)@2", (2, 1, 1), [0, 1], 0.5),
    ("VRisk(beta=0.5, relative=True)@2", (2, 1, 1), [0, 1], 1.0),
    ("VRisk@2", None, [2, 4], 0.5),  # losses 1/2, 0, 0
    ("VRisk(target=0.5)@2", None, [2, 4], 0.0),
    ("VRisk(rel=2)@2", None, [1, 0], 0.0),  # only the first intent has such a document
    ("VRisk@2", None, [], 1.0),
])  # fmt: skip
def test_values_worked_by_hand(
    notation: str, weights: tuple[float, ...] | None, ranking: list[int], expected: float
) -> None:
    reference = IdealPool(JUDGMENTS, subtopic_weights=weights)
    chosen = parse_measure(notation)
    bound, paid = chosen.bind([reference], 3), chosen.plain().bind([reference], 3)
    rows = JUDGMENTS[ranking].reshape(1, -1, 3)
    (start,) = bound.values(rows[:, :0], 0)
    assert bound.values(rows, 0) == pytest.approx([expected])
    assert paid.values(rows, 0) == pytest.approx([start - expected])
    assert paid.gains(rows, 0).sum() == pytest.approx(start - expected)
    assert bound.gains(rows, 0).sum() == pytest.approx(expected - start)


def test_a_missing_ranking_has_the_risk_of_no_document() -> None:
    judged = {"1": {"a": {"x": 1}, "b": {"y": 1}}, "2": {"a": {"x": 1}}}
    found = evaluate_run(judged, {"1": ["x", "y"]}, ["VRisk@2", "VRisk_reduction@2", "StRecall@2"])
    assert found.per_topic["2"] == {"VRisk@2": 0.5, "VRisk_reduction@2": 0.0, "StRecall@2": 0.0}
    assert found.per_topic["1"]["VRisk@2"] == 0.0
    assert found.missing_topics == ("2",)
    assert found.mean(ranked_topics_only=True)["VRisk@2"] == 0.0


def test_weights_of_qrels_are_those_of_a_topic_set(tmp_path: Path) -> None:
    topics = generate("serp", n_topics=4, seed=2)
    weights = {t.query_id: {s: 1.0 + i for i, s in enumerate(t.subtopic_ids)} for t in topics}
    write_qrels(tmp_path / "made.qrels", topics.replace(replace(t, subtopic_weights=None) for t in topics))
    lines = [f"{q} {s} {w}\n" for q, own in weights.items() for s, w in own.items()]
    (tmp_path / "made.weights").write_text("".join(lines))
    assert read_weights(tmp_path / "made.weights") == weights
    weighted = topics.replace(replace(t, subtopic_weights=list(weights[t.query_id].values())) for t in topics)
    qrels = read_qrels(tmp_path / "made.qrels").weighted(weights)
    names = ["ERR_IA@5", "alpha_nDCG@5", "Dsharp_nDCG@5", "MAP_IA", "VRisk(beta=0.3)@5"]
    run = {t.query_id: t.doc_ids for t in topics}
    scored = evaluate_run(qrels, run, names)
    assert scored.per_topic == evaluate_run(weighted, run, names).per_topic
    assert scored.measures != evaluate_run(topics, run, names).measures
    assert load_trec(run=run, qrels=qrels)[0].subtopic_weights.tolist() == list(weights[topics[0].query_id].values())
    for text, said in (
        (lines[0], "expected a positive weight for subtopic"),
        ("1 1 x\n", "made.weights:1: expected a fin"),
        (lines[0] * 2, "made.weights:2: subtopic"),
        ("1 1\n", "3 fields 'topic subtopic weight'"),
    ):
        (tmp_path / "made.weights").write_text(text)
        refused(lambda: read_qrels(tmp_path / "made.qrels").weighted(read_weights(tmp_path / "made.weights")), said)


@pytest.mark.parametrize(("what", "expected"), [
    ("VRisk@2", 0.5),  # the baseline gives 1/2 to both, the run 2/2 and 0: losses 0 and 1/2
    ("VRisk(beta=1.0)@2", 0.25 * 0.5),
    ("VRisk(beta=0.5)@2", 0.25 * 0.5 / 0.5),
    ("VRisk(relative=True)@2", 1.0),
    ("VRisk(target=0.5)@2", 0.25),
    ("VRisk@1", 0.0),
])  # fmt: skip
def test_risk_against_a_baseline_worked_by_hand(what: str, expected: float) -> None:
    judged = as_qrels({"1": {"a": {"x": 1, "y": 1}, "b": {"z": 1}}}).weighted({"1": {"a": 3, "b": 1}})
    baseline = {"1": ["x", "z", "y"]}
    assert risk_against(judged, {"1": ["x", "y", "z"]}, baseline, what) == pytest.approx({"1": expected})
    assert risk_against(judged, baseline, baseline, what) == {"1": 0.0}
    assert risk_against(judged, {"2": ["x"]}, baseline, "VRisk(beta=1)@2") == {"1": 0.5}
    refused(lambda: risk_against(judged, baseline, baseline, "alpha_nDCG@2"), "expected VRisk with a cutoff")
