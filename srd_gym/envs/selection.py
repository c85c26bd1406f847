"""`SRD-v0`: one agent ranks a topic's documents, one per step; and what it sees of an episode.

Shapes: N candidates, F vector width, K horizon, T topics.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, ClassVar

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from gymnasium.error import ResetNeeded
from numpy.typing import DTypeLike

from srd_gym.checks import argument_errors, check_option
from srd_gym.core.episodes import Snapshot
from srd_gym.core.protocols import Pruning, Reward
from srd_gym.core.selection import OnInvalid, RewardType, SelectionCore
from srd_gym.dtypes import BoolArray
from srd_gym.envs.observations import Observation, ObservationKind, Observer
from srd_gym.measures import Measure, Normalizer
from srd_gym.pruning import pruning_from
from srd_gym.reading import shown
from srd_gym.rendering import RENDER_FPS, RENDER_MODES, Frame, close_window, render, selection_scene
from srd_gym.showing import repr_of
from srd_gym.sources import DEFAULT_TOPICS, TopicShuffle, TopicSource, arrays_to_play

Info = dict[str, Any]


class SelectionEnv(gym.Env[Observation, np.int64]):
    """Search result diversification as selection of documents, one per step.

    The agent ranks a query's candidates so that the first ranks cover many of its subtopics: the decision process of
    MDP-DIV (Xia et al. 2017) and M2Div (Feng et al. 2018).

    **Observation**, a flat `Dict` of fixed shapes (N candidates, F vector width, K horizon); labels are never in it:

    | key | shape, dtype | meaning |
    |---|---|---|
    | query | [F] float32 | query vector; zeros where the topic has none |
    | documents | [N, F] float32 | candidate vectors; rows of padding are 0 |
    | retrieval_scores | [N] float32 | first-stage scores; zeros where there is no retrieval order |
    | ranking | [K] int64 | candidates ranked so far by rank; -1 where empty or wasted |
    | action_mask | [N] int8 or bool | 1 = allowed |

    `observation="compact"` has `topic` [1] int64 (index in the topic set), `ranking` and `action_mask` only.

    `observation="features"`, for stock networks, has `features` [N C] float32, `progress` [1] float32 (ranks filled /
    ranks to fill, 0 to 1) and `action_mask`. `features.reshape(N, C)` has a row for each candidate; its columns, named
    by `srd_gym.envs.FEATURES`, are 0 for padding. Standardised: (x - mean) / (3 standard deviations), cut off at -1 and
    1, and 0 where all are alike.

    | column | from, to | meaning |
    |---|---|---|
    | query_cosine | -1, 1 | cosine with the query, standardised over the topic's candidates; 0 without a query vector |
    | retrieval_score | -1, 1 | score, standardised over the topic's candidates; 0 without a retrieval order |
    | reciprocal_rank | 0, 1 | 1 / rank in the retrieval order; 0 without one |
    | largest_cosine | -1, 1 | largest cosine with a ranked document, standardised over pairs of candidates; else 0 |
    | mean_cosine | -1, 1 | mean of these standardised cosines over the ranked documents; else 0 |
    | ranked | 0, 1 | 1 = ranked already |
    | present | 0, 1 | 1 = a candidate, 0 = padding |

    **Action**: `Discrete(N)`, the candidate for the next rank. For one that is masked (ranked, padding, pruned)
    `info["invalid_action"]` is True, and `on_invalid` decides: "skip" leaves the rank empty (gain 0; one warning per
    environment says how to mask), "next" takes the first allowed candidate in candidate order (the retrieval order
    where one exists), as a baseline for learners without masks, and "raise" refuses.

    **Reward**: the candidate's gain in the measure `reward`, a Python float. The undiscounted return is the plain
    measure of the ranking, a wasted rank counting as a non-relevant document; on an unlabelled topic it is 0.

    **End**: `terminated` after min(horizon, candidates) ranks, wasted ones included; never truncated.

    **Info**, of one structure from reset to end:

    | key | type | meaning |
    |---|---|---|
    | query_id | str | the topic |
    | labelled | bool | whether the topic is judged |
    | action_mask | [N] int8 | as observed |
    | ranking | [K] int64 | as observed: -1 where empty or wasted |
    | invalid_action | bool | whether the last action was masked |
    | wasted | int | ranks left empty by masked actions so far |
    | return | float | sum of the rewards so far |
    | click, clicks | bool, [K] bool | where users pay (`reward=Clicks(...)`): at the last rank, and at each |
    | intent | int | with `reveal_intent=True`: the subtopic that the user wants, -1 for none |

    At the end of a labelled topic `measures` joins them (name -> float, the reward's first, then those of the
    argument). They are named and normalised as in tables: `measures["alpha_nDCG@10"]` is what `srd evaluate` prints for
    the ranking, and the return with `reward="alpha_nDCG@10"`. Tables divide alpha_DCG and ERR_IA by a constant that
    rewards leave out; both values are there, the return as `measures["alpha_DCG(normalization=None)@10"]`.

    **Reset** options: `query_id`. Without it topics come in a seeded shuffle, each once per epoch.

    Args:
        topics: a `TopicSet`, topics in a list, its `TopicArrays`, the path of a Parquet file, or a name
            ("words", "synthetic:PRESET[:TOPICS[:SEED]]").
        reward: what is paid: a measure's name, a `Measure` or a `Reward`; a cutoff left out is the horizon. `Clicks`
            (or its notation) pays what a simulated user does, who is drawn at each reset.
        reward_type: "dense" (each gain at its step) or "sparse" (the return at the last step: MDP-DIV's ReturnOnly).
        measures: more measures for `info["measures"]`; a cutoff left out is the horizon.
        horizon: K, ranks to fill; None ranks every candidate.
        max_candidates: N; None takes the largest topic's, a topic with more is an error.
        pruning: a strategy that masks candidates (`srd_gym.protocols.Pruning`).
        on_invalid: "skip", "next" or "raise".
        normalizer: what ideal rankings are made of: "pool", "candidates", or None: the pool where every topic has one.
        observation: "full", "compact" or "features"; or one of them and further keys: ["compact", "retrieval_scores"].
        mask_dtype: of the observed `action_mask`: int8 or bool, as type or name (names survive JSON).
        share_documents: hand out `documents` as one read-only array, uncopied. Gymnasium's checker demands copies since
            1.4, so pass `disable_env_checker=True` to `gym.make`, or make "srd_gym:SRD-shared-v0",
            registered so.
        numeric_infos: have arrays of numbers alone in the infos, of one structure, for libraries that make tensors of
            them (TorchRL): `topic` (index in the topic set) in place of `query_id`, and from reset on `measures` [M]
            float64, by the names in `core.measure_names`; 0 before the end and for unlabelled topics.
        render_mode: "ansi" (text), "rgb_array" (a picture, [720, 1280, 3] uint8), "human" (a window, shown by itself at
            every reset and step) or None. Pictures show the labels; they need matplotlib (extra `render`).

    Raises:
        TypeError: an argument of the wrong kind.
        ValueError: an unknown name (near ones are suggested), a topic set without vectors (the message says how to make
            some), or a topic larger than `max_candidates`.
    """

    reward_space: spaces.Box
    """Space of vector rewards; only under `srd_gym.wrappers.VectorReward`."""

    __repr__ = repr_of("core.arrays.topics", "core.reward_name", "core.horizon")

    metadata: ClassVar[dict[str, Any]] = {  # type: ignore[misc]
        "render_modes": list(RENDER_MODES),
        "render_fps": RENDER_FPS,
    }

    def __init__(
        self,
        topics: TopicSource = DEFAULT_TOPICS,
        *,
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
        with argument_errors():
            self.core = SelectionCore(
                arrays_to_play(topics, max_candidates),
                reward=reward,
                reward_type=reward_type,
                measures=measures,
                horizon=horizon,
                pruning=None if pruning is None else pruning_from(pruning),
                on_invalid=on_invalid,
                normalizer=normalizer,
                episodes=1,
            )
            self._observer = Observer(self.core, observation, mask_dtype, share_documents)
        self.observation_space = self._observer.space  # type: ignore[assignment]
        self.action_space = spaces.Discrete(self.core.arrays.max_candidates)
        self.share_documents, self.numeric_infos = share_documents, numeric_infos
        self.render_mode = render_mode
        self._labelled: list[bool] = self.core.arrays.labelled.tolist()
        self._order = TopicShuffle(len(self.core.arrays))
        self._futures: np.random.Generator | None = None
        self._running, self._paid = False, 0.0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Observation, Info]:
        """Begin the next topic of the epoch, or the one asked for.

        Args:
            seed: seeds the shuffle and opens a new epoch.
            options: {"query_id": id of the topic to begin}; the epoch is then left where it is.

        Raises:
            ValueError: an unknown query id or option; near names are suggested.
        """
        super().reset(seed=seed)
        if seed is not None:
            self._order.restart()
            self._futures = None
        self.core.reset_episode(0, self._next_topic(options or {}), self.np_random)
        self._running, self._paid = True, 0.0
        if self.render_mode == "human":
            self.render()
        return self._observer.observe(0), self._info()

    def step(self, action: np.int64 | int) -> tuple[Observation, float, bool, bool, Info]:
        """Put a candidate at the next rank.

        Raises:
            TypeError: an action that is not an integer.
            ValueError: an action outside 0 to N - 1; with on_invalid="raise", one that is masked.
            ResetNeeded: no episode is running.
        """
        if not self._running:
            raise ResetNeeded("no episode is running: it has ended or was never begun; call reset() first")
        reward, invalid, terminated = self.core.step_episode(0, _candidate(action))
        self._paid += reward
        self._running = not terminated
        info = self._info(invalid, terminated)
        if self.render_mode == "human":
            self.render()
        return self._observer.observe(0), reward, terminated, False, info

    def action_masks(self) -> BoolArray:
        """[N] bool, the allowed candidates (sb3-contrib's protocol)."""
        mask: BoolArray = self.core.allowed[0].copy()
        return mask

    def snapshot(self) -> Snapshot:
        """State of the episode, as a small immutable value. The shuffle of topics is not part of it.

        Raises:
            ResetNeeded: no episode has begun.
        """
        if self.core.length[0] == 0:
            raise ResetNeeded("no episode has begun, so there is nothing to take a snapshot of; call reset() first")
        return self.core.snapshot(0)

    def restore(self, snapshot: Snapshot, *, same_future: bool = False) -> None:
        """Put the episode where a snapshot says; the next `step` goes on from there.

        Where users pay, the rest of the episode is drawn anew: the intent from its posterior given what was observed
        so far. The draws have a stream of their own, started by the seed of `reset`.

        Args:
            snapshot: from this environment, or from one with the same arguments.
            same_future: keep the user, so that the same actions bring the same rewards again; for tests.

        Raises:
            ValueError: a snapshot of other topics, another reward or another shape.
        """
        self._futures = self._futures or self.np_random.spawn(1)[0]
        self.core.restore(snapshot, 0, self._futures, same_future=same_future)
        self._running, self._paid = not self.core.done[0], self.core.paid(np.zeros(1, np.int64)).item()

    def render(self) -> str | Frame | None:
        """The ranking so far as text or as a picture; "human" shows it; other modes give None and a warning.

        Raises:
            ResetNeeded: no episode has begun.
            ImportError: a picture without matplotlib.
        """
        return drawn(self.core, 0, self.render_mode)

    def close(self) -> None:
        """Close the window, if there is one."""
        close_window(self.render_mode)

    def _info(self, invalid: bool = False, ended: bool = False) -> Info:
        """Information with every observation, as the class lists it; `invalid`: whether the last action was masked."""
        core = self.core
        topic = core.topic_index.item(0)
        ranking, mask, _, _ = core.only or core.rows(0)
        info: Info = {
            "query_id": core.arrays.query_ids[topic],
            "labelled": self._labelled[topic],
            "action_mask": mask.copy(),
            "ranking": ranking.copy(),
            "invalid_action": invalid,
            "wasted": core.wasted.item(0),
            "return": self._paid,
        }
        if core.users is not None:
            rank = core.rank.item(0)
            info["clicks"] = clicks = core.clicks(core.every)[0]
            info["click"] = rank > 0 and clicks.item(rank - 1)
            if core.users.reveal_intent:
                info["intent"] = core.intents(core.every).item()
        if self.numeric_infos:
            del info["query_id"]
            info |= {"topic": topic, "measures": [0.0] * len(core.measure_names)}
        if ended and self._labelled[topic]:
            measures = core.episode_measures(0)
            info["measures"] = list(measures.values()) if self.numeric_infos else measures
        return {name: np.asarray(value) for name, value in info.items()} if self.numeric_infos else info

    def _next_topic(self, options: dict[str, Any]) -> int:
        """The topic that the options ask for, else the next of the epoch."""
        for name in options:
            check_option("reset option", name, ("query_id",))
        if "query_id" in options:
            return self.core.arrays.topics.position(options["query_id"])
        return self._order.next(self.np_random)


def drawn(core: SelectionCore, episode: int, mode: str | None) -> str | Frame | None:
    """One episode as `SelectionEnv.render` gives it."""
    # Libraries pass modes of their own making and may never render: a warning here, no error in the constructor.
    if mode not in RENDER_MODES:
        gym.logger.warn(
            f"render_mode is {shown(mode)}; make the environment with render_mode='ansi', 'rgb_array' or 'human' to "
            "render"
        )
        return None
    if core.length[episode] == 0:
        raise ResetNeeded("no episode has begun, so there is nothing to render; call reset() first")
    return render(selection_scene(core, episode), mode)


def _candidate(action: Any) -> int:
    """The action as a Python int."""
    try:
        if isinstance(action, bool) or hasattr(action, "mask"):  # numpy's True has no index
            raise TypeError
        return operator.index(action)
    except TypeError:
        raise TypeError(f"an action is one integer (a candidate index), got {shown(action)}") from None
