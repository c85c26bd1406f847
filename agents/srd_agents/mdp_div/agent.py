"""The two MDP-DIV learners: the paper's algorithm as it stands, and the same policy trained in batches."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar, TypeVar

import numpy as np
import torch

from srd_agents.heuristic.stepwise import PartialRanking
from srd_agents.mdp_div.config import MdpDivBatchedConfig, MdpDivConfig, PolicyConfig
from srd_agents.mdp_div.network import RecurrentPolicy
from srd_agents.mdp_div.step_updates import ascend
from srd_agents.networks.features import ORDER_FEATURES, order_features, query_vectors
from srd_agents.networks.inputs import Inputs, InputTensors
from srd_agents.networks.policy import StatePolicy, Steps, TensorSteps, acting, in_numpy
from srd_agents.reinforce.learner import PolicyGradient
from srd_agents.reinforce.many import EpisodesTogether
from srd_agents.reinforce.rollout import roll_out
from srd_agents.relational.decoding import rankings_of
from srd_agents.relational.ranker import DraftProgress
from srd_agents.training.many import ManySeeds
from srd_gym.core import SelectionCore
from srd_gym.dtypes import IntArray
from srd_gym.protocols import Pruning
from srd_gym.pruning import pruning_from
from srd_gym.topic import Topic, TopicSet

C = TypeVar("C", bound=PolicyConfig)


class PolicyLearner(PolicyGradient[C]):
    """Base of both learners: the policy, the simulator, and ranking by argmax."""

    _network: StatePolicy
    _tensors: InputTensors
    _acting: StatePolicy | None = None
    only_training: ClassVar[tuple[str, ...]] = (*PolicyGradient.only_training, "_tensors", "_acting")

    @cached_property
    def pruning(self) -> Pruning | None:
        """Strategy that masks candidates in training episodes, and in rankings with `prune_ranking`."""
        return None if self.config.pruning is None else pruning_from(self.config.pruning)

    def _order_features(self) -> int:
        """D, columns of the retrieval order that the policy looks at."""
        return 0

    def _policy(self, vector_width: int) -> StatePolicy:
        """The policy, with any weights."""
        return RecurrentPolicy(vector_width, self.config.hidden_size)

    def _build(self, vector_width: int) -> None:
        self._network, self._acting = self._policy(vector_width), None

    def _prepare(self, topics: TopicSet, seed: int) -> None:
        self._begin_with(topics, seed)
        self._simulate(topics, pruning=self.pruning, reward_type="sparse" if self.config.return_only else "dense")
        like = next(self._network.parameters())
        self._tensors = InputTensors(self._core.arrays, like, order=self._order_features() > 0)

    def _begin_with(self, topics: TopicSet, seed: int) -> None:
        self._network.initialise(torch.Generator().manual_seed(seed))
        if self.config.standardize:
            self._network.fit(topics)
        self._generator = np.random.default_rng([seed, 1])

    def _acts(self) -> StatePolicy:
        """The policy as it acts; on the CPU its arrays are the weights' own memory."""
        if self._acting is None or self.config.device != "cpu":
            self._acting = acting(self._network)
        return self._acting

    def _see(self, batch: IntArray) -> Inputs:
        return self._tensors.batch(batch)

    def _draft(self, inputs: Inputs, rollouts: int) -> Steps:
        return Steps(self._acts(), in_numpy(inputs), rollouts)

    def _tensor_draft(self, inputs: Inputs, rollouts: int, alone: bool | torch.Tensor) -> TensorSteps:
        return TensorSteps(self._network, inputs, rollouts)

    def _logits(self, inputs: Inputs, actions: IntArray) -> torch.Tensor:
        return self._network.logits(inputs, torch.from_numpy(actions).to(inputs.documents.device))

    def _rank_batch(self, topics: Sequence[Topic], k: int) -> list[IntArray]:
        if self._network.serves_numpy and not self.config.prune_ranking:
            return rankings_of(topics, k, self._begin)
        with torch.no_grad():  # one by one, as torch's products depend on what else is in the batch
            if self.config.prune_ranking:
                return [self._pruned(topic, k) for topic in topics]
            return [rankings_of([topic], k, self._begin)[0] for topic in topics]

    def progress(self, topic: Topic) -> PartialRanking:
        """An empty ranking of the topic; scores are the policy's logits."""
        self.check_topics([topic])
        return DraftProgress(self._begin([topic]))

    def _begin(self, topics: Sequence[Topic]) -> Steps:
        """Empty rankings of topics of equal shape."""
        documents = [topic.require_vectors("a learned ranker") for topic in topics]
        order = np.stack([order_features(topic) for topic in topics]) if self._order_features() else None
        queries = query_vectors(topics, documents[0].shape[1])
        arrays: Any = (queries, documents[0][None] if len(topics) == 1 else np.stack(documents), None, order)
        return Steps(self._acts(), Inputs(*arrays), 1)

    def _pruned(self, topic: Topic, k: int) -> IntArray:
        """A ranking of the allowed candidates, rank by rank."""
        alone = TopicSet([topic], name=topic.query_id)
        core = SelectionCore(alone, horizon=min(k, topic.n_candidates), pruning=self.pruning)
        ranking: IntArray = roll_out(self._begin([topic]), core, np.zeros(1, np.int64), 1, None).actions[0, 0]
        return ranking


class MdpDiv(PolicyLearner[MdpDivConfig]):
    """MDP-DIV as published: one topic, one sampled episode, a step of plain gradient ascent after each of its ranks.

    Xia, Xu, Lan, Guo, Zeng, Cheng, "Adapting Markov Decision Process for Search Result Diversification", SIGIR 2017:
    theta += eta * G_t grad log pi(a_t | s_t) for t = 0, 1, ..., its Algorithm 1 (lines 5 to 8), each gradient
    taken at the weights that the one before left; episodes are its Algorithm 2, ranking is its Algorithm 3. With
    `update="episode"` the gradients are summed at the weights that the episode was drawn with.
    The gradients run back through the whole recurrence (the published code cuts them short and gives V_q only those of
    the first rank).

    Differs from the paper: topics come in a new seeded shuffle each epoch; the weights kept are those that validate
    best; training episodes have 10 ranks, as in its code (`horizon=None`: the whole list); ranks without further gain
    have no gradient step. Initial weights are uniform in [-1, 1], as in the paper; its code's in [-1/H, 1/H].
    """

    name: str = "mdp-div"
    config_class: ClassVar[type[Any]] = MdpDivConfig

    @property
    def stays_on_device(self) -> bool:
        """Never: its gradients are numpy's."""
        return False

    def _update(self, batch: IntArray) -> Mapping[str, float]:
        policy, inputs, rate = self._acts(), in_numpy(self._see(batch)), self.config.learning_rate
        episodes = self._play(inputs, batch, 1)
        weights = [parameter.detach().numpy() for parameter in self._network.parameters()]
        before = [each.copy() for each in weights]
        loss, entropy = ascend(policy, inputs, episodes, rate, at_once=self.config.update == "episode")
        moved = (now - then for now, then in zip(weights, before, strict=True))
        return {
            "return": float(episodes.rewards.sum()),
            "entropy": entropy,
            "loss": loss,
            "learning_rate": rate,
            # The gradients of all ranks, each taken at other weights: what the weights moved by, in units of the rate.
            "grad_norm": math.sqrt(sum(float(np.vdot(change, change)) for change in moved)) / rate,
            "episodes": 1,
            "steps": int(episodes.active.sum()),
            "evaluations": float(np.count_nonzero(episodes.allowed)),
        }


class MdpDivBatched(PolicyLearner[MdpDivBatchedConfig], ManySeeds[MdpDivBatchedConfig]):
    """MDP-DIV's policy, or another with a state (`_policy`), trained in batches: many topics, a baseline, and Adam.

    The gradient is REINFORCE's with the leave-one-out baseline (`loss.leave_one_out_advantages`), which leaves its mean
    as it is and takes most of its noise away.

    Differs from the paper: batches, several episodes a topic, baseline, one step by the gradients of all ranks,
    advantages scaled to unit size per batch, Adam, entropy bonus, gradient clipping, vectors standardised by the
    training documents, first weights that resemble MMR, hidden width 16, a linear term of rank, reciprocal rank and
    normalised score in the logits where topics have a retrieval order, and what differs for `mdp-div`.
    """

    name: str = "mdp-div-batched"
    config_class: ClassVar[type[Any]] = MdpDivBatchedConfig
    together_class = EpisodesTogether

    def _order_features(self) -> int:
        return len(ORDER_FEATURES) if self.config.retrieval_order else 0

    def _policy(self, vector_width: int) -> StatePolicy:
        order = self._order_features()
        return RecurrentPolicy(vector_width, self.config.hidden_size, order_features=order, resembles_mmr=True)

    def _begin_with(self, topics: TopicSet, seed: int) -> None:
        super()._begin_with(topics, seed)
        self._network.to(self.config.device)
        self._optimizer = torch.optim.Adam(self._network.parameters(), lr=self.config.learning_rate, fused=True)
