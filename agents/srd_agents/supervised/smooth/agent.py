"""DALETOR and MO4SRD: documents are scored together and sorted once; a smooth diversity measure trains the scores."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from srd_agents.heuristic.greedy import in_blocks
from srd_agents.networks.attention import initialise
from srd_agents.networks.features import relevance_features, side_by_side
from srd_agents.networks.inputs import Inputs, Standardizer, inputs_of
from srd_agents.supervised.attention_config import AttentionConfig
from srd_agents.supervised.samples import Sampler
from srd_agents.supervised.smooth.config import DaletorConfig, Mo4srdConfig
from srd_agents.supervised.smooth.network import SmoothNetwork, before_by_gaussians, before_by_sigmoid, smooth_measure
from srd_agents.training.torch_learner import NetworkLearner
from srd_gym.dtypes import IntArray
from srd_gym.measures.judgments import judged
from srd_gym.topic import Topic, TopicSet

C = TypeVar("C", bound=AttentionConfig)

_CHUNK_DOCUMENTS = 4096
"""Documents scored in one pass of ranking."""
_FIRST_SCORES = 0.01
"""Factor of the initial weights of the outputs."""
_LEAST_DEVIATION = 1e-3
"""Least deviation of a Gaussian score: without it all would become certain, and learning would stop."""


class StandardizedScorer(nn.Module):
    """The scorer, behind the shift and scale of the vectors."""

    def __init__(self, inputs: Standardizer, scorer: SmoothNetwork) -> None:
        super().__init__()
        self.inputs, self.scorer = inputs, scorer

    def forward(self, inputs: Inputs) -> tuple[Tensor, Tensor]:
        """Output of `SmoothNetwork` for these topics."""
        queries, documents = self.inputs(inputs.queries, inputs.documents)
        outputs, rows = self.scorer(queries, documents, inputs.features, inputs.present)
        return outputs, rows


class SmoothLearner(NetworkLearner[C]):
    """Base of both: network, batches, training on a smooth measure in shares of the ideal's, ranking by scores."""

    outputs: ClassVar[int]
    """Numbers that the network gives for each document; the first is what ranks it."""

    _network: StandardizedScorer
    _optimizer: torch.optim.Adam
    _topics: list[Topic]
    _features: list[NDArray[np.float32]]
    _ideals: NDArray[np.float32]
    only_training: ClassVar[tuple[str, ...]] = ("_optimizer", "_topics", "_features", "_ideals")

    @abstractmethod
    def _before(self, outputs: Tensor, rows: Tensor) -> Tensor:
        """Degree of j's being ranked before i: [B, N (i), N (j)], from the network's [B, N, O] and [B, N, W]."""

    def _measure(self) -> str:
        """Objective, by its name in `smooth_measure`."""
        return "alpha_DCG"

    def _rank_batch(self, topics: Sequence[Topic], k: int) -> list[IntArray]:
        """Topics with equally many candidates share a pass; ties go to the earlier candidate."""
        return in_blocks(
            topics,
            [(topic.n_candidates,) for topic in topics],
            _CHUNK_DOCUMENTS,
            lambda part: (-self._scores(part)).argsort(axis=1, kind="stable")[:, :k].astype(np.int64),
        )

    @torch.inference_mode()
    def _scores(self, topics: Sequence[Topic]) -> NDArray[np.float32]:
        """[B, N] scores of topics of one size."""
        outputs, _ = self._network(
            self._inputs(topics, [relevance_features(topic, wanted=self.config.features) for topic in topics])
        )
        scores: NDArray[np.float32] = outputs[..., 0].cpu().numpy()
        return scores

    def _inputs(self, topics: Sequence[Topic], features: Sequence[NDArray[np.float32]]) -> Inputs:
        """Some topics, padded to the largest."""
        return inputs_of(topics, self._network.inputs.shift, features=features)

    def _build(self, vector_width: int) -> None:
        scorer = SmoothNetwork(vector_width, self.config, self.outputs)
        self._network = StandardizedScorer(Standardizer(vector_width), scorer)

    # Training.

    def _prepare(self, topics: TopicSet, seed: int) -> None:
        initialise(self._network, torch.Generator().manual_seed(seed))
        # Scores begin close together: pairs that are far apart have no gradient that could turn them round.
        with torch.no_grad():
            self._network.scorer.out.weight.mul_(_FIRST_SCORES)
        if self.config.standardize:
            self._network.inputs.fit(topics)
        self._network.to(self.config.device)
        self._optimizer = torch.optim.Adam(self._network.parameters(), lr=self.config.learning_rate)
        self._topics = list(topics)
        self._features = [relevance_features(topic, wanted=self.config.features) for topic in topics]
        self._ideals = self._ideal_values(topics)

    def _ideal_values(self, topics: TopicSet) -> NDArray[np.float32]:
        """[T] the measure of each topic's greedy ideal ranking."""
        sampler = Sampler(f"{self._measure()}(alpha={self.config.alpha})", topics.max_candidates)
        values = []
        for topic in topics:
            ranks = np.empty(topic.n_candidates, np.int64)
            ranks[sampler.ideal(topic).rankings[0]] = np.arange(topic.n_candidates)
            before = torch.from_numpy((ranks[None, :] < ranks[:, None]).astype(np.float32))[None]
            values.append(float(smooth_measure(before, _judgments([topic]), self.config.alpha, self._measure())))
        return np.array(values, np.float32)

    def _update(self, batch: IntArray) -> Mapping[str, float]:
        return self._descend(self._loss(batch), self.config.max_grad_norm)

    def _loss(self, chosen: IntArray) -> Tensor:
        """Minus the mean smooth measure of training topics ([B] indices), in shares of their ideals'; a scalar."""
        topics = [self._topics[index] for index in chosen]
        inputs = self._inputs(topics, [self._features[index] for index in chosen])
        before = self._before(*self._network(inputs))
        judgments = _judgments(topics).to(before.device)
        values = smooth_measure(before, judgments, self.config.alpha, self._measure(), inputs.present)
        return -(values / torch.from_numpy(self._ideals[chosen]).to(before.device)).mean()


class Daletor(SmoothLearner[DaletorConfig]):
    """DALETOR (Yan et al., WWW 2021): scores from self-attention, trained on a smooth alpha_DCG.

    Differs from the paper: topics count in shares of their ideal's measure; query cosine and retrieval order enter as
    features; vectors are standardised; blocks are normalised first; the weights kept are those that validate best. The
    network is one layer of query, document, their product and the features, then self-attention.
    """

    name: str = "daletor"
    config_class: ClassVar[type[Any]] = DaletorConfig
    outputs: ClassVar[int] = 1

    def _before(self, outputs: Tensor, rows: Tensor) -> Tensor:
        return before_by_sigmoid(outputs[..., 0], self.config.temperature)


class Mo4srd(SmoothLearner[Mo4srdConfig]):
    """MO4SRD (Yu, AAAI 2022): every score is a Gaussian, and a measure of the expected ranks is maximised.

    Documents are ranked by their means.

    Differs from the paper: as `Daletor`; the correlation of two scores, where wanted, is the cosine of the rows that
    the network makes of the documents; deviations are at least 0.001; ERR_IA is the plain sum with discount 1 / rank.
    """

    name: str = "mo4srd"
    config_class: ClassVar[type[Any]] = Mo4srdConfig
    outputs: ClassVar[int] = 2

    def _measure(self) -> str:
        return self.config.measure

    def _before(self, outputs: Tensor, rows: Tensor) -> Tensor:
        correlation = None
        if self.config.correlated:
            unit = functional.normalize(rows, dim=-1)
            correlation = unit @ unit.transpose(1, 2)
        return before_by_gaussians(
            outputs[..., 0], functional.softplus(outputs[..., 1]) + _LEAST_DEVIATION, correlation
        )


def _judgments(topics: Sequence[Topic]) -> Tensor:
    """[B, N, S] float32, 1 where a candidate covers a subtopic; padded with 0."""
    return torch.from_numpy(side_by_side([(judged(topic) >= 1).astype(np.float32) for topic in topics]))
