"""`reinforce-logs`: weights, lists and gradients by hand, and what it gains from a log without judgments."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from small_topics import refused

from srd_agents.registry import load_ranker, make_ranker
from srd_agents.reinforce.logged import ReinforceLogs, ReinforceLogsConfig
from srd_agents.training.logged import LoggedValidation
from srd_agents.training.validation import Validation
from srd_gym import Clicks, TopicSet
from srd_gym.data import generate, write_topics
from srd_gym.offline import EpsilonPolicy, Log, logged_parts, read_log, write_log
from srd_train.cli import main

TOPICS = generate("serp", n_topics=60, seed=0)


def bare(topics: TopicSet) -> TopicSet:
    """The topics as one has them who has a log alone."""
    gone: dict[str, Any] = {"judgments": None, "subtopic_ids": (), "subtopic_vectors": None, "subtopic_weights": None}
    return topics.replace([replace(topic, **gone, pool=None, pool_ids=None) for topic in topics])


def logged(path: Path, topics: TopicSet, episodes: int, depth: int = 10) -> Path:
    """A log of the initial ranking, explored."""
    users, policy = Clicks(attraction=0.9), EpsilonPolicy(0.3)
    parts = logged_parts(make_ranker("retrieval-order"), topics, users, policy, depth=depth, episodes=episodes, seed=1)
    write_log(path, parts, {"epsilon": 0.3, "top_n": None, "episodes": episodes}, lambda _: None, force=True)
    return path


def ready(topics: TopicSet, **options: Any) -> ReinforceLogs:
    """A learner that is about to train."""
    learner = ReinforceLogs(ReinforceLogsConfig(**options))
    learner.prepare(topics)
    learner._begin_update()
    return learner


def test_lists_of_an_update_are_the_logged_ones(tmp_path: Path) -> None:
    topics = bare(TOPICS)
    log = read_log(logged(tmp_path / "log", TOPICS, 600), TOPICS)
    learner, batch = ready(topics, logs=str(tmp_path / "log")), np.array([4, 17, 31])
    inputs = learner._see(batch)
    played = learner._play(inputs, batch, 5)
    for row, topic in enumerate(batch.tolist()):
        own = log.topic_index == topic
        for actions, rewards, chances, allowed in zip(
            played.actions[row], played.rewards[row], played.propensities[row], played.allowed[row], strict=True
        ):
            same = own & (log.shown == actions).all(axis=1) & (log.propensities == chances).all(axis=1)
            clicks = rewards * np.arange(1, 11) > 0.5
            assert (same & (log.clicks == clicks).all(axis=1)).any()
            assert allowed.sum(axis=-1).tolist() == [topics[topic].n_candidates - rank for rank in range(10)]
            assert allowed[np.arange(10), actions].all()
    assert learner._filled(batch) == played.active.sum() == 150


def test_short_lists_and_topics_of_one_list_have_empty_ranks() -> None:
    learner, batch = ready(TOPICS, lists=61, horizon=4), np.arange(60)
    played = learner._play(learner._see(batch), batch, 2)
    few = learner._lists < 2
    assert few.any()
    assert not played.active[few].any()
    assert played.active[~few].all()
    assert not played.rewards[few].any()
    assert all(np.isfinite(float(value)) for value in learner._update(batch).values())


def test_gradient_is_that_of_the_clipped_weighed_sum(tmp_path: Path) -> None:
    """Against sum_k min(c, pi_k / p_k) A_k grad log pi_k, with pi by a plain softmax and A from the mean of others."""
    learner = ready(TOPICS, lists=2000, clip=1.5, entropy_coef=0.0, parts="relations", rollouts=3, max_grad_norm=1e9)
    batch = np.array([2, 9])
    state = learner._generator.bit_generator.state
    inputs = learner._see(batch)
    played = learner._play(inputs, batch, 3)
    logits = learner._network.logits(inputs, played.actions, alone=False)
    log_pi = logits.masked_fill(~torch.from_numpy(played.allowed), -torch.inf).log_softmax(-1)
    chosen = log_pi.gather(-1, torch.from_numpy(played.actions)[..., None])[..., 0]
    assert played.propensities is not None
    weights = np.minimum(1.5, np.exp(chosen.detach().numpy()) / played.propensities)
    assert (weights == 1.5).any()
    assert (weights < 1.5).any()
    gains = played.rewards[..., ::-1].cumsum(-1)[..., ::-1].astype(np.float64)
    advantages = gains - (gains.sum(1, keepdims=True) - gains) / 2
    advantages /= np.sqrt(np.square(advantages).mean()) * advantages.size
    (-(chosen * torch.from_numpy(weights * advantages)).sum()).backward()  # type: ignore[no-untyped-call]
    wanted = [parameter.grad.clone() for parameter in learner._network.parameters() if parameter.grad is not None]
    learner._generator.bit_generator.state = state
    learner._update(batch)
    found = [parameter.grad for parameter in learner._network.parameters() if parameter.grad is not None]
    assert len(found) == len(wanted) > 0
    for one, other in zip(found, wanted, strict=True):
        assert one is not None
        np.testing.assert_allclose(one, other, rtol=2e-4, atol=2e-6)


def test_it_beats_the_ranker_that_logged_without_a_judgment(tmp_path: Path) -> None:
    topics = generate("serp", n_topics=300, seed=2)
    train, validation = topics.select(topics.query_ids[:180]), topics.select(topics.query_ids[180:240])
    test = topics.select(topics.query_ids[240:])
    path = logged(tmp_path / "log", topics, 8000)
    learner = ReinforceLogs(ReinforceLogsConfig(logs=str(path), epochs=8, init="random"))
    history = learner.fit(bare(train), bare(validation), seed=0)
    truth = Validation(test, "alpha_nDCG@10")
    assert truth.mean(learner) > truth.mean(make_ranker("retrieval-order")) + 0.03
    assert history.measure == "clicks (cascade-dr)"
    assert history.best_epoch
    assert history.records[0]["validation/logged_lists"] == pytest.approx(
        read_log(path, validation, others="leave out").clicks.sum(axis=1).mean()
    )


def test_the_classifier_reads_clicks_of_the_log(tmp_path: Path) -> None:
    topics = generate("serp", n_topics=300, seed=2)
    train, test = topics.select(topics.query_ids[:240]), topics.select(topics.query_ids[240:])
    path = logged(tmp_path / "log", topics, 3000)
    learner: Any = make_ranker("click-classifier-logs", logs=str(path))
    log = read_log(path, train, others="leave out")
    clicked, shown = learner._logged(bare(train), np.random.default_rng(0))
    for topic in (0, 7, 200):
        rows = np.flatnonzero(log.topic_index == topic)
        assert set(np.flatnonzero(shown[topic])) == set(log.shown[rows].ravel())
        assert set(np.flatnonzero(clicked[topic])) == set(log.shown[rows][log.clicks[rows]])
    learner.fit(bare(train), seed=0)
    truth = Validation(test, "alpha_nDCG@10")
    assert truth.mean(learner) > truth.mean(make_ranker("retrieval-order")) + 0.03


def test_judged_topics_are_validated_by_their_judgments(tmp_path: Path) -> None:
    path = str(logged(tmp_path / "log", TOPICS, 400))
    learner = ReinforceLogs(ReinforceLogsConfig(logs=path))
    assert not isinstance(learner.validation_on(TOPICS), LoggedValidation)
    assert isinstance(learner.validation_on(bare(TOPICS)), LoggedValidation)


def test_topics_with_fewer_than_two_lists_are_left_out(tmp_path: Path) -> None:
    half = TOPICS.select(TOPICS.query_ids[:30])
    path = str(logged(tmp_path / "log", half, 2000))
    learner = ReinforceLogs(ReinforceLogsConfig(logs=path, epochs=1))
    with pytest.warns(UserWarning, match="30 of 60 training topics have fewer than 2 lists"):
        history = learner.fit(bare(TOPICS))
    assert history.excluded == list(TOPICS.query_ids[30:])
    others = generate("serp", n_topics=5, seed=9)
    refused(lambda: learner.fit(bare(others)), "no episode of the 5 topics")


def test_what_it_cannot_learn_from_is_refused(tmp_path: Path) -> None:
    refused(lambda: make_ranker("reinforce-logs", users="alpha_nDCG").fit(TOPICS), "users must be Clicks")
    refused(lambda: ReinforceLogs().fit(bare(TOPICS)), "judgments")
    refused(lambda: ReinforceLogs().fit_many(TOPICS, seeds=[0, 1]), "one seed at a time")
    gone = ReinforceLogs(ReinforceLogsConfig(logs=str(tmp_path / "none")))
    refused(lambda: gone.fit(bare(TOPICS)), "none", FileNotFoundError)
    refused(lambda: ReinforceLogsConfig(clip=0.0), "clip")
    refused(lambda: ReinforceLogsConfig(reward="StRecall"), "reward is of episodes")
    refused(lambda: ReinforceLogsConfig(pruning="knn:0.3"), "pruning is of episodes")
    refused(lambda: ReinforceLogsConfig(pays="satisfaction"), "pays")  # type: ignore[arg-type]


def test_command_trains_from_a_log_and_resumes_to_the_same_weights(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    write_topics("bare.parquet", bare(TOPICS))
    logged(tmp_path / "log", TOPICS, 1500)
    words = ["train", "reinforce-logs", "--logs", "log", "--topics", "bare.parquet", "--fold", "1/5"]
    assert main([*words, "--epochs", "3", "--out", "whole"]) == 0
    assert "clicks (cascade-dr) of the logged lists" in capsys.readouterr().out
    assert main([*words, "--epochs", "1", "--out", "parts"]) == 0
    assert main([*words, "--epochs", "3", "--out", "parts", "--resume"]) == 0
    topics = list(bare(TOPICS))
    for one, other in zip(
        load_ranker("whole").rank_batch(topics, 9), load_ranker("parts").rank_batch(topics, 9), strict=True
    ):
        assert one.tolist() == other.tolist()
    logged(tmp_path / "log", TOPICS, 1600)
    assert main([*words, "--epochs", "4", "--out", "parts", "--resume"]) == 2
    assert "another run" in capsys.readouterr().err


def test_joined_logs_are_their_episodes_in_order() -> None:
    how: dict[str, Any] = {"depth": 3, "episodes": 5000, "seed": 0}
    parts = [part() for part in logged_parts(make_ranker("mmr"), TOPICS, Clicks(), EpsilonPolicy(0.2), **how)]
    joined = Log.joined(parts)
    assert len(parts) == 2
    assert len(joined.clicks) == 5000
    assert joined.policy == parts[0].policy
    assert joined.shown.tolist() == [*parts[0].shown.tolist(), *parts[1].shown.tolist()]
