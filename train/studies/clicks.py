"""Tables of docs/clicks.md and docs/environments.md: `python -m studies.clicks` writes them anew between their marks.

No file of data is read.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np

from srd_agents.registry import load_ranker, make_ranker, pretrained_names
from srd_agents.training.validation import Validation
from srd_gym.core import ScoringCore, SelectionCore, TopicArrays
from srd_gym.core.users import Clicks
from srd_gym.data import load_topics
from srd_gym.dtypes import ScoreArray
from srd_gym.offline import EpsilonPolicy, Estimate, evaluate_offline, logged_parts, write_log
from srd_gym.offline.log import orders_of
from srd_gym.protocols import Ranker
from srd_gym.topic import TopicSet
from srd_train.report.actions import bare
from srd_train.report.markup import markdown, with_parts, write_text

PAGES = [Path(__file__).parents[2] / "docs" / name for name in ("clicks.md", "environments.md")]
LOGS, EPISODES = 200, 2_000
LISTS = {"3 of 6, 0.5": (3, 6, 0.5), "10 of 15, 0.1": (10, 15, 0.1)}
"""Name -> depth of the logged lists, documents of a topic, epsilon of the logging policy."""
_PARTS = (slice(0, 600), slice(600, 800), slice(800, 1000))
"""Topics of training, validation and testing."""
USERS = {"cascade": Clicks(attraction=0.7), "pbm": Clicks(model="pbm", attraction=0.7)}


def expected_clicks(users: Clicks, topics: TopicSet, ranker: Ranker, depth: int) -> ScoreArray:
    """[T] exact expected reward of the ranker's list for each topic."""
    bound = replace(users, expected=True).bind(TopicArrays.of(topics), depth)
    every = np.arange(len(topics))
    pay: ScoreArray = bound.pay(every, orders_of(ranker, topics)[:, :depth], every).sum(axis=1)
    return pay


def coverage() -> Iterator[tuple[Any, ...]]:
    """Bias, spread and coverage of estimates of MMR from logs of the retrieval order."""
    logger, ranker = make_ranker("retrieval-order"), make_ranker("mmr")
    for (lists, (depth, documents, epsilon)), (name, users) in product(LISTS.items(), USERS.items()):
        topics = TopicSet([topic.take(range(documents)) for topic in load_topics("synthetic:serp:40")], name="first")
        truth = float(expected_clicks(users, topics, ranker, depth).mean())
        estimates: dict[str, list[Estimate]] = {}
        for seed in range(LOGS):
            how: dict[str, Any] = {"depth": depth, "episodes": EPISODES, "seed": seed}
            log = next(logged_parts(logger, topics, users, EpsilonPolicy(epsilon), **how))()
            for each in evaluate_offline(log, ranker, resamples=200, seed=seed).values():
                estimates.setdefault(each.estimator, []).append(each)
        for estimator, found in estimates.items():
            values = np.array([each.value for each in found])
            given = [each.low <= truth <= each.high for each in found if each.low is not None and each.high is not None]
            covered = f"{100 * np.mean(given):.1f}" if given else "-"
            shown = (f"{values.mean() - truth:+.4f}", f"{values.std(ddof=1):.4f}", f"{100 * len(given) / LOGS:.0f}")
            yield lists, name, f"{truth:.4f}", estimator, *shown, covered


def returns() -> Iterator[tuple[str, ...]]:
    """Rankers on the embedded topics: the measure by judgments, and the expected reward from users."""
    topics = load_topics("synthetic:serp")
    kinds = [Clicks(), Clicks(pays="reciprocal_rank"), Clicks(model="dbn", patience=0.9), Clicks(model="pbm")]
    for name in ("random", "retrieval-order", "mmr", "oracle"):
        ranker = make_ranker(name)
        judged = Validation(topics, "alpha_nDCG@10").mean(ranker)
        yield name, *(f"{x:.3f}" for x in (judged, *(expected_clicks(k, topics, ranker, 10).mean() for k in kinds)))


def from_logs() -> Iterator[tuple[str, ...]]:
    """Learned from lists of the initial ranking, explored, and their clicks; no judgment but those of the test."""
    topics = load_topics("synthetic:serp")
    train, validation, test = (topics.select(topics.query_ids[part]) for part in _PARTS)
    truth, shown = Validation(test, "alpha_nDCG@10"), make_ranker("retrieval-order")
    yield "initial ranking, which was logged", "-", f"{truth.mean(shown):.3f}"
    begun = truth.mean(make_ranker("relational-pretrained"))
    yield "`relational-pretrained`, where `reinforce-logs` begins", "-", f"{begun:.3f}"
    for lists in (2_000, 20_000):
        values: dict[str, list[float]] = {"click-classifier-logs": [], "reinforce-logs": []}
        for seed, (name, found) in product(range(3), values.items()):
            how: dict[str, Any] = {"depth": 10, "episodes": lists, "seed": seed}
            with tempfile.TemporaryDirectory() as folder:
                parts = logged_parts(shown, topics, Clicks(attraction=0.9), EpsilonPolicy(0.3), **how)
                write_log(path := f"{folder}/log", parts, {}, lambda _: None)
                learner: Any = make_ranker(name, logs=path)
                learner.fit(*(part.replace(map(bare, part)) for part in (train, validation)), seed=seed)
            found.append(truth.mean(learner))
        for name, found in values.items():
            yield f"`{name}`", f"{lists:,}", f"{np.mean(found):.3f} ({min(found):.3f} to {max(found):.3f})"


def facts() -> Iterator[tuple[str, ...]]:
    """Mean returns of rankers in the environments as they are made by default, and the threshold of their spec."""
    topics = load_topics("synthetic:serp")
    every, scoring = np.arange(len(topics)), ScoringCore(topics)
    rewards = {"SRD-v0": "alpha_DCG", "SRD-Click-v0": "Clicks(expected=True)"}
    cores = [SelectionCore(topics, reward=reward) for reward in rewards.values()]
    for name in ("random", "mmr", *pretrained_names(), "oracle"):
        order, means = orders_of(load_ranker(name), topics)[:, :10], []
        for core in cores:
            core.reset(every)
            for actions in order.T:
                core.step(actions)
            means.append(core.returns().mean())
        yield f"`{name}`", *(f"{mean:.3f}" for mean in (*means, scoring.rewards(every, order).mean()))
    yield "`reward_threshold`", *(f"{gym.spec(env_id).reward_threshold:g}" for env_id in rewards), "-"


TABLES: dict[str, tuple[tuple[str, ...], Callable[[], Iterator[tuple[Any, ...]]]]] = {
    "coverage": (
        ("lists", "users", "true clicks", "estimator", "bias", "standard deviation", "given, %", "covered, %"),
        coverage,
    ),
    "returns": (
        ("ranker", "alpha_nDCG@10", "cascade, clicks", "cascade, reciprocal rank", "DBN, clicks", "PBM, clicks"),
        returns,
    ),
    "logs": (("ranker", "lists logged", "alpha_nDCG@10, mean of three seeds (lowest to highest)"), from_logs),
    "facts": (("ranker", "`SRD-v0`", "`SRD-Click-v0`", "`scoring_v0`"), facts),
}
"""Heads and rows of each table, by the name of its marks."""


if __name__ == "__main__":
    parts = {name: markdown(heads, list(rows())) for name, (heads, rows) in TABLES.items()}
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        write_text(
            page, with_parts(text, {name: part for name, part in parts.items() if f"<!-- {name}: begin" in text})
        )
