"""M2Div (Feng et al., SIGIR 2018): a network that learns from the searches it guides."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray

from srd_agents.mcts.config import MctsConfig
from srd_agents.mcts.loss import policy_loss, value_loss
from srd_agents.mcts.network import NumpyEvaluator, SearchNetwork
from srd_agents.mcts.rollout import OrderedTopic, Planner, Played, play_episodes
from srd_agents.networks.features import ORDER_FEATURES, order_features
from srd_agents.networks.inputs import Inputs, inputs_of, log_policy
from srd_agents.training.torch_learner import NetworkLearner
from srd_gym.core import SelectionCore
from srd_gym.dtypes import IntArray, ScoreArray
from srd_gym.topic import Topic, TopicSet

_CHUNK = 32
"""Topics searched side by side when ranking."""


class Mcts(NetworkLearner[MctsConfig]):
    """M2Div: a tree search guided by an LSTM's policy and value, which learn from what the search finds.

    Feng, Xu, Lan, Guo, Zeng, Cheng, "From Greedy Selection to Exploratory Decision-Making: Diverse Ranking with
    Policy-Value Networks", SIGIR 2018. Ranking reads no labels: leaves at the horizon are worth V, as all others.

    Differs from the paper: defaults are smaller searches of batches of topics with Adam, and logits with a linear term
    for the retrieval order (ranker m2div has the paper's settings); ties go to an order drawn from document ids instead
    of the file's; topics come in a new seeded shuffle each epoch, and the weights kept are those that validate best.
    The root is sampled by Gumbel with sequential halving (Danihelka et al., "Policy improvement by planning with
    Gumbel", ICLR 2022), with a new search at every rank; with `root="puct"` the chosen document's subtree is kept, as
    in the paper. The paper leaves open the initial weights (here uniform in [-1, 1] / sqrt(inputs)), which of its three
    ways ranks, and the value of untried documents (here 0).
    """

    name: str = "mcts"
    config_class: ClassVar[type[Any]] = MctsConfig

    _network: SearchNetwork
    _generator: np.random.Generator
    _core: SelectionCore
    _topics: list[OrderedTopic]
    only_training: ClassVar[tuple[str, ...]] = ("_optimizer", "_core", "_topics")

    # Ranking.

    def _rank_batch(self, topics: Sequence[Topic], k: int) -> list[IntArray]:
        by = self.config.rank_by
        if by == "search" and self.config.rank_simulations == 0:
            fallen = f"ranker {self.name!r} has no simulations to search with: it ranks by its raw policy"
            warnings.warn(fallen, stacklevel=2)
            by = "policy"
        out: list[IntArray] = []
        for start in range(0, len(topics), _CHUNK):
            part = topics[start : start + _CHUNK]
            ordered = [OrderedTopic.of(topic) for topic in part]
            evaluator = self._evaluator(ordered)
            counts = np.array([topic.n_candidates for topic in part], np.int64)
            begun = self._searched(evaluator, counts, k) if by == "search" else None
            lists = fill(evaluator, counts, k, begun, by_value=by == "value")
            out.extend(topic.order[row[: min(k, len(topic.order))]] for topic, row in zip(ordered, lists, strict=True))
        return out

    def _searched(self, evaluator: NumpyEvaluator, counts: IntArray, k: int) -> IntArray:
        """[B, T] the first ranks, by search; -1 where a list has ended."""
        planner = Planner(config=self.config, simulations=self.config.rank_simulations)
        played = planner.play(evaluator, counts, min(k, self.config.horizon))
        return np.where(played.active, played.documents, -1)

    @torch.inference_mode()
    def _evaluator(self, topics: Sequence[OrderedTopic]) -> NumpyEvaluator:
        # Topic by topic: a matrix product's last bits may depend on what else is in it.
        network = self._network
        projections = []
        for topic in topics:
            parts = network.project(self._inputs([topic]))
            scoring, inputs, initial = (part[0].cpu().numpy() for part in parts)
            projections.append((scoring, inputs, initial))
        return NumpyEvaluator(network, projections)

    # Weights.

    def _build(self, vector_width: int) -> None:
        order = len(ORDER_FEATURES) if self.config.retrieval_order else 0
        self._network = SearchNetwork(vector_width, self.config.hidden_size, order)

    def _inputs(self, topics: Sequence[OrderedTopic]) -> Inputs:
        """The topics as the network reads them."""
        given, documents = [each.topic for each in topics], [each.documents for each in topics]
        order = [order_features(each.topic)[each.order] for each in topics] if self.config.retrieval_order else None
        return inputs_of(given, self._network.standardizer.shift, documents, order)

    # Training.

    def _prepare(self, topics: TopicSet, seed: int) -> None:
        config = self.config
        start = torch.Generator().manual_seed(seed)
        if config.init == "similarity":
            self._network.initialise_by_similarity(start)
        else:
            self._network.initialise(start)
        if config.standardize:
            self._network.standardizer.fit(topics)
        parameters = self._network.to(config.device).parameters()
        make = torch.optim.Adagrad if config.optimizer == "adagrad" else torch.optim.Adam
        self._optimizer = make(parameters, lr=config.learning_rate)
        self._generator = np.random.default_rng([seed, 0x3CE5])
        self._topics = [OrderedTopic.of(topic) for topic in topics]
        self._core = SelectionCore(topics, reward=config.reward, horizon=config.horizon)

    def _update(self, batch: IntArray) -> Mapping[str, float]:
        topics = [self._topics[index] for index in batch]
        planner = Planner(config=self.config, simulations=self.config.simulations, rng=self._generator)
        played, outcome = play_episodes(self._core, batch, topics, planner, self._evaluator(topics))
        figures = self._learn(topics, played, outcome)
        return {
            "return": float(outcome.mean()),
            **figures,
            "episodes": 1,
            "steps": int(played.active.sum()) / len(batch),
        }

    def _learn(self, topics: Sequence[OrderedTopic], played: Played, outcome: ScoreArray) -> dict[str, float]:
        """One step on the episodes of these topics; its figures, the loss and its parts as means per rank."""
        network, like = self._network, self._network.standardizer.shift
        scoring, inputs, initial = network.project(self._inputs(topics))
        rows = torch.arange(len(topics))[:, None]
        states = network.states(initial, inputs[rows, torch.from_numpy(played.documents)])
        log_pi = log_policy(network.logits(scoring, states), torch.from_numpy(played.allowed).to(like.device))
        active = torch.from_numpy(played.active).to(like.device)
        z, target = (torch.from_numpy(part).to(like.device, like.dtype) for part in (outcome, played.policies))
        of_value = (value_loss(network.values(states), z) * active).sum()
        of_policy = (policy_loss(log_pi, target) * active).sum()
        figures = self._descend((of_value + of_policy) / len(topics), self.config.max_grad_norm or math.inf)
        ranks, log_pi = int(played.active.sum()), log_pi.detach()
        by_value, by_policy = float(of_value.detach()) / ranks, float(of_policy.detach()) / ranks
        return {
            "value_loss": by_value,
            "policy_loss": by_policy,
            "loss": by_value + by_policy,
            "entropy": -float(((log_pi.exp() * log_pi).sum(-1) * active).sum()) / ranks,
            "learning_rate": figures["learning_rate"],
            "grad_norm": figures["grad_norm"],
        }


def fill(
    evaluator: NumpyEvaluator,
    n_candidates: IntArray,
    k: int,
    begun: IntArray | None = None,
    *,
    by_value: bool = False,
) -> IntArray:
    """Rankings without search: at every rank the document of the largest logit, or the one with the best V after it.

    Args:
        evaluator: the network on B topics.
        n_candidates: [B].
        k: ranks to fill.
        begun: [B, T] documents of the first ranks; -1 where a list has ended. None: none.
        by_value: choose by V.

    Returns:
        [B, min(k, N)] candidates, as the evaluator counts them; behind its own a topic of fewer repeats some. Ties
        go to the first.
    """
    topics = np.arange(len(n_candidates))
    width = int(n_candidates.max())
    taken = np.arange(width) >= n_candidates[:, None]
    state = evaluator.initial(topics)
    out = np.zeros((len(topics), min(k, width)), np.int64)
    for rank in range(out.shape[1]):
        if begun is not None and rank < begun.shape[1]:
            best = np.maximum(begun[:, rank], 0)
        else:
            scores = _values_after(evaluator, state, width) if by_value else evaluator.logits(topics, state)
            best = np.where(taken, -np.inf, scores).argmax(axis=1)
        out[:, rank] = best
        taken[topics, best] = True
        if rank + 1 < out.shape[1]:
            state = evaluator.advance(topics, state, best)
    return out


def _values_after(evaluator: NumpyEvaluator, state: NDArray[np.float32], width: int) -> NDArray[np.float32]:
    """[B, N], V of the state after each candidate."""
    trees = np.repeat(np.arange(len(state)), width)
    documents = np.tile(np.arange(width), len(state))
    after = evaluator.advance(trees, state[trees], documents)
    return evaluator.values(trees, after).reshape(len(state), width)
