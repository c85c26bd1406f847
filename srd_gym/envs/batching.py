"""Observations of B episodes at once, laid out exactly as `gymnasium.vector.SyncVectorEnv` does.

An info is a dictionary of arrays over the B sub-environments; beside each `key` stands `_key`, the mask of those that
have it. Shapes: B episodes, N candidates, F vector width.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from srd_gym.core.selection import SelectionCore
from srd_gym.dtypes import BoolArray, IntArray, ScoreArray
from srd_gym.envs.selection import Info, Observation, ObservationBuilder, ObservationKind
from srd_gym.topic import FloatArray


class BatchObservationBuilder(ObservationBuilder):
    """`ObservationBuilder` of all episodes of a core at once. Arguments as there."""

    def __init__(
        self, core: SelectionCore, observation: ObservationKind, mask_dtype: DTypeLike, share_documents: bool
    ) -> None:
        super().__init__(core, observation, mask_dtype, share_documents)
        self._ids = np.array(core.arrays.query_ids, dtype=object)
        self._all_labelled = bool(core.arrays.labelled.all())
        self._everybody = np.ones(core.n_episodes, np.bool_)
        self._shared: FloatArray | None = None
        if share_documents and not self.compact:
            self._shared = self.documents.take(core.topic_index, axis=0)

    def began(self, episodes: IntArray) -> None:
        """Lay out the documents of episodes that have just begun, where they are shared."""
        if self._shared is None:
            return
        if len(episodes) == len(self._shared):
            self.documents.take(self.core.topic_index, axis=0, out=self._shared, mode="clip")
        else:
            for episode in episodes.tolist():
                self._shared[episode] = self.documents[self.core.topic_index.item(episode)]

    def observe_all(self) -> Observation:
        """Observations of all episodes, stacked."""
        core = self.core
        mask = core.mask if self._int8 else core.allowed
        observation: Observation = {"ranking": core.ranking.copy(), "action_mask": mask.copy()}
        if self.compact:
            observation["topic"] = core.topic_index[:, None].copy()
            return observation
        if self._shared is None:
            observation["documents"] = self.documents.take(core.topic_index, axis=0)
        else:
            observation["documents"] = view = self._shared.view()
            view.flags.writeable = False
        observation["query"] = self.queries.take(core.topic_index, axis=0)
        observation["retrieval_scores"] = self.scores.take(core.topic_index, axis=0)
        return observation

    def infos(self, episodes: IntArray, paid: ScoreArray, invalid: BoolArray) -> Info:
        """Infos beside every observation of these episodes; `paid` [B], and `invalid` [B], kept, as of `info`."""
        core = self.core
        info = {
            "query_id": self._ids.take(core.topic_index),
            "labelled": core.arrays.labelled.take(core.topic_index),
            "action_mask": core.mask.copy(),
            "ranking": core.ranking.copy(),
            "invalid_action": invalid,
            "wasted": core.wasted.copy(),
            "return": paid.copy(),
        }
        if core.users is not None:
            info["clicks"] = clicks = core.clicks(core.every)
            info["click"] = clicks[core.every, core.rank - 1] & (core.rank > 0)
            if core.users.reveal_intent:
                info["intent"] = core.intents(core.every)
        return self._marked(info, episodes)

    def finals(self, episodes: IntArray, paid: ScoreArray, invalid: BoolArray) -> Info:
        """The last observation and info of episodes that a step ended, taken before the next ones begin (same-step)."""
        if not len(episodes):
            return {}
        last = np.full(self.core.n_episodes, None, dtype=object)
        for episode in episodes.tolist():
            last[episode] = self.observe(episode)
        info = self.infos(episodes, paid, invalid) | self.outcomes(episodes)
        return self._marked({"final_obs": last}, episodes) | {"final_info": info, "_final_info": self._mask(episodes)}

    def outcomes(self, episodes: IntArray) -> Info:
        """Infos that only the ends of these episodes add: the measures of judged topics."""
        core, info = self.core, Info()
        judged = episodes if self._all_labelled else episodes[core.arrays.labelled[core.topic_index[episodes]]]
        if len(judged):
            measures: dict[str, NDArray[Any]] = {}
            for name, values in core.measures(judged).items():
                measures[name] = np.zeros(core.n_episodes)
                measures[name][judged] = values
            info |= {"measures": self._marked(measures, judged), "_measures": self._mask(judged)}
        return info

    def _marked(self, info: dict[str, NDArray[Any]], episodes: IntArray) -> Info:
        """Entries [B] of these episodes, empty elsewhere, each with the mask of those that have it."""
        has = self._mask(episodes)
        if len(episodes) < len(has):
            for values in info.values():
                values[~has] = None if values.dtype == object else 0
        info |= {f"_{name}": has for name in info}
        return info

    def _mask(self, episodes: IntArray) -> BoolArray:
        """[B] bool, True at these episodes."""
        if len(episodes) == self.core.n_episodes:
            return self._everybody.copy()
        mask = np.zeros(self.core.n_episodes, np.bool_)
        mask[episodes] = True
        return mask


def as_seeds(seed: int | Sequence[int | None] | None, count: int) -> list[int | None]:
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
