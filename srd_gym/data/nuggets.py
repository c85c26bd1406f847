"""Nuggets are subtopics: judgments of which passages support which facts, as topics with diversity judgments.

Files are JSON lines, plain or gzip. What a line is shows by its keys, so that files of several kinds may be parts of
one whole:

==============  ================================================================================  ==========
format          a line                                                                            grades
==============  ================================================================================  ==========
nuggetizer      `qid`, `docid`, `text` or `query`, `nuggets`: [{`text`, `importance`,             support 2,
(TREC RAG)      `assignment`}], perhaps `candidate_text`: one line per judged passage             partial 1
FreshStack      `query_id`, `query_title`, `query_text`, `nuggets`: [{`_id`, `text`,              relevant 1
                `relevant_corpus_ids`, `non_relevant_corpus_ids`}]: one line per query
CRUX            `id`, `docid`, `rating` [S]; beside it lines `id`, `request` and `id`,            0 to 5
                `subquestions` [S] (older files: `example_id`, `pid`)
==============  ================================================================================  ==========

Sources: castorini/nuggetizer (Pradeep et al., arXiv 2411.09607), fresh-stack/freshstack (arXiv 2504.13128) and
DylanJoo/crux; CRUX ratings are those of a language model (LANCER, Ju et al., ECIR 2026).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np

from srd_gym.checks import check_integer, check_option
from srd_gym.data.attach import Missing, attach_files
from srd_gym.data.folders import JsonLine, json_lines
from srd_gym.data.label_files import label_free_order
from srd_gym.data.notices import tell
from srd_gym.data.trec import judged_fields, with_texts
from srd_gym.files import PathLike
from srd_gym.reading import few, shown
from srd_gym.topic import Topic, TopicSet
from srd_gym.trec_files import TopicQrels, read_run
from srd_gym.trec_lines import Paths, path_list

WHAT = "nuggets"
THRESHOLDS: Mapping[str, int] = {"nuggetizer": 2, "FreshStack": 1, "CRUX": 3}
"""The least grade that counts, by format: full support, relevance, and the tau of CRUX."""
_ASSIGNED: Mapping[str, int] = {"support": 2, "partial_support": 1, "not_support": 0, "failed": 0}
_IMPORTANCE = ("vital", "okay", "failed")
_EXPECTED = (
    'expected a passage of nuggetizer ("qid", "docid", "nuggets"), a query of FreshStack ("query_id", "nuggets") or a '
    'line of CRUX ("id" with "request", "subquestions", or "docid" and "rating")'
)


Odd = dict[str, list[str]]
"""Documents with odd judgments, by what is odd: for notices."""


@dataclass(slots=True)
class _Query:
    """One query's content in the files."""

    query_id: str
    kind: str
    """Its format."""
    text: str | None = None
    nuggets: dict[str, str] = field(default_factory=dict)
    """Texts by id."""
    vital: set[str] = field(default_factory=set)
    """Ids of the vital nuggets."""
    grades: dict[str, dict[str, int]] = field(default_factory=dict)
    """By document, then nugget; 0 where a nugget lacks."""
    texts: dict[str, str] = field(default_factory=dict)
    """Texts of documents, by id."""
    ratings: int | None = None
    """Ratings in each line of CRUX."""

    def judge(self, doc_id: str, line: JsonLine) -> dict[str, int]:
        """The grades of a passage, yet to be filled.

        Raises:
            ValueError: it has some already.
        """
        if doc_id in self.grades:
            raise line.fault(f"each passage of query {shown(self.query_id)} once", doc_id)
        return self.grades.setdefault(doc_id, {})


def _optional(line: JsonLine, key: str) -> str | None:
    """The text under a key, where there is one."""
    value = line.values.get(key)
    if not isinstance(value, str | None):
        raise line.fault(f"text under {shown(key)}", value)
    return value


def _list_of(kind: type[object], line: JsonLine, key: str) -> list[Any]:
    """The list under a key, whose entries are of one kind."""
    value = line.values.get(key)
    if not isinstance(value, list) or not all(type(each) is kind for each in value):
        names = {str: "texts", dict: "objects", int: "whole numbers"}
        raise line.fault(f"a list of {names[kind]} under {shown(key)}", value)
    return value


def _nuggets(line: JsonLine) -> list[JsonLine]:
    """The entries of "nuggets", as lines of their own."""
    listed = enumerate(_list_of(dict, line, "nuggets"), start=1)
    return [JsonLine(f"{line.place}, nugget {number}", entry) for number, entry in listed]


def load_nuggets(
    paths: Paths,
    *,
    run: Paths | None = None,
    threshold: int | None = None,
    importance: Literal["all", "vital"] = "all",
    texts: Paths | None = None,
    vectors: PathLike | None = None,
    query_vectors: PathLike | None = None,
    missing: Missing = "error",
    name: str = "nuggets",
) -> TopicSet:
    """A topic set whose subtopics are nuggets, from files of one format or several.

    The pool is every judged passage. A `DataNotice` reports input problems: assignments and ratings that failed (they
    count 0), CRUX's reports among the passages and queries without a judged passage (left out).

    Args:
        paths: the files.
        run: TREC runs, whose documents are the candidates; None: the judged passages are, in a fixed shuffle.
        threshold: the least grade that counts; lower ones become 0, others stay as they are, so that measures with
            `rel=` can be stricter. None: that of the format (`THRESHOLDS`). 1 keeps partial support.
        importance: "vital": only nuggets that nuggetizer's files call vital.
        texts: documents' texts, as for `load_trec`; nuggetizer's `candidate_text` needs none.
        vectors: vectors by document id.
        query_vectors: vectors by query id or by query text.
        missing: as for `load_trec`.
        name: the set's name.

    Raises:
        FileNotFoundError: no such file.
        ValueError: a line that is none of these; file, line and what was expected are named.
    """
    check_option("importance", importance, ("all", "vital"))
    if threshold is not None:
        check_integer("threshold", threshold, 1, 5)
    queries = _read(paths)
    judged = {query_id: _judged(query, threshold, importance) for query_id, query in queries.items() if query.grades}
    tell(name, "queries have no judged passage and are left out", [q for q in queries if q not in judged])
    ranked = None if run is None else read_run(run)
    if ranked is not None:
        unranked = [query_id for query_id in judged if query_id not in ranked.rankings]
        tell(name, "topics have no ranking in the run and are left out", unranked)
        judged = {query_id: rows for query_id, rows in judged.items() if query_id in ranked.rankings}
    topics = []
    for query_id, rows in judged.items():
        query, scores = queries[query_id], None if ranked is None else ranked.scores[query_id]
        doc_ids = label_free_order(query_id, rows.doc_ids) if ranked is None else ranked.rankings[query_id]
        fields = judged_fields(rows, doc_ids, {nugget: query.nuggets[nugget] for nugget in rows.subtopic_ids})
        if texts is None and query.texts:
            fields["doc_texts"] = tuple(query.texts.get(doc_id, "") for doc_id in doc_ids)
        fields["retrieval_scores"] = scores
        topics.append(Topic(query_id=query_id, query_text=query.text, doc_ids=doc_ids, **fields))
    loaded = TopicSet(topics, name=name)
    return attach_files(loaded if texts is None else with_texts(loaded, texts), vectors, query_vectors, missing)


def _judged(query: _Query, threshold: int | None, importance: str) -> TopicQrels:
    """The judgments of a query."""
    least = THRESHOLDS[query.kind] if threshold is None else threshold
    chosen = [nugget for nugget in query.nuggets if importance == "all" or nugget in query.vital]
    grades = [[rows.get(nugget, 0) for nugget in chosen] for rows in query.grades.values()]
    table = np.array(grades, dtype=np.int8).reshape(len(grades), len(chosen))
    return TopicQrels(
        doc_ids=tuple(query.grades), subtopic_ids=tuple(chosen), judgments=np.where(table >= least, table, np.int8(0))
    )


def _read(paths: Paths) -> dict[str, _Query]:
    """Content of all files, by query id in order of first mention.

    Raises:
        ValueError: a line that is none of ours, or what `_check_whole` refuses.
    """
    queries: dict[str, _Query] = {}
    odd: Odd = {"assignments": [], "ratings": [], "reports": []}
    files = path_list(paths, WHAT)
    for path in files:
        for line in json_lines(path, WHAT):
            kind, reader = _format_of(line)
            query_id = line.text(*(("id", "example_id") if kind == "CRUX" else ("qid", "query_id")))
            query = queries.setdefault(query_id, _Query(query_id, kind))
            if query.kind != kind:
                raise ValueError(
                    f"{line.place}: query {shown(query_id)} comes in the format of {kind} here and of {query.kind} "
                    "before; give the files of one format at a time"
                )
            reader(query, line, odd)
    where = few([Path(path).name for path in files])
    tell(where, "assignments failed and count as no support, of", odd["assignments"])
    tell(where, "ratings could not be read by their makers (-1) and count 0, of", odd["ratings"])
    tell(where, "passages are the report itself and are left out", odd["reports"])
    _check_whole(queries, few([str(path) for path in files]))
    return queries


def _format_of(line: JsonLine) -> tuple[str, Callable[[_Query, JsonLine, Odd], None]]:
    """The format of a line, and its reader."""
    keys = line.values.keys()
    if "nuggets" in keys and "qid" in keys:
        if "docid" not in keys:
            what = "judges an answer, not passages" if "run_id" in keys else "judges no passage"
            raise ValueError(
                f'{line.place}: the line {what} (it has no "docid"); expected assignments of passages, as only '
                "those say which document supports which nugget"
            )
        return "nuggetizer", _nuggetizer
    if "nuggets" in keys and "query_id" in keys:
        return "FreshStack", _freshstack
    if keys & {"id", "example_id"} and keys & {"rating", "subquestions", "request"}:
        return "CRUX", _crux
    raise ValueError(f"{line.place}: {_EXPECTED}, got an object with {few(sorted(keys), 6) or 'nothing'}")


def _set_text(query: _Query, text: str, line: JsonLine) -> None:
    """Take over the query's text; the same everywhere."""
    if query.text not in (None, text):
        raise line.fault(f"the query's text as before, {shown(query.text)}", text)
    query.text = text


def _nuggetizer(query: _Query, line: JsonLine, odd: Odd) -> None:
    """A passage and how far it supports each nugget."""
    doc_id = line.text("docid")
    _set_text(query, line.text("query", "text"), line)
    rows = query.judge(doc_id, line)
    by_text = {text: nugget for nugget, text in query.nuggets.items()}
    for each in _nuggets(line):
        text, assignment = each.text("text"), each.values.get("assignment")
        if not isinstance(assignment, str) or assignment not in _ASSIGNED:
            raise each.fault(f'"assignment" to be one of {", ".join(_ASSIGNED)}', assignment)
        importance = each.values.get("importance", "okay")
        if importance not in _IMPORTANCE:
            raise each.fault(f'"importance" to be one of {", ".join(_IMPORTANCE)}', importance)
        nugget = by_text.setdefault(text, str(len(by_text) + 1))
        if nugget in rows:
            raise each.fault("each nugget of a passage once", text)
        query.nuggets[nugget], rows[nugget] = text, _ASSIGNED[assignment]
        query.vital |= {nugget} if importance == "vital" else set()
        odd["assignments"] += [doc_id] * (assignment == "failed")
    if (passage := _optional(line, "candidate_text")) is not None:
        query.texts[doc_id] = passage


def _freshstack(query: _Query, line: JsonLine, odd: Odd) -> None:
    """A query with its nuggets and the documents that were judged for each."""
    if query.text is not None:
        raise line.fault("each query once", query.query_id)
    parts = [part.strip() for part in (_optional(line, "query_title") or "", line.text("query_text"))]
    query.text = "\n".join(part for part in parts if part)
    for each in _nuggets(line):
        nugget = each.text("_id")
        if nugget in query.nuggets:
            raise each.fault("each nugget once", nugget)
        query.nuggets[nugget] = each.text("text")
        relevant = _list_of(str, each, "relevant_corpus_ids")
        for doc_id in _list_of(str, each, "non_relevant_corpus_ids"):
            query.grades.setdefault(doc_id, {})
            if doc_id in relevant:
                raise each.fault("each document to be relevant or non-relevant", doc_id)
        for doc_id in relevant:
            query.grades.setdefault(doc_id, {})[nugget] = 1


def _crux(query: _Query, line: JsonLine, odd: Odd) -> None:
    """A request, its questions, or the ratings of a passage by question."""
    if "request" in line.values:
        _set_text(query, line.text("request"), line)
    if "subquestions" in line.values:
        questions = _list_of(str, line, "subquestions")
        if query.nuggets:
            raise line.fault("the questions of a query once", query.query_id)
        query.nuggets = {str(number): text for number, text in enumerate(questions, start=1)}
    if "rating" not in line.values:
        return
    doc_id, ratings = line.text("docid", "pid"), _list_of(int, line, "rating")
    wrong = next((rating for rating in ratings if rating not in range(-1, 6)), None)
    if wrong is not None:
        raise line.fault("ratings from 0 to 5, or -1 where there is none", wrong)
    if query.ratings not in (None, len(ratings)):
        raise line.fault(f"{query.ratings} ratings, as of the passages before", ratings)
    query.ratings = len(ratings)
    if doc_id == f"{query.query_id}:report":
        odd["reports"].append(doc_id)
        return
    odd["ratings"] += [doc_id] * ratings.count(-1)
    graded = {str(number): max(0, rating) for number, rating in enumerate(ratings, start=1)}
    query.judge(doc_id, line).update(graded)


def _check_whole(queries: Mapping[str, _Query], files: str) -> None:
    """Refuse queries whose questions and ratings do not fit, and files without any judged passage."""
    for query_id, query in queries.items():
        if query.ratings is None:
            continue
        if not query.nuggets:
            query.nuggets = {str(number): "" for number in range(1, query.ratings + 1)}
        if len(query.nuggets) != query.ratings:
            raise ValueError(
                f"{WHAT}: {files}: query {shown(query_id)} has {len(query.nuggets)} subquestions and {query.ratings} "
                "ratings per passage; expected as many"
            )
    if not any(query.grades for query in queries.values()):
        raise ValueError(f"{WHAT}: {files}: no passage is judged; {_EXPECTED}")
