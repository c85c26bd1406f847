"""The paper's update: after each rank of an episode a step of gradient ascent, its gradient written out.

Xia et al., "Adapting Markov Decision Process for Search Result Diversification", SIGIR 2017, Algorithm 1, lines 5 to 8.
Numpy, as autograd takes most of its time for bookkeeping where H is 5 and a gradient is taken for every rank.

Shapes: T ranks, N candidates, F vector width, H hidden width.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from srd_gym.protocols import BoolArray, IntArray

Floats = NDArray[np.floating]


def ascend(
    weights: Mapping[str, Floats],
    query: Floats,
    documents: Floats,
    actions: IntArray,
    offered: BoolArray,
    worth: Floats,
    rate: float,
) -> float:
    """Change the weights in place by rate * worth_t * grad log pi(a_t | s_t) for t = 0, 1, ..., one after the other.

    Args:
        weights: `query_weight`, `input_weight` [H, F], `state_weight` [H, H] and `scoring_weight` [F, H].
        query: [F]; zeros where the topic has none.
        documents: [N, F].
        actions: [T], the documents ranked.
        offered: [T, N], what was on offer at each rank.
        worth: [T], gamma^t G_t; ranks of worth 0 are passed over, as their gradient is 0.
        rate: the step size.

    Returns:
        - sum_t worth_t log pi(a_t | s_t), each at the weights it was taken at.
    """
    first, into, carry, scoring = (weights[f"{name}_weight"] for name in ("query", "input", "state", "scoring"))
    ranked, loss = documents[actions], 0.0
    with np.errstate(over="ignore", invalid="ignore"):  # of a policy that diverged: the loss says so
        for rank in np.flatnonzero(worth):
            before = ranked[:rank]
            states = _states(first @ query, before @ into.T, carry)
            there = np.flatnonzero(offered[rank])
            vectors = documents[there]
            logits = vectors @ (scoring @ states[-1])
            logits -= logits.max()
            chances = np.exp(logits)
            chances /= chances.sum()
            place = int(np.searchsorted(there, actions[rank]))
            loss -= float(worth[rank]) * float(logits[place] - np.log(np.exp(logits).sum()))
            # x of the chosen document less its expectation: the gradient with regard to U h.
            surprise = ranked[rank] - chances @ vectors
            slopes = _slopes(states, scoring.T @ surprise, carry)
            step = rate * float(worth[rank])
            scoring += step * np.outer(surprise, states[-1])
            first += step * np.outer(slopes[0], query)
            into += step * (slopes[1:].T @ before)
            carry += step * (slopes[1:].T @ states[:-1])
    return loss


def _states(initial: Floats, inputs: Floats, carry: Floats) -> Floats:
    """h_0 ... h_t, [t + 1, H], from V_q q [H] and rows V x [t, H]."""
    states = np.empty((len(inputs) + 1, len(initial)), initial.dtype)
    states[0] = _sigma(initial)
    for step, row in enumerate(inputs):
        states[step + 1] = _sigma(row + carry @ states[step])
    return states


def _slopes(states: Floats, last: Floats, carry: Floats) -> Floats:
    """Gradients with regard to what sigma is taken of in each state, [t + 1, H], given that of h_t: back in time."""
    slopes = states * (1 - states)
    slopes[-1] *= last
    for step in range(len(states) - 2, -1, -1):
        slopes[step] *= slopes[step + 1] @ carry
    return slopes


def _sigma(values: Floats) -> Floats:
    """The logistic function, without overflow."""
    found: Floats = 0.5 * (1 + np.tanh(0.5 * values))
    return found
