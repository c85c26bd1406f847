"""Small random topics, and test-only rewards and pruning strategies, that the tests share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from string import ascii_letters
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode
from hypothesis import strategies as st

from srd_agents.integrations.ranking import Adapter, chosen
from srd_agents.pipeline.given import Given
from srd_agents.pipeline.request import RankingRequest
from srd_gym.core.arrays import TopicArrays
from srd_gym.dtypes import BoolArray, IntArray, ScoreArray
from srd_gym.protocols import SelectionStep
from srd_gym.topic import Topic, TopicSet

WIDTH = 3
# Modes in which Gymnasium's statistics count every step; before 1.4 they lose those that begin an episode.
COUNTED_MODES = [
    AutoresetMode.NEXT_STEP,
    pytest.param(
        AutoresetMode.SAME_STEP,
        marks=pytest.mark.skipif(gym.__version__ < "1.4", reason="Gymnasium counts so since 1.4"),
    ),
]


def refused(call: Callable[[], object], message: str, error: type[Exception] = ValueError) -> None:
    """The call raises an error that says so: quote the few words that tell it from other errors, not its sentence."""
    with pytest.raises(error, match=message):
        call()


def adapted(
    request: RankingRequest,
    k: int,
    vectors: Any,
    *,
    ids: Any = None,
    metadata: Any = None,
    keys: Adapter | None = None,
    remedy: str = "",
    **known: Any,
) -> tuple[list[int], list[bool]]:
    """Places of the documents shown for a query, and whether they are above `max_per_group`."""
    n = len(vectors)
    given = Given("jaguar", tuple(ids or [None] * n), doc_vectors=list(vectors), **known)
    of = (keys or Adapter()).each_once("document", range(n), given, metadata or [{}] * n)
    found = chosen(request, k, of._replace(remedy=remedy), of.given)
    return [place for place, _ in found], [above for _, above in found]


def small_topic(judgments: Any = ((1, 0), (0, 1)), query_id: str = "1", **fields: Any) -> Topic:
    """A topic of documents "a", "b", ... and subtopics "1", "2", ... with these judgments; other fields as given."""
    rows = np.asarray(judgments)
    subtopic_ids = tuple(str(s + 1) for s in range(rows.shape[1]))
    return bare_topic(len(rows), query_id, **({"subtopic_ids": subtopic_ids, "judgments": rows} | fields))


def bare_topic(n: int = 1, query_id: str = "1", **fields: Any) -> Topic:
    """A topic of documents "a", "b", ... of which nobody says what they cover."""
    return Topic(**({"query_id": query_id, "doc_ids": tuple(ascii_letters[:n])} | fields))


def alone(topic: Topic, name: str = "one") -> TopicSet:
    """A set of one topic."""
    return TopicSet([topic], name=name)


def random_topic(generator: np.random.Generator, index: int, *, labelled: bool = True, n: int | None = None) -> Topic:
    """A topic with 1 to 9 candidates, 1 to 11 subtopics, graded judgments, and each optional field now and then."""
    count = int(generator.integers(1, 10)) if n is None else n
    subtopics = int(generator.integers(1, 12))
    judgments = generator.integers(-1, 3, (count, subtopics)) * (generator.random((count, subtopics)) < 0.6)
    return Topic(
        query_id=f"q{index}",
        query_text=f"query {index}" if generator.random() < 0.5 else None,
        query_vector=generator.normal(size=WIDTH) if generator.random() < 0.7 else None,
        doc_ids=tuple(f"q{index}-d{i}" for i in range(count)),
        doc_vectors=generator.normal(size=(count, WIDTH)),
        retrieval_scores=-np.arange(count, dtype=np.float32) if generator.random() < 0.5 else None,
        subtopic_ids=tuple(f"s{i}" for i in range(subtopics)),
        subtopic_weights=generator.random(subtopics) + 0.5 if generator.random() < 0.3 else None,
        judgments=judgments.astype(np.int8) if labelled else None,
    )


def random_topics(seed: int, count: int = 5, *, unlabelled: bool = False, n: int | None = None) -> TopicSet:
    """A set of random topics; with `unlabelled`, every third lacks judgments."""
    generator = np.random.default_rng(seed)
    return TopicSet(
        [random_topic(generator, i, labelled=not (unlabelled and i % 3 == 1), n=n) for i in range(count)], name="random"
    )


def judged_topic(n: int, seed: int = 0, width: int = 8, subtopics: int = 3, **changes: Any) -> Topic:
    """A topic of n candidates with query and retrieval order, in which every subtopic that can be is covered."""
    rng = np.random.default_rng([seed, n])
    values: dict[str, Any] = {
        "query_id": f"q{seed}-{n}",
        "doc_ids": tuple(f"d{i}" for i in range(n)),
        "doc_vectors": rng.standard_normal((n, width)),
        "query_vector": rng.standard_normal(width),
        "retrieval_scores": np.sort(rng.random(n))[::-1],
        "subtopic_ids": tuple(map(str, range(subtopics))),
        "judgments": np.maximum(rng.integers(0, 2, (n, subtopics)), np.eye(n, subtopics, dtype=np.int64)),
    }
    return Topic(**(values | changes))


def partial_topic(seed: int, n: int | None = None, width: int = 5) -> Topic:
    """A judged topic of 2 to 39 candidates that lacks a query or a retrieval order now and then."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(2, 40)) if n is None else n
    lacks = {name: None for name in ("query_vector", "retrieval_scores") if rng.random() < 0.3}
    return judged_topic(count, seed, width, 2, **{"query_id": f"q{seed}", **lacks})


def ragged(sizes: Sequence[int] = (1, 2, 5, 9, 10, 11, 16, 17, 23), width: int = 7, seed: int = 0) -> TopicSet:
    """Judged topics of these sizes; the fourth has no query, the fifth no retrieval order, the seventh duplicates."""
    topics = []
    for index, n in enumerate(sizes):
        topic = judged_topic(n, seed + index, width, query_id=f"q{index}")
        if index == 3:
            topic = replace(topic, query_vector=None)
        if index == 4:
            topic = replace(topic, retrieval_scores=None)
        if index == 6 and topic.doc_vectors is not None:
            topic = replace(topic, doc_vectors=topic.doc_vectors[np.arange(n) % (n // 2)])
        topics.append(topic)
    return TopicSet(topics, name="ragged")


seeds = st.integers(0, 2**20)


@dataclass(frozen=True)
class KeepAll:
    """Test-only pruning that drops nothing."""

    def bind(self, topics: TopicArrays, horizon: int) -> KeepAll:
        return self

    def at_reset(self, topic: IntArray, allowed: BoolArray, needed: IntArray) -> BoolArray:
        return allowed

    def after_step(self, topic: IntArray, ranking: IntArray, action: IntArray, allowed: Any, needed: Any) -> BoolArray:
        return np.ones_like(allowed)


@dataclass(frozen=True)
class EvenOnly(KeepAll):
    """Test-only pruning: after the first rank drops candidates with odd indices, as far as the ranks to fill allow."""

    at_once: bool = False

    def at_reset(self, topic: IntArray, allowed: BoolArray, needed: IntArray) -> BoolArray:
        return self.after_step(topic, topic, topic, allowed, needed) if self.at_once else allowed

    def after_step(self, topic: IntArray, ranking: IntArray, action: IntArray, allowed: Any, needed: Any) -> BoolArray:
        even = allowed & (np.arange(allowed.shape[1]) % 2 == 0)
        return np.where((even.sum(1) >= needed)[:, None], even, allowed)


class OneByOne:
    """A test-only ranker that ranks a batch topic by topic."""

    def rank_batch(self: Any, topics: Sequence[Topic], k: int) -> list[Any]:
        return [self.rank(topic, k) for topic in topics]


class Own(OneByOne):
    """A ranker of somebody's own: whatever a function of topic and k answers."""

    def __init__(self, answer: Callable[[Topic, int], Any]) -> None:
        self.rank = answer


class Answers(OneByOne):
    """Says the same of every topic: what it is given."""

    name = "odd"

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def rank(self, topic: Topic, k: int) -> Any:
        return self.answer

    def score(self, topic: Topic, selected: IntArray, allowed: BoolArray) -> Any:
        return self.answer


@dataclass(frozen=True)
class FirstRankOnly:
    """Test-only reward: 1 for filling the first rank, plus a tenth of the candidate's index."""

    name: str = "first_rank"

    def bind(self, topics: TopicArrays, horizon: int) -> FirstRankOnly:
        return self

    def __call__(self, step: SelectionStep) -> ScoreArray:
        return (step.rank == 0) * 1.0 + np.maximum(step.action, 0) / 10
