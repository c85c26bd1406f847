"""Significance of means and differences: intervals and paired tests that see topics and seeds.

Scores of a ranker are [S, T]: S seeds (trainings) by T topics; a vector is one seed. Topics are drawn from those one
could have asked, seeds from the trainings one could have run, so the error of a ranker's mean has two parts (two-way
random effects, Cornfield & Tukey 1956, "Average values of mean squares in factorials", each estimated from its margin):

    var(mean over seeds, by topic) / T  +  var(mean over topics, by seed) / S

Between two rankers topics are paired and seeds are not: the first part is that of the differences by topic, and each
ranker adds its second. Where each training has test topics of its own (masked scores: folds with one seed each), the
second part is that of the differences by training, which hold both rankers' training, split and draw. What a seed does
to single topics is in both parts, which errs on the side of caution. The statistic is Student's t with the degrees of
freedom of Welch (1947) and Satterthwaite (1946); with one seed each it is the paired t test, which retrieval research
finds as good as resampling (Smucker et al. 2007, Urbano et al. 2019).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

Scores = NDArray[np.float64]
Test = Callable[..., float]
"""p value by pairs of scores."""

_DRAWN = 1 << 12
"""Signs of all topics that a randomisation test looks at together."""

_LEVEL = 0.95
"""Level of confidence."""
ROUNDING = 1e-12
"""Differences of means and errors below it are those of floating-point sums."""
_TIE = 1e-9
"""Differences on a topic up to it are ties: the last digits of a mean over seeds depend on the order of the sum."""


def interval(scores: ArrayLike) -> tuple[float, float]:
    """The 95% interval of a ranker's mean, over topics and seeds.

    Args:
        scores: [S, T], or [T] of one seed; masked where a seed has no score of a topic.

    Returns:
        Its low and high end, within the range of the topics' scores; both the mean itself for a single topic.
    """
    values = _by_seed(scores)
    topics = by_topic(values)
    low, high = _around(_estimate([topics], [[values]]))
    return max(low, float(topics.min())), min(high, float(topics.max()))


def difference_interval(*pairs: tuple[ArrayLike, ArrayLike]) -> tuple[float, float]:
    """The 95% interval of one ranker's mean minus another's, over topics and both rankers' seeds.

    Args:
        pairs: [S, T] scores of the first and [S', T] of the second, same topics, same order; several pairs are several
            collections, and the mean is that of the collections' means.
    """
    return _around(_estimate(*_differences(pairs)))


def paired_test(*pairs: tuple[ArrayLike, ArrayLike]) -> float:
    """Two-sided p value of equal means over topics and seeds.

    Where the difference is the same on all topics and seeds there is no error to divide by: p is the share of the 2^T
    signs of the topics at least as far from 0 (Fisher 1935), 2^(1-T).

    Args:
        pairs: as of `difference_interval`.
    """
    topics, rankers = _differences(pairs)
    mean, error, freedom = _estimate(topics, rankers)
    if abs(mean) < ROUNDING:
        return 1.0
    if error < ROUNDING:
        return 2.0 ** (1 - sum(part.size for part in topics))
    return float(2 * special.stdtr(freedom, -abs(mean) / error))


def equivalence_test(margin: float, *pairs: tuple[ArrayLike, ArrayLike]) -> float:
    """Two one-sided tests (Schuirmann 1987) of means that differ by `margin` or more: their p value.

    Below 0.05 they are equivalent: the difference lies within the margin. The error is that of `paired_test`.

    Args:
        margin: above 0.
        pairs: as of `difference_interval`.
    """
    mean, error, freedom = _estimate(*_differences(pairs))
    room = margin - abs(mean)
    if error < ROUNDING:
        return 0.0 if room > 0 else 1.0
    return float(special.stdtr(freedom, -room / error))


def randomisation_tests(differences: ArrayLike, draws: int = 100_000, seed: int = 0) -> list[float]:
    """Two-sided p values of paired randomisation tests (Fisher 1935; Smucker et al. 2007).

    Under the null hypothesis each topic's difference may as well have the other sign: p is the share of the 2^T signs
    of the topics whose mean is at least as far from 0. Where these are more than `draws`, that many are drawn, the same
    for all comparisons, and the signs observed count as one more: p is at least 1 / (draws + 1).

    Args:
        differences: [C, T] differences by topic of C comparisons.
        draws: signs of all topics to look at, at most.
        seed: of the draws.

    Returns:
        C p values.
    """
    by_topic = np.asarray(differences, dtype=np.float64)
    topics = by_topic.shape[1]
    # Sums of equal differences in another order differ in their last digits, and are as far from 0.
    least = np.abs(by_topic.sum(axis=1)) - ROUNDING * topics
    exact = topics <= math.log2(draws)
    total = 2**topics if exact else draws
    generator = np.random.default_rng(seed)
    far = np.zeros(len(by_topic), dtype=np.int64)
    for start in range(0, total, _DRAWN):
        count = min(_DRAWN, total - start)
        if exact:
            flips = np.arange(start, start + count)[:, None] >> np.arange(topics) & 1
        else:
            flips = generator.integers(0, 2, (count, topics), dtype=np.int8)
        far += np.count_nonzero(np.abs((1.0 - 2.0 * flips) @ by_topic.T) >= least, axis=0)
    shares: list[float] = (far / total if exact else (far + 1) / (total + 1)).tolist()
    return shares


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


def adjusted_tests(
    scores: Mapping[str, Sequence[Scores]], references: Iterable[str], test: Test = paired_test
) -> dict[frozenset[str], float]:
    """Pair of rankers -> p value of its test, Holm-adjusted over all pairs with a reference together.

    Args:
        scores: ranker -> its [S, T] scores of each collection.
        references: some of them; others count for nothing, as they were not tested.
        test: of a pair's scores on each collection.
    """
    pairs = {frozenset((name, one)): (name, one) for one in references for name in scores if one in scores}
    pairs = {pair: names for pair, names in pairs.items() if len(pair) > 1}
    raw = [test(*zip(scores[name], scores[one], strict=True)) for name, one in pairs.values()]
    return dict(zip(pairs, holm(raw), strict=True))


def wins_ties_losses(first: ArrayLike, second: ArrayLike) -> tuple[int, int, int]:
    """On how many topics the first ranker scores higher, the same, and lower.

    Args:
        first: [S, T] scores of one ranker; their mean over seeds counts.
        second: [S', T] scores of the other, same topics, same order.

    Returns:
        Wins, ties and losses of the first; they add up to T.
    """
    (difference,), _ = _differences([(first, second)])
    wins, losses = int((difference > _TIE).sum()), int((-difference > _TIE).sum())
    return wins, difference.size - wins - losses, losses


def _around(estimate: tuple[float, float, float]) -> tuple[float, float]:
    """The ends of the interval around a mean with this error and these degrees of freedom."""
    mean, error, freedom = estimate
    reach = float(special.stdtrit(freedom, (1 + _LEVEL) / 2)) * error if error else 0.0
    return mean - reach, mean + reach


def _estimate(topics: Sequence[Scores], rankers: Sequence[Sequence[Scores]]) -> tuple[float, float, float]:
    """Mean, standard error and degrees of freedom.

    Args:
        topics: [T] numbers of each collection; the mean is that of their means.
        rankers: of each ranker in them its [S, T] scores of each collection.
    """
    seeds = [np.mean([scores.mean(axis=1) for scores in several], axis=0) for several in rankers]
    margins = [*((margin, len(topics)) for margin in topics), *((margin, 1) for margin in seeds)]
    parts = [
        (float(margin.var(ddof=1)) / margin.size / collections**2, margin.size - 1)
        for margin, collections in margins
        if margin.size > 1
    ]
    variance = sum(part for part, _ in parts)
    spread = sum(part**2 / freedom for part, freedom in parts)
    mean = float(np.mean([margin.mean() for margin in topics]))
    return mean, math.sqrt(variance), variance**2 / spread if spread else 1.0


def _differences(pairs: Sequence[tuple[ArrayLike, ArrayLike]]) -> tuple[list[Scores], list[list[Scores]]]:
    """[T] differences of each collection, and both rankers' [S, T] scores of each."""
    rankers = [[_by_seed(scores) for scores in several] for several in zip(*pairs, strict=True)]
    topics = [by_topic(one) - by_topic(other) for one, other in zip(*rankers, strict=True)]
    if any(np.ma.is_masked(scores) for several in rankers for scores in several):
        return topics, [[_fold_by_fold(one, other) for one, other in zip(*rankers, strict=True)]]
    return topics, rankers


def _fold_by_fold(one: Scores, other: Scores) -> Scores:
    """[S, T] differences where a row is a fold; of a ranker that has all its seeds on each fold, from their mean."""
    if len(one) == len(other):
        return one - other
    one, other = (scores if np.ma.is_masked(scores) else by_topic(scores) for scores in (one, other))
    return one - other


def by_topic(scores: Scores) -> Scores:
    """[T] means over seeds, of [S, T] scores that may be masked."""
    return np.asarray(scores.mean(axis=0), dtype=np.float64)


def _by_seed(scores: ArrayLike) -> Scores:
    """The scores as [S, T]."""
    values: Scores = np.ma.asanyarray(scores) if np.ma.is_masked(scores) else np.asarray(scores, dtype=np.float64)
    return np.atleast_2d(values)
