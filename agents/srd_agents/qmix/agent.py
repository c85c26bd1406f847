"""Learners in which every document scores itself: QMIX (MA4DIV), and VDN and independent Q-learning beside it.

Shapes: B topics, R joint actions each, N candidates, A scores.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from srd_agents.networks.attention import initialise
from srd_agents.networks.inputs import Inputs, InputTensors, Standardizer, inputs_of
from srd_agents.qmix.config import QmixConfig, ScoringConfig
from srd_agents.qmix.loss import MixingWeights, chosen_values, epsilon_at, independent_loss, mean_value, mix
from srd_agents.qmix.many import ScoresTogether
from srd_agents.qmix.network import FlatMixer, PooledMixer, ScoreNetwork
from srd_agents.qmix.replay import Replay, Visits
from srd_agents.simulators import ScoringSimulator
from srd_agents.training.files import Tree
from srd_agents.training.many import ManySeeds
from srd_agents.training.torch_learner import told
from srd_gym.core import ScoringCore
from srd_gym.dtypes import AnyArray, IntArray
from srd_gym.topic import Topic, TopicSet

C = TypeVar("C", bound=ScoringConfig)

_CHUNK_DOCUMENTS = 4096
"""Documents ranked in one pass: enough to spread the cost of torch's calls, few enough to stay in the cache."""


class ScoringNetworks(nn.Module):
    """The agents' network, the shift and scale before it, and what mixes the agents' values, if anything does."""

    def __init__(self, inputs: Standardizer, agents: ScoreNetwork, mixer: nn.Module | None) -> None:
        super().__init__()
        self.inputs, self.agents = inputs, agents
        self.mixer: Any = mixer

    def standardized(self, inputs: Inputs) -> Inputs:
        """Topics with their vectors shifted and scaled."""
        queries, documents = self.inputs(inputs.queries, inputs.documents)
        return inputs._replace(queries=queries, documents=documents)


class ScoringLearner(ManySeeds[C]):
    """Base of the three learners: the agents' network, playing, the replay, and ranking by the best scores."""

    _network: ScoringNetworks
    together_class = ScoresTogether
    only_training: ClassVar[tuple[str, ...]] = ("_core", "_simulator", "_tensors", "_replay", "_optimizer", "_many")
    _core: ScoringCore
    _simulator: ScoringSimulator | None = None
    """The rewards of lists on a device. None: numpy's, on the CPU up to four times as fast, and wherever users pay."""
    _tensors: InputTensors
    _replay: Replay
    _optimizer: torch.optim.Adam
    _generator: np.random.Generator
    _episodes: int = 0

    def _make_mixer(self, vector_width: int) -> nn.Module | None:
        """Network that makes the weights of the joint value; None where there are none to learn."""
        return None

    @abstractmethod
    def _loss(self, chosen: Tensor, rewards: Tensor, inputs: Inputs, visits: Tensor) -> Tensor:
        """Loss: mean squared distance of the values of played actions from the rewards.

        An episode has one step, so the reward is the whole target (no bootstrapping).

        Args:
            chosen: [V, R, N] values of the actions that were played.
            rewards: [V, R].
            inputs: the U topics played.
            visits: [V] which of them each visit is of.
        """

    def _start_at(self, reward: float | Tensor) -> None:
        """Begin with joint values around this one, so that no updates go into learning the rewards' mean."""
        with torch.no_grad():
            self._network.agents.values.bias.fill_(reward)

    # Ranking.

    def _rank_batch(self, topics: Sequence[Topic], k: int) -> list[IntArray]:
        counts = np.array([topic.n_candidates for topic in topics])
        out: list[IntArray] = [np.empty(0, np.int64)] * len(topics)
        # Topics of like size share a pass, so that little of it goes into padding.
        order = np.argsort(counts, kind="stable")
        start = 0
        while start < len(order):
            room = max(1, _CHUNK_DOCUMENTS // int(counts[order[start]]))
            part = order[start : start + room]
            rankings = self._ranked(self._values_of([topics[i] for i in part]), counts[part])
            for index, ranking in zip(part, rankings, strict=True):
                out[index] = ranking[: min(k, int(counts[index]))]
            start += room
        return out

    @torch.inference_mode()
    def _values_of(self, topics: Sequence[Topic]) -> NDArray[np.float32]:
        """Action values of some topics, [B, N, A]."""
        values: Tensor = self._network.agents(self._network.standardized(inputs_of(topics, self._network.inputs.shift)))
        return values.cpu().numpy()

    def _ranked(self, values: NDArray[np.float32], counts: IntArray) -> IntArray:
        """Candidates sorted by their best score, [B, N]; padding comes last.

        Args:
            values: [B, N, A].
            counts: [B], how many documents are real.
        """
        scores = values.argmax(axis=2)
        keys = np.where(np.arange(scores.shape[1]) < counts[:, None], -scores, 1)
        if self.config.tie_break == "retrieval":
            return keys.argsort(axis=1, kind="stable")
        # How steeply the values rise with the score: the slope of a line through them, up to a constant.
        slope = values @ (np.arange(values.shape[2], dtype=np.float32) - (values.shape[2] - 1) / 2)
        return np.lexsort((-slope, keys), axis=1)

    # Weights.

    def _build(self, vector_width: int) -> None:
        network = ScoreNetwork(vector_width, self.config)
        self._network = ScoringNetworks(Standardizer(vector_width), network, self._make_mixer(vector_width))

    # Training.

    def _prepare(self, topics: TopicSet, seed: int) -> None:
        config = self.config
        self._begin_with(topics, seed)
        self._core = ScoringCore(topics, reward=config.rewards, n_scores=config.n_scores)
        self._tensors = InputTensors(self._core.arrays, self._network.inputs.shift)
        if torch.device(config.device).type != "cpu" and self._core.users is None:
            self._simulator = ScoringSimulator(
                self._core.arrays, reward=config.rewards, n_scores=config.n_scores, device=config.device
            )
        self._replay = self._new_replay()

    def _begin_with(self, topics: TopicSet, seed: int) -> None:
        config = self.config
        initialise(self._network, torch.Generator().manual_seed(seed))
        if config.standardize:
            self._network.inputs.fit(topics)
        self._network.to(config.device)
        self._optimizer = torch.optim.Adam(self._network.parameters(), lr=config.learning_rate, fused=True)
        self._generator = np.random.default_rng([seed, 0xD0C])
        self._episodes = 0

    def _new_replay(self, seeds: tuple[int, ...] = ()) -> Replay:
        """An empty replay for the training topics; `seeds` as it takes them."""
        config, documents = self.config, self._core.arrays.max_candidates
        return Replay(config.replay_capacity, config.rollouts, documents, config.n_scores, config.device, seeds=seeds)

    def _update(self, batch: IntArray) -> Mapping[str, float]:
        config, epsilon = self.config, self._epsilon
        actions, rewards = self.play(batch, epsilon)
        self._replay.add(batch, actions, rewards)
        paid = self._paid(rewards)
        learned = [self.learn(self._replay.sample(config.batch_size, self._generator)) for _ in range(config.updates)]
        loss, norm = (sum(figures) / config.updates for figures in zip(*learned, strict=True))
        return self._figures(paid, epsilon, loss, norm)

    @property
    def _epsilon(self) -> float:
        """Probability that an agent takes a random score in the next update."""
        how = self.config
        return epsilon_at(self._episodes, how.epsilon_start, how.epsilon_end, how.epsilon_episodes)

    def _paid(self, rewards: Tensor) -> Any:
        """Take note of these episodes' rewards [B, R]; their mean, around which the first update begins."""
        mean = rewards.double().mean() if self._simulator is not None else rewards.cpu().numpy().mean()
        if not self._episodes:
            self._start_at(mean)
        self._episodes += rewards.numel()
        return mean

    def _figures(self, paid: Any, epsilon: float, loss: object, norm: object) -> dict[str, Any]:
        """Figures of an update."""
        how = self.config
        return {
            "return": told(paid),
            "epsilon": epsilon,
            "loss": loss,
            "learning_rate": how.learning_rate,
            "grad_norm": norm,
            "episodes": how.rollouts,
            "steps": how.rollouts,
        }

    @torch.no_grad()
    def play(self, batch: IntArray, epsilon: float) -> tuple[Tensor, Tensor]:
        """Play `rollouts` episodes of each topic, every agent exploring on its own.

        Args:
            batch: [B] indices into the training topics.
            epsilon: how often an agent takes a random score instead of its best.

        Returns:
            (scores [B, R, N] int64, 0 for padding; rewards [B, R] float64, float32 on a device).
        """
        explores, random = self._drawn(batch, epsilon)
        best = self._best(self._tensors.batch(batch)) if epsilon < 1 else None
        actions = self._mixed(batch, explores, random, best)
        return actions, self._rewards_of(batch, actions)

    def _drawn(self, batch: IntArray, epsilon: float) -> tuple[NDArray[np.bool_], IntArray]:
        """Which agents explore these topics, and random scores, [B, R, N] each."""
        shape = (len(batch), self.config.rollouts, self._core.arrays.max_candidates)
        explores = self._generator.random(shape, dtype=np.float32) < epsilon
        return explores, self._generator.integers(self.config.n_scores, size=shape)

    def _best(self, inputs: Inputs) -> Tensor:
        """The score that each agent prefers, [B, N]."""
        best: Tensor = self._network.agents(self._network.standardized(inputs)).argmax(dim=2)
        return best

    def _mixed(self, batch: IntArray, explores: NDArray[np.bool_], random: IntArray, best: Tensor | None) -> Tensor:
        """Random scores where agents explore, else the best ones, if there are any: [B, R, N] int64; 0 for padding."""
        actions = self._moved(random)
        if best is not None:
            best = functional.pad(best, (0, random.shape[2] - best.shape[1]))
            actions = torch.where(self._moved(explores), actions, best[:, None])
        return actions * self._tensors.present[self._moved(batch)][:, None]

    def _rewards_of(self, batch: IntArray, actions: Tensor) -> Tensor:
        """Rewards of lists by these scores [B, R, N]: [B, R]."""
        lists, rollouts = actions.flatten(0, 1), actions.shape[1]
        if self._simulator is not None:
            paid = self._simulator.step(self._moved(batch).repeat_interleave(rollouts), lists)
        else:
            paid = self._moved(self._core.step(np.repeat(batch, rollouts), lists.cpu().numpy(), self._generator))
        return paid.view(actions.shape[:2])

    def _moved(self, array: AnyArray) -> Tensor:
        """On the device, without waiting."""
        return torch.from_numpy(array).to(self._tensors.present.device, non_blocking=True)

    def learn(self, visits: Visits) -> tuple[Any, Any]:
        """One gradient update.

        Args:
            visits: what was played, of the training topics.

        Returns:
            (the loss before it, the length of its gradient before clipping), as `told`.
        """
        # A topic that comes up several times goes through the network once.
        topics, which = np.unique(visits.topics, return_inverse=True)
        loss = self._loss_of(self._tensors.batch(topics), self._moved(which), visits.actions, visits.rewards)
        figures = self._descend(loss, self.config.max_grad_norm)
        return figures["loss"], figures["grad_norm"]

    def _loss_of(self, inputs: Inputs, which: Tensor, actions: Tensor, rewards: Tensor) -> Tensor:
        """Loss of V visits.

        Args:
            inputs: U topics.
            which: [V] which of them each visit is of.
            actions: [V, R, N].
            rewards: [V, R].
        """
        inputs = self._network.standardized(inputs)
        values = self._network.agents(inputs)
        chosen = chosen_values(values, actions[:, :, : values.shape[1]], which)
        return self._loss(chosen, rewards, inputs, which)

    def _training_state(self) -> Tree:
        return {**super()._training_state(), "replay": self._replay.tree(), "episodes": self._episodes}

    def _restore_training(self, state: Tree) -> None:
        super()._restore_training(state)
        self._replay.load(state["replay"])
        self._episodes = int(state["episodes"])


class Qmix(ScoringLearner[QmixConfig]):
    """QMIX over documents (MA4DIV, Chen et al., WWW 2025): one step, integer scores, a monotone mix of their values.

    Differs from the paper: the global state of the hypernetworks is pooled over the documents instead of flattened
    (`state="flat"` is the paper's), vectors are standardised, the replay keeps no observations, the joint value starts
    at the mean reward, the weights kept are those that validate best, and ties go to the candidate order. The
    attention has no output layer. The defaults, tuned on generated topics, are eight joint actions per topic and four
    updates of 256 topics after every 256 topics played (the paper: one episode per topic and epoch), two hidden layers
    and mixing width 8. Ranker `ma4div` has the paper's attention (one block, four heads, width 256), 15 scores, batches
    of 256, Adam with learning rate 0.0001, gradients clipped at 10 and epsilon from 1 to 0.05; and from the published
    code the reward alpha_nDCG@5 + alpha_nDCG@15, 300,000 episodes of falling epsilon and the flattened state.
    """

    name: str = "qmix"
    config_class: ClassVar[type[Any]] = QmixConfig

    def _make_mixer(self, vector_width: int) -> nn.Module:
        config = self.config
        if config.state == "flat":
            return FlatMixer(vector_width, config.max_candidates or 0, config.mixing_width)
        return PooledMixer(vector_width, config.mixing_width)

    def _start_at(self, reward: float | Tensor) -> None:
        self._network.mixer.start_at(reward)

    def _loss(self, chosen: Tensor, rewards: Tensor, inputs: Inputs, visits: Tensor) -> Tensor:
        weights = MixingWeights(*(part[visits] for part in self._network.mixer(inputs)))
        return functional.mse_loss(mix(chosen, weights), rewards)


class Vdn(ScoringLearner[ScoringConfig]):
    """Value decomposition networks (Sunehag et al., AAMAS 2018) in QMIX's place: the mean of the agents' values."""

    name: str = "vdn"
    config_class: ClassVar[type[Any]] = ScoringConfig

    def _loss(self, chosen: Tensor, rewards: Tensor, inputs: Inputs, visits: Tensor) -> Tensor:
        present = None if inputs.present is None else inputs.present[visits]
        return functional.mse_loss(mean_value(chosen, present), rewards)


class Iql(ScoringLearner[ScoringConfig]):
    """Independent Q-learning (Tan, ICML 1993): every agent's value is held against the shared reward on its own."""

    name: str = "iql"
    config_class: ClassVar[type[Any]] = ScoringConfig

    def _loss(self, chosen: Tensor, rewards: Tensor, inputs: Inputs, visits: Tensor) -> Tensor:
        present = None if inputs.present is None else inputs.present[visits]
        return independent_loss(chosen, rewards, present)
