from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from srd_train.report.significance import bootstrap_interval, holm, randomisation_test, wins_ties_losses

# Scores on a grid, as measures are: differences of 1e-38 would ask about rounding, not about the test.
scores = st.lists(st.integers(0, 1000).map(lambda n: n / 1000), min_size=1, max_size=8)


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def test_p_of_three_equal_gains_by_hand() -> None:
    # Of the 8 sign flips of (1, 1, 1), two have a mean of size 1: all plus and all minus.
    assert randomisation_test([2, 3, 4], [1, 2, 3], rng()) == 2 / 8


def test_p_of_mixed_differences_by_hand() -> None:
    # Flips of (3, 1, -1), sums 5 3 3 1 -1 -3 -3 -5: six are at least 3 from 0.
    assert randomisation_test([3, 1, 0], [0, 0, 1], rng()) == 6 / 8


@given(scores)
@settings(max_examples=40, deadline=None)
def test_p_of_small_samples_is_the_share_of_all_flips(differences: list[float]) -> None:
    observed = abs(sum(differences))
    sums = [
        abs(sum(sign * d for sign, d in zip(signs, differences, strict=True)))
        for signs in itertools.product((1, -1), repeat=len(differences))
    ]
    expected = np.mean([value >= observed * (1 - 1e-9) - 1e-12 for value in sums])
    assert randomisation_test(differences, np.zeros(len(differences)), rng()) == pytest.approx(expected)


@given(scores)
@settings(max_examples=20, deadline=None)
def test_nothing_differs_from_itself(values: list[float]) -> None:
    assert randomisation_test(values, values, rng()) == 1.0


def test_p_of_many_topics_finds_a_shift_and_no_shift() -> None:
    base = np.random.default_rng(1).random(500)
    assert randomisation_test(base + 0.1, base, rng()) < 0.001
    noise = np.random.default_rng(2).normal(size=500)
    assert randomisation_test(base + noise - noise.mean(), base, rng()) > 0.9


def test_the_interval_holds_the_mean_and_shrinks_with_topics() -> None:
    values = np.random.default_rng(1).random(400)
    low, high = bootstrap_interval(values, rng())
    assert low < values.mean() < high
    assert high - low == pytest.approx(2 * 1.96 * values.std() / 20, rel=0.1)
    assert bootstrap_interval(values, rng()) == (low, high)
    narrow = bootstrap_interval(values, rng(), level=0.5)
    assert narrow[1] - narrow[0] < high - low


@pytest.mark.parametrize("values", [[0.5], [0.25, 0.25, 0.25]])
def test_values_without_spread_have_a_point_as_interval(values: list[float]) -> None:
    assert bootstrap_interval(values, rng()) == (values[0], values[0])


def test_holm_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.5, 0.6]) == [1.0, 1.0]
    assert holm([]) == []


def test_scores_must_be_finite_numbers_of_the_same_topics() -> None:
    for values in ([], [np.nan], [[0.5]]):
        with pytest.raises(ValueError, match="finite scores"):
            bootstrap_interval(values, rng())
    for compare in (wins_ties_losses, lambda first, second: randomisation_test(first, second, rng())):
        with pytest.raises(ValueError, match="same topics, got 2 and 1"):
            compare([0.1, 0.2], [0.1])


def test_wins_ties_and_losses_are_counted_with_room_for_rounding() -> None:
    assert wins_ties_losses([0.5, 0.1 + 0.2, 0.0, 1.0], [0.4, 0.3, 0.5, 0.2]) == (2, 1, 1)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20), st.integers(0, 2**32 - 1))
def test_wins_of_one_are_losses_of_the_other(scores: list[float], seed: int) -> None:
    other = np.random.default_rng(seed).permutation(scores)
    wins, ties, losses = wins_ties_losses(scores, other)
    assert wins_ties_losses(other, scores) == (losses, ties, wins)
    assert wins + ties + losses == len(scores)
