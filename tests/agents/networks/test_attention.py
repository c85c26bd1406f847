from __future__ import annotations

import math

import torch

from srd_agents.networks.attention import SelfAttention, attend, initialise


def test_attend_is_softmax_of_scaled_products_over_the_real_documents() -> None:
    count, width, heads = 5, 8, 2
    mixed = torch.randn(1, count, 3 * width, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    present = torch.tensor([[True, True, False, True, True]])
    out = attend(mixed, heads, present)
    query, key, value = mixed[0].split(width, dim=1)
    for head in range(heads):
        part = slice(head * 4, head * 4 + 4)
        logits = query[:, part] @ key[:, part].T / math.sqrt(4)
        logits[:, 2] = -math.inf
        torch.testing.assert_close(out[0, :, part], torch.softmax(logits, dim=1) @ value[:, part])


def test_first_weights_fill_the_range_of_their_inputs_and_draw_nothing_global() -> None:
    before, network = torch.get_rng_state(), SelfAttention(5, 8, 2)
    initialise(network, torch.Generator().manual_seed(1))
    assert torch.equal(before, torch.get_rng_state())
    assert 0.8 / math.sqrt(5) < float(network.mixed.weight.detach().abs().max()) <= 1 / math.sqrt(5)
