"""What rankers make of the collection to read: the engine's first ten leave subtopics out that the oracle covers."""

from __future__ import annotations

import numpy as np
import pytest

from srd_agents import make_ranker
from srd_gym.data import load_topics
from srd_gym.measures import evaluate
from srd_gym.topic import TopicSet


@pytest.fixture(scope="module")
def words() -> TopicSet:
    return load_topics("words")


def covered(words: TopicSet, ranker: str) -> list[int]:
    """Subtopics that the ranker's first ten cover, by topic."""
    counts = []
    for topic, ranking in zip(words, make_ranker(ranker).rank_batch(words, 10), strict=True):
        assert topic.judgments is not None
        counts.append(int((topic.judgments[ranking] >= 1).any(axis=0).sum()))
    return counts


def test_the_first_ten_of_the_engine_cover_clearly_fewer_subtopics_than_the_oracle(words: TopicSet) -> None:
    engine, oracle = covered(words, "retrieval-order"), covered(words, "oracle")
    assert oracle == [topic.n_subtopics for topic in words]
    assert all(few < all_ for few, all_ in zip(engine, oracle, strict=True))
    assert np.mean(oracle) - np.mean(engine) >= 2


def test_rankers_that_look_at_texts_improve_on_the_engine(words: TopicSet) -> None:
    def value(ranker: str) -> float:
        rankings = dict(zip(words.query_ids, make_ranker(ranker).rank_batch(words, 10), strict=True))
        return evaluate(words, rankings, ["alpha_nDCG@10"]).measures["alpha_nDCG@10"]

    assert value("retrieval-order") < value("mmr") < value("cautious") < value("oracle")
