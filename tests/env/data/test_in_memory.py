"""Qrels and runs from what other libraries hold: the numbers of files. The libraries: tests/third_party/main."""

from __future__ import annotations

import re
import sys
from collections import namedtuple
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from small_topics import refused

from srd_gym.data import as_qrels, as_run, load_ir_datasets, load_trec, read_qrels, read_run
from srd_gym.measures import evaluate_run

QRELS = [
    ("1", "2", "b", 1), ("1", "10", "a", 2), ("1", "2", "a", -2),
    ("2", "0", "x", 0), ("2", "1", "y", 1), ("2", "2", "z", 1),
]  # fmt: skip
RUN = [("1", "c", 1.0), ("1", "b", 2.0), ("1", "a", 2.0), ("2", "y", -0.5)]
MEASURES = ("alpha_nDCG@5", "ERR_IA@5", "StRecall@2", "NRBP")


# Records of ir_measures, of ir_datasets, and of both
Qrel = namedtuple("Qrel", "query_id doc_id relevance iteration", defaults=["0"])
SubQrel = namedtuple("SubQrel", "query_id doc_id relevance subtopic_id")
ScoredDoc = namedtuple("ScoredDoc", "query_id doc_id score")


class Frame:
    """A data frame: columns by name."""

    def __init__(self, *given: Iterable[tuple[str, Any]], **columns: Any) -> None:
        self._by_name = dict(*given, **columns)
        self.columns = list(self._by_name)

    def __getitem__(self, name: str) -> Any:
        return self._by_name[name]


def nested(rows: Iterable[tuple[Any, ...]]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for *keys, last, value in rows:
        inner = made
        for key in keys:
            inner = inner.setdefault(key, {})
        inner[last] = value
    return made


FORMS: dict[str, Callable[[], tuple[Any, Any]]] = {
    "records of ir_measures": lambda: (
        (Qrel(q, d, g, s) for q, s, d, g in QRELS),
        (ScoredDoc(*row) for row in RUN),
    ),
    "records of ir_datasets": lambda: ([SubQrel(q, d, g, s) for q, s, d, g in QRELS], [ScoredDoc(*row) for row in RUN]),
    "frames": lambda: (
        Frame(zip(("query_id", "subtopic", "doc_id", "relevance"), map(list, zip(*QRELS, strict=True)), strict=True)),
        Frame(zip(("query_id", "doc_id", "score"), map(list, zip(*RUN, strict=True)), strict=True)),
    ),
    "frames of PyTerrier, numbers for ids": lambda: (
        Frame(qid=[np.int64(q) for q, *_ in QRELS], iteration=[int(s) for _, s, *_ in QRELS],
              docno=[d for _, _, d, _ in QRELS], label=np.array([float(g) for *_, g in QRELS])),
        Frame(qid=[int(q) for q, *_ in RUN], docno=[d for _, d, _ in RUN], score=np.array([s for *_, s in RUN]),
              rank=[2, 0, 1, 0]),
    ),
    "dictionaries": lambda: (nested(QRELS), nested(RUN)),
    "lists of documents": lambda: (nested(QRELS), {"1": ["b", "a", "c"], "2": ("y",)}),
}  # fmt: skip


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    qrels, run = tmp_path / "made.qrels", tmp_path / "made.run"
    qrels.write_text("".join(" ".join(map(str, row)) + "\n" for row in QRELS))
    run.write_text("".join(f"{q} Q0 {d} 1 {score} t\n" for q, d, score in RUN))
    return qrels, run


@pytest.mark.parametrize("form", FORMS)
def test_what_is_in_memory_gives_the_numbers_of_files(form: str, files: tuple[Path, Path]) -> None:
    qrels, run = FORMS[form]()
    expected = evaluate_run(read_qrels(files[0]), read_run(files[1]), MEASURES)
    assert 0 < expected.measures["alpha_nDCG@5"] < 1
    assert evaluate_run(qrels, run, MEASURES).per_topic == expected.per_topic
    assert evaluate_run(str(files[0]), files[1], MEASURES).per_topic == expected.per_topic
    qrels, run = FORMS[form]()
    made, loaded = as_qrels(qrels), load_trec(run=run, qrels=nested(QRELS))
    for query_id, topic in read_qrels(files[0]).topics.items():
        assert made.topics[query_id].subtopic_ids == topic.subtopic_ids
        assert made.topics[query_id].judgments.tolist() == topic.judgments.tolist()
    of_files = load_trec(run=files[1], qrels=[files[0]])
    one, other = ([(t.query_id, t.doc_ids, t.pool_ids) for t in topics] for topics in (loaded, of_files))
    assert one == other


@pytest.mark.parametrize(("read", "given", "kind", "said"), [
    (as_qrels, {"1": {"a": 1}}, ValueError, "judgments without subtopics cannot tell"),
    (as_qrels, {"1": 3}, ValueError, "expected {query: {subtopic: {document:"),
    (as_qrels, [Qrel("1", "a", 1.5)], ValueError, "judgment from -128 to 127, got 1.5"),
    (as_qrels, [Qrel("1", "b", 1), Qrel("1", "a", float("nan"))], ValueError, "list:2: expected an integer"),
    (as_qrels, [Qrel("1", "a", "1")], ValueError, "list:1: expected an integer judgment"),
    (as_qrels, [Qrel("1", "a", 10**400)], ValueError, "list:1: expected an integer judgment"),
    (as_qrels, [Qrel("1", "a", 1), ScoredDoc("1", "a", 1)], TypeError, "list:2: the id of a subtopic is text"),
    (as_qrels, [Qrel("1", "a", 1), None], TypeError, "list:2: the id of a query is text"),
    (as_qrels, [Qrel("1", "a", 1), Qrel("1", "a", 1)], ValueError, "list:2: document 'a' is judged twice"),
    (as_qrels, [Qrel("1", None, 1)], TypeError, "list:1: the id of a document is text"),
    (as_qrels, Frame(qid=["1"], docno=["a"], label=[1]), ValueError,
     "no subtopic; expected a column"),
    (as_qrels, 3, TypeError, "expected a path, records as"),
    (as_qrels, [], ValueError, "qrels: no record; expected at least one"),
    (as_qrels, ["ir-datasets:a", "b"], ValueError, "must be given alone"),
    (as_run, {}, ValueError, "run: no record; expected at least one"),
    (as_run, {"1": 2}, ValueError, "score} or a list, got 2"),
    (as_run, {"1": {"a", "b"}}, ValueError, "or a list, got {'a', 'b'} (set)"),
    (as_run, {"1": b"ab"}, ValueError, "or a list, got b'ab' (bytes)"),
    (as_run, {"1": {"a": np.float16("nan")}}, ValueError, "finite number as score, got nan"),
    (as_run, {"1": ["a", "a"]}, ValueError, "document 'a' is duplicated for query '1'"),
    (as_run, [ScoredDoc("1", "a", float("inf"))], ValueError, "list:1: expected a finite number"),
    (as_run, {"1": {"a": 2, "b": 10**400}}, ValueError, "dict:2: expected a finite number"),
    (as_run, {"1": {"a": True}}, ValueError, "finite number as score, got True"),
    (as_run, {"1": {"a": "2"}}, ValueError, "finite number as score, got '2'"),
    (as_run, [Qrel("1", "a", 1)], ValueError, "no score"),
])  # fmt: skip
def test_what_cannot_be_read_is_explained(
    read: Callable[[Any], Any], given: Any, kind: type[Exception], said: str
) -> None:
    refused(lambda: read(given), re.escape(said), kind)


def test_a_library_or_dataset_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ir_datasets", None)
    for ask in (as_qrels, load_ir_datasets):
        message = r"needs ir_datasets: pip install .*\[ir\]"
        refused(lambda ask=ask: ask("ir-datasets:clueweb09/en/trec-web-2009/diversity"), message, ImportError)
    message = "ir_datasets cannot read far"
    refused(lambda: as_qrels(Offline()), message, OSError)


class Offline:
    """A dataset of ir_datasets whose files cannot be fetched."""

    def dataset_id(self) -> str:
        return "far"

    def has_qrels(self) -> bool:
        return True

    def qrels_iter(self) -> Any:
        raise RuntimeError("All download sources failed")
        yield


def test_a_series_of_scores_is_a_ranking() -> None:
    pandas = pytest.importorskip("pandas")
    assert as_run({"q": pandas.Series({"d1": 3, "d2": 4})}).rankings == {"q": ("d2", "d1")}
