"""TREC files: diversity qrels and runs.

All readers take one path or several, plain or packed by gzip, xz or bz2. Several files are parts of one whole, so a
query in two of them is an error. Fields are separated by ASCII white space, as trec_eval and ndeval separate them; ids
are text and kept as they are. Lines that begin with "#" are skipped.
"""

from __future__ import annotations

import math
import re
import warnings
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from srd_gym.checks import check_option
from srd_gym.files import PathLike, written_atomically
from srd_gym.reading import few, shown, with_type
from srd_gym.run_metadata import metadata_lines
from srd_gym.showing import short_repr
from srd_gym.topic import GradeArray
from srd_gym.topic_fields import read_only
from srd_gym.trec_lines import Block, Paths, blocks_of, check_query_id, check_word, finite, path_list

Order = Literal["score", "rank", "pyndeval"]
"""Order of a run. "score": by score, equal scores by document id, descending (`trec_eval`, `ndeval -traditional`);
"rank": by the rank column (`ndeval`); "pyndeval": by score, equal scores by document id, ascending (that wrapper)."""

_WHOLE = re.compile("[+-]?[0-9]{1,9}")
"""A judgment as it is written: Python's own reader takes 1_0 and digits of any script besides."""


@dataclass(frozen=True, kw_only=True, eq=False, slots=True)
class TopicQrels:
    """The diversity judgments of one topic."""

    __repr__ = short_repr

    doc_ids: tuple[str, ...]
    """Ids of the P judged documents, in order of first mention."""
    subtopic_ids: tuple[str, ...]
    """Ids of the S subtopics, in numeric order where they are numbers."""
    judgments: GradeArray
    """[P, S] int8 as given: >= 1 is relevant, 0 and negative (-2: spam) are not; 0 where a pair has no line."""
    subtopic_weights: NDArray[np.float64] | None = None
    """[S] float64, positive: how likely each subtopic is meant; None means 1 each."""


@dataclass(frozen=True, kw_only=True, eq=False, slots=True)
class Qrels:
    """Diversity judgments by query id."""

    __repr__ = short_repr

    topics: dict[str, TopicQrels]
    """In order of first mention."""

    def weighted(self, weights: Mapping[str, Mapping[str, float]]) -> Qrels:
        """The same judgments with subtopic weights, such as intent probabilities.

        Args:
            weights: query id -> subtopic id -> positive weight, of every judged query and subtopic; what is not judged
                is passed over.

        Raises:
            ValueError: a judged query or subtopic has no weight, or one that is not a positive number.
        """
        topics = {}
        for query_id, topic in self.topics.items():
            own = weights.get(query_id, {})
            wrong = [name for name in topic.subtopic_ids if not 0 < own.get(name, 0.0) < math.inf]
            if wrong:
                raise ValueError(
                    f"weights: expected a positive weight for subtopic {shown(wrong[0])} of query {shown(query_id)}, "
                    f"got {own.get(wrong[0], 'none')}; every judged subtopic needs a line 'topic subtopic weight'"
                )
            topics[query_id] = replace(topic, subtopic_weights=np.array([own[name] for name in topic.subtopic_ids]))
        return Qrels(topics=topics)

    def ad_hoc(self) -> dict[str, dict[str, int]]:
        """The ad-hoc view {query: {document: highest grade over subtopics, at least 0}}, which `ranx.Qrels` takes."""
        return {query_id: grades_of(topic.doc_ids, topic.judgments) for query_id, topic in self.topics.items()}


def grades_of(doc_ids: Sequence[str], judgments: GradeArray) -> dict[str, int]:
    """The ad-hoc view of a topic's judgments [P, S]: document id -> its highest grade over subtopics, at least 0."""
    return dict(zip(doc_ids, judgments.max(axis=1, initial=0).tolist(), strict=True))


@dataclass(frozen=True, kw_only=True, eq=False, slots=True)
class Run:
    """Rankings by query id, in the `Order` that they were read in."""

    __repr__ = short_repr

    rankings: dict[str, tuple[str, ...]]
    """Document ids, best first."""
    scores: dict[str, NDArray[np.float64]]
    """[N] float64 scores of the same documents, never rising."""

    def to_dict(self) -> dict[str, dict[str, float]]:
        """{query: {document: score}}, best first, for `ranx.Run` and ir_measures, which order equal scores anew."""
        return {
            query_id: dict(zip(doc_ids, self.scores[query_id].tolist(), strict=True))
            for query_id, doc_ids in self.rankings.items()
        }


def read_qrels(paths: Paths, *, on_duplicate: Literal["error", "highest"] = "error") -> Qrels:
    """Diversity judgments from lines "topic subtopic document judgment".

    Qrels in which no document is judged for two subtopics are read with a warning: those of an ad-hoc task have zeros,
    rounds or one value per document in the second column, and others have subtopics that exclude one another.

    The rules are those of ndeval, as packaged by pyndeval: a judgment >= 1 is relevant, 0, negative and missing ones
    are not. Subtopic 0, which the 2009 files use to list documents that were judged for no subtopic, is a subtopic like
    any other where some document is relevant to it, and is left out where none is (its documents stay in the pool): no
    measure can tell the difference.

    Args:
        paths: one file or several parts.
        on_duplicate: what to do about a pair that is judged several times: stop, or take the highest judgment.

    Returns:
        The judgments of each topic that has a line.

    Raises:
        FileNotFoundError: no such file.
        ValueError: a malformed line, a pair judged twice, a query in two files, or an empty file; the message gives
            file and line.
    """
    paths = path_list(paths, "qrels")
    return qrels_of(blocks_of(paths, "qrels", "topic subtopic document judgment"), few(paths), on_duplicate)


def qrels_of(blocks: Iterable[Block], source: str, on_duplicate: Literal["error", "highest"] = "error") -> Qrels:
    """Diversity judgments of blocks with the columns query, subtopic, document and judgment (text or whole numbers).

    Args:
        blocks: what `neighbours` gives.
        source: names them in warnings.
        on_duplicate: as of `read_qrels`.

    Raises:
        ValueError: a pair judged twice, or text that is no judgment.
    """
    columns: defaultdict[str, list[list[object]]] = defaultdict(lambda: [[], [], [], []])
    paths: dict[str, PathLike] = {}
    grades: dict[object, int] = {}
    for path, query_id, numbers, (_, subtopic_ids, doc_ids, judgments) in blocks:
        paths.setdefault(query_id, path)
        for judgment in set(judgments) - grades.keys():
            grades[judgment] = _grade(judgment, path, numbers[judgments.index(judgment)])
        for column, part in zip(columns[query_id], (numbers, subtopic_ids, doc_ids, judgments), strict=True):
            column.extend(part)
    topics, several = {}, False
    for query_id, parts in columns.items():
        topics[query_id], pairs = _topic_qrels(f"qrels: {paths[query_id]}", query_id, grades, on_duplicate, parts)
        several |= pairs > len(topics[query_id].doc_ids)
    if not several:
        warnings.warn(
            f"qrels: {source}: no document is judged for two subtopics: either the second column names no subtopics, "
            "as in qrels of an ad-hoc task, and diversity measures need other qrels, or each document has one "
            "subtopic, and all is well",
            stacklevel=3,
        )
    return Qrels(topics=topics)


def _topic_qrels(
    source: str, query_id: str, grades: Mapping[object, int], on_duplicate: str, columns: Sequence[Sequence[Any]]
) -> tuple[TopicQrels, int]:
    """The judgments of a topic as a matrix, its subtopics sorted, an irrelevant subtopic 0 left out; and its pairs."""
    lines, subtopic_ids, doc_ids, judgments = columns
    row_of = {doc_id: row for row, doc_id in enumerate(dict.fromkeys(doc_ids))}
    column_of = {subtopic_id: column for column, subtopic_id in enumerate(dict.fromkeys(subtopic_ids))}
    rows = np.fromiter(map(row_of.__getitem__, doc_ids), np.intp, len(doc_ids))
    places = np.fromiter(map(column_of.__getitem__, subtopic_ids), np.intp, len(doc_ids))
    values = np.fromiter(map(grades.__getitem__, judgments), np.int8, len(doc_ids))
    _, first = np.unique(rows * len(column_of) + places, return_index=True)
    if first.size < rows.size and on_duplicate == "error":
        again = int(np.setdiff1d(np.arange(rows.size), first)[0])
        raise ValueError(
            f"{source}:{lines[again]}: document {shown(doc_ids[again])} is judged twice for subtopic "
            f"{shown(subtopic_ids[again])} of topic {shown(query_id)}; keep one of the lines"
        )
    table = np.zeros((len(row_of), len(column_of)), dtype=np.int8)
    rising = np.argsort(values, kind="stable")  # of several judgments of a pair the last, the highest, stays
    table[rows[rising], places[rising]] = values[rising]
    relevant = [s for s in column_of if s != "0" or (table[:, column_of[s]] >= 1).any()]
    relevant.sort(key=natural_key)
    chosen = np.ascontiguousarray(table[:, [column_of[s] for s in relevant]])
    own = TopicQrels(doc_ids=tuple(row_of), subtopic_ids=tuple(relevant), judgments=read_only(chosen))
    return own, first.size


def read_weights(paths: Paths) -> dict[str, dict[str, float]]:
    """Subtopic weights from lines "topic subtopic weight", such as NTCIR's intent probabilities.

    Args:
        paths: one file or several parts.

    Returns:
        Query id -> subtopic id -> weight, for `Qrels.weighted`.

    Raises:
        FileNotFoundError: no such file.
        ValueError: a malformed line, a weight that is not a finite number, a subtopic twice, a query in two files, or
            an empty file; the message gives file and line.
    """
    weights: dict[str, dict[str, float]] = {}
    blocks = blocks_of(paths, "weights", "topic subtopic weight")
    for path, query_id, numbers, (_, subtopic_ids, values) in blocks:
        own = weights.setdefault(query_id, {})
        for number, subtopic_id, value in zip(numbers, subtopic_ids, values, strict=True):
            if subtopic_id in own:
                where = f"subtopic {shown(subtopic_id)} of query {shown(query_id)}"
                raise ValueError(f"weights: {path}:{number}: {where} is duplicated; keep one of the lines")
            own[subtopic_id] = finite(value, "weights", path, number, "weight")
    return weights


def read_run(paths: Paths, *, order: Order = "score") -> Run:
    """Rankings from lines "topic Q0 document rank score tag"; fields after the tag are ignored.

    The default order is that of `trec_eval` and `ndeval -traditional`: score descending (compared as float64), document
    id descending where scores are equal; the order of lines is ignored. Where the ranks give another order, a warning
    counts the queries.

    Args:
        paths: one file or several parts.
        order: "score"; "rank", by the rank column, as `ndeval` without options: scores are not read, and are then N, N
            - 1, ..., 1; or "pyndeval", whose Python wrapper puts the smaller document id first where scores are equal.

    Returns:
        The ranking of each query that has a line.

    Raises:
        FileNotFoundError: no such file.
        ValueError: a malformed line, a score that is not a finite number, a document twice in one ranking, a query in
            two files, or an empty file; the message gives file and line. With order="rank", ranks that are not distinct
            numbers.
    """
    paths = path_list(paths, "run")
    blocks = blocks_of(paths, "run", "topic Q0 document rank score tag")
    parts = ((path, query_id, lines, (own[0], *own[2:5])) for path, query_id, lines, own in blocks)
    return run_of(parts, few(paths), order)


def run_of(blocks: Iterable[Block], source: str, order: Order) -> Run:
    """Rankings of blocks with the columns query, document, rank and score (text, or finite floats).

    Args:
        blocks: what `neighbours` gives; ranks may be None.
        source: names them in errors and warnings.
        order: as of `read_run`.

    Raises:
        ValueError: a document twice in one ranking, a score that is not a finite number, or order="rank" where ranks
            are not distinct numbers.
    """
    check_option("order", order, get_args(Order))
    parts: defaultdict[str, dict[str, float]] = defaultdict(dict)
    ranks: defaultdict[str, list[object]] = defaultdict(list)
    for path, query_id, numbers, (_, doc_ids, places, scores) in blocks:
        part = parts[query_id]
        ranks[query_id].extend(places)
        for number, doc_id, score in zip(numbers, doc_ids, scores, strict=True):
            if doc_id in part:
                where = f"run: {path}:{number}: document {shown(doc_id)} is duplicated for query {shown(query_id)}"
                raise ValueError(f"{where}; a ranking holds each document once")
            if order == "rank":
                part[doc_id] = 0.0
            else:
                part[doc_id] = score if type(score) is float else finite(score, "run", path, number, "score")
    return _run(parts, ranks, order, source)


def _is_word(rank: object) -> bool:
    """Whether a rank is written in letters, not as a number."""
    try:
        float(str(rank))
    except ValueError:
        return isinstance(rank, str)
    return False


def _by_rank(doc_ids: Iterable[str], ranks: Sequence[object]) -> list[str] | None:
    """Documents in the order of their ranks; None where these are not distinct numbers."""
    try:
        places = np.array(ranks, dtype=np.float64)
    except (TypeError, ValueError):
        return None
    if (np.diff(places) > 0).all() and np.isfinite(places[[0, -1]]).all():  # as in nearly every file
        return list(doc_ids)
    if not np.isfinite(places).all() or np.unique(places).size < places.size:
        return None
    return [doc_id for _, doc_id in sorted(zip(places.tolist(), doc_ids, strict=True))]


def _run(parts: Mapping[str, dict[str, float]], ranks: Mapping[str, Sequence[Any]], order: Order, source: str) -> Run:
    """Scores of documents by query as a run, with a warning where another order than that of the ranks is taken."""
    run = Run(rankings={}, scores={})
    told, words = [], list[str]()
    for query_id, part in parts.items():
        places = () if ranks[query_id][0] is None else ranks[query_id]
        ranked = _by_rank(part, places) if places else None
        if order != "rank":
            ordered = sorted(sorted(part, reverse=order == "score"), key=part.__getitem__, reverse=True)
            scores = [part[doc_id] for doc_id in ordered]
        elif ranked is None:
            fault = f"are not distinct numbers: {few(places)}" if places else "are missing"
            raise ValueError(f"run: {source}: the ranks of query {shown(query_id)} {fault}; order by score instead")
        else:
            ordered, scores = ranked, list(range(len(part), 0, -1))
        if ranked is not None and ranked != ordered:
            told.append(query_id)
        words += [place for place in places[:1] if ranked is None and _is_word(place)]
        run.rankings[query_id] = tuple(ordered)
        run.scores[query_id] = np.array(scores, dtype=np.float64)
    if words:
        warnings.warn(
            f"run: {source}: for {len(words):,} of {len(parts):,} queries the ranks are words ({few(words)}): where "
            "document ids hold spaces, the fields behind them are read as others; use ids without spaces",
            stacklevel=4,
        )
    if told:
        tool = "trec_eval and ndeval -traditional do" if order == "score" else "pyndeval does"
        warnings.warn(
            f"run: {source}: for {len(told):,} of {len(parts):,} queries the order is not that of the ranks "
            f"({few(told)}): scores rise with the rank, or are equal; they are ordered by score and document id, as "
            f"{tool} (order='rank', or --order rank, orders by rank, as ndeval)",
            stacklevel=4,
        )
    return run


def write_run(
    path: PathLike,
    rankings: Mapping[str, Sequence[str]] | Iterable[tuple[str, Sequence[str]]],
    tag: str,
    metadata: Mapping[str, object] | None = None,
) -> None:
    """Write rankings as a TREC run, whole or not at all.

    Tools order a run by score or by rank, so the score column falls with the rank: N, N - 1, ..., 1.

    Args:
        path: the file to write; an existing one is replaced once the new one is complete.
        rankings: document ids by query id, best first; or pairs of a query id and its document ids, which are written
            as they come, so that they need not be in memory together (each query once: that is not checked).
        tag: the run's name.
        metadata: a header to begin with (`srd_gym.run_metadata`), values as JSON holds them; None: none, as other tools
            need it.

    Raises:
        TypeError: an id or tag that is not text, a ranking that is a set or one text, or metadata that JSON cannot
            hold.
        ValueError: an id or tag that is empty or holds white space or control characters (the format cannot carry it),
            or a document twice; nothing is written.
    """
    check_word("run", "the tag", tag)
    with written_atomically(path) as temporary, temporary.open("w", encoding="utf-8", newline="\n") as stream:
        stream.writelines(f"{line}\n" for line in (metadata_lines(metadata) if metadata else ()))
        for query_id, doc_ids in rankings.items() if isinstance(rankings, Mapping) else rankings:
            check_query_id("run", query_id)
            if isinstance(doc_ids, str | set | frozenset):
                raise TypeError(f"run: query {shown(query_id)}: expected a list, best first, got {with_type(doc_ids)}")
            if len(set(doc_ids)) < len(doc_ids):
                raise ValueError(
                    f"run: a document is duplicated for query {shown(query_id)}; a ranking holds each document once"
                )
            for rank, doc_id in enumerate(doc_ids, start=1):
                check_word("run", "document id", doc_id)
                stream.write(f"{query_id} Q0 {doc_id} {rank} {len(doc_ids) + 1 - rank} {tag}\n")


def natural_key(value: str) -> tuple[bool, int, str, str]:
    """Sort key that puts "2" before "10" and numbers, however long, before other text."""
    number = value.isascii() and value.isdigit()
    digits = value.lstrip("0") if number else ""
    return (not number, len(digits), digits, value)


def _grade(value: str | int, path: PathLike, number: int) -> int:
    """A judgment as an integer that int8 holds."""
    grade = int(value) if isinstance(value, int) or _WHOLE.fullmatch(value) else math.inf
    if not -128 <= grade <= 127:
        raise ValueError(f"qrels: {path}:{number}: expected an integer judgment from -128 to 127, got {shown(value)}")
    return int(grade)
