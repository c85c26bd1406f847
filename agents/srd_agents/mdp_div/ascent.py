"""The paper's algorithm: an episode of one topic, then for each of its ranks a step along a gradient written out.

Xia et al., "Adapting Markov Decision Process for Search Result Diversification", SIGIR 2017, Algorithms 1 and 2.
Numpy, as torch takes most of its time for bookkeeping where H is 5 and every rank has a gradient of its own.

Shapes: T ranks, N candidates, F vector width, H hidden width.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from srd_gym.core import SelectionCore
from srd_gym.protocols import BoolArray, IntArray

Floats = NDArray[np.floating]


class Episode(NamedTuple):
    """What one episode did and earned."""

    actions: IntArray
    """[T], the documents ranked."""
    offered: BoolArray
    """[T, N], what was on offer at each rank."""
    rewards: Floats
    """[T]."""
    entropy: float
    """Of the policy, in nats, the mean over ranks."""


def play(
    weights: Mapping[str, Floats], query: Floats, documents: Floats, core: SelectionCore, levels: Floats
) -> Episode:
    """Act in the simulator until its one episode ends, each action drawn from the policy.

    Args:
        weights: `query_weight`, `input_weight` [H, F], `state_weight` [H, H] and `scoring_weight` [F, H].
        query: [F]; zeros where the topic has none.
        documents: [N, F].
        core: the simulator, just reset to the topic.
        levels: as many uniform numbers from 0 to 1 as the episode has ranks.
    """
    scoring, inputs = documents @ weights["scoring_weight"], documents @ weights["input_weight"].T
    state = _sigma(weights["query_weight"] @ query)
    actions, rewards = np.zeros(len(levels), np.int64), np.zeros(len(levels))
    offered, entropy = np.zeros((len(levels), len(documents)), np.bool_), 0.0
    with np.errstate(over="ignore", invalid="ignore"):  # of a policy that diverged: the loss says so
        for rank, level in enumerate(levels):
            offered[rank] = core.allowed[0, : len(documents)]
            there = np.flatnonzero(offered[rank])
            logits = scoring[there] @ state
            logits -= logits.max()
            odds = np.exp(logits)
            cumulated = odds.cumsum()
            entropy += float(np.log(cumulated[-1]) - odds @ logits / cumulated[-1])
            place = int(cumulated.searchsorted(level * cumulated[-1], side="right"))
            actions[rank] = chosen = int(there[min(place, len(there) - 1)])
            rewards[rank] = core.step_episode(0, chosen)[0]
            state = _sigma(inputs[chosen] + weights["state_weight"] @ state)
    return Episode(actions, offered, rewards, entropy / len(levels))


def ascend(
    weights: Mapping[str, Floats],
    query: Floats,
    documents: Floats,
    episode: Episode,
    rate: float,
) -> float:
    """Change the weights in place by rate * G_t * grad log pi(a_t | s_t) for t = 0, 1, ..., one after the other.

    Args:
        weights: as of `play`.
        query: as there.
        documents: as there.
        episode: what was played; ranks from which on it earned nothing are passed over, as their gradient is 0.
        rate: the step size.

    Returns:
        - sum_t G_t log pi(a_t | s_t), each at the weights it was taken at.
    """
    first, into, carry, scoring = (weights[f"{name}_weight"] for name in ("query", "input", "state", "scoring"))
    ranked, loss = documents[episode.actions], 0.0
    returns = episode.rewards[::-1].cumsum()[::-1]
    with np.errstate(over="ignore", invalid="ignore"):  # of a policy that diverged: the loss says so
        for rank in np.flatnonzero(returns):
            before = ranked[:rank]
            states = _states(first @ query, before @ into.T, carry)
            there = np.flatnonzero(episode.offered[rank])
            vectors = documents[there]
            logits = vectors @ (scoring @ states[-1])
            logits -= logits.max()
            chances = np.exp(logits)
            chances /= chances.sum()
            place = int(np.searchsorted(there, episode.actions[rank]))
            loss -= float(returns[rank]) * float(logits[place] - np.log(np.exp(logits).sum()))
            # x of the chosen document less its expectation: the gradient with regard to U h.
            surprise = ranked[rank] - chances @ vectors
            slopes = _slopes(states, scoring.T @ surprise, carry)
            step = rate * float(returns[rank])
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
