"""B episodes at once, each with its own generator and its own shuffle of the topics, as B single environments have.

Shapes: B episodes, T topics.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium.error import ResetNeeded
from gymnasium.utils import seeding
from gymnasium.vector import AutoresetMode, VectorEnv

from srd_gym.checks import check_option
from srd_gym.core.arrays import TopicArrays
from srd_gym.core.episodes import checked_mask
from srd_gym.core.protocols import BoundUsers
from srd_gym.core.users import drawn_users
from srd_gym.dtypes import AnyArray, BoolArray, IntArray
from srd_gym.reading import shown

Seeds = int | Sequence[int | None] | None


class TopicVectorEnv(VectorEnv[object, IntArray, object]):
    """Seeds, topics and autoreset modes of a native vector environment.

    Args:
        arrays: the topics.
        users: who pays, if users do.
        num_envs: B.
        autoreset_mode: an `AutoresetMode`, its name or its value ("same_step", "SameStep").

    Raises:
        ValueError: an unknown autoreset mode, or less than one sub-environment.
    """

    def __init__(
        self, arrays: TopicArrays, users: BoundUsers | None, num_envs: int, autoreset_mode: AutoresetMode | str
    ) -> None:
        if num_envs < 1:
            raise ValueError(f"num_envs must be at least 1, got {num_envs}")
        self.num_envs = num_envs
        self.autoreset_mode = _autoreset_mode(autoreset_mode)
        self.metadata = {**type(self).metadata, "autoreset_mode": self.autoreset_mode}
        self._topic_set, self._with_users = arrays.topics, users is not None
        # Each sub-environment's shuffle of the topics, and how many of it were dealt: all, so that an epoch begins.
        self._shuffles = np.zeros((num_envs, len(arrays)), np.int64)
        self._dealt = np.full(num_envs, self._shuffles.shape[1])
        self._generators = [seeding.np_random() for _ in range(num_envs)]
        """Generator and seed of each sub-environment."""
        self._episodes = np.arange(num_envs)
        self._begun = False

    @property  # type: ignore[misc]
    def np_random(self) -> tuple[np.random.Generator, ...]:  # type: ignore[override]
        """The generators of the sub-environments."""
        return tuple(generator for generator, _ in self._generators)

    @property
    def np_random_seed(self) -> tuple[int, ...]:  # type: ignore[override]
        """The seeds of the sub-environments."""
        return tuple(seed for _, seed in self._generators)

    @abstractmethod
    def _start(self, episodes: IntArray, topics: IntArray, users: IntArray | None) -> None:
        """Begin these episodes with these topics and, where users pay, users."""

    def _restart(self, seed: Seeds, options: dict[str, Any] | None) -> IntArray:
        """Begin the episodes that a reset asks for, and say which."""
        options = options or {}
        for name in options:
            check_option("reset option", name, ("query_id", "query_ids", "reset_mask"))
        episodes = self._episodes
        if "reset_mask" in options:
            episodes = np.flatnonzero(checked_mask("reset_mask", options["reset_mask"], self.num_envs))
            if not self._begun and len(episodes) < self.num_envs:
                raise ResetNeeded("some episodes were never begun; reset all of them first, without a reset_mask")
        asked = self._asked_topics(options, episodes)
        seeds = as_seeds(seed, self.num_envs)
        for episode in episodes.tolist() if seed is not None else ():
            if seeds[episode] is not None:
                self._seed(episode, seeds[episode])
        self._begin(episodes, asked)
        self._begun = True
        return episodes

    def _seed(self, episode: int, seed: int | None) -> None:
        """Give one sub-environment a new generator and a new epoch."""
        self._generators[episode] = seeding.np_random(seed)
        self._dealt[episode] = self._shuffles.shape[1]

    def _ended(self, done: BoolArray) -> IntArray:
        """The episodes that have ended before this step, which begin anew in it.

        Raises:
            ResetNeeded: never reset; or, with autoreset disabled, an episode that has ended.
        """
        # `nonzero` of the array itself: numpy's function of that name takes several times as long on few episodes.
        ended: IntArray = done.nonzero()[0]
        if not self._begun or (self.autoreset_mode is AutoresetMode.DISABLED and len(ended)):
            raise ResetNeeded(
                f"episodes {ended.tolist()} have ended or were never begun; reset them first, "
                "with options={'reset_mask': ...} to leave the others as they are"
            )
        return ended

    def _begin(self, episodes: IntArray, asked: Mapping[int, int]) -> None:
        """Begin episodes: the topics asked for, elsewhere the next of each sub-environment's shuffle."""
        if not len(episodes):
            return
        if asked:
            topics = np.array([asked.get(episode, -1) for episode in episodes.tolist()])
            topics[topics < 0] = self._deal(episodes[topics < 0])
        else:
            topics = self._deal(episodes)
        users = None
        if self._with_users:
            users = np.concatenate([drawn_users(self._generators[k][0], 1) for k in episodes.tolist()])
        self._start(episodes, topics, users)

    def _deal(self, episodes: IntArray) -> IntArray:
        """The next topic of each of these sub-environments' shuffles; a new one where an epoch ended."""
        size = self._shuffles.shape[1]
        for episode in episodes[self._dealt[episodes] == size].tolist():
            self._shuffles[episode] = self._generators[episode][0].permutation(size)
            self._dealt[episode] = 0
        topics: IntArray = self._shuffles[episodes, self._dealt[episodes]]
        self._dealt[episodes] += 1
        return topics

    def _asked_topics(self, options: dict[str, Any], episodes: IntArray) -> dict[int, int]:
        """Topic index of each of these episodes for which the reset options name a topic."""
        if "query_id" in options and "query_ids" in options:
            raise ValueError("reset options query_id (one topic for all) and query_ids (one each) exclude each other")
        query_ids = options.get("query_ids")
        if "query_id" in options:
            query_ids = [options["query_id"]] * self.num_envs
        if query_ids is None:
            return {}
        if isinstance(query_ids, str) or len(query_ids) != self.num_envs:
            came = shown(query_ids) if isinstance(query_ids, str) else len(query_ids)
            raise ValueError(
                f"query_ids must hold one id (or None) for each of {self.num_envs} sub-environments, got {came}"
            )
        names = list(query_ids)
        return {
            episode: self._topic_set.position(names[episode])
            for episode in episodes.tolist()
            if names[episode] is not None
        }


def marked(info: dict[str, AnyArray], has: BoolArray, *, whole: bool) -> dict[str, Any]:
    """Entries [B] as Gymnasium lays them out, each `key` beside its mask `_key`.

    Args:
        info: the entries; they are emptied where `has` is False.
        has: [B] bool.
        whole: whether it is True everywhere.
    """
    if not whole:
        for values in info.values():
            values[~has] = None if values.dtype == object else 0
    info |= {f"_{name}": has for name in info}
    return info


def as_seeds(seed: Seeds, count: int) -> list[int | None]:
    """One seed for each sub-environment: seed + k, or the entries of a sequence.

    Raises:
        ValueError: a sequence of another length.
    """
    if seed is None:
        return [None] * count
    if isinstance(seed, int):
        return [seed + k for k in range(count)]
    seeds = list(seed)
    if len(seeds) != count:
        raise ValueError(f"expected one seed for each of {count} sub-environments, got {len(seeds)}")
    return seeds


def _autoreset_mode(mode: AutoresetMode | str) -> AutoresetMode:
    """The mode, by itself or its name."""
    by_name = {name.casefold(): each for each in AutoresetMode for name in (each.name, each.value)}
    name = str(getattr(mode, "value", mode)).casefold()
    check_option("autoreset_mode", name, by_name)
    return by_name[name]
