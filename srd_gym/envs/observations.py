"""Observations of episodes: one place for their options, keys and spaces, of one episode and of all at once.

Shapes: T topics, B episodes, N candidates, F vector width, K horizon.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from gymnasium import spaces
from numpy.typing import DTypeLike

from srd_gym.checks import check_option
from srd_gym.core.arrays import DocumentsOnDemand, TopicArrays
from srd_gym.core.episodes import Where
from srd_gym.core.selection import SelectionCore
from srd_gym.dtypes import AnyArray, IntArray
from srd_gym.envs.features import FEATURES, Features
from srd_gym.topic import FloatArray

ObservationKind = Literal["full", "compact", "features"]
Observation = dict[str, AnyArray]

KINDS: dict[str, tuple[str, ...]] = {
    "full": ("query", "documents", "retrieval_scores", "ranking", "action_mask"),
    "compact": ("topic", "ranking", "action_mask"),
    "features": ("features", "progress", "action_mask"),
}
"""The keys of each kind of observation."""


class Part(NamedTuple):
    """One key of observations."""

    space: Callable[[TopicArrays, int], spaces.Box]
    """Its space, by topics and horizon."""
    table: Callable[[TopicArrays], AnyArray | DocumentsOnDemand] | None = None
    """Its values for all topics, [T, ...], where it depends on the topic alone."""
    state: Callable[[SelectionCore], Callable[[Where], AnyArray]] | None = None
    """Else a function that makes one of a core: its value [...] for one episode, [B, ...] for all, a new array."""


def _numbers(table: Callable[[TopicArrays], FloatArray | DocumentsOnDemand]) -> Part:
    """A key whose values are rows of a table, any numbers."""
    return Part(lambda arrays, _: spaces.Box(-np.inf, np.inf, table(arrays).shape[1:], np.float32), table)


PARTS: dict[str, Part] = {
    "ranking": Part(lambda arrays, horizon: spaces.Box(-1, arrays.max_candidates - 1, (horizon,), np.int64)),
    "action_mask": Part(lambda arrays, _: spaces.Box(0, 1, (arrays.max_candidates,), np.int8)),
    "documents": _numbers(lambda arrays: arrays.documents_by_topic),
    "query": _numbers(lambda arrays: arrays.queries),
    "retrieval_scores": _numbers(lambda arrays: arrays.retrieval_scores),
    # A Box, not a Discrete: libraries turn a Discrete into one-hot vectors as wide as the topic set.
    "topic": Part(
        lambda arrays, _: spaces.Box(0, max(1, len(arrays) - 1), (1,), np.int64),
        lambda arrays: np.arange(len(arrays))[:, None],
    ),
    # One axis, as stock networks (and their checkers) want it.
    "features": Part(
        lambda arrays, _: spaces.Box(-1, 1, (arrays.max_candidates * len(FEATURES),), np.float32), state=Features
    ),
    "progress": Part(
        lambda *_: spaces.Box(0, 1, (1,), np.float32),
        state=lambda core: (
            lambda where: np.array(core.rank[where] / np.maximum(core.length[where], 1), np.float32)[..., None]
        ),
    ),
}
"""All keys, in the order that observations have; `Observer` itself makes `ranking` and `action_mask`."""


def keys_of(observation: ObservationKind | Sequence[str]) -> set[str]:
    """Keys of a kind of observation, or of a kind and further keys.

    Raises:
        ValueError: an unknown word; near ones are suggested.
    """
    words: Any = observation if isinstance(observation, list | tuple) and observation else [observation]
    kind, *further = words
    check_option("observation", kind, KINDS)
    for key in further:
        check_option("key of observations", key, PARTS)
    return {*KINDS[kind], *further}


class Observer:
    """Makes the observations of a core's episodes.

    Nothing that it returns shares memory with anything else, except `documents` where that is asked for.

    Args:
        core: the simulator.
        observation, mask_dtype, share_documents: as of `SelectionEnv`.

    Attributes:
        space: of the observation of one episode.
        copied: key -> [T, ...], tables whose rows observations copy.
        shared: [T, N, F], the documents that observations share; None where they are copied or not observed.

    Raises:
        ValueError: an unknown name (near ones are suggested), or "full" or "features" without document vectors.
    """

    def __init__(
        self,
        core: SelectionCore,
        observation: ObservationKind | Sequence[str] = "full",
        mask_dtype: DTypeLike = "int8",
        share_documents: bool = False,
    ) -> None:
        self.core, self._options = core, (observation, mask_dtype, share_documents)
        keys = keys_of(observation)
        check_option("mask_dtype", getattr(mask_dtype, "__name__", mask_dtype), ("int8", "bool"))
        parts = {key: part for key, part in PARTS.items() if key in keys}
        made = {key: part.space(core.arrays, core.horizon) for key, part in parts.items()}
        self._int8 = np.dtype(mask_dtype) == np.int8
        if not self._int8:
            made["action_mask"] = spaces.Box(0, 1, made["action_mask"].shape, np.bool_)  # type: ignore[arg-type]
        self.space = spaces.Dict(made)  # type: ignore[arg-type]
        self.copied = {key: part.table(core.arrays) for key, part in parts.items() if part.table is not None}
        self.shared = self.copied.pop("documents", None) if share_documents else None
        self._states = [(key, part.state(core)) for key, part in parts.items() if part.state is not None]
        self._ranks = "ranking" in parts
        self._laid_out: FloatArray | None = None
        self._topic = -1
        self._rows: list[tuple[str, AnyArray]] = []
        """Key and row of the tables that are copied, for the topic that was observed last."""
        self._documents: FloatArray | None = None
        """Its documents, where they are shared."""

    def __reduce__(self) -> tuple[object, ...]:
        # Copies have the topics' arrays of their cores.
        return type(self), (self.core, *self._options)

    def observe(self, episode: int) -> Observation:
        """The observation of one episode."""
        core = self.core
        topic = core.topic_index.item(episode)
        ranking, mask, allowed, _ = core.only or core.rows(episode)
        offered = mask.copy() if self._int8 else allowed.copy()
        observation: Observation = {"ranking": ranking.copy()} if self._ranks else {}
        observation["action_mask"] = offered
        if topic != self._topic:  # finding the rows takes as long as copying them, and a topic stays for an episode
            self._topic = topic
            self._rows = [(key, table[topic]) for key, table in self.copied.items()]
            self._documents = None if self.shared is None else self.shared[topic]
        if self._documents is not None:
            observation["documents"] = self._documents
        for key, row in self._rows:
            observation[key] = row.copy()
        for key, value in self._states:
            observation[key] = value(episode)
        return observation

    def observe_all(self) -> Observation:
        """The observations of all episodes, stacked."""
        core = self.core
        offered = core.mask.copy() if self._int8 else core.allowed.copy()
        observation: Observation = {"ranking": core.ranking.copy()} if self._ranks else {}
        observation["action_mask"] = offered
        if self.shared is not None:
            if self._laid_out is None:
                self.began(core.every)
            observation["documents"] = view = self._laid_out.view()  # type: ignore[union-attr]
            view.flags.writeable = False
        for key, table in self.copied.items():
            observation[key] = table.take(core.topic_index, axis=0)
        for key, value in self._states:
            observation[key] = value(slice(None))
        return observation

    def began(self, episodes: IntArray) -> None:
        """Lay out the documents of episodes that have just begun, where observations of all share them."""
        if self.shared is None:
            return
        if self._laid_out is None:
            self._laid_out = self.shared.take(self.core.topic_index, axis=0)
        elif len(episodes) == len(self._laid_out):
            self.shared.take(self.core.topic_index, axis=0, out=self._laid_out, mode="clip")
        else:
            for episode in episodes.tolist():
                self._laid_out[episode] = self.shared[self.core.topic_index.item(episode)]
