"""The default ranker: which ranking it keeps to, near copies last."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from srd_agents import diversify, make_ranker
from srd_agents.pipeline import cautious
from srd_agents.pipeline.cautious import near_copies
from srd_gym.testing import check_ranker
from srd_gym.topic import Topic

RANKER = make_ranker("cautious")
KINDS = {
    "scores": "retrieval-order",
    "query": "relational-pretrained",
    "vectors": "relational-pretrained",
    "subtopics": "xquad",
    "subtopics, scores": "xquad",
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


def without_copies(topic: Topic, kind: str) -> list[int]:
    """What it ranks before copies are moved, all of it."""
    options = {"novelty": 0.5} if KINDS[kind] == "relational-pretrained" else {}
    return make_ranker(KINDS[kind], **options).rank(topic, topic.n_candidates).tolist()


def plain_copies_last(topic: Topic, ranking: list[int], limit: float = 0.9999) -> list[int]:
    """The rule, pair by pair."""
    vectors = topic.doc_vectors.astype(float)
    units = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-30)
    shown: list[int] = []
    for d in ranking:
        if all(units[d] @ units[s] < limit for s in shown):
            shown.append(d)
    return shown + [d for d in ranking if d not in shown]


@pytest.mark.parametrize("kind", KINDS)
@given(n=st.integers(1, 30), k=st.integers(1, 35), copied=st.integers(0, 30), seed=st.integers(0, 10_000))
@settings(max_examples=50, deadline=None)
def test_near_copies_come_last(kind: str, n: int, k: int, copied: int, seed: int) -> None:
    topic = drawn(n, seed, kind, copied)
    wanted = plain_copies_last(topic, without_copies(topic, kind))[:k]
    assert RANKER.rank(topic, k).tolist() == wanted


def test_it_is_a_ranker_of_whatever_topics_have() -> None:
    sizes = [(1, 0), (7, 3), (7, 0), (12, 12), (25, 9)]
    check_ranker(RANKER, [drawn(n, n, kind, copied) for kind in KINDS for n, copied in sizes])


def test_candidates_without_an_order_may_stand_in_any() -> None:
    topic, rng = drawn(20, 3, "query"), np.random.default_rng(0)
    for _ in range(5):
        order = rng.permutation(20)
        np.testing.assert_array_equal(order[RANKER.rank(topic.take(order), 10)], RANKER.rank(topic, 10))


def test_what_a_near_copy_is_can_be_chosen() -> None:
    # Cosines with the first: 1, 0.8, 0; of the second and third 0.6.
    topic = replace(drawn(4, 0, width=2), doc_vectors=[[1, 0], [3, 0], [0.8, 0.6], [0, 1]])
    assert RANKER.rank(topic, 4).tolist() == [0, 2, 3, 1]
    assert make_ranker("cautious", copies=1.0).rank(topic, 4).tolist() == [0, 2, 3, 1]
    assert make_ranker("cautious", copies=0.7).rank(topic, 4).tolist() == [0, 3, 1, 2]
    # The third is a copy of the second, which is not shown itself: only what is shown counts.
    assert make_ranker("cautious", copies=0.6).rank(topic, 2).tolist() == [0, 3]


@pytest.mark.parametrize(("cosine", "copies", "last"), [
    (1.0, {}, True),
    (0.99995, {}, True),
    (0.9995, {}, False),  # such as two passages that differ in one fact
    (0.995, {}, False),
    (0.995, {"copies": 0.99}, True),
    (1.0, {"copies": None}, False),
])
def test_by_default_only_the_same_vector_comes_last(cosine: float, copies: dict[str, float], last: bool) -> None:
    topic = replace(drawn(3, 0, width=2), doc_vectors=[[1, 0], [cosine, (1 - cosine**2) ** 0.5], [0, 1]])
    wanted = [0, 2, 1] if last else [0, 1, 2]
    assert make_ranker("cautious", **copies).rank(topic, 3).tolist() == wanted
    assert diversify(None, topic.doc_vectors, 3, scores=[3, 2, 1], **copies).indices.tolist() == wanted


@pytest.mark.parametrize("block", [1, 4, 256])
def test_blocks_change_nothing(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    topic = drawn(40, 5, copied=60)
    wanted = near_copies(topic.doc_vectors, 0.98)
    assert wanted.any()
    monkeypatch.setattr(cautious, "_BLOCK", block)
    np.testing.assert_array_equal(near_copies(topic.doc_vectors, 0.98), wanted)
