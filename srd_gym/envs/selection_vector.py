"""`SRD-v0` for many episodes at once: the native vector environment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space
from numpy.typing import ArrayLike, DTypeLike

from srd_gym.core.episodes import Snapshot, episode_indices
from srd_gym.core.protocols import Pruning, Reward
from srd_gym.core.selection import OnInvalid, RewardType, SelectionCore
from srd_gym.dtypes import BoolArray, IntArray, ScoreArray
from srd_gym.envs.batching import BatchInfos
from srd_gym.envs.observations import Observation, ObservationKind, Observer
from srd_gym.envs.selection import Info, drawn
from srd_gym.envs.vector import Seeds, TopicVectorEnv
from srd_gym.measures import Measure, Normalizer
from srd_gym.pruning import pruning_from
from srd_gym.rendering import RENDER_FPS, RENDER_MODES, Frame, close_window
from srd_gym.sources import DEFAULT_TOPICS, TopicSource, arrays_to_play

VectorStep = tuple[Observation, ScoreArray, BoolArray, BoolArray, Info]


class SelectionVectorEnv(TopicVectorEnv):
    """B episodes of `SelectionEnv` at once.

    Observations, rewards and infos are those that `SyncVectorEnv` makes of B single environments, bit for bit, several
    times faster. Sub-environment k has its own generator, seeded with seed + k, and its own shuffle of the topics.

    **Reset** options: `query_id` (all episodes begin this topic), `query_ids` [B] (one each; None: the next of the
    sub-environment's shuffle), and `reset_mask` [B] bool (begin only these anew; query ids elsewhere are ignored).

    **Autoreset**: "next_step" (default; the step after an end ignores the action and begins the next topic),
    "same_step" (the observation is already the next topic's; the ended episode's stands in `infos["final_obs"]` and
    `infos["final_info"]`), "disabled" (reset ended episodes with `reset_mask` before stepping on).

    Args:
        topics: as for `SelectionEnv`, like all arguments that are not listed here.
        num_envs: B.
        autoreset_mode: an `AutoresetMode`, its name or its value ("same_step", "SameStep").
        share_documents: hand out `documents` [B, N, F] as one read-only array that is never copied: its row k changes
            in place when episode k begins anew, so copy what you keep.
        render_mode: "ansi" and "rgb_array" render every episode, "human" shows the first one.

    Raises:
        TypeError: an argument of the wrong kind.
        ValueError: as `SelectionEnv`; an unknown autoreset mode, or less than one sub-environment.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012
        "render_modes": list(RENDER_MODES),
        "render_fps": RENDER_FPS,
        "autoreset_mode": AutoresetMode.NEXT_STEP,
    }

    def __init__(
        self,
        topics: TopicSource = DEFAULT_TOPICS,
        *,
        num_envs: int = 1,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        reward: str | Measure | Reward = "alpha_DCG",
        reward_type: RewardType = "dense",
        measures: Sequence[str | Measure] = (),
        horizon: int | None = 10,
        max_candidates: int | None = None,
        pruning: Pruning | None = None,
        on_invalid: OnInvalid = "skip",
        normalizer: Normalizer | None = None,
        observation: ObservationKind | Sequence[str] = "full",
        mask_dtype: DTypeLike = "int8",
        share_documents: bool = False,
        numeric_infos: bool = False,
        render_mode: str | None = None,
    ) -> None:
        self.core = SelectionCore(
            arrays_to_play(topics, max_candidates),
            reward=reward,
            reward_type=reward_type,
            measures=measures,
            horizon=horizon,
            pruning=None if pruning is None else pruning_from(pruning),
            on_invalid=on_invalid,
            normalizer=normalizer,
            episodes=num_envs,
        )
        super().__init__(self.core.arrays, self.core.users, num_envs, autoreset_mode)
        self._observer = Observer(self.core, observation, mask_dtype, share_documents)
        self._infos = BatchInfos(self.core, self._observer, numeric_infos)
        self.single_observation_space = self._observer.space
        self.single_action_space = spaces.Discrete(self.core.arrays.max_candidates)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.render_mode = render_mode
        self._futures: np.random.Generator | None = None
        self._paid = np.zeros(num_envs)

    def reset(self, *, seed: Seeds = None, options: dict[str, Any] | None = None) -> tuple[Observation, Info]:
        """Begin episodes.

        Args:
            seed: sub-environment k is seeded with seed + k, or with entry k of a sequence (None: not seeded).
            options: see the class.

        Raises:
            ValueError: an unknown option or query id, a wrong length, or a `reset_mask` that is none.
            ResetNeeded: a `reset_mask` before the first full reset.
        """
        episodes = self._restart(seed, options)
        if self.render_mode == "human":
            self.render()
        return self._observer.observe_all(), self._infos.infos(episodes, self._paid, np.zeros(self.num_envs, np.bool_))

    def step(self, actions: ArrayLike) -> VectorStep:
        """Put a candidate at the next rank of every episode.

        Args:
            actions: [B] int, candidate indices.

        Raises:
            TypeError: actions that are not integers.
            ValueError: as `SelectionCore.step`.
            ResetNeeded: never reset; or, with autoreset disabled, an episode that has ended.
        """
        begun = self._ended(self.core.done)
        result = self.core.step(actions)
        self._paid += result.reward
        terminated = result.terminated
        terminated[begun] = False
        ended = terminated.nonzero()[0]
        final: Info = {}
        if self.autoreset_mode is AutoresetMode.SAME_STEP:
            final = self._infos.finals(ended, self._paid, result.invalid.copy())
            ended, begun = ended[:0], np.concatenate((begun, ended))  # restored at their ends, and ended now
            result.invalid[begun] = False
        self._begin(begun, {})
        if self.render_mode == "human":
            self.render()
        infos = self._infos.infos(self._episodes, self._paid, result.invalid) | self._infos.outcomes(ended) | final
        return self._observer.observe_all(), result.reward, terminated, np.zeros(self.num_envs, np.bool_), infos

    def action_masks(self) -> BoolArray:
        """[B, N] bool, the allowed candidates."""
        return self.core.allowed.copy()

    def call(self, name: str, *args: object, **kwargs: object) -> tuple[Any, ...]:
        """As `SyncVectorEnv.call`, an entry per episode: of `action_masks`, `render` or an attribute.

        Raises:
            AttributeError: no such attribute, or a method of all episodes at once.
        """
        value = getattr(self, name)
        if callable(value) and name not in ("action_masks", "render"):
            raise AttributeError(f"{name} acts on all episodes at once: call the vector environment's own method")
        return tuple(value(*args, **kwargs)) if callable(value) else (value,) * self.num_envs

    def snapshot(self, episodes: ArrayLike | None = None) -> Snapshot:
        """State of episodes, as a small immutable value; shuffles of topics are not part of it.

        Args:
            episodes: which ones: [B'] int (or one), or a [B] bool mask as `reset_mask`; None: all.

        Raises:
            TypeError: episodes that are neither integers nor a mask.
            ValueError: one out of range, or a mask of another shape or without True.
            ResetNeeded: no episode has begun.
        """
        if not self._begun:
            raise ResetNeeded("no episode has begun, so there is nothing to take a snapshot of; call reset() first")
        return self.core.snapshot(episodes)

    def restore(self, snapshot: Snapshot, episodes: ArrayLike | None = None, *, same_future: bool = False) -> None:
        """Put episodes where a snapshot says, as `SelectionCore.restore`; the next `step` goes on from there.

        Where users pay, the rest of each episode is drawn anew as by `SelectionEnv.restore`, unless `same_future`.

        Raises:
            TypeError: episodes that are neither integers nor a mask.
            ValueError: a snapshot of other topics, another reward or another shape, or episodes that do not fit.
        """
        self._futures = self._futures or self._generators[0][0].spawn(1)[0]
        self.core.restore(snapshot, episodes, self._futures, same_future=same_future)
        where = episode_indices(snapshot.episodes if episodes is None else episodes, self.num_envs)
        self._paid[where] = self.core.paid(where)
        self._observer.began(where)
        self._begun = self._begun or bool((self.core.length > 0).all())

    def render(self) -> tuple[str, ...] | tuple[Frame, ...] | None:
        """Each episode's ranking so far, as text or as a picture; "human" shows the first episode in a window.

        Other modes give None and a warning.

        Raises:
            ResetNeeded: no episode has begun.
            ImportError: a picture without matplotlib.
        """
        if self.render_mode not in ("ansi", "rgb_array"):
            drawn(self.core, 0, self.render_mode)
            return None
        return tuple(drawn(self.core, k, self.render_mode) for k in range(self.num_envs))  # type: ignore[return-value]

    def close_extras(self, **kwargs: object) -> None:
        """Close the window, if there is one."""
        close_window(self.render_mode)

    def _seed(self, episode: int, seed: int | None) -> None:
        super()._seed(episode, seed)
        self._futures = None

    def _start(self, episodes: IntArray, topics: IntArray, users: IntArray | None) -> None:
        self.core.reset(topics, episodes if len(episodes) < self.num_envs else None, users)
        self._paid[episodes] = 0.0
        self._observer.began(episodes)
