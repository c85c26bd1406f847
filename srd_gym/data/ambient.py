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
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from srd_gym.data.attach import Missing, attach_vectors
from srd_gym.data.streams import existing_folder, notice
from srd_gym.data.vectors import read_vector_parts
from srd_gym.files import PathLike
from srd_gym.reading import numbered_lines, shown
from srd_gym.topic import Topic, TopicSet

_WHAT = "AMBIENT"
_DIGITS = 9
_COLUMNS = {
    "topics.txt": ("ID", "description"),
    "subTopics.txt": ("ID", "description"),
    "results.txt": ("ID", "url", "title", "snippet"),
    "STRel.txt": ("subTopicID", "resultID"),
}

Texts = dict[str, dict[str, str]]
"""Text by id, by topic."""


def load_ambient(
    folder: PathLike, *, vectors: PathLike | None = None, missing: Missing = "error", name: str = "ambient"
) -> TopicSet:
    """The topics of a folder in AMBIENT's format.

    Args:
        folder: holds the four files (plain text, UTF-8).
        vectors: vectors by result id (any format of `srd_gym.data.vectors`); an .npz may hold those of queries and
            subtopics as well (`query_ids`, `query_vectors`, `subtopic_ids`, `subtopic_vectors`).
        missing: what to do about results (queries, subtopics) without a vector: "error" or "drop".
        name: the set's name.

    Raises:
        FileNotFoundError: no such folder, or a file is not in it.
        ValueError: a malformed line, an id twice, or an id that refers to nothing; the message gives file and line.
    """
    place = existing_folder(folder, _WHAT)
    queries: dict[str, str] = {}
    for line, (query_id, text) in _lines(place, "topics.txt"):
        if query_id in queries:
            raise ValueError(f"{line}: topic {shown(query_id)} comes twice; keep one of the lines")
        queries[query_id] = text
    subtopics = _read_texts(place, "subTopics.txt", queries)
    results = _read_texts(place, "results.txt", queries)
    covered = _read_relations(place, subtopics, results)
    empty = [query_id for query_id in queries if not results[query_id]]
    if empty:
        notice(f"{name}: {len(empty)} topics have no result and are left out: {', '.join(empty[:3])}")
    topics = TopicSet(
        (
            _topic(query_id, text, subtopics[query_id], results[query_id], covered)
            for query_id, text in queries.items()
            if results[query_id]
        ),
        name=name,
    )
    if vectors is None:
        return topics
    tables = read_vector_parts(vectors)
    return attach_vectors(
        topics, tables["document"], queries=tables.get("query"), subtopics=tables.get("subtopic"), missing=missing
    )


def _lines(folder: Path, name: str) -> Iterator[tuple[str, list[str]]]:
    """Place ("file:line") and fields of each line after the header."""
    columns = _COLUMNS[name]
    for number, line in numbered_lines(folder / name, _WHAT):
        place = f"{_WHAT}: {folder / name}:{number}"
        fields = line.split("\t")
        if len(fields) != len(columns):
            raise ValueError(
                f"{place}: expected {len(columns)} tab-separated fields ({', '.join(columns)}), got {len(fields)}: "
                f"{shown(line)}"
            )
        if number > 1:
            yield place, fields
        elif tuple(fields) != columns:
            raise ValueError(f"{place}: expected the header {', '.join(columns)}, got {shown(line)}")


def _read_texts(folder: Path, name: str, queries: dict[str, str]) -> Texts:
    """Texts of subtopics or results by id, by topic."""
    texts: Texts = {query_id: {} for query_id in queries}
    for place, (own_id, *columns) in _lines(folder, name):
        query_id, _, number = own_id.rpartition(".")
        if query_id not in texts:
            raise ValueError(f'{place}: id {shown(own_id)} must be "topic.number" with a topic of topics.txt')
        if not (number.isascii() and number.isdigit() and len(number) <= _DIGITS and int(number) > 0):
            raise ValueError(f"{place}: id {shown(own_id)} must end in a number from 1, got {shown(number)}")
        if own_id in texts[query_id]:
            raise ValueError(f"{place}: id {shown(own_id)} comes twice; keep one of the lines")
        # A result's url says where it stands, not what it is about: texts are title and snippet.
        texts[query_id][own_id] = " ".join(columns[1:]) if name == "results.txt" else columns[0]
    return texts


def _read_relations(folder: Path, subtopics: Texts, results: Texts) -> set[tuple[str, str]]:
    """Pairs (subtopic id, result id)."""
    pairs: set[tuple[str, str]] = set()
    for place, (subtopic_id, result_id) in _lines(folder, "STRel.txt"):
        query_id = subtopic_id.rpartition(".")[0]
        if subtopic_id not in subtopics.get(query_id, ()):
            raise ValueError(f"{place}: subtopic {shown(subtopic_id)} is not in subTopics.txt")
        if result_id not in results[query_id]:
            raise ValueError(
                f"{place}: result {shown(result_id)} is not in results.txt as a result of topic {shown(query_id)}"
            )
        pairs.add((subtopic_id, result_id))
    return pairs


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
