"""The ranker that reads the number of subtopics off vectors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from srd_agents.registry import make_ranker
from srd_agents.supervised.count import SubtopicCount
from srd_gym.measures import evaluate
from srd_gym.testing import check_ranker
from srd_gym.topic import Topic, TopicSet


def made(count: int, seed: int) -> TopicSet:
    """Topics whose documents add up the directions of their subtopics, whose ids are of one topic alone."""
    rng, directions = np.random.default_rng(seed), np.random.default_rng(99).normal(size=(6, 12))
    topics = []
    for number in range(count):
        covers = (rng.random((14, 6)) < 0.25).astype(np.int8)
        covers[0, 0] = 1
        topics.append(
            Topic(
                query_id=f"{seed}-{number}",
                query_vector=directions.sum(axis=0),
                doc_ids=tuple(f"d{i}" for i in range(14)),
                doc_vectors=covers @ directions + 0.3 * rng.normal(size=(14, 12)),
                subtopic_ids=tuple(f"{number}.{s}" for s in range(6)),
                judgments=covers,
            )
        )
    return TopicSet(topics, name="made")


TRAIN, VALIDATION, TEST = made(80, 1), made(30, 2), made(30, 3)


@pytest.fixture(scope="module")
def trained() -> SubtopicCount:
    ranker: Any = make_ranker("subtopic-count")
    ranker.fit(TRAIN, VALIDATION, seed=0)
    return ranker


def value(ranker: Any) -> float:
    rankings = dict(zip(TEST.query_ids, ranker.rank_batch(TEST, 5), strict=True))
    return evaluate(TEST, rankings, ["alpha_nDCG@5"]).measures["alpha_nDCG@5"]


def columns(topic: Topic) -> NDArray[np.float64]:
    """The columns of the regression, by hand."""
    rows, query = np.float64(topic.doc_vectors), np.float64(topic.query_vector)
    units = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return np.column_stack([units, units @ query / np.linalg.norm(query), np.zeros(len(rows)), np.ones(len(rows))])


def test_it_learns_where_no_id_recurs(trained: SubtopicCount) -> None:
    relevance: Any = make_ranker("relevance", epochs=4)
    with pytest.warns(UserWarning, match="learns relevance alone"):
        relevance.fit(TRAIN, VALIDATION, seed=0)
    others = (relevance, make_ranker("mmr"), make_ranker("random", seed=0))
    assert value(trained) > max(map(value, others)) + 0.05


def test_weights_are_those_of_the_ridge_and_scores_those_of_the_product(trained: SubtopicCount) -> None:
    rows = np.concatenate([columns(topic) for topic in TRAIN])
    counts = np.concatenate([np.asarray(topic.judgments).sum(axis=1) for topic in TRAIN])
    products = rows.T @ rows
    ridges = [s * np.trace(products) / len(products) * np.eye(len(products)) for s in (0.001, 0.01, 0.1, 1.0, 10.0)]
    solved = [np.linalg.solve(products + ridge, rows.T @ counts) for ridge in ridges]
    assert any(np.allclose(trained._values, one, rtol=1e-4, atol=1e-6) for one in solved)
    read, penalty = columns(TEST[0]), trained._penalty
    own = read[:, :-3]
    assert 0 < penalty <= 1
    scores = np.maximum(read @ trained._values, 1e-3)
    progress = trained.progress(TEST[0])
    for document in (3, 7):
        progress.add(document)
        scores = scores * (1 - penalty * np.maximum(own @ own[document], 0))
    np.testing.assert_allclose(progress.scores(), scores, rtol=1e-5)


def test_it_keeps_the_rules_of_rankers(trained: SubtopicCount) -> None:
    check_ranker(trained, list(TEST[:4]), k=5)
    again: Any = make_ranker("subtopic-count")
    again.fit(TRAIN, seed=3)
    assert again._penalty == 0.3
    assert value(again) > value(make_ranker("mmr"))
