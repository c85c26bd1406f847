"""Public conformance check of `scoring_v0`; `srd_gym.testing` re-exports it."""

from __future__ import annotations

from typing import Any

import numpy as np

from srd_gym.core.scoring import ScoringCore
from srd_gym.envs.scoring import ScoringEnv


class ConformanceError(AssertionError):
    """A law of the interface is broken; the message says which."""


def check_scoring_env(env: ScoringEnv, *, episodes: int = 3, seed: int = 0) -> None:
    """Check a `scoring_v0` environment against the laws of the scoring task.

    Checked: constant spaces that hold the observations; who takes part, and that padding is flagged, zero and bound to
    score 0; episodes of one step that all end together; one reward for all, which the batched twin pays too; the
    ranking sorted by score, with every document once; labels in no observation; determinism; and PettingZoo's own test.

    Args:
        env: the environment; it is left after an episode's end.
        episodes: how many to play.
        seed: of the first reset and of the actions.

    Raises:
        ConformanceError: a law is broken.
    """
    from pettingzoo.test import parallel_api_test

    generator = np.random.default_rng(seed)
    for episode in range(episodes):
        observations, infos = env.reset(seed=seed if episode == 0 else None)
        _check_begun(env, observations, infos)
        _play(env, generator)
    _check_determinism(env, seed)
    try:
        parallel_api_test(env, num_cycles=episodes)
    except AssertionError as error:
        raise ConformanceError(f"PettingZoo's parallel_api_test fails: {error}") from error


def _check_begun(env: ScoringEnv, observations: dict[str, Any], infos: dict[str, Any]) -> None:
    """What `reset` returns."""
    topic = env.core.arrays.topics[next(iter(infos.values()))["topic"]]
    expected = (
        env.possible_agents if len(env.agents) > topic.n_candidates else env.possible_agents[: topic.n_candidates]
    )
    _require(env.agents == expected, "agents must be the topic's documents, with all of the padding or none")
    _require(list(observations) == list(infos) == env.agents, "observations and infos must be of all agents, in order")
    first = env.agents[0]
    for i, agent in enumerate(env.agents):
        _require(
            env.observation_space(agent) is env.observation_space(first)
            and env.action_space(agent) is env.action_space(first),
            "spaces must be the same object at every call and for every agent",
        )
        _require(
            env.observation_space(agent).contains(observations[agent]), f"{agent}'s observation is not in its space"
        )
        padding = i >= topic.n_candidates
        _require(infos[agent]["padding"] is padding, f"{agent}: info['padding'] must be {padding}")
        if padding and isinstance(observations[agent], dict):
            mask = observations[agent]["action_mask"]
            _require(bool(mask[0]) and not mask[1:].any(), f"{agent} is padding: only score 0 may be allowed")
            _require(not observations[agent]["document"].any(), f"{agent} is padding: its vector must be 0")
    _require(env.state_space.contains(env.state()), "state() is not in state_space")


def _play(env: ScoringEnv, generator: np.random.Generator) -> None:
    """One episode with random scores."""
    topic = env.core.arrays.topics.position(env.query_id)
    count = int(env.core.arrays.n_candidates[topic])
    scores = generator.integers(0, env.core.n_scores, len(env.possible_agents))
    agents = list(env.agents)
    _, rewards, terminated, truncated, infos = env.step({a: int(s) for a, s in zip(agents, scores, strict=False)})
    _require(env.agents == [], "an episode must end after its one step")
    _require(list(rewards) == list(terminated) == agents, "rewards and ends must be of all agents")
    _require(all(terminated.values()) and not any(truncated.values()), "all must terminate, none be truncated")
    _require(len(set(rewards.values())) == 1, "all documents must be paid alike")
    _require(all(type(reward) is float for reward in rewards.values()), "rewards must be Python floats")
    _require(sorted(env.ranking) == list(range(count)), "the ranking must hold every document once")
    order = [int(scores[candidate]) for candidate in env.ranking]
    _require(order == sorted(order, reverse=True), "the ranking must be sorted by score")
    if env.core.ties == "retrieval":
        twin: ScoringCore = env.core
        _require(
            twin.step([topic], scores[None]).item() == rewards[agents[0]], "the batched twin must pay the same reward"
        )
    ranks = [infos[env.possible_agents[candidate]]["rank"] for candidate in env.ranking]
    _require(ranks == list(range(count)), "info['rank'] must be the document's place in the ranking")


def _check_determinism(env: ScoringEnv, seed: int) -> None:
    """The same seed brings the same topics, and with random ties the same lists."""
    seen = []
    for _ in range(2):
        env.reset(seed=seed)
        queries = [env.query_id]
        env.step(dict.fromkeys(env.agents, 0))
        first = env.ranking
        env.reset()
        seen.append((queries, env.query_id, first))
    _require(seen[0] == seen[1], "one seed must bring one sequence of topics and lists")


def _require(holds: bool, law: str) -> None:
    """Raise the law as an error unless it holds."""
    if not holds:
        raise ConformanceError(law)
