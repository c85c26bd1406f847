"""`scoring_v0`: every document is an agent and scores itself, all in one step (PettingZoo's parallel interface)."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

import numpy as np
from gymnasium import spaces
from gymnasium.error import ResetNeeded
from numpy.typing import NDArray
from pettingzoo import ParallelEnv

from srd_gym.checks import check_option, holds_truth, near, unknown
from srd_gym.core.scoring import ScoringCore, Ties
from srd_gym.core.users import Clicks, drawn_users
from srd_gym.dtypes import AnyArray
from srd_gym.measures import Measure, Normalizer
from srd_gym.reading import few, shown, with_type
from srd_gym.rendering import RENDER_FPS, RENDER_MODES, Frame, close_window, render, scoring_scene
from srd_gym.showing import repr_of
from srd_gym.sources import DEFAULT_TOPICS, TopicShuffle, TopicSource, arrays_to_play
from srd_gym.topic_fields import read_only

ScoringObservation = Literal["full", "local", "flat"]
Offered = Literal["all", "present"]
Observation = dict[str, AnyArray] | NDArray[np.float32]
Info = dict[str, Any]


class ScoringEnv(ParallelEnv[str, Observation, int]):  # type: ignore[misc]  # PettingZoo publishes no types
    """Search result diversification as joint scoring (the task of MA4DIV, Chen et al. 2025).

    Each document gives itself an integer score, the list is sorted by score, and all documents share one reward, a
    measure of the list.

    | fact | value |
    |---|---|
    | agents | `doc_0` ... `doc_{N-1}`, N of the largest topic (or `max_candidates`), the same in every episode |
    | action | `Discrete(A)`, the document's score; A = `n_scores` |
    | reward | a measure of the sorted list, the same for all |
    | episode | one step; then `terminated`, never truncated |

    **Observation** of a document (F vector width), `observation="full"`:

    | key | shape, dtype | meaning |
    |---|---|---|
    | query | [F] float32 | query vector; zeros where the topic has none |
    | document | [F] float32 | its own vector; zeros for padding |
    | documents | [N, F] float32 | all candidates; rows of padding are 0 |
    | action_mask | [A] int8 | 1 = allowed; padding may only score 0 |

    "local" leaves `documents` out; "flat" is one vector [2 F], query then document. Arrays are read-only views of the
    topic set's, handed out by reference: labels are never among them.

    Agents beyond a topic's candidates are **padding**: zero vectors, only action 0 allowed, the same shared reward,
    `info["padding"]` True; they are never sorted, and their actions may be missing and are ignored. `agents="present"`
    leaves them out of `agents` (several libraries break on that).

    **Info** of a document, numbers only, at `reset` and after the step: `padding`; `topic` (the topic's index in the
    topic set); `rank`, its place in the list from 0 (-1 before the step, and for padding). Where users pay, `click`
    says whether the user clicked it (and `intent` which subtopic the user wants, with `reveal_intent=True` only).
    `env.query_id`, `env.ranking` and `env.measures` tell the rest.

    `state()` is what centralised training sees: query and candidates as one vector [(1 + N) F].

    **Reset** options: `query_id`. Without it topics come in a seeded shuffle, each once per epoch.

    Args:
        topics: a `TopicSet`, topics in a list, its `TopicArrays`, a path, or a name ("words",
            "synthetic:PRESET[:TOPICS[:SEED]]"); None takes the embedded "synthetic:serp".
        reward: the measure of the list that is paid: a name, a `Measure`, or several whose values are added up; or
            `Clicks` (or its notation): what a simulated user does with the list, drawn at each reset.
        measures: more measures for `env.measures`.
        normalizer: what ideal rankings are made of: "pool", "candidates", or None: the pool where every topic has one.
        n_scores: A, at least 2 (the paper: 30 on TREC, 15 on DU-DIV).
        observation: "full", "local" or "flat".
        ties: "retrieval" (candidate order) or "random" (seeded).
        agents: "all" offers padding too, "present" only the topic's documents.
        max_candidates: N; None takes the largest topic's, a topic with more is an error.
        render_mode: "ansi" (text), "rgb_array" (a picture, [720, 1280, 3] uint8), "human" (a window, shown by itself at
            every reset and step) or None. Pictures show the labels; they need matplotlib (extra `render`).

    Raises:
        TypeError: an argument of the wrong kind.
        ValueError: an unknown name, fewer than 2 scores, a topic set without vectors, or a topic larger than
            `max_candidates`.
    """

    __repr__ = repr_of("core.arrays.topics", "core.reward_name")

    metadata: ClassVar[dict[str, Any]] = {
        "name": "scoring_v0",
        "render_modes": list(RENDER_MODES),
        "render_fps": RENDER_FPS,
        "is_parallelizable": True,
    }

    def __init__(
        self,
        topics: TopicSource | None = None,
        *,
        reward: str | Measure | Clicks | Sequence[str | Measure] = "alpha_nDCG@10",
        measures: Sequence[str | Measure] = (),
        normalizer: Normalizer | None = None,
        n_scores: int = 30,
        observation: ScoringObservation = "full",
        ties: Ties = "retrieval",
        agents: Offered = "all",
        max_candidates: int | None = None,
        render_mode: str | None = None,
    ) -> None:
        check_option("observation", observation, ("full", "local", "flat"))
        check_option("agents", agents, ("all", "present"))
        if render_mode is not None:
            check_option("render_mode", render_mode, RENDER_MODES)
        self.core = ScoringCore(
            arrays_to_play(DEFAULT_TOPICS if topics is None else topics, max_candidates),
            reward=reward,
            measures=measures,
            normalizer=normalizer,
            n_scores=n_scores,
            ties=ties,
        )
        arrays = self.core.arrays
        self.render_mode = render_mode
        self.possible_agents = [f"doc_{i}" for i in range(arrays.max_candidates)]
        self.agents: list[str] = []
        self.ranking: tuple[int, ...] = ()
        """Candidates of the last list, best first; empty before the step."""
        self.measures: dict[str, float] = {}
        """The last list's measures, named and normalised as in tables, the reward's first; empty before the step and on
        unlabelled topics."""
        self._index = {agent: i for i, agent in enumerate(self.possible_agents)}
        self._observation, self._offered = observation, agents
        scores = np.arange(self.core.n_scores)
        # Allowed scores of a document (all) and of padding (0 alone).
        self._masks = read_only(np.ones_like(scores, np.int8)), read_only((scores == 0).astype(np.int8))
        self._action_space = spaces.Discrete(self.core.n_scores)
        self._observation_space = self._space()
        width = arrays.documents_by_topic.shape[2]
        self.state_space = spaces.Box(-np.inf, np.inf, ((1 + arrays.max_candidates) * width,), np.float32)
        self._order = TopicShuffle(len(arrays))
        self._generator = np.random.default_rng()
        self._topic: int | None = None
        self._user = np.zeros(1, np.int64)
        self._clicked: list[int] = []
        self._scores = np.zeros(arrays.max_candidates, np.int64)

    @property
    def query_id(self) -> str:
        """Id of the episode's topic.

        Raises:
            ResetNeeded: no episode has begun.
        """
        return self.core.arrays.query_ids[self._begun()]

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        """The space of an agent's observations: one object, shared by all agents."""
        self._known(agent)
        return self._observation_space

    def action_space(self, agent: str) -> spaces.Space[Any]:
        """`Discrete(A)`: one object, shared by all agents."""
        self._known(agent)
        return self._action_space

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Observation], dict[str, Info]]:
        """Begin the next topic of the epoch, or the one asked for.

        Args:
            seed: seeds the shuffle (and random ties) and opens a new epoch.
            options: {"query_id": id of the topic to begin}; other keys are ignored, as PettingZoo's tests ask for.

        Raises:
            ValueError: an unknown query id, or a key that is spelt much like query_id.
        """
        if seed is not None:
            self._generator = np.random.default_rng(seed)
            self._order.restart()
        options = options or {}
        if misspelt := [key for key in options if key != "query_id" and near(key, ["query_id"])]:
            raise unknown("reset option", misspelt[0], ["query_id"])
        query_id = options.get("query_id")
        arrays = self.core.arrays
        self._topic = self._order.next(self._generator) if query_id is None else arrays.topics.position(query_id)
        present = int(arrays.n_candidates[self._topic])
        self.agents = self.possible_agents[: present if self._offered == "present" else None]
        self.ranking, self.measures, self._clicked = (), {}, []
        if self.core.users is not None:
            self._user = drawn_users(self._generator, 1)
        if self.render_mode == "human":
            self.render()
        return self._observe(), self._infos()

    def step(
        self, actions: Mapping[str, int]
    ) -> tuple[dict[str, Observation], dict[str, float], dict[str, bool], dict[str, bool], dict[str, Info]]:
        """Sort the documents by their scores and pay the list.

        Raises:
            ResetNeeded: no episode is running.
            TypeError: a score that is no integer.
            ValueError: a real document's score is missing or out of range, or an agent does not exist.
        """
        if not self.agents:
            raise ResetNeeded("no episode is running: it has ended or was never begun; call reset() first")
        topic = self._begun()
        scores = self._gathered(actions)
        order = self.core.rank([topic], scores[None], self._generator)
        self._scores = scores
        reward = self.core.rewards([topic], order, self._user).item()
        self.ranking = tuple(order[0, : self.core.arrays.n_candidates[topic]].tolist())
        if self.core.arrays.labelled[topic]:
            self.measures = {name: value.item() for name, value in self.core.measures([topic], order).items()}
            if self.core.users is not None:
                self.measures = {self.core.reward_name: reward, **self.measures}
                self._clicked = order[self.core.clicks([topic], order, self._user)].tolist()
        observations, infos = self._observe(), self._infos()
        ended, self.agents = self.agents, []
        if self.render_mode == "human":
            self.render()
        return (
            observations,
            dict.fromkeys(ended, reward),
            dict.fromkeys(ended, True),
            dict.fromkeys(ended, False),
            infos,
        )

    def state(self) -> NDArray[np.float32]:
        """[(1 + N) F] float32: query vector, then the candidates' (padding 0), in candidate order.

        Raises:
            ResetNeeded: no episode has begun.
        """
        topic, arrays = self._begun(), self.core.arrays
        return np.concatenate([arrays.queries[topic], arrays.documents_by_topic[topic].reshape(-1)])

    def render(self) -> str | Frame | None:
        """The documents by score with what they cover, as text or as a picture; "human" shows it; None without a mode.

        Raises:
            ResetNeeded: no episode has begun.
            ImportError: a picture without matplotlib.
        """
        if self.render_mode is None:
            return None
        scene = scoring_scene(self.core, self._begun(), self._scores, self.ranking, self.measures, self._user)
        return render(scene, self.render_mode)

    def close(self) -> None:
        """Close the window, if there is one."""
        close_window(self.render_mode)

    def _observe(self) -> dict[str, Observation]:
        """Observation of each agent."""
        topic, arrays = self._begun(), self.core.arrays
        query, documents = arrays.queries[topic], arrays.documents_by_topic[topic]
        if self._observation == "flat":
            rows = np.concatenate([np.broadcast_to(query, documents.shape), documents], axis=1)
            return dict(zip(self.agents, rows, strict=False))
        shared = {"query": query} | ({"documents": documents} if self._observation == "full" else {})
        present, (real, padding) = int(arrays.n_candidates[topic]), self._masks
        return {
            agent: {**shared, "document": documents[i], "action_mask": real if i < present else padding}
            for i, agent in enumerate(self.agents)
        }

    def _infos(self) -> dict[str, Info]:
        """Info of each agent."""
        topic = self._begun()
        present = int(self.core.arrays.n_candidates[topic])
        places = {candidate: rank for rank, candidate in enumerate(self.ranking)}
        infos: dict[str, Info] = {
            agent: {"topic": topic, "padding": i >= present, "rank": places.get(i, -1)}
            for i, agent in enumerate(self.agents)
        }
        if (users := self.core.users) is not None:
            told = {"intent": users.intents(np.array([topic]), self._user).item()} if users.reveal_intent else {}
            for i, info in enumerate(infos.values()):
                info |= {"click": i in self._clicked, **told}
        return infos

    def _gathered(self, actions: Mapping[str, int]) -> NDArray[np.int64]:
        """[N] the scores as they are given; those of padding are 0."""
        n, present = len(self.possible_agents), int(self.core.arrays.n_candidates[self._begun()])
        for agent in actions:
            self._known(agent)
        missing = [agent for agent in self.possible_agents[:present] if agent not in actions]
        if missing:
            raise ValueError(
                f"{len(missing)} of {present} documents gave no score ({few(missing)}); expected a score from every "
                "document of the topic"
            )
        given = [actions[agent] for agent in self.possible_agents[:present]]
        if holds_truth(given):
            raise TypeError(f"scores must be integers from 0 to {self.core.n_scores - 1}, got True or False")
        scores = np.zeros(n, np.int64)
        for i, score in enumerate(given):
            try:
                scores[i] = operator.index(score)
            except (TypeError, OverflowError):
                raise TypeError(
                    f"the score of {self.possible_agents[i]} must be an integer from 0 to {self.core.n_scores - 1}, "
                    f"got {with_type(score)}"
                ) from None
        return scores

    def _begun(self) -> int:
        """Index of the episode's topic."""
        if self._topic is None:
            raise ResetNeeded("no episode has begun; call reset() first")
        return self._topic

    def _known(self, agent: str) -> None:
        """Refuse an agent that does not exist."""
        if agent not in self._index:
            last = self.possible_agents[-1]
            raise ValueError(
                f"no agent {shown(agent)}: agents are doc_0 to {last}, one per candidate of the largest topic"
            )

    def _space(self) -> spaces.Space[object]:
        """The space of observations."""
        n, width = self.core.arrays.documents_by_topic.shape[1:]
        vector = spaces.Box(-np.inf, np.inf, (width,), np.float32)
        if self._observation == "flat":
            return spaces.Box(-np.inf, np.inf, (2 * width,), np.float32)
        parts: dict[str, spaces.Space[object]] = {"query": vector, "document": vector}
        if self._observation == "full":
            parts["documents"] = spaces.Box(-np.inf, np.inf, (n, width), np.float32)
        parts["action_mask"] = spaces.Box(0, 1, (self.core.n_scores,), np.int8)
        return spaces.Dict(parts)
