"""Rankers of strangers, which inherit nothing, take part by what they have (`srd_agents.pipeline.capabilities`)."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from small_topics import Own, adapted, refused

from srd_agents import diversify
from srd_agents.integrations.ranking import Adapter
from srd_agents.pipeline.capabilities import rankers_with

DOCUMENTS = np.eye(5)[[0, 0, 1, 2, 3]]
"""The second is a copy of the first."""
backwards: Any = Own(lambda topic, k: np.arange(topic.n_candidates)[::-1][:k])


class Weighed(Own):
    """Keeps the order up to diversity 0.5, and turns it round beyond."""

    def __init__(self, diversity: float = 0.0) -> None:
        turn = -1 if diversity > 0.5 else 1
        super().__init__(lambda topic, k: np.arange(topic.n_candidates)[::turn][:k])

    def with_diversity(self, diversity: float) -> Weighed:
        return Weighed(diversity)


class Named(Own):
    """The documents nearest to the first subtopic first, or else to the query; without both the order as it came."""

    uses_subtopics = True
    weighs_cosines = True

    def __init__(self) -> None:
        super().__init__(lambda topic, k: np.argsort(-self.near(topic), kind="stable")[:k])

    def near(self, topic: Any) -> Any:
        told = topic.subtopic_vectors[0] if topic.n_subtopics else topic.query_vector
        return np.zeros(topic.n_candidates) if told is None else topic.doc_vectors @ told


class LastItself(Own):
    """Puts what it takes for a copy last: here always the last but one document."""

    def __init__(self, copies: float | None = 0.9999) -> None:
        self.copies = copies
        super().__init__(lambda topic, k: np.array([0, 1, 2, 4, 3] if copies else range(5))[:k])

    def with_copies(self, copies: float | None) -> LastItself:
        return LastItself(copies)


class Turns:
    """The last document first, then the first left."""

    def __init__(self, n: int) -> None:
        self.values = np.arange(n, dtype=float)

    def scores(self) -> Any:
        return self.values

    def add(self, document: int) -> None:
        self.values = -np.arange(len(self.values), dtype=float)


class Steps(Own):
    def __init__(self) -> None:
        super().__init__(lambda topic, k: np.array([4, 0, 1, 2, 3])[:k])

    def progress(self, topic: Any) -> Turns:
        return Turns(topic.n_candidates)


SITES: dict[str, Any] = {"groups": [1, 1, 2, 2, 2], "max_per_group": 1}


@pytest.mark.parametrize(("ranker", "given", "expected"), [
    (Weighed(), {"diversity": 0.9}, [4, 3, 2, 1, 0]),  # of two copies the later one came first
    (Weighed(), {"diversity": 0}, [0, 1, 2, 3, 4]),  # the order of relevance holds copies
    (Weighed(), {}, [0, 2, 3, 4, 1]),
    (Named(), {"subtopics": DOCUMENTS[3:4]}, [3, 0, 2, 4, 1]),
    (Named(), {}, [0, 2, 3, 4, 1]),
    (LastItself(), {}, [0, 1, 2, 4, 3]),  # as it says, not as cosines say
    (LastItself(), {"near_duplicates": None}, [0, 1, 2, 3, 4]),
    (LastItself(), {"near_duplicates": 0.5}, [0, 1, 2, 4, 3]),  # the ranker is told the limit
    (Steps(), {}, [4, 0, 2, 3, 1]),
    (Steps(), SITES, [4, 0]),
    (Steps(), {"already_shown": [4]}, [0, 2, 3, 1]),  # asked in the light of what was shown
    (backwards, SITES, [4, 1]),  # its whole ranking is filtered
])  # fmt: skip
def test_they_take_what_they_say(ranker: Any, given: Any, expected: list[int]) -> None:
    assert diversify(None, DOCUMENTS, 5, ranker, **given).indices.tolist() == expected


@pytest.mark.parametrize(("given", "message"), [
    ({"diversity": 0.5}, "'Own' does not: leave diversity out"),
    ({"subtopics": np.eye(5)[:2]}, "'Own' cannot use subtopics"),
])  # fmt: skip
def test_one_that_does_not_say_so_gets_an_error(given: Any, message: str) -> None:
    refused(lambda: diversify(None, DOCUMENTS, 3, backwards, **given), message)
    adapter = Adapter(ranker=backwards, subtopics="key" if "subtopics" in given else None)
    refused(lambda: adapter.request(given.get("diversity")), message)


def test_they_take_part_in_adapters() -> None:
    rest: Any = {"query_vector": DOCUMENTS[3]}
    assert adapted(Adapter(ranker=Weighed()).request(0.9), 5, DOCUMENTS, **rest)[0] == [4, 3, 2, 1, 0]
    # Without scores the query's cosine puts the fourth first, for a ranker that weighs it.
    assert adapted(Adapter(ranker=Named()).request(), 2, DOCUMENTS, **rest)[0] == [3, 0]
    assert adapted(Adapter(ranker=Steps()).request(), 2, DOCUMENTS, **rest)[0] == [4, 0]


def test_the_page_names_rankers_that_take_a_diversity() -> None:
    page = (Path(__file__).parents[3] / "docs" / "diversify.md").read_text(encoding="utf-8")
    section = page.partition("\n## How diverse\n")[2].partition(" take it, among others")[0]
    named = set(re.findall("`([a-z][a-z0-9-]+)`", section))
    assert {"mmr", "safe"} <= named <= {*rankers_with("with_diversity")}
