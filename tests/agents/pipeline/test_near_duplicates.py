"""Near-duplicates, and the choice within limits where no choice changes scores, against a rule written pair by pair.

`SRD_CASES=10000` runs so many random cases in place of 1,000.
"""

from __future__ import annotations

import os
import tracemalloc
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from srd_agents import diversify, make_ranker
from srd_agents.pipeline import near_duplicates, selection
from srd_agents.pipeline.chunks import of_chunks
from srd_agents.pipeline.limits import COPIES
from srd_agents.pipeline.near_duplicates import Originals
from srd_agents.pipeline.selection import Selection

CASES = int(os.environ.get("SRD_CASES", "1000"))
pytestmark = [
    pytest.mark.filterwarnings("ignore:no document fits a budget:UserWarning"),
    pytest.mark.filterwarnings("ignore:no more can be shown:UserWarning"),
]


def cases(seed: int) -> Iterator[tuple[dict[str, Any], Any]]:
    """Arguments of `diversify` with scores, and which documents are alike: [N, N] bool."""
    generator = np.random.default_rng(seed)
    while True:
        n = int(generator.integers(1, 40))
        kind, vectors = generator.integers(3), generator.choice([-1.0, 1.0], size=(2 * n, 5))
        call: dict[str, Any] = {"scores": generator.integers(-8, 9, size=n) / 8}
        if kind == 0:
            lengths = generator.choice([0, 1, 2, 1e-25, 1e25], p=[0.05, 0.5, 0.35, 0.05, 0.05], size=(n, 1))
            call["doc_vectors"] = vectors[:n] * lengths
            cosines = np.where(lengths @ lengths.T > 0, vectors[:n] @ vectors[:n].T / 5, 0)
        elif kind == 1:
            half = generator.integers(-16, 17, size=(n, n)) / 16
            call["similarity"] = cosines = np.triu(half) + np.triu(half, 1).T
        else:
            parents = [*range(n), *generator.integers(n, size=n).tolist()]
            call["similarity"] = cosines = of_chunks(vectors, parents, np.arange(2 * n)).similarity
        limit = call["near_duplicates"] = float(generator.choice([0.5, 0.9, 0.9999]))
        free = generator.permutation(n).tolist()
        if generator.random() < 0.5:
            call["already_shown"] = [free.pop() for _ in range(int(generator.integers(0, n)))]
        if generator.random() < 0.4:
            call["pinned"] = [free.pop() if free and generator.random() < 0.5 else None for _ in range(min(n, 4))]
        if generator.random() < 0.5:
            names = ["site", "brand"][: int(generator.integers(1, 3))]
            call["groups"] = {name: generator.choice(list("abcd"), size=n).tolist() for name in names}
            call["max_per_group"] = {name: int(generator.integers(1, 6)) for name in names}
            call["fill"] = bool(generator.random() < 0.5)
        if generator.random() < 0.4:
            call["costs"] = generator.integers(0, 5, size=n).astype(float)
            call["budget"] = float(call["costs"][[i for i in call.get("pinned", []) if i is not None]].sum())
            call["budget"] += float(generator.integers(0, 3 * n))
        call["k"] = int(generator.integers(len(call.get("pinned", [1])), n + 4))
        yield call, cosines >= limit - 1e-6


class Rule:
    """The rule, pair by pair and document by document."""

    def __init__(self, call: dict[str, Any], alike: Any, compared: int) -> None:
        self.call, self.alike, self.compared = call, alike, compared
        self.pins = [pin for pin in call.get("pinned", []) if pin is not None]
        self.chosen, self.before, self.originals = list[int](), list[int](), list[int]()
        for document in call.get("already_shown", [])[-compared:]:
            if not self.near(document):
                self.before.append(document)
        for pin in self.pins:
            self.show(pin)

    def near(self, document: int) -> bool:
        return any(self.alike[each, document] for each in (*self.before, *self.originals))

    def show(self, document: int) -> None:
        if not self.near(document) and len(self.originals) < self.compared:
            self.originals.append(document)

    def fits(self, document: int) -> bool:
        shown = [*self.pins, *self.chosen, document]
        return "costs" not in self.call or self.call["costs"][shown].sum() <= self.call["budget"]

    def within(self, document: int) -> bool:
        shown = [*self.call.get("already_shown", []), *self.pins, *self.chosen]
        return self.fits(document) and all(
            sum(ids[each] == ids[document] for each in shown) < self.call["max_per_group"][name]
            for name, ids in self.call.get("groups", {}).items()
        )

    def next(self) -> int | None:
        shown, scores = {*self.call.get("already_shown", []), *self.pins, *self.chosen}, self.call["scores"]
        left = [each for each in sorted(range(len(scores)), key=lambda i: -scores[i]) if each not in shown]
        allowed = list(filter(self.within, left)) or (list(filter(self.fits, left)) if self.call.get("fill") else [])
        return next((each for each in allowed if not self.near(each)), next(iter(allowed), None))

    def ranking(self) -> list[int]:
        while len(self.chosen) < self.call["k"] - len(self.pins) and (best := self.next()) is not None:
            self.show(best)
            self.chosen.append(best)
        rest = iter(self.chosen)
        placed = [next(rest, None) if pin is None else pin for pin in self.call.get("pinned", [])]
        return [each for each in (*placed, *rest) if each is not None]


@pytest.mark.parametrize("compared", [1, 3, 1_000])
@pytest.mark.parametrize("block", [1, 5, 256])
def test_the_choice_is_that_of_the_rule(compared: int, block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(near_duplicates, "COMPARED", compared)
    monkeypatch.setattr(near_duplicates, "BLOCK", block)
    monkeypatch.setattr(selection, "BLOCK", block)
    drawn = cases(compared + block)
    for _ in range(CASES // 9):
        call, alike = next(drawn)
        assert diversify(**call).indices.tolist() == Rule(call, alike, compared).ranking(), call


@pytest.mark.parametrize("compared", [2, 1_000])
def test_it_is_the_choice_of_one_document_after_the_other(compared: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where `min_per_group` asks for documents."""
    monkeypatch.setattr(near_duplicates, "COMPARED", compared)
    drawn, generator = cases(compared), np.random.default_rng(0)
    for _ in range(CASES // 10):
        call, _ = next(drawn)
        if "groups" in call and generator.random() < 0.5:
            call["min_per_group"] = dict.fromkeys(call["groups"], int(generator.integers(1, 3)))
        with monkeypatch.context() as unaware:
            unaware.setattr(selection, "ByScores", type("Never", (), {}))
            wanted = diversify(**call)
        found = diversify(**call)
        assert found.indices.tolist() == wanted.indices.tolist(), call
        assert found.scores.tolist() == wanted.scores.tolist(), call
        assert found.filled.tolist() == wanted.filled.tolist(), call


ALL: dict[str, Any] = {
    "all": {},
    "shown": {"already_shown": True},
    "groups": {"groups": True, "max_per_group": 3},
    "costs": {"costs": True, "budget": 300.0},
    "pinned": {"pinned": [5]},
}


@pytest.mark.parametrize("name", list(ALL))
def test_the_work_of_ranking_all_grows_with_their_number(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pairs of documents compared and bytes held, for N candidates of which all are wanted, half of them copies."""
    pairs, compare = [0], Originals._alike

    def counted(self: Originals, earlier: Any, units: Any, block: Any, rows: Any, **how: bool) -> Any:
        pairs[0] += len(earlier) * len(block)
        return compare(self, earlier, units, block, rows, **how)

    monkeypatch.setattr(Originals, "_alike", counted)
    monkeypatch.setattr(Selection, "_next", None)  # nothing is chosen by looking at all candidates
    monkeypatch.setattr(near_duplicates, "COMPARED", 100)
    generator, sizes, work, peaks = np.random.default_rng(0), (2_000, 4_000, 8_000), [], []
    for n in sizes:
        vectors = generator.standard_normal((n, 8), dtype=np.float32)
        vectors[n // 2 :] = vectors[generator.integers(n // 2, size=n - n // 2)]
        given = {"already_shown": range(0, n, 2), "groups": np.arange(n) % (n // 8), "costs": np.ones(n)}
        limits = {key: given[key] if value is True else value for key, value in ALL[name].items()}
        pairs[0] = 0
        tracemalloc.start()
        diversify(doc_vectors=vectors, scores=generator.random(n), k=n, near_duplicates=0.98, **limits).explain()
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        work.append(pairs[0])
    assert min(work) > 0
    for grown in (work, peaks):
        power = np.polyfit(np.log(sizes), np.log(grown), 1)[0]
        assert power < 1.15, (power, grown)


def test_a_limit_that_limits_nothing_changes_no_list_and_a_ranker_keeps_its_own_near_duplicates() -> None:
    vectors = np.array([[2, 2], [0, 2], [0, 1], [2, 2], [2, 0], [0, 2]], float)
    scores, rated = [6, 5, 4, 3, 2, 1], [[1, 2], [1, 0], [1, 2], [1, 2], [1, 2], [3, 3]]
    alone = diversify(None, vectors, 4, scores=scores, subtopic_scores=rated).indices.tolist()
    costs: dict[str, Any] = {"costs": [1] * 6, "budget": 99}
    assert diversify(None, vectors, 4, scores=scores, subtopic_scores=rated, **costs).indices.tolist() == alone
    two: dict[str, Any] = {"scores": [scores] * 2, "subtopic_scores": [rated] * 2, "already_shown": [[4], None]}
    assert diversify(None, [vectors] * 2, 4, **two).indices[1].tolist() == alone
    ranker = make_ranker("safe", near_duplicates=0.5)
    vectors, scores = np.array([[1, 0], [1, 0.1], [0, 1], [0.2, 1], [0, 1]]), [5, 4, 3, 2, 1]
    assert diversify(None, vectors, 5, ranker, scores).indices.tolist() == [0, 2, 1, 3, 4]
    read_again = float(str(COPIES))  # as an adapter's settings are
    assert diversify(None, vectors, 5, ranker, scores, near_duplicates=read_again).indices.tolist() == [0, 2, 1, 3, 4]
    groups: dict[str, Any] = {"groups": [0, 0, 0, 1, 1], "max_per_group": 2}
    assert diversify(None, vectors, 3, ranker, scores, **groups).indices.tolist() == [0, 2, 3]
