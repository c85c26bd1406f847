"""What rankings are worth to a scoring function, and the loss made of it.

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
