"""What rankings are worth to a scoring function, and the two losses made of it.

Shapes: B topics, P rankings of each, K ranks, N candidates.
"""

from __future__ import annotations

import torch
from torch import Tensor

from srd_agents.networks.inputs import chosen_log_policy, log_policy


def candidates_on_offer(rankings: Tensor, present: Tensor) -> Tensor:
    """Which candidates are left at each rank of known rankings.

    Args:
        rankings: [B, P, K] int64.
        present: [B, N] bool, the real candidates.

    Returns:
        [B, P, K, N] bool: real, and not ranked before.
    """
    ranked = torch.nn.functional.one_hot(rankings, present.shape[1])
    before = ranked.cumsum(2) - ranked
    return (before == 0) & present[:, None, None]


def ranking_log_likelihood(scores: Tensor, rankings: Tensor, on_offer: Tensor, counted: Tensor) -> Tensor:
    """F(y) of R-LTR (Zhu et al., SIGIR 2014): sum over ranks of the log probability of the document ranked there.

    Args:
        scores: [B, P, K, N], of each candidate given the documents ranked before.
        rankings: [B, P, K] int64.
        on_offer: [B, P, K, N] bool.
        counted: [B, P, K] bool, the ranks that count.

    Returns:
        [B, P].
    """
    return torch.where(counted, chosen_log_policy(log_policy(scores, on_offer), rankings), 0.0).sum(-1)


def likelihood_loss(log_likelihood: Tensor) -> Tensor:
    """Minus the mean log likelihood of the ideal rankings, per topic.

    Args:
        log_likelihood: [B, P].

    Returns:
        [B].
    """
    return -log_likelihood.mean(1)


def margin_loss(good: Tensor, bad: Tensor, good_values: Tensor, bad_values: Tensor, pairs: Tensor) -> Tensor:
    """PAMM's perceptron (Xu et al., TIST 2017): pairs whose likelihoods differ by less than their measures do.

    The gradient is that of F(y-) - F(y+), summed over pairs with F(y+) - F(y-) <= E(y+) - E(y-), and divided by the
    number of pairs.

    Args:
        good: [B, P], F of good rankings.
        bad: [B, Q], F of bad ones.
        good_values: [B, P], E of good ones.
        bad_values: [B, Q].
        pairs: [B, P, Q] bool, the pairs that count; others are padding.

    Returns:
        [B]; 0 where there is no pair.
    """
    margin = good[:, :, None] - bad[:, None]
    wanted = good_values[:, :, None] - bad_values[:, None]
    violated = (margin.detach() <= wanted) & pairs
    return -(margin * violated).sum((1, 2)) / pairs.sum((1, 2)).clamp(min=1)
