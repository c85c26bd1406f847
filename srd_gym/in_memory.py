"""Qrels and runs from what other libraries hold in memory: the numbers are those that their files would give.

===========================================  ====================================================================
source                                       qrels, runs
===========================================  ====================================================================
records with attributes                      ir_measures' `Qrel` and `ScoredDoc`, ir_datasets' `TrecSubQrel`: any
                                             iterable of them
a data frame (pandas, polars)                a row per record, columns of the same names or PyTerrier's (`qid`, `docno`,
                                             `label`)
dictionaries                                 {query: {subtopic: {document: judgment}}}; {query: {document: score}} or
                                             {query: [documents, best first]}
objects with `to_dict()`                     `ranx.Run`
a dataset of ir_datasets                     its `qrels_iter()`; its `scoreddocs_iter()`
text                                         the path of a file, or "ir-datasets:ID"
===========================================  ====================================================================

The subtopic is `subtopic_id` (or `subtopic`) where a record has one, else its `iteration`, as ir_measures has it. A
`rank` beside the score is compared with it, as in files.
"""

from __future__ import annotations

import math
import numbers
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from srd_gym.installing import how_to_install
from srd_gym.reading import few, kind_of, shown, shown_text, with_type
from srd_gym.trec_files import Order, Qrels, Run, qrels_of, read_qrels, read_run, run_of
from srd_gym.trec_lines import neighbours

PREFIX = "ir-datasets:"
"""Beginning of a text that names a dataset of ir_datasets."""

_NAMES = {
    "query": ("query_id", "qid"),
    "subtopic": ("subtopic_id", "subtopic", "iteration"),
    "document": ("doc_id", "docno"),
    "judgment": ("relevance", "label", "judgment"),
    "score": ("score",),
    "rank": ("rank",),
}
"""Part of a record -> its names in the libraries, the first that is there counts."""
_QRELS = ("query", "subtopic", "document", "judgment")
_RUN = ("query", "document", "score", "rank")

QrelsSource = Qrels | Mapping[str, object] | Iterable[object] | str | os.PathLike[str]
"""Sources of qrels."""
RunSource = Run | Mapping[str, object] | Iterable[object] | str | os.PathLike[str]
"""Sources of a run."""


def as_qrels(source: QrelsSource, *, on_duplicate: Literal["error", "highest"] = "error") -> Qrels:
    """Diversity judgments from files or from what another library holds.

    Args:
        source: see the module; qrels are returned as they are, and several paths are parts of one.
        on_duplicate: what to do about a pair that is judged several times: stop, or take the highest judgment.

    Raises:
        ImportError: ir_datasets is named, and not installed.
        TypeError: none of these; ids that are neither text nor whole numbers.
        ValueError: no record, a column that is missing, a judgment that is no integer from -128 to 127, or a pair that
            is judged twice.
    """
    if isinstance(source, Qrels):
        return source
    given = _opened(source)
    if files := _files(given):
        return read_qrels(files, on_duplicate=on_duplicate)
    name, columns = called(source), _columns(given, "qrels", _QRELS)
    columns[:3] = [_ids(values, f"qrels: {name}", part) for values, part in zip(columns[:3], _QRELS, strict=False)]
    columns[3] = [_grade(value, f"qrels: {name}", row) for row, value in enumerate(columns[3], start=1)]
    return qrels_of(neighbours(name, range(1, len(columns[0]) + 1), columns), name, on_duplicate)


def as_run(source: RunSource, *, order: Order = "score") -> Run:
    """Rankings from files or from what another library holds, in the order of `srd_gym.data.read_run`.

    Args:
        source: see the module; a run is returned as it is, and several paths are parts of one.
        order: "score", "rank" or "pyndeval", as of `srd_gym.data.read_run`.

    Raises:
        ImportError: ir_datasets is named, and not installed.
        TypeError: none of these; ids that are neither text nor whole numbers.
        ValueError: no record, a column that is missing, a score that is no finite number, or a document that comes
            twice for a query.
    """
    if isinstance(source, Run):
        return source
    given = _opened(source)
    if files := _files(given):
        return read_run(files, order=order)
    name, (queries, documents, given_scores, *ranks) = called(source), _columns(given, "run", _RUN)
    rows = enumerate(given_scores, start=1)
    columns = [
        _ids(queries, f"run: {name}", "query"),
        _ids(documents, f"run: {name}", "document"),
        ranks[0] if ranks else [None] * len(queries),
        [0.0 if order == "rank" else _score(value, f"run: {name}", row) for row, value in rows],
    ]
    return run_of(neighbours(name, range(1, len(queries) + 1), columns), name, order)


def ir_dataset(name: str) -> Any:
    """The dataset of this id in ir_datasets, with or without the prefix.

    Raises:
        ImportError: ir_datasets is not installed.
        ValueError: no such dataset.
    """
    dataset_id = name.removeprefix(PREFIX)
    try:
        import ir_datasets
    except ImportError as error:
        raise ImportError(f"{PREFIX}{dataset_id} needs ir_datasets: {how_to_install('ir')}") from error
    try:
        return ir_datasets.load(dataset_id)
    except KeyError as error:
        raise ValueError(
            f"ir_datasets has no dataset {shown(dataset_id)}; https://ir-datasets.com lists them, such as "
            "clueweb09/en/trec-web-2009/diversity"
        ) from error


def _opened(source: object) -> Any:
    """Resolve a name to a dataset or paths; return anything else unchanged, a stream of records as a list."""
    if isinstance(source, str) and source.startswith(PREFIX):
        return ir_dataset(source)
    if isinstance(source, str | os.PathLike):
        return [source]
    if isinstance(source, Mapping) or hasattr(source, "columns") or hasattr(source, "dataset_id"):
        return source
    if hasattr(source, "to_dict"):  # of ranx; it has no iterator, and its Qrels have no subtopics
        return source.to_dict()
    if not isinstance(source, Iterable):
        raise TypeError(f"expected a path, records as of ir_measures, a frame or dictionaries, got {with_type(source)}")
    return list(source)


def _files(given: object) -> list[Any]:
    """The paths, where the first of a list is one."""
    if isinstance(given, list) and given and isinstance(given[0], str | os.PathLike):
        if str(given[0]).startswith(PREFIX):
            raise ValueError(f"{given[0]} must be given alone, got {len(given)} names; give one dataset, or files")
        return given
    return []


def called(source: object) -> str:
    """Name of a source in errors."""
    return str(source) if isinstance(source, str | os.PathLike) else few(_files(source)) or kind_of(source)


def _columns(given: Any, what: str, parts: Sequence[str]) -> list[list[Any]]:
    """The parts of all records, a list each."""
    if isinstance(given, Mapping):
        records = _nested(given) if what == "qrels" else _ranked(given)
        rows = [list(column) for column in zip(*records, strict=True)]
    elif hasattr(given, "columns"):
        rows = [list(given[name]) for name in _names(parts, [str(name) for name in given.columns], what)]
    else:
        records = _of_dataset(given, what) if hasattr(given, "dataset_id") else given
        there = [name for several in _NAMES.values() for name in several if records and hasattr(records[0], name)]
        names = _names(parts, there, what) if records else []
        rows = [[getattr(record, name, None) for record in records] for name in names]
    if not rows or not rows[0]:
        raise ValueError(f"{what}: no record; expected at least one")
    return rows


def _of_dataset(dataset: Any, what: str) -> list[Any]:
    """The records of a dataset of ir_datasets."""
    there = dataset.has_qrels() if what == "qrels" else dataset.has_scoreddocs()
    if not there:
        wanted = "judgments" if what == "qrels" else "scored documents: give a run"
        raise ValueError(f"{what}: dataset {dataset.dataset_id()} of ir_datasets has no {wanted}")
    try:
        return list(dataset.qrels_iter() if what == "qrels" else dataset.scoreddocs_iter())
    except (RuntimeError, OSError) as error:  # ir_datasets downloads what it does not have
        raise OSError(f"{what}: ir_datasets cannot read {dataset.dataset_id()}: {shown_text(str(error))}") from error


def _names(parts: Sequence[str], there: Sequence[str], what: str) -> list[str]:
    """The names that these parts have among those that are there."""
    names = []
    for part in parts:
        name = next((name for name in _NAMES[part] if name in there), None)
        if name is not None:
            names.append(name)
        elif part != "rank":
            raise ValueError(
                f"{what}: no {part}; expected a column or attribute named {' or '.join(_NAMES[part])}, got "
                f"{few(there, 8) or None}"
            )
    return names


def _nested(given: Mapping[object, object]) -> list[tuple[Any, ...]]:
    """Records of {query: {subtopic: {document: judgment}}}."""
    rows = []
    for query, by_subtopic in given.items():
        for subtopic, judged in by_subtopic.items() if isinstance(by_subtopic, Mapping) else [(None, None)]:
            if not isinstance(judged, Mapping):
                raise ValueError(
                    f"qrels: query {shown(query)}: expected {{query: {{subtopic: {{document: judgment}}}}}}, got "
                    f"{shown(by_subtopic)}; judgments without subtopics cannot tell how diverse a ranking is"
                )
            rows += [(query, subtopic, document, grade) for document, grade in judged.items()]
    return rows


def _ranked(given: Mapping[object, object]) -> list[tuple[object, ...]]:
    """Records of {query: {document: score}} or {query: [documents, best first]}."""
    rows: list[tuple[object, ...]] = []
    for query, ranking in given.items():
        ranking = ranking.to_dict() if hasattr(ranking, "to_dict") else ranking  # a series of scores by document
        if isinstance(ranking, Mapping):
            rows += [(query, document, score) for document, score in ranking.items()]
        elif isinstance(ranking, Iterable) and not isinstance(ranking, str | bytes | set | frozenset):
            documents = list(ranking)
            rows += [(query, document, float(len(documents) - rank)) for rank, document in enumerate(documents)]
        else:
            came = with_type(ranking)
            raise ValueError(f"run: query {shown(query)}: expected {{document: score}} or a list, got {came}")
    return rows


def _ids(values: Sequence[object], what: str, part: str) -> list[str]:
    """Ids as text."""
    rows = enumerate(values, start=1)
    return [value if isinstance(value, str) else _id(value, f"{what}:{row}", part) for row, value in rows]


def _id(value: object, what: str, part: str) -> str:
    """An id that is a whole number, as text."""
    if isinstance(value, numbers.Integral) and not isinstance(value, bool):
        return str(int(value))
    remedy = "; read the column as text (dtype=str)" if isinstance(value, float) else ""
    raise TypeError(f"{what}: the id of a {part} is text or a whole number, got {with_type(value)}{remedy}")


def _grade(value: object, what: str, row: int) -> int:
    """A judgment as an integer that int8 holds."""
    number: Any = value if isinstance(value, numbers.Real) else math.nan
    if not -128 <= number <= 127 or number != int(number):
        raise ValueError(f"{what}:{row}: expected an integer judgment from -128 to 127, got {shown(value)}")
    return int(number)


def _score(value: object, what: str, row: int) -> float:
    """A score as a finite number."""
    number: Any = value if type(value) is float or isinstance(value, numbers.Real) else math.nan
    if isinstance(value, bool) or not -sys.float_info.max <= number <= sys.float_info.max:
        raise ValueError(f"{what}:{row}: expected a finite number as score, got {shown(value)}")
    return float(number)
