from __future__ import annotations

from itertools import combinations, product
from math import e
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_topics import refused

from srd_agents import make_ranker
from srd_agents.heuristic import coverage, trade_off
from srd_agents.heuristic.greedy import Rows, rows_of
from srd_agents.heuristic.stepwise import TIED, least_tied
from srd_agents.pipeline.capabilities import with_diversity
from srd_agents.pipeline.limits import Limits
from srd_gym.checks import all_finite
from srd_gym.testing import check_ranker
from srd_gym.topic import Topic

BY_VECTORS = ("mmr", "msd", "dpp")
COVERING = ("cover", "facility-location")
GREEDY = (*BY_VECTORS, "ssd", *COVERING)


def topic_of(vectors: Any, **changes: Any) -> Topic:
    return Topic(query_id="q", doc_ids=tuple(f"d{i}" for i in range(len(vectors))), doc_vectors=vectors, **changes)


def drawn(n: int, width: int, seed: int, clusters: int = 0) -> Topic:
    """Random vectors and falling retrieval scores; with clusters, documents of one resemble each other."""
    rng = np.random.default_rng(seed)
    vectors = rng.standard_normal((n, width), dtype=np.float32)
    if clusters:
        centres = rng.standard_normal((clusters, width), dtype=np.float32)
        vectors = 0.5 * vectors + centres[rng.integers(clusters, size=n)]
    scores = np.sort(rng.random(n, dtype=np.float32))[::-1]
    return topic_of(vectors, retrieval_scores=scores, query_vector=rng.standard_normal(width))


def made(name: str, **options: Any) -> Any:
    """The ranker; "mmr clipped" is MMR with its option."""
    return make_ranker(name.split()[0], **options, **({"clip": True} if name == "mmr clipped" else {}))


def units_of(topic: Topic) -> Any:
    wide = topic.doc_vectors.astype(np.float64)
    lengths = np.linalg.norm(wide, axis=1, keepdims=True)
    return np.divide(wide, lengths, out=np.zeros_like(wide), where=lengths > 0)


def plain_relevance(topic: Topic, kind: str) -> Any:
    ranks, scores = np.arange(topic.n_candidates), topic.retrieval_scores.astype(np.float64)
    if kind == "cosine":
        return units_of(topic) @ topic.query_vector / np.linalg.norm(topic.query_vector)
    if kind == "minmax":
        return (scores - scores[-1]) / (scores[0] - scores[-1]) if len(scores) > 1 else scores**0
    return scores if kind == "scores" else 1 - ranks / len(ranks)


def plain_scores(name: str, topic: Topic, raw: Any, lambda_: float, selected: list[int]) -> Any:
    """Scores of the candidates as the next document, from the definitions, in float64."""
    units = units_of(topic)
    cosines = units @ units.T
    if name == "dpp":
        kernel = cosines.copy()
        np.fill_diagonal(kernel, 1.0)
        before = np.linalg.det(kernel[np.ix_(selected, selected)])
        with_each = [np.linalg.det(kernel[np.ix_([*selected, d], [*selected, d])]) for d in range(len(raw))]
        left = np.maximum(np.array(with_each) / before, 1e-12)
        return lambda_ * (raw - raw.mean()) / (raw.std() or 1.0) + (1 - lambda_) * np.log(left)
    if not selected:
        return lambda_ * raw
    if name.startswith("mmr"):
        nearest = cosines[:, selected].max(axis=1)
        return lambda_ * raw - (1 - lambda_) * (nearest.clip(0) if name == "mmr clipped" else nearest)
    return lambda_ * raw + (1 - lambda_) * (1 - cosines[:, selected]).sum(axis=1)


@pytest.mark.parametrize("name", [*BY_VECTORS, "mmr clipped"])
@given(
    n=st.integers(1, 14),
    k=st.integers(1, 16),
    width=st.integers(2, 9),
    lambda_=st.sampled_from([0.0, 0.3, 0.5, 0.9, 1.0]),
    relevance=st.sampled_from(["scores", "minmax", "rank", "cosine"]),
    seed=st.integers(0, 9999),
)
@settings(max_examples=60)
def test_rankings_are_greedy_by_scores_that_are_the_formula(
    name: str, n: int, k: int, width: int, lambda_: float, relevance: str, seed: int
) -> None:
    topic, allowed = drawn(n, width, seed), np.ones(n, dtype=bool)
    ranker: Any = made(name, lambda_=lambda_, relevance=relevance)
    raw = plain_relevance(topic, relevance)
    ranking = ranker.rank(topic, k)
    assert len(set(ranking.tolist())) == len(ranking) == min(k, n)
    # What is left of a vector that others nearly span is lost in float32: DPP's formula holds up to there.
    checked, near = (ranking[: max(1, width - 2)], 3e-2) if name == "dpp" else (ranking, 1e-4)
    for rank, chosen in enumerate(checked.tolist()):
        scores = ranker.score(topic, ranking[:rank], allowed)
        assert scores.dtype == np.float64
        assert scores[chosen] >= least_tied(scores.max(), getattr(ranker, "tied", TIED))
        plain = plain_scores(name, topic, raw, lambda_, ranking[:rank].tolist())
        constant = rank * (1 - lambda_) if name == "msd" else 0.0  # the same for all candidates
        np.testing.assert_allclose((scores + constant)[allowed], plain[allowed], atol=near)
        allowed[chosen] = False
        assert (ranker.score(topic, ranking[:rank], allowed) == -np.inf).sum() == rank + 1


def ranked(monkeypatch: pytest.MonkeyPatch, lazy: bool, name: str, topic: Topic, k: int, **options: Any) -> Any:
    """The ranking of a topic alone, lazily, or with every score computed at every rank."""
    with monkeypatch.context() as patch:
        for module in (trade_off, coverage):
            patch.setattr(module, "LAZY_FROM", 0 if lazy else 1 << 40)
        return made(name, **options).rank(topic, k)


def odd_topics(n: int) -> dict[str, Topic]:
    """Topics in which bounds mislead: ties, copies, zeros, no relevance, wild lengths."""
    rng = np.random.default_rng(0)
    few = rng.integers(-1, 2, size=(n, 3)).astype(np.float32)
    copies = rng.standard_normal((10, 64), dtype=np.float32)[rng.integers(10, size=n)]
    wild = rng.standard_normal((n, 64)) * 10.0 ** rng.integers(-25, 25, size=(n, 1))
    wild[::50] = 0
    padded = np.concatenate([few, np.zeros((n, 61), dtype=np.float32)], axis=1)
    ordered: Any = {"query_vector": rng.standard_normal(64), "retrieval_scores": np.sort(rng.integers(0, 4, n))[::-1]}
    flat = ordered | {"retrieval_scores": np.zeros(n)}
    return {
        "random": drawn(n, 64, 3),
        "clustered": drawn(n, 64, 4, clusters=12),
        "few directions": topic_of(padded, **ordered),
        "few directions without relevance": topic_of(padded, **flat),
        "copies": topic_of(copies, **ordered),
        "copies without relevance": topic_of(copies, **flat),
        "zeros": topic_of(np.zeros((n, 64)), **flat),
        "some zeros": topic_of(
            np.where(np.arange(n)[:, None] % 3 == 0, 0, few), **ordered | {"query_vector": np.ones(3)}
        ),
        "wild lengths": topic_of(wild, **ordered),
    }


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("name", "options"), [
    *((name, {"relevance": kind}) for name in (*BY_VECTORS, "mmr clipped") for kind in ("minmax", "cosine")),
    *((name, {"scale": kind}) for name in COVERING for kind in ("mean", "sum")),
])  # fmt: skip
@pytest.mark.parametrize("lambda_", [0.0, 0.1, 0.5, 0.9, 1.0])
def test_lazy_choice_is_the_eager_one(
    name: str, options: dict[str, str], lambda_: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    n = 150 if name in COVERING else 700
    for what, topic in odd_topics(n).items():
        k = n if (what, lambda_) == ("clustered", 0.5) and "cosine" not in options.values() else 60
        lazy, eager = (ranked(monkeypatch, each, name, topic, k, lambda_=lambda_, **options) for each in (True, False))
        np.testing.assert_array_equal(lazy, eager, what)
        assert len(set(lazy.tolist())) == k


@pytest.mark.parametrize(("name", "most"), [("mmr clipped", 8_000), ("dpp", 3_000)])
def test_most_similarities_are_never_computed(name: str, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    products: list[int] = []

    def counted(real: Any) -> Any:
        def count(rows: Rows, directions: Any) -> Any:
            found = real(rows, directions)
            products.append(found.size)
            return found

        return count

    for name_of_product in ("project", "project_each"):
        monkeypatch.setattr(Rows, name_of_product, counted(getattr(Rows, name_of_product)))
    ranker = made(name)
    ranker.rank(drawn(1000, 160, 0), 20)
    assert 19 * 64 <= sum(products) < most  # eagerly: 19,000
    # Small topics are worked on side by side: one row of all candidates a rank.
    products.clear()
    ranker.rank_batch([drawn(50, 8, 0), drawn(50, 8, 1)], 10)
    assert products == [100] * 9


@pytest.mark.parametrize("name", GREEDY)
def test_large_topics_keep_the_order_of_copies_and_follow_permutations(name: str) -> None:
    topic = drawn(500, 300, 5, clusters=9)
    ranker = make_ranker(name, relevance="cosine")
    order = np.random.default_rng(1).permutation(500)
    np.testing.assert_array_equal(order[ranker.rank(topic.take(order), 30)], ranker.rank(topic, 30))
    vectors = np.random.default_rng(2).standard_normal((171, 301), dtype=np.float32)
    twice = topic_of(np.concatenate([vectors, vectors, vectors]), query_vector=vectors[7])
    ranking = ranker.rank(twice, 30)
    for position, document in enumerate(ranking.tolist()):
        assert document < 171 or document - 171 in ranking[:position].tolist()


@pytest.mark.parametrize("lazy", [True, False])
@pytest.mark.parametrize("name", GREEDY)
def test_batches_rank_as_single_topics(name: str, lazy: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coverage, "LAZY_FROM", 100 if lazy else 1 << 40)
    sizes = [(9, 5)] * 9 + [(400, 340)] * 2 + [(1, 5)] * 3 + list(product((2, 17, 40, 60), (1, 8, 40)))
    topics = [drawn(n, width, seed, clusters=seed % 5) for seed, (n, width) in enumerate(sizes)]
    check_ranker(make_ranker(name), topics, k=12)


@pytest.mark.parametrize("lazy", [True, False])
def test_dpp_ranks_by_relevance_once_the_space_is_spanned(lazy: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    ranking = ranked(monkeypatch, lazy, "dpp", drawn(600, 9, 2), 300)
    assert ranking[9:].tolist() == sorted(ranking[9:].tolist())


def check_same(ranker: Any, topic: Topic, ranking: Any, theirs: Any) -> None:
    """Two rankings differ only where float32 cannot tell documents apart."""
    different = np.flatnonzero(ranking != theirs)
    if len(different):
        rank = int(different[0])
        scores = ranker.score(topic, ranking[:rank], np.ones(topic.n_candidates, dtype=bool))
        wanted = scores[theirs[rank]]
        assert abs(scores[ranking[rank]] - wanted) < 6e-6 * (1 + abs(wanted))


THEIRS = st.tuples(st.sampled_from([0.1, 0.5, 0.8, 1.0]), st.integers(0, 9999), st.sampled_from([0, 6]))


@pytest.mark.parametrize("name", BY_VECTORS)
@pytest.mark.parametrize(("n", "width"), [(30, 24), (400, 340)])
@given(drawn_case=THEIRS)
def test_choices_are_those_of_pyversity(name: str, n: int, width: int, drawn_case: tuple[float, int, int]) -> None:
    pyversity = pytest.importorskip("pyversity")
    diversity, seed, clusters = drawn_case
    topic = drawn(n, width, seed, clusters)
    strategy = pyversity.Strategy(name)
    result = pyversity.diversify(topic.doc_vectors, topic.retrieval_scores, 20, strategy=strategy, diversity=diversity)
    lambda_ = 1 - diversity
    if name == "dpp":  # its kernel's exponent is 1 - diversity: a = lambda / (2 (1 - lambda))
        lambda_ = 2 * lambda_ / (1 + 2 * lambda_)
    ranker = made("mmr clipped" if name == "mmr" else name, lambda_=lambda_, relevance="scores")
    check_same(ranker, topic, ranker.rank(topic, 20), result.indices.astype(np.int64))


@pytest.mark.parametrize("way", ["alone", "lazily", "beside others", "step by step"])
@pytest.mark.parametrize(("name", "lambda_", "tied"), [
    ("mmr", 0.5, 2),
    ("msd", 0.5, 2),
    ("mmr", 0.0, 1),
    ("msd", 0.0, 1),
    ("dpp", 0.0, 1),
    ("facility-location", 1.0, 3),
])  # fmt: skip
def test_ties_go_to_the_more_relevant_unless_there_is_a_retrieval_order(
    name: str, lambda_: float, tied: int, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A document is the query: at lambda 0.5 all others tie after it. At lambda 0 all tie for the first rank."""
    generator = np.random.default_rng(3)
    vectors = generator.standard_normal((40, 16), dtype=np.float32)
    query = vectors[30]
    unordered = topic_of(vectors, query_vector=query)
    nearest = np.argsort(-rows_of(vectors).project(rows_of(query[None]).unit(0)), kind="stable")
    ranker = make_ranker(name, lambda_=lambda_, relevance="cosine")
    assert nearest[0] == 30
    assert ranked_by(ranker, way, unordered, monkeypatch)[:tied] == nearest[:tied].tolist()
    if lambda_ == 0:
        ordered = topic_of(vectors, query_vector=query, retrieval_scores=np.zeros(40))
        assert ranked_by(ranker, way, ordered, monkeypatch)[0] == 0, "the first retrieved"


def ranked_by(ranker: Any, way: str, topic: Topic, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The first three of a topic, ranked in one of the ways that a greedy ranker has."""
    if way == "step by step":
        return Limits().choose(topic, 3, ranker.progress(topic))[0].tolist()
    with monkeypatch.context() as patch:
        for module in (trade_off, coverage):
            patch.setattr(module, "LAZY_FROM", 0 if way == "lazily" else 1 << 40)
        other = topic_of(topic.doc_vectors, query_vector=topic.query_vector, retrieval_scores=np.zeros(40))
        return ranker.rank_batch([topic, other, topic] if way == "beside others" else [topic], 3)[0].tolist()


@pytest.mark.parametrize("size", [10, 5_000])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_finite_numbers_are_found_whatever_their_squares(size: int, dtype: Any) -> None:
    numbers = np.full(size, np.finfo(dtype).max)
    assert all_finite(numbers)
    assert all_finite(numbers[::2])
    for wrong in (np.nan, np.inf, -np.inf):
        numbers[size // 2] = wrong
        assert not all_finite(numbers)


# Coverage of the candidates


def covered(name: str, topic: Topic, chosen: list[int]) -> float:
    """C of the papers, the mean over candidates, in float64."""
    near = (units_of(topic) @ units_of(topic).T).clip(min=0)
    total = near[:, chosen].sum(axis=1)
    if name == "cover":
        each = total**0.5
    elif name == "facility-location":
        each = near[:, chosen].max(axis=1, initial=0)
    else:
        each = np.minimum(total, min(1, 5 / len(near)) * near.sum(axis=1))
    return float(each.mean())


@pytest.mark.parametrize("name", COVERING)
@pytest.mark.parametrize("lambda_", [0.0, 0.1, 0.5, 1.0])
def test_scores_are_relevance_and_what_a_document_adds(name: str, lambda_: float) -> None:
    topic = drawn(12, 5, 1, clusters=3)
    ranker: Any = make_ranker(name, lambda_=lambda_, relevance="scores")
    ranking, everything = ranker.rank(topic, 12).tolist(), np.ones(12, bool)
    for rank, chosen in enumerate(ranking):
        before = ranking[:rank]
        added = [covered(name, topic, [*before, d]) - covered(name, topic, before) for d in range(12)]
        wanted = lambda_ * np.asarray(topic.retrieval_scores) + (1 - lambda_) * np.array(added)
        scores = ranker.score(topic, np.array(before, np.int64), everything)
        np.testing.assert_allclose(scores, wanted, atol=2e-6)
        assert chosen == np.where(np.isin(np.arange(12), before), -np.inf, scores).argmax()


@pytest.mark.parametrize("name", COVERING)
def test_greedy_is_within_its_guarantee_of_the_best_set(name: str) -> None:
    for seed in range(20):
        topic = drawn(8, 4, seed, clusters=seed % 4)
        best = max(covered(name, topic, list(some)) for some in combinations(range(8), 3))
        greedy = covered(name, topic, make_ranker(name, lambda_=0.0).rank(topic, 3).tolist())
        assert (1 - 1 / e) * best <= greedy <= best + 1e-9


@pytest.mark.parametrize("name", COVERING)
def test_lazily_most_candidates_are_computed_once(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    topic, computed = drawn(600, 8, 3, clusters=20), list[int]()
    real = coverage.Covering._gains

    def counted(ranker: Any, similarities: Any, *rest: Any) -> Any:
        computed.append(len(similarities))
        return real(ranker, similarities, *rest)

    monkeypatch.setattr(coverage.Covering, "_gains", counted)
    make_ranker(name).rank(topic, 20)
    assert 600 < sum(computed) < 600 + 19 * 300  # eagerly: 20 * 600


@pytest.mark.parametrize("name", ["ssd", "cover"])
def test_choices_are_those_of_pyversity_on_many_topics(name: str) -> None:
    pyversity = pytest.importorskip("pyversity")
    for seed in range(300):
        rng = np.random.default_rng(seed)
        n, width = int(rng.integers(1, 60)), int(rng.integers(2, 40))
        # Where as many documents as dimensions are chosen, pyversity orders the rest by rounding errors.
        k = int(rng.integers(1, width + 1)) if name == "ssd" else int(rng.integers(1, 30))
        diversity, topic = float(rng.choice([0, 0.1, 0.3, 0.5, 0.8, 1])), drawn(n, width, seed, clusters=6 * (seed % 2))
        options: Any = {"gamma": float(rng.choice([0.2, 0.5, 1]))}
        ours = {"scale": "sum"} if name == "cover" else {}
        if name == "ssd":
            options["window"] = None if seed % 3 else int(rng.integers(1, 8))
        ranker: Any = make_ranker(name, lambda_=1 - diversity, relevance="scores", **options, **ours)
        given = (topic.doc_vectors, topic.retrieval_scores, k)
        theirs = pyversity.diversify(*given, strategy=pyversity.Strategy(name), diversity=diversity, **options).indices
        check_same(ranker, topic, ranker.rank(topic, k), theirs)


def test_ssd_forgets_what_leaves_the_window() -> None:
    # With the 1 appended, nothing is left of a copy, sqrt(3/2) at a right angle, sqrt(2) of the opposite.
    topic = topic_of(np.array([[1, 0], [1, 0], [0, 1], [-1, 0]]), retrieval_scores=np.zeros(4), query_vector=[1, 1])
    assert make_ranker("ssd", lambda_=0.0).rank(topic, 4).tolist() == [0, 3, 2, 1]
    ranker: Any = make_ranker("ssd", lambda_=0.0, window=1)
    scores = ranker.score(topic, np.array([0]), np.ones(4, bool))
    np.testing.assert_allclose(scores, np.sqrt([0, 0, 1.5, 2]), atol=1e-6)
    # The last one alone counts: the copy of the first is new again.
    assert ranker.rank(topic, 4).tolist() == [0, 3, 1, 2]
    refused(lambda: make_ranker("ssd", window=0), "window must be at least 1")
    refused(lambda: make_ranker("cover", gamma=0.0), "gamma must be")


@pytest.mark.parametrize("name", COVERING)
def test_coverage_takes_no_diversity(name: str) -> None:
    refused(lambda: with_diversity(make_ranker(name), 0.5), f"ranker '{name}' does not: .*dpp, ssd,")
