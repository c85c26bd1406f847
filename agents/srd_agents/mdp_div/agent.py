"""The two MDP-DIV learners: the paper's algorithm as it stands, and the same policy trained in batches."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar, TypeVar

import torch

from srd_agents.mdp_div.ascent import ascend, play
from srd_agents.mdp_div.config import MdpDivBatchedConfig, MdpDivConfig, PolicyConfig
from srd_agents.mdp_div.greedy import GreedyPolicy
from srd_agents.mdp_div.network import PolicyNetwork, Projection
from srd_agents.mdp_div.rollout import Episodes, gradients, roll_out
from srd_agents.networks.features import ORDER_FEATURES
from srd_agents.networks.inputs import Inputs, TopicTensors
from srd_agents.reinforce.loss import leave_one_out_advantages, returns_from, scaled
from srd_agents.training.options import Weights
from srd_agents.training.torch_learner import NetworkLearner
from srd_gym.core import SelectionCore
from srd_gym.protocols import IntArray, Pruning
from srd_gym.pruning import parse_pruning
from srd_gym.topic import Topic, TopicSet

C = TypeVar("C", bound=PolicyConfig)


class PolicyLearner(NetworkLearner[C]):
    """What both learners share: the network, the simulator, the generator, and ranking by argmax."""

    _network: PolicyNetwork
    _generator: torch.Generator
    _core: SelectionCore
    _tensors: TopicTensors
    _greedy: GreedyPolicy | None = None
    only_training: ClassVar[tuple[str, ...]] = ("_optimizer", "_core", "_tensors")

    @cached_property
    def pruning(self) -> Pruning | None:
        """What takes candidates off offer in training episodes, and in rankings with `prune_ranking`."""
        return None if self.config.pruning is None else parse_pruning(self.config.pruning)

    def _order_features(self) -> int:
        """D, columns of the retrieval order that the policy looks at."""
        return 0

    @abstractmethod
    def _initialise(self, generator: torch.Generator) -> None:
        """Draw the first weights."""

    def _build(self, vector_width: int) -> None:
        self._network = PolicyNetwork(vector_width, self.config.hidden, order_features=self._order_features())
        self._greedy = None

    def _set_weights(self, weights: Weights) -> None:
        super()._set_weights(weights)
        self._greedy = None

    def _prepare(self, topics: TopicSet, seed: int) -> None:
        start = torch.Generator().manual_seed(seed)
        self._initialise(start)
        if self.config.standardize:
            self._network.fit(topics)
        self._network.to(self.config.device)
        drawn = int(torch.randint(2**62, (), generator=start))
        self._generator = torch.Generator(self.config.device).manual_seed(drawn)
        self._core = SelectionCore(
            topics,
            reward=self.config.reward,
            horizon=self.config.horizon,
            pruning=self.pruning,
            pay="end" if self.config.return_only else "step",
        )
        self._tensors = TopicTensors(self._core.arrays, self._network.shift, order=self._order_features() > 0)

    def _rank_batch(self, topics: Sequence[Topic], k: int) -> list[IntArray]:
        if self._greedy is None:  # kept until the weights change
            self._greedy = GreedyPolicy(self._weights())
        return self._greedy.rank_batch(topics, k, self.pruning if self.config.prune_ranking else None)

    @torch.no_grad()
    def _play(self, batch: IntArray, rollouts: int) -> tuple[Inputs, Projection, Episodes]:
        """Roll out episodes of these topics; before them the topics and their projection."""
        self._greedy, topics = None, self._tensors.batch(batch)
        known = self._network.project(topics)
        return topics, known, roll_out(self._network, known, self._core, batch, rollouts, self._generator)


class MdpDiv(PolicyLearner[MdpDivConfig]):
    """MDP-DIV as published: one topic, one sampled episode, a step of plain gradient ascent after each of its ranks.

    Xia, Xu, Lan, Guo, Zeng, Cheng, "Adapting Markov Decision Process for Search Result Diversification", SIGIR 2017:
    theta += eta * G_t grad log pi(a_t | s_t) for t = 0, 1, ..., its Algorithm 1 (lines 5 to 8), each gradient
    taken at the weights that the one before left; episodes are its Algorithm 2, ranking is its Algorithm 3. With
    `update="episode"` the gradients are summed at the weights that the episode was drawn with.
    The gradients run back through the whole recurrence (the published code cuts them short and gives V_q only those of
    the first rank).

    Differs from the paper: topics come in a new seeded shuffle each epoch; the weights kept are those that validate
    best; training episodes have 10 ranks, as in its code (`horizon=None`: the whole list).
    """

    name: str = "mdp-div"
    config_class: ClassVar[type[Any]] = MdpDivConfig

    def _initialise(self, generator: torch.Generator) -> None:
        self._network.initialise(generator)

    def _update(self, batch: IntArray) -> Mapping[str, float]:
        if self.config.update == "step":
            return self._ascend_by_rank(batch)
        topics, known, episodes = self._play(batch, rollouts=1)
        worth = returns_from(episodes.rewards) * episodes.active
        slopes, chosen, _ = gradients(self._network, topics, known, episodes, worth, torch.zeros_like(worth))
        with torch.no_grad():
            for name, parameter in self._network.named_parameters():
                parameter.sub_(slopes[name], alpha=self.config.learning_rate)
        paid, loss = float(episodes.rewards.sum()), -float((chosen * worth).sum())
        return {"return": paid, "loss": loss, "evaluations": float(episodes.evaluations)}

    def _ascend_by_rank(self, batch: IntArray) -> Mapping[str, float]:
        """A step for each rank of an episode, its state computed anew with the weights as they are by then."""
        core, network, self._greedy = self._core, self._network, None
        queries, documents, _, _ = self._tensors.batch(batch)
        query = network.standardized(queries)[0].cpu().numpy()
        vectors = ((documents[0] - network.shift) / network.scale).cpu().numpy()
        weights = {name: parameter.detach().cpu().numpy() for name, parameter in network.named_parameters()}
        core.reset(batch)
        draws = torch.rand(int(core.length[0]), device=network.shift.device, generator=self._generator)
        episode = play(weights, query, vectors, core, draws.cpu().numpy())
        loss = ascend(weights, query, vectors, episode, self.config.learning_rate)
        with torch.no_grad():
            for name, parameter in network.named_parameters():
                parameter.copy_(torch.from_numpy(weights[name]))
        return {"return": float(episode.rewards.sum()), "loss": loss, "evaluations": float(episode.offered.sum())}


class MdpDivBatched(PolicyLearner[MdpDivBatchedConfig]):
    """MDP-DIV's policy trained in batches: many topics, several episodes of each, a baseline, and Adam.

    The gradient is REINFORCE's with the leave-one-out baseline (`loss.leave_one_out_advantages`), which leaves its mean
    as it is and takes most of its noise away.

    Differs from the paper: batches, several episodes a topic, baseline, one step by the gradients of all ranks,
    advantages scaled to unit size per batch, Adam, entropy bonus, gradient clipping, vectors standardised by the
    training documents, first weights that resemble MMR, hidden width 16, a linear term for the retrieval order in the
    logits, and what differs for `mdp-div`.
    """

    name: str = "mdp-div-batched"
    config_class: ClassVar[type[Any]] = MdpDivBatchedConfig

    _optimizer: torch.optim.Adam

    def _order_features(self) -> int:
        return len(ORDER_FEATURES) if self.config.retrieval_order else 0

    def _initialise(self, generator: torch.Generator) -> None:
        self._network.initialise_by_similarity(generator)

    def _prepare(self, topics: TopicSet, seed: int) -> None:
        super()._prepare(topics, seed)
        self._optimizer = torch.optim.Adam(self._network.parameters(), lr=self.config.learning_rate, fused=True)

    def _update(self, batch: IntArray) -> Mapping[str, float]:
        topics, known, episodes = self._play(batch, self.config.rollouts)
        advantages = leave_one_out_advantages(returns_from(episodes.rewards), self.config.rollouts)
        share = episodes.active / episodes.active.sum()
        worth = scaled(advantages, episodes.active) * share
        slopes, chosen, spreads = gradients(self._network, topics, known, episodes, worth, self.config.entropy * share)
        for name, parameter in self._network.named_parameters():
            parameter.grad = slopes[name]
        torch.nn.utils.clip_grad_norm_(self._network.parameters(), self.config.clip_norm)
        self._optimizer.step()
        return {
            "return": float(episodes.rewards.sum(1).mean()),
            "entropy": float((spreads * share).sum()),
            "loss": -float((chosen * worth).sum()),
            "evaluations": episodes.evaluations / len(batch),
        }
