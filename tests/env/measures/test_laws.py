from __future__ import annotations

import math
import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from srd_gym.measures import MEASURES, BoundMeasure, IdealPool, Measure, greedy_ideal, greedy_rankings, parse_measure
from srd_gym.measures import bound as bound_module
from srd_gym.measures import ideal as ideal_module

Ranking = list[int]


@dataclass
class Case:
    """One topic: a pool, of which the first `n` documents are the candidates, and a ranking of some of them."""

    pool: NDArray[np.int8]
    ids: list[str]
    weights: NDArray[np.float64]
    n: int
    ranking: Ranking

    @property
    def reference(self) -> IdealPool:
        return IdealPool(self.pool, self.ids, self.weights)

    @property
    def rows(self) -> NDArray[np.int8]:
        return self.pool[self.ranking][None]


def case(seed: int) -> Case:
    rng = np.random.default_rng(seed)
    p, s = rng.integers(1, 10), rng.integers(1, 6)
    ids = rng.permutation(["".join(letters) for n in (1, 2) for letters in product("ab1-", repeat=n)])[:p].tolist()
    n = int(rng.integers(1, p + 1))
    return Case(
        pool=rng.choice([-2, 0, 0, 0, 1, 1, 2, 3], (p, s)).astype(np.int8),
        ids=ids,
        weights=rng.choice([0.25, 1.0, 1.0, 2.0], s),
        n=n,
        ranking=rng.permutation(n)[: rng.integers(1, n + 1)].tolist(),
    )


cases = st.integers(0, 2**32).map(case)


@st.composite
def measures(draw: st.DrawFn) -> Measure:
    # VRisk, where lower is better, is what VRisk_reduction says it is.
    kind = MEASURES[draw(st.sampled_from(sorted(name for name in MEASURES if name != "VRisk")))]
    choices = {
        "cutoff": st.one_of(st.none(), st.integers(1, 12)),
        "rel": st.sampled_from([1, 1, 2]),
        # Sums of these powers are exact, so that ties of the greedy ideal are ties in any order of summation.
        "alpha": st.sampled_from([0.0, 0.25, 0.5, 0.875, 1.0]),
        "beta": st.sampled_from([0.1, 0.5, 1.0] if kind.name == "VRisk_reduction" else [0.0, 0.5, 0.8]),
        "target": st.sampled_from([1.0, 0.5]),
        "relative": st.booleans(),
        "gamma": st.sampled_from([0.0, 0.3, 0.5, 1.0]),
        "normalization": st.sampled_from(["ndeval", None, *(["chapelle"] if kind.name == "ERR_IA" else [])]),
    }
    fields = kind.__dataclass_fields__
    return kind(**{name: draw(choice) for name, choice in choices.items() if name in fields})


class Definitions:
    """A measure of the case's ranking, as its paper writes it: sums and sets, document by document."""

    def __init__(self, case: Case, m: Measure, depth: int) -> None:
        self.m, self.case, self.weights = m, case, case.weights.tolist()
        self.covers = [{s for s, grade in enumerate(row) if grade >= m.rel} for row in case.pool.tolist()]
        self.answered = set().union(*self.covers)
        self.share = sum(self.weights[s] for s in self.answered)
        self.k = m.cutoff if m.cutoff is not None else (10**6 if m.whole_list else depth)
        self.ranking = case.ranking[: self.k]

    def repeats(self, documents: Ranking, subtopic: int) -> int:
        return sum(subtopic in self.covers[document] for document in documents)

    def novel(self, earlier: Ranking, document: int) -> float:
        """What a document adds where a repeated subtopic is worth (1 - alpha) times as much each time."""
        left = {s: (1 - self.m.alpha) ** self.repeats(earlier, s) for s in sorted(self.covers[document])}
        return sum(self.weights[s] * share for s, share in left.items())

    def discount(self, rank: int) -> float:
        if "NRBP" in self.m.name:
            return float(self.m.beta ** (rank - 1))
        return 1 / rank if "ERR" in self.m.name else 1 / math.log2(1 + rank)

    def cascade(self, ranking: Ranking) -> float:
        return sum(self.novel(ranking[:r], document) * self.discount(r + 1) for r, document in enumerate(ranking))

    def best_first(self) -> Ranking:
        """The greedy ideal of the pool; ties to the larger id."""
        left, ideal = list(range(len(self.covers))), list[int]()
        while left:
            ideal.append(max(left, key=lambda document: (self.novel(ideal, document), self.case.ids[document])))
            left.remove(ideal[-1])
        return ideal

    def mean(self, each: Callable[[int], float]) -> float:
        """Mean over the subtopics that have a relevant document, by their weights."""
        return sum(self.weights[s] * each(s) for s in self.answered) / self.share

    def err(self, subtopic: int) -> float:
        """Expected reciprocal rank for a user who stops at a relevant document with probability alpha."""
        value, looking = 0.0, 1.0
        for r, document in enumerate(self.ranking, start=1):
            stop = self.m.alpha if subtopic in self.covers[document] else 0.0
            value += looking * stop / r
            looking *= 1 - stop
        return value

    def average_precision(self, s: int) -> float:
        found = [r for r, document in enumerate(self.ranking, 1) if s in self.covers[document]]
        relevant = self.repeats(list(range(len(self.covers))), s)
        return sum(self.repeats(self.ranking[:r], s) / r for r in found) / relevant

    def d_ndcg(self) -> float:
        gains = [sum(self.weights[s] for s in covered) for covered in self.covers]

        def dcg(values: list[float]) -> float:
            return sum(gain * self.discount(r) for r, gain in enumerate(values[: self.k], 1))

        return dcg([gains[document] for document in self.ranking]) / dcg(sorted(gains, reverse=True))

    def risk(self, ranking: Ranking) -> float:
        """VRisk as its paper writes it; the minimum over zeta is at 0 or at a loss."""
        every = list(range(len(self.covers)))
        best = {s: min(self.repeats(every, s), self.k) / self.k for s in self.answered}
        loss = {s: max(0.0, self.m.target * best[s] - self.repeats(ranking, s) / self.k) for s in self.answered}
        if self.m.relative:
            loss = {s: each / best[s] for s, each in loss.items()}
        above = {zeta: self.mean(lambda s, zeta=zeta: max(0.0, loss[s] - zeta)) for zeta in (0.0, *loss.values())}
        return min(zeta + mean / self.m.beta for zeta, mean in above.items())

    def value(self) -> float:
        m, recall = self.m, lambda: self.mean(lambda s: self.repeats(self.ranking, s) > 0)
        if not self.answered:
            return 0.0
        others: dict[str, Callable[[], float]] = {
            "StRecall": recall,
            "P_IA": lambda: self.mean(lambda s: self.repeats(self.ranking, s) / self.k),
            "MAP_IA": lambda: self.mean(self.average_precision),
            "D_nDCG": self.d_ndcg,
            "Dsharp_nDCG": lambda: m.gamma * recall() + (1 - m.gamma) * self.d_ndcg(),
            "VRisk_reduction": lambda: self.risk([]) - self.risk(self.ranking),
            "NRBP": lambda: self.cascade(self.ranking) * (1 - (1 - m.alpha) * m.beta) / self.share,
        }
        if m.name in others:
            return others[m.name]()
        if m.name in ("alpha_nDCG", "nERR_IA", "nNRBP"):
            return self.cascade(self.ranking) / self.cascade(self.best_first()[: self.k])
        if not hasattr(m, "normalization"):
            raise LookupError(f"no definition of {m.name}: add one to `others`")
        if m.normalization == "chapelle":
            return self.mean(self.err)
        if m.normalization is None or self.k == 1:
            return self.cascade(self.ranking)
        most = sum((1 - m.alpha) ** (r - 1) * self.discount(r) for r in range(1, self.k + 1))
        return self.cascade(self.ranking) / (self.share * most)


def bound_to(case: Case, m: Measure, depth: int = 9) -> BoundMeasure:
    return m.bind([case.reference], depth)


@settings(max_examples=300)
@given(cases, measures())
def test_every_measure_is_what_its_definition_says(case: Case, m: Measure) -> None:
    found = bound_to(case, m).values(case.rows, 0)
    assert found == pytest.approx(Definitions(case, m, 9).value(), abs=1e-12)


@settings(max_examples=150)
@given(cases, measures())
def test_every_way_to_score_a_ranking_gives_the_same(case: Case, m: Measure) -> None:
    bound = bound_to(case, m)
    rows = np.concatenate([case.rows, np.zeros((1, 9 - len(case.ranking), case.pool.shape[1]), np.int8)], axis=1)
    values = bound.values(rows, [0])
    np.testing.assert_allclose(bound.gains(rows, [0]).sum(axis=1), values, rtol=0, atol=1e-12)
    padded = np.array([case.ranking + [-1] * (9 - len(case.ranking))])
    assert bound.score_rankings(padded, case.pool[None, : case.n], [0]) == pytest.approx(values, abs=0)
    assert bound.values(rows >= m.rel, [0]) == pytest.approx(values, abs=0)
    rank = len(case.ranking)
    coverage = (case.rows >= m.rel).sum(axis=1)
    for document in set(range(case.n)) - set(case.ranking):
        gain = bound.candidate_gains(case.pool[None, : case.n], coverage, rank, 0)[0, document]
        after = bound.values(case.pool[[*case.ranking, document]][None], 0)
        assert gain == pytest.approx(after - values, abs=1e-12)
        step = bound.step_gains(case.pool[[document]], coverage, rank, np.zeros(1, np.int64))
        assert step == pytest.approx(gain, abs=1e-12)


@settings(max_examples=100)
@given(cases, st.sampled_from([0.0, 0.25, 0.5, 1.0]), st.sampled_from([1, 2]))
def test_the_greedy_ideal_is_the_official_one(case: Case, alpha: float, rel: int) -> None:
    m = parse_measure(f"alpha_nDCG(alpha={alpha}, rel={rel})")
    found = greedy_ideal(case.pool, ids=case.ids, alpha=alpha, rel=rel, weights=case.weights)
    assert found.tolist() == Definitions(case, m, len(found)).best_first()


@settings(max_examples=100)
@given(cases, measures())
def test_the_oracle_ranks_the_first_of_the_best_candidates_and_only_allowed_ones(case: Case, m: Measure) -> None:
    bound = bound_to(case, m, depth=case.n)
    judgments, allowed = case.pool[None, : case.n], np.ones((1, case.n), bool)
    allowed[0, case.ranking[0]] = False
    ranking = greedy_rankings(bound, judgments, allowed, 0)[0]
    filled = ranking[ranking >= 0].tolist()
    assert sorted(filled) == [d for d in range(case.n) if d != case.ranking[0]]
    assert ranking[-1] == -1
    coverage = np.zeros((1, case.pool.shape[1]), np.int64)
    for rank, chosen in enumerate(filled):
        gains = bound.candidate_gains(judgments, coverage, rank, 0)[0]
        rest = [d for d in range(case.n) if d in filled[rank:]]
        best = max(gains[rest])
        assert chosen == next(d for d in rest if gains[d] == pytest.approx(best, rel=1e-12, abs=0))
        coverage += case.pool[chosen] >= m.rel


@settings(max_examples=60)
@given(st.lists(cases, min_size=1, max_size=5), measures(), st.sampled_from([1, 60, 2**16]))
def test_a_batch_of_topics_of_different_sizes_in_blocks_scores_each_as_alone(
    batch: list[Case], m: Measure, block: int
) -> None:
    judgments = np.zeros((len(batch), 9, max(case.pool.shape[1] for case in batch)), np.int8)
    rankings = np.full((len(batch), 9), -1)
    for item, case in enumerate(batch):
        judgments[item, : len(case.pool), : case.pool.shape[1]] = case.pool
        rankings[item, : len(case.ranking)] = case.ranking
    topic = np.arange(len(batch))
    rows = np.where((rankings >= 0)[:, :, None], judgments[topic[:, None], rankings], 0)
    together, alone = m.bind([case.reference for case in batch], 9), [bound_to(case, m) for case in batch]
    expected = [bound.values(case.rows, 0)[0] for case, bound in zip(batch, alone, strict=True)]
    with mock.patch.object(bound_module, "_BLOCK", block):
        np.testing.assert_allclose(together.values(rows, topic), expected, rtol=0, atol=1e-12)
        np.testing.assert_allclose(together.gains(rows, topic).sum(axis=1), expected, rtol=0, atol=1e-12)
        found = together.score_rankings(rankings, judgments, topic)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


def test_without_ids_ties_go_to_the_first_document_and_with_ids_to_the_larger_id() -> None:
    judgments = np.array([[1, 0], [0, 1], [1, 0], [0, 0]], np.int8)
    assert greedy_ideal(judgments).tolist() == [0, 1, 2, 3]
    assert greedy_ideal(judgments, ids=["a", "b", "c", "d"]).tolist() == [2, 1, 0, 3]
    # Text order, not numeric order: "d9" is larger than "d10".
    assert greedy_ideal(judgments[:2], ids=["d9", "d10"], depth=1).tolist() == [0]


def test_ideals_are_computed_once_per_reference(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    real = ideal_module.greedy_by_novelty
    monkeypatch.setattr(ideal_module, "greedy_by_novelty", lambda *a: calls.append(1) or real(*a))
    references = [IdealPool(np.eye(12, dtype=np.int8)[:, :5]) for _ in range(40)]
    for name in ("alpha_nDCG@10", "nERR_IA@10", "alpha_nDCG@5", "nNRBP", "nNRBP@3", "StRecall@10"):
        parse_measure(name).bind(references, 10)
    assert len(calls) == 1  # all forty in one batch; five useful documents are the whole list already


def test_long_rankings_are_scored_in_bounded_memory() -> None:
    rng = np.random.default_rng(0)
    judgments = (rng.random((10, 200, 8)) < 0.1).astype(np.int8)
    bound = parse_measure("alpha_nDCG@10").bind([IdealPool(rows) for rows in judgments], 200)
    rankings = np.argsort(rng.random((40_000, 200), dtype=np.float32), axis=1)
    topic = np.arange(len(rankings)) % 10
    tracemalloc.start()
    bound.score_rankings(rankings, judgments, topic)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # Gathering all ranks would take 64 MB of judgments alone and several times that of work space.
    assert peak < 40e6
