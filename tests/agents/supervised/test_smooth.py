from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from small_topics import small_topic

from srd_agents.supervised.smooth.network import before_by_gaussians, before_by_sigmoid, smooth_measure
from srd_gym.measures import IdealPool, parse_measure


def drawn(seed: int, n: int, s: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    # Scores a tenth apart: at a small temperature there is no doubt about any pair.
    scores = rng.permutation(n) / 10
    judgments = (rng.random((n, s)) < 0.4).astype(np.int8)
    return torch.from_numpy(scores)[None], judgments


def true_value(name: str, judgments: Any, scores: Any) -> float:
    """The measure of the list sorted by the scores, as the rest of the project computes it (its plain sum)."""
    bound = parse_measure(name).plain().bind([IdealPool.of(small_topic(judgments), "candidates")], len(judgments))
    order = np.argsort(-scores[0].numpy(), kind="stable")
    return float(bound.values(judgments[order][None], 0)[0])


@given(seed=st.integers(0, 999), n=st.integers(1, 9), s=st.integers(1, 5), alpha=st.sampled_from([0.0, 0.5, 0.8]))
@settings(max_examples=40, deadline=None)
def test_sharp_limits_are_the_measures(seed: int, n: int, s: int, alpha: float) -> None:
    scores, judgments = drawn(seed, n, s)
    covered = torch.from_numpy(judgments).double()[None]
    certain = torch.zeros_like(scores)
    for name in ("alpha_DCG", "ERR_IA"):
        wanted = true_value(f"{name}(alpha={alpha})", judgments, scores)
        for before in (before_by_sigmoid(scores, 1e-3), before_by_gaussians(scores, certain)):
            found = float(smooth_measure(before, covered, alpha, name)[0])
            assert found == pytest.approx(wanted, abs=1e-12)


def test_daletor_by_hand_as_the_paper_writes_it() -> None:
    scores = torch.tensor([[0.3, 0.1, 0.2]], dtype=torch.float64)
    judgments = [[1, 0], [1, 1], [0, 1]]
    loss = 0.0
    for s in range(2):
        for i in range(3):
            indicator = [1 / (1 + math.exp(-float(scores[0, j] - scores[0, i]) / 0.1)) for j in range(3)]
            rank = 0.5 + sum(indicator)
            covered = sum(indicator[j] * judgments[j][s] for j in range(3)) - judgments[i][s] / 2
            loss -= judgments[i][s] * 0.5**covered / math.log2(1 + rank)
    covers = torch.tensor(judgments, dtype=torch.float64)[None]
    assert float(smooth_measure(before_by_sigmoid(scores, 0.1), covers, 0.5, "alpha_DCG")[0]) == pytest.approx(-loss)


def test_gaussian_order_is_what_drawing_gives() -> None:
    means = torch.tensor([[0.0, 0.4, 1.0]], dtype=torch.float64)
    deviations = torch.tensor([[1.0, 0.5, 2.0]], dtype=torch.float64)
    correlation = torch.tensor([[[1.0, 0.6, -0.3], [0.6, 1.0, 0.2], [-0.3, 0.2, 1.0]]], dtype=torch.float64)
    covariance = (correlation * deviations[:, :, None] * deviations[:, None, :])[0].numpy()
    samples = np.random.default_rng(0).multivariate_normal(means[0].numpy(), covariance, size=400_000)
    before = before_by_gaussians(means, deviations, correlation)[0].numpy()
    for i in range(3):
        for j in range(3):
            seen = 0.0 if i == j else float((samples[:, j] > samples[:, i]).mean())
            assert before[i, j] == pytest.approx(seen, abs=4e-3)
    independent = before_by_gaussians(means, deviations)[0]
    assert float(independent[0, 1]) == pytest.approx(0.5 * math.erfc(-0.4 / math.sqrt(2 * 1.25)))


def test_padding_changes_nothing() -> None:
    scores, judgments = drawn(3, 6, 3)
    covered = torch.from_numpy(judgments).double()[None]
    wide = torch.cat([scores, torch.full((1, 2), 9.0, dtype=torch.float64)], dim=1)
    present = torch.arange(8)[None] < 6
    padded = torch.cat([covered, torch.zeros(1, 2, 3, dtype=torch.float64)], dim=1)
    for before in (lambda s: before_by_sigmoid(s, 0.1), lambda s: before_by_gaussians(s, torch.ones_like(s))):
        alone = smooth_measure(before(scores), covered, 0.5, "alpha_DCG")
        torch.testing.assert_close(smooth_measure(before(wide), padded, 0.5, "alpha_DCG", present), alone)
