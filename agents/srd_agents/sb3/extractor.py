"""Features for Stable-Baselines3's policies, stock ones and ours.

Shapes: T topics, B states, U topics among them, N candidates, F vector width, K horizon, H hidden width.
"""

from __future__ import annotations

import torch
from gymnasium import spaces
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from torch import Tensor, nn

from srd_agents.networks.attention import initialise
from srd_agents.networks.features import order_columns
from srd_agents.networks.inputs import Inputs, shared_tensor
from srd_agents.sb3.network import CandidateNetwork, Judged
from srd_agents.sb3.spaces import COMPACT, shapes_of
from srd_gym.core import TopicArrays
from srd_gym.sources import TopicSource, arrays_from


class CandidateExtractor(BaseFeaturesExtractor):
    """Features by `CandidateNetwork` of an observation of `SRD-v0`, full or compact.

    The features [B, 2N + 1 + H] are the candidates' scores (0 where a candidate is masked), the mask, the value,
    and the summary of the state. Stock policies learn from them with layers of their own, which are tied to the places
    of the candidates; `srd_agents.sb3.policies` reads scores and value as they are and stays equivariant.

    Args:
        observation_space: of `SRD-v0`.
        topics: the topics that the environment ranks, as it takes them. Compact observations need them; with full ones
            they only tell how to shift and scale the vectors.
        hidden: H.

    Raises:
        ValueError: other observations, compact ones without topics, or topics of other sizes.
    """

    def __init__(self, observation_space: spaces.Space, topics: TopicSource | None = None, hidden: int = 64) -> None:  # type: ignore[type-arg] # as SB3 has it
        shapes = shapes_of(observation_space)
        super().__init__(observation_space, features_dim=2 * shapes.candidates + 1 + hidden)
        self.lookup: TopicLookup | None = None
        self._unread: tuple[str, ...] = COMPACT
        arrays = None if topics is None else arrays_from(topics, shapes.candidates)
        if shapes.topics is not None:
            # The space of one topic is as large as that of two.
            if arrays is None or max(2, len(arrays)) != max(2, shapes.topics):
                raise ValueError(
                    f"compact observations hold no vectors, only which of {shapes.topics} topics it is, and the policy "
                    f"was given {arrays}: pass policy_kwargs=srd_agents.sb3.policies.policy_arguments(env), or "
                    "features_extractor_kwargs={'topics': ...} with the very topics of the environment"
                )
            self.lookup = TopicLookup(arrays)
        width = shapes.width if arrays is None else arrays.topics.vector_width
        if shapes.width not in (None, width):
            raise ValueError(
                f"the environment's vectors have width {shapes.width}, but those of the topics given have "
                f"{width or 'none'}: pass the very topics of the environment, as policy_arguments(env) does"
            )
        self.network = CandidateNetwork(width or 0, hidden)
        # SB3 has seeded torch's global generator; one draw from it decides all first weights.
        initialise(self.network, torch.Generator().manual_seed(int(torch.randint(2**62, ()))))
        if arrays is not None:
            self.network.inputs.fit(arrays.topics)

    def judged(self, observations: dict[str, Tensor]) -> tuple[Judged, Tensor]:
        """Output of the network, and the mask [B, N] bool.

        Args:
            observations: as SB3 hands them over: tensors with a leading batch axis, all converted to float.

        Raises:
            ValueError: the first observation has a mask, ranking or topic that a wrapper has scaled.
        """
        unread, self._unread = self._unread, ()  # once: looking takes a tenth of a pass
        if scaled := [key for key in unread if key in observations and (observations[key] % 1).any()]:
            raise ValueError(
                f"{' and '.join(scaled)} must be whole numbers, but a wrapper has scaled them; scale vectors alone: "
                "VecNormalize(env, norm_obs_keys=['query', 'documents']), or norm_obs=False for compact observations"
            )
        ranking, allowed = observations["ranking"].long(), observations["action_mask"] > 0.5
        if self.lookup is not None:
            topics, which = self.lookup(observations["topic"].flatten().long())
            return self.network(topics, ranking, which), allowed
        documents, scores = observations["documents"], observations["retrieval_scores"]
        # Padding comes last: all zeros, masked, never ranked. Empty ranks mark candidate 0, which every topic has.
        real = allowed | (documents != 0).any(2) | (scores != 0)
        real = real.scatter(1, ranking.clamp(min=0), True)
        present = real.flip(1).cumsum(1).flip(1) > 0
        columns = order_columns(scores.cpu().numpy(), present.cpu().numpy())
        order = torch.from_numpy(columns).to(documents.device)
        return self.network(Inputs(observations["query"], documents, present, order), ranking), allowed

    def forward(self, observations: dict[str, Tensor]) -> Tensor:
        """[B, 2N + 1 + H]."""
        judged, allowed = self.judged(observations)
        scores = judged.scores.masked_fill(~allowed, 0.0)
        return torch.cat([scores, allowed.to(scores.dtype), judged.value, judged.summary], dim=1)


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
