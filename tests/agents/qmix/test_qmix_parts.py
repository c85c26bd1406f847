from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from srd_agents.networks.attention import initialise
from srd_agents.networks.inputs import Inputs, Standardizer
from srd_agents.qmix.config import ScoringConfig
from srd_agents.qmix.loss import MixingWeights, chosen_values, epsilon_at, independent_loss, mean_value, mix
from srd_agents.qmix.network import FlatMixer, PooledMixer, ScoreNetwork, mean_document
from srd_agents.qmix.replay import Replay

WIDTH, SCORES = 5, 4
F64 = torch.float64
seeds = st.integers(0, 10_000)
counts = st.integers(1, 7)
kinds = st.sampled_from(["documents", "flat", "mean"])


def drawn(seed: int, *shape: int) -> torch.Tensor:
    return torch.randn(*shape, dtype=F64, generator=torch.Generator().manual_seed(seed))


def inputs(seed: int, count: int, topics: int = 2) -> Inputs:
    return Inputs(drawn(seed, topics, WIDTH), drawn(seed + 1, topics, count, WIDTH), None)


def permuted(given_: Inputs, order: torch.Tensor) -> Inputs:
    return Inputs(given_.queries, given_.documents[:, order], given_.present)


def padded(given_: Inputs, more: int) -> Inputs:
    topics, count = given_.documents.shape[:2]
    junk = 50 * drawn(9, topics, more, WIDTH)
    present = (torch.arange(count + more) < count).expand(topics, -1)
    return Inputs(given_.queries, torch.cat([given_.documents, junk], dim=1), present)


def network() -> ScoreNetwork:
    config = ScoringConfig(n_scores=SCORES, attention_width=8, heads=2, hidden_size=6)
    made = ScoreNetwork(WIDTH, config).double()
    initialise(made, torch.Generator().manual_seed(0))
    return made


def mixer(kind: str, count: int, seed: int = 0) -> Any:
    made: Any = (FlatMixer(WIDTH, count, 4) if kind == "flat" else PooledMixer(WIDTH, 4, 6)).double()
    initialise(made, torch.Generator().manual_seed(seed))
    return made


def total(kind: str, chosen: torch.Tensor, given_: Inputs, count: int) -> torch.Tensor:
    """Q_tot by QMIX, or by VDN."""
    if kind == "mean":
        return mean_value(chosen, given_.present)
    return mix(chosen, mixer(kind, count)(given_))


@settings(max_examples=60)
@given(kinds, counts, seeds, st.floats(0, 5), st.integers(1, 3))
def test_the_joint_value_never_falls_where_an_agents_value_rises(
    kind: str, count: int, seed: int, rise: float, rollouts: int
) -> None:
    given_, chosen = inputs(seed, count), 3 * drawn(seed + 2, 2, rollouts, count)
    before = total(kind, chosen, given_, count)
    for document in range(count):
        higher = chosen.clone()
        higher[:, :, document] += rise
        assert (total(kind, higher, given_, count) >= before - 1e-12).all()


@settings(max_examples=40)
@given(counts, seeds)
def test_permuting_documents_permutes_values_and_leaves_the_joint_value(count: int, seed: int) -> None:
    given_, agents = inputs(seed, count), network()
    order = torch.randperm(count, generator=torch.Generator().manual_seed(seed))
    moved = permuted(given_, order)
    torch.testing.assert_close(agents(moved), agents(given_)[:, order])
    chosen = drawn(seed + 2, 2, 3, count)
    for kind in ("documents", "mean"):
        torch.testing.assert_close(total(kind, chosen[:, :, order], moved, count), total(kind, chosen, given_, count))


@settings(max_examples=40)
@given(counts, seeds, st.integers(1, 4))
def test_padding_changes_nothing(count: int, seed: int, more: int) -> None:
    given_, agents = inputs(seed, count), network()
    longer = padded(given_, more)
    values, padded_values = agents(given_), agents(longer)
    torch.testing.assert_close(padded_values[:, :count], values)
    torch.testing.assert_close(mean_document(longer), mean_document(given_))
    chosen = values[:, None, :, 0]
    padded_chosen = torch.cat([chosen, 99 * drawn(5, 2, 1, more)], dim=2)
    for kind in ("documents", "mean"):
        torch.testing.assert_close(total(kind, padded_chosen, longer, 0), total(kind, chosen, given_, 0))
    rewards = drawn(7, 2, 1)
    one, other = independent_loss(padded_chosen, rewards, longer.present), independent_loss(chosen, rewards, None)
    torch.testing.assert_close(one, other)


def test_mixing_by_hand() -> None:
    parts: Any = {"first": [[[1.0, 0.0], [0.5, 2.0]]], "bias": [[0.0, -10.0]], "second": [[2.0, 1.0]], "last": [0.25]}
    weights = MixingWeights(**{name: torch.tensor(part) for name, part in parts.items()})
    chosen = torch.tensor([[[3.0, 4.0], [0.0, 1.0]]])
    # Hidden: [3 + 2, 8 - 10] and [0.5, 2 - 10]; ELU(x) = e^x - 1 below 0.
    expected = [2 * 5 + np.exp(-2) - 1 + 0.25, 2 * 0.5 + np.exp(-8) - 1 + 0.25]
    np.testing.assert_allclose(mix(chosen, weights)[0], expected, rtol=1e-6)
    np.testing.assert_allclose(mix(chosen[:, 1:], weights)[0], expected[1:], rtol=1e-6)


def test_losses_and_epsilon_by_hand() -> None:
    values = torch.arange(12.0).view(2, 3, 2)
    actions = torch.tensor([[[0, 1, 0]], [[1, 1, 1]], [[0, 0, 0]]])
    chosen = chosen_values(values, actions, torch.tensor([0, 1, 0]))
    assert chosen.tolist() == [[[0, 3, 4]], [[7, 9, 11]], [[0, 2, 4]]]
    present = torch.tensor([[True, True, False]] * 3)
    assert mean_value(chosen, present).tolist() == [[1.5], [8], [1]]
    rewards = torch.tensor([[1.0], [8.0], [1.0]])
    # (0-1)^2 + (3-1)^2, (7-8)^2 + (9-8)^2, (0-1)^2 + (2-1)^2 over six agents.
    assert float(independent_loss(chosen, rewards, present)) == pytest.approx((5 + 2 + 2) / 6)
    assert [epsilon_at(e, 1.0, 0.2, 100) for e in (0, 50, 100, 10**9)] == pytest.approx([1.0, 0.6, 0.2, 0.2])


def test_the_pooled_mixer_starts_as_the_mean_of_the_agents() -> None:
    made = mixer("documents", 4)
    made.start_at(0.7)
    chosen = 0.1 * drawn(1, 2, 3, 4)
    expected = 0.7 + chosen.mean(dim=2)
    torch.testing.assert_close(mix(chosen, made(inputs(2, 4))), expected, atol=0.2, rtol=0)


def test_standardizing_by_hand() -> None:
    module = Standardizer(2).double()
    module.shift.copy_(torch.tensor([1.0, 2.0]))
    module.scale.fill_(2.0)
    documents = torch.tensor([[[3.0, 2.0]]], dtype=F64)
    queries, out = module(torch.tensor([[0.0, 0.0], [5.0, 0.0]], dtype=F64), documents)
    assert out.tolist() == [[[1.0, 0.0]]]
    assert queries.tolist() == [[0.0, 0.0], [2.0, -1.0]]
    assert documents.tolist() == [[[3.0, 2.0]]]


@given(st.lists(st.integers(1, 6), min_size=1, max_size=8), st.integers(1, 9), st.sampled_from([2, 256, 257]), seeds)
def test_the_replay_gives_back_the_last_visits(sizes: list[int], capacity: int, n_scores: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    replay, added = Replay(capacity, 2, 4, n_scores), []
    for size in sizes:
        actions, rewards = rng.integers(n_scores, size=(size, 2, 4)), rng.random((size, 2)).astype(np.float32)
        visits = rng.integers(1000, size=size), actions, rewards
        replay.add(visits[0], torch.from_numpy(actions), torch.from_numpy(rewards))
        added.append(visits)
    topics, actions, rewards = (np.concatenate(part)[-capacity:] for part in zip(*added, strict=True))
    kept = replay.tree()
    ring = (kept["next"] if len(topics) == capacity else 0) + np.arange(len(topics))
    order = ring % capacity
    np.testing.assert_array_equal(kept["topics"][order], topics)
    np.testing.assert_array_equal(kept["actions"][order], actions)
    assert kept["actions"].itemsize == (1 if n_scores <= 256 else 2)
    np.testing.assert_array_equal(kept["rewards"][order], rewards)

    other = Replay(capacity, 2, 4, n_scores)
    other.load(kept)
    one, two = (r.sample(5, np.random.default_rng(3)) for r in (replay, other))
    assert all(np.array_equal(a, b) for a, b in zip(one, two, strict=True))
    assert set(one.topics) <= set(topics)
