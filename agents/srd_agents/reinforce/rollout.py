"""One rollout for all policies: sampled (or greedy) episodes in the batched simulator. Numpy only.

Shapes: B topics, R episodes of each, T ranks, N candidates.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from srd_agents.relational.decoding import Draft
from srd_gym.core import SelectionCore
from srd_gym.dtypes import BoolArray, IntArray


class SampledEpisodes(NamedTuple):
    """Observations, actions and rewards of R episodes of each of B topics."""

    actions: IntArray
    """[B, R, T]; any index after an episode's end."""
    allowed: BoolArray
    """[B, R, T, N], the candidates that are not masked."""
    rewards: NDArray[np.float32]
    """[B, R, T]; 0 after an episode's end."""
    active: BoolArray
    """[B, R, T], whether the rank was filled."""
    propensities: NDArray[np.float64] | None = None
    """[B, R, T], probabilities with which another policy drew the actions; None: the policy itself did."""


def roll_out(
    draft: Draft, core: SelectionCore, batch: IntArray, rollouts: int, rng: np.random.Generator | None
) -> SampledEpisodes:
    """Act until all episodes end.

    Args:
        draft: empty rankings of these topics, R of each.
        core: the simulator; it is reset.
        batch: [B] topics.
        rollouts: R.
        rng: draws each action from the softmax of the scores, and users where they pay; None takes the highest score,
            the first of equals.
    """
    core.reset(np.repeat(batch, rollouts), users=rng)
    episodes, ranks = (len(batch), rollouts), int(core.length.max())
    n = int(core.arrays.n_candidates[batch].max())
    allowed, actions = np.zeros((*episodes, ranks, n), np.bool_), np.zeros((*episodes, ranks), np.int64)
    rewards, active = np.zeros((*episodes, ranks), np.float32), np.zeros((*episodes, ranks), np.bool_)
    for rank in range(ranks):
        allowed[:, :, rank] = core.allowed[:, :n].reshape(*episodes, n)
        active[:, :, rank] = ~core.done.reshape(episodes)
        scores = np.where(allowed[:, :, rank], draft.scores(), -np.inf)
        chosen = actions[:, :, rank] = scores.argmax(axis=2) if rng is None else drawn(scores, rng)
        if chosen.size == 1:  # one episode alone, which the simulator steps faster
            rewards[0, 0, rank] = core.step_episode(0, chosen.item())[0]
        else:
            rewards[:, :, rank] = core.step(chosen.ravel()).reward.reshape(episodes)
        if rank + 1 < ranks:
            draft.add(chosen)
    return SampledEpisodes(actions, allowed, rewards, active)


@np.errstate(invalid="ignore", over="ignore")
def drawn(scores: NDArray[np.float32], rng: np.random.Generator) -> IntArray:
    """A candidate of each row, drawn from the softmax of its scores: [...] int64 of [..., N].

    One uniform number a row is looked up in the cumulated odds. Rows without candidates (minus infinity throughout)
    and without numbers (NaN, of a policy that diverged) give the first.
    """
    odds = np.exp(scores - scores.max(axis=-1, keepdims=True)).cumsum(axis=-1)
    levels = rng.random(scores.shape[:-1])[..., None] * odds[..., -1:]
    candidates: IntArray = (odds > levels).argmax(axis=-1)
    return candidates
