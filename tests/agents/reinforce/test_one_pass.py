"""Episodes that stay on a device are those of numpy, and nothing waits for the device.

Devices are tried on the CPU: a learner is told that its episodes are to be tensors.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from small_topics import judged_topic, partial_topic
from torch._subclasses.fake_tensor import FakeTensorMode

from srd_agents.registry import make_ranker
from srd_agents.reinforce import agent, topic_inputs
from srd_agents.reinforce.agent import Reinforce
from srd_agents.reinforce.learner import PolicyGradient
from srd_agents.reinforce.one_pass import drawn
from srd_agents.reinforce.rollout import drawn as drawn_in_numpy
from srd_gym.topic import TopicSet

WIDTH = 6
SETTINGS: dict[str, dict[str, Any]] = {
    "reinforce": {},
    "reinforce, relations": {"parts": "relations", "horizon": 3, "reward": "StRecall"},
    "reinforce, directions": {"parts": "directions", "horizon": None},
    "reinforce, clicks": {"reward": "Clicks(model='dbn')", "pruning": "knn:0.3"},
    "mdp-div-batched": {},
    "mdp-div-batched, at the end": {"return_only": True, "pruning": "knn:0.3", "reward": "Clicks(expected=True)"},
}


def some_topics(sizes: tuple[int, ...] = (12, 7, 140, 9, 12)) -> TopicSet:
    return TopicSet([judged_topic(n, seed, WIDTH) for seed, n in enumerate(sizes)], name="sizes")


def learner(name: str, topics: TopicSet, **more: Any) -> Any:
    made: Any = make_ranker(name.split(",")[0], batch_topics=5, **SETTINGS[name], **more)
    made.prepare(topics, 3)
    return made


def on_device(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PolicyGradient, "stays_on_device", True)


def gradients(made: Any) -> dict[str, Any]:
    return {name: part.grad.clone() for name, part in made._network.named_parameters() if part.grad is not None}


@pytest.mark.parametrize("numbers", [1 << 27, 1], ids=["all at once", "each topic alone"])
@pytest.mark.parametrize("name", SETTINGS)
def test_updates_are_those_of_episodes_in_numpy(name: str, numbers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    topics, batch = some_topics(), np.arange(5)
    for part in ("_NUMBERS_AT_ONCE", "_NUMBERS_ON_DEVICE"):
        monkeypatch.setattr(agent, part, numbers)
    expected = learner(name, topics)
    figures = expected._update(batch)
    on_device(monkeypatch)
    found = learner(name, topics)
    assert found._simulator is not None
    ours = {name: float(value) for name, value in found._update(batch).items()}
    assert ours == pytest.approx(dict(figures), rel=1e-4, abs=1e-6)
    theirs = gradients(expected)
    assert theirs
    for name_of, gradient in gradients(found).items():
        torch.testing.assert_close(gradient, theirs[name_of], rtol=1e-3, atol=1e-5, msg=name_of)


def test_topics_without_room_are_moved_batch_by_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    on_device(monkeypatch)
    topics, batch = some_topics(), np.arange(5)
    kept = learner("reinforce", topics)
    kept._update(batch)
    monkeypatch.setattr(topic_inputs, "KEPT", 0)
    moved = learner("reinforce", topics)
    moved._update(batch)
    for name, weights in kept._weights().items():
        np.testing.assert_allclose(moved._weights()[name], weights, atol=1e-5, err_msg=name)


@pytest.mark.parametrize("name", SETTINGS)
def test_no_update_looks_at_what_tensors_hold(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    on_device(monkeypatch)
    made = learner(name, some_topics((9, 12, 7, 12, 12)))
    if isinstance(made, Reinforce):
        made._alone = False
    part = np.arange(5)
    made._network.zero_grad()
    with FakeTensorMode(allow_non_fake_inputs=True):
        played = made._played(part, whole=True)
        assert not isinstance(played.evaluations, int)
        log_pi, entropies = played.learned()
        assert log_pi.shape == entropies.shape == played.rewards.shape


def test_what_has_no_form_in_tensors_is_played_in_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    on_device(monkeypatch)
    made: Any = make_ranker("mdp-div-batched", batch_topics=5, pruning="knn:0.3+ranker:0.5:step:mmr")
    made.prepare(some_topics(), 0)
    assert made._simulator is None
    assert all(isinstance(value, float) for value in made._update(np.arange(5)).values())


def test_a_training_on_a_device_is_validated_resumed_and_recorded(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    on_device(monkeypatch)
    topics = TopicSet([partial_topic(seed, 8 + seed % 3, WIDTH) for seed in range(12)], name="partial").trainable()
    whole = make_ranker("reinforce", epochs=2, batch_topics=4)
    whole.fit(topics[3:], topics[:3], seed=1)
    assert all(isinstance(value, (int, float)) for value in whole.history.records[-1].values())
    halved = make_ranker("reinforce", epochs=1, batch_topics=4)
    halved.fit(topics[3:], topics[:3], seed=1, out=tmp_path)
    halved = make_ranker("reinforce", epochs=2, batch_topics=4)
    halved.fit(topics[3:], topics[:3], seed=1, out=tmp_path, resume=True)
    for name, weights in whole._weights().items():
        np.testing.assert_array_equal(halved._weights()[name], weights)


def test_draws_are_those_of_numpy() -> None:
    rng = np.random.default_rng(0)
    scores = np.where(rng.random((500, 9)) < 0.3, -np.inf, rng.normal(size=(500, 9))).astype(np.float32)
    scores[:, 4] = 0.0
    log_pi = torch.from_numpy(scores).log_softmax(-1)
    levels = np.random.default_rng(1).random(500)
    found = drawn(log_pi, torch.from_numpy(levels))
    np.testing.assert_array_equal(found, drawn_in_numpy(scores, np.random.default_rng(1)))
    assert np.isfinite(scores[np.arange(500), found]).all()
    assert drawn(torch.full((2, 3), torch.nan), torch.tensor([0.2, 0.9])).tolist() == [0, 0]


@pytest.mark.parametrize("name", ["reinforce", "mdp-div-batched"])
def test_one_topic_may_be_far_larger_than_the_others(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    on_device(monkeypatch)
    made: Any = make_ranker(name, batch_topics=3, rollouts=2, horizon=2)
    made.prepare(some_topics((10, 5_000, 10)), 0)
    figures = made._update(np.arange(3))
    assert float(figures["evaluations"]) == pytest.approx(2 * (10 + 9 + 5_000 + 4_999 + 10 + 9) / 3)


def test_vectors_of_half_precision_are_learned_in_single_precision(monkeypatch: pytest.MonkeyPatch) -> None:
    on_device(monkeypatch)
    topics = some_topics()
    half = topics.replace(
        replace(
            topic, doc_vectors=topic.doc_vectors.astype(np.float16), query_vector=topic.query_vector.astype(np.float16)
        )
        for topic in topics
    )
    made = learner("mdp-div-batched", half)
    made._update(np.arange(5))
    assert {weights.dtype for weights in made._weights().values()} == {np.dtype(np.float32)}
