"""Choice within limits, held against a plainly written reference that tries all that could follow.

`SRD_CASES=10000` runs so many random cases in place of 1,000.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from small_topics import refused

from srd_agents import diversify
from srd_agents.pipeline.chunks import of_chunks, of_tokens

CASES = int(os.environ.get("SRD_CASES", "1000"))


@dataclass
class Case:
    """A call, and the same as the reference understands it; numbers are multiples of 1/32, so that ties are exact."""

    call: dict[str, Any]
    relevance: Sequence[float]
    alike: Any
    """[N, N] what MMR weighs."""
    copies: Any
    """[N, N] bool."""
    kinds: list[tuple[Sequence[Any], Callable[[Any], float], Callable[[Any], int]]] = field(default_factory=list)
    """Groups, and how many may and must be shown of one."""
    costs: Sequence[float] = ()
    budget: float = 0.0
    shown: Sequence[int] = ()
    pinned: Sequence[int | None] = ()


class Reference:
    """The best document by MMR (lambda 0.5) again and again, of those after which what must be shown still can be."""

    def __init__(self, case: Case, k: int, *, fill: bool) -> None:
        self.case, self.fill = case, fill
        self.order = sorted(range(len(case.relevance)), key=lambda i: -case.relevance[i])
        self.pins = [pin for pin in case.pinned if pin is not None]
        self.before, self.wanted = [*case.shown, *self.pins], k - len(self.pins)
        self.costs = case.costs or [0.0] * len(self.order)
        self.needs = self.needs_that_can_be_met()
        self.values = dict[int, float]()

    def count(self, kind: int, group: Any, documents: Sequence[int]) -> int:
        return sum(self.case.kinds[kind][0][i] == group for i in (*self.before, *documents))

    def affordable(self, documents: Sequence[int]) -> bool:
        return sum(self.costs[i] for i in (*self.pins, *documents)) <= self.case.budget

    def within(self, documents: Sequence[int]) -> bool:
        """Whether these fit, `max_per_group` included."""
        groups = [(kind, ids[i], most) for i in documents for kind, (ids, most, _) in enumerate(self.case.kinds)]
        fit = all(self.count(kind, group, documents) <= most(group) for kind, group, most in groups)
        return fit and self.affordable(documents)

    def left(self, documents: Sequence[int]) -> list[int]:
        return [i for i in self.order if i not in self.before and i not in documents]

    def can_follow(self, documents: Sequence[int], needs: Mapping[tuple[int, Any], int]) -> bool:
        """Whether some more documents meet all needs."""
        short = [need for need, least in needs.items() if self.count(*need, documents) < least]
        kinds = self.case.kinds
        helpful = [i for i in self.left(documents) if any(kinds[kind][0][i] == group for kind, group in short)]
        return not short or any(
            self.within([*documents, *more])
            and all(self.count(*need, [*documents, *more]) >= needs[need] for need in short)
            for size in range(1, self.wanted - len(documents) + 1)
            for more in combinations(helpful, size)
        )

    def needs_that_can_be_met(self) -> dict[tuple[int, Any], int]:
        needs: dict[tuple[int, Any], int] = {}
        for kind, (ids, _, least) in enumerate(self.case.kinds):
            for group in dict.fromkeys(ids[i] for i in self.order):
                needs[kind, group] = 0
                while needs[kind, group] < least(group):
                    needs[kind, group] += 1
                    if not self.can_follow([], needs):
                        needs[kind, group] -= 1
                        break
        return needs

    def next(self, chosen: list[int]) -> int | None:
        allowed = [i for i in self.left(chosen) if self.within([*chosen, i])]
        if not allowed and self.fill:
            allowed = [i for i in self.left(chosen) if self.affordable([*chosen, i])]
        allowed = [i for i in allowed if self.can_follow([*chosen, i], self.needs)]
        originals = list[int]()
        for i in (*self.before, *chosen):
            if not any(self.case.copies[i][j] for j in originals):
                originals.append(i)
        fresh = [i for i in allowed if not any(self.case.copies[i][j] for j in originals)]
        best = max(fresh or allowed, key=lambda i: self.value(i, chosen), default=None)
        if best is not None:
            self.values[best] = self.value(best, chosen)
        return best

    def value(self, i: int, chosen: list[int]) -> float:
        alike = max((self.case.alike[i][j] for j in (*self.before, *chosen)), default=0.0)
        return round(float(self.case.relevance[i] / 2 - alike / 2), 6)  # equal but for rounding

    def ranking(self) -> list[int]:
        chosen = list[int]()
        while len(chosen) < self.wanted and (document := self.next(chosen)) is not None:
            chosen.append(document)
        rest = iter(chosen)
        placed = [next(rest, None) if pin is None else pin for pin in self.case.pinned]
        return [i for i in (*placed, *rest) if i is not None]


def cases(seed: int) -> Iterator[tuple[Case, int, bool]]:
    generator = np.random.default_rng(seed)
    while True:
        n, k = int(generator.integers(1, 8)), int(generator.integers(1, 6))
        case = documents(generator, n)
        limits = [part for part in (groups, costs, shown_before, pinned) if generator.random() < 0.7]
        for limit in limits:
            limit(generator, case, n, k)
        fill = "max_per_group" in case.call and generator.random() < 0.3
        yield case, k, fill


def documents(generator: np.random.Generator, n: int) -> Case:
    """Vectors by cosine or product, or similarities."""
    relevance = (generator.integers(-8, 9, size=n) / 8).tolist()
    call: dict[str, Any] = {"scores": relevance, "ranker": "mmr", "diversity": 0.5, "relevance": "scores"}
    kind = generator.integers(4)
    if kind == 3:
        return chunked(generator, n, call)
    if kind == 0:  # of equal length, so that cosines are fourths
        vectors = generator.choice([-1.0, 1.0], size=(n, 4))
        return Case(call | {"doc_vectors": vectors}, relevance, vectors @ vectors.T / 4, vectors @ vectors.T >= 4)
    if kind == 1:
        vectors = generator.choice([-1, 1], size=(n, 4)) * generator.choice([1, 2], size=(n, 1))
        lengths = np.linalg.norm(vectors, axis=1)
        copies = vectors @ vectors.T >= 0.999 * np.outer(lengths, lengths)
        return Case(call | {"doc_vectors": vectors, "metric": "dot"}, relevance, vectors @ vectors.T, copies)
    half = generator.integers(-16, 17, size=(n, n)) / 16
    alike = np.triu(half) + np.triu(half, 1).T
    limit = float(generator.choice([0.5, 0.75, 1.0]))
    return Case(call | {"similarity": alike, "near_duplicates": limit}, relevance, alike, alike >= limit)


def chunked(generator: np.random.Generator, n: int, call: dict[str, Any]) -> Case:
    """Documents by their chunks, the nearest pair or all pairs."""
    parents = generator.permutation([*range(n), *generator.integers(n, size=n)]).tolist()
    vectors, relevance = generator.choice([-1.0, 1.0], size=(2 * n, 4)), (generator.integers(-8, 9, size=2 * n) / 8)
    of = {name: [i for i in range(2 * n) if parents[i] == name] for name in dict.fromkeys(parents)}
    kind = str(generator.choice(["nearest", "mean"]))
    whole, combine = of_chunks(vectors, parents, relevance, similarity=kind), {"nearest": np.max, "mean": np.mean}[kind]
    alike = np.array([[combine([vectors[i] @ vectors[j] / 4 for i in one for j in other]) for other in of.values()]
                      for one in of.values()])  # fmt: skip
    best = [max(one, key=lambda i: relevance[i]) for one in of.values()]
    assert whole.best.tolist() == best
    np.testing.assert_allclose(whole.similarity, np.where(np.eye(n), 1, alike), atol=1e-6)
    alike = whole.similarity.astype(np.float64)
    call |= {"similarity": whole.similarity, "scores": whole.scores, "near_duplicates": 0.75}
    return Case(call, whole.scores.tolist(), alike, alike >= 0.75 - 1e-6)


def groups(generator: np.random.Generator, case: Case, n: int, k: int) -> None:
    names = ["site", "brand"][: int(generator.integers(1, 3))]
    ids = {name: generator.choice(list("abc"), size=n).tolist() for name in names}
    most = {name: number_or_numbers(generator, 1) for name in names if generator.random() < 0.7}
    least = {name: number_or_numbers(generator, 0) for name in names if generator.random() < 0.6}
    for name in names:
        case.kinds.append((ids[name], told(most.get(name), 99), told(least.get(name), 0)))
    alone = len(names) == 1 and generator.random() < 0.5
    asked = {"max_per_group": most, "min_per_group": least if most else least or {names[0]: 1}}
    if not most and not least:
        case.kinds[0] = (ids[names[0]], told(None, 99), told(1, 0))
    asked = {name: value["site"] if alone else value for name, value in asked.items() if value}
    case.call |= {"groups": ids["site"] if alone else ids, **asked}


def number_or_numbers(generator: np.random.Generator, least: int) -> int | dict[str, int]:
    if generator.random() < 0.4:
        return int(generator.integers(1, 3))
    return {name: int(generator.integers(least, 4)) for name in "abx" if generator.random() < 0.6} or {"a": 1}


def told(counts: int | dict[str, int] | None, other: int) -> Callable[[Any], int]:
    return lambda group: counts.get(group, other) if isinstance(counts, dict) else other if counts is None else counts


def costs(generator: np.random.Generator, case: Case, n: int, k: int) -> None:
    case.costs = generator.integers(0, 5, size=n).tolist()
    case.budget = float(generator.integers(0, 3 * k + 1))
    case.call |= {"costs": case.costs, "budget": case.budget}


def shown_before(generator: np.random.Generator, case: Case, n: int, k: int) -> None:
    case.shown = generator.permutation(n)[: generator.integers(0, 3)].tolist()
    case.call["already_shown"] = case.shown


def pinned(generator: np.random.Generator, case: Case, n: int, k: int) -> None:
    free = [i for i in generator.permutation(n).tolist() if i not in case.shown]
    places = [free.pop() if free and generator.random() < 0.4 else None for _ in range(generator.integers(0, k + 1))]
    if not case.costs or sum(case.costs[i] for i in places if i is not None) <= case.budget:
        case.pinned = case.call["pinned"] = places


@pytest.mark.parametrize("part", range(10))
def test_the_choice_is_that_of_the_reference(part: int) -> None:
    drawn, lacking = cases(part), 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(CASES // 10):
            case, k, fill = next(drawn)
            found = diversify(**case.call, k=k, fill=fill)
            wanted = Reference(case, k, fill=fill)
            assert found.indices.tolist() == wanted.ranking(), (case, k, fill)
            scores = dict(zip(found.indices.tolist(), found.scores.tolist(), strict=True))
            own = {i: score for i, score in scores.items() if i not in wanted.pins}
            assert own == pytest.approx(wanted.values, abs=1e-6), (case, k, fill)
            lacking += "min_per_group asks for" in found.note
    assert 0 < lacking < CASES / 10


SCORED = ["mmr", "msd", "dpp", "ssd", "cover", "facility-location", "xquad", "pm2", None]


@pytest.mark.parametrize("scored", [True, False])
@pytest.mark.parametrize("ranker", SCORED)
def test_scores_are_those_by_which_documents_were_chosen(ranker: str | None, scored: bool) -> None:
    """Also of many documents, of a batch, and within limits that change nothing."""
    generator = np.random.default_rng(0)
    query, vectors, scores = generator.normal(size=8), generator.normal(size=(400, 8)), generator.normal(size=400)
    given: dict[str, Any] = {"k": 6, "ranker": ranker}
    given |= {"subtopics": vectors[:3]} if ranker in ("xquad", "pm2") else {}
    found = diversify(query, vectors, scores=scores if scored else None, **given)
    for place in (1, 4):  # what was shown before counts as chosen
        before = {"already_shown": found.indices[:place], "near_duplicates": None}
        rest = diversify(query, vectors, scores=scores if scored else None, **given | {"k": 1} | before)
        assert rest.indices == found.indices[place]
        np.testing.assert_allclose(rest.scores, found.scores[place], rtol=1e-4, atol=1e-5)
    each = {"scores": [scores] * 2} if scored else {}
    given |= {"subtopics": [vectors[:3]] * 2} if ranker in ("xquad", "pm2") else {}
    batch = diversify([query] * 2, [vectors] * 2, **each, **given)
    np.testing.assert_allclose(batch.scores, [found.scores] * 2, rtol=1e-5, atol=1e-6)
    assert len(set(found.scores.tolist())) == 6


def test_what_wins_alone_scores_what_it_adds() -> None:
    found = diversify(None, VECTORS, 3, scores=SCORES, costs=[1, 9, 1, 1, 1, 1], budget=4, per_cost=True)
    assert len(found.scores) == len(found.indices) == 3
    assert (np.diff(found.scores) <= 0).all()


VECTORS, SCORES = np.eye(6), [6, 5, 4, 3, 2, 1]
SITES, BRANDS = list("aabbcc"), list("xyxyxy")


def shown(**limits: Any) -> list[int]:
    return diversify(None, VECTORS, 4, scores=SCORES, **limits).indices.tolist()


def test_keys_of_json_are_text_and_missing_places_nan() -> None:
    assert shown(groups=[1, 1, 2, 2, 3, 3], min_per_group={"3": 2}) == [0, 1, 4, 5]
    assert shown(pinned=[5, np.nan, 4], groups=SITES, max_per_group=1) == [5, 0, 4, 2]


def test_several_kinds_of_groups_in_a_batch_and_in_reasons() -> None:
    both = {"site": SITES, "brand": [None, *BRANDS[1:]]}
    limits: dict[str, Any] = {"groups": both, "max_per_group": {"site": 1}}
    with pytest.warns(UserWarning, match="^documents without a group"):
        found = diversify(None, VECTORS, 4, scores=SCORES, **limits)
    limits |= {"groups": [both] * 2, "pinned": [None, [5]]}
    with pytest.warns(UserWarning, match="^documents without a group"):
        batch = diversify(None, [VECTORS] * 2, 4, scores=[SCORES] * 2, **limits)
    assert found.indices.tolist() == [0, 2, 4] == batch.indices[0].tolist()[:3]
    assert batch.indices[1].tolist() == [5, 0, 2]
    assert [each.group for each in found.explain().reasons] == ["site: a", "site: b, brand: x", "site: c, brand: x"]


def test_what_cannot_be_met_is_told_and_met_as_far_as_it_can_be() -> None:
    lacks = "no more can be shown of what min_per_group asks for: 2 of 3 of 'c'"
    with pytest.warns(UserWarning, match=f"^{lacks}"):
        found = diversify(None, VECTORS, 4, scores=SCORES, groups=SITES, min_per_group={"c": 3})
    assert found.indices.tolist() == [0, 1, 4, 5]
    assert found.note.endswith(lacks)
    with pytest.warns(UserWarning, match=f"^topic '1': {lacks}") as told:
        diversify(None, [VECTORS] * 3, 4, scores=[SCORES] * 3, groups=[list("cccaaa"), SITES, SITES],
                  min_per_group={"c": 3})  # fmt: skip
    assert len(told) == 1


def test_a_similarity_stands_in_for_vectors() -> None:
    generator = np.random.default_rng(0)
    vectors, scores = generator.normal(size=(30, 5)), generator.normal(size=30)
    units = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    alike = units @ units.T
    for options in ({}, {"diversity": 0.4}, {"diversity": 0.4, "near_duplicates": 0.5}, {"near_duplicates": 0.5}):
        wanted = diversify(None, vectors, 10, scores=scores, **options)
        found = diversify(None, similarity=alike, k=10, scores=scores, **options)
        assert found.indices.tolist() == wanted.indices.tolist()
        assert [each[:5] for each in found.explain().reasons] == [
            pytest.approx(each[:5], abs=1e-6) for each in wanted.explain().reasons
        ]
    many = diversify(None, similarity=[alike, alike[:3, :3]], k=10, scores=[scores, scores[:3]], diversity=0.4)
    assert many.indices[0].tolist() == diversify(None, vectors, 10, scores=scores, diversity=0.4).indices.tolist()
    assert diversify(None, similarity=[], scores=[]).indices.tolist() == []


def test_the_dot_product_weighs_lengths() -> None:
    generator = np.random.default_rng(1)
    query, vectors = generator.normal(size=4), generator.normal(size=(40_000, 4)) * generator.random((40_000, 1)) * 3
    for scores in (None, generator.normal(size=40_000)):
        for n in (40_000, 50):  # of many, most products are left out
            given = {
                "query_vector": query,
                "doc_vectors": vectors[:n],
                "scores": None if scores is None else scores[:n],
            }
            found = diversify(**given, k=8, metric="dot", diversity=0.3, near_duplicates=None).indices.tolist()
            relevance = vectors[:n] @ query
            if scores is not None:
                relevance = (scores[:n] - scores[:n].mean()) / scores[:n].std() * relevance.std() + relevance.mean()
            wanted = [int(relevance.argmax())]
            while len(wanted) < 8:
                values = 0.7 * relevance - 0.3 * (vectors[wanted] @ vectors[:n].T).max(axis=0)
                values[wanted] = -np.inf
                wanted.append(int(values.argmax()))
            assert found == wanted
    by_product = diversify(query, vectors, 40, metric="dot", diversity=0).indices.tolist()
    assert by_product == np.argsort(-vectors.astype(np.float32) @ query.astype(np.float32), kind="stable").tolist()[:40]


def test_sparse_vectors_are_read() -> None:
    dense = sparse.random_array((40, 500), density=0.05, rng=np.random.default_rng(0)).toarray()
    query, scores = dense[0] + dense[1], np.arange(40)
    rows = sparse.csc_matrix(dense)
    for options in ({"diversity": 0.5}, {"ranker": "dpp"}, {"subtopics": dense[:3]}):
        wanted = diversify(query, dense, 10, **options).indices.tolist()
        assert diversify(query, rows, 10, **options).indices.tolist() == wanted
        assert diversify(sparse.csr_array(query[None]), rows, 10, **options).indices.tolist() == wanted
    batch = diversify(None, [rows, rows[:5]], 10, scores=[scores, scores[:5]], diversity=0.5)
    alone = diversify(None, dense, 10, scores=scores, diversity=0.5)
    assert batch.topics()[0].indices.tolist() == alone.indices.tolist()


@pytest.mark.parametrize(("arguments", "error", "message"), [
    ({"min_per_group": 1}, ValueError, "groups and max_per_group belong together"),
    ({"groups": SITES, "fill": True, "min_per_group": 1}, ValueError, "fills up with documents above max_"),
    ({"groups": SITES, "max_per_group": {"a": -1}}, ValueError, r"max_per_group\['a'\] must be at least 0"),
    ({"groups": SITES, "max_per_group": {"a": 1.5}}, TypeError, "max_per_group.* must be a whole number"),
    ({"groups": SITES, "min_per_group": {"a": {"b": 1}}}, ValueError, "names kinds of groups"),
    ({"groups": {"site": SITES}, "max_per_group": {"sites": 1}}, ValueError, "kind of groups .*Did you mean site"),
    ({"groups": {}, "max_per_group": 1}, ValueError, "expected one kind of groups, got 0"),
    ({"groups": dict.fromkeys("abc", SITES), "min_per_group": 1}, ValueError, "at most two kinds of groups with min_"),
    ({"groups": {"site": SITES[1:]}, "max_per_group": 1}, ValueError, r"groups have shape \(5,\)"),
    ({"pinned": [0] * 2}, ValueError, "pinned must name a document once"),
    ({"pinned": [6]}, ValueError, "pinned names document 6"),
    ({"pinned": [0.5]}, TypeError, "pinned must hold whole numbers"),
    ({"pinned": [None, 1, 2, 3, 4]}, ValueError, "at most k=4 places, got 5"),
    ({"pinned": [0], "costs": [3] * 6, "budget": 2.0}, ValueError, "must fit the budget of 2.0"),
    ({"metric": "dots"}, ValueError, "unknown metric 'dots'. Did you mean dot"),
    ({"metric": "dot", "ranker": "dpp"}, ValueError, "ranker 'dpp' takes no metric="),
    ({"metric": "dot", "per_cost": True, "costs": [1] * 6, "budget": 1}, ValueError, "per_cost compares vectors by"),
    ({"metric": "dot", "subtopics": np.eye(2, 6)}, ValueError, "safe.* with subtopics compares .* by their cosine"),
    ({"similarity": np.eye(6)}, ValueError, "similarity takes the place of"),
])  # fmt: skip
def test_bad_input_is_named(arguments: dict[str, Any], error: type[Exception], message: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # where nothing fits the budget, that is told, too
        refused(lambda: shown(**arguments), message, error)


@pytest.mark.parametrize(("arguments", "message"), [
    ({"similarity": np.eye(5)}, "5 rows for 6 documents|scores have"),
    ({"similarity": np.ones((6, 5))}, r"similarity has shape \(6, 5\)"),
    ({"similarity": np.triu(np.ones((6, 6)))}, "must be symmetric"),
    ({"similarity": np.full((6, 6), np.nan)}, "similarity holds NaN or infinity"),
    ({"similarity": np.eye(6), "scores": None}, "says nothing of relevance; give scores"),
    ({"similarity": np.eye(6), "query_vector": np.ones(6)}, "no vectors to compare query_vector"),
    ({"similarity": np.eye(6), "ranker": "dpp"}, "ranker 'dpp' takes no similarity="),
])  # fmt: skip
def test_bad_similarities_are_named(arguments: dict[str, Any], message: str) -> None:
    refused(lambda: diversify(**{"scores": SCORES} | arguments), message)


def test_late_interaction_is_the_mean_of_highest_cosines() -> None:
    generator = np.random.default_rng(0)
    query, documents = generator.normal(size=(3, 8)), generator.normal(size=(5, 4, 8))
    mask = generator.random((5, 4)) < 0.6
    mask[:, 0] = True
    tokens = [
        each[held] / np.linalg.norm(each[held], axis=1, keepdims=True)
        for each, held in zip(documents, mask, strict=True)
    ]
    units = query / np.linalg.norm(query, axis=1, keepdims=True)
    found = of_tokens(query, documents, mask)
    np.testing.assert_allclose(found.scores, [(units @ own.T).max(axis=1).mean() for own in tokens], atol=1e-6)
    one_way = np.array([[(own @ other.T).max(axis=1).mean() for other in tokens] for own in tokens])
    np.testing.assert_allclose(found.similarity, (one_way + one_way.T) / 2, atol=1e-6)
    ranked = diversify(similarity=found.similarity, scores=found.scores, k=3, diversity=0.5).indices
    assert ranked[0] == found.scores.argmax()
    assert of_tokens(query, documents).best.tolist() == list(range(5))


def test_chunks_without_a_parent_are_documents_and_cosines_are_their_scores() -> None:
    vectors = np.array([[1.0, 0], [0, 1], [3, 4], [1, 1]])
    found = of_chunks(vectors, ["a", None, "a", None], query_vector=[0, 2])
    assert found.best.tolist() == [2, 1, 3]
    np.testing.assert_allclose(found.scores, [0.8, 1, 0.5**0.5], atol=1e-6)
    np.testing.assert_allclose(found.similarity[0], [1, 0.8, 1.4 / 2**0.5], atol=1e-6)


@pytest.mark.parametrize(("call", "error", "message"), [
    (lambda: of_chunks(VECTORS, SITES), ValueError, "chunks need scores or query_vector"),
    (lambda: of_chunks(VECTORS, [[1]] * 6, SCORES), TypeError, r"parents must hold ids, .*got \[1\]"),
    (lambda: of_chunks(VECTORS, SITES, SCORES[1:]), ValueError, r"scores have shape \(5,\)"),
    (lambda: of_chunks(VECTORS[0], SITES, SCORES), ValueError, "doc_vectors must have 2 dimensions"),
    (lambda: of_chunks(VECTORS, SITES, SCORES, similarity="near"), ValueError, "unknown similarity 'near'"),
    (lambda: of_tokens(VECTORS, VECTORS), ValueError, "doc_vectors must have 3 dimensions"),
    (lambda: of_tokens(VECTORS[:, :5], VECTORS[None]), ValueError, r"query_vectors must be \[Q, 6\]"),
    (lambda: of_tokens(VECTORS, VECTORS[None], [[0] * 6]), ValueError, r"mask must be \(1, 6\) and true"),
    (lambda: of_tokens(VECTORS, VECTORS[None], ["abc"]), TypeError, "mask must hold true and false"),
])  # fmt: skip
def test_bad_chunks_are_named(call: Any, error: type[Exception], message: str) -> None:
    refused(call, message, error)
