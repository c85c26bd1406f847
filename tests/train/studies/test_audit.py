from __future__ import annotations

import numpy as np
import pytest

from srd_gym.data import load_topics
from srd_train.report.actions import ORDER, SAFE, actions
from studies import audit as study

NAMES = [action.name for action in actions(None)]


def made(middle: float, slope: float, seed: int, n: int = 30) -> study.Measured:
    """A collection whose gains follow its first number."""
    numbers = np.random.default_rng(seed).normal(middle, 1.0, (n, 3))
    return study.Measured(numbers=numbers, gains=dict.fromkeys([*NAMES, ORDER], slope * numbers[:, 0]), advice=ORDER)


def test_a_law_that_holds_everywhere_is_learned_and_no_law_is_told() -> None:
    law = {str(seed): made(seed, 0.1, seed) for seed in range(4)}
    others = [each for name, each in law.items() if name != "3"]
    assert study.predicted(others, law["3"], SAFE) == pytest.approx(float(law["3"].gains[SAFE].mean()))
    model, *constants = study.errors(law, SAFE)
    assert model < 1e-9 < min(constants)
    assert "lowest error for 4 of 4 actions." in study.part_of(law)
    none = {str(seed): made(seed, (-1) ** seed * 0.1, seed) for seed in range(4)}
    assert "so `srd audit` predicts no gain" in study.part_of(none)


def test_constants_by_hand() -> None:
    gains = (0.0, 0.0, 0.6)
    three = {
        str(i): study.Measured(numbers=np.zeros((2, 3)), gains={SAFE: np.full(2, g)}, advice=SAFE)
        for i, g in enumerate(gains)
    }
    _, always, never, best = study.errors(three, SAFE)
    assert (always, never, best) == pytest.approx(((0.3 + 0.3 + 0.6) / 3, 0.2, 0.2))


def test_half_of_the_judgments_choose_what_gains_on_the_others() -> None:
    sure = study.Measured(numbers=np.zeros((20, 3)), gains={"a": np.full(20, 0.1), "b": np.full(20, -0.1)}, advice="a")
    assert study.by_half(sure) == "+0.1000 (+0.1000)"
    never = study.Measured(numbers=np.zeros((20, 3)), gains={"b": np.full(20, -0.1)}, advice="b")
    assert study.by_half(never) == "+0.0000 (+0.0000)"


def test_a_collection_is_measured_by_its_own_judgments() -> None:
    found = study.measured("words", load_topics("words")[:8])
    assert found.numbers.shape == (8, len(study.NUMBERS))
    assert not found.gains[ORDER].any()
    assert found.gains[SAFE].shape == (8,)
    assert found.advice in found.gains
