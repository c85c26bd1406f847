from __future__ import annotations

import numpy as np
import pytest
import torch
from policy_by_autograd import log_policy_of

from srd_agents.mdp_div.ascent import Episode, ascend
from srd_agents.mdp_div.network import PolicyNetwork
from srd_agents.networks.inputs import Inputs, chosen_log_policy

RANKS, CANDIDATES, WIDTH = 4, 7, 6


@pytest.mark.parametrize("rank", range(RANKS))
@pytest.mark.parametrize("query", [True, False])
def test_a_step_is_autograds_through_the_whole_recurrence(rank: int, query: bool) -> None:
    draw = np.random.default_rng(rank)
    network = PolicyNetwork(WIDTH, 3).double()
    network.initialise(dict.fromkeys(dict(network.named_parameters()), 1.0), torch.Generator().manual_seed(rank))
    network.shift.copy_(torch.from_numpy(draw.normal(size=WIDTH)))
    network.scale.fill_(1.7)
    given = torch.from_numpy(draw.normal(size=WIDTH)) if query else torch.zeros(WIDTH, dtype=torch.float64)
    documents = torch.from_numpy(draw.normal(size=(CANDIDATES, WIDTH)))
    actions = draw.permutation(CANDIDATES)[:RANKS]
    offered = np.ones((RANKS, CANDIDATES), np.bool_)
    for later in range(1, RANKS):
        offered[later:, actions[later - 1]] = False
    worth = np.where(np.arange(RANKS) == rank, 0.8, 0.0)

    taken = torch.from_numpy(actions)[None]
    log_pi = log_policy_of(network, Inputs(given[None], documents[None]), taken, torch.from_numpy(offered)[None])
    chosen = chosen_log_policy(log_pi, taken)
    value = (chosen * torch.from_numpy(worth)).sum()
    names, parameters = zip(*network.named_parameters(), strict=True)
    gradients = torch.autograd.grad(value, parameters, materialize_grads=True)

    weights = {name: parameter.detach().numpy().copy() for name, parameter in zip(names, parameters, strict=True)}
    centred = (given - network.shift) / network.scale if query else given
    vectors = ((documents - network.shift) / network.scale).numpy()
    loss = ascend(weights, centred.numpy(), vectors, Episode(actions, offered, worth), worth, 0.3)
    assert loss == pytest.approx(-value.item())
    for name, parameter, gradient in zip(names, parameters, gradients, strict=True):
        np.testing.assert_allclose(weights[name], (parameter + 0.3 * gradient).detach().numpy(), atol=1e-12)
