"""Many seeds of a learner at once: their weights side by side, one pass of episodes and one gradient for all.

Shapes: E seeds, B topics, R episodes of each, T ranks, N candidates.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Self, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.func import functional_call, grad_and_value, stack_module_state, vmap

from srd_agents.reinforce.config import EpisodesConfig
from srd_agents.reinforce.learner import PolicyGradient
from srd_agents.reinforce.loss import policy_loss, worths_of
from srd_agents.reinforce.one_pass import one_pass
from srd_agents.training.loop import TrainingLoop
from srd_agents.training.machine import enough_memory, torch_threads
from srd_agents.training.validation import checked_topics
from srd_gym.checks import check_integer
from srd_gym.dtypes import IntArray
from srd_gym.measures import Measure
from srd_gym.sources import TopicSource, topics_from
from srd_gym.topic import TopicSet

C = TypeVar("C", bound=EpisodesConfig)


class ManySeeds(PolicyGradient[C]):
    """A learner whose seeds can be trained side by side."""

    def fit_many(
        self,
        topics: TopicSource,
        validation: TopicSource | None = None,
        *,
        seeds: Iterable[int],
        threads: int = 1,
        measures: Sequence[str | Measure] = (),
    ) -> list[Self]:
        """Train a learner for each seed at once, as `fit` would; this learner stays as it is.

        Each seed has the topics' order, the random numbers, the validations and the early stopping of its own training;
        weights and figures differ from it by rounding. Processor seconds are shared out evenly. Memory grows with the
        number of seeds.

        Args:
            topics: as of `fit`, and so are the others.
            validation: likewise.
            seeds: at least one, each once.
            threads: likewise.
            measures: likewise.

        Returns:
            A trained learner for each seed, in their order.

        Raises:
            ValueError: as of `fit`; no seeds, or one twice.
            TypeError: a reward or pruning that has no form in tensors.
        """
        every = list(seeds)
        for seed in every:
            check_integer("seed", seed, 0)
        if not every or len(set(every)) < len(every):
            raise ValueError(f"seeds must be at least one, each once; got {every}")
        self.check_device()
        judge = None if validation is None else topics_from(validation)
        trainable, excluded = checked_topics(self.name, topics_from(topics), judge)
        with torch_threads(threads), enough_memory(self.name):
            learners = self._seeded(trainable, every)
            try:
                loops = [TrainingLoop(each, trainable, judge, out=None, time_budget=None, progress=None,
                                      measures=measures) for each in learners]  # fmt: skip
                for each, loop in zip(learners, loops, strict=True):
                    loop.history.excluded, each.history = excluded, loop.history
                _run(learners, loops)
            finally:
                for each in learners:
                    each._release()
        return learners

    def _seeded(self, topics: TopicSet, seeds: Sequence[int]) -> list[Self]:
        """Learners ready to train, which share everything but what depends on the seed."""
        learners: list[Self] = []
        for seed in seeds:
            each = copy.copy(learners[0] if learners else self)
            each.metadata = {"topic_set": topics.origin, **self.metadata}
            if learners:
                each.seed = seed
                each._build(topics.require_vectors(f"ranker {self.name!r}"))
                each._begin_with(topics, seed)
            else:
                each._many = True
                each.prepare(topics, seed)
            learners.append(each)
        return learners


def _run(learners: Sequence[Any], loops: Sequence[TrainingLoop]) -> None:
    """Train to the end; a seed that stopped early keeps its weights, and idles along."""
    together = _Together(learners)
    running = []
    for index, loop in enumerate(loops):
        loop.begin()
        running.append(index)
    batches = [np.zeros(0, np.int64)] * len(loops)
    while True:
        for index in [index for index in running if not loops[index].goes_on()]:
            running.remove(index)
            together.leave(index)
        if not running:
            break
        began = time.process_time()
        for index in running:
            batches[index] = loops[index].next_batch()
        # Of seeds that stopped, any topics will do, but as many.
        count = len(batches[running[0]])
        stacked = np.stack([np.resize(batch, count) for batch in batches])
        figures = together.update(stacked, running)
        seconds = (time.process_time() - began) / len(running)
        for index in running:
            loops[index].learned(stacked[index], figures[index], seconds)
    for loop in loops:
        loop.finish()


class _Loss(nn.Module):
    """A network whose forward is the loss of episodes that it plays, so that `functional_call` reaches all of it."""

    def __init__(self, learner: Any, width: int) -> None:
        super().__init__()
        self.network = learner._network
        self._learner, self._width = learner, width

    def forward(
        self, inputs: Any, topic: Tensor, levels: Tensor, users: Tensor | None, filled: Tensor, alone: Tensor
    ) -> Any:
        learner, how = self._learner, self._learner.config
        draft = learner._tensor_draft(inputs, how.rollouts, alone)
        played = one_pass(draft, learner._simulator, topic, levels, users, width=self._width)
        (worth,) = worths_of([played], how.rollouts, filled)
        loss, spread = policy_loss(
            played.log_pi, played.entropy, played.active, worth.detach(), how.entropy_coef / filled.to(worth.dtype)
        )
        return loss, (loss.detach(), spread, played.rewards.double().sum(), played.offered.sum())


class _Together:
    """The weights of all seeds side by side, and their optimizer; each learner's network holds its part of them."""

    def __init__(self, learners: Sequence[Any]) -> None:
        self._learners = learners
        stacked, self._buffers = stack_module_state([each._network for each in learners])
        self._stacked = {name: part.detach() for name, part in stacked.items()}
        self._named = [dict(each._network.named_parameters()) for each in learners]
        for index, named in enumerate(self._named):
            for name, parameter in named.items():
                parameter.data = self._stacked[name][index]
        # Of the parts, not of the stacks: a part without gradient keeps its moments and its count of steps.
        self._optimizer = torch.optim.Adam([part for named in self._named for part in named.values()], fused=True)

    def leave(self, index: int) -> None:
        """Give a learner weights of its own."""
        for parameter in self._named[index].values():
            parameter.data, parameter.grad = parameter.data.clone(), None

    @torch.no_grad()
    def update(self, batches: IntArray, running: Sequence[int]) -> list[dict[str, Any]]:
        """One update of every seed, on its topics [E, B]; the figures of each."""
        learners, first = self._learners, self._learners[0]
        simulator, how, (count, width) = first._simulator, first.config, batches.shape
        inputs, most = first._see(batches.flatten()), int(first._core.arrays.n_candidates[batches].max())
        levels: NDArray[np.float64] = np.zeros((count, min(simulator.horizon, most), width, how.rollouts))
        users = None if simulator.users is None else np.zeros((count, width, how.rollouts), np.int64)
        for index in running:
            learners[index]._begin_update()
            drawn, user = learners[index]._draws(batches[index])
            levels[index, : len(drawn)] = drawn
            if users is not None:
                users[index] = user
        filled = np.array([first._filled(batch) for batch in batches], np.float64)
        arrays = (batches, levels, users, filled, np.array([each._alone for each in learners]))
        given = [None if part is None else torch.from_numpy(part).to(simulator.device, non_blocking=True)
                 for part in arrays]  # fmt: skip
        apart = _each(inputs, lambda part: part.view(count, width, *part.shape[1:]))
        loss = _Loss(first, most)

        def one(parameters: Any, buffers: Any, *arguments: Any) -> Any:
            named = {f"network.{name}": value for name, value in (parameters | buffers).items()}
            return functional_call(loss, named, arguments)

        axes = _each((apart, given), lambda part: 0)
        slopes = vmap(grad_and_value(one, has_aux=True), in_dims=(0, 0, axes[0], *axes[1]))
        gradients, (_, (losses, spreads, paid, offered)) = slopes(self._stacked, self._buffers, apart, *given)
        norms = torch.stack([part.flatten(1).square().sum(1) for part in gradients.values()]).sum(0).sqrt()
        cut = (how.max_grad_norm / (norms + 1e-6)).clamp(max=1)
        gradients = {name: part * cut.view(-1, *(1,) * (part.ndim - 1)) for name, part in gradients.items()}
        for index in running:
            for name, parameter in self._named[index].items():
                parameter.grad = gradients[name][index] if learners[index]._learns(name) else None
        rate = self._optimizer.param_groups[0]["lr"] = learners[running[0]]._optimizer.param_groups[0]["lr"]
        self._optimizer.step()
        for index in running:
            learners[index]._end_update()
        episodes = width * how.rollouts
        return [
            {
                "return": paid[index] / episodes,
                "entropy": spreads[index] / filled[index],
                "loss": losses[index],
                "learning_rate": rate,
                "grad_norm": norms[index],
                "episodes": how.rollouts,
                "steps": filled[index] / width,
                "evaluations": offered[index] / width,
            }
            for index in range(count)
        ]


def _each(inputs: Any, change: Callable[[Tensor], Any]) -> Any:
    """All tensors of a tuple of tensors, None and such tuples, each changed."""
    if isinstance(inputs, Tensor):
        return change(inputs)
    changed = [_each(part, change) for part in inputs or ()]
    return None if inputs is None else type(inputs)(*changed) if hasattr(inputs, "_fields") else tuple(changed)
