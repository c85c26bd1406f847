"""`scoring_v0` for many queries at once, as a vector environment of Gymnasium.

Shapes: B episodes, N candidates, F vector width, A scores.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space
from numpy.typing import ArrayLike, NDArray

from srd_gym.checks import check_option
from srd_gym.core.scoring import ScoringCore, Ties
from srd_gym.core.users import Clicks
from srd_gym.dtypes import AnyArray, BoolArray, IntArray, ScoreArray
from srd_gym.envs.vector import Seeds, TopicVectorEnv, marked
from srd_gym.measures import Measure, Normalizer
from srd_gym.reading import with_type
from srd_gym.sources import DEFAULT_TOPICS, TopicSource, arrays_to_play

JointObservation = dict[str, AnyArray] | NDArray[np.float32]
Info = dict[str, Any]


class ScoringVectorEnv(TopicVectorEnv):
    """B queries of `scoring_v0` at once: one action holds the scores of all documents of a query.

    It pays, shows and tells what B parallel environments do, sub-environment k seeded with seed + k, with the documents
    of each stacked along an axis. An episode is one step.

    **Observation** of B queries, copies:

    | key | shape, dtype | meaning |
    |---|---|---|
    | query | [B, F] float32 | query vectors; zeros where a topic has none |
    | documents | [B, N, F] float32 | candidate vectors; rows of padding are 0 |
    | action_mask | [B, N, A] int8 | 1 = allowed; padding may only score 0 |

    `observation="flat"` is one array [B, N, 2 F], query and document of each candidate.

    **Action**: [B, N] int, scores from 0 to A - 1; those of padding are ignored. **Reward**: [B] float64, the measure
    of each sorted list. **End**: `terminated` after the step, never truncated.

    **Info**, arrays of numbers with their masks as Gymnasium lays them out, of one structure from reset to end: `topic`
    [B] int64 (index in the topic set); `padding` [B, N] bool; `rank` [B, N] int64, places in the list from 0 (-1 before
    the step, and for padding); `measures` [B, M] float64, by the names in `core.measure_names`, 0 before the step
    and for unlabelled topics; where users pay `click` [B, N] bool (and `intent` [B]).

    **Reset** options: `query_id` (all episodes begin this topic), `query_ids` [B] (one each; None: the next of the
    sub-environment's shuffle), and `reset_mask` [B] bool (begin only these anew).

    **Autoreset**: "same_step" (default: the observation is already the next topic's; the ended episode's is in
    `infos["final_obs"]` and `infos["final_info"]`), "next_step" (every other step ignores the actions and begins the
    next topics), "disabled" (reset ended episodes with `reset_mask` before stepping on).

    Args:
        topics: as for `scoring_v0.parallel_env`, like all arguments that are not listed here.
        num_envs: B.
        autoreset_mode: an `AutoresetMode`, its name or its value ("same_step", "SameStep").
        observation: "full" or "flat".

    Raises:
        TypeError: an argument of the wrong kind.
        ValueError: as `scoring_v0.parallel_env`; an unknown autoreset mode, or less than one sub-environment.
    """

    metadata: dict[str, Any] = {"autoreset_mode": AutoresetMode.SAME_STEP}  # noqa: RUF012

    def __init__(
        self,
        topics: TopicSource | None = None,
        *,
        num_envs: int = 1,
        autoreset_mode: AutoresetMode | str = AutoresetMode.SAME_STEP,
        reward: str | Measure | Clicks | Sequence[str | Measure] = "alpha_nDCG@10",
        measures: Sequence[str | Measure] = (),
        normalizer: Normalizer | None = None,
        n_scores: int = 30,
        observation: Literal["full", "flat"] = "full",
        ties: Ties = "retrieval",
        max_candidates: int | None = None,
    ) -> None:
        check_option("observation", observation, ("full", "flat"))
        self.core = ScoringCore(
            arrays_to_play(DEFAULT_TOPICS if topics is None else topics, max_candidates),
            reward=reward,
            measures=measures,
            normalizer=normalizer,
            n_scores=n_scores,
            ties=ties,
        )
        arrays = self.core.arrays
        super().__init__(arrays, self.core.users, num_envs, autoreset_mode)
        self._flat = observation == "flat"
        n, width = arrays.documents_by_topic.shape[1:]
        self.single_action_space = spaces.MultiDiscrete([self.core.n_scores] * n)
        self.single_observation_space = _space(n, width, self.core.n_scores, self._flat)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._topics = np.zeros(num_envs, np.int64)
        self._users = np.zeros(num_envs, np.int64)
        self._done = np.ones(num_envs, np.bool_)
        self.ranking = np.full((num_envs, n), -1)
        """[B, N] int64: candidates of each list, best first; -1 from the topic's number of candidates on, and before
        the step."""

    def reset(self, *, seed: Seeds = None, options: dict[str, Any] | None = None) -> tuple[JointObservation, Info]:
        """Begin episodes.

        Args:
            seed: sub-environment k is seeded with seed + k, or with entry k of a sequence (None: not seeded).
            options: see the class.

        Raises:
            ValueError: an unknown option or query id, a wrong length, or a `reset_mask` that is none.
            ResetNeeded: a `reset_mask` before the first full reset.
        """
        episodes = self._restart(seed, options)
        return self._observe(self._topics), self._infos(episodes)

    def step(self, actions: ArrayLike) -> tuple[JointObservation, ScoreArray, BoolArray, BoolArray, Info]:
        """Sort the documents of each query by their scores and pay the lists.

        Args:
            actions: [B, N] int, scores.

        Raises:
            TypeError: scores that are not integers.
            ValueError: a wrong shape, or a real document's score out of range.
            ResetNeeded: never reset; or, with autoreset disabled, an episode that has ended.
        """
        begun = self._ended(self._done)
        terminated = ~self._done
        rewards = self._play(terminated.nonzero()[0], np.asarray(actions))
        final: Info = {}
        if self.autoreset_mode is AutoresetMode.SAME_STEP:
            begun = terminated.nonzero()[0]
            final = self._finals(begun)
        self._begin(begun, {})
        infos = self._infos(self._episodes) | final
        return self._observe(self._topics), rewards, terminated, np.zeros(self.num_envs, np.bool_), infos

    def _play(self, episodes: IntArray, scores: AnyArray) -> ScoreArray:
        """Rank and pay these episodes; [B], 0 elsewhere."""
        expected, rewards = self.ranking.shape, np.zeros(self.num_envs)
        if scores.shape != expected:
            raise ValueError(f"expected scores of shape {expected} (episodes, candidates), got {with_type(scores)}")
        if not len(episodes):
            return rewards
        topics = self._topics[episodes]
        generators = [self._generators[k][0] for k in episodes.tolist()] if self.core.ties == "random" else None
        self.ranking[episodes] = order = self.core.rank(topics, scores[episodes], generators)
        rewards[episodes] = self.core.rewards(topics, order, self._users[episodes])
        self._done[episodes] = True
        return rewards

    def _start(self, episodes: IntArray, topics: IntArray, users: IntArray | None) -> None:
        self._topics[episodes] = topics
        self._done[episodes] = False
        self.ranking[episodes] = -1
        if users is not None:
            self._users[episodes] = users

    def _observe(self, topics: IntArray) -> JointObservation:
        """Observations of these topics, stacked."""
        arrays = self.core.arrays
        query, documents = arrays.queries.take(topics, axis=0), arrays.documents_by_topic.take(topics, axis=0)
        if self._flat:
            return np.concatenate([np.broadcast_to(query[:, None], documents.shape), documents], axis=2)
        mask = np.ones((*documents.shape[:2], self.core.n_scores), np.int8)
        mask[~arrays.present[topics], 1:] = 0
        return {"query": query, "documents": documents, "action_mask": mask}

    def _infos(self, episodes: IntArray) -> Info:
        """Infos of these episodes, whether they wait for scores or have ended."""
        core, topics = self.core, self._topics
        has = np.zeros(self.num_envs, np.bool_)
        has[episodes] = True
        info: dict[str, AnyArray] = {
            "topic": topics.copy(),
            "padding": ~core.arrays.present[topics],
            "rank": np.full(self.ranking.shape, -1),
            "measures": self._measures(),
        }
        rows, ranks = (self.ranking >= 0).nonzero()
        candidates = self.ranking[rows, ranks]
        info["rank"][rows, candidates] = ranks
        if core.users is not None:
            info["click"] = np.zeros(self.ranking.shape, np.bool_)
            info["click"][rows, candidates] = core.clicks(topics, self.ranking, self._users)[rows, ranks]
            if core.users.reveal_intent:
                info["intent"] = core.users.intents(topics, self._users)
        return marked(info, has, whole=bool(has.all()))

    def _measures(self) -> ScoreArray:
        """[B, M], of the lists; 0 where there is none."""
        core, topics = self.core, self._topics
        if not self._done.any():
            return np.zeros((self.num_envs, len(core.measure_names)))
        users = {} if core.users is None else {core.reward_name: core.rewards(topics, self.ranking, self._users)}
        return np.stack([*users.values(), *core.measures(topics, self.ranking).values()], axis=1)

    def _finals(self, ended: IntArray) -> Info:
        """The last observation and info of episodes that this step ends, taken before the next ones begin."""
        if not len(ended):
            return {}
        last, seen = np.full(self.num_envs, None, dtype=object), self._observe(self._topics)
        for k in ended.tolist():
            last[k] = {name: part[k] for name, part in seen.items()} if isinstance(seen, dict) else seen[k]
        info = self._infos(ended)
        has = info["_topic"]
        return marked({"final_obs": last}, has, whole=bool(has.all())) | {"final_info": info, "_final_info": has}


def _space(n: int, width: int, n_scores: int, flat: bool) -> spaces.Space[object]:
    """The space of one query's observations."""
    if flat:
        return spaces.Box(-np.inf, np.inf, (n, 2 * width), np.float32)
    return spaces.Dict(
        {
            "query": spaces.Box(-np.inf, np.inf, (width,), np.float32),
            "documents": spaces.Box(-np.inf, np.inf, (n, width), np.float32),
            "action_mask": spaces.Box(0, 1, (n, n_scores), np.int8),
        }
    )
