"""REINFORCE for every policy: roll out, weigh what was done by what it earned, one step along the gradient."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from srd_agents.networks.inputs import chosen_log_policy, log_policy
from srd_agents.reinforce.loss import entropy, policy_loss, worths_of
from srd_agents.reinforce.one_pass import OnePass, by_levels, one_pass
from srd_agents.reinforce.rollout import SampledEpisodes, roll_out
from srd_agents.relational.decoding import Draft
from srd_agents.simulators import NoTensorFormError, SelectionSimulator
from srd_agents.training.many import mapped
from srd_agents.training.torch_learner import NetworkLearner
from srd_gym.core import SelectionCore
from srd_gym.core.users import drawn_users
from srd_gym.dtypes import IntArray
from srd_gym.topic import TopicSet

C = TypeVar("C", bound=Any)
"""The options, of which each learner has its own."""


class Played(NamedTuple):
    """R episodes of each of B topics, as an update takes them."""

    rewards: Tensor
    """[B, R, T]; 0 after an episode's end."""
    active: Tensor
    """[B, R, T] bool, whether the rank was filled."""
    evaluations: Tensor | int
    """Candidates that were scored."""
    learned: Callable[[], tuple[Tensor, Tensor]]
    """The log-probabilities of what was done and the entropies, [B, R, T] each, with gradients."""


class PolicyGradient(NetworkLearner[C]):
    """A learner of sampled episodes; its options say how many `rollouts` of a topic, `entropy_coef`, `max_grad_norm`.

    A policy is what begins rankings for acting (`_draft`) and scores known ones for learning (`_logits`); on a device,
    what does both at once (`_tensor_draft`).
    """

    scores_are_logits: ClassVar[bool] = True
    """Whether `progress` scores candidates by logits, from which a policy may draw."""
    _generator: np.random.Generator
    _core: SelectionCore
    _simulator: SelectionSimulator | None = None
    """Where episodes stay on the device; None: they are rolled out in numpy."""
    _many: bool = False
    """Whether several seeds learn at once, which takes episodes in tensors."""
    _alone: bool = False
    """Whether one part of the policy acts and learns without the others in this update."""
    only_training: ClassVar[tuple[str, ...]] = ("_optimizer", "_core", "_simulator", "_many")

    def _parts(self, batch: IntArray) -> Sequence[IntArray]:
        """The batch in parts that are rolled out and learned from one by one."""
        return [batch]

    @abstractmethod
    def _see(self, batch: IntArray) -> Any:
        """These topics as the policy sees them."""

    @abstractmethod
    def _draft(self, inputs: Any, rollouts: int) -> Draft:
        """Empty rankings of them."""

    @abstractmethod
    def _logits(self, inputs: Any, actions: IntArray) -> Tensor:
        """The policy's logits at all ranks of rankings [B, R, T] of them, with gradients: [B, R, T, N]."""

    @abstractmethod
    def _tensor_draft(self, inputs: Any, rollouts: int, alone: bool | Tensor) -> Draft:
        """Empty rankings of them as tensors on the device, whose scores have gradients; `alone` as `_alone`."""

    def _simulate(self, topics: TopicSet, **options: Any) -> None:
        """Make the simulator; off the CPU its twin in torch too, where what it pays and prunes has a form in tensors.

        Args:
            topics: of training.
            options: of the simulator, but for reward and horizon.
        """
        options = {"reward": self.config.reward, "horizon": self.config.horizon, **options}
        self._core, self._simulator = SelectionCore(topics, **options), None
        if not self.stays_on_device:
            return
        try:
            self._simulator = SelectionSimulator(self._core.arrays, device=self.config.device, **options)
        except NoTensorFormError:
            if self._many:
                raise

    @property
    def stays_on_device(self) -> bool:
        """Whether episodes are tensors: in numpy they take less of a CPU."""
        return self._many or torch.device(self.config.device).type != "cpu"

    @torch.no_grad()
    def _play(self, inputs: Any, batch: IntArray, rollouts: int) -> SampledEpisodes:
        """Sampled episodes of these topics."""
        return roll_out(self._draft(inputs, rollouts), self._core, batch, rollouts, self._generator)

    def _weighed(self, log_pi: Tensor, played: SampledEpisodes) -> Tensor:
        """Log-probabilities [B, R, T] of what was done, weighed where another policy did it."""
        return log_pi

    def _played(self, batch: IntArray, *, whole: bool) -> Played:
        """Episodes of a part of the batch.

        Args:
            batch: the topics.
            whole: whether it is the batch as a whole, so that what learning takes of all episodes has room.
        """
        inputs, rollouts = self._see(batch), self.config.rollouts
        if self._simulator is not None:
            return self._played_on_device(self._simulator, inputs, batch, rollouts, whole=whole)
        played = self._play(inputs, batch, rollouts)

        def learned() -> tuple[Tensor, Tensor]:
            logits = self._logits(inputs, played.actions)
            log_pi = log_policy(logits, torch.from_numpy(played.allowed).to(logits.device))
            chosen = chosen_log_policy(log_pi, torch.from_numpy(played.actions).to(logits.device))
            return self._weighed(chosen, played), entropy(log_pi)

        rewards, active = torch.from_numpy(played.rewards), torch.from_numpy(played.active)
        return Played(rewards, active, int(np.count_nonzero(played.allowed)), learned)

    def _played_on_device(
        self, simulator: SelectionSimulator, inputs: object, batch: IntArray, rollouts: int, *, whole: bool
    ) -> Played:
        """`_played` in one pass, or in two where graphs of several parts would have to be kept."""
        width = int(simulator.topics.arrays.n_candidates[batch].max())
        arrays, place = (batch, *self._draws(batch)), simulator.device
        topic, levels, users = mapped(arrays, lambda part: torch.from_numpy(part).to(place, non_blocking=True))

        def play(actions: Tensor | None = None) -> OnePass:
            draft = self._tensor_draft(inputs, rollouts, self._alone)
            choose = by_levels(levels) if actions is None else lambda _, rank: actions[..., rank]
            return one_pass(draft, simulator, topic, choose, users, rollouts=rollouts, width=width)

        with torch.set_grad_enabled(whole):
            first = play()

        def learned() -> tuple[Tensor, Tensor]:
            found = first if whole else play(first.actions)
            return found.log_pi, found.entropy

        return Played(first.rewards, first.active, first.offered.sum(), learned)

    def _draws(self, batch: IntArray) -> tuple[NDArray[np.float64], IntArray | None]:
        """Random numbers of episodes of these topics, in the order in which episodes in numpy draw them.

        Returns:
            ([T, B, R] of `by_levels`, [B, R] users where they pay).
        """
        core, shape = self._core, (len(batch), self.config.rollouts)
        users = None if core.users is None else drawn_users(self._generator, len(batch) * shape[1]).reshape(shape)
        return self._generator.random((min(core.horizon, int(core.arrays.n_candidates[batch].max())), *shape)), users

    def _filled(self, batch: IntArray) -> int:
        """Ranks that episodes of these topics fill."""
        ranks = np.minimum(self._core.arrays.n_candidates[batch], self._core.horizon)
        return int(self.config.rollouts * ranks.sum())

    def _begin_update(self) -> None:
        """Set what the update goes by, such as the learning rate; nothing, unless a learner does."""

    def _end_update(self) -> None:
        """Follow the new weights; nothing, unless a learner does."""

    def _update(self, batch: IntArray) -> Mapping[str, float]:
        self._begin_update()
        how, parts = self.config, self._parts(batch)
        played = [self._played(part, whole=len(parts) == 1) for part in parts]
        filled = self._filled(batch)
        worths = worths_of(played, how.rollouts, filled)
        self._optimizer.zero_grad()
        losses, spreads, paid = [], [], []
        evaluations: Tensor | int = 0
        for each, worth in zip(played, worths, strict=True):
            log_pi, entropies = each.learned()
            loss, spread = policy_loss(log_pi, entropies, each.active, worth, how.entropy_coef / filled)
            loss.backward()  # type: ignore[no-untyped-call]
            losses.append(loss.detach())
            spreads.append(spread)
            paid.append(each.rewards.sum().double())
            evaluations = evaluations + each.evaluations
        norm = torch.nn.utils.clip_grad_norm_(self._network.parameters(), how.max_grad_norm)
        self._optimizer.step()
        self._end_update()
        return self._told({
            "return": torch.stack(paid).sum() / (len(batch) * how.rollouts),
            "entropy": torch.stack(spreads).double().sum() / filled,
            "loss": torch.stack(losses).double().sum(),
            "learning_rate": self._optimizer.param_groups[0]["lr"],
            "grad_norm": norm,
            "episodes": how.rollouts,
            "steps": filled / len(batch),
            "evaluations": evaluations / len(batch),
        })  # fmt: skip

    def _told(self, figures: Mapping[str, Any]) -> Mapping[str, Any]:
        """Figures as numbers; of a device as tensors, which nobody waits for before an epoch ends."""
        return figures if self._simulator is not None else {name: float(value) for name, value in figures.items()}
