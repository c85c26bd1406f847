"""What an agent sees of an episode, and what it is told beside it: spaces, observations and infos.

Shapes: B episodes, N candidates, F vector width, K horizon, T topics.
"""

from __future__ import annotations

import copy
from typing import Any, Literal, Self

import numpy as np
from gymnasium import spaces
from numpy.typing import DTypeLike, NDArray

from srd_gym.core.selection import SelectionCore
from srd_gym.names import check_option

ObservationKind = Literal["full", "compact"]
Observation = dict[str, NDArray[Any]]
Info = dict[str, Any]


class ObservationBuilder:
    """Makes the observations and infos of a core's episodes.

    Nothing that it returns shares memory with anything else, except `documents` where that is asked for.

    Args:
        core: the simulator.
        observation: "full", or "compact": the topic's index in place of vectors and scores.
        mask_dtype: of `action_mask` in observations, int8 or bool, by type or by name.
        share_documents: hand out `documents` read-only and uncopied.

    Raises:
        ValueError: an unknown option, or "full" without document vectors.
    """

    def __init__(
        self, core: SelectionCore, observation: ObservationKind, mask_dtype: DTypeLike, share_documents: bool
    ) -> None:
        check_option("observation", observation, ("full", "compact"))
        self.core = core
        self.compact = observation == "compact"
        self.mask_dtype = _checked_mask_dtype(mask_dtype)
        self._int8 = self.mask_dtype == np.int8
        self.share_documents = share_documents
        arrays = core.arrays
        self.labelled: list[bool] = arrays.labelled.tolist()
        if not self.compact:
            self.documents, self.queries, self.scores = arrays.documents, arrays.queries, arrays.retrieval_scores
        self.space = self._space()
        self.action_space = spaces.Discrete(arrays.max_candidates)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """A twin for the copied core; the topics' arrays are shared."""
        twin = copy.copy(self)
        twin.core = copy.deepcopy(self.core, memo)
        return twin

    def observe(self, episode: int) -> Observation:
        """The observation of one episode."""
        core = self.core
        topic = core.topic_index.item(episode)
        seen: Observation = {
            "ranking": core.ranking[episode].copy(),
            "action_mask": (core.mask if self._int8 else core.allowed)[episode].copy(),
        }
        if self.compact:
            seen["topic"] = core.topic_index[episode : episode + 1].copy()
            return seen
        documents = self.documents[topic]
        seen["documents"] = documents if self.share_documents else documents.copy()
        seen["query"] = self.queries[topic].copy()
        seen["retrieval_scores"] = self.scores[topic].copy()
        return seen

    def info(self, episode: int) -> Info:
        """What is told with every observation: the query's id, whether it is judged, and the mask."""
        core = self.core
        topic = core.topic_index.item(episode)
        return {
            "query_id": core.arrays.query_ids[topic],
            "labelled": self.labelled[topic],
            "action_mask": core.mask[episode].copy(),
        }

    def outcome(self, episode: int) -> Info:
        """What is told at the end: the ranking, wasted ranks left out, the return, and measures where it is judged."""
        core = self.core
        told: Info = {"ranking": tuple([candidate for candidate in core.ranking[episode].tolist() if candidate >= 0])}
        told["return"] = core.episode_return(episode)
        if self.labelled[core.topic_index.item(episode)]:
            told["measures"] = core.episode_measures(episode)
        return told

    def _space(self) -> spaces.Dict:
        """Spaces of fixed shapes, the same for every topic."""
        arrays, n, k = self.core.arrays, self.core.arrays.max_candidates, self.core.horizon
        parts: dict[str, spaces.Space[Any]] = {
            "ranking": spaces.Box(-1, n - 1, (k,), np.int64),
            "action_mask": spaces.Box(0, 1, (n,), self.mask_dtype.type),
        }
        if self.compact:
            # A Box, not a Discrete: libraries turn a Discrete into one-hot vectors as wide as the topic set.
            parts["topic"] = spaces.Box(0, max(1, len(arrays) - 1), (1,), np.int64)
        else:
            width = self.documents.shape[2]
            parts["documents"] = spaces.Box(-np.inf, np.inf, (n, width), np.float32)
            parts["query"] = spaces.Box(-np.inf, np.inf, (width,), np.float32)
            parts["retrieval_scores"] = spaces.Box(-np.inf, np.inf, (n,), np.float32)
        return spaces.Dict(parts)


def _checked_mask_dtype(given: DTypeLike) -> np.dtype[Any]:
    """int8 or bool."""
    try:
        dtype = np.dtype(given)
    except (TypeError, ValueError, SyntaxError):  # numpy parses text
        dtype = None
    if dtype not in (np.dtype(np.int8), np.dtype(np.bool_)):
        raise ValueError(f"mask_dtype must be int8 or bool (the types or their names), got {given!r}")
    return dtype
