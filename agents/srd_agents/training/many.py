"""Many seeds of a learner at once: their weights side by side, and one gradient for all.

Shapes: E seeds, B topics.
"""

from __future__ import annotations

import copy
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
import torch
from torch import Tensor, nn
from torch.func import functional_call, grad_and_value, stack_module_state, vmap

from srd_agents.training.learner import LearnerConfig
from srd_agents.training.loop import TrainingLoop
from srd_agents.training.machine import enough_memory, torch_threads
from srd_agents.training.torch_learner import NetworkLearner
from srd_gym.checks import check_integer
from srd_gym.dtypes import IntArray
from srd_gym.measures import Measure
from srd_gym.sources import TopicSource, topics_from
from srd_gym.topic import TopicSet

C = TypeVar("C", bound=LearnerConfig)


class Together(ABC):
    """The weights of all seeds side by side, and their optimizer; each learner's network holds its part of them.

    Args:
        learners: alike but for the seed, whose networks learn by `torch.optim.Adam`.
    """

    def __init__(self, learners: Sequence[Any]) -> None:
        self.learners = learners
        stacked, self._buffers = stack_module_state([each._network for each in learners])
        self._stacked = {name: part.detach() for name, part in stacked.items()}
        self._named = [dict(each._network.named_parameters()) for each in learners]
        for index, named in enumerate(self._named):
            for name, parameter in named.items():
                parameter.data = self._stacked[name][index]
        # Of the parts, not of the stacks: a part without gradient keeps its moments and its count of steps.
        self._optimizer = torch.optim.Adam([part for named in self._named for part in named.values()], fused=True)

    @abstractmethod
    def update(self, batches: IntArray, running: Sequence[int]) -> list[dict[str, Any]]:
        """One update of the seeds that run.

        Args:
            batches: [E, B] topics.
            running: places of these seeds; of others nothing changes.

        Returns:
            Figures of every seed, as `Learner._update` says them.
        """

    def leave(self, index: int) -> None:
        """Give a learner weights of its own."""
        for parameter in self._named[index].values():
            parameter.data, parameter.grad = parameter.data.clone(), None

    def each(self, work: Callable[..., Any], arguments: Any, *, slopes: bool = False) -> Any:
        """Do the same with the weights of every seed.

        Args:
            work: what to do, with the first learner's network, which holds the seed's weights while it runs.
            arguments: of it: tensors, None and tuples of them, of [E, ...] each.
            slopes: whether work gives (value, figures) and the gradient of the value is wanted.

        Returns:
            The results of work, [E, ...] each; with `slopes`, ({name: gradient}, (value, figures)).
        """
        called = _Called(self.learners[0]._network, work)

        def one(parameters: object, buffers: Any, *given: object) -> Any:
            named = {f"network.{name}": value for name, value in (parameters | buffers).items()}
            return functional_call(called, named, given)

        how = grad_and_value(one, has_aux=True) if slopes else one
        return vmap(how, in_dims=(0, 0, *mapped(arguments, lambda part: 0)))(self._stacked, self._buffers, *arguments)

    def descend(self, gradients: dict[str, Tensor], running: Sequence[int]) -> Tensor:
        """Take one step of the seeds that run; [E], the lengths of the gradients before they are cut."""
        norms = torch.stack([part.flatten(1).square().sum(1) for part in gradients.values()]).sum(0).sqrt()
        cut = (self.learners[0].config.max_grad_norm / (norms + 1e-6)).clamp(max=1)
        gradients = {name: part * cut.view(-1, *(1,) * (part.ndim - 1)) for name, part in gradients.items()}
        for index in running:
            for name, parameter in self._named[index].items():
                parameter.grad = gradients[name][index] if self.learners[index]._learns(name) else None
        self._optimizer.param_groups[0]["lr"] = self.learners[running[0]]._optimizer.param_groups[0]["lr"]
        self._optimizer.step()
        return norms


class ManySeeds(NetworkLearner[C]):
    """A learner whose seeds can be trained side by side."""

    together_class: ClassVar[type[Together]]
    """Updates of its seeds."""
    _many: bool = False
    """Whether several seeds learn at once; to forget with what `only_training` names."""

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
            TypeError: a reward or pruning that has no form in tensors, of a learner that plays rank by rank.
        """
        every = list(seeds)
        for seed in every:
            check_integer("seed", seed, 0)
        if not every or len(set(every)) < len(every):
            raise ValueError(f"seeds must be at least one, each once; got {every}")
        self.check_device()
        judge = None if validation is None else topics_from(validation)
        trainable, excluded = self.learnable(topics_from(topics), judge)
        with torch_threads(threads), enough_memory(self.name):
            learners = self._seeded(trainable, every)
            try:
                loops = [TrainingLoop(each, trainable, judge, measures=measures) for each in learners]
                for each, loop in zip(learners, loops, strict=True):
                    loop.history.excluded, each.history = excluded, loop.history
                _run(self.together_class(learners), loops)
            finally:
                for each in learners:
                    each._release()
        return learners

    def _seeded(self, topics: TopicSet, seeds: Sequence[int]) -> list[Self]:
        """Learners ready to train, which share everything but what depends on the seed."""
        learners: list[Self] = []
        for seed in seeds:
            each = copy.copy(learners[0] if learners else self)
            each.metadata = dict(self._trained_on(topics))
            if learners:
                each.seed = seed
                each._build(topics.require_vectors(f"ranker {self.name!r}"))
                each._begin_with(topics, seed)
            else:
                each._many = True
                each.prepare(topics, seed)
            learners.append(each)
        return learners

    @abstractmethod
    def _begin_with(self, topics: TopicSet, seed: int) -> None:
        """Draw the initial weights from the seed, and make the generator and the optimizer."""

    def _learns(self, parameter: str) -> bool:
        """Whether the update that has begun changes this parameter."""
        return True


class _Called(nn.Module):
    """A network whose forward is work with it, so that `functional_call` reaches all of it."""

    def __init__(self, network: nn.Module, work: Callable[..., object]) -> None:
        super().__init__()
        self.network, self._work = network, work

    def forward(self, *arguments: object) -> Any:
        return self._work(*arguments)


def _run(together: Together, loops: Sequence[TrainingLoop]) -> None:
    """Train to the end; a seed that stopped early keeps its weights, and idles along."""
    for loop in loops:
        loop.begin()
    running = list(range(len(loops)))
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


def mapped(inputs: Any, change: Callable[[Any], Any]) -> Any:
    """All tensors or arrays of a tuple of these, None and such tuples, each changed."""
    if isinstance(inputs, Tensor | np.ndarray):
        return change(inputs)
    changed = [mapped(part, change) for part in inputs or ()]
    return None if inputs is None else type(inputs)(*changed) if hasattr(inputs, "_fields") else tuple(changed)
