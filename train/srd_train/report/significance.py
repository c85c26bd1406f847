"""How sure a difference is: bootstrap intervals and paired randomisation tests over topics.

The topic is the unit everywhere: scores of several seeds are averaged per topic before they come here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

_BATCH_CELLS = 2_000_000
"""Numbers held at once while resampling, so that thousands of topics do not cost gigabytes."""


def bootstrap_interval(
    values: ArrayLike, rng: np.random.Generator, *, level: float = 0.95, resamples: int = 10_000
) -> tuple[float, float]:
    """The percentile bootstrap interval of a mean (Efron 1979), topics drawn with replacement.

    Args:
        values: [T] one score a topic.
        rng: draws the resamples.
        level: of confidence, in (0, 1).
        resamples: how many.

    Returns:
        Its low and high end; both the value itself where there is only one topic or all are equal.

    Raises:
        ValueError: no values, or values that are not finite.
    """
    scores = _checked("values", values)
    if scores.size == 1 or np.ptp(scores) == 0:
        return float(scores[0]), float(scores[0])
    interval = (
        _scipy_stats()
        .bootstrap(
            (scores,),
            np.mean,
            n_resamples=resamples,
            batch=max(1, _BATCH_CELLS // scores.size),
            vectorized=True,
            confidence_level=level,
            method="percentile",
            rng=rng,
        )
        .confidence_interval
    )
    return float(interval.low), float(interval.high)


def randomisation_test(
    first: ArrayLike, second: ArrayLike, rng: np.random.Generator, *, resamples: int = 10_000
) -> float:
    """Two-sided p value of Fisher's paired randomisation test of equal means.

    The sign of each topic's difference is flipped by a fair coin; p is the share of flips whose mean difference is at
    least as far from 0 as the one observed. All 2^T flips are counted where they are no more than `resamples`.

    Args:
        first: [T] scores of one ranker.
        second: [T] scores of the other, same topics, same order.
        rng: draws the flips.
        resamples: how many.

    Raises:
        ValueError: different numbers of topics, none, or scores that are not finite.
    """
    difference = _differences(first, second)
    if not difference.any():
        return 1.0
    if difference.size == 1:  # scipy wants two observations; with one, both flips are equally far from 0
        return 1.0
    result = _scipy_stats().permutation_test(
        (difference,),
        np.mean,
        permutation_type="samples",
        vectorized=True,
        n_resamples=resamples,
        batch=max(1, _BATCH_CELLS // difference.size),
        alternative="two-sided",
        rng=rng,
    )
    return float(result.pvalue)


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's (1979) adjustment for several comparisons with one reference, in the order given.

    Adjusted p of the i-th smallest of m is the largest of (m - j) p_j over j <= i (counted from 0), at most 1.
    """
    adjusted = [0.0] * len(p_values)
    highest = 0.0
    for position, index in enumerate(sorted(range(len(p_values)), key=lambda i: p_values[i])):
        highest = max(highest, min(1.0, (len(p_values) - position) * p_values[index]))
        adjusted[index] = highest
    return adjusted


def wins_ties_losses(first: ArrayLike, second: ArrayLike, *, tolerance: float = 1e-9) -> tuple[int, int, int]:
    """On how many topics the first ranker scores higher, the same, and lower.

    Args:
        first: [T] scores of one ranker.
        second: [T] scores of the other, same topics, same order.
        tolerance: differences up to this are ties: the last digits of a mean over seeds depend on the order of the sum.

    Returns:
        Wins, ties and losses of the first; they add up to T.

    Raises:
        ValueError: different numbers of topics, none, or scores that are not finite.
    """
    difference = _differences(first, second)
    wins, losses = int((difference > tolerance).sum()), int((-difference > tolerance).sum())
    return wins, difference.size - wins - losses, losses


def _differences(first: ArrayLike, second: ArrayLike) -> NDArray[np.float64]:
    """[T] first less second."""
    one, other = _checked("first", first), _checked("second", second)
    if one.shape != other.shape:
        raise ValueError(f"expected scores of the same topics, got {one.size} and {other.size}")
    return one - other


def _checked(name: str, values: ArrayLike) -> NDArray[np.float64]:
    """The values as a vector of finite numbers."""
    scores = np.asarray(values, dtype=np.float64)
    if scores.ndim != 1 or scores.size == 0 or not np.isfinite(scores).all():
        raise ValueError(f"{name}: expected a vector of one or more finite scores, got shape {scores.shape}")
    return scores


def _scipy_stats() -> Any:
    """scipy.stats, or an error that says how to install it."""
    try:
        from scipy import stats
    except ImportError as error:
        raise ImportError('tables with intervals and tests need scipy: pip install "srd-gym[train]"') from error
    return stats
