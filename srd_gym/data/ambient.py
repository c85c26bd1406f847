"""AMBIENT (Carpineto & Romano 2008), and any data set in its four-file format: tab-separated, one header line each.

=================  ==================================  ==============================================================
file               columns                             note
=================  ==================================  ==============================================================
`topics.txt`       ID, description                     the queries
`subTopics.txt`    ID, description                     id "topic.number"
`results.txt`      ID, url, title, snippet             id "topic.rank", the rank of the search engine
`STRel.txt`        subTopicID, resultID                one line for each subtopic that a result covers
=================  ==================================  ==============================================================

Ids are text: "1.1" and "1.10" are two results. A result's text is its title and snippet. Results stand in the search
engine's order; it came without scores, so `retrieval_scores` are 1 / rank. Every result is judged against every
subtopic and nothing but the results was judged, so the candidates are all there is: topics have no pool, and the ideal
ranking is the candidates'.

Files of other sets differ in details, and are read as they come: names of files and columns in any case, other names
for the columns of ids and texts, blank lines, blanks around ids, and results without a title or snippet. Whether their
numbers are ranks of a search engine is for the caller to know (`order`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal, get_args

import numpy as np

from srd_gym.checks import check_option
from srd_gym.data.attach import Missing, attach_vectors
from srd_gym.data.collection import by_bm25, by_cosine
from srd_gym.data.folders import existing_folder
from srd_gym.data.label_files import label_free_order
from srd_gym.data.notices import tell
from srd_gym.data.vectors import read_vector_parts
from srd_gym.files import PathLike
from srd_gym.reading import numbered_lines, shown
from srd_gym.topic import FloatArray, Topic, TopicSet

Order = Literal["file", "none", "bm25", "cosine"]
"""Order of the candidates. file: by the numbers in the ids of results. none: a fixed shuffle, no scores. bm25, cosine:
by the score of query and result."""

_WHAT = "AMBIENT"
_DIGITS = 9
_ID = re.compile(r"\s*\d[\d.]*\s*")
_COLUMNS = {
    "topics.txt": ("ID", "description"),
    "subTopics.txt": ("ID", "description"),
    "results.txt": ("ID", "url", "title", "snippet"),
    "STRel.txt": ("subTopicID", "resultID"),
}

Texts = dict[str, dict[str, str]]
"""Text by id, by topic."""


def load_ambient(
    folder: PathLike,
    *,
    vectors: PathLike | None = None,
    order: Order = "file",
    strict: bool = False,
    missing: Missing = "error",
) -> TopicSet:
    """The topics of a folder in AMBIENT's format.

    Args:
        folder: holds the four files (plain text, UTF-8).
        vectors: vectors by result id (any format of `srd_gym.data.vectors`); an .npz may hold those of queries and
            subtopics as well (`query_ids`, `query_vectors`, `subtopic_ids`, `subtopic_vectors`).
        order: of the candidates: "file" where the numbers of the results are a search engine's ranks; "none" where they
            are not; "bm25" or "cosine" (needs vectors of results and queries) for an order of ours.
        strict: refuse a relation of a subtopic with a result that its topic does not have; else such relations are left
            out, with a `DataNotice`.
        missing: what to do about results (queries, subtopics) without a vector: "error" or "drop".

    Raises:
        FileNotFoundError: no such folder, or a file is not in it.
        ImportError: order "bm25", and bm25s is not installed.
        ValueError: a malformed line, an id twice, or an id that refers to nothing; the message gives file and line. No
            vectors of what order "cosine" needs.
    """
    check_option("order", order, get_args(Order))
    if order == "cosine" and vectors is None:
        raise ValueError("an order by cosine needs vectors of results and queries; give an .npz that holds them")
    place = existing_folder(folder, _WHAT)
    queries: dict[str, str] = {}
    for line, (given, text) in _lines(place, "topics.txt"):
        query_id = given.strip()
        if not query_id or query_id in queries:
            raise ValueError(f"{line}: topic {shown(query_id)} is duplicated, or has no id; each needs one of its own")
        queries[query_id] = text
    subtopics = _read_texts(place, "subTopics.txt", queries)
    results = _read_texts(place, "results.txt", queries)
    covered = _read_relations(place, subtopics, results, strict)
    empty = [query_id for query_id in queries if not results[query_id]]
    tell(place, "topics have no result and are left out", empty)
    topics = TopicSet(
        (
            _topic(query_id, text, subtopics[query_id], results[query_id], covered)
            for query_id, text in queries.items()
            if results[query_id]
        ),
        name="ambient",
    )
    if vectors is not None:
        tables = read_vector_parts(vectors)
        topics = attach_vectors(
            topics, tables["document"], queries=tables.get("query"), subtopics=tables.get("subtopic"), missing=missing
        )
    return topics if order == "file" else _reordered(topics, order)


def _lines(folder: Path, name: str) -> Iterator[tuple[str, list[str]]]:
    """Place ("file:line") and fields of each line after the header, as the columns stand in AMBIENT."""
    columns, places, width = _COLUMNS[name], None, 0
    path = next((path for path in sorted(folder.iterdir()) if path.name.lower() == name.lower()), folder / name)
    for number, line in numbered_lines(folder / name if (folder / name).exists() else path, _WHAT):
        if not line.strip():
            continue
        place = f"{_WHAT}: {path}:{number}"
        fields = line.split("\t")
        if places is None:
            places = _header(fields, columns, place, line)
            width = max(len(columns), max(places) + 1)
            continue
        while len(fields) > width and not fields[-1].strip():
            fields.pop()
        if name == "results.txt" and 1 < len(fields) < width:
            fields += [""] * (width - len(fields))
        if len(fields) != width:
            raise ValueError(
                f"{place}: expected {width} tab-separated fields ({', '.join(columns)}), got {len(fields)}: "
                f"{shown(line)}"
            )
        yield place, [fields[i] for i in places]


def _header(fields: list[str], columns: tuple[str, ...], place: str, line: str) -> list[int]:
    """Places of AMBIENT's columns among those of a file: by their names, else in their order."""
    names = [field.strip().lower() for field in fields]
    wanted = [column.lower() for column in columns]
    if set(wanted) <= set(names):
        return [names.index(column) for column in wanted]
    if len(fields) != len(columns) or _ID.fullmatch(fields[0]):
        raise ValueError(f"{place}: expected the header {', '.join(columns)}, got {shown(line)}")
    return list(range(len(columns)))


def _read_texts(folder: Path, name: str, queries: dict[str, str]) -> Texts:
    """Texts of subtopics or results by id, by topic."""
    texts: Texts = {query_id: {} for query_id in queries}
    for place, (given, *columns) in _lines(folder, name):
        own_id = given.strip()
        query_id, _, number = own_id.rpartition(".")
        if query_id not in texts:
            raise ValueError(f'{place}: id {shown(own_id)} must be "topic.number" with a topic of topics.txt')
        if not (number.isascii() and number.isdigit() and len(number) <= _DIGITS and int(number) > 0):
            raise ValueError(f"{place}: id {shown(own_id)} must end in a number from 1, got {shown(number)}")
        if own_id in texts[query_id]:
            raise ValueError(f"{place}: id {shown(own_id)} is duplicated; keep one of the lines")
        # A result's url says where it stands, not what it is about: texts are title and snippet.
        texts[query_id][own_id] = " ".join(columns[1:]) if name == "results.txt" else columns[0]
    return texts


def _read_relations(folder: Path, subtopics: Texts, results: Texts, strict: bool) -> set[tuple[str, str]]:
    """Pairs (subtopic id, result id)."""
    pairs: set[tuple[str, str]] = set()
    elsewhere = []
    for place, fields in _lines(folder, "STRel.txt"):
        subtopic_id, result_id = (field.strip() for field in fields)
        query_id = subtopic_id.rpartition(".")[0]
        if subtopic_id not in subtopics.get(query_id, ()):
            raise ValueError(f"{place}: subtopic {shown(subtopic_id)} is not in subTopics.txt")
        if result_id in results[query_id]:
            pairs.add((subtopic_id, result_id))
            continue
        if strict:
            what = f"result {shown(result_id)} is not in results.txt as a result of topic {shown(query_id)}"
            raise ValueError(f"{place}: {what}")
        elsewhere.append(f"{result_id} of topic {query_id}")
    tell(folder, "relations point at no result of their topic and are left out", elsewhere)
    return pairs


def _reordered(topics: TopicSet, order: Order) -> TopicSet:
    """The topics in an order that the numbers of their results do not decide, not even between equal scores."""
    shuffled = []
    for topic in topics:
        rows = [topic.doc_ids.index(doc_id) for doc_id in label_free_order(topic.query_id, topic.doc_ids)]
        shuffled.append(replace(topic.take(rows), retrieval_scores=None))
    if order == "none":
        return topics.replace(shuffled)
    scores = _bm25(shuffled) if order == "bm25" else [_cosines(topic) for topic in shuffled]
    best = [np.argsort(-own, kind="stable") for own in scores]
    return topics.replace(
        replace(topic.take(rows), retrieval_scores=own[rows])
        for topic, own, rows in zip(shuffled, scores, best, strict=True)
    )


def _bm25(topics: Sequence[Topic]) -> list[FloatArray]:
    """[N] of each query and its results, frequencies of words taken from all results; 0 without a common word."""
    stage = by_bm25([text for topic in topics for text in topic.doc_texts or ()])
    ends = np.cumsum([topic.n_candidates for topic in topics])
    return [
        np.maximum(stage(topic.query_text or "", None)[end - topic.n_candidates : end], 0)
        for topic, end in zip(topics, ends, strict=True)
    ]


def _cosines(topic: Topic) -> FloatArray:
    """[N] of the query and the results."""
    if topic.query_vector is None or not topic.query_vector.any():
        raise ValueError(
            f"{_WHAT}: topic {shown(topic.query_id)} has no query vector, which an order by cosine needs; give an .npz "
            "with query_ids and query_vectors, or take order bm25"
        )
    return by_cosine(topic.require_vectors("an order by cosine"))("", topic.query_vector)


def _topic(
    query_id: str, text: str, subtopics: dict[str, str], results: dict[str, str], covered: set[tuple[str, str]]
) -> Topic:
    """One topic, results by the rank in their id."""
    ranks = {result_id: int(result_id.rpartition(".")[2]) for result_id in results}
    doc_ids = sorted(ranks, key=ranks.__getitem__)
    judgments = np.array([[(s, d) in covered for s in subtopics] for d in doc_ids], dtype=np.int8)
    return Topic(
        query_id=query_id,
        query_text=text,
        doc_ids=tuple(doc_ids),
        doc_texts=tuple(results[d] for d in doc_ids),
        retrieval_scores=np.array([1 / ranks[d] for d in doc_ids], dtype=np.float32),
        subtopic_ids=tuple(subtopics),
        subtopic_texts=tuple(subtopics.values()),
        judgments=judgments.reshape(len(doc_ids), len(subtopics)),
    )
