"""Infos of B episodes at once, laid out exactly as `gymnasium.vector.SyncVectorEnv` does.

An info is a dictionary of arrays over the B sub-environments; beside each `key` stands `_key`, the mask of those that
have it. Shapes: B episodes.
"""

from __future__ import annotations

import numpy as np

from srd_gym.core.selection import SelectionCore
from srd_gym.dtypes import AnyArray, BoolArray, IntArray, ScoreArray
from srd_gym.envs.observations import Observer
from srd_gym.envs.selection import Info
from srd_gym.envs.vector import marked


class BatchInfos:
    """Makes the infos of all episodes of a core.

    Args:
        core: the simulator.
        observer: makes its observations.
        numeric: as `numeric_infos` of `SelectionEnv`.
    """

    def __init__(self, core: SelectionCore, observer: Observer, numeric: bool) -> None:
        self.core, self._observer, self._numeric = core, observer, numeric
        self._names = np.arange(len(core.arrays)) if numeric else np.array(core.arrays.query_ids, dtype=object)
        self._all_labelled = bool(core.arrays.labelled.all())
        self._everybody = np.ones(core.n_episodes, np.bool_)

    def infos(self, episodes: IntArray, paid: ScoreArray, invalid: BoolArray) -> Info:
        """Infos beside every observation of these episodes; `paid` [B], and `invalid` [B], kept."""
        core = self.core
        info = {
            "topic" if self._numeric else "query_id": self._names.take(core.topic_index),
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
        if self._numeric:
            info["measures"] = np.zeros((core.n_episodes, len(core.measure_names)))
        return self._marked(info, episodes)

    def finals(self, episodes: IntArray, paid: ScoreArray, invalid: BoolArray) -> Info:
        """The last observation and info of episodes that a step ended, taken before the next ones begin (same-step)."""
        if not len(episodes):
            return {}
        last = np.full(self.core.n_episodes, None, dtype=object)
        for episode in episodes.tolist():
            last[episode] = self._observer.observe(episode)
        info = self.infos(episodes, paid, invalid) | self.outcomes(episodes)
        return self._marked({"final_obs": last}, episodes) | {"final_info": info, "_final_info": self._mask(episodes)}

    def outcomes(self, episodes: IntArray) -> Info:
        """Infos that only the ends of these episodes add: the measures of judged topics."""
        core, info = self.core, Info()
        judged = episodes if self._all_labelled else episodes[core.arrays.labelled[core.topic_index[episodes]]]
        if self._numeric and len(judged):
            info["measures"] = np.zeros((core.n_episodes, len(core.measure_names)))
            info["measures"][judged] = np.stack(list(core.measures(judged).values()), axis=1)
        elif len(judged):
            measures: dict[str, AnyArray] = {}
            for name, values in core.measures(judged).items():
                measures[name] = np.zeros(core.n_episodes)
                measures[name][judged] = values
            info |= {"measures": self._marked(measures, judged), "_measures": self._mask(judged)}
        return info

    def _marked(self, info: dict[str, AnyArray], episodes: IntArray) -> Info:
        """Entries [B] of these episodes, empty elsewhere, each with the mask of those that have it."""
        return marked(info, self._mask(episodes), whole=len(episodes) == self.core.n_episodes)

    def _mask(self, episodes: IntArray) -> BoolArray:
        """[B] bool, True at these episodes."""
        if len(episodes) == self.core.n_episodes:
            return self._everybody.copy()
        mask = np.zeros(self.core.n_episodes, np.bool_)
        mask[episodes] = True
        return mask
