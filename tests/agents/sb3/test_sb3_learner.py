"""Ranker maskable-ppo: it learns, repeats and resumes to the bit, and leaves the global generators alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from srd_agents import load_ranker, make_ranker
from srd_agents.history import Progress
from srd_agents.learner import Learner
from srd_agents.sb3.agent import MaskablePpo
from srd_agents.sb3.config import MaskablePpoConfig
from srd_agents.sb3.randomness import PrivateRandomness
from srd_agents.validation import Validation
from srd_gym.data.synthetic import generate
from srd_gym.testing import check_ranker
from srd_gym.topic import Topic, TopicSet

pytest.importorskip("sb3_contrib")

SMALL: dict[str, Any] = {"hidden": 8, "batch_topics": 4, "rollouts": 2, "batch_size": 20, "n_epochs": 2, "horizon": 5}
TRAIN = generate("serp", n_topics=10, seed=1, candidates=(4, 8), width=6)
VALIDATION = generate("serp", n_topics=14, seed=1, candidates=(4, 8), width=6)[10:]


def learner(**options: Any) -> Learner[Any]:
    made = make_ranker("maskable-ppo", **{**SMALL, **options})
    assert isinstance(made, MaskablePpo)
    return made


def toy_set() -> TopicSet:
    """Six documents: one covers subtopic 0, one 2, one 0 and 1; three cover nothing."""
    judgments = np.zeros((6, 3), np.int8)
    judgments[[1, 3, 4, 4], [0, 2, 0, 1]] = 1
    vectors = np.random.default_rng(4).standard_normal((6, 8)).astype(np.float32)
    topic = Topic(
        query_id="toy",
        doc_ids=tuple("abcdef"),
        doc_vectors=vectors / np.linalg.norm(vectors, axis=1, keepdims=True),
        query_vector=np.full(8, 8**-0.5, np.float32),
        subtopic_ids=("0", "1", "2"),
        judgments=judgments,
    )
    return TopicSet([topic], name="toy")


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_learns_the_toy_topic(seed: int) -> None:
    """Six documents, five ranks; a random ranking reaches 0.5 of the ideal, MMR 0.72."""
    topics = toy_set()
    ranker = learner(hidden=32, epochs=30, rollouts=16, batch_size=80, n_epochs=4, learning_rate=0.003)
    history = ranker.fit(topics, seed=seed)
    returns = [record["return"] for record in history.records]
    assert np.mean(returns[-5:]) > np.mean(returns[:5]) + 0.2
    assert Validation(topics, "alpha_nDCG@5").mean(ranker) > 0.999


def test_beats_mmr_on_held_out_topics_that_share_a_catalogue() -> None:
    fold = generate("serp", n_topics=300, seed=11).folds(5, 0)[0]
    ranker = make_ranker("maskable-ppo", epochs=1, rollouts=4, hidden=32, batch_size=160)
    assert isinstance(ranker, MaskablePpo)
    ranker.fit(fold.train, fold.validation, seed=0)
    test = Validation(fold.test, "alpha_nDCG@10")
    assert test.mean(ranker) > max(test.mean(make_ranker("mmr", lambda_=step / 10)) for step in range(11)) + 0.02


def assert_same(one: Learner[Any], other: Learner[Any]) -> None:
    left, right = one._weights(), other._weights()
    assert all(left[name].tobytes() == right[name].tobytes() for name in right)


def test_same_seed_same_weights_whatever_the_global_generators_say() -> None:
    first, second, third = learner(epochs=2), learner(epochs=2), learner(epochs=2)
    first.fit(TRAIN, VALIDATION, seed=4)
    np.random.seed(99)  # noqa: NPY002 - the generator that SB3 draws from
    torch.manual_seed(99)
    before = np.random.get_state()[1].copy(), torch.get_rng_state()  # type: ignore[index,union-attr] # noqa: NPY002
    second.fit(TRAIN, VALIDATION, seed=4)
    assert np.array_equal(np.random.get_state()[1], before[0])  # type: ignore[index] # noqa: NPY002
    assert torch.equal(torch.get_rng_state(), before[1])
    assert_same(first, second)
    third.fit(TRAIN, VALIDATION, seed=5)
    with pytest.raises(AssertionError):
        assert_same(first, third)


def test_resuming_gives_bitwise_the_same(tmp_path: Path) -> None:
    whole, cut = learner(epochs=3), learner(epochs=3)
    history = whole.fit(TRAIN, VALIDATION, seed=3)
    seen: list[Progress] = []

    def stop(progress: Progress) -> None:
        seen.append(progress)
        if progress.epoch == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cut.fit(TRAIN, VALIDATION, seed=3, out=tmp_path, progress=stop)
    resumed = learner(epochs=3)
    again = resumed.fit(TRAIN, VALIDATION, seed=3, out=tmp_path, resume=True)
    assert_same(whole, resumed)
    assert [r["validation"] for r in again.records] == [r["validation"] for r in history.records]
    assert [r.get("return") for r in again.records] == [r.get("return") for r in history.records]


def test_it_is_a_ranker_and_survives_its_folder(tmp_path: Path) -> None:
    ranker = learner(epochs=1)
    ranker.fit(TRAIN, VALIDATION, seed=0)
    check_ranker(ranker, list(VALIDATION), k=5)
    check_ranker(ranker, list(generate("serp", n_topics=2, seed=0, candidates=(20, 20), width=6)), k=12)
    ranker.save(tmp_path)
    loaded = load_ranker(tmp_path)
    for topic in VALIDATION:
        np.testing.assert_array_equal(loaded.rank(topic, 8), ranker.rank(topic, 8))


def test_topics_shorter_than_the_horizon_and_odd_batches() -> None:
    topics = generate("serp", n_topics=7, seed=2, candidates=(2, 6), width=6)
    history = learner(epochs=2, horizon=10).fit(topics, seed=0)
    best = max(float((topic.judgments >= 1).sum()) for topic in topics if topic.judgments is not None)
    assert all(0 < record["return"] < best for record in history.records)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"batch_size": 1}, "batch_size must be at least 2"),
        ({"clip_range": 0.0}, "clip_range must be above 0"),
        ({"gae_lambda": 1.5}, "gae_lambda must be a finite number from 0.0 to 1.0"),
    ],
)
def test_options_are_checked(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        MaskablePpoConfig(**options)


@pytest.mark.parametrize("change", [{"pos": 625}, {"pos": -1}, {"pos": 1.0}, {"key": np.zeros(3, np.uint32)}])
def test_a_crafted_state_of_the_generator_is_refused(change: dict[str, Any]) -> None:
    tree = PrivateRandomness(0).tree()
    tree["numpy"]["state"].update(change)
    with pytest.raises(ValueError, match="not the state of numpy's MT19937 generator"):
        PrivateRandomness(1).load(tree)
