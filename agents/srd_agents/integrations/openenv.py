"""OpenEnv: lists of language models as environments behind a server; needs openenv, no dependency of this package."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Annotated, Any

import numpy as np
from openenv.core.env_server import Action, Environment, Observation, State, create_fastapi_app
from pydantic import BeforeValidator, Field

from srd_agents.llm.rewards import CoverageReward
from srd_agents.llm.tools import ListEpisode
from srd_gym.checks import unknown


def _as_text(value: object) -> object:
    """An answer as text: clients that read JSON make numbers and lists of some."""
    return value if isinstance(value, str) else json.dumps(value, default=str)


class ListAction(Action):
    """Answer of a language model."""

    answer: Annotated[str, BeforeValidator(_as_text)] = Field(
        description="Numbers of passages, best first, such as [3] > [1]; in stepwise episodes one number"
    )


class ListObservation(Observation):
    """Prompt at the beginning, and the list so far."""

    prompt: str = Field(default="", description="Query, numbered passages and the form of the answer; empty later")
    ranks: list[int] = Field(default_factory=list, description="Numbers of the passages shown; 0 where a rank is empty")


class ListState(State):
    """Progress of an episode."""

    query_id: str | None = None
    ranks: list[int] = Field(default_factory=list)


class CoverageEnvironment(Environment[ListAction, ListObservation, ListState]):
    """One list per episode, rewarded with a diversity measure.

    By default an episode has one step, whose reward is that of the answer. With `stepwise` each step shows one
    document and its reward is the document's gain; an answer without a number ends the list.

    `reset` takes the topic by `query_id`, or by `split` and `index`, or draws it from the split by `seed`.

    Args:
        reward: the reward, whose prompts these are.
        splits: query ids by the name of the split; by default "all" has all.
        stepwise: one document per step.

    Raises:
        ValueError: a split with an unknown query, or without any; in `reset` an unknown topic or split; in `step` no
            episode.
    """

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(
        self,
        reward: CoverageReward,
        splits: Mapping[str, Sequence[str]] | None = None,
        stepwise: bool = False,
    ) -> None:
        super().__init__()
        self._reward, self._stepwise = reward, stepwise
        self._splits = {name: list(ids) for name, ids in (splits or {"all": reward.topics.query_ids}).items()}
        for name, ids in self._splits.items():
            if not ids:
                raise ValueError(f"split {name!r} has no queries")
            for query_id in ids:
                reward.topics.position(query_id)
        self._generator = np.random.default_rng()
        self._episode: ListEpisode | None = None
        self._id: str | None = None
        self._steps = 0

    def reset(
        self,
        seed: int | None = None,
        episode_id: str | None = None,
        query_id: str | None = None,
        split: str | None = None,
        index: int | None = None,
        **kwargs: object,
    ) -> ListObservation:
        """Begin a list: the prompt."""
        if seed is not None:
            self._generator = np.random.default_rng(seed)
        if query_id is None:
            ids = self._queries(next(iter(self._splits)) if split is None else split)
            query_id = ids[int(self._generator.integers(len(ids)))] if index is None else self._at(ids, index)
        prompt = self._reward.ask(query_id)
        self._episode, self._id, self._steps = ListEpisode(self._reward, query_id), episode_id, 0
        return ListObservation(prompt=prompt, done=False)

    def step(self, action: ListAction, timeout_s: float | None = None, **kwargs: object) -> ListObservation:
        """Answer: the reward. A list that is done stays as it is."""
        episode = self._episode
        if episode is None:
            raise ValueError("there is no list yet: reset first")
        before = sum(episode.gains)
        if not episode.done:
            self._steps += 1
            episode.answer(action.answer, 1 if self._stepwise else episode.k)
        return ListObservation(ranks=self._shown(), reward=sum(episode.gains) - before, done=episode.done)

    @property
    def state(self) -> ListState:
        """The episode's topic, steps and list."""
        query_id = None if self._episode is None else self._episode.query_id
        return ListState(episode_id=self._id, step_count=self._steps, query_id=query_id, ranks=self._shown())

    def list_splits(self) -> list[str]:
        """Names of the splits."""
        return list(self._splits)

    def num_tasks(self, split: str) -> int:
        """Number of a split's topics."""
        return len(self._queries(split))

    def list_tasks(self, split: str) -> list[dict[str, object]]:
        """All topics of a split."""
        return [self.get_task(split, index) for index in range(self.num_tasks(split))]

    def get_task(self, split: str, index: int) -> dict[str, object]:
        """A topic of a split, without its judgments: what `reset` takes, and the query.

        Raises:
            IndexError: no such topic.
        """
        query_id = self._at(self._queries(split), index)
        topic = self._reward.topics[self._reward.topics.position(query_id)]
        return {"id": query_id, "query_id": query_id, "index": index, "query": topic.query_text}

    def _shown(self) -> list[int]:
        return [] if self._episode is None else [place + 1 for place in self._episode.ranks]

    def _queries(self, split: str) -> list[str]:
        if split not in self._splits:
            raise unknown("split", split, self._splits)
        return self._splits[split]

    def _at(self, ids: list[str], index: int) -> str:
        if not 0 <= index < len(ids):
            raise IndexError(f"expected an index from 0 to {len(ids) - 1}, got {index}")
        return ids[index]


def coverage_app(
    reward: CoverageReward,
    *,
    splits: Mapping[str, Sequence[str]] | None = None,
    stepwise: bool = False,
    max_sessions: int = 8,
) -> Any:
    """The FastAPI application of a server, for uvicorn: each connection plays in an environment of its own.

    Args:
        reward: as of `CoverageEnvironment`, and so are the next two.
        splits: query ids by split.
        stepwise: one document per step.
        max_sessions: connections at once; further ones are refused.
    """
    factory = partial(CoverageEnvironment, reward, splits, stepwise)
    factory()  # errors of the arguments come now, not with the first client
    return create_fastapi_app(
        factory,
        ListAction,
        ListObservation,
        max_concurrent_envs=max_sessions,
        env_name="srd_gym",
        state_cls=ListState,
    )
