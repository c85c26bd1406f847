"""The picture of relevance against diversity: its points are measures of rankings."""

from __future__ import annotations

from pathlib import Path

import pytest

from srd_agents.registry import make_ranker
from srd_gym.data.synthetic import generate
from srd_gym.wrappers import VectorReward
from studies import pareto


def test_points_are_mean_returns_of_the_vector_reward() -> None:
    import gymnasium as gym

    from srd_agents.acting import as_policy

    topics = generate("serp", n_topics=6, seed=0)
    ranker = make_ranker("mmr", lambda_=0.5)
    env = gym.make("srd_gym:SRD-MO-v0", topics=topics)
    policy, total = as_policy(ranker, env), 0.0
    for topic in topics:
        observation, _ = env.reset(options={"query_id": topic.query_id})
        ended = False
        while not ended:
            action, _ = policy.predict(observation, deterministic=True)
            observation, reward, ended, *_ = env.step(action)
            total += reward
    assert isinstance(env, VectorReward)
    assert pareto.point(ranker, topics) == pytest.approx(tuple(total / len(topics)), rel=1e-9)


def test_the_figure_is_drawn_from_a_sweep(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(pareto, "FIGURE", tmp_path / "pareto.svg")
    monkeypatch.setattr(pareto, "generate", lambda name, **_: generate(name, n_topics=8, seed=0))
    pareto.main()
    text = (tmp_path / "pareto.svg").read_text()
    assert all(label in text for label in (*pareto.OTHERS, *pareto.SIDES, "λ = 1"))
