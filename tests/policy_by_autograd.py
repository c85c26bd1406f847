"""MDP-DIV's policy on known episodes, rank by rank as the paper writes it, for torch's own gradients."""

from __future__ import annotations

import torch
from torch import Tensor

from srd_agents.mdp_div.network import PolicyNetwork
from srd_agents.networks.inputs import Inputs, log_policy


def log_policy_of(network: PolicyNetwork, topics: Inputs, actions: Tensor, allowed: Tensor) -> Tensor:
    """Log pi of every candidate at every rank, [B, T, N], of actions [B, T] and what was on offer [B, T, N]."""
    known = network.project(topics)
    topic = torch.arange(len(actions)) // (len(actions) // len(known.initial))
    state, logits = known.initial[topic], []
    for action in actions.T:
        logits.append(torch.einsum("bhn,bh->bn", known.scoring[topic, :-1], state) + known.scoring[topic, -1])
        state = network.next_state(state, known.inputs[topic, action])
    return log_policy(torch.stack(logits, 1), allowed)


def left_over(actions: Tensor, candidates: int) -> Tensor:
    """[B, T, N] bool: what was on offer at each rank, all but the documents ranked before."""
    ranked = torch.nn.functional.one_hot(actions, candidates).cumsum(1).bool()
    return ~ranked.roll(1, 1).index_fill(1, torch.tensor(0), False)
