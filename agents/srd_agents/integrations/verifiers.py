"""verifiers: lists as tasks with a reward in process; needs verifiers, which is not a dependency of this package."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import verifiers.v1 as vf

from srd_agents.llm.prompts import ListPrompt
from srd_agents.llm.rewards import CoverageReward


class CoverageData(vf.TaskData):
    """A topic by its id, and what makes the reward again in any process; judgments are not in it."""

    query_id: str
    topics: str
    measure: str
    candidates: int
    tokens: int
    format_weight: float


class CoverageTask(vf.Task[CoverageData]):
    """One list."""

    @vf.reward(weight=1.0)
    async def coverage(self, trace: vf.Trace) -> float:
        """The measure of the last reply's list."""
        return _reward_of(self.data).score(self.data.query_id, trace.last_reply)


class CoverageConfig(vf.TasksetConfig):
    """Options of the task set; those of `CoverageReward` and `ListPrompt`."""

    topics: str = "words"
    """Name or path of judged topics with texts."""
    measure: str = "alpha_nDCG@5"
    """Reward, with its cutoff."""
    candidates: int = 20
    """Largest number of candidates in a prompt."""
    tokens: int = 64
    """Largest number of words of a document."""
    format_weight: float = 0.0
    """Reward for an answer that is a list of k and nothing else."""


class CoverageTaskset(vf.Taskset[CoverageTask, CoverageConfig]):
    """One task per topic."""

    def load(self) -> Iterator[CoverageTask]:
        """The tasks, in the order of the topics."""
        options = {name: getattr(self.config, name) for name in _OPTIONS}
        reward = _made(**options)
        for row in reward.rows():
            yield CoverageTask(CoverageData(name=row["query_id"], **row, **options), self.config.task)


_OPTIONS = ("topics", "measure", "candidates", "tokens", "format_weight")


def _reward_of(data: CoverageData) -> CoverageReward:
    return _made(**{name: getattr(data, name) for name in _OPTIONS})


@lru_cache(maxsize=8)
def _made(topics: str, measure: str, candidates: int, tokens: int, format_weight: float) -> CoverageReward:
    """The reward, made once in each process."""
    prompt = ListPrompt(candidates=candidates, tokens=tokens)
    return CoverageReward(topics, measure, prompt=prompt, format_weight=format_weight)
