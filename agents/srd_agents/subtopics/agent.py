"""The learners: predictions from judgments, and REINFORCE on top of them through the simulator in torch."""

from __future__ import annotations

import math
import time
import warnings
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits

from srd_agents.heuristic.greedy import in_blocks
from srd_agents.heuristic.stepwise import TIED, PartialRanking, Stepwise, least_tied
from srd_agents.networks.features import query_vectors, side_by_side
from srd_agents.reinforce.loss import leave_one_out_advantages, returns_from
from srd_agents.reinforce.one_pass import OnePass, one_pass
from srd_agents.simulators import SelectionSimulator
from srd_agents.subtopics.config import ClassifierConfig, SubtopicsConfig
from srd_agents.subtopics.features import judged_as, list_features, recurring_subtopics, unit_rows
from srd_agents.subtopics.network import Predicted, Seen, SubtopicNetwork
from srd_agents.training.files import Tree, Weights
from srd_agents.training.torch_learner import NetworkLearner, told
from srd_agents.training.validation import Validation
from srd_gym.dtypes import IntArray, ScoreArray
from srd_gym.pruning import pruning_from
from srd_gym.topic import FloatArray, Topic, TopicSet

C = TypeVar("C", ClassifierConfig, SubtopicsConfig)

_BLOCK = 1 << 22
"""Numbers of vectors that are ranked side by side."""
_COVERAGE, _FADING = (0.0, 0.5, 0.7, 0.8, 0.9, 1.0), (0.5, 0.3, 0.7, 0.9)
"""Shares of coverage in scores, and of what a document covers, among which validation chooses."""
_LEAST_RATE, _RISE = 0.02, 0.1
"""Least part of the learning rate, and the part of the decay over which it rises."""
_LEAST_SPREAD, _LEAST_SQUARE = 1e-3, 1e-12
_CERTAIN = 1e4
"""Logit of a share that is 0 or 1."""
_INSIDE = (1e-9, 1 - 1e-6)
"""Uniform numbers are kept inside, so that their logarithms are finite."""


class PredictedSubtopics(NetworkLearner[C], Stepwise):
    """Learns which subtopics a document covers where their ids recur in the training topics, and ranks by coverage.

    From judgments it learns a logistic regression on vectors for each subtopic that at least two topics share, on
    relevant documents, and a small network of relevance. Where no id recurs, relevance alone is predicted, and a
    warning says so. Equal ids are taken for one subtopic, whatever they mean: "1" of two TREC topics is none.
    """

    only_training: ClassVar[tuple[str, ...]] = ("_optimizer", "_topics", "_features", "_labels")

    _network: SubtopicNetwork
    _optimizer: torch.optim.Optimizer
    _topics: list[Topic]
    _features: list[FloatArray]
    _labels: list[NDArray[np.float32]]
    _hidden_size: int = 0
    _count: int = 0
    _updates: int = 0
    _updates_an_epoch: int = 1

    @abstractmethod
    def _learn(self, batch: IntArray, gone: float) -> dict[str, float]:
        """One update, when this part of the decay of the learning rate is gone."""

    def _build(self, vector_width: int) -> None:
        self._network = SubtopicNetwork(vector_width, self._count, self._hidden_size)

    def _build_for(self, weights: Weights, vector_width: int) -> None:
        self._count = len(weights.get("subtopics.bias", ()))
        super()._build_for(weights, vector_width)

    # Ranking.

    def progress(self, topic: Topic) -> PartialRanking:
        """An empty ranking of the topic; scores are the policy's logits."""
        self.check_topics([topic])
        return _Progress(self._network, self._inputs([topic]))

    @torch.inference_mode()
    def _rank_batch(self, topics: Sequence[Topic], k: int) -> list[IntArray]:
        shapes = [topic.require_vectors(f"ranker {self.name!r}").shape for topic in topics]
        return in_blocks(topics, shapes, _BLOCK, lambda block: self._ranked(block, k))

    def _ranked(self, topics: Sequence[Topic], k: int) -> list[IntArray]:
        """The first k of topics of one size, [min(k, N)] each; ties, up to rounding, go to the earlier document."""
        seen = self._inputs(topics)
        draft, left = _Draft(self._network, self._network.predict(seen)), seen.present.clone()
        chosen = []
        for _ in range(min(k, left.shape[1])):
            logits = draft.scores()[:, 0].masked_fill(~left, -math.inf)
            top = logits.amax(1, keepdim=True)
            best = (logits >= least_tied(top, TIED)).int().argmax(1, keepdim=True)
            left = left.scatter(1, best, False)
            draft.add(best)
            chosen.append(best)
        return list(torch.cat(chosen, dim=1).cpu().numpy())

    def _inputs(self, topics: Sequence[Topic]) -> Seen:
        return _seen(topics, device=self._network.shift.device)

    # Training.

    def _judged(self, topics: TopicSet, seed: int) -> TopicSet:
        """The topics with the judgments to learn from."""
        return topics

    def _prepare(self, topics: TopicSet, seed: int) -> None:
        topics = self._judged(topics, seed)
        names = recurring_subtopics(topics) if self.config.predicts else []
        if self.config.predicts and not names:
            warnings.warn(
                f"ranker {self.name!r}: no subtopic id has relevant documents in two training topics, so it learns "
                "relevance alone",
                stacklevel=4,
            )
        self._count, self.metadata["subtopics"] = len(names), names
        self._build(self.vector_width or 0)
        self._topics, self._updates = list(topics), 0
        self._labels = [judged_as(topic, names) for topic in topics]
        units = [unit_rows(topic.require_vectors(self.name)) for topic in topics]
        self._features = [list_features(topic, rows) for topic, rows in zip(topics, units, strict=True)]
        self._network.initialise(torch.Generator().manual_seed(seed))
        self._standardise(units)
        self._network.to(self.config.device)
        self._updates_an_epoch = -(-len(topics) // self.config.batch_topics)
        self._optimizer = torch.optim.AdamW(
            self._network.parameters(), lr=1.0, weight_decay=self.config.weight_decay, fused=True
        )

    @torch.no_grad()
    def _standardise(self, units: Sequence[FloatArray]) -> None:
        """Center vectors on relevant documents, and scale features, both part of the model from now on."""
        relevant = np.concatenate([rows[labels[:, -1] > 0] for rows, labels in zip(units, self._labels, strict=True)])
        self._network.shift.copy_(torch.from_numpy(relevant.mean(axis=0)))
        self._network.scale.fill_(max(float((relevant - relevant.mean(axis=0)).std()), _LEAST_SPREAD))
        features = np.concatenate(self._features)
        spread = features.std(axis=0)
        self._network.center.copy_(torch.from_numpy(features.mean(axis=0)))
        self._network.spread.copy_(torch.from_numpy(np.where(spread > _LEAST_SPREAD, spread, 1.0)))

    def _update(self, batch: IntArray) -> Mapping[str, float]:
        gone = self._updates / (self._updates_an_epoch * self.config.lr_decay_epochs)
        self._updates += 1
        return self._learn(batch, gone)

    def _learn_judgments(self, batch: IntArray, rate: float) -> dict[str, float]:
        """One step along the gradient of the cross-entropy."""
        self._set_rate(rate)
        seen = self._see(batch)
        return self._descend(self._cross_entropy(self._network.predict(seen), seen, batch), self.config.max_grad_norm)

    def _set_rate(self, rate: float) -> None:
        for group in self._optimizer.param_groups:
            group["lr"] = rate

    def _see(self, batch: IntArray) -> Seen:
        return _seen(
            [self._topics[index] for index in batch], [self._features[index] for index in batch], self.config.device
        )

    def _moved(self, tensor: Tensor) -> Tensor:
        """On the device, without waiting."""
        return tensor.to(self.config.device, non_blocking=True)

    def _cross_entropy(self, predicted: Predicted, seen: Seen, batch: IntArray) -> Tensor:
        """The cross-entropy of relevance, over all documents, and of subtopics, over those relevant to any."""
        labels = self._moved(torch.from_numpy(side_by_side([self._labels[index] for index in batch])))
        each, relevant = labels[..., :-1], labels[..., -1]
        counted = self._counted(seen, batch)
        missed = binary_cross_entropy_with_logits(predicted.relevance, relevant, weight=counted)
        loss = missed * (counted.numel() / counted.sum())
        if self._count:
            missed = binary_cross_entropy_with_logits(predicted.subtopics, each, reduction="none").sum(2)
            loss = loss + (missed * relevant).sum() / relevant.sum().clamp(min=1)
        return loss

    def _counted(self, seen: Seen, batch: IntArray) -> Tensor:
        """[B, N], 1 for documents whose relevance is known and 0 for others; here all documents are known."""
        return seen.present.float()

    def _tuned(self, validation: Validation) -> float:
        """The measure with the share of coverage and the fading that validate best, which from now on rank."""
        if not self._count:
            return validation.mean(self)
        values: dict[tuple[float, float], float] = {}
        best = (_COVERAGE[0], _FADING[0])
        for pairs in ([(share, best[1]) for share in _COVERAGE], [(-1.0, fading) for fading in _FADING[1:]]):
            for share, fading in pairs:
                pair = (best[0] if share < 0 else share, fading)
                self._cover(*pair)
                values[pair] = validation.mean(self)
            best = max(values, key=lambda pair: values[pair])
        self._cover(*best)
        return values[best]

    @torch.no_grad()
    def _cover(self, share: float, fading: float = _FADING[0]) -> None:
        """Let coverage have this share in the score, and documents this fading."""
        for parameter, value in ((self._network.coverage, share), (self._network.fading, fading)):
            parameter.fill_(math.log(value / (1 - value)) if 0 < value < 1 else math.copysign(_CERTAIN, value - 0.5))

    def _training_state(self) -> Tree:
        return {**super()._training_state(), "updates": self._updates}

    def _restore_training(self, state: Tree) -> None:
        super()._restore_training(state)
        self._updates = state["updates"]


class SubtopicClassifier(PredictedSubtopics[ClassifierConfig]):
    """Predictions from judgments alone, ranked by xQuAD's rule (`srd_agents.subtopics.network`): no episodes.

    After each epoch validation chooses how much coverage counts.
    """

    name: str = "subtopic-classifier"
    config_class: ClassVar[type[Any]] = ClassifierConfig

    def validated(self, validation: Validation) -> float:
        """The measure, with the share of coverage and the fading that are best."""
        return self._tuned(validation) if self.config.covers else validation.mean(self)

    def _prepare(self, topics: TopicSet, seed: int) -> None:
        super()._prepare(topics, seed)
        if not self.config.covers:
            self._cover(0.0)

    def _learn(self, batch: IntArray, gone: float) -> dict[str, float]:
        return self._learn_judgments(batch, self.config.learning_rate * _cosine(gone))


class ReinforceSubtopics(PredictedSubtopics[SubtopicsConfig]):
    """Predictions from judgments, and then the whole policy by REINFORCE, the judgments' cross-entropy beside it.

    Returns are compared with those of the topic's other episodes (leave-one-out, Kool et al. 2019). Episodes and
    updates stay on the device (`srd_agents.simulators`). Validation chooses the first share of coverage; where that is
    0 or 1, its logit is too large to be moved, and only the rest is learned.
    """

    name: str = "reinforce-subtopics"
    config_class: ClassVar[type[Any]] = SubtopicsConfig
    scores_are_logits: ClassVar[bool] = True
    only_training: ClassVar[tuple[str, ...]] = (*PredictedSubtopics.only_training, "_simulator")

    _generator: torch.Generator
    _simulator: SelectionSimulator

    def _build(self, vector_width: int) -> None:
        self._hidden_size = self.config.hidden_size
        super()._build(vector_width)

    def validated(self, validation: Validation) -> float:
        """The measure; before the first episode with the share of coverage and the fading that are best."""
        return validation.mean(self) if self._updates else self._tuned(validation)

    def _prepare(self, topics: TopicSet, seed: int) -> None:
        super()._prepare(topics, seed)
        config = self.config
        self._generator = torch.Generator().manual_seed(seed)
        self._simulator = SelectionSimulator(
            topics,
            reward=config.reward,
            horizon=config.horizon,
            normalizer="candidates",
            pruning=None if config.pruning is None else pruning_from(config.pruning),
            device=config.device,
        )
        if not self._resuming:
            wall, cpu = time.monotonic(), time.process_time()
            self._learn_first(np.random.default_rng([seed, 2]))
            self.pretraining_seconds, self.pretraining_cpu_seconds = time.monotonic() - wall, time.process_time() - cpu
        self._optimizer.state.clear()

    def _learn_first(self, order: np.random.Generator) -> None:
        """Learn from the judgments, before the first episode."""
        epochs, batches = self.config.first_epochs, self._updates_an_epoch
        for epoch in range(epochs):
            shuffled = order.permutation(len(self._topics))
            for place in range(batches):
                rate = self.config.first_learning_rate * _cosine((epoch + place / batches) / epochs)
                self._learn_judgments(shuffled[place::batches], rate)

    def _learn(self, batch: IntArray, gone: float) -> dict[str, float]:
        how = self.config
        self._set_rate(how.learning_rate * min(1.0, max(gone / _RISE, _LEAST_RATE)) * _cosine(gone))
        seen = self._see(batch)
        predicted = self._network.predict(seen)
        played = self._play(predicted, batch)
        worth = leave_one_out_advantages(returns_from(played.rewards.flatten(0, 1)), how.rollouts)
        worth = worth.view_as(played.rewards) * played.active
        filled, counts = played.active.sum(), self._simulator.topics.arrays.n_candidates[batch]
        worth = worth * (filled / worth.square().sum().clamp(min=_LEAST_SQUARE)).sqrt()
        spread = (played.entropy * played.active).sum() / filled
        loss = -(worth * played.log_pi).sum() / filled - how.entropy_coef * spread
        if how.judgments_coef:
            loss = loss + how.judgments_coef * self._cross_entropy(predicted, seen, batch)
        return {
            "return": told(played.rewards.sum()) / (len(batch) * how.rollouts),
            "entropy": told(spread.detach()),
            **self._descend(loss, how.max_grad_norm),
            "episodes": how.rollouts,
            "steps": how.rollouts * float(np.minimum(counts, self._simulator.horizon).mean()),
        }

    def _play(self, predicted: Predicted, batch: IntArray) -> OnePass:
        """Sampled episodes of these topics, with gradients."""
        rollouts, width, users = self.config.rollouts, predicted.relevance.shape[1], None
        if self._simulator.users is not None:
            users = self._moved(torch.randint(2**62, (len(batch) * rollouts,), generator=self._generator))
        draft, topics = _Draft(self._network, predicted, rollouts), self._moved(torch.from_numpy(batch))
        return one_pass(draft, self._simulator, topics, self._draw, users, rollouts=rollouts, width=width)

    def _draw(self, log_pi: Tensor, rank: int) -> Tensor:
        """Candidates by the policy's probabilities: the largest of log-probability and Gumbel noise."""
        drawn = self._moved(torch.rand(log_pi.shape, generator=self._generator)).clamp_(*_INSIDE)
        return (log_pi - (-drawn.log()).log()).argmax(2)


class _Draft:
    """Rankings in the making, R of each of B topics (a `srd_agents.relational.decoding.Draft`)."""

    def __init__(self, network: SubtopicNetwork, predicted: Predicted, rollouts: int = 1) -> None:
        self._network, self._predicted = network, predicted
        self._ranked = network.begin(predicted, rollouts)

    def scores(self) -> Tensor:
        return self._network.logits(self._predicted, self._ranked)

    def add(self, chosen: Tensor) -> None:
        self._ranked = self._network.add(self._predicted, self._ranked, chosen)


class _Progress(PartialRanking):
    """A topic's ranking in the making."""

    tied = TIED

    @torch.inference_mode()
    def __init__(self, network: SubtopicNetwork, seen: Seen) -> None:
        self._draft, self._device = _Draft(network, network.predict(seen)), network.shift.device

    @torch.inference_mode()
    def scores(self) -> ScoreArray:
        return self._draft.scores()[0, 0].double().cpu().numpy()

    @torch.inference_mode()
    def add(self, document: int) -> None:
        self._draft.add(torch.tensor([[document]], device=self._device))


def _cosine(done: float) -> float:
    """The part of a learning rate that is left when this part of its decay is done."""
    return max(_LEAST_RATE, 0.5 * (1 + math.cos(math.pi * min(1.0, done))))


def _seen(
    topics: Sequence[Topic], features: Sequence[FloatArray] | None = None, device: str | torch.device = "cpu"
) -> Seen:
    """The inputs of topics, padded to the largest."""
    units = [unit_rows(topic.require_vectors("a ranker of predicted subtopics")) for topic in topics]
    if features is None:
        features = [list_features(topic, rows) for topic, rows in zip(topics, units, strict=True)]
    query = unit_rows(query_vectors(topics, units[0].shape[1]))
    present = [np.ones(len(rows), np.bool_) for rows in units]
    arrays = (side_by_side(units), query, side_by_side(features), side_by_side(present))
    return Seen(*(torch.from_numpy(array).to(device, non_blocking=True) for array in arrays))
