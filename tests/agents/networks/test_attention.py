"""Self-attention over documents: laws of permutation and padding, against a formula written out."""

from __future__ import annotations

import math

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from srd_agents.networks.attention import AttentionBlock, SelfAttention, attend, initialise

shapes = st.tuples(st.integers(1, 3), st.integers(1, 9), st.integers(1, 6), st.sampled_from([1, 2, 4]))


def attention(width: int, heads: int, seed: int = 0) -> SelfAttention:
    made = SelfAttention(width, 8, heads).double()
    initialise(made, torch.Generator().manual_seed(seed))
    return made


def drawn(*shape: int, seed: int = 1) -> torch.Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


@settings(max_examples=40, deadline=None)
@given(shapes, st.integers(1, 4))
def test_padding_changes_nothing(shape: tuple[int, int, int, int], padding: int) -> None:
    topics, count, width, heads = shape
    first, block, rows = attention(width, heads), AttentionBlock(8, heads, 6).double(), drawn(topics, count, width)
    initialise(block, torch.Generator().manual_seed(1))
    longer = torch.cat([rows, 100 * drawn(topics, padding, width, seed=2)], dim=1)
    present = (torch.arange(count + padding) < count).expand(topics, -1)
    out = block(first(longer, present), present)
    torch.testing.assert_close(out[:, :count], block(first(rows)))
    assert torch.isfinite(out).all()


def test_attend_is_softmax_of_scaled_products_over_the_real_documents() -> None:
    count, width, heads = 5, 8, 2
    mixed = drawn(1, count, 3 * width)
    present = torch.tensor([[True, True, False, True, True]])
    out = attend(mixed, heads, present)
    query, key, value = mixed[0].split(width, dim=1)
    for head in range(heads):
        part = slice(head * 4, head * 4 + 4)
        logits = query[:, part] @ key[:, part].T / math.sqrt(4)
        logits[:, 2] = -math.inf
        torch.testing.assert_close(out[0, :, part], torch.softmax(logits, dim=1) @ value[:, part])


def test_starts_repeat_and_draw_nothing_global() -> None:
    torch.manual_seed(3)
    before = torch.get_rng_state()
    one, same, other = attention(5, 2, seed=1), attention(5, 2, seed=1), attention(5, 2, seed=2)
    assert torch.equal(before, torch.get_rng_state())
    weights = [module.mixed.weight for module in (one, same, other)]
    assert torch.equal(weights[0], weights[1])
    assert not torch.equal(weights[0], weights[2])
    assert 0.8 / math.sqrt(5) < float(weights[0].detach().abs().max()) <= 1 / math.sqrt(5)
