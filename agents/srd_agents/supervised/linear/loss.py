"""What a pair of a good and a bad ranking is worth: the losses that PAMM and SGDMM differ in. Pure functions.

Each takes the margin of the model, Delta F = F(y+) - F(y-), and that of the measure, Delta E = E(y+) - E(y-), arrays
of any one shape, and gives the loss of each pair and its derivative by Delta F.
"""

from __future__ import annotations

import numpy as np

from srd_gym.protocols import ScoreArray

_MOST = 50.0
"""Margins are taken as at least minus this: exp of more would leave the numbers of float64's sums behind."""


def perceptron(model_margin: ScoreArray, measure_margin: ScoreArray) -> tuple[ScoreArray, ScoreArray]:
    """PAMM (Xu et al., TIST 2017): pairs with Delta F <= Delta E step by dF(y+) - dF(y-), the others not at all.

    The loss of such a pair is -Delta F: its value is not what falls, its derivative is what the paper steps by.
    """
    short = (model_margin <= measure_margin).astype(np.float64)
    return -model_margin * short, -short


def logistic(model_margin: ScoreArray, measure_margin: ScoreArray) -> tuple[ScoreArray, ScoreArray]:
    """SGDMM-Log: Delta E log(1 + exp(-Delta F))."""
    # logaddexp is exact where exp would overflow; so is the derivative written with it.
    loss = np.logaddexp(0.0, -model_margin)
    return measure_margin * loss, -measure_margin * np.exp(-model_margin - loss)


def exponential(model_margin: ScoreArray, measure_margin: ScoreArray) -> tuple[ScoreArray, ScoreArray]:
    """SGDMM-Exp: Delta E exp(-Delta F)."""
    loss = measure_margin * np.exp(-np.maximum(model_margin, -_MOST))
    return loss, -loss
