"""TREC files: diversity qrels and runs.

All readers take one path or several, plain or packed by gzip, xz or bz2. Several files are parts of one whole, so a
query in two of them is an error. Fields are separated by ASCII white space, as the official tools separate them; ids
are text and kept as they stand.
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
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from srd_gym.checks import check_option
from srd_gym.files import PathLike, written_atomically
from srd_gym.reading import few, numbered_blocks, plain_float, shown
from srd_gym.showing import short_repr
from srd_gym.topic import GradeArray

Paths = PathLike | Iterable[PathLike]
Order = Literal["score", "rank"]
"""Order of a run."""

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
    """Rankings by query id, in the official order: score descending, document id ascending where scores are equal."""

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

    Qrels of an ad-hoc task, which have 0 in place of a subtopic, are read with a warning.

    The rules are the official tool's (ndeval, as packaged by pyndeval): a judgment >= 1 is relevant, 0, negative and
    missing ones are not. Subtopic 0, which the 2009 files use to list documents that were judged for no subtopic, is a
    subtopic like any other where some document is relevant to it, and is left out where none is (its documents stay in
    the pool): no measure can tell the difference.

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
    if set().union(*(part.subtopics for part in parts.values())) <= {"0", "Q0"}:
        warnings.warn(
            f"qrels: {few(paths)}: all judgments are of subtopic 0, as in qrels of an ad-hoc task, so that each topic "
            "has one subtopic; give the task's diversity qrels",
            stacklevel=2,
        )
    return Qrels(topics={query_id: part.finish(twice) for query_id, part in parts.items()})


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
    """Rankings from lines "topic Q0 document rank score tag".

    The order is the official tool's: score descending (compared as float64), document id ascending on ties; the order
    of lines is ignored. Where the ranks tell of another order, which official tools ignore, a warning counts the
    queries.

    Args:
        paths: one file or several parts.
        order: "score", or "rank": by the rank column, for runs whose scores mean something else. Scores are then N, N -
            1, ..., 1.

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
            part[doc_id] = _number(score, path, number, "run", "score")
    if order == "rank":
        return _run({query_id: _by_rank(query_id, part, ranks[query_id]) for query_id, part in parts.items()})
    told = [query_id for query_id, part in parts.items() if _differ(part, ranks[query_id])]
    if told:
        warnings.warn(
            f"run: {few(paths)}: for {len(told):,} of {len(parts):,} queries the scores do not fall with the ranks "
            f"({few(told)}); they are ordered by score, as in official tools (order='rank' orders by rank)",
            stacklevel=2,
        )
    return _run(parts)


def _places(ranks: Sequence[str]) -> NDArray[np.float64] | None:
    """Ranks as numbers, where they are that and distinct."""
    try:
        places = np.array(ranks, dtype=np.float64)
    except ValueError:
        return None
    return places if np.unique(places).size == places.size else None


def _differ(part: Mapping[str, float], ranks: Sequence[str]) -> bool:
    """Whether some score rises with the rank."""
    places = _places(ranks)
    return places is not None and bool((np.diff(np.array(list(part.values()))[np.argsort(places)]) > 0).any())


def _by_rank(query_id: str, part: Mapping[str, float], ranks: Sequence[str]) -> dict[str, float]:
    """Scores that fall with the ranks."""
    places = _places(ranks)
    if places is None:
        raise ValueError(
            f"run: the ranks of query {shown(query_id)} are not distinct numbers: {few(ranks)}; order by score instead"
        )
    doc_ids = list(part)
    return {doc_ids[row]: float(len(doc_ids) - place) for place, row in enumerate(np.argsort(places).tolist())}


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
    return Qrels(topics={query_id: part.finish(twice) for query_id, part in parts.items()})


def run_from(source: str, query_ids: Sequence[str], doc_ids: Sequence[str], scores: Sequence[float]) -> Run:
    """Rankings from records, as `read_run` reads them from lines.

    Args:
        source: names them in errors.
        query_ids: of each record; and so are the following.
        doc_ids: text.
        scores: finite numbers.

    Raises:
        ValueError: a document twice in one ranking.
    """
    parts: dict[str, dict[str, float]] = {}
    for number, (query_id, doc_id, score) in enumerate(zip(query_ids, doc_ids, scores, strict=True), start=1):
        part = parts.setdefault(query_id, {})
        if doc_id in part:
            raise _twice(source, number, query_id, doc_id)
        part[doc_id] = score
    return _run(parts)


def _twice(source: PathLike, number: int, query_id: str, doc_id: str) -> ValueError:
    """The error of a document that a ranking holds twice."""
    return ValueError(
        f"run: {source}:{number}: document {shown(doc_id)} comes twice for query {shown(query_id)}; "
        "a ranking holds each document once"
    )


def _run(parts: Mapping[str, dict[str, float]]) -> Run:
    """Scores of documents by query as a run."""
    run = Run(rankings={}, scores={})
    for query_id, part in parts.items():
        ordered = sorted(sorted(part), key=part.__getitem__, reverse=True)  # equal scores keep the order of ids
        run.rankings[query_id] = tuple(ordered)
        run.scores[query_id] = np.array([part[doc_id] for doc_id in ordered], dtype=np.float64)
    return run


def write_run(
    path: PathLike, rankings: Mapping[str, Sequence[str]] | Iterable[tuple[str, Sequence[str]]], tag: str
) -> None:
    """Write rankings as a TREC run, whole or not at all.

    Official tools order a run by its scores and break ties by document id, so the score column falls: N, N - 1, ..., 1.

    Args:
        path: the file to write; an existing one is replaced once the new one is complete.
        rankings: document ids by query id, best first; or pairs of a query id and its document ids, which are written
            as they come, so that they need not be in memory together (each query once: that is not checked).
        tag: the run's name.

    Raises:
        ValueError: an id or tag that is empty or holds white space or control characters (the format cannot carry it),
            or a document twice; nothing is written.
    """
    check_word("run", "the tag", tag)
    with written_atomically(path) as temporary, temporary.open("w", encoding="utf-8", newline="\n") as stream:
        for query_id, doc_ids in rankings.items() if isinstance(rankings, Mapping) else rankings:
            check_word("run", "query id", query_id)
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
            raise ValueError(f"{what}: {path} holds only blank lines; expected at least one line of data")


def _columns(path: PathLike, what: str, form: str) -> Iterator[tuple[Sequence[int], Sequence[Sequence[str]]]]:
    """Numbers of lines and their fields, by column: many lines at once where all are plain, else one by one."""
    width = len(form.split())
    for first, block in numbered_blocks(path, what):
        lines = block.count("\n")
        words = block.replace("\n", f" {_END} ").split()
        # Python splits text at more characters than the official tools do; nothing but ASCII without these is plain.
        plain = block.isascii() and not any(character in block for character in _NOT_PLAIN)
        if plain and len(words) == lines * (width + 1) and words[width :: width + 1] == [_END] * lines:
            yield range(first, first + lines), [words[index :: width + 1] for index in range(width)]
            continue
        for number, line in enumerate(block.split("\n"), start=first):
            fields = _FIELDS.findall(line)
            if len(fields) == width:
                yield [number], [[value] for value in fields]
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


def check_word(what: str, name: str, value: str) -> None:
    """Refuse what TREC files cannot carry: their fields are separated by white space and their lines by line ends.

    Raises:
        ValueError: a value that is empty or holds white space or control characters.
    """
    bad = next((c for c in value if c.isspace() or unicodedata.category(c) in {"Cc", "Cs"}), None)
    if bad is not None or not value:
        fault = "is empty" if not value else f"holds {shown(bad)}"
        raise ValueError(
            f"{what}: {name} {shown(value)} {fault}; TREC files separate fields by white space, so ids and tags need "
            "at least one character and no white space or control characters: rename it"
        )
