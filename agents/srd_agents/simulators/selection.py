"""The selection task in torch: `srd_gym.core.SelectionCore` on tensors, for rollouts that stay on the device.

A state is a value: `step` returns a new one and leaves the old one as it is, so that states can be kept, stacked,
vmapped and branched from. Nothing waits for the device: no shape, loop or error depends on what tensors hold, so that
steps compile as one graph and are captured in CUDA graphs.

Shapes: B episodes, N candidates, S subtopics, K horizon, T topics.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from srd_agents.simulators.measures import MeasureTensors
from srd_agents.simulators.pruning import pruning_on
from srd_agents.simulators.topics import NoTensorFormError, TopicTensors
from srd_agents.simulators.users import ClickTensors
from srd_gym.checks import check_option
from srd_gym.core import SelectionCore
from srd_gym.core.arrays import Topics
from srd_gym.core.selection import OnInvalid, RewardType
from srd_gym.core.users import BoundClicks
from srd_gym.measures import Measure, Normalizer
from srd_gym.protocols import Pruning, Reward


class SelectionState(NamedTuple):
    """B episodes."""

    topic: Tensor
    """[B] int64."""
    rank: Tensor
    """[B] int64, ranks filled so far, empty ones included."""
    allowed: Tensor
    """[B, N] bool."""
    ranking: Tensor
    """[B, K] int64 candidates by rank; -1 where empty."""
    coverage: Tensor
    """[B, S + 1] int32, how often each subtopic is covered; the last column is 0."""
    returns: Tensor
    """[B], the sum of the gains so far."""
    user: Tensor
    """[B] int64 users, where they pay; else 0."""
    reads: Tensor
    """[B, 0] where a measure pays; who reads the next rank where users do (`ClickTensors.begin`)."""


class SelectionResult(NamedTuple):
    """Outcome of a step, as `srd_gym.core.StepResult`, each [B]."""

    reward: Tensor
    gain: Tensor
    invalid: Tensor
    terminated: Tensor


class SelectionSimulator:
    """`SelectionCore` on tensors: gains and returns equal to it bit for bit in float64, within 2e-6 in float32.

    `measures` and expected clicks are sums in another order, and equal within 1e-12 in float64.

    What cannot be refused without waiting for the device (an index that no candidate has) leaves the rank empty.

    Args:
        topics: a topic set, or `TopicTensors`, whose device is then taken.
        reward: a measure or `Clicks`, as of `SelectionCore`.
        reward_type: "dense" (each gain at its step) or "sparse" (the return at the last one).
        measures: more of them for `measures`.
        horizon: K; None ranks everything.
        pruning: None, `KNN`, or `ByRanker` at the reset.
        on_invalid: leave the rank empty ("skip"), or take the "next" allowed candidate.
        normalizer: as of `SelectionCore`.
        device: where.
        dtype: of gains.

    Raises:
        NoTensorFormError: a reward, measure or strategy that has no form in tensors; the message names `srd_gym.core`.
        ValueError: as of `SelectionCore`.
    """

    def __init__(
        self,
        topics: Topics | TopicTensors,
        *,
        reward: str | Measure | Reward = "alpha_DCG",
        reward_type: RewardType = "dense",
        measures: Sequence[str | Measure] = (),
        horizon: int | None = 10,
        pruning: Pruning | None = None,
        on_invalid: OnInvalid = "skip",
        normalizer: Normalizer | None = None,
        device: str | torch.device = "cpu",
        dtype: torch.dtype = torch.float32,
    ) -> None:
        check_option("on_invalid", on_invalid, ("skip", "next"))
        self.topics = topics if isinstance(topics, TopicTensors) else TopicTensors(topics, device)
        self.device, self.dtype, self.reward_type, self.on_invalid = self.topics.device, dtype, reward_type, on_invalid
        core = SelectionCore(
            self.topics.arrays,
            reward=reward,
            reward_type=reward_type,
            measures=measures,
            horizon=horizon,
            normalizer=normalizer,
        )
        self.horizon, self.reward_name = core.horizon, core.reward_name
        self.length = self.topics.n_candidates.clamp(max=self.horizon)
        """[T] int64, ranks to fill."""
        self._measures = {
            name: MeasureTensors(bound, self.topics, dtype) for name, bound in core.bound_measures.items()
        }
        self.measure = None if core.bound is None else MeasureTensors(core.bound, self.topics, dtype)
        self.users: ClickTensors | None = None
        if isinstance(core.users, BoundClicks):
            self.users = ClickTensors(core.users, self.topics)
        elif self.measure is None:
            raise NoTensorFormError(
                f"reward {self.reward_name!r} has no form in tensors (measures and Clicks have): simulate with "
                "srd_gym.core.SelectionCore"
            )
        self._covered = self.topics.covered(1 if core.bound is None else core.bound.rel)
        self._pruning = None if pruning is None else pruning_on(self.topics, pruning, self.length)

    def reset(self, topic: Tensor, users: Tensor | None = None, *, width: int | None = None) -> SelectionState:
        """Empty rankings.

        Args:
            topic: [B] int64.
            users: [B] int64 from 0, where users pay (of an expectation they may be left out).
            width: N of these episodes, where their topics have fewer candidates than the largest of the set.

        Raises:
            ValueError: no users where they pay.
        """
        if users is None and self.users is not None and not self.users.expected:
            raise ValueError(f"reward {self.reward_name} needs users: pass users=, one for each episode")
        count, where = len(topic), self.device
        return SelectionState(
            topic=topic,
            rank=torch.zeros(count, dtype=torch.int64, device=where),
            allowed=(self.topics.present if self._pruning is None else self._pruning.first)[:, :width][topic],
            ranking=torch.full((count, self.horizon), -1, dtype=torch.int64, device=where),
            coverage=torch.zeros(count, self.topics.max_subtopics + 1, dtype=torch.int32, device=where),
            returns=torch.zeros(count, dtype=self.dtype, device=where),
            user=torch.zeros(count, dtype=torch.int64, device=where) if users is None else users,
            reads=torch.zeros(count, 0, device=where) if self.users is None else self.users.begin(topic),
        )

    def restart(
        self, state: SelectionState, which: Tensor, topic: Tensor, users: Tensor | None = None
    ) -> SelectionState:
        """Begin some episodes anew; others stay as they are.

        Args:
            state: of B episodes.
            which: [B] bool.
            topic: [B] int64, looked at where `which` is True.
            users: [B], as of `reset`.
        """
        fresh = self.reset(topic, users, width=state.allowed.shape[1])
        return SelectionState(*(_rows_where(which, new, old) for new, old in zip(fresh, state, strict=True)))

    def done(self, state: SelectionState) -> Tensor:
        """[B] bool, whether episodes have ended."""
        return state.rank >= self.length[state.topic]

    def step(self, state: SelectionState, actions: Tensor) -> tuple[SelectionState, SelectionResult]:
        """Fill the next rank of every episode that has not ended; others stay as they are and pay 0.

        Args:
            state: of B episodes.
            actions: [B] int64 candidates; one that is masked or does not exist leaves the rank empty.
        """
        topic, n, length = state.topic, self.topics.max_candidates, self.length[state.topic]
        active, slot = state.rank < length, state.rank.clamp(max=self.horizon - 1)
        chosen = actions.clamp(0, state.allowed.shape[1] - 1)
        offered = state.allowed.gather(1, chosen[:, None])[:, 0] & (actions == chosen)
        invalid = active & ~offered
        if self.on_invalid == "next":
            chosen, offered = torch.where(offered, chosen, state.allowed.int().argmax(1)), torch.ones_like(offered)
        filled = offered & active
        documents = torch.where(filled, topic * n + chosen, len(self._covered.counts) - 1)
        before, coverage = self._covered.add(state.coverage, documents)
        gain, reads = self._gain(state, chosen, filled, documents, before, slot, active)
        after = state.rank + active
        done, returns = after >= length, state.returns + gain
        at, written = slot[:, None], torch.where(filled, chosen, -1)
        written = torch.where(active, written, state.ranking.gather(1, at)[:, 0])
        allowed = state.allowed.scatter(1, chosen[:, None], state.allowed.gather(1, chosen[:, None]) & ~filled[:, None])
        if self._pruning is not None:
            allowed = self._pruning.after(allowed, topic, chosen, filled & ~done, length - after)
        following = SelectionState(
            topic, after, allowed, state.ranking.scatter(1, at, written[:, None]), coverage, returns, state.user, reads
        )
        reward = gain if self.reward_type == "dense" else torch.where(done & active, returns, 0)
        return following, SelectionResult(reward, gain, invalid, done)

    def candidate_gains(self, state: SelectionState) -> Tensor:
        """[B, N], the gain of each candidate at the next rank, masked ones too; 0 in ended episodes.

        Raises:
            ValueError: users pay.
        """
        if self.measure is None:
            raise ValueError(f"reward {self.reward_name!r} is not a measure: gains of all candidates are not defined")
        n, rank = state.allowed.shape[1], state.rank.clamp(max=self.horizon - 1)
        first = state.topic[:, None] * self.topics.max_candidates
        documents = (first + torch.arange(n, device=self.device)).flatten()
        before = state.coverage.gather(1, self._covered.subtopics[documents].view(len(rank), -1))
        gains = self.measure.gains(documents, before.view(len(documents), -1), rank.repeat_interleave(n))
        return gains.view(-1, n).masked_fill(self.done(state)[:, None], 0.0)

    def measures(self, state: SelectionState) -> dict[str, Tensor]:
        """The measures of the rankings so far, name -> [B], as `SelectionCore.measures`; NaN on unlabelled topics."""
        values = {} if self.measure is not None else {self.reward_name: state.returns}
        for name, each in self._measures.items():
            values[name] = each.values(state.ranking, state.topic)
        unlabelled = ~self.topics.labelled[state.topic]
        return {name: value.masked_fill(unlabelled, torch.nan) for name, value in values.items()}

    def _gain(
        self, state: SelectionState, chosen: Tensor, filled: Tensor, documents: Tensor, before: Tensor, slot: Tensor,
        active: Tensor,
    ) -> tuple[Tensor, Tensor]:  # fmt: skip
        """Gains of a rank [B], and who reads the next one."""
        if self.measure is not None:
            return self.measure.gains(documents, before, slot), state.reads
        assert self.users is not None  # noqa: S101 - for the type checker
        fresh = (self._covered.counts[documents] > before).any(1)
        paid, reads = self.users.step(state.topic, slot, chosen, filled, fresh, state.user, state.reads)
        return (paid * (active & self.topics.labelled[state.topic])).to(self.dtype), reads


def _rows_where(which: Tensor, new: Tensor, old: Tensor) -> Tensor:
    """Rows of one or of the other."""
    return torch.where(which.view(-1, *(1,) * (new.ndim - 1)), new, old)
