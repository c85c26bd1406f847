"""Topics held on the agent's side: a compact observation names a topic by its index, and this knows its vectors.

Shapes: T topics, B states, U topics among them, N candidates, F vector width.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from srd_agents.features import order_columns
from srd_agents.networks.inputs import Inputs, shared_tensor
from srd_gym.core import TopicArrays


class TopicLookup(nn.Module):
    """The vectors of a topic set by index; not part of a model's weights, and on the CPU not even copied.

    Args:
        arrays: the topic set that the environment ranks.
    """

    queries: Tensor
    documents: Tensor
    present: Tensor
    order: Tensor

    def __init__(self, arrays: TopicArrays) -> None:
        super().__init__()
        order = order_columns(arrays.retrieval_scores, arrays.present)
        self.register_buffer("queries", shared_tensor(arrays.queries), persistent=False)
        self.register_buffer("documents", shared_tensor(arrays.documents), persistent=False)
        self.register_buffer("present", shared_tensor(arrays.present), persistent=False)
        self.register_buffer("order", torch.from_numpy(order), persistent=False)

    def forward(self, topics: Tensor) -> tuple[Inputs, Tensor]:
        """The topics of some states, each once, and the one of each state.

        Args:
            topics: [B] int64, indices in the topic set.

        Returns:
            (the inputs of U topics, [B] int64).
        """
        each, which = torch.unique(topics, return_inverse=True)
        return Inputs(
            *[part.index_select(0, each) for part in (self.queries, self.documents, self.present, self.order)]
        ), which
