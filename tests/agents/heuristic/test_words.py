"""What rankers make of the collection to read: the engine's first ten leave subtopics out that the oracle covers."""

from __future__ import annotations

import pytest

from srd_agents import make_ranker
from srd_gym.data import load_topics
from srd_gym.measures import evaluate
from srd_gym.topic import TopicSet


@pytest.fixture(scope="module")
def words() -> TopicSet:
    return load_topics("words")


def test_rankers_that_look_at_texts_improve_on_the_engine(words: TopicSet) -> None:
    def value(ranker: str) -> float:
        rankings = dict(zip(words.query_ids, make_ranker(ranker).rank_batch(words, 10), strict=True))
        return evaluate(words, rankings, ["alpha_nDCG@10"]).measures["alpha_nDCG@10"]

    assert value("retrieval-order") < value("mmr") < value("cautious") < value("oracle")
