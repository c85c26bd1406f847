"""The heuristics against their definitions, written out plainly here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_topics import judged_topic

from srd_agents import make_ranker
from srd_agents.heuristic.vectors import blocks_of_equal_shape
from srd_gym.measures import Reference, measure
from srd_gym.topic import Topic


def topic(n: int, seed: int = 0, **changes: Any) -> Topic:
    """One without a retrieval order."""
    return judged_topic(n, seed, 4, **{"query_id": f"q{seed}", "retrieval_scores": None, **changes})


def test_mmr_by_hand() -> None:
    vectors = [[1, 0], [1, 0], [0, 1], [-1, 0]]
    by_hand = topic(4, doc_vectors=vectors, query_vector=[1, 0], retrieval_scores=[4.0, 3.0, 1.0, 0.0])
    # relevance 1, 3/4, 1/4, 0; after document 0 the scores are -0.125, 0.125 and 0.5.
    assert make_ranker("mmr").rank(by_hand, 4).tolist() == [0, 3, 2, 1]
    # cosine 1, 1, 0, -1: the first two tie; then 0, 0 and 0 tie: candidate order.
    assert make_ranker("mmr", relevance="cosine").rank(by_hand, 4).tolist() == [0, 1, 2, 3]
    # 1, 3/4, 1/2, 1/4 and 1, 1/2, 1/3, 1/4: after document 0 the scores are -1/8, 1/4, 5/8 and -1/4, 1/6, 5/8.
    assert make_ranker("mmr", relevance="rank").rank(by_hand, 3).tolist() == [0, 3, 2]
    assert make_ranker("mmr", relevance="reciprocal_rank").rank(by_hand, 3).tolist() == [0, 3, 2]
    # After document 0 at lambda 0.85: 0.4875, 0.425, 0.3625; by 1/rank at 0.8: 0.2, 0.267, 0.4.
    assert make_ranker("mmr", relevance="rank", lambda_=0.85).rank(by_hand, 2).tolist() == [0, 1]
    assert make_ranker("mmr", relevance="reciprocal_rank", lambda_=0.8).rank(by_hand, 2).tolist() == [0, 3]
    assert make_ranker("mmr", lambda_=1.0).rank(by_hand, 4).tolist() == [0, 1, 2, 3]


def test_retrieval_order_needs_one() -> None:
    order = make_ranker("retrieval-order")
    assert order.rank(topic(4, retrieval_scores=[4, 3, 3, 1]), 3).tolist() == [0, 1, 2]
    with pytest.raises(ValueError, match=r"'q0' has no retrieval order.*leave 'retrieval-order' out"):
        order.rank(topic(4), 3)


def test_oracle_needs_judgments() -> None:
    with pytest.raises(ValueError, match="'q0' has no judgments"):
        make_ranker("oracle").rank(topic(3, judgments=None), 2)


def test_random_order_depends_on_seed_and_query_only() -> None:
    ranker, other = make_ranker("random"), make_ranker("random", seed=1)
    many = [topic(20, seed=i) for i in range(30)]
    rankings = ranker.rank_batch(many, 20)
    assert len({tuple(ranking) for ranking in rankings}) == 30
    np.testing.assert_array_equal(ranker.rank(many[7], 20), rankings[7])
    assert not np.array_equal(other.rank(many[7], 20), rankings[7])
    # A longer list begins with the shorter one; the value is pinned, as other machines must draw it too.
    np.testing.assert_array_equal(ranker.rank(many[7], 5), rankings[7][:5])
    assert make_ranker("random").rank(topic(6), 6).tolist() == [4, 5, 2, 3, 1, 0]


def test_random_order_is_uniform() -> None:
    firsts = [int(make_ranker("random", seed=seed).rank(topic(4), 1)[0]) for seed in range(800)]
    assert all(150 < firsts.count(candidate) < 250 for candidate in range(4))


def value_of(name: str, given_topic: Topic, ranking: Any) -> float:
    bound = measure(name, normalizer="candidates").bind([Reference.of(given_topic, "candidates")], len(ranking))
    judgments = given_topic.judgments
    assert judgments is not None
    return float(bound.values(judgments[ranking][None], 0)[0])


@pytest.mark.parametrize("name", ["alpha_DCG", "ERR_IA", "StRecall", "alpha_nDCG(alpha=0.3)"])
@given(n=st.integers(1, 5), s=st.integers(1, 3), seed=st.integers(0, 1000))
@settings(max_examples=20, deadline=None)
def test_oracle_takes_the_largest_gain_at_every_rank(name: str, n: int, s: int, seed: int) -> None:
    given_topic, oracle = topic(n, seed, subtopics=s), make_ranker("oracle", measure=name)
    ranking, allowed = oracle.rank(given_topic, n), np.ones(n, dtype=bool)
    for rank, chosen in enumerate(ranking):
        gains = oracle.score(given_topic, ranking[:rank], allowed)  # type: ignore[attr-defined]
        values = [value_of(name, given_topic, [*ranking[:rank], d]) for d in np.flatnonzero(allowed)]
        assert value_of(name, given_topic, ranking[: rank + 1]) == pytest.approx(max(values), abs=1e-12)
        assert gains[chosen] == gains.max()
        assert (gains == -np.inf).sum() == rank
        allowed[chosen] = False


def test_oracle_reaches_one_by_the_ideal_of_the_candidates() -> None:
    for seed in range(10):
        given_topic = topic(15, seed, subtopics=4)
        ranking = make_ranker("oracle").rank(given_topic, 10)
        assert value_of("alpha_nDCG@10", given_topic, ranking) == pytest.approx(1.0, abs=1e-12)
        order = np.random.default_rng(seed).permutation(15)
        np.testing.assert_array_equal(order[make_ranker("oracle").rank(given_topic.take(order), 10)], ranking)


def test_blocks_hold_every_item_once() -> None:
    shapes = [(3, 2), (4, 2), (3, 2), (3, 2), (100, 100)]
    blocks = list(blocks_of_equal_shape(shapes, 12))
    assert sorted(index for block in blocks for index in block) == [0, 1, 2, 3, 4]
    assert blocks == [[0, 2], [3], [1], [4]]


@pytest.mark.data
def test_heuristics_on_ambient_reach_the_known_values(data_dir: Path) -> None:
    from srd_agents.validation import Validation
    from srd_gym.data.ambient import load_ambient

    # Computed independently of this package on the same files: candidates' ideal, MiniLM vectors.
    wanted = {
        "retrieval-order": (0.573, 0.544, 0.346, 0.483),
        "oracle": (1.0, 1.0, 0.727, 0.972),
    }
    topics = load_ambient(data_dir / "ambient", vectors=data_dir / "ambient" / "minilm-384.npz")
    names = ("alpha_nDCG@5", "alpha_nDCG@10", "StRecall@5", "StRecall@10")
    scores = [Validation(topics, name, normalizer="candidates") for name in names]
    for name, values in wanted.items():
        ranker = make_ranker(name)
        assert [score.mean(ranker) for score in scores] == pytest.approx(values, abs=6e-4)
    cosine_only = make_ranker("mmr", lambda_=1.0, relevance="cosine")
    assert [score.mean(cosine_only) for score in scores[:2]] == pytest.approx((0.288, 0.311), abs=6e-4)
