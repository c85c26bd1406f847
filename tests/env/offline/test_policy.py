from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from small_topics import refused

from srd_gym.offline import EpsilonPolicy

SIZES = [(5, 3, 0.4), (4, 4, 0.7), (6, 2, 0.1), (3, 5, 0.3), (4, 3, 1.0), (4, 2, 0.0)]


@pytest.mark.parametrize(("size", "depth", "epsilon"), SIZES)
def test_probabilities_are_those_of_all_lists(size: int, depth: int, epsilon: float) -> None:
    policy, ranks = EpsilonPolicy(epsilon), min(size, depth)
    lists = np.full((len(list(permutations(range(size), ranks))), depth), -1)
    lists[:, :ranks] = list(permutations(range(size), ranks))
    chances = policy.propensities(lists, np.full(len(lists), size)).prod(axis=1)
    slots = np.zeros((len(lists), depth, size))
    for rank in range(ranks):
        slots[np.arange(len(lists)), rank, lists[:, rank]] = 1
    assert chances.sum() == pytest.approx(1, abs=1e-12)
    assert_allclose(policy.marginals(size, depth), np.einsum("e,ekn->kn", chances, slots), atol=1e-12)
    pairs = np.einsum("e,ei,ej->ij", chances, *[slots.reshape(len(lists), -1)] * 2)
    assert_allclose(policy.pairs(size, depth), pairs, atol=1e-12)


def test_draws_follow_the_probabilities() -> None:
    policy, reach = EpsilonPolicy(0.5, top_n=4), np.full(40_000, 4)
    assert (policy.reach(np.full(40_000, 9), 3) == 4).all()
    shown = policy.sample(reach, 3, np.random.default_rng(0))
    counts = np.stack([np.bincount(column, minlength=4) for column in shown.T]) / len(shown)
    assert_allclose(counts, policy.marginals(4, 3), atol=4 * 0.5 / np.sqrt(len(shown)))
    assert (np.sort(shown, axis=1)[:, :-1] != np.sort(shown, axis=1)[:, 1:]).all()


def test_short_topics_are_shown_whole_and_what_is_out_of_reach_has_no_chance() -> None:
    policy = EpsilonPolicy(0.5, top_n=1)
    reach = policy.reach(np.array([2, 9]), 3)
    assert reach.tolist() == [2, 3]  # as many as there are ranks to fill
    shown = policy.sample(reach, 3, np.random.default_rng(0))
    assert (shown[0, 2], shown[1, 2] >= 0) == (-1, True)
    assert policy.propensities(shown, reach)[0, 2] == 1
    chances = EpsilonPolicy(0.5, top_n=3).propensities(np.array([[0, 5, 1]]), np.array([3]))
    assert chances[0, 1] == 0
    refused(lambda: EpsilonPolicy(1.5), "epsilon must be between 0 and 1")
    refused(lambda: EpsilonPolicy(0.1, 0), "top_n must be at least 1")
