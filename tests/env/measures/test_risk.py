"""VRisk: values worked by hand, its differences as a reward, and what is made of a measure where lower is better."""

from __future__ import annotations

from dataclasses import replace

import gymnasium as gym
import numpy as np
import pytest

from srd_gym.data.synthetic import generate
from srd_gym.measures import Reference, evaluate, evaluate_run, measure
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
    given = np.array(losses)
    assert tail_mean(given, np.array(p), beta) == pytest.approx(expected)
    assert tail_mean(given[::-1], np.array(p[::-1]), beta) == pytest.approx(expected)
    by_formula = min(z + sum(w * max(0, x - z) for x, w in zip(losses, p, strict=True)) / beta for z in (0, *losses))
    assert tail_mean(given, np.array(p), beta) == pytest.approx(by_formula if sum(p) else 0.0)


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
        nothing, whole = (
            evaluate([topic], {topic.query_id: each}, [NAME]).measures[NAME] for each in ([], info["ranking"])
        )
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
    assert evaluate([towards], ranking, names).measures == pytest.approx(
        evaluate([one], ranking, names).measures, abs=1e-6
    )
