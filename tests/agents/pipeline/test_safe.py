"""The default ranker: which ranking it keeps to, near copies last."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from srd_agents import diversify, make_ranker
from srd_agents.heuristic.representative import Representative
from srd_agents.heuristic.stepwise import best_of
from srd_agents.pipeline import near_duplicates
from srd_agents.pipeline.near_duplicates import near_copies
from srd_gym.data import load_texts
from srd_gym.measures import evaluate
from srd_gym.protocols import Ranker
from srd_gym.testing import check_ranker
from srd_gym.topic import Topic

RANKER = make_ranker("safe")
KINDS: dict[str, Ranker] = {
    "scores": make_ranker("retrieval-order"),
    "query": make_ranker("dpp", lambda_=0.7),
    "vectors": Representative(),
    "subtopics": make_ranker("xquad"),
    "subtopics, scores": make_ranker("xquad"),
}


def drawn(n: int, seed: int, kind: str = "scores", copied: int = 0, width: int = 5) -> Topic:
    """N documents, of which about `copied` are near copies of others."""
    rng = np.random.default_rng(seed)
    vectors = rng.standard_normal((n, width))
    for _ in range(copied):
        vectors[rng.integers(n)] = vectors[rng.integers(n)] * rng.uniform(0.5, 2) + rng.normal(0, 1e-3, width)
    vectors[rng.random(n) < copied / 200] = 0.0  # a zero vector is no copy of another
    named = kind.startswith("subtopics")
    return Topic(
        query_id=f"q{seed}",
        doc_ids=tuple(map(str, range(n))),
        query_vector=None if kind == "vectors" else rng.standard_normal(width),
        doc_vectors=vectors,
        retrieval_scores=np.sort(rng.random(n))[::-1] if kind.endswith("scores") else None,
        subtopic_ids=("a", "b", "c") if named else (),
        subtopic_vectors=rng.standard_normal((3, width)) if named else None,
    )


def test_ratings_of_which_none_is_known_change_nothing() -> None:
    topic = drawn(30, 1, "scores")
    unrated = replace(topic, subtopic_ids=("a", "b"), subtopic_scores=np.full((30, 2), np.nan, np.float32))
    assert RANKER.explain(unrated) == RANKER.explain(topic)
    assert RANKER.rank(unrated, 9).tolist() == RANKER.rank(topic, 9).tolist()


def plain_copies_last(topic: Topic, ranker: Any, limit: float = 0.9999) -> list[int]:
    """The rule, step by step and pair by pair: all candidates."""
    vectors = topic.doc_vectors.astype(float)
    units = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-30)
    left, shown, last = list(range(topic.n_candidates)), list[int](), list[int]()
    while left:
        fresh = [d for d in left if all(units[d] @ units[s] < limit for s in shown)]
        progress, allowed = ranker.progress(topic), np.isin(np.arange(topic.n_candidates), fresh or left)
        for document in (*shown, *last):
            progress.add(document)
        document = best_of(progress, allowed)[0]
        (shown if fresh else last).append(document)
        left.remove(document)
    return shown + last


@pytest.mark.parametrize("kind", KINDS)
@given(n=st.integers(1, 30), k=st.integers(1, 35), copied=st.integers(0, 30), seed=st.integers(0, 10_000))
@settings(max_examples=50, deadline=None)
def test_near_copies_come_last(kind: str, n: int, k: int, copied: int, seed: int) -> None:
    topic = drawn(n, seed, kind, copied)
    assert RANKER.rank(topic, k).tolist() == plain_copies_last(topic, KINDS[kind])[:k]


def test_a_near_duplicate_that_is_not_shown_covers_no_subtopic() -> None:
    vectors, scores = [[3, 0, 1], [1, 0, 1], [2, 1, 1], [2, 3, 0], [3, 0, 1]], [5, 4, 3, 2, 1]
    given: dict[str, Any] = {"k": 3, "subtopics": [[1, 0, 0], [0, 1, 0]]}
    for count in (4, 5):  # the fifth has the first one's vector
        assert diversify(None, vectors[:count], scores=scores[:count], **given).indices.tolist() == [0, 3, 2]


def test_it_is_a_ranker_of_whatever_topics_have() -> None:
    sizes = [(1, 0), (7, 3), (7, 0), (12, 12), (25, 9)]
    check_ranker(RANKER, [drawn(n, n, kind, copied) for kind in KINDS for n, copied in sizes])


def test_candidates_without_an_order_may_stand_in_any() -> None:
    topic, rng = drawn(20, 3, "query"), np.random.default_rng(0)
    for _ in range(5):
        order = rng.permutation(20)
        np.testing.assert_array_equal(order[RANKER.rank(topic.take(order), 10)], RANKER.rank(topic, 10))


@pytest.mark.parametrize(
    ("cosine", "copies", "last"),
    [
        (1.0, {}, True),
        (0.99995, {}, True),
        (0.99995, {"near_duplicates": 1}, False),
        (0.9995, {}, False),  # such as two passages that differ in one fact
        (0.995, {}, False),
        (0.995, {"near_duplicates": 0.99}, True),
        (1.0, {"near_duplicates": None}, False),
    ],
)
def test_by_default_only_the_same_vector_comes_last(cosine: float, copies: dict[str, float], last: bool) -> None:
    topic = replace(drawn(3, 0, width=2), doc_vectors=[[1, 0], [cosine, (1 - cosine**2) ** 0.5], [0, 1]])
    wanted = [0, 2, 1] if last else [0, 1, 2]
    assert make_ranker("safe", **copies).rank(topic, 3).tolist() == wanted
    assert diversify(None, topic.doc_vectors, 3, scores=[3, 2, 1], **copies).indices.tolist() == wanted


@pytest.mark.parametrize("block", [1, 4, 256])
def test_blocks_change_nothing(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    topic = drawn(40, 5, copied=60)
    wanted = near_copies(topic.doc_vectors, 0.98)
    assert wanted.any()
    monkeypatch.setattr(near_duplicates, "BLOCK", block)
    np.testing.assert_array_equal(near_copies(topic.doc_vectors, 0.98), wanted)


@pytest.mark.parametrize(
    ("kind", "sentence"),
    [
        ("scores", "kept the order of the scores, near-duplicates last: "),
        ("query", "diversified: there are no scores, so documents near the query count"),
        ("vectors", "diversified: there are neither scores nor a query vector"),
        ("subtopics", "diversified by the named subtopics"),
    ],
)
def test_it_says_what_it_did_and_why(kind: str, sentence: str) -> None:
    topic = drawn(30, 1, kind)
    assert RANKER.explain(topic).startswith(sentence)
    given = {"subtopics": topic.subtopic_vectors} if kind == "subtopics" else {}
    found = diversify(topic.query_vector, topic.doc_vectors, 5, scores=topic.retrieval_scores, **given)
    assert found.note.startswith(sentence)
    batch = diversify([topic.query_vector] * 2, [topic.doc_vectors] * 2, 5, scores=[topic.retrieval_scores] * 2)
    assert [part.note for part in batch.topics()] == [batch.note] * 2


VECTORS = np.random.default_rng(0).standard_normal((40, 6))
QUERY = np.random.default_rng(1).standard_normal(6)


@pytest.mark.parametrize(
    ("query", "documents", "scores", "wanted"),
    [
        (QUERY, VECTORS[:1], None, [0]),
        (QUERY, VECTORS[:1], [0.5], [0]),
        (QUERY, np.ones((6, 4))[:, [0, 1, 2, 3, 3, 3]], None, [0, 1, 2]),  # all alike: as they stand
        (None, np.ones((6, 4)), None, [0, 1, 2]),
        (np.zeros(6), VECTORS, None, None),  # a query without words that the model knows
        (None, VECTORS, None, None),
        (QUERY, np.zeros((5, 6)), None, [0, 1, 2]),
        (QUERY, VECTORS, np.ones(40), [0, 1, 2]),
        (QUERY, VECTORS, -np.arange(1, 41), [0, 1, 2]),  # ranks, turned round
        (QUERY, VECTORS, np.arange(40) - 100.0, [39, 38, 37]),  # logarithms of probabilities
        (QUERY, VECTORS, 0.5 ** np.arange(40.0), [0, 1, 2]),  # probabilities
        (None, VECTORS, np.arange(40), [39, 38, 37]),
    ],
)
def test_odd_input(query: Any, documents: Any, scores: Any, wanted: list[int] | None) -> None:
    found = diversify(query, documents, 3, scores=scores).indices.tolist()
    assert found == wanted if wanted is not None else len(set(found)) == 3
    assert sorted(diversify(query, documents, 50, scores=scores).indices.tolist()) == list(range(len(documents)))


def test_a_query_of_another_model_does_no_harm() -> None:
    """Its cosines say nothing, and of two groups of documents both are among the first, as without a query."""
    rng = np.random.default_rng(0)
    groups = np.repeat(np.eye(6)[:2], 30, axis=0) + 0.1 * rng.standard_normal((60, 6))
    for _ in range(20):
        shown = diversify(rng.standard_normal(6) * [0, 0, 1, 1, 1, 1], groups, 4).indices
        assert set((shown < 30).tolist()) == {True, False}
    with pytest.raises(ValueError, match="query_vector"):
        diversify(rng.standard_normal(5), groups, 4)


@pytest.mark.parametrize(("n", "k"), [(100_000, 10), (1_200, 1_200)])
def test_of_very_many_candidates_those_near_the_query_are_considered(n: int, k: int) -> None:
    rng = np.random.default_rng(0)
    documents, query = rng.standard_normal((n, 16)).astype(np.float32), rng.standard_normal(16)
    cosines = documents @ query / np.linalg.norm(documents, axis=1) / np.linalg.norm(query)
    nearest, shown = np.argsort(-cosines, kind="stable"), diversify(query, documents, k).indices
    assert set(shown[:10].tolist()) <= set(nearest[:1000].tolist())
    assert shown[1000:].tolist() == nearest[1000:k].tolist()


@pytest.mark.skipif("SRD_DATA_DIR" not in os.environ, reason="SRD_DATA_DIR names no folder of data sets")
@pytest.mark.parametrize("name", ["word-senses", "reference-lists"])
def test_comparing_a_sample_of_many_candidates_costs_nothing(name: str) -> None:
    """Collections with most topics of more candidates than are compared."""
    folder = Path(os.environ["SRD_DATA_DIR"]) / "texts" / name
    topics = load_texts(folder, vectors=folder / "minilm-384.npz", retrieve="none", depth=5_000)
    many = topics.select([topic.query_id for topic in topics if topic.n_candidates > Representative().sample])
    assert len(many) >= 8
    sampled, compared = (
        sum(
            one["alpha_nDCG@10"] for one in evaluate(many, rankings, ["alpha_nDCG@10"], "candidates").per_topic.values()
        )
        for rankings in (
            dict(zip(many.query_ids, ranker.rank_batch(many, 10), strict=True))
            for ranker in (Representative(), Representative(sample=10_000))
        )
    )
    assert (sampled - compared) / len(topics) > -0.002
