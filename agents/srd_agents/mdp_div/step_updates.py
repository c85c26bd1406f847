"""The paper's algorithm: a step for each rank of an episode, its gradient at the weights that the one before left.

Xia et al., "Adapting Markov Decision Process for Search Result Diversification", SIGIR 2017, Algorithm 1. The gradient
is written out in numpy, as torch takes most of its time for bookkeeping where H is 5 and every rank has a gradient of
its own.

Shapes: T ranks, N candidates, F vector width, H hidden width.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from srd_agents.networks.inputs import MASKED_LOGIT, Inputs
from srd_agents.networks.policy import given
from srd_agents.reinforce.rollout import SampledEpisodes

Floats = NDArray[np.floating]


def ascend(
    policy: Any, topics: Inputs, episodes: SampledEpisodes, rate: float, *, at_once: bool = False
) -> tuple[float, float]:
    """Change the weights by rate * G_t * grad log pi(a_t | s_t) for t = 0, 1, ..., one after the other.

    Args:
        policy: a `RecurrentPolicy` in arrays (`srd_agents.networks.policy.acting`), which acted; changed in place.
        topics: the one topic, in arrays.
        episodes: its one episode; ranks from which on it earned nothing are passed over, as their gradient is 0.
        rate: the learning rate.
        at_once: take all gradients at the weights that the episode was drawn with, and change these once, by the sum.

    Returns:
        - sum_t G_t log pi(a_t | s_t), each at the weights it was taken at, and the mean entropy of the policy at these
        ranks, in nats.
    """
    weights: Any = (policy.query_weight, policy.input_weight, policy.state_weight, policy.scoring_weight)
    first, into, carry, scoring = weights
    changed: Any = [weight.copy() for weight in weights] if at_once else weights
    query: object = (policy.standardized(topics.queries) * given(topics.queries))[0]
    vectors: Any = policy.standardized(topics.documents[0])
    actions, returns, loss, entropies = episodes.actions[0, 0], _returns(episodes), 0.0, []
    off, ranked = np.where(episodes.allowed[0, 0], np.float32(0), np.float32(MASKED_LOGIT)), vectors[actions]
    with np.errstate(over="ignore", invalid="ignore"):  # of a policy that diverged: the loss says so
        for rank in np.flatnonzero(returns):
            before, action = ranked[:rank], actions[rank]
            states = _states(first @ query, before @ into.T, carry)
            logits = vectors @ (scoring @ states[-1]) + off[rank]
            logits -= logits.max()
            chances = np.exp(logits)
            total = chances.sum()
            loss -= float(returns[rank]) * float(logits[action] - np.log(total))
            entropies.append(float(np.log(total) - chances @ logits / total))
            # x of the chosen document less its expectation: the gradient with regard to U h.
            surprise = ranked[rank] - chances @ vectors / total
            step = rate * returns[rank]
            slopes = _slopes(states, step * (surprise @ scoring), carry)
            changed[3][...] += step * surprise[:, None] * states[-1]
            changed[0][...] += slopes[0][:, None] * query
            if rank:
                changed[1][...] += slopes[1:].T @ before
                changed[2][...] += slopes[1:].T @ states[:-1]
    for weight, new in zip(weights, changed if at_once else (), strict=at_once):
        weight[...] = new
    return loss, float(np.mean(entropies or 0.0))


def _returns(episodes: SampledEpisodes) -> Floats:
    """G_t, [T]."""
    return episodes.rewards[0, 0, ::-1].cumsum()[::-1]


def _states(initial: Floats, inputs: Floats, carry: Floats) -> Floats:
    """h_0 ... h_t, [t + 1, H], from V_q q [H] and rows V x [t, H]."""
    # sigma(z) = (1 + tanh(z / 2)) / 2, without overflow: first all tanh, h = (1 + states) / 2.
    states = np.empty((len(inputs) + 1, len(initial)), initial.dtype)
    np.tanh(0.5 * initial, out=states[0])
    halves, quarter = 0.5 * inputs + 0.25 * carry.sum(axis=1), 0.25 * carry
    for step, row in enumerate(halves):
        np.tanh(row + quarter @ states[step], out=states[step + 1])
    states *= 0.5
    states += 0.5
    return states


def _slopes(states: Floats, last: Floats, carry: Floats) -> Floats:
    """Gradients with regard to what sigma is taken of in each state, [t + 1, H], given that of h_t: back in time."""
    slopes = states * (1 - states)
    slopes[-1] *= last
    for step in range(len(states) - 2, -1, -1):
        slopes[step] *= slopes[step + 1] @ carry
    return slopes
