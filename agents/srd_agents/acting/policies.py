"""Rankers that act: a ranker takes observations of `SRD-v0` or `scoring_v0`, and answers with actions.

The contract is that of Stable-Baselines3: `predict(observation, state, episode_start, deterministic, action_masks)`
gives `(actions, state)`. Nothing is imported for it.

Shapes: B episodes, N candidates, F vector width, K horizon, A scores.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pettingzoo import ParallelEnv

from srd_agents.heuristic.stepwise import EXACT, PartialRanking, best, progress_of
from srd_agents.registry import load_ranker
from srd_agents.sb3.spaces import common_topics
from srd_gym.checks import name_of
from srd_gym.core.arrays import TopicArrays
from srd_gym.dtypes import AnyArray, IntArray
from srd_gym.envs.observations import KINDS
from srd_gym.measures.judgments import NoJudgmentsError
from srd_gym.protocols import Ranker
from srd_gym.reading import few, shown
from srd_gym.sources import arrays_from
from srd_gym.topic import FloatArray, Topic

Observations = Mapping[str, object]
Row = dict[str, AnyArray]
_SEEN = KINDS["full"]
_ADVICE = 'a full observation holds vectors and retrieval scores alone: make the environment with observation="compact"'
"""For rankers that need more of a topic than what is observed."""


def as_policy(
    ranker: str | PathLike[str] | Ranker, env: object = None, *, seed: int = 0
) -> RankerPolicy | ScoringPolicy:
    """The ranker as a policy of an environment.

    Args:
        ranker: a ranker, its name, or the folder of a trained one.
        env: the environment, wrapped or not: `SRD-v0`, `SRD-Click-v0`, a vector environment of Gymnasium or of
            Stable-Baselines3, or `scoring_v0`'s parallel environment; or topics. Of `SRD-v0` with full observations it
            may be left out.
        seed: of the actions that are drawn where `deterministic` is False.

    Raises:
        TypeError: something else.
        ValueError: an unknown ranker.
    """
    if isinstance(ranker, str | PathLike):
        ranker = load_ranker(ranker)
    if not isinstance(ranker, Ranker):
        raise TypeError(f"ranker must be a name, a folder, or have rank and rank_batch, got {shown(ranker)}")
    if isinstance(getattr(env, "unwrapped", None), ParallelEnv):
        return ScoringPolicy(ranker, env)
    return RankerPolicy(ranker, env, seed=seed)


class RankerPolicy:
    """Acts in `SRD-v0` as a ranker ranks: the best allowed candidate, given those ranked so far.

    What was ranked, by whomever, and what is masked is read from the observation, so that episodes may begin anywhere,
    ranks may be empty, and candidates may be pruned. Without such things, an episode is the ranker's ranking.

    Observations are full (also with shared documents) or compact, single or stacked. Of a full one the ranker sees what
    is in it: the vectors of query and documents and the retrieval scores. Of a compact one it sees the topic of `env`.

    Args:
        ranker: what ranks.
        env: as of `as_policy`.
        seed: as of `as_policy`.
    """

    def __init__(self, ranker: Ranker, env: object = None, *, seed: int = 0) -> None:
        self.ranker = ranker
        self._env = env
        self._arrays: TopicArrays | None = None
        self._rng = np.random.default_rng(seed)
        self._rows: list[_Episode | None] = []

    def predict(
        self,
        observation: Observations,
        state: tuple[object, ...] | None = None,
        episode_start: ArrayLike | None = None,
        deterministic: bool = False,
        action_masks: ArrayLike | None = None,
    ) -> tuple[IntArray, tuple[Any, ...] | None]:
        """The candidate for the next rank of each episode.

        Args:
            observation: of one episode, or of B, stacked.
            state: comes back as it is; all that counts is in the observation.
            episode_start: ignored, likewise.
            deterministic: False draws from the softmax of the scores where they are the logits of a policy
                (`scores_are_logits` of the ranker is True); other rankers have one answer.
            action_masks: [N] or [B, N] bool, in place of the observation's mask.

        Returns:
            [B] int64, or one number for a single observation; and `state`.

        Raises:
            ValueError: an observation without what the ranker needs (the message says which one has it), or compact
                observations of sub-environments with different topic sets.
        """
        rows, single = _rows_of(observation, action_masks)
        self._rows += [None] * (len(rows) - len(self._rows))
        draw = not deterministic and bool(getattr(self.ranker, "scores_are_logits", False))
        actions = np.array([self._act(place, row, draw) for place, row in enumerate(rows)], np.int64)
        return (actions[0] if single else actions), state

    def _act(self, place: int, row: Row, draw: bool) -> int:
        """The action of one episode."""
        allowed = row["action_mask"].astype(np.bool_)
        if not allowed.any():
            return 0  # the episode has ended
        ranked = row["ranking"][row["ranking"] >= 0]
        episode = self._rows[place]
        if episode is None or not episode.goes_on(row, ranked):
            episode = self._rows[place] = self._begun(row)
        scores = episode.scores(ranked)
        scores[~allowed[: len(scores)]] = -np.inf
        if draw:
            odds = np.exp(scores - scores.max()).cumsum()
            return int((odds > self._rng.random() * odds[-1]).argmax())
        return episode.best(scores)

    def _begun(self, row: Row) -> _Episode:
        """An empty ranking of the topic of an observation."""
        if "topic" in row:
            topic = self._known().topics[int(row["topic"].reshape(-1)[0])]
            return _Episode(topic, {"topic": row["topic"].copy()}, progress_of(self.ranker, topic))
        if any(name not in row for name in _SEEN):
            raise ValueError(
                f"expected a full observation of SRD-v0 ({few(_SEEN, 9)}) or a compact one, got {few(list(row), 9)}; "
                "wrappers that flatten or scale observations go above the policy"
            )
        topic = observed_topic(row)
        identity = {name: row[name].copy() for name in ("documents", "query", "retrieval_scores")}
        try:
            return _Episode(topic, identity, progress_of(self.ranker, topic))
        except NoJudgmentsError as error:
            raise ValueError(
                f"ranker {name_of(self.ranker)!r} reads judgments, which no observation holds: make the environment "
                'with observation="compact" and give it to as_policy, which then reads its topics'
            ) from error
        except ValueError as error:
            raise ValueError(f"{error}; {_ADVICE}") from error

    def _known(self) -> TopicArrays:
        """The topics of the environment."""
        if self._arrays is None:
            self._arrays = _arrays_of(self._env)
        return self._arrays


class _Episode:
    """A ranking in progress.

    Args:
        topic: that is ranked.
        identity: parts of the observation that tell it from others.
        progress: an empty ranking of it.
    """

    def __init__(self, topic: Topic, identity: Row, progress: PartialRanking) -> None:
        self._identity, self._progress = identity, progress
        self._ranked = np.empty(0, np.int64)
        self._n = topic.n_candidates

    def goes_on(self, row: Row, ranked: IntArray) -> bool:
        """Whether an observation is of this ranking, as far as it has come or further."""
        so_far = len(self._ranked)
        return np.array_equal(ranked[:so_far], self._ranked) and all(
            name in row and np.array_equal(row[name], part) for name, part in self._identity.items()
        )

    def scores(self, ranked: IntArray) -> NDArray[np.float64]:
        """[N] scores of the next document, after these."""
        for document in ranked[len(self._ranked) :].tolist():
            self._progress.add(document)
        self._ranked = ranked.copy()
        return np.array(self._progress.scores(), np.float64)

    def best(self, scores: NDArray[np.float64]) -> int:
        """The candidate of the highest score, by the ranker's rule of ties."""
        return best(scores, getattr(self._progress, "ties", None), getattr(self._progress, "tied", EXACT))


class ScoringPolicy:
    """Acts in `scoring_v0` as a ranker ranks what is observed: the documents' scores fall along its ranking.

    Observed are the vectors of query and documents. Of topics with retrieval scores, texts or subtopics a ranker that
    reads these makes another ranking than of the observations.

    The first A - 1 documents have scores of their own; those behind them share the score 0, and the environment's rule
    of ties.

    Args:
        ranker: what ranks.
        env: the parallel environment.
    """

    def __init__(self, ranker: Ranker, env: Any) -> None:
        self.ranker = ranker
        self._n_scores = int(env.action_space(env.possible_agents[0]).n)
        self._place = {agent: place for place, agent in enumerate(env.possible_agents)}

    def predict(
        self,
        observation: Mapping[str, object],
        state: tuple[object, ...] | None = None,
        episode_start: ArrayLike | None = None,
        deterministic: bool = False,
        action_masks: ArrayLike | None = None,
    ) -> tuple[dict[str, int], tuple[Any, ...] | None]:
        """The score of each document.

        Args:
            observation: agent -> what it observes ("full", "local" or "flat").
            state: comes back as it is.
            episode_start: ignored; so are the following.
            deterministic: rankings are.
            action_masks: those of the observations count.

        Returns:
            Agent -> score; and `state`.

        Raises:
            ValueError: an agent that the environment does not have, no observation at all, or a ranker that reads
                judgments.
        """
        if not observation or (strange := [agent for agent in observation if agent not in self._place]):
            raise ValueError(f"expected an observation of each document, got {few(strange) if observation else 'none'}")
        agents = sorted(observation, key=self._place.__getitem__)
        topic = _scored_topic([observation[agent] for agent in agents])
        scores = np.zeros(len(agents), np.int64)
        try:
            ranking = self.ranker.rank(topic, topic.n_candidates)
        except NoJudgmentsError as error:
            raise ValueError(
                f"ranker {name_of(self.ranker)!r} reads judgments, which no observation of scoring_v0 holds: rank the "
                "topics themselves, ranker.rank(topic, k)"
            ) from error
        except ValueError as error:
            raise ValueError(f"{error}; scoring_v0 shows vectors alone: rank the topics themselves") from error
        scores[ranking] = np.maximum(self._n_scores - 1 - np.arange(len(ranking)), 0)
        return dict(zip(agents, scores.tolist(), strict=True)), state


def observed_topic(row: Row) -> Topic:
    """The topic of a full observation of `SRD-v0`, without what is not in it (texts, subtopics, judgments).

    Args:
        row: `documents` [N, F], `query` [F], `retrieval_scores` [N], `ranking` [K] and `action_mask` [N].
    """
    documents, scores = row["documents"], row["retrieval_scores"]
    real = documents.any(axis=1) | row["action_mask"].astype(np.bool_) | (scores != 0)
    real[row["ranking"][row["ranking"] >= 0]] = True
    count = len(real) - int(real[::-1].argmax()) if real.any() else 0
    return _topic(row["query"], documents[:count], scores[:count] if scores.any() else None)


def _scored_topic(observations: Sequence[Any]) -> Topic:
    """The topic that the documents of `scoring_v0` observe, without padding."""
    if isinstance(observations[0], Mapping):
        documents = np.stack([each["document"] for each in observations])
        real = [each["action_mask"].sum() > 1 for each in observations]
        return _topic(observations[0]["query"], documents[np.array(real)], None)
    rows = np.stack(observations)
    width = rows.shape[1] // 2
    documents = rows[:, width:]
    count = len(rows) - int(np.asarray(documents.any(axis=1))[::-1].argmax())
    return _topic(rows[0, :width], documents[:count], None)


def _topic(query: FloatArray, documents: FloatArray, scores: FloatArray | None) -> Topic:
    """A topic of arrays, which are copied: environments may change theirs."""
    return Topic(
        query_id="observed",
        doc_ids=tuple(map(str, range(len(documents)))),
        query_vector=query.copy() if query.any() else None,
        doc_vectors=documents.copy(),
        retrieval_scores=None if scores is None else scores.copy(),
    )


def _rows_of(observation: Observations, masks: ArrayLike | None) -> tuple[list[Row], bool]:
    """The observations of single episodes, and whether there was one alone."""
    if isinstance(observation, Mapping) and "features" in observation:
        raise ValueError(
            'observation="features" holds no vectors that a ranker could rank: make the environment with '
            'observation="compact" (or "full") for a ranker that acts'
        )
    if not isinstance(observation, Mapping) or "ranking" not in observation:
        raise ValueError(
            f"expected an observation of SRD-v0, a dictionary with {few(_SEEN, 9)}, got {shown(observation)}"
        )
    parts = {name: np.asarray(part) for name, part in observation.items()}
    if masks is not None:
        parts["action_mask"] = np.asarray(masks)
    parts["ranking"] = parts["ranking"].astype(np.int64, copy=False)
    single = parts["ranking"].ndim == 1
    if single:
        parts["action_mask"] = parts["action_mask"].reshape(-1)
        return [parts], True
    return [{name: part[place] for name, part in parts.items()} for place in range(len(parts["ranking"]))], False


def _arrays_of(env: object) -> TopicArrays:
    """The topics of an environment.

    Raises:
        TypeError: no environment with topics.
        ValueError: sub-environments with different topic sets.
    """
    if env is None:
        raise TypeError("compact observations name topics by index: as_policy(ranker, env) needs the environment")
    inner: Any = getattr(env, "unwrapped", env)
    if (core := getattr(inner, "core", None)) is not None:
        return arrays_from(core.arrays)
    if hasattr(inner, "get_attr"):
        return common_topics([each.arrays for each in inner.get_attr("core")])
    return arrays_from(inner)
