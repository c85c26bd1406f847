from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_topics import judged_topic, refused

from srd_agents import make_ranker
from srd_agents.training.validation import Validation
from srd_gym.data import generate, load_ambient, load_topics
from srd_gym.measures import IdealPool, parse_measure
from srd_gym.topic import Topic

EXPLICIT = ("xquad", "pm2")
BY_VECTORS = ("mmr", "msd", "dpp")
TOLD = (*EXPLICIT, *BY_VECTORS)


def topic(n: int, seed: int = 0, subtopics: int = 3, **changes: Any) -> Topic:
    """One without a retrieval order."""
    named = {"subtopic_vectors": np.random.default_rng(seed).standard_normal((subtopics, 4))}
    about = {"query_id": f"q{seed}", "retrieval_scores": None, **named}
    return judged_topic(n, seed, 4, subtopics, **(about | changes))


SCORES: dict[str, Any] = {"retrieval_scores": np.arange(4, 0, -1)}
NEITHER: dict[str, Any] = {"query_vector": None}
UNTOLD: dict[str, Any] = {"subtopic_vectors": None}
UNNAMED = UNTOLD | {"subtopic_ids": (), "judgments": None}


@pytest.mark.parametrize(("names", "options", "changes", "message"), [
    (TOLD, {}, SCORES | {"doc_vectors": None}, "'q0' has no document vectors"),
    (BY_VECTORS, {}, NEITHER, "no query vector.*relevance='minmax'"),
    (["xquad"], {"coverage": "topic"}, NEITHER, "no query vector.*relevance='minmax'"),
    ((*BY_VECTORS, "xquad"), {"relevance": "rank"}, {}, "relevance='rank' needs"),
    (EXPLICIT, {}, UNTOLD, "no subtopic vectors.*--vectors lsa"),
    (EXPLICIT, {}, UNNAMED, "no subtopic vectors.*which need none"),
    (["retrieval-order"], {}, {}, "has no retrieval order.*leave"),
    (["oracle"], {}, {"judgments": None}, "'q0' has no judgments"),
    (["relational-pretrained"], {}, {"doc_vectors": None}, "'q0' has no document vectors.*srd data"),
])  # fmt: skip
def test_what_a_topic_lacks_is_named(names: Any, options: Any, changes: Any, message: str) -> None:
    for name in names:
        ranker = make_ranker(name, **options)
        refused(lambda ranker=ranker: ranker.rank(topic(4, **changes), 2), message.format(who=f"ranker {name!r}"))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("name", "options"), [
    *product(BY_VECTORS, [{"relevance": kind} for kind in ("scores", "minmax", "matched", "cosine", "rank")]),
    *product(EXPLICIT, [{"coverage": scaling} for scaling in ("topic", "subtopic", "cosine")]),
])  # fmt: skip
def test_poor_input_is_ranked_in_candidate_order(name: str, options: Any) -> None:
    ranker = make_ranker(name, **options)
    assert ranker.rank(topic(1, retrieval_scores=[2.0]), 10).tolist() == [0]
    for score in (2.0, 0.1):
        alike: dict[str, Any] = {"retrieval_scores": np.full(4, score)}
        assert ranker.rank(topic(4, **alike, doc_vectors=np.zeros((4, 4))), 10).tolist() == [0, 1, 2, 3]
        if name in EXPLICIT:
            assert ranker.rank(topic(4, **alike, subtopic_vectors=np.zeros((3, 4))), 10).tolist() == [0, 1, 2, 3]


def test_the_retrieval_order_is_that_of_the_candidates() -> None:
    assert make_ranker("retrieval-order").rank(topic(4, retrieval_scores=[4, 3, 3, 1]), 3).tolist() == [0, 1, 2]
    columns = topic(4, retrieval_scores=[4, 3, 3, 1], doc_features=[[0], [2], [0], [5]], feature_names=("clicks",))
    assert make_ranker("retrieval-order", by="clicks").rank(columns, 4).tolist() == [3, 1, 0, 2]
    refused(lambda: make_ranker("retrieval-order", by="click").rank(columns, 4), "Did you mean clicks")


def test_random_order_depends_on_seed_and_query_only_and_is_uniform() -> None:
    ranker, other = make_ranker("random"), make_ranker("random", seed=1)
    many = [topic(20, seed=i) for i in range(30)]
    rankings = ranker.rank_batch(many, 20)
    assert len({tuple(ranking) for ranking in rankings}) == 30
    np.testing.assert_array_equal(ranker.rank(many[7], 20), rankings[7])
    assert not np.array_equal(other.rank(many[7], 20), rankings[7])
    # A longer list begins with the shorter one; the value is pinned, as other machines must draw it too.
    np.testing.assert_array_equal(ranker.rank(many[7], 5), rankings[7][:5])
    assert make_ranker("random").rank(topic(6), 6).tolist() == [4, 5, 2, 3, 1, 0]
    firsts = [int(make_ranker("random", seed=seed).rank(topic(4), 1)[0]) for seed in range(800)]
    assert all(150 < firsts.count(candidate) < 250 for candidate in range(4))


def test_what_a_ranker_looks_at_improves_on_the_order() -> None:
    words = Validation(load_topics("words"), "alpha_nDCG@10")
    engine, mmr, safe = (words.mean(make_ranker(name)) for name in ("retrieval-order", "mmr", "safe"))
    assert engine < mmr < safe < 1
    web = Validation(generate("web", n_topics=30, seed=1, candidates=(60, 60)), "alpha_nDCG@10")
    assert min(web.mean(make_ranker(name)) for name in EXPLICIT) > web.mean(make_ranker("mmr")) + 0.03


def value_of(name: str, given_topic: Topic, ranking: Any) -> float:
    bound = parse_measure(name, normalizer="candidates").bind([IdealPool.of(given_topic, "candidates")], len(ranking))
    judgments = given_topic.judgments
    return float(bound.values(judgments[ranking][None], 0)[0])


@pytest.mark.parametrize("name", ["alpha_DCG", "ERR_IA", "StRecall", "alpha_nDCG(alpha=0.3)"])
@given(n=st.integers(1, 5), s=st.integers(1, 3), seed=st.integers(0, 1000))
def test_oracle_takes_the_largest_gain_at_every_rank(name: str, n: int, s: int, seed: int) -> None:
    given_topic, oracle = topic(n, seed, subtopics=s), make_ranker("oracle", measure=name)
    ranking, allowed = oracle.rank(given_topic, n), np.ones(n, dtype=bool)
    for rank, chosen in enumerate(ranking):
        values = [value_of(name, given_topic, [*ranking[:rank], d]) for d in np.flatnonzero(allowed)]
        assert value_of(name, given_topic, ranking[: rank + 1]) == pytest.approx(max(values), abs=1e-12)
        allowed[chosen] = False


@pytest.mark.data
def test_heuristics_on_ambient_reach_the_known_values(data_dir: Path) -> None:
    # Computed independently of this package on the same files: candidates' ideal, MiniLM vectors.
    wanted = {"retrieval-order": (0.573, 0.544, 0.346, 0.483), "oracle": (1.0, 1.0, 0.727, 0.972)}
    topics = load_ambient(data_dir / "ambient", vectors=data_dir / "ambient" / "minilm-384.npz")
    names = ("alpha_nDCG@5", "alpha_nDCG@10", "StRecall@5", "StRecall@10")
    scores = [Validation(topics, parse_measure(name, normalizer="candidates")) for name in names]
    for name, values in wanted.items():
        ranker = make_ranker(name)
        assert [score.mean(ranker) for score in scores] == pytest.approx(values, abs=6e-4)
    cosine_only = make_ranker("mmr", lambda_=1.0, relevance="cosine")
    assert [score.mean(cosine_only) for score in scores[:2]] == pytest.approx((0.288, 0.311), abs=6e-4)
