from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest
from small_topics import refused

from srd_gym.data import as_qrels, generate, load_trec, read_qrels, read_weights, write_qrels
from srd_gym.measures import Reference, evaluate, evaluate_run, measure, risk_against
from srd_gym.measures.risk import tail_mean


@pytest.mark.parametrize(("losses", "p", "beta", "expected"), [
    ((0.9, 0.5, 0.1), (1 / 3, 1 / 3, 1 / 3), 0.5, (0.9 / 3 + 0.5 / 6) / 0.5),  # 0.767: the second intent in part
    ((0.9, 0.5, 0.1), (1 / 3, 1 / 3, 1 / 3), 1.0, 0.5),
    ((0.9, 0.5, 0.1), (1 / 3, 1 / 3, 1 / 3), 0.1, 0.9),
    ((0.2, 0.8), (0.9, 0.1), 0.5, (0.1 * 0.8 + 0.4 * 0.2) / 0.5),
    ((0.3, 0.3, 5.0), (0.5, 0.5, 0.0), 0.2, 0.3),
    ((1.0, 1.0), (0.0, 0.0), 0.2, 0.0),
])  # fmt: skip
def test_the_worst_intents_are_filled_from_the_largest_loss(
    losses: tuple[float, ...], p: tuple[float, ...], beta: float, expected: float
) -> None:
    given, shares = np.array(losses), np.array(p)
    assert [tail_mean(given, shares, beta), tail_mean(given[::-1], shares[::-1], beta)] == pytest.approx([expected] * 2)
    by_formula = min(z + sum(w * max(0, x - z) for x, w in zip(losses, p, strict=True)) / beta for z in (0, *losses))
    assert expected == pytest.approx(by_formula if sum(p) else 0.0)


JUDGMENTS = np.array([[1, 0, 0], [2, 0, 0], [1, 1, 0], [0, 0, 0], [0, 0, 1]], np.int8)


@pytest.mark.parametrize(("notation", "weights", "ranking", "expected"), [
    # k = 2: best 2/2, 1/2, 1/2; the first two documents give 2/2, 0, 0: losses 0, 1/2, 1/2.
    ("VRisk@2", None, [0, 1], 0.5),
    ("VRisk(beta=1.0)@2", None, [0, 1], 1 / 3),
    ("VRisk(beta=0.5)@2", (2, 1, 1), [0, 1], 0.5),
    ("VRisk(beta=1)@2", (2, 1, 1), [0, 1], 0.25),
    ("VRisk(beta=0.5, relative=True)@2", (2, 1, 1), [0, 1], 1.0),
    ("VRisk@2", None, [2, 4], 0.5),  # losses 1/2, 0, 0
    ("VRisk(relative=True)@2", None, [2, 4], 0.5),
    ("VRisk(beta=0.5)@2", None, [2, 4], 1 / 3),
    ("VRisk(target=0.5)@2", None, [2, 4], 0.0),
    ("VRisk(rel=2)@2", None, [1, 0], 0.0),  # only the first intent has such a document
    ("VRisk@2", None, [], 1.0),
])  # fmt: skip
def test_values_worked_by_hand(
    notation: str, weights: tuple[float, ...] | None, ranking: list[int], expected: float
) -> None:
    reference = Reference(JUDGMENTS, subtopic_weights=weights)
    chosen = measure(notation)
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
    assert found.mean(present_only=True)["VRisk@2"] == 0.0


NAME = "VRisk(beta=0.5)@4"


def test_the_environment_pays_what_the_risk_falls_by() -> None:
    topics = generate("tiny", n_topics=5, seed=3)
    for topic in topics:
        env = gym.make("srd_gym:SRD-v0", topics=topics, reward="VRisk(beta=0.5)", horizon=4)
        _, info = env.reset(seed=1, options={"query_id": topic.query_id})
        rewards, done = [], False
        while not done:
            action = int(np.flatnonzero(info["action_mask"])[-1])
            _, reward, done, _, info = env.step(action)
            rewards.append(reward)
        shown = [{topic.query_id: each} for each in ([], info["ranking"])]
        nothing, whole = (evaluate([topic], each, [NAME]).measures[NAME] for each in shown)
        assert info["measures"][NAME] == pytest.approx(whole)
        assert sum(rewards) == pytest.approx(nothing - whole)
        assert info["return"] == pytest.approx(sum(rewards))


def test_weights_are_intent_probabilities_in_every_measure() -> None:
    (topic,) = generate("serp", n_topics=1, seed=7)
    names = [f"{name}@5" for name in ("ERR_IA(normalization=chapelle)", "Dsharp_nDCG", "D_nDCG", "StRecall", "VRisk")]
    ranking = {topic.query_id: range(5)}
    plain = evaluate([topic], ranking, names).measures
    doubled = replace(topic, subtopic_weights=np.full(topic.n_subtopics, 2.0))
    assert evaluate([doubled], ranking, names).measures == pytest.approx(plain)
    # All probability on one intent: the measures of a topic that has no other.
    weights = np.full(topic.n_subtopics, 1e-12)
    weights[0] = 1.0
    one = replace(topic, judgments=topic.judgments * (np.arange(topic.n_subtopics) == 0), pool=None, pool_ids=None)
    towards = replace(topic, subtopic_weights=weights, pool=None, pool_ids=None)
    expected = evaluate([one], ranking, names).measures
    assert evaluate([towards], ranking, names).measures == pytest.approx(expected, abs=1e-6)


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
        ("1 1\n", "expected 3 fields 'topic subtopic weight'"),
    ):
        (tmp_path / "made.weights").write_text(text)
        refused(lambda: read_qrels(tmp_path / "made.qrels").weighted(read_weights(tmp_path / "made.weights")), said)


def test_weighted_values_worked_by_hand() -> None:
    # p = 3/4, 1/4. Rank 1 covers the first intent, rank 2 both.
    judged = as_qrels({"1": {"a": {"x": 1, "y": 1}, "b": {"y": 1}}}).weighted({"1": {"a": 3, "b": 1}})
    found = evaluate_run(judged, {"1": ["x", "y"]}, ["ERR_IA(normalization=chapelle)@2", "D_nDCG@2", "StRecall@1"])
    discount = 1 / np.log2(3)
    assert found.measures == pytest.approx({
        "ERR_IA(normalization=chapelle)@2": 0.75 * (0.5 + 0.5 * 0.5 / 2) + 0.25 * (0.5 / 2),
        "D_nDCG@2": (0.75 + 1.0 * discount) / (1.0 + 0.75 * discount),
        "StRecall@1": 0.75,
    })  # fmt: skip


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
