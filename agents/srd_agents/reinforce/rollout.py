"""Episodes of the policy in the batched simulator, and the policy's log-probabilities on them.

Acting and learning are two passes: episodes are rolled out without gradients, then one teacher-forced pass over all
their ranks at once gives the log-probabilities with gradients. The reward comes from the simulator alone.

Shapes: M topics, R rollouts of each, B = M * R episodes (a topic's rollouts side by side), T ranks, N candidates.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from srd_agents.features import padded_order_features
from srd_agents.networks.inputs import shared_tensor
from srd_agents.reinforce.attentive import AttentivePolicyNetwork
from srd_agents.reinforce.loss import log_policy
from srd_agents.reinforce.network import PolicyNetwork, Projection
from srd_gym.core import SelectionCore, TopicArrays
from srd_gym.protocols import BoolArray, IntArray


class Episodes(NamedTuple):
    """What B episodes saw, did and earned."""

    actions: Tensor
    """[B, T] int64, the candidates ranked; any index after an episode's end."""
    allowed: Tensor
    """[B, T, N] bool, the candidates on offer at each rank."""
    rewards: Tensor
    """[B, T], in the network's dtype; 0 after an episode's end."""
    active: Tensor
    """[B, T] bool, whether the rank was filled: false after an episode's end."""
    gathered: bool = False
    """Whether the policy looks at the candidates on offer alone, gathered, instead of at all of a topic at once."""

    def evaluations(self) -> int:
        """How many candidates the policy had to choose among, over all ranks and episodes."""
        return int((self.allowed.sum(-1) * self.active).sum())


class TopicTensors:
    """The vectors of a topic set as tensors on a device; on the CPU they share the arrays' memory.

    Args:
        arrays: the topic set.
        network: whose device and dtype to take, and whether it looks at the retrieval order.
    """

    def __init__(self, arrays: TopicArrays, network: PolicyNetwork) -> None:
        place = network.shift
        self.n_candidates = arrays.n_candidates
        self.documents = shared_tensor(arrays.documents).to(place.device, place.dtype)
        self.queries = shared_tensor(arrays.queries).to(place.device, place.dtype)
        self.order: Tensor | None = None
        if network.order_weight is not None:
            self.order = torch.from_numpy(padded_order_features(arrays)).to(place.device, place.dtype)

    def batch(self, topics: IntArray) -> tuple[Tensor, Tensor, Tensor | None]:
        """What `PolicyNetwork.project` takes: documents [M, N, F], queries [M, F] and order features [M, N, D] or None.

        N is cut to the largest of these topics.
        """
        most = int(self.n_candidates[topics].max())
        if len(topics) == 1:  # a view: no copy
            one = slice(int(topics[0]), int(topics[0]) + 1)
            order = None if self.order is None else self.order[one, :most]
            return self.documents[one, :most], self.queries[one], order
        chosen = torch.from_numpy(topics).to(self.documents.device)
        order = None if self.order is None else self.order[:, :most][chosen]
        return self.documents[:, :most][chosen], self.queries[chosen], order


@torch.no_grad()
def roll_out(
    network: PolicyNetwork,
    projection: Projection,
    core: SelectionCore,
    topics: IntArray,
    rollouts: int,
    generator: torch.Generator,
) -> Episodes:
    """Act in the simulator until all episodes end, each action drawn from the policy.

    Args:
        network: the policy.
        projection: of these topics' candidates; its graph is left alone.
        core: the simulator; it is reset.
        topics: [M] int64, topics of the simulator's topic set.
        rollouts: R, episodes of each topic.
        generator: on the network's device.

    Returns:
        The episodes, on the network's device.
    """
    core.reset(np.repeat(topics, rollouts))
    known = projection.detach()
    scoring, inputs, initial, prior, _ = known
    n_topics, n = scoring.shape[:2]
    gathered = core.pruning is not None or isinstance(network, AttentivePolicyNetwork)
    lanes, ranks = n_topics * rollouts, int(core.length.max())
    actions = np.zeros((lanes, ranks), np.int64)
    allowed = np.zeros((lanes, ranks, n), np.bool_)
    rewards = np.zeros((lanes, ranks))
    active = np.zeros((lanes, ranks), np.bool_)

    flat_inputs = inputs.reshape(n_topics * n, -1)
    first_row = torch.arange(n_topics, device=scoring.device).repeat_interleave(rollouts) * n
    state = initial.repeat_interleave(rollouts, dim=0)
    for rank in range(ranks):
        active[:, rank] = ~core.done
        allowed[:, rank] = core.allowed[:, :n]
        if gathered:
            drawn = _draw_offered(network, known, first_row, state, allowed[:, rank], generator)
        else:
            on_offer = torch.from_numpy(allowed[:, rank]).to(scoring.device)
            logits = network.logits(scoring, state.view(n_topics, rollouts, -1), prior).view(lanes, n)
            drawn = _draw(logits, on_offer, generator)
        actions[:, rank] = drawn.cpu().numpy()
        if lanes == 1:
            rewards[0, rank] = core.step_episode(0, int(actions[0, rank]))[0]
        else:
            rewards[:, rank] = core.step(actions[:, rank]).reward
        state = network.next_state(state, flat_inputs[first_row + drawn])

    def moved(array: NDArray[np.generic]) -> Tensor:
        return torch.from_numpy(array).to(scoring.device)

    paid = moved(rewards).to(scoring.dtype)
    return Episodes(moved(actions), moved(allowed), paid, moved(active), gathered)


def episode_log_policy(network: PolicyNetwork, projection: Projection, episodes: Episodes) -> Tensor:
    """Log pi of every candidate at every rank of known episodes, with gradients to all weights.

    Args:
        network: the policy.
        projection: of the episodes' topics, with its graph.
        episodes: as rolled out; their topics side by side as in the projection.

    Returns:
        [B, T, N]; about `MASKED_LOGIT` where a candidate was not on offer.
    """
    scoring, inputs, initial, prior, _ = projection
    n_topics, n = scoring.shape[:2]
    lanes, ranks = episodes.actions.shape
    rollouts = lanes // n_topics
    first_row = torch.arange(n_topics, device=scoring.device).repeat_interleave(rollouts) * n
    ranked = inputs.reshape(n_topics * n, -1)[first_row[:, None] + episodes.actions]
    states = network.states(initial.repeat_interleave(rollouts, dim=0), ranked)
    if episodes.gathered:
        logits = _offered_logits(projection, states, episodes)
        if isinstance(network, AttentivePolicyNetwork):
            logits = logits + _offered_worth(network, projection, states, episodes)
        return log_policy(logits, episodes.allowed)
    logits = network.logits(scoring, states.reshape(n_topics, rollouts * ranks, -1), prior)
    return log_policy(logits.view(lanes, ranks, n), episodes.allowed)


def _offered_logits(projection: Projection, states: Tensor, episodes: Episodes) -> Tensor:
    """The logits of the candidates on offer at each rank of known episodes, the policy evaluated for no other.

    Args:
        projection: of the episodes' topics, with its graph.
        states: [B, T, H].
        episodes: as rolled out.

    Returns:
        [B, T, N]; 0 where a candidate was not on offer.
    """
    scoring, prior = projection.scoring, projection.prior
    n_topics, n = scoring.shape[:2]
    wanted = episodes.allowed & episodes.active[..., None]
    lane, rank, candidate = wanted.nonzero(as_tuple=True)
    row = lane // (len(wanted) // n_topics) * n + candidate
    # index_select, as its gradient is several times faster than that of plain indexing.
    ranked = scoring.flatten(0, 1).index_select(0, row)
    found = (ranked * states.flatten(0, 1).index_select(0, lane * wanted.shape[1] + rank)).sum(-1)
    if prior is not None:
        found = found + prior.reshape(-1)[row]
    return torch.zeros(wanted.shape, dtype=found.dtype, device=found.device).masked_scatter(wanted, found)


def _offered_worth(
    network: AttentivePolicyNetwork, projection: Projection, states: Tensor, episodes: Episodes
) -> Tensor:
    """What the attention adds to the logits at each rank of known episodes, rank by rank on what was on offer.

    Args:
        network: the policy.
        projection: of the episodes' topics, with its graph.
        states: [B, T, H].
        episodes: as rolled out.

    Returns:
        [B, T, N]; 0 where a candidate was not on offer.
    """
    rows = _attention_rows(projection)
    n_topics, n = projection.scoring.shape[:2]
    lanes, ranks = episodes.actions.shape
    first_row = torch.arange(n_topics, device=states.device).repeat_interleave(lanes // n_topics) * n
    allowed, out = episodes.allowed.cpu().numpy(), []
    for rank in range(ranks):
        offered, real = on_offer_side_by_side(allowed[:, rank], states.device)
        ranked = rows_at(rows, first_row[:, None] + offered)
        found = network.worth(ranked, some_present(real), states[:, rank])
        # Padding repeats index 0: it must not write there.
        out.append(found.new_zeros(lanes, n).scatter_add(1, offered, found.masked_fill(~real, 0.0)))
    return torch.stack(out, dim=1)


def _draw_offered(
    network: PolicyNetwork,
    projection: Projection,
    first_row: Tensor,
    state: Tensor,
    allowed: BoolArray,
    generator: torch.Generator,
) -> Tensor:
    """One candidate an episode, drawn from the policy, which is evaluated for the candidates on offer alone.

    Args:
        network: the policy.
        projection: of the topics' candidates.
        first_row: [B] int64, where each episode's candidates begin when topics lie one after the other.
        state: [B, H].
        allowed: [B, N] bool.
        generator: on the same device.

    Returns:
        [B] int64; any index where nothing is allowed.
    """
    offered, real = on_offer_side_by_side(allowed, state.device)
    row = first_row[:, None] + offered
    logits = torch.bmm(rows_at(projection.scoring.flatten(0, 1), row), state[..., None]).squeeze(-1)
    if projection.prior is not None:
        logits = logits + projection.prior.flatten()[row]
    if isinstance(network, AttentivePolicyNetwork):
        logits = logits + network.worth(rows_at(_attention_rows(projection), row), some_present(real), state)
    drawn = _draw(logits, real, generator)
    return offered.gather(1, drawn[:, None]).squeeze(1)


def on_offer_side_by_side(allowed: BoolArray, device: torch.device) -> tuple[Tensor, Tensor]:
    """The candidates on offer, side by side: (indices [B, C] int64, 0 in the padding; which are real [B, C] bool)."""
    counts = allowed.sum(axis=1)
    real = np.arange(max(int(counts.max()), 1)) < counts[:, None]
    candidates = np.zeros(real.shape, np.int64)
    candidates[real] = np.nonzero(allowed)[1]
    return torch.from_numpy(candidates).to(device), torch.from_numpy(real).to(device)


def rows_at(rows: Tensor, index: Tensor) -> Tensor:
    """Rows [R, W] at [B, C] places: [B, C, W]."""
    # index_select, as its gradient is several times faster than that of plain indexing.
    return rows.index_select(0, index.flatten()).view(*index.shape, -1)


def _attention_rows(projection: Projection) -> Tensor:
    """[M * N, W] of an attentive policy."""
    if projection.rows is None:
        raise ValueError("an attentive policy needs a projection made by its own network")
    return projection.rows.flatten(0, 1)


def some_present(real: Tensor) -> Tensor | None:
    """What attention looks at: None where all are real; the first, where an ended episode has none."""
    if bool(real.all()):
        return None
    some = real.clone()
    some[:, 0] = True
    return some


def _draw(logits: Tensor, allowed: Tensor, generator: torch.Generator) -> Tensor:
    """One candidate a row, drawn from softmax(logits) over those allowed.

    One uniform number a row is looked up in the cumulative probabilities; a number for each candidate (Gumbel-max)
    would take half of the training time.

    Args:
        logits: [B, N].
        allowed: [B, N] bool.
        generator: on the same device.

    Returns:
        [B] int64; any index where nothing is allowed.
    """
    cumulated = log_policy(logits, allowed).exp_().cumsum(1)
    # Below the last sum even after rounding, so that a candidate of probability 0 is never found.
    level = cumulated[:, -1:] * torch.rand(
        len(logits), 1, dtype=logits.dtype, device=logits.device, generator=generator
    )
    # NaN (a diverged policy) would be found behind the last; the training loop then says so in its own words.
    return torch.searchsorted(cumulated, level, right=True).squeeze(1).clamp_(max=logits.shape[1] - 1)
