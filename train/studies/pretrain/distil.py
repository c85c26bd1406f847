"""One-pass scoring, distilled from the greedy ranker: every candidate is scored once, and the list is sorted.

The student is the same network, fed with what is known before anything is ranked; it maximises the Plackett-Luce
likelihood of the teacher's ranking (as R-LTR does of the ideal one, Zhu et al., SIGIR 2014).

Shapes: B topics, N candidates, K ranks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from srd_agents.networks.checkpoint import module_arrays
from srd_agents.relational.forward import Weights, offered_share
from srd_agents.relational.network import RelationalNetwork
from srd_agents.relational.padded import PaddedRelations
from srd_agents.relational.ranker import rank_topics
from srd_agents.relational.relations import DYNAMIC, POSITION
from srd_agents.supervised.ntn_div.network import candidates_on_offer, likelihood_loss, ranking_log_likelihood
from srd_gym.checks import check_integer, check_positive
from srd_gym.protocols import IntArray
from srd_gym.topic import Topic


@dataclass(frozen=True, kw_only=True)
class DistilConfig:
    """How the student is trained."""

    epochs: int = 8
    """Passes over the topics."""
    batch_topics: int = 16
    """Topics per update."""
    depth: int = 10
    """K, ranks of the teacher's rankings."""
    learning_rate: float = 0.003
    """Adam's first step size; it falls to 0 along a half cosine."""

    def __post_init__(self) -> None:
        for name in ("epochs", "batch_topics", "depth"):
            check_integer(name, getattr(self, name), 1)
        check_positive("learning_rate", self.learning_rate)


def distil(
    teacher: Weights,
    topics: Sequence[Topic],
    config: DistilConfig,
    *,
    seed: int = 0,
    progress: Callable[[int, float], None] | None = None,
) -> Weights:
    """Train a student of the teacher's size on topics; their judgments are not read.

    Args:
        teacher: ranks greedily.
        topics: with document vectors.
        config: how.
        seed: of the first weights and of the order of topics; the same seed gives the same student to the bit.
        progress: called with the epochs done and the mean loss of the last one.
    """
    known = PaddedRelations(topics)
    targets = rank_topics(teacher, topics, config.depth)
    network = RelationalNetwork(*teacher.hidden.shape)
    network.initialise(torch.Generator().manual_seed(seed))
    optimizer = torch.optim.Adam(network.parameters(), lr=config.learning_rate)
    updates = config.epochs * -(-len(topics) // config.batch_topics)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, updates)
    generator = np.random.default_rng([seed, 2])
    for epoch in range(config.epochs):
        order, losses = generator.permutation(len(topics)), []
        for start in range(0, len(topics), config.batch_topics):
            batch = order[start : start + config.batch_topics]
            loss = _loss(network, known, targets, batch).mean()
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            schedule.step()
            losses.append(float(loss.detach()))
        if progress is not None:
            progress(epoch + 1, float(np.mean(losses)))
    return Weights.of(module_arrays(network), "student")


def _loss(network: RelationalNetwork, known: PaddedRelations, targets: Sequence[IntArray], batch: IntArray) -> Tensor:
    """Minus the log likelihood of the teacher's rankings, [B]."""
    relations = known.of(batch)
    count, n = relations.static.shape[:2]
    present = np.arange(n) < known.n_candidates[batch][:, None]
    depth = max(len(targets[topic]) for topic in batch)
    rankings, counted = np.zeros((count, 1, depth), np.int64), np.zeros((count, 1, depth), np.bool_)
    for row, topic in enumerate(batch):
        rankings[row, 0, : len(targets[topic])], counted[row, 0, : len(targets[topic])] = targets[topic], True
    fixed = network.first_layer(torch.from_numpy(relations.static), torch.from_numpy(relations.context))
    dynamic, position = torch.zeros(count, len(DYNAMIC), 1, 1, n), torch.zeros(1, len(POSITION))
    scores = network(fixed, dynamic, position, torch.from_numpy(offered_share(present)))
    chosen = torch.from_numpy(rankings)
    on_offer = candidates_on_offer(chosen, torch.from_numpy(present))
    likelihood = ranking_log_likelihood(scores.expand(-1, -1, depth, -1), chosen, on_offer, torch.from_numpy(counted))
    return likelihood_loss(likelihood)
