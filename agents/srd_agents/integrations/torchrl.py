"""TorchRL: the selection and the scoring task as environments whose episodes stay on one device.

Shapes: B episodes, N candidates, K horizon, F vector width, A scores.
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from srd_agents.integrations import library
from srd_agents.simulators import ScoringSimulator, SelectionSimulator, SelectionState
from srd_gym.checks import check_integer, check_option

with library("torchrl", "torchrl"):
    from tensordict import TensorDict, TensorDictBase
    from torchrl.data import Binary, Bounded, Categorical, Composite, Unbounded
    from torchrl.envs import EnvBase


class SelectionEnv(EnvBase):
    """`SRD-v0` for TorchRL, natively: B episodes of a `SelectionSimulator` on its device.

    Observations: "topic" [B] int64, an index by which policies look vectors up in `simulator.topics`; "ranking" [B, K]
    int64, -1 where a rank is empty; "action_mask" [B, N] bool, for `ActionMask` and `MaskedCategorical`; and, unless
    observation is "compact", "query" [B, F] and "documents" [B, N, F] float32. Actions are candidates, [B] int64.

    Each episode's topic is drawn from all, uniformly, and so are its users where they pay; a "topic" that `reset` is
    given is played. Resets may be partial, as TorchRL's own.

    Args:
        simulator: what is stepped.
        num_envs: B.
        observation: "full", or "compact", which keeps vectors out of the frames.
        seed: of topics and users.

    Raises:
        ValueError: fewer than one episode, another observation, or topics without vectors where they are observed.
    """

    batch_locked = True

    def __init__(
        self,
        simulator: SelectionSimulator,
        num_envs: int,
        *,
        observation: Literal["full", "compact"] = "full",
        seed: int = 0,
    ) -> None:
        check_integer("num_envs", num_envs, 1)
        check_option("observation", observation, ("full", "compact"))
        super().__init__(device=simulator.device, batch_size=torch.Size([num_envs]))
        self.simulator, self._full = simulator, observation == "full"
        self._generator = torch.Generator(simulator.device)
        self._set_seed(seed)
        b, n, place = num_envs, simulator.topics.max_candidates, simulator.device
        seen: dict[str, object] = {
            "topic": Categorical(len(simulator.topics), shape=(b,), device=place),
            "ranking": Bounded(-1, n - 1, shape=(b, simulator.horizon), dtype=torch.int64, device=place),
            "action_mask": Binary(n, shape=(b, n), dtype=torch.bool, device=place),
        }
        if self._full:
            width = simulator.topics.documents.shape[2]
            seen["query"] = Unbounded(shape=(b, width), device=place)
            seen["documents"] = Unbounded(shape=(b, n, width), device=place)
        self.observation_spec = Composite(seen, shape=(b,), device=place)
        self.action_spec = Categorical(n, shape=(b,), device=place)
        self.reward_spec = Unbounded(shape=(b, 1), dtype=simulator.dtype, device=place)
        self.done_spec = Binary(1, shape=(b, 1), dtype=torch.bool, device=place)
        self._state: SelectionState | None = None
        self._vectors: dict[str, Tensor] = {}

    def _set_seed(self, seed: int | None) -> None:
        self._generator.manual_seed(0 if seed is None else seed)

    def _reset(self, tensordict: TensorDictBase | None = None, **_options: object) -> TensorDictBase:
        simulator, which, topic = self.simulator, None, None
        if tensordict is not None:
            which = tensordict.get("_reset", None)
            topic = tensordict.get("topic", None) if which is None else None
        if topic is None:
            topic = self._drawn(len(simulator.topics))
        users = None if simulator.users is None else self._drawn(2**62)
        if which is None or self._state is None:
            self._state = simulator.reset(topic, users)
        else:
            self._state = simulator.restart(self._state, which.view(-1), topic, users)
        if self._full:  # states are values: frames share these until topics change
            topics, now = simulator.topics, self._state.topic
            self._vectors = {"query": topics.queries[now], "documents": topics.documents[now]}
        return self._seen(self._state, simulator.done(self._state))

    def _drawn(self, most: int) -> Tensor:
        """[B] int64, whole numbers below `most`."""
        return torch.randint(most, self.batch_size, generator=self._generator, device=self.device)

    def _step(self, tensordict: TensorDictBase) -> TensorDictBase:
        if self._state is None:
            raise RuntimeError("the environment has not begun: call reset")
        self._state, result = self.simulator.step(self._state, tensordict["action"])
        return self._seen(self._state, result.terminated).set("reward", result.reward[:, None])

    def _seen(self, state: SelectionState, done: Tensor) -> TensorDictBase:
        """The observation of a state."""
        seen = {"topic": state.topic, "ranking": state.ranking, "action_mask": state.allowed}
        ended = done[:, None]
        found = {**seen, **self._vectors, "done": ended, "terminated": ended}
        return TensorDict(found, self.batch_size, device=self.device)


class ScoringEnv(EnvBase):
    """`scoring_v0` for TorchRL, natively: B lists of a `ScoringSimulator` on its device; an episode is one step.

    The documents of a list are a group of N agents. Observations: ("documents", "observation") [B, N, 2 F] float32, the
    query's vector and the document's own; ("documents", "action_mask") [B, N, A] bool, for padding the score 0 alone;
    "state" [B, (1 + N) F] float32, what centralised training sees; "topic" [B] int64. Actions: ("documents", "action")
    [B, N] int64, scores. The reward [B, 1] is that of the list, shared by all.

    Each list's topic is drawn from all, uniformly; a "topic" that `reset` is given is scored.

    Args:
        simulator: what is stepped.
        num_envs: B.
        seed: of topics.

    Raises:
        ValueError: fewer than one list, or topics without vectors.
    """

    batch_locked = True

    def __init__(self, simulator: ScoringSimulator, num_envs: int, *, seed: int = 0) -> None:
        check_integer("num_envs", num_envs, 1)
        topics, place = simulator.topics, simulator.topics.device
        super().__init__(device=place, batch_size=torch.Size([num_envs]))
        self.simulator = simulator
        self._generator = torch.Generator(place)
        self._set_seed(seed)
        b, n, a, width = num_envs, topics.max_candidates, simulator.n_scores, topics.documents.shape[2]
        # Padding may only score 0.
        self._masks = topics.present[:, :n, None] | (torch.arange(a, device=place) == 0)
        agents = {
            "observation": Unbounded(shape=(b, n, 2 * width), device=place),
            "action_mask": Binary(a, shape=(b, n, a), dtype=torch.bool, device=place),
        }
        self.observation_spec = Composite(
            {
                "topic": Categorical(len(topics), shape=(b,), device=place),
                "state": Unbounded(shape=(b, (1 + n) * width), device=place),
                "documents": Composite(agents, shape=(b, n), device=place),
            },
            shape=(b,),
            device=place,
        )
        scores = Composite({"action": Categorical(a, shape=(b, n), device=place)}, shape=(b, n), device=place)
        self.action_spec = Composite({"documents": scores}, shape=(b,), device=place)
        self.reward_spec = Unbounded(shape=(b, 1), dtype=simulator.dtype, device=place)
        self.done_spec = Binary(1, shape=(b, 1), dtype=torch.bool, device=place)
        self._topic: Tensor | None = None

    def _set_seed(self, seed: int | None) -> None:
        self._generator.manual_seed(0 if seed is None else seed)

    def _reset(self, tensordict: TensorDictBase | None = None, **_options: object) -> TensorDictBase:
        which = None if tensordict is None else tensordict.get("_reset", None)
        topic = None if tensordict is None or which is not None else tensordict.get("topic", None)
        if topic is None:
            most = len(self.simulator.topics)
            topic = torch.randint(most, self.batch_size, generator=self._generator, device=self.device)
        self._topic = topic if which is None or self._topic is None else torch.where(which.view(-1), topic, self._topic)
        return self._seen(self._topic, done=False)

    def _step(self, tensordict: TensorDictBase) -> TensorDictBase:
        if self._topic is None:
            raise RuntimeError("the environment has not begun: call reset")
        reward = self.simulator.step(self._topic, tensordict["documents", "action"])
        return self._seen(self._topic, done=True).set("reward", reward[:, None])

    def _seen(self, topic: Tensor, *, done: bool) -> TensorDictBase:
        """The observation of these topics."""
        topics, batch = self.simulator.topics, self.batch_size
        query, documents = topics.queries[topic], topics.documents[topic]
        agents = {
            "observation": torch.cat([query[:, None].expand_as(documents), documents], 2),
            "action_mask": self._masks[topic],
        }
        ended = torch.full((*batch, 1), done, device=self.device)
        found = {
            "topic": topic,
            "state": torch.cat([query[:, None], documents], 1).flatten(1),
            "documents": TensorDict(agents, documents.shape[:2], device=self.device),
            "done": ended,
            "terminated": ended,
        }
        return TensorDict(found, batch, device=self.device)
