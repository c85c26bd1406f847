from __future__ import annotations

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from srd_agents.networks.attention import initialise
from srd_agents.networks.features import order_columns
from srd_agents.networks.inputs import Inputs
from srd_agents.sb3.network import CandidateNetwork

WIDTH, HIDDEN, N, K = 5, 8, 7, 4


def made(seed: int = 0) -> CandidateNetwork:
    network = CandidateNetwork(WIDTH, HIDDEN)
    initialise(network, torch.Generator().manual_seed(seed))
    return network


def states(seed: int, batch: int = 3) -> tuple[Inputs, torch.Tensor]:
    """Topics with padding, some documents ranked, a rank wasted in between."""
    rng = np.random.default_rng(seed)
    documents = torch.from_numpy(rng.standard_normal((batch, N, WIDTH)).astype(np.float32))
    documents[:, N - 1] = 0
    queries = torch.from_numpy(rng.standard_normal((batch, WIDTH)).astype(np.float32))
    ranking = torch.tensor([[2, -1, 4, -1]] * batch)
    present = documents.any(2)
    order = order_columns(rng.standard_normal((batch, N)).astype(np.float32), present.numpy())
    return Inputs(queries, documents, present, torch.from_numpy(order)), ranking


@given(st.integers(0, 1000))
def test_permuting_candidates_permutes_the_scores_and_leaves_the_value(seed: int) -> None:
    topics, ranking = states(seed)
    network = made(seed)
    order = torch.from_numpy(np.random.default_rng(seed).permutation(N))
    place = torch.argsort(order)  # where each candidate went
    moved = Inputs(topics.queries, topics.documents[:, order], topics.present[:, order], topics.features[:, order])
    ranked = torch.where(ranking >= 0, place[ranking.clamp(min=0)], -1)
    before, after = network(topics, ranking), network(moved, ranked)
    torch.testing.assert_close(after.scores, before.scores[:, order])
    torch.testing.assert_close(after.value, before.value)


def test_states_that_share_a_topic_are_judged_as_if_alone() -> None:
    topics, ranking = states(3, batch=2)
    which = torch.tensor([1, 0, 1])
    picked = Inputs(*[part[which] for part in topics if part is not None])
    together, alone = made()(topics, ranking[which], which), made()(picked, ranking[which])
    torch.testing.assert_close(together.scores, alone.scores)
    torch.testing.assert_close(together.value, alone.value)


def test_order_columns_by_hand() -> None:
    scores = np.array([[3.0, 1.0, 3.0, 2.0, 0.0], [5.0, 5.0, 5.0, 0.0, 0.0]], np.float32)
    present = np.array([[True, True, True, True, False], [True, True, True, False, False]])
    columns = order_columns(scores, present)
    # Ranks 0, 3, 0, 2: equal scores share one. The second topic's scores say nothing.
    expected = [[1.0, 1.0, 1.0], [0, 1 / 4, 0], [1, 1, 1], [1 / 3, 1 / 3, 0.5], [0, 0, 0]]
    np.testing.assert_allclose(columns[0], np.array(expected), rtol=1e-6)
    assert not columns[1].any()
    # Negative scores are above padding.
    negative = order_columns(np.array([[-1.0, -2.0, 0.0]], np.float32), np.array([[True, True, False]]))
    assert negative.tolist() == [[[1.0, 1.0, 1.0], [0.0, 0.5, 0.0], [0.0, 0.0, 0.0]]]
