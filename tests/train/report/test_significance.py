from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import special, stats

from srd_train.report.significance import (
    difference_interval,
    holm,
    interval,
    paired_test,
    randomisation_tests,
    wins_ties_losses,
)

# Scores on a grid, as measures are: differences of 1e-38 would ask about rounding, not about the test.
scores = st.lists(st.integers(0, 1000).map(lambda n: n / 1000), min_size=2, max_size=8)


def test_seeds_of_both_rankers_count_and_are_not_paired() -> None:
    # Variances: 0.02 of the differences by topic (0, 0.2), 0.01 of one's means by seed, 0.04 of the other's.
    one = np.array([[0.2, 0.4], [0.3, 0.5], [0.4, 0.6]])
    other = np.array([[0.1, 0.1], [0.3, 0.3], [0.5, 0.5]])
    variance = 0.02 / 2 + 0.01 / 3 + 0.04 / 3
    freedom = variance**2 / ((0.02 / 2) ** 2 / 1 + (0.01 / 3) ** 2 / 2 + (0.04 / 3) ** 2 / 2)
    expected = 2 * stats.t.sf(0.1 / math.sqrt(variance), freedom)
    assert paired_test((one, other)) == pytest.approx(expected)
    assert paired_test((one[::-1], other)) == pytest.approx(expected)


def test_collections_count_alike_by_hand() -> None:
    # Means by topic: 0.3, 0.5 and 0.1, 0.1, 0.4; of the collections: 0.4 and 0.2.
    first = [
        np.array([[0.2, 0.4], [0.3, 0.5], [0.4, 0.6]]),
        np.array([[0.2, 0.2, 0.5], [0.0, 0.0, 0.0], [0.1, 0.1, 0.7]]),
    ]
    pairs = [(scores, np.zeros(scores.shape[1])) for scores in first]
    seeds = np.mean([scores.mean(axis=1) for scores in first], axis=0).var(ddof=1) / 3
    topics = 0.02 / 2 / 4, 0.03 / 3 / 4
    variance = sum(topics) + seeds
    freedom = variance**2 / (topics[0] ** 2 / 1 + topics[1] ** 2 / 2 + seeds**2 / 2)
    assert paired_test(*pairs) == pytest.approx(2 * stats.t.sf(0.3 / math.sqrt(variance), freedom))
    reach = stats.t.ppf(0.975, freedom) * math.sqrt(variance)
    assert difference_interval(*pairs) == pytest.approx((0.3 - reach, 0.3 + reach))


@given(scores, st.integers(0, 2**32 - 1))
@settings(max_examples=40)
def test_with_one_seed_each_it_is_the_paired_t_test(first: list[float], seed: int) -> None:
    second = np.random.default_rng(seed).random(len(first))
    expected = stats.ttest_rel(first, second)
    assert paired_test((first, second)) == pytest.approx(expected.pvalue)
    ends = expected.confidence_interval()
    assert difference_interval((first, second)) == pytest.approx((ends.low, ends.high))


@given(scores)
def test_nothing_differs_from_itself(values: list[float]) -> None:
    assert paired_test((values, values)) == 1.0
    assert paired_test(([values] * 3, values)) == 1.0


def test_equal_differences_count_signs() -> None:
    # Of the 8 signs of (1, 1, 1), two have a mean of size 1: all plus and all minus.
    assert paired_test(([2, 3, 4], [1, 2, 3])) == 2 / 8
    assert paired_test(([2], [1])) == 1.0


def made(rng: np.random.Generator, topics: NDArray[np.float64], seeds: int, by_seed: float) -> NDArray[np.float64]:
    """Scores of a ranker that is as good as any other: a normal error by topic, by seed and by both."""
    mean = topics + rng.normal(0, 0.05, topics.size)
    return mean + rng.normal(0, by_seed, (seeds, 1)) + rng.normal(0, 0.03, (seeds, topics.size))


@pytest.mark.parametrize(("seeds", "by_seed"), [((3, 1), 0.0), ((3, 3), 0.01), ((3, 3), 0.05), ((5, 3), 0.02)])
def test_rankers_that_differ_by_chance_alone_are_told_apart_rarely(seeds: tuple[int, int], by_seed: float) -> None:
    rng, found, held = np.random.default_rng(0), 0, 0
    for _ in range(1000):
        topics = rng.normal(0.5, 0.2, 40)
        one = made(rng, topics, seeds[0], by_seed)
        other = made(rng, topics, seeds[1], by_seed if seeds[1] > 1 else 0.0)
        found += paired_test((one, other)) < 0.05
        low, high = interval(one)
        held += low <= 0.5 <= high
    assert found <= 65, "at most 50 of 1000 expected, with a standard deviation of 7"
    assert held >= 935


@pytest.mark.parametrize("by_fold", [0.0, 0.01, 0.05])
def test_where_each_fold_is_a_training_their_differences_count(by_fold: float) -> None:
    rng, found, held = np.random.default_rng(0), 0, 0
    elsewhere = np.repeat(np.eye(5) == 0, 20, axis=1)
    for _ in range(500):
        topics = rng.normal(0.5, 0.2, 100)
        one, other = (np.ma.array(made(rng, topics, 5, by_fold), mask=elsewhere) for _ in range(2))
        found += paired_test((one, other)) < 0.05
        held += difference_interval((one, topics))[0] <= 0 <= difference_interval((one, topics))[1]
    assert found <= 40, "at most 25 of 500 expected, with a standard deviation of 5"
    assert held >= 460


def test_of_folds_with_one_seed_each_by_hand() -> None:
    one = np.ma.masked_invalid([[1, 2, np.nan, np.nan], [np.nan, np.nan, 4, 6]])
    low, high = difference_interval((one, [0, 0, 0, 0]))
    assert (low + high) / 2 == pytest.approx(13 / 4)
    parts = np.array([np.var([1, 2, 4, 6], ddof=1) / 4, np.var([1.5, 5], ddof=1) / 2])
    freedom = parts.sum() ** 2 / (parts**2 / [3, 1]).sum()
    assert high - low == pytest.approx(2 * special.stdtrit(freedom, 0.975) * np.sqrt(parts.sum()))


def test_the_interval_holds_the_mean_shrinks_with_topics_and_stays_in_their_range() -> None:
    values = np.random.default_rng(1).random(400)
    low, high = interval(values)
    assert low < values.mean() < high
    assert high - low == pytest.approx(2 * 1.96 * values.std() / 20, rel=0.1)
    assert interval([1.0, 1.0, 0.9]) == pytest.approx((0.9, 1.0))
    assert [interval([0.5]), interval([0.25] * 3)] == [(0.5, 0.5), (0.25, 0.25)]


def test_holm_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.5, 0.6]) == [1.0, 1.0]
    assert holm([]) == []


def test_wins_ties_and_losses_are_counted_with_room_for_rounding() -> None:
    assert wins_ties_losses([0.5, 0.1 + 0.2, 0.0, 1.0], [0.4, 0.3, 0.5, 0.2]) == (2, 1, 1)


def test_the_randomisation_test_counts_signs() -> None:
    small = np.array([[1.0, 2.0, 3.0], [1.0, -1.0, 0.0]])
    assert randomisation_tests(small) == [2 / 8, 1.0]
    generator = np.random.default_rng(5)
    for topics in (10, 60):
        made = generator.normal(0.2, 1, (3, topics))
        found = randomisation_tests(made)
        exact = {"n_resamples": np.inf} if topics == 10 else {"n_resamples": 100_000, "rng": 2}
        for differences, p_value in zip(made, found, strict=True):
            theirs = stats.permutation_test((differences,), np.mean, permutation_type="samples", **exact).pvalue
            assert p_value == pytest.approx(theirs, abs=1e-12 if topics == 10 else 0.01)
    assert randomisation_tests(np.ones((1, 60)), draws=999) == [1 / 1000]
