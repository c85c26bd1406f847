from __future__ import annotations

import json
from dataclasses import replace
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from small_topics import Own, judged_topic, refused

from srd_gym.core import Clicks, TopicArrays
from srd_gym.offline import EpsilonPolicy, Log, evaluate_offline, logged_parts
from srd_gym.offline.estimators import ESTIMATORS, _Evaluated, cascade_dr, ips, item_position, unsupported
from srd_gym.offline.log import orders_of
from srd_gym.topic import TopicSet

TOPICS = TopicSet([judged_topic(6, seed, subtopics=3) for seed in range(20)], name="six")
FORWARDS = Own(lambda topic, k: np.arange(topic.n_candidates)[:k])
OTHER = Own(lambda topic, k: np.array([2, 0, 5, 1, 3, 4])[: min(k, topic.n_candidates)])
CASCADE, PBM = Clicks(attraction=0.7), Clicks(model="pbm", attraction=0.7)


def logged(epsilon: float, users: Clicks = CASCADE, episodes: int = 500, seed: int = 0) -> Log:
    how: dict[str, Any] = {"depth": 3, "episodes": episodes, "seed": seed}
    return next(logged_parts(FORWARDS, TOPICS, users, EpsilonPolicy(epsilon), **how))()


def truth(users: Clicks, epsilon: float, depth: int, topics: TopicSet = TOPICS) -> float:
    bound = replace(users, expected=True).bind(TopicArrays.of(topics), depth)
    size = topics.max_candidates
    lists = np.array(list(permutations(range(size), depth)))
    chances = EpsilonPolicy(epsilon).propensities(lists, np.full(len(lists), size)).prod(axis=1)
    orders = orders_of(OTHER, topics)
    paid = [bound.pay(np.full(len(lists), t), orders[t][lists], np.zeros(len(lists), np.int64)).sum(axis=1) @ chances
            for t in range(len(topics))]  # fmt: skip
    return float(np.mean(paid))


UNBIASED = [("ips", CASCADE), ("ips", PBM), ("cascade-dr", CASCADE), ("cascade-dr", PBM), ("item-position", PBM),
            ("pseudo-inverse", PBM)]  # fmt: skip


@pytest.mark.parametrize(("name", "users"), UNBIASED)
@pytest.mark.parametrize("epsilon", [0.0, 0.3])
def test_the_expectation_over_all_lists_is_the_value(name: str, users: Clicks, epsilon: float) -> None:
    topics, depth, logger = TopicSet([judged_topic(5, 1)], name="one"), 3, EpsilonPolicy(0.6)
    ranker = Own(lambda topic, k: np.array([2, 0, 4, 1, 3])[:k])
    positions = np.array(list(permutations(range(5), depth)))
    reach, index = np.full(len(positions), 5), np.zeros(len(positions), np.int64)
    bound = replace(users, expected=True).bind(TopicArrays.of(topics), depth)
    log = Log(
        topics=topics, topic_index=index, shown=positions, propensities=logger.propensities(positions, reach),
        slot_propensities=logger.marginals(5, depth)[np.arange(depth), positions], policy=logger,
        orders=np.arange(5)[None], clicks=bound.pay(index, positions, index),  # type: ignore[arg-type]
    )  # fmt: skip
    evaluated = _Evaluated(log, orders_of(ranker, topics), EpsilonPolicy(epsilon), None)
    values, weights = getattr(evaluated, "_" + name.replace("-", "_"))()
    chances = log.propensities.prod(axis=1)
    paid = bound.pay(index, orders_of(ranker, topics)[0][positions], index).sum(axis=1)
    wanted = EpsilonPolicy(epsilon).propensities(positions, reach).prod(axis=1) @ paid
    if name == "cascade-dr":  # its Q of two halves differ, so that a sum over all lists is not its expectation
        rates = np.random.default_rng(0).random((1, depth, 5))
        q, expected = evaluated._q_values(rates, np.ones(len(positions), np.bool_))
        values = cascade_dr(weights, bound.pay(index, positions, index), q, expected)
    assert values @ chances == pytest.approx(wanted, abs=1e-12)
    assert weights[:, -1] @ chances == pytest.approx(1, abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("users", [CASCADE, PBM], ids=str)
def test_intervals_cover_the_truth(users: Clicks) -> None:
    """120 logs: of the intervals of unbiased estimators 88 to 99% cover."""
    target, names = truth(users, 0.4, 3), {name for name, kind in UNBIASED if kind is users}
    covered: dict[str, list[bool]] = {name: [] for name in ESTIMATORS}
    values: dict[str, list[float]] = {name: [] for name in ESTIMATORS}
    for seed in range(120):
        log = logged(0.7, users, episodes=1500, seed=seed)
        for name, found in evaluate_offline(log, OTHER, epsilon=0.4, resamples=200, seed=seed).items():
            values[name].append(found.value)
            if found.low is not None and found.high is not None:
                covered[name].append(found.low <= target <= found.high)
    for name in names:
        assert len(covered[name]) > 100, name
        assert 0.88 <= np.mean(covered[name]) <= 0.99, name
        error = np.std(values[name]) / np.sqrt(120)
        assert abs(np.mean(values[name]) - target) < 4 * error, name


def test_open_bandit_pipeline_agrees() -> None:
    """obp 0.4.1, written by tests/golden/make_obp_golden.py."""
    golden = json.loads((Path(__file__).parents[2] / "golden" / "obp-slate.json").read_text(encoding="utf-8"))
    estimates = golden.pop("estimates")
    log = {name: np.array(values, np.float64) for name, values in golden.items()}
    weights = np.cumprod(log["evaluated"] / log["propensities"], axis=1)
    none = np.zeros(weights.shape)
    ours = {
        "ips": ips(weights[:, -1], log["clicks"]),
        "item-position": item_position(log["evaluated_slots"] / log["slot_propensities"], log["clicks"]),
        "cascade": cascade_dr(weights, log["clicks"], none, none),
    }
    assert {name: values.mean() for name, values in ours.items()} == pytest.approx(estimates, abs=1e-12)


def test_a_ranker_evaluated_on_its_own_log_has_the_mean_of_its_clicks() -> None:
    log = logged(0.5)
    for name, found in evaluate_offline(log, FORWARDS, epsilon=0.5, resamples=50).items():
        if name != "cascade-dr":
            assert found.value == pytest.approx(log.clicks.sum(axis=1).mean(), abs=1e-12)
        assert found.mean_weight == pytest.approx(1, abs=1e-9)
        assert found.effective_sample_size == pytest.approx(500, abs=1e-6)


@pytest.mark.parametrize(("top_n", "quick"), [(None, False), (10, True)])
def test_the_matrix_of_many_positions_must_be_asked_for(top_n: int | None, quick: bool) -> None:
    topics, how = TopicSet([judged_topic(60, 1, subtopics=3)], name="sixty"), EpsilonPolicy(0.5, top_n)
    log = next(logged_parts(FORWARDS, topics, CASCADE, how, depth=2, episodes=20, seed=0))()
    assert ("pseudo-inverse" in evaluate_offline(log, FORWARDS, resamples=10)) == quick
    assert list(evaluate_offline(log, FORWARDS, estimators=["pseudo-inverse"], resamples=10)) == ["pseudo-inverse"]


def test_clipping_cuts_weights_and_the_interval_is_seeded() -> None:
    log = logged(0.5)
    how: dict[str, Any] = {"epsilon": 0.3, "resamples": 50}
    whole, cut, again = (evaluate_offline(log, OTHER, clip=clip, **how)["ips"] for clip in (None, 2.0, None))
    assert cut.mean_weight < whole.mean_weight
    assert cut.effective_sample_size > whole.effective_sample_size
    assert whole == again


def test_a_log_without_support_is_told_and_what_it_does_not_tell_is_refused() -> None:
    log = logged(0.5, episodes=9)
    foreign = replace(log, slot_propensities=None, policy=None, orders=None)
    assert list(evaluate_offline(foreign, OTHER, resamples=10)) == ["ips", "snips", "cascade-dr"]
    refused(lambda: evaluate_offline(foreign, OTHER, estimators=["item-position"]), "needs slot_propensities")
    refused(lambda: evaluate_offline(foreign, OTHER, estimators=["pseudo-inverse"]), "needs the policy that logged")
    refused(lambda: evaluate_offline(log, OTHER, estimators=["ipw"]), "Did you mean ips")
    refused(lambda: evaluate_offline(log, OTHER, clip=-1.0), "clip must be")
    refused(lambda: evaluate_offline(log, OTHER, epsilon=2.0), "epsilon must be between 0 and 1")
    log = logged(0.0)
    for known in (log, replace(log, policy=None)):
        assert unsupported(known, FORWARDS) == 0
        assert unsupported(known, OTHER) == 1
    few = replace(logged(0.5, episodes=9), policy=EpsilonPolicy(0.5, top_n=3))
    assert unsupported(few, FORWARDS) == 0
    assert unsupported(few, OTHER) == pytest.approx(1 / 3)  # document 5 is out of reach
    assert unsupported(replace(few, policy=None), OTHER) > 0.5
    for known in (log, replace(log, policy=None)):
        assert unsupported(known, FORWARDS, epsilon=0.5) > 0.25
    assert unsupported(few, FORWARDS, epsilon=1.0) == pytest.approx(1 / 2)  # three of six are out of reach
    found = evaluate_offline(log, OTHER, resamples=50)
    assert (found["ips"].value, found["ips"].effective_sample_size, found["ips"].mean_weight) == (0, 0, 0)


def test_the_share_without_support_is_of_the_places_that_lists_have() -> None:
    short, long = judged_topic(2, 0, query_id="short"), judged_topic(10, 1, query_id="long")
    shown = np.array([[0, 1, *[-1] * 8], list(range(10))])
    log = Log(
        topics=TopicSet([short, long], name="both"), topic_index=np.arange(2), shown=shown,
        propensities=np.ones((2, 10)), slot_propensities=None, clicks=np.zeros((2, 10), np.bool_),
    )  # fmt: skip
    turned = Own(lambda topic, k: np.arange(topic.n_candidates)[:: -1 if topic.n_candidates == 2 else 1][:k])
    assert unsupported(log, turned) == pytest.approx(2 / 12)
    assert unsupported(log, FORWARDS) == 0
