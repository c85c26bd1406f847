"""TREC files: diversity qrels and runs.

All readers take one path or several, plain or packed by gzip, xz or bz2. Several files are parts of one whole, so a
query in two of them is an error. Fields are separated by ASCII white space, as trec_eval and ndeval separate them; ids
are text and kept as they are. Lines that begin with "#" are skipped.
"""

from __future__ import annotations

import math
import re
import unicodedata
import warnings
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count, groupby
from os import PathLike as _OsPathLike
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from srd_gym.checks import check_option
from srd_gym.files import PathLike, written_atomically
from srd_gym.reading import few, numbered_blocks, plain_float, shown, with_type
from srd_gym.showing import short_repr
from srd_gym.topic import GradeArray

Paths = PathLike | Iterable[PathLike]
Order = Literal["score", "rank", "pyndeval"]
"""Order of a run. "score": by score, equal scores by document id, descending (`trec_eval`, `ndeval -traditional`);
"rank": by the rank column (`ndeval`); "pyndeval": by score, equal scores by document id, ascending (that wrapper)."""

_FIELDS = re.compile(r"[^ \t\r\f\v]+")
_END = "\0"
"""Stands for the end of a line among words."""
_NOT_PLAIN = (_END, "\x1c", "\x1d", "\x1e", "\x1f")
_QRELS_LINE = "topic subtopic document judgment"
_WEIGHTS_LINE = "topic subtopic weight"
_RUN_LINE = "topic Q0 document rank score tag"


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


@dataclass(frozen=True, kw_only=True, eq=False, slots=True)
class Run:
    """Rankings by query id, in the `Order` that they were read in."""

    __repr__ = short_repr

    rankings: dict[str, tuple[str, ...]]
    """Document ids, best first."""
    scores: dict[str, NDArray[np.float64]]
    """[N] float64 scores of the same documents, never rising."""


def path_list(paths: Paths, what: str) -> list[PathLike]:
    """One path or several, as a list.

    Raises:
        ValueError: no path at all.
    """
    several = [paths] if isinstance(paths, str | _OsPathLike) else list(paths)
    if not several:
        raise ValueError(f"{what}: no file given; expected one path or more")
    return several


def read_qrels(paths: Paths, *, twice: Literal["error", "highest"] = "error") -> Qrels:
    """Diversity judgments from lines "topic subtopic document judgment".

    Qrels in which no document is judged for two subtopics are read with a warning: those of an ad-hoc task have zeros,
    rounds or one value per document in the second column.

    The rules are those of ndeval, as packaged by pyndeval: a judgment >= 1 is relevant, 0, negative and missing ones
    are not. Subtopic 0, which the 2009 files use to list documents that were judged for no subtopic, is a subtopic like
    any other where some document is relevant to it, and is left out where none is (its documents stay in the pool): no
    measure can tell the difference.

    Args:
        paths: one file or several parts.
        twice: what to do about a pair that is judged several times: stop, or take the highest judgment.

    Returns:
        The judgments of each topic that has a line.

    Raises:
        FileNotFoundError: no such file.
        ValueError: a malformed line, a pair judged twice, a query in two files, or an empty file; the message gives
            file and line.
    """
    paths = path_list(paths, "qrels")
    parts: dict[str, _QrelsPart] = {}
    grades: dict[str, int] = {}
    for path, query_id, numbers, (_, subtopic_ids, doc_ids, judgments) in _parts(paths, "qrels", _QRELS_LINE):
        part = parts.get(query_id)
        if part is None:
            part = parts[query_id] = _QrelsPart(query_id, path)
        for judgment in set(judgments) - grades.keys():
            grades[judgment] = _grade(judgment, path, numbers[judgments.index(judgment)])
        part.rows += map(part.docs.__getitem__, doc_ids)
        part.columns += map(part.subtopics.__getitem__, subtopic_ids)
        part.values += map(grades.__getitem__, judgments)
        part.lines += numbers
    return _qrels(parts, few(paths), twice)


def _qrels(parts: Mapping[str, _QrelsPart], source: str, twice: str) -> Qrels:
    """The judgments of all topics, with a warning where they look like those of an ad-hoc task."""
    qrels = Qrels(topics={query_id: part.finish(twice) for query_id, part in parts.items()})
    if not any(part.several for part in parts.values()):
        warnings.warn(
            f"qrels: {source}: no document is judged for two subtopics, as in qrels of an ad-hoc task, whose second "
            "column is 0, a round or one value per document; give the task's diversity qrels, unless subtopics exclude "
            "one another here",
            stacklevel=3,
        )
    return qrels


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
    for path, query_id, numbers, (_, subtopic_ids, values) in _parts(paths, "weights", _WEIGHTS_LINE):
        own = weights.setdefault(query_id, {})
        for number, subtopic_id, value in zip(numbers, subtopic_ids, values, strict=True):
            if subtopic_id in own:
                where = f"subtopic {shown(subtopic_id)} of query {shown(query_id)}"
                raise ValueError(f"weights: {path}:{number}: {where} comes twice; keep one of the lines")
            own[subtopic_id] = _number(value, path, number, "weights", "weight")
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
    check_option("order", order, get_args(Order))
    paths = path_list(paths, "run")
    parts: dict[str, dict[str, float]] = {}
    ranks: dict[str, list[str]] = {}
    for path, query_id, numbers, (_, _, doc_ids, places, scores, _) in _parts(paths, "run", _RUN_LINE):
        part = parts.setdefault(query_id, {})
        ranks.setdefault(query_id, []).extend(places)
        for number, doc_id, score in zip(numbers, doc_ids, scores, strict=True):
            if doc_id in part:
                raise _twice(path, number, query_id, doc_id)
            part[doc_id] = 0.0 if order == "rank" else _number(score, path, number, "run", "score")
    return _run(parts, ranks, order, few(paths))


def _by_rank(doc_ids: Iterable[str], ranks: Sequence[Any]) -> list[str] | None:
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


def qrels_from(
    source: str,
    query_ids: Sequence[str],
    subtopic_ids: Sequence[str],
    doc_ids: Sequence[str],
    judgments: Sequence[int],
    twice: Literal["error", "highest"] = "error",
) -> Qrels:
    """Diversity judgments from records, as `read_qrels` reads them from lines.

    Args:
        source: names them in errors.
        query_ids: of each record; and so are the following.
        subtopic_ids: text.
        doc_ids: text.
        judgments: from -128 to 127.
        twice: as of `read_qrels`.

    Raises:
        ValueError: a pair judged twice.
    """
    parts: dict[str, _QrelsPart] = {}
    records = zip(query_ids, subtopic_ids, doc_ids, judgments, strict=True)
    for number, (query_id, subtopic_id, doc_id, judgment) in enumerate(records, start=1):
        part = parts.get(query_id)
        if part is None:
            part = parts[query_id] = _QrelsPart(query_id, source)
        part.rows.append(part.docs[doc_id])
        part.columns.append(part.subtopics[subtopic_id])
        part.values.append(judgment)
        part.lines.append(number)
    return _qrels(parts, source, twice)


def run_from(
    source: str,
    query_ids: Sequence[str],
    doc_ids: Sequence[str],
    scores: Sequence[float],
    ranks: Sequence[Any] | None = None,
    order: Order = "score",
) -> Run:
    """Rankings from records, as `read_run` reads them from lines.

    Args:
        source: names them in errors.
        query_ids: of each record; and so are the following.
        doc_ids: text.
        scores: finite numbers.
        ranks: where records have them.
        order: as of `read_run`.

    Raises:
        ValueError: a document twice in one ranking, or order="rank" where ranks are not distinct numbers.
    """
    check_option("order", order, get_args(Order))
    parts: dict[str, dict[str, float]] = {}
    places: dict[str, list[Any]] = {}
    for number, (query_id, doc_id, score) in enumerate(zip(query_ids, doc_ids, scores, strict=True), start=1):
        part = parts.setdefault(query_id, {})
        if doc_id in part:
            raise _twice(source, number, query_id, doc_id)
        part[doc_id] = score
        if ranks is not None:
            places.setdefault(query_id, []).append(ranks[number - 1])
    return _run(parts, places, order, source)


def _twice(source: PathLike, number: int, query_id: str, doc_id: str) -> ValueError:
    """The error of a document that a ranking holds twice."""
    return ValueError(
        f"run: {source}:{number}: document {shown(doc_id)} comes twice for query {shown(query_id)}; "
        "a ranking holds each document once"
    )


def _run(parts: Mapping[str, dict[str, float]], ranks: Mapping[str, Sequence[Any]], order: Order, source: str) -> Run:
    """Scores of documents by query as a run, with a warning where another order than that of the ranks is taken."""
    run = Run(rankings={}, scores={})
    told = []
    for query_id, part in parts.items():
        places = ranks.get(query_id, ())
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
        run.rankings[query_id] = tuple(ordered)
        run.scores[query_id] = np.array(scores, dtype=np.float64)
    if told:
        tool = "trec_eval and ndeval -traditional do" if order == "score" else "pyndeval does"
        warnings.warn(
            f"run: {source}: for {len(told):,} of {len(parts):,} queries the order is not that of the ranks "
            f"({few(told)}): scores rise with the rank, or are equal; they are ordered by score and document id, as "
            f"{tool} (order='rank' orders by rank, as ndeval)",
            stacklevel=3,
        )
    return run


def write_run(
    path: PathLike, rankings: Mapping[str, Sequence[str]] | Iterable[tuple[str, Sequence[str]]], tag: str
) -> None:
    """Write rankings as a TREC run, whole or not at all.

    Tools order a run by score or by rank, so the score column falls with the rank: N, N - 1, ..., 1.

    Args:
        path: the file to write; an existing one is replaced once the new one is complete.
        rankings: document ids by query id, best first; or pairs of a query id and its document ids, which are written
            as they come, so that they need not be in memory together (each query once: that is not checked).
        tag: the run's name.

    Raises:
        TypeError: an id or tag that is not text, or a ranking that is a set or one text.
        ValueError: an id or tag that is empty or holds white space or control characters (the format cannot carry it),
            or a document twice; nothing is written.
    """
    check_word("run", "the tag", tag)
    with written_atomically(path) as temporary, temporary.open("w", encoding="utf-8", newline="\n") as stream:
        for query_id, doc_ids in rankings.items() if isinstance(rankings, Mapping) else rankings:
            check_query_id("run", query_id)
            if isinstance(doc_ids, str | set | frozenset):
                raise TypeError(f"run: query {shown(query_id)}: expected a list, best first, got {with_type(doc_ids)}")
            if len(set(doc_ids)) < len(doc_ids):
                raise ValueError(
                    f"run: a document comes twice for query {shown(query_id)}; a ranking holds each document once"
                )
            for rank, doc_id in enumerate(doc_ids, start=1):
                check_word("run", "document id", doc_id)
                stream.write(f"{query_id} Q0 {doc_id} {rank} {len(doc_ids) + 1 - rank} {tag}\n")


def _counted() -> defaultdict[str, int]:
    """Names that are numbered as they are asked for, from 0."""
    return defaultdict(count().__next__)


@dataclass(slots=True)
class _QrelsPart:
    """The lines of one topic, being read."""

    query_id: str
    path: PathLike
    docs: defaultdict[str, int] = field(default_factory=_counted)
    subtopics: defaultdict[str, int] = field(default_factory=_counted)
    rows: list[int] = field(default_factory=list)
    columns: list[int] = field(default_factory=list)
    values: list[int] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    several: bool = False
    """Whether some document is judged for two subtopics; known once finished."""

    def finish(self, twice: str) -> TopicQrels:
        """The judgments as a matrix, its subtopics sorted, an irrelevant subtopic 0 left out."""
        rows, columns = np.array(self.rows), np.array(self.columns)
        cells = rows * len(self.subtopics) + columns
        _, first = np.unique(cells, return_index=True)
        if first.size < cells.size and twice == "error":
            again = int(np.setdiff1d(np.arange(cells.size), first)[0])
            doc_id = list(self.docs)[self.rows[again]]
            subtopic_id = list(self.subtopics)[self.columns[again]]
            raise ValueError(
                f"qrels: {self.path}:{self.lines[again]}: document {shown(doc_id)} is judged twice for subtopic "
                f"{shown(subtopic_id)} of topic {shown(self.query_id)}; keep one of the lines"
            )
        self.several = bool((np.bincount(rows[first]) > 1).any())
        judgments = np.zeros((len(self.docs), len(self.subtopics)), dtype=np.int8)
        rising = np.argsort(self.values, kind="stable")  # of several judgments of a pair the last, the highest, stays
        judgments[rows[rising], columns[rising]] = np.array(self.values)[rising]
        subtopic_ids = [s for s in self.subtopics if s != "0" or (judgments[:, self.subtopics[s]] >= 1).any()]
        subtopic_ids.sort(key=natural_key)
        chosen = np.ascontiguousarray(judgments[:, [self.subtopics[s] for s in subtopic_ids]])
        chosen.flags.writeable = False
        return TopicQrels(doc_ids=tuple(self.docs), subtopic_ids=tuple(subtopic_ids), judgments=chosen)


def _parts(
    paths: Paths, what: str, form: str
) -> Iterator[tuple[PathLike, str, Sequence[int], Sequence[Sequence[str]]]]:
    """File, query, line numbers and columns of neighbouring lines of one query; no query is in two files.

    The query is the first field.
    """
    owner: dict[str, PathLike] = {}
    for path in path_list(paths, what):
        own: set[str] = set()
        for numbers, columns in _columns(path, what, form):
            start = 0
            for query_id, same in groupby(columns[0]):
                stop = start + sum(1 for _ in same)
                if query_id not in own:
                    claim_query(what, owner, query_id, path)
                    own.add(query_id)
                yield path, query_id, numbers[start:stop], [column[start:stop] for column in columns]
                start = stop
        if not own:
            raise ValueError(f"{what}: {path} holds only blank lines and comments; expected at least one line of data")


def _columns(path: PathLike, what: str, form: str) -> Iterator[tuple[Sequence[int], Sequence[Sequence[str]]]]:
    """Numbers of lines and their fields, by column: many lines at once where all are plain, else one by one."""
    width = len(form.split())
    for first, block in numbered_blocks(path, what):
        lines = block.count("\n")
        words = block.replace("\n", f" {_END} ").split()
        # Python splits text at more characters than trec_eval and ndeval do; nothing but ASCII without these is plain.
        plain = block.isascii() and not any(character in block for character in _NOT_PLAIN)
        plain = plain and not ("#" in block and (block.startswith("#") or "\n#" in block))
        if plain and len(words) == lines * (width + 1) and words[width :: width + 1] == [_END] * lines:
            yield range(first, first + lines), [words[index :: width + 1] for index in range(width)]
            continue
        for number, line in enumerate(block.split("\n"), start=first):
            fields = [] if line.startswith("#") else _FIELDS.findall(line)
            # A run's tag may hold spaces; a document id may not, and its rest would stand in place of the rank.
            if len(fields) == width or (what == "run" and len(fields) > width and fields[3].isdecimal()):
                yield [number], [[value] for value in fields[:width]]
            elif fields:
                raise ValueError(
                    f"{what}: {path}:{number}: expected {width} fields '{form}', got {len(fields)}: "
                    f"{shown(line.rstrip(chr(13)))}"
                )


def natural_key(value: str) -> tuple[bool, int, str, str]:
    """Sort key that puts "2" before "10" and numbers, however long, before other text."""
    number = value.isascii() and value.isdigit()
    digits = value.lstrip("0") if number else ""
    return (not number, len(digits), digits, value)


def claim_query(what: str, owner: dict[str, PathLike], query_id: str, path: PathLike) -> None:
    """Note the file that holds a query; a query in two files is an error."""
    if query_id in owner:
        hint = "; to compare runs: srd compare" if what == "run" else ""
        raise ValueError(
            f"{what}: query {shown(query_id)} is in both {owner[query_id]} and {path}; several files are parts of one "
            f"whole and must not share a query{hint}"
        )
    owner[query_id] = path


def _grade(text: str, path: PathLike, number: int) -> int:
    """A judgment as an integer that int8 holds."""
    try:
        value = int(text)
    except ValueError:
        value = 128
    if not -128 <= value <= 127 or "_" in text or not text.isascii():  # Python reads 1_0 and digits of any script
        raise ValueError(f"qrels: {path}:{number}: expected an integer judgment from -128 to 127, got {shown(text)}")
    return value


def _number(text: str, path: PathLike, number: int, what: str, part: str) -> float:
    """A finite number."""
    try:
        value = plain_float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ValueError(f"{what}: {path}:{number}: expected a finite number as {part}, got {shown(text)}")
    return value


def check_query_id(what: str, value: str) -> None:
    """Refuse a query id that TREC files cannot carry: `check_word`, and no "#" at its beginning.

    Raises:
        ValueError: such an id.
    """
    check_word(what, "query id", value)
    if value.startswith("#"):
        raise ValueError(f"{what}: query id {shown(value)} begins with '#', as lines that readers skip: rename it")


def check_word(what: str, name: str, value: str) -> None:
    """Refuse what TREC files cannot carry: their fields are separated by white space and their lines by line ends.

    Raises:
        TypeError: not text.
        ValueError: a value that is empty or holds white space or control characters.
    """
    if not isinstance(value, str):
        raise TypeError(f"{what}: {name} must be text, got {with_type(value)}")
    bad = next((c for c in value if c.isspace() or unicodedata.category(c) in {"Cc", "Cs"}), None)
    if bad is not None or not value:
        fault = "is empty" if not value else f"holds {shown(bad)}"
        raise ValueError(
            f"{what}: {name} {shown(value)} {fault}; TREC files separate fields by white space, so ids and tags need "
            "at least one character and no white space or control characters: rename it"
        )
