"""Values of rankers that were never shown, estimated from the log of another: off-policy evaluation of rankings.

With R the list shown, r_k its click at rank k, and w the probabilities under the evaluated policy over those under the
logging one: w_k of the document at rank k given those above it, w_{1:k} the product of the first k, and m_k of the
document at its rank whatever stands above.

| estimator | value of an episode | unbiased if |
|---|---|---|
| ips | w_{1:K} sum_k r_k | always |
| snips | the same, over the mean of w_{1:K} (Swaminathan & Joachims, NeurIPS 2015) | asymptotically |
| item-position | sum_k m_k r_k (Li et al., KDD 2018) | clicks depend on document and rank alone (PBM) |
| cascade-dr | sum_k [w_{1:k} (r_k - Q_k) + w_{1:k-1} E_a Q_k(a)] (Kiyohara et al., WSDM 2022, Section 3.1) | clicks depend on what stands above |
| pseudo-inverse | sum_k r_k times 1_R' G^+ q (Swaminathan et al., NeurIPS 2017) | the list's value is a sum over its slots |

Shapes: E episodes, K ranks, N candidates, T topics.
"""  # noqa: E501 the table's rows

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from srd_gym.checks import check_integer, check_number, check_option
from srd_gym.dtypes import BoolArray, IntArray, ScoreArray
from srd_gym.offline.log import Log, orders_of, positions_in
from srd_gym.offline.policy import EpsilonPolicy
from srd_gym.protocols import Ranker

ESTIMATORS = ("ips", "snips", "item-position", "cascade-dr", "pseudo-inverse")
FEWEST_EFFECTIVE = 100
"""Effective episodes below which an estimate is one of few lists, and has no interval."""
_MANY_POSITIONS = 50
"""Positions above which `pseudo-inverse`, whose matrix grows with their square, must be asked for."""
_SHRINKAGE = 4.0
"""Shows that a topic's mean click rate counts for in a document's."""


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """The value of a ranker, by one estimator: expected clicks on a list."""

    estimator: str
    """One of `ESTIMATORS`."""
    value: float
    """Clicks on a list."""
    low: float | None
    """Lower end of the interval (percentiles of the bootstrap over episodes); None below `FEWEST_EFFECTIVE`, where it
    would be too narrow, as it is where the log does not support the ranker (`unsupported`)."""
    high: float | None
    """Upper end, or None."""
    effective_sample_size: float
    """Effective sample size (sum of weights)^2 / sum of their squares; of estimators with a weight for each rank the
    smallest of them."""
    mean_weight: float
    """Mean weight, which is 1 but for chance where the log supports the ranker, and for clipping."""


def evaluate_offline(
    log: Log,
    ranker: Ranker,
    *,
    epsilon: float = 0.0,
    estimators: Sequence[str] = (),
    clip: float | None = None,
    level: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
) -> dict[str, Estimate]:
    """Estimate how many clicks a list of a ranker would get from the users of a log.

    Args:
        log: what another ranker showed.
        ranker: whose value is estimated.
        epsilon: exploration of the evaluated policy, by the epsilon of `EpsilonPolicy`; 0 shows the ranker's list.
        estimators: names; none: all that the log permits ("item-position" needs propensities by slot,
            "pseudo-inverse" the policy that logged; unless it is named, also at most 50 documents that this policy may
            show for a query, as its matrix grows with their square).
        clip: weights above it are cut to it (less variance, some bias); None: none is.
        level: of the intervals, below 1.
        resamples: of the bootstrap.
        seed: of the bootstrap.

    Returns:
        Name -> estimate.

    Raises:
        ValueError: an unknown estimator, one that the log does not permit, or a number out of range.
    """
    check_number("level", level, 0.01, 0.9999)
    check_integer("resamples", resamples, 10)
    if clip is not None:
        check_number("clip", clip, 1e-12)
    allowed: Sequence[str] = permitted(log)
    for name in estimators:
        check_option("estimator", name, ESTIMATORS)
        if name not in allowed:
            raise ValueError(f"estimator {name} {_NEEDS[name]}, which this log lacks; leave the estimator out")
    evaluated = _Evaluated(log, orders_of(ranker, log.topics), EpsilonPolicy(epsilon), clip)
    if not estimators and log.policy is not None:
        largest = log.policy.reach(np.array([log.topics.max_candidates]), log.shown.shape[1])[0]
        allowed = [name for name in allowed if name != "pseudo-inverse" or largest <= _MANY_POSITIONS]
    names = [name for name in allowed if name in (estimators or allowed)]
    values, weights = {}, {}
    for name in names:
        values[name], weights[name] = getattr(evaluated, "_" + name.replace("-", "_"))()
    sums = np.stack([np.stack([values[name], weights[name][:, -1]], axis=1) for name in names], axis=1)
    generator, count = np.random.default_rng(seed), len(sums)
    means = np.stack([sums[generator.integers(count, size=count)].mean(axis=0) for _ in range(resamples)])
    tails = 100 * np.array([(1 - level) / 2, (1 + level) / 2])
    out = {}
    for place, name in enumerate(names):
        value, spread = sums[:, place].mean(axis=0), means[:, place]
        if name == "snips":
            value[0] /= max(value[1], np.finfo(float).tiny)
            spread = spread / np.maximum(spread[:, 1:], np.finfo(float).tiny)
        squares = np.square(weights[name]).sum(axis=0)
        effective = (np.square(weights[name].sum(axis=0)) / np.where(squares > 0, squares, np.inf)).min()
        low, high = np.percentile(spread[:, 0], tails).tolist() if effective >= FEWEST_EFFECTIVE else (None, None)
        out[name] = Estimate(
            estimator=name,
            value=float(value[0]),
            low=low,
            high=high,
            effective_sample_size=float(effective),
            mean_weight=float(weights[name].mean(axis=0).min()),
        )
    return out


def ips(weights: ScoreArray, clicks: ScoreArray) -> ScoreArray:
    """[E] w_{1:K} sum_k r_k, of weights [E] of lists and clicks [E, K]."""
    values: ScoreArray = weights * clicks.sum(axis=1)
    return values


def item_position(weights: ScoreArray, clicks: ScoreArray) -> ScoreArray:
    """[E] sum_k m_k r_k, of weights [E, K] of documents at their ranks and clicks [E, K]."""
    values: ScoreArray = (weights * clicks).sum(axis=1)
    return values


def cascade_dr(weights: ScoreArray, clicks: ScoreArray, q: ScoreArray, expected: ScoreArray) -> ScoreArray:
    """[E] sum_k [w_{1:k} (r_k - Q_k) + w_{1:k-1} E_a Q_k(a)].

    Args:
        weights: [E, K] w_{1:k}.
        clicks: [E, K].
        q: [E, K] Q of the documents shown: clicks expected from rank k on. With 0 throughout this is RIPS (McInerney et
            al., KDD 2020).
        expected: [E, K] mean of Q over what the evaluated policy would show there.
    """
    before = np.concatenate([np.ones((len(weights), 1)), weights[:, :-1]], axis=1)
    values: ScoreArray = (weights * (clicks - q) + before * expected).sum(axis=1)
    return values


_NEEDS = {"item-position": "needs slot_propensities", "pseudo-inverse": "needs the policy that logged (epsilon)"}


def permitted(log: Log) -> tuple[str, ...]:
    """The estimators that a log has what it takes for."""
    lacking = {"item-position"} if log.slot_propensities is None else set()
    lacking |= {"pseudo-inverse"} if log.policy is None or log.orders is None else set()
    return tuple(name for name in ESTIMATORS if name not in lacking)


def unsupported(log: Log, ranker: Ranker, epsilon: float = 0.0) -> float:
    """The share of what a policy shows (topic, rank, document) that lacks support, among the topics logged.

    The policy that logged can never show the document there; where nobody knows the policy, it was never shown there.

    Args:
        log: what another ranker showed.
        ranker: whose order is explored.
        epsilon: as of `evaluate_offline`.
    """
    topics, depth = np.unique(log.topic_index), log.shown.shape[1]
    orders = orders_of(ranker, log.topics)[topics]
    ranks, sizes = np.arange(min(depth, orders.shape[1])), (orders >= 0).sum(axis=1)
    if log.policy is not None and log.orders is not None:
        positions = positions_in(log.orders[topics], orders)[:, None]  # [T, 1, N]
        reach = log.policy.reach((log.orders[topics] >= 0).sum(axis=1), depth)
        there = positions < reach[:, None, None] if log.policy.epsilon else positions == ranks[:, None]
    else:
        seen = np.zeros((len(log.topics), depth, orders.shape[1] + 1), np.bool_)
        seen[log.topic_index[:, None], np.arange(depth), log.shown] = True
        there = seen[topics[:, None, None], ranks[:, None], orders[:, None]]
    lacking = 0.0
    for size in np.unique(sizes).tolist():
        chances = EpsilonPolicy(epsilon).marginals(size, len(ranks))  # [K, M]
        lacking += float((chances * ~there[sizes == size, :, :size]).sum())
    return lacking / float(np.minimum(sizes, len(ranks)).sum())


class _Evaluated:
    """A policy on the episodes of a log: each estimator's values [E] and weights [E, weights]."""

    def __init__(self, log: Log, orders: IntArray, policy: EpsilonPolicy, clip: float | None) -> None:
        self._log, self._orders, self._policy = log, orders, policy
        self._most = np.inf if clip is None else clip
        self._clicks = log.clicks.astype(np.float64)
        self._reach = log_reach = (orders >= 0).sum(axis=1)[log.topic_index]
        self._positions = positions_in(orders[log.topic_index], log.shown)
        chances = policy.propensities(self._positions, log_reach)
        self._weights = np.cumprod(chances / log.propensities, axis=1)

    def _cut(self, weights: Any) -> ScoreArray:
        """Weights, clipped."""
        clipped: ScoreArray = np.minimum(weights, self._most)
        return clipped

    def _ips(self) -> tuple[ScoreArray, ScoreArray]:
        weights = self._cut(self._weights[:, -1:])
        return ips(weights[:, 0], self._clicks), weights

    _snips = _ips

    def _item_position(self) -> tuple[ScoreArray, ScoreArray]:
        chances = self._policy.slot_propensities(self._positions, self._reach)
        slots = self._log.slot_propensities
        weights = self._cut(chances if slots is None else chances / slots)
        return item_position(weights, self._clicks), weights

    def _cascade_dr(self) -> tuple[ScoreArray, ScoreArray]:
        """Doubly robust; Q comes from the other half of the episodes, so that it does not know what it corrects."""
        weights = self._cut(self._weights)
        values, half = np.zeros(len(weights)), np.arange(len(weights)) % 2 == 0
        for here in (half, ~half):
            rates = self._click_rates(~here)
            q, expected = self._q_values(rates, here)
            values[here] = cascade_dr(weights[here], self._clicks[here], q, expected)
        return values, weights

    def _click_rates(self, which: BoolArray) -> ScoreArray:
        """[T, K, N] click rates of documents at ranks in these episodes: a document's rate, shrunk, times a rank's."""
        log, clicks = self._log, self._clicks
        count, width = self._orders.shape
        filled = (log.shown >= 0) & which[:, None]
        place = (log.topic_index[:, None] * width + log.shown)[filled]
        shows = np.bincount(place, minlength=count * width)
        clicked = np.bincount(place, weights=clicks[filled], minlength=count * width)
        mean = clicked.sum() / max(shows.sum(), 1)
        document = ((clicked + _SHRINKAGE * mean) / (shows + _SHRINKAGE)).reshape(count, 1, width)
        by_rank = (clicks * filled).sum(axis=0) / np.maximum(filled.sum(axis=0), 1)
        rates: ScoreArray = document * (by_rank / max(mean, np.finfo(float).tiny))[:, None]
        return rates

    def _q_values(self, rates: ScoreArray, here: BoolArray) -> tuple[ScoreArray, ScoreArray]:
        """Q of the documents shown, and its mean over what the policy may show there; both [E', K].

        Q is the click rate at the rank and those of the ranker's own documents at the ranks below.
        """
        log, topics = self._log, self._log.topic_index[here]
        shown, positions, depth = log.shown[here], self._positions[here], self._clicks.shape[1]
        ranks, width = np.arange(depth), self._orders.shape[1]
        own, lists = np.zeros((len(rates), depth)), self._orders[:, :depth]
        length = lists.shape[1]
        listed = np.take_along_axis(rates[:, :length], np.maximum(lists, 0)[:, :, None], axis=2)[:, :, 0]
        own[:, :length] = np.where(lists < 0, 0.0, listed)
        below = own[:, ::-1].cumsum(axis=1)[:, ::-1] - own
        q = np.where(shown < 0, 0.0, rates[topics[:, None], ranks, shown] + below[topics])
        free, every = np.arange(width) < self._reach[here][:, None], np.arange(len(topics))
        expected, epsilon = np.zeros(q.shape), self._policy.epsilon
        for rank in range(depth):
            by_position = np.take_along_axis(rates[topics, rank], np.maximum(self._orders[topics], 0), axis=1)
            best = by_position[every, free.argmax(axis=1)]
            mean = (by_position * free).sum(axis=1) / np.maximum(free.sum(axis=1), 1)
            expected[:, rank] = (1 - epsilon) * best + epsilon * mean + below[topics, rank]
            free[every, positions[:, rank]] &= positions[:, rank] < 0
        return q, np.where(shown < 0, 0.0, expected)

    def _pseudo_inverse(self) -> tuple[ScoreArray, ScoreArray]:
        log, depth, width = self._log, self._clicks.shape[1], self._orders.shape[1]
        logger = log.policy or self._policy
        order = self._orders if log.orders is None else log.orders
        counts = (self._orders >= 0).sum(axis=1)
        reach = logger.reach(counts, depth)
        weights = np.zeros((len(self._clicks), 1))
        logged = positions_in(order[log.topic_index], log.shown)
        for size in np.unique(reach[log.topic_index]).tolist():
            topics = np.flatnonzero(reach == size)
            inverse = np.linalg.pinv(logger.pairs(size, depth), hermitian=True)
            slots = np.zeros((len(topics), depth, width + 1))
            for row, topic in enumerate(topics.tolist()):
                chances = self._policy.marginals(int(counts[topic]), depth)
                where = positions_in(order[topic][None], self._orders[topic][None, : counts[topic]])[0]
                slots[row][:, where] = chances
            theirs = slots[:, :, :size].reshape(len(topics), -1) @ inverse
            row_of = np.zeros(len(reach), np.int64)
            row_of[topics] = np.arange(len(topics))
            of_size = reach[log.topic_index] == size
            place = np.arange(depth) * size + np.maximum(logged[of_size], 0)
            parts = np.take_along_axis(theirs[row_of[log.topic_index[of_size]]], place, axis=1)
            weights[of_size, 0] = (parts * (logged[of_size] >= 0)).sum(axis=1)
        weights = self._cut(weights)
        return ips(weights[:, 0], self._clicks), weights
