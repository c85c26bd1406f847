"""`diversify`: odd calls, one law each."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch
from scipy import sparse
from small_topics import Own, refused

from srd_agents import diversify, make_ranker

NAN = np.nan
GOOD = [[1.0, 0.0], [0.0, 1.0]]
HALF_MASKED = np.ma.masked_array(np.ones(4), mask=[1, 0, 0, 0])  # type: ignore[no-untyped-call]
HIDDEN = np.ma.masked_array(np.eye(4), mask=np.eye(4))  # type: ignore[no-untyped-call]


@pytest.mark.parametrize(("arguments", "error", "message"), [
    (([1, 0], GOOD, 0), ValueError, "k must be at least 1, got 0"),
    (([1, 0], GOOD, True), TypeError, "k must be a whole number"),
    (([1, 0], GOOD, np.ones(200)), TypeError, "got an array; scores go by name: scores="),
    (([1, 0], [1, 2], 1), ValueError, "doc_vectors must be .*got 1 dimension;"),
    (([1, 0], [], 1, "mmr", [1]), ValueError, "^there are no documents"),
    (([[1, 0], [0, 1]], GOOD, 1), ValueError, r"^query_vector has shape \(2, 2\)"),
    ((None, GOOD, 1, "mmr"), ValueError, "^this query has no query vector"),
    ((None, [GOOD, []], 1, None, [None, [1]]), ValueError, "^topic '1': there are no documents"),
    (([1, 0], [[1, 0], None, [1]], 1, None, [3, 2, 1]), ValueError, "rows of one length, got 2 .*1 in row 2"),
    (([1, 0], torch.eye(2, requires_grad=True), 1), ValueError, "doc_vectors cannot be read .*detach"),
    (([1, 0], [[NAN, 0], [0, 1]], 1, "mmr", [1, 2]), ValueError, r"NaN or infinity \(first at row 0\)"),
    (([1, 0], GOOD, 1, np.ones(200)), TypeError, "ranker must be a name .*got array"),
    (([1, 0], GOOD, 1, type(make_ranker("mmr"))), TypeError, "must be an object, got the class MMR"),
    (([1, 0], [GOOD, GOOD, GOOD], 1), ValueError, "so query_vector must have 3 entries"),
    ((GOOD, [GOOD, [[1, 0, 0]]], 1), ValueError, "topic '1': query_vector has shape"),
])  # fmt: skip
def test_bad_input_is_named(arguments: tuple[Any, ...], error: type[Exception], message: str) -> None:
    refused(lambda: diversify(*arguments), message, error)


@pytest.mark.parametrize(("arguments", "error", "message"), [
    ({"subtopic_weights": [1, 2]}, ValueError, "^subtopic_weights weigh subtopics"),
    ({"embed": "minilm"}, TypeError, "^embed must be a function"),
    ({"query_vector": np.ones(4), "relevance": "scores"}, ValueError, "^this query has no retrieval .*='cosine'"),
    ({"costs": NAN, "budget": 3}, ValueError, r"costs have shape \(\)"),
    ({"costs": [1, NAN, 1, 1], "budget": 3, "strict": True}, ValueError, r"costs holds NaN .*\(first at row 1\)"),
    ({"costs": NAN}, ValueError, "costs and budget belong together"),
    ({"scores": [1, 10**400, None, 2], "strict": True}, TypeError, "scores must .*, got None"),
    ({"per_cost": np.ones(2)}, TypeError, "per_cost must be True or False"),
    ({"subtopic_weights": [[1, 2], [3]]}, ValueError, "subtopic_weights must have rows"),
    ({"query_vector": "jaguar"}, TypeError, "query_vector must hold .*; give a list"),
    ({"scores": sparse.eye_array(4)}, TypeError, "give a list .*of a sparse matrix"),
    ({"doc_vectors": [np.eye(4)] * 2, "costs": NAN, "budget": 3}, ValueError, "costs must have 2 entries.*got nan"),
])  # fmt: skip
def test_odd_arguments_are_named(arguments: dict[str, Any], error: type[Exception], message: str) -> None:
    refused(lambda: diversify(**{"query_vector": None, "doc_vectors": np.eye(4), "k": 2} | arguments), message, error)


@pytest.mark.parametrize(("name", "hidden"), [
    ("scores", HALF_MASKED),
    ("costs", HALF_MASKED),
    ("groups", HALF_MASKED.astype(int)),
    ("already_shown", HALF_MASKED.astype(int)),
    ("query_vector", HALF_MASKED),
    ("doc_vectors", HIDDEN),
    ("subtopics", HIDDEN[:2]),
    ("subtopic_weights", HALF_MASKED[:2]),
])  # fmt: skip
def test_hidden_values_are_refused_and_named(name: str, hidden: Any) -> None:
    more = {"costs": {"budget": 3}, "groups": {"max_per_group": 1}, "subtopic_weights": {"subtopics": np.eye(4)[:2]}}
    asked = {"query_vector": None, "doc_vectors": np.eye(4), "k": 2} | more.get(name, {}) | {name: hidden}
    refused(lambda: diversify(**asked), f"{name} cannot be read .*are masked")


def test_another_thread_may_be_importing_masked_arrays(monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = diversify(None, np.eye(3), 3).indices.tolist()
    monkeypatch.setitem(sys.modules, "numpy.ma", ModuleType("numpy.ma"))
    assert diversify(None, list(np.eye(3)), 3).indices.tolist() == wanted


def test_arrays_whose_mask_hides_nothing_are_arrays() -> None:
    plain = np.ma.masked_array(np.arange(4.0))  # type: ignore[no-untyped-call]
    assert diversify(None, np.eye(4), 4, scores=plain, diversity=0).indices.tolist() == [3, 2, 1, 0]


@pytest.mark.parametrize(("rankings", "message"), [
    ([], "'OwnBatch' returned 0 for 1 topics"),
    ([np.arange(3)] * 2, "returned 2 for 1 topics"),
    (None, "returned NoneType for 1 topics"),
    ([np.arange(2)], "ranked 2 documents of this query"),
    ([np.arange(4)], "ranked 4 documents of this query"),
])  # fmt: skip
def test_a_ranker_gives_as_many_rankings_and_documents_as_asked(rankings: Any, message: str) -> None:
    class OwnBatch(Own):
        def rank_batch(self, topics: Any, k: int) -> Any:
            return rankings

    refused(lambda: diversify(None, np.eye(4), 3, OwnBatch(lambda *_: None)), message)
    short = Own(lambda topic, k: np.arange(topic.n_candidates)[: min(k, 3)])
    refused(lambda: diversify(None, np.eye(4)[[0, 0, 0, 1]], 3, short), "ranked 3 documents of this query")
