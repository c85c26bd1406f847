"""DESA (Qin, Dou & Wen, CIKM 2020): documents and subtopics attend; every document is scored once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from srd_agents.heuristic.greedy import in_blocks, rows_of
from srd_agents.heuristic.stepwise import falling_order
from srd_agents.networks.attention import initialise
from srd_agents.networks.features import order_columns, relevance_features, side_by_side
from srd_agents.supervised.desa.config import DesaConfig
from srd_agents.supervised.desa.network import (
    DesaInputs,
    DesaNetwork,
    context_gains,
    list_pairwise_loss,
    pair_weights,
)
from srd_agents.supervised.samples import Sampler
from srd_agents.training.torch_learner import NetworkLearner
from srd_gym.dtypes import AnyArray, IntArray
from srd_gym.measures.judgments import judged
from srd_gym.topic import FloatArray, Topic, TopicSet

_CHUNK_DOCUMENTS = 4096
"""Documents scored in one pass of ranking."""


class Desa(NetworkLearner[DesaConfig]):
    """DESA (Qin, Dou & Wen, CIKM 2020): scores from self-attention over documents and over subtopics, then one sort.

    Trained by pairs: after every beginning C of the ideal ranking, -w log sigma(f_a - f_b) for candidates a and b with
    w = alpha_DCG(C + [a]) - alpha_DCG(C + [b]) > 0. A topic costs O((N + S) W (W + N) + C N^2).

    Differs from the paper: it follows the abstract and the public code of its successors, as the full text was not at
    hand. Features of documents and subtopics are made of cosines, in place of 18 retrieval scores. Nearness to
    subtopics is pooled, in place of one weight for each of ten places, so that their order and number do not matter.
    The pairs of all contexts count, in place of a sample, and those of a topic weigh 1 together. Blocks are normalised
    first; vectors are standardised; the first scores are a rough order of relevance; the weights kept are those that
    validate best, never on test topics. A topic without subtopic vectors has its query for a subtopic.
    """

    name: str = "desa"
    config_class: ClassVar[type[Any]] = DesaConfig

    _network: DesaNetwork
    _optimizer: torch.optim.Adam
    _topics: list[Topic]
    _gains: list[NDArray[np.float64]]
    only_training: ClassVar[tuple[str, ...]] = ("_optimizer", "_topics", "_gains")

    def _build(self, vector_width: int) -> None:
        self._network = DesaNetwork(vector_width, self.config)

    def _rank_batch(self, topics: Sequence[Topic], k: int) -> list[IntArray]:
        """Topics with equally many candidates and subtopics share a pass; ties go to the earlier candidate."""
        parts = [self._parts(topic) for topic in topics]
        return in_blocks(
            parts,
            [part.nearness.shape[:2] for part in parts],
            _CHUNK_DOCUMENTS,
            lambda block: [falling_order(scores)[:k] for scores in self._scores(block)],
        )

    @torch.inference_mode()
    def _scores(self, parts: Sequence[_Parts]) -> NDArray[np.float32]:
        """[B, N] scores of topics of one size."""
        scores: NDArray[np.float32] = self._network(self._inputs(parts)).cpu().numpy()
        return scores

    def _parts(self, topic: Topic) -> _Parts:
        """Fields of a topic that are read."""
        vectors = topic.require_vectors(f"ranker {self.name!r}")
        subtopics = topic.subtopic_vectors if self.config.subtopics else None
        if subtopics is None or not len(subtopics):
            query = topic.query_vector
            subtopics = np.zeros((1, vectors.shape[1]), np.float32) if query is None else query[None]
        # Products of their own: copies of a document share a rank.
        cosines = rows_of(vectors).project_each(rows_of(subtopics).unit(slice(None))).T
        columns = order_columns(cosines, np.ones(cosines.shape, np.bool_))
        return _Parts(
            vectors,
            relevance_features(topic, wanted=self.config.features),
            subtopics,
            np.concatenate([cosines[..., None], columns], axis=-1),
        )

    def _inputs(self, parts: Sequence[_Parts]) -> DesaInputs:
        """Some topics, padded to the largest."""
        device = self._network.shift.device

        def tensor(rows: Sequence[AnyArray]) -> torch.Tensor:
            return torch.from_numpy(side_by_side(rows)).to(device)

        return DesaInputs(
            tensor([part.documents for part in parts]),
            tensor([np.ones(len(part.documents), np.bool_) for part in parts]),
            tensor([part.features for part in parts]),
            tensor([part.subtopics for part in parts]),
            tensor([np.ones(len(part.subtopics), np.bool_) for part in parts]),
            tensor([part.nearness for part in parts]),
        )

    # Training.

    def _prepare(self, topics: TopicSet, seed: int) -> None:
        initialise(self._network, torch.Generator().manual_seed(seed))
        if self.config.standardize:
            self._network.fit(topics)
        parts = [self._parts(topic) for topic in topics]
        self._network.start_by_relevance(
            np.concatenate([part.features for part in parts]),
            np.concatenate([part.nearness.reshape(-1, part.nearness.shape[-1]) for part in parts]),
        )
        self._network.to(self.config.device)
        config = self.config
        self._optimizer = torch.optim.Adam(
            self._network.parameters(), lr=config.learning_rate, weight_decay=config.weight_decay
        )
        sampler = Sampler(f"alpha_DCG(alpha={config.alpha})", config.contexts)
        self._topics, self._gains = list(topics), []
        for topic in topics:
            ideal = sampler.ideal(topic).rankings[0]
            self._gains.append(context_gains(sampler.bound(topic, len(ideal)), judged(topic), ideal))

    def _update(self, batch: IntArray) -> Mapping[str, float]:
        inputs = self._inputs([self._parts(self._topics[index]) for index in batch])
        weights = side_by_side([pair_weights(self._gains[index]) for index in batch])
        loss = list_pairwise_loss(self._network(inputs), torch.from_numpy(weights).to(inputs.documents.device))
        return self._descend(loss, self.config.max_grad_norm)


class _Parts(NamedTuple):
    """Network inputs of one topic."""

    documents: FloatArray
    """[N, F]."""
    features: FloatArray
    """[N, D]."""
    subtopics: FloatArray
    """[S, F], S at least 1."""
    nearness: FloatArray
    """[S, N, R]."""
