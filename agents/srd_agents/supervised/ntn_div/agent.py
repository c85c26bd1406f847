"""The NTN-DIV learner.

Shapes: B topics, N candidates, F vector width, D features.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from srd_agents.heuristic.stepwise import greedily
from srd_agents.networks.features import FEATURES, relevance_features, side_by_side
from srd_agents.supervised.ntn_div.config import NtnDivConfig
from srd_agents.supervised.ntn_div.network import (
    NtnNetwork,
    candidates_on_offer,
    margin_loss,
    ranking_log_likelihood,
)
from srd_agents.supervised.ntn_div.scoring import TensorRanking, TensorScorer
from srd_agents.supervised.samples import Sampler, Samples
from srd_agents.training.files import Weights
from srd_agents.training.torch_learner import NetworkLearner, told
from srd_gym.dtypes import AnyArray, BoolArray, IntArray, ScoreArray
from srd_gym.topic import Topic, TopicSet

_CHUNK_VALUES = 1 << 22
"""Values of tanh held for one backward pass (16 MiB); larger batches go through in pieces."""


class TensorProblem(NamedTuple):
    """A topic with what is learned from it."""

    vectors: NDArray[np.float32]
    """[N, F]."""
    features: NDArray[np.float32]
    """[N, D]."""
    samples: Samples


def pieces(topics: Sequence[TensorProblem], slices: int) -> Iterator[Sequence[TensorProblem]]:
    """The topics in pieces that fit the memory of one backward pass; each has at least one."""
    most = max(len(t.vectors) * t.samples.rankings.size for t in topics)
    size = max(1, _CHUNK_VALUES // (most * slices))
    for start in range(0, len(topics), size):
        yield topics[start : start + size]


class NtnDiv(NetworkLearner[NtnDivConfig]):
    """NTN-DIV (Xia et al., SIGIR 2016): novelty as a neural tensor network, learned from ideal rankings.

    f(v, S) = w'v + mu' max_{s in S} tanh(v' W^{[1:z]} s); ranking takes the best remaining document again and again.
    Learned with the likelihood of the ideal ranking (R-LTR) or PAMM's margin.

    Differs from the paper (ranker `ntn-div` in the first four alone): vectors standardised by the training documents;
    ranks at which no document gains any more do not count; v'Ws is divided by F; PAMM's update is divided by the number
    of pairs; the query's cosine and the retrieval order as further features, tensors plus a multiple of the identity
    for plain similarity, first weights that resemble MMR (`init`), Adam, and batches of 8 topics.
    """

    name: str = "ntn"
    config_class: ClassVar[type[Any]] = NtnDivConfig

    _network: NtnNetwork
    _topics: list[TensorProblem]
    _scorer: TensorScorer | None = None
    only_training: ClassVar[tuple[str, ...]] = ("_optimizer", "_topics")

    def score(self, topic: Topic, selected: IntArray, allowed: BoolArray) -> ScoreArray:
        """The score of each candidate as the next document: [N] float64; what is not allowed is to be ignored.

        Raises:
            ValueError: not trained, or a topic of another width.
        """
        self.check_topics([topic])
        return self._ready().scores(topic, selected)

    def _build(self, vector_width: int) -> None:
        self._network = NtnNetwork(
            vector_width, self.config.slices, self.config.pooling, len(FEATURES) if self.config.features else 0
        )
        self._scorer = None

    def _set_weights(self, weights: Weights) -> None:
        super()._set_weights(weights)
        self._scorer = None

    def _prepare(self, topics: TopicSet, seed: int) -> None:
        config = self.config
        similarity = config.init == "similarity"
        self._network.initialise(similarity=similarity, generator=torch.Generator().manual_seed(seed))
        self._network.fit(topics)
        self._network.to(config.device)
        make = torch.optim.Adam if config.optimizer == "adam" else torch.optim.SGD
        self._network.similarity_weight.requires_grad_(similarity)  # no part of the paper's tensors
        few = [self._network.similarity_weight, self._network.slice_weight, self._network.feature_weight]
        many = [self._network.tensor, self._network.vector_weight]
        groups: list[dict[str, object]] = [
            {"params": few},
            {"params": many, "lr": config.learning_rate * config.tensor_rate},
        ]
        self._optimizer = make(groups, lr=config.learning_rate)
        sampler, generator = Sampler(config.measure, config.depth), np.random.default_rng([seed, 0x4E54])
        self._topics = [
            TensorProblem(
                topic.require_vectors("a learned ranker"),
                relevance_features(topic, wanted=config.features),
                self._samples(sampler, topic, generator),
            )
            for topic in topics
        ]

    def _samples(self, sampler: Sampler, topic: Topic, generator: np.random.Generator) -> Samples:
        """The rankings to learn from."""
        config = self.config
        if config.loss == "likelihood":
            return sampler.ideal(topic)
        return sampler.pairs(topic, config.positives, config.negatives, config.negative_below, generator)

    def _update(self, batch: IntArray) -> Mapping[str, float]:
        self._scorer = None
        topics = [self._topics[index] for index in batch]
        self._optimizer.zero_grad()
        total: object = 0.0
        # Topics differ in how many pairs they have, so that with them each is learned from alone.
        parts = pieces(topics, self.config.slices) if self.config.loss == "likelihood" else ([one] for one in topics)
        for part in parts:
            loss = self._loss(part).sum() / len(topics)
            loss.backward()  # type: ignore[no-untyped-call]
            total += told(loss.detach())
        self._optimizer.step()
        gradients = [parameter.grad for parameter in self._network.parameters() if parameter.grad is not None]
        norm = torch.nn.utils.get_total_norm(gradients)
        return {"loss": total, "learning_rate": self.config.learning_rate, "grad_norm": told(norm)}

    def _loss(self, topics: Sequence[TensorProblem]) -> Tensor:
        """The loss of each topic, [B]; of pairs, B is 1."""

        def tensor(rows: Sequence[AnyArray]) -> Tensor:
            """Arrays of one topic each, padded to the largest."""
            return torch.from_numpy(side_by_side(rows)).to(self._network.shift.device, non_blocking=True)

        rankings = tensor([topic.samples.rankings for topic in topics])
        on_offer = candidates_on_offer(rankings, tensor([np.ones(len(topic.vectors), np.bool_) for topic in topics]))
        features = tensor([topic.features for topic in topics])
        scores = self._network(tensor([topic.vectors for topic in topics]), features, rankings)
        counted = tensor([topic.samples.counted for topic in topics])
        worth = ranking_log_likelihood(scores, rankings, on_offer, counted)
        if self.config.loss == "likelihood":
            return -worth.mean(1)
        samples = topics[0].samples
        values, good = torch.from_numpy(samples.values).to(worth, non_blocking=True), samples.n_good
        return margin_loss(worth[0, :good], worth[0, good:], values[:good], values[good:])[None]

    def _rank_batch(self, topics: Sequence[Topic], k: int) -> list[IntArray]:
        scorer = self._ready()
        return [greedily(TensorRanking(scorer, topic), topic.n_candidates, k) for topic in topics]

    def _ready(self) -> TensorScorer:
        """The current weights, ready to score; kept until they change."""
        if self._scorer is None:
            self._scorer = TensorScorer(self._weights(), self.config.pooling)
        return self._scorer
