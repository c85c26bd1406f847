"""Observations of episodes: one place for their options, keys and spaces, of one episode and of all at once.

Shapes: T topics, B episodes, N candidates, F vector width, K horizon.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from gymnasium import spaces
from numpy.typing import DTypeLike, NDArray

from srd_gym.checks import check_option
from srd_gym.core.arrays import DocumentsOnDemand, TopicArrays
from srd_gym.core.selection import SelectionCore
from srd_gym.dtypes import IntArray
from srd_gym.envs.features import FEATURES, Features
from srd_gym.topic import FloatArray

ObservationKind = Literal["full", "compact", "features"]
Observation = dict[str, NDArray[Any]]

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
    table: Callable[[TopicArrays], NDArray[Any] | DocumentsOnDemand] | None = None
    """Its values for all topics, [T, ...], where it depends on the topic alone; None: a state of the episode."""


PARTS: dict[str, Part] = {
    "ranking": Part(lambda arrays, horizon: spaces.Box(-1, arrays.max_candidates - 1, (horizon,), np.int64)),
    "action_mask": Part(lambda arrays, _: spaces.Box(0, 1, (arrays.max_candidates,), np.int8)),
    "documents": Part(
        lambda arrays, _: _unbounded(arrays.documents_by_topic), lambda arrays: arrays.documents_by_topic
    ),
    "query": Part(lambda arrays, _: _unbounded(arrays.queries), lambda arrays: arrays.queries),
    "retrieval_scores": Part(
        lambda arrays, _: _unbounded(arrays.retrieval_scores), lambda arrays: arrays.retrieval_scores
    ),
    # A Box, not a Discrete: libraries turn a Discrete into one-hot vectors as wide as the topic set.
    "topic": Part(
        lambda arrays, _: spaces.Box(0, max(1, len(arrays) - 1), (1,), np.int64),
        lambda arrays: np.arange(len(arrays))[:, None],
    ),
    # One axis, as stock networks (and their checkers) want it.
    "features": Part(lambda arrays, _: spaces.Box(-1, 1, (arrays.max_candidates * len(FEATURES),), np.float32)),
    "progress": Part(lambda *_: spaces.Box(0, 1, (1,), np.float32)),
}
"""The keys of all kinds, in the order that observations have."""


@dataclass(frozen=True, slots=True)
class ObservationOptions:
    """Options of an environment's observations, under the names that `SelectionEnv` describes.

    Raises:
        ValueError: an unknown name; near ones are suggested.
    """

    observation: ObservationKind = "full"
    mask_dtype: DTypeLike = "int8"
    share_documents: bool = False

    def __post_init__(self) -> None:
        check_option("observation", self.observation, KINDS)
        check_option("mask_dtype", getattr(self.mask_dtype, "__name__", self.mask_dtype), ("int8", "bool"))


class Observer:
    """Makes the observations of a core's episodes.

    Nothing that it returns shares memory with anything else, except `documents` where that is asked for.

    Args:
        core: the simulator.
        options: the observations to make.

    Attributes:
        space: of the observation of one episode.
        copied: key -> [T, ...], tables whose rows observations copy.
        shared: [T, N, F], the documents that observations share; None where they are copied or not observed.

    Raises:
        ValueError: "full" or "features" without document vectors.
    """

    def __init__(self, core: SelectionCore, options: ObservationOptions) -> None:
        self.core, self.options = core, options
        parts = {key: part for key, part in PARTS.items() if key in KINDS[options.observation]}
        made = {key: part.space(core.arrays, core.horizon) for key, part in parts.items()}
        self._int8 = np.dtype(options.mask_dtype) == np.int8
        if not self._int8:
            made["action_mask"] = spaces.Box(0, 1, made["action_mask"].shape, np.bool_)  # type: ignore[arg-type]
        self.space = spaces.Dict(made)  # type: ignore[arg-type]
        self.copied = {key: part.table(core.arrays) for key, part in parts.items() if part.table is not None}
        self.shared = self.copied.pop("documents", None) if options.share_documents else None
        self._features = Features(core) if "features" in parts else None
        self._laid_out: FloatArray | None = None
        self._topic = -1
        self._rows: list[tuple[str, NDArray[Any]]] = []
        """Key and row of the tables that are copied, for the topic that was observed last."""
        self._documents: FloatArray | None = None
        """Its documents, where they are shared."""

    def __reduce__(self) -> tuple[Any, ...]:
        # Copies have the topics' arrays of their cores.
        return type(self), (self.core, self.options)

    def observe(self, episode: int) -> Observation:
        """The observation of one episode."""
        core = self.core
        topic = core.topic_index.item(episode)
        ranking, mask, allowed, _ = core.only or core.rows(episode)
        offered = mask.copy() if self._int8 else allowed.copy()
        if self._features is not None:
            return {"action_mask": offered} | self._features.observe(episode)
        observation: Observation = {"ranking": ranking.copy(), "action_mask": offered}
        if topic != self._topic:  # finding the rows takes as long as copying them, and a topic stays for an episode
            self._topic = topic
            self._rows = [(key, table[topic]) for key, table in self.copied.items()]
            self._documents = None if self.shared is None else self.shared[topic]
        if self._documents is not None:
            observation["documents"] = self._documents
        for key, row in self._rows:
            observation[key] = row.copy()
        return observation

    def observe_all(self) -> Observation:
        """The observations of all episodes, stacked."""
        core = self.core
        offered = core.mask.copy() if self._int8 else core.allowed.copy()
        if self._features is not None:
            return {"action_mask": offered} | self._features.observe_all()
        observation: Observation = {"ranking": core.ranking.copy(), "action_mask": offered}
        if self.shared is not None:
            if self._laid_out is None:
                self.began(core.every)
            observation["documents"] = view = self._laid_out.view()  # type: ignore[union-attr]
            view.flags.writeable = False
        for key, table in self.copied.items():
            observation[key] = table.take(core.topic_index, axis=0)
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


def _unbounded(table: FloatArray | DocumentsOnDemand) -> spaces.Box:
    """The space of a row of any numbers."""
    return spaces.Box(-np.inf, np.inf, table.shape[1:], np.float32)
