"""Self-attention over documents: laws of permutation and padding, against a formula written out."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from srd_agents.networks.attention import AttentionStack, attend, initialise

shapes = st.tuples(st.integers(1, 3), st.integers(1, 9), st.integers(1, 6), st.sampled_from([1, 2, 4]))


def stack(width: int, heads: int, blocks: int, seed: int = 0, feed_forward: int = 0) -> AttentionStack:
    made = AttentionStack(width, 8, heads, blocks, feed_forward).double()
    initialise(made, torch.Generator().manual_seed(seed))
    return made


def drawn(*shape: int, seed: int = 1) -> torch.Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


@settings(max_examples=40, deadline=None)
@given(shapes, st.integers(1, 3), st.sampled_from([0, 5]), st.integers(0, 9))
def test_permuting_documents_permutes_their_rows(
    shape: tuple[int, int, int, int], blocks: int, feed_forward: int, seed: int
) -> None:
    topics, count, width, heads = shape
    module, rows = stack(width, heads, blocks, feed_forward=feed_forward), drawn(topics, count, width)
    order = torch.randperm(count, generator=torch.Generator().manual_seed(seed))
    torch.testing.assert_close(module(rows[:, order]), module(rows)[:, order])


@settings(max_examples=40, deadline=None)
@given(shapes, st.integers(1, 3), st.integers(1, 4))
def test_padding_changes_nothing(shape: tuple[int, int, int, int], blocks: int, padding: int) -> None:
    topics, count, width, heads = shape
    module, rows = stack(width, heads, blocks), drawn(topics, count, width)
    longer = torch.cat([rows, 100 * drawn(topics, padding, width, seed=2)], dim=1)
    present = (torch.arange(count + padding) < count).expand(topics, -1)
    out = module(longer, present)
    torch.testing.assert_close(out[:, :count], module(rows))
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


def test_topics_do_not_see_each_other() -> None:
    module, rows = stack(3, 4, 2), drawn(3, 6, 3)
    together = module(rows)
    for index in range(3):
        torch.testing.assert_close(module(rows[index : index + 1])[0], together[index])


@pytest.mark.parametrize("masked", [False, True])
def test_gradients_are_those_of_the_function(masked: bool) -> None:
    module, rows = stack(3, 2, 1), drawn(2, 4, 3).requires_grad_()
    present = torch.tensor([[True] * 4, [True, True, False, False]]) if masked else None
    assert torch.autograd.gradcheck(lambda x: module(x, present)[:, :2], rows)


def test_starts_repeat_and_draw_nothing_global() -> None:
    torch.manual_seed(3)
    before = torch.get_rng_state()
    one, same, other = stack(5, 2, 2, seed=1), stack(5, 2, 2, seed=1), stack(5, 2, 2, seed=2)
    assert torch.equal(before, torch.get_rng_state())
    weights = [module.first.mixed.weight for module in (one, same, other)]
    assert torch.equal(weights[0], weights[1])
    assert not torch.equal(weights[0], weights[2])
    assert 0.8 / math.sqrt(5) < float(weights[0].detach().abs().max()) <= 1 / math.sqrt(5)
