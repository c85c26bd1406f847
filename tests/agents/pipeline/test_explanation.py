"""`Diversified.explain`: numbers worked out by hand, and the table on the page."""

from __future__ import annotations

import copy
import io
import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from markdown_code import ROOT, run_page
from rich.console import Console
from small_topics import refused

from srd_agents import Diversified, diversify, make_ranker
from srd_agents.pipeline import explanation

VECTORS = [[2, 0], [0, 1], [1, 0], [3, 4]]
"""Cosines with the first: 1, 0, 1, 0.6; the second and the last: 0.8."""
SCORES = [3, 4, 1, 2]
"""Shown: 1, 0, 3, 2."""
NAN = float("nan")


def explained(**given: Any) -> Any:
    given = {"query_vector": None, "doc_vectors": VECTORS, "k": 4, "scores": SCORES, "diversity": 0} | given
    return diversify(**given).explain()


@pytest.mark.parametrize(("given", "field", "wanted"), [
    ({}, "document", [1, 0, 3, 2]),
    ({}, "relevance", [4, 3, 2, 1]),
    ({"scores": None, "query_vector": [[0, 5]]}, "relevance", [1, 0.8, 0, 0]),
    ({"scores": None, "diversity": None}, "relevance", [None] * 4),
    ({}, "most_similar", [None, 0, 0.8, 1]),
    ({}, "near_duplicate_of", [None, None, None, 0]),
    ({"near_duplicates": 0.7}, "near_duplicate_of", [None, None, 1, 0]),
    ({"near_duplicates": None}, "near_duplicate_of", [None, None, None, 0]),
    ({"near_duplicates": 1, "doc_vectors": [[1, 0.01], [0, 1], [1, 0], [3, 4]]}, "near_duplicate_of", [None] * 4),
    ({"ranker": make_ranker("safe", near_duplicates=0.7), "diversity": None}, "near_duplicate_of", [None, None, 1, 0]),
    ({}, "subtopic", [None] * 4),
    ({"already_shown": [0, 3]}, "most_similar", [0.8, 1]),
    ({}, "most_similar_to", [None, 1, 1, 0]),
    ({"already_shown": [0, 3]}, "most_similar_to", [3, 0]),
    ({"already_shown": [0, 3]}, "near_duplicate_of", [None, 0]),
    ({"groups": ["x", "y", "x", "z"], "max_per_group": 2}, "group", ["y", "x", "z", "x"]),
    ({"costs": [1, 2, 3, 4], "budget": 10}, "cost", [2, 1, 4, 3]),
])  # fmt: skip
def test_what_speaks_for_each_document(given: dict[str, Any], field: str, wanted: list[Any]) -> None:
    found = [getattr(reason, field) for reason in explained(**given).reasons]
    assert found == pytest.approx(wanted) if isinstance(wanted[-1], float | int) else found == wanted


@pytest.mark.parametrize(("subtopics", "by_document"), [
    ({"subtopics": [[0, 1], [1, 0]]}, {1: "1", 0: "2", 3: "1", 2: "2"}),
    ({"subtopics": ["up", "right"], "embed": lambda texts: np.eye(2)[::-1]},
     {1: "up", 0: "right", 3: "up", 2: "right"}),
    ({"subtopics": ["up", "left"], "embed": lambda texts: [[0, 1], [-1, 0]]}, {1: "up", 0: None, 3: "up", 2: None}),
    ({"subtopics": ["a", "b"], "subtopic_scores": [[1, 5], [0, 0], [NAN, 2], [NAN, NAN]]},
     {0: "b", 1: None, 2: "b", 3: None}),
    ({"subtopics": ["a", "b"], "subtopic_scores": [[-9, -5], [-9, -9], [NAN, -2], [NAN, NAN]]},
     {0: "b", 1: None, 2: "b", 3: None}),
    ({"subtopics": ["a", "b"], "subtopic_scores": [[NAN, 5], [NAN, 0], [NAN, 2], [NAN, NAN]]},
     {0: "b", 1: None, 2: "b", 3: None}),
    ({"subtopics": np.eye(2), "subtopic_scores": [[5, 0], [NAN, NAN], [0, 0], [NAN, 0]]},
     {0: "1", 1: "2", 2: None, 3: None}),
    ({"subtopics": np.eye(2), "subtopic_scores": np.full((4, 2), NAN)}, {0: "1", 1: "2", 2: "1", 3: "2"}),
    ({"subtopics": [[-1, 0]], "subtopic_scores": np.full((4, 1), NAN)}, dict.fromkeys(range(4))),
    ({"subtopic_scores": np.zeros((4, 0))}, dict.fromkeys(range(4))),
    ({"subtopics": lambda query: ["right"], "query_text": "up", "embed": lambda texts: [[1, 0]]},
     {1: None, 0: "right", 3: "right", 2: "right"}),
])  # fmt: skip
def test_the_subtopic_that_fits_best(subtopics: dict[str, Any], by_document: dict[int, str | None]) -> None:
    found = explained(diversity=None, **subtopics)
    assert {reason.document: reason.subtopic for reason in found.reasons} == by_document
    assert set(found.subtopics) == set(by_document.values()) - {None}


@pytest.mark.parametrize(("vectors", "mean", "vendi"), [
    (np.ones((4, 3)), 1, 1),
    ([[1, 0], [3, 4]], 0.6, 0.8**-0.8 * 0.2**-0.2),  # eigenvalues (1 + 0.6) / 2 and (1 - 0.6) / 2
    ([[1, 0], [0, 0]], 0, 2),
    ([[5.0, 1]], None, 1),
    ([], None, 0),
])  # fmt: skip
def test_how_diverse_the_list_is(vectors: Any, mean: float | None, vendi: float | None) -> None:
    found = explained(doc_vectors=vectors, scores=None, diversity=None)
    assert found.mean_cosine == (mean if mean is None else pytest.approx(mean))
    assert vendi is None or found.vendi == pytest.approx(vendi)


@pytest.mark.parametrize("compared", [2, 1_000])
def test_long_lists_are_compared_pair_by_pair(compared: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also with zero vectors and similarities, block by block."""
    monkeypatch.setattr(explanation, "COMPARED", compared)
    monkeypatch.setattr(explanation, "BLOCK", 7)
    for seed in range(40):
        generator = np.random.default_rng(seed)
        vectors = generator.choice([-1.0, 0.0, 1.0], size=(30, int(generator.integers(2, 40))))
        vectors *= generator.random((30, 1)) < 0.8
        units = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
        given = {"similarity": units @ units.T} if seed % 3 == 0 else {"doc_vectors": vectors}
        shown = generator.permutation(30)[: seed % 9]
        found = diversify(**given, k=30, scores=generator.random(30), already_shown=shown, near_duplicates=0.7)
        why, listed = found.explain(), found.indices.tolist()
        for rank, (document, reason) in enumerate(zip(listed, why.reasons, strict=True)):
            others = [*shown[-compared:].tolist(), *listed[: min(rank, compared)]]
            cosines = units[others] @ units[document]
            assert reason.most_similar == (pytest.approx(cosines.max(), abs=1e-6) if others else None)
            near = [other for other, cosine in zip(others, cosines, strict=True) if cosine >= 0.7 - 1e-6]
            assert reason.near_duplicate_of == (near[0] if near else None)
        every = np.array(units[listed] @ units[listed].T)
        assert why.mean_cosine == pytest.approx((every.sum() - np.trace(every)) / (len(every) * (len(every) - 1)))
        np.fill_diagonal(every, 1)
        shares = np.linalg.eigvalsh(every / len(every))
        assert why.vendi == pytest.approx(np.exp(-sum(share * np.log(share) for share in shares if share > 1e-12)))


def test_groups_and_costs_of_the_list() -> None:
    limits: dict[str, Any] = {"groups": [7, 8, 7, 9], "max_per_group": 1, "costs": [1, 2, 3, 4.5], "budget": 99}
    assert (explained(**limits).groups, explained(**limits).cost) == (3, 7.5)
    assert (explained().groups, explained().cost) == (None, None)


def test_each_topic_of_a_batch_has_its_own() -> None:
    batch = diversify(None, [VECTORS, [], VECTORS[:2]], 4, scores=[SCORES, None, [1, 2]])
    found = [part.explain() for part in batch.topics()]
    assert [[reason.document for reason in each.reasons] for each in found] == [[1, 0, 3, 2], [], [1, 0]]
    assert [each.note for each in found] == [part.note for part in batch.topics()]
    refused(batch.explain, "explain.. is of one query")
    refused(Diversified(np.arange(2), np.ones(2)).explain, "is of one query")


def test_a_result_keeps_only_what_it_shows_and_what_is_changed_later_changes_nothing() -> None:
    generator = np.random.default_rng(0)
    query, vectors = generator.normal(size=384), generator.normal(size=(1000, 384))
    scores, groups = generator.normal(size=1000), generator.integers(400, size=1000)
    given: dict[str, Any] = {"scores": scores, "groups": groups, "max_per_group": 3, "already_shown": [5, 9]}
    given |= {"subtopics": [f"sense {s}" for s in range(8)], "embed": lambda texts: vectors[: len(texts)]}
    for found in (diversify(query, vectors, 10, **given), diversify(query, vectors, 10)):
        wanted = str(found.explain())
        assert len(pickle.dumps(found)) < 4_000
        again = pickle.loads(pickle.dumps(found))
        assert again == found
        assert str(again.explain()) == wanted
        for array in (query, vectors, scores, groups):
            array *= -1
        assert str(found.explain()) == wanted
        held = found._why[0]
        assert sum(part.nbytes for part in (*held.given, held.positions) if isinstance(part, np.ndarray)) < 40_000
    batch = diversify(None, [VECTORS, VECTORS[:2]], 3, scores=[SCORES, [1, 2]])
    same = pickle.loads(pickle.dumps(batch))
    assert [str(each.explain()) for each in same.topics()] == [str(each.explain()) for each in batch.topics()]


def test_results_compare_and_convert() -> None:
    found, other = (diversify(None, VECTORS, 2, scores=scores) for scores in (SCORES, SCORES[::-1]))
    assert found == diversify(None, VECTORS, 2, scores=list(SCORES))
    assert found != diversify(None, VECTORS, 2, scores=[each * 2 for each in SCORES])
    assert found != other
    assert found != tuple(found)
    assert json.loads(json.dumps(found.to_dict())) == {
        "indices": [1, 0],
        "scores": sorted(SCORES, reverse=True)[:2],
        "filled": [False, False],
        "notes": [found.note],
    }
    batch = diversify(None, [VECTORS, VECTORS[:1]], 2, scores=[SCORES, [1]])
    assert batch.to_dict()["indices"] == [[1, 0], [0, -1]]
    assert batch == copy.deepcopy(batch)
    assert batch != found


def test_what_a_document_lacks_is_unknown_but_for_its_cost() -> None:
    with pytest.warns(UserWarning, match="documents without a score"):
        shown = explained(scores=[3, 4, None, 2], groups=["x", NAN, None, "z"], max_per_group=1, costs=[1, 2, 3, NAN],
                          budget=99)  # fmt: skip
    assert [reason.document for reason in shown.reasons] == [1, 0, 3, 2]
    assert [reason.relevance for reason in shown.reasons] == [4, 3, 2, None]
    assert [reason.group for reason in shown.reasons] == [None, "x", "z", None]
    assert [reason.cost for reason in shown.reasons] == [2, 1, 3, 3], "as the budget counts it"
    assert shown.cost == 9
    assert "documents without a cost, which count as the largest: 1" in shown.note


def test_tables() -> None:
    found = explained(groups=["a|b", "[red]", "a|b", "c"], max_per_group=2, k=2)
    assert found.markdown() == str(found) == (
        "| rank | document | relevance | most similar | most similar to | group |\n"
        "| ---: | ---: | ---: | ---: | ---: | ---: |\n| 1 | 1 | 4 |  |  | [red] |\n| 2 | 0 | 3 | 0 | 1 | a\\|b |\n\n"
        f"mean cosine 0; Vendi score 2; groups 2; {found.note}."
    )  # fmt: skip
    broken = explained(subtopics=["big\r\n\x1b\x07cat"], subtopic_scores=[[1]] * 4, diversity=None, k=1).markdown()
    assert "| big cat |\n\n" in broken
    assert "subtopics: big cat; " in broken
    console = Console(width=100, record=True, file=io.StringIO())
    console.print(found)
    text = " ".join(console.export_text().split())
    assert "[red]" in text
    assert "a|b" in text
    assert "Vendi score 2; groups 2" in text


def test_the_page_shows_what_is_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    page = ROOT / "docs" / "diversify.md"
    run_page(page)
    printed = capsys.readouterr().out
    each = ["jaguar big cat pictures", "jaguar the operating system of apple", "used jaguar car prices"]
    assert str(each) in printed, "one of each"
    table = printed[printed.index("| rank |") :].partition(".\n")[0]
    assert f"```text\n{table}.\n```" in page.read_text(encoding="utf-8")
