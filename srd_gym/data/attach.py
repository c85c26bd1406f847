"""Bringing topics and vectors together: by id, from a table or a file, or by embedding their texts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from srd_gym.checks import check_option
from srd_gym.data.notices import notice
from srd_gym.data.vectors import VectorTable, parts_of, read_vectors
from srd_gym.files import PathLike
from srd_gym.reading import few, shown
from srd_gym.topic import FloatArray, Topic, TopicSet, as_topic_set
from srd_gym.topic_fields import VECTORS

Missing = Literal["error", "drop"]
Embedding = Callable[[Sequence[str]], FloatArray]
"""Turns n texts into [n, F] float32."""


def attach_vectors(
    topics: TopicSet | Iterable[Topic],
    documents: VectorTable | None = None,
    *,
    queries: VectorTable | None = None,
    subtopics: VectorTable | None = None,
    missing: Missing = "error",
) -> TopicSet:
    """The topics with vectors from tables.

    Documents are looked up by id; queries by query id, then by query text; subtopics by "query id.subtopic id", by
    subtopic id where it begins with "query id.", then by text. A kind without a table is left as it was.

    Args:
        topics: the topics.
        documents: vectors of documents; all tables have one width.
        queries: vectors of queries.
        subtopics: vectors of subtopics.
        missing: "error" stops at missing vectors. "drop" leaves the documents out, then topics without any document
            left, sets a missing query vector (or, where one of a topic's subtopics misses, its subtopic vectors) to
            None, and says how many in a `DataNotice`.

    Raises:
        ValueError: missing vectors (which, how many, what to do), vectors of different widths, no vector for any
            document, or an unknown value of `missing`.
    """
    check_option("way to treat missing vectors", missing, ("error", "drop"))
    topics = as_topic_set(topics)
    tables = {"documents": documents, "queries": queries, "subtopics": subtopics}
    lacking: dict[str, list[str]] = {kind: [] for kind in tables}
    attached = []
    for topic in topics:
        changes = _query_and_subtopics(topic, queries, subtopics, lacking)
        if documents is not None:
            absent = [doc_id for doc_id in topic.doc_ids if doc_id not in documents]
            lacking["documents"] += [f"{shown(doc_id)} of topic {shown(topic.query_id)}" for doc_id in absent]
            if len(absent) == topic.n_candidates:
                continue
            topic = topic.take(i for i, doc_id in enumerate(topic.doc_ids) if doc_id in documents)
            changes["doc_vectors"] = documents.rows(topic.doc_ids)
        _check_widths(topic, changes, [table.source for table in tables.values() if table is not None])
        attached.append(replace(topic, **changes))  # type: ignore[arg-type]  # mypy takes ** for every field
    marks = {} if documents is None else {"simulated": False, "encoder": documents.encoder}
    with_vectors = topics.replace(attached, **marks)
    _report(topics, with_vectors, tables, lacking, missing)
    return with_vectors


def embed_topics(
    topics: TopicSet | Iterable[Topic],
    embed: Embedding,
    *,
    transductive: bool | None = None,
    encoder: str | None = None,
) -> TopicSet:
    """The topics with vectors of their texts: documents, and queries and subtopics where they have texts.

    An empty text (a document that is not in the corpus, a subtopic that only the judges know) has a vector of zeros.

    Args:
        topics: topics with `doc_texts`.
        embed: turns texts into vectors, e.g. `LsaVectorizer.transform`.
        transductive: marks the result; None keeps the set's mark.
        encoder: what `embed` is, for `TopicSet.encoder`.

    Raises:
        ValueError: a topic without document texts.
    """
    topics = as_topic_set(topics)

    def embedded(topic: Topic) -> Topic:
        query = () if topic.query_text is None else (topic.query_text,)
        subtopics = topic.subtopic_texts or ()
        vectors = _embedded(embed, [*doc_texts(topic, topics), *query, *subtopics])
        n, q = topic.n_candidates, len(query)
        return replace(
            topic,
            doc_vectors=vectors[:n],
            query_vector=vectors[n] if q else None,
            subtopic_vectors=None if topic.subtopic_texts is None else vectors[n + q :],
        )

    mark = topics.transductive if transductive is None else transductive
    made = [embedded(topic) for topic in topics]
    return topics.replace(made, transductive=mark, simulated=False, encoder=encoder)


def _embedded(embed: Embedding, texts: Sequence[str]) -> FloatArray:
    """Vectors of texts, zeros of those that are empty: [len(texts), F]."""
    filled = [row for row, text in enumerate(texts) if text.strip()]
    if len(filled) in (0, len(texts)):
        return embed(texts)
    some = embed([texts[row] for row in filled])
    vectors = np.zeros((len(texts), some.shape[1]), dtype=some.dtype)
    vectors[filled] = some
    return vectors


def doc_texts(topic: Topic, topics: TopicSet) -> tuple[str, ...]:
    """The texts of a topic's documents.

    Raises:
        ValueError: there are none.
    """
    if topic.doc_texts is None:
        raise ValueError(
            f"topic {shown(topic.query_id)} of {shown(topics.name)} has no document texts to make vectors of; give "
            "vectors by document id instead (--vectors FILE)"
        )
    return topic.doc_texts


def _check_widths(topic: Topic, changes: Mapping[str, FloatArray | None], sources: Sequence[str]) -> None:
    """Vectors that are new and those that stay have one width."""
    given = {name: changes.get(name, getattr(topic, name)) for name in VECTORS}
    widths = {name: array.shape[-1] for name, array in given.items() if array is not None}
    if len(set(widths.values())) > 1:
        raise ValueError(
            f"{', '.join(sources)}: topic {shown(topic.query_id)} has vectors of different widths ({widths}); "
            "documents, queries and subtopics need vectors of one space: give all of them by one model "
            "(--query-vectors, subtopics=)"
        )


def _query_and_subtopics(
    topic: Topic, queries: VectorTable | None, subtopics: VectorTable | None, lacking: dict[str, list[str]]
) -> dict[str, FloatArray | None]:
    """New query and subtopic vectors of a topic, for the tables that are given."""
    changes: dict[str, FloatArray | None] = {}
    if queries is not None:
        key = next((k for k in (topic.query_id, topic.query_text) if k is not None and k in queries), None)
        changes["query_vector"] = None if key is None else queries.rows([key])[0]
        lacking["queries"] += [shown(topic.query_id)] * (key is None)
    if subtopics is not None:
        keys = [next((k for k in keys if k in subtopics), None) for keys in _subtopic_keys(topic)]
        present = [key for key in keys if key is not None]
        changes["subtopic_vectors"] = subtopics.rows(present) if len(present) == len(keys) else None
        absent = (s for s, key in zip(topic.subtopic_ids, keys, strict=True) if key is None)
        lacking["subtopics"] += [f"{shown(s)} of topic {shown(topic.query_id)}" for s in absent]
    return changes


def _subtopic_keys(topic: Topic) -> Iterator[list[str]]:
    """Names under which each subtopic's vector may stand."""
    for i, subtopic_id in enumerate(topic.subtopic_ids):
        keys = [f"{topic.query_id}\t{subtopic_id}", f"{topic.query_id}.{subtopic_id}"]
        if subtopic_id.startswith(f"{topic.query_id}."):
            keys.append(subtopic_id)
        if topic.subtopic_texts is not None:
            keys.append(topic.subtopic_texts[i])
        yield keys


def _report(
    topics: TopicSet,
    attached: TopicSet,
    tables: Mapping[str, VectorTable | None],
    lacking: Mapping[str, list[str]],
    missing: Missing,
) -> None:
    """Raise for missing vectors, or tell what was left out."""
    asked = {"documents": sum(topic.n_candidates for topic in topics), "queries": len(topics)}
    asked["subtopics"] = sum(topic.n_subtopics for topic in topics)
    lacks = "; for ".join(
        f"{len(lacking[kind])} of {asked[kind]} {kind} ({few(lacking[kind])}; {table.source})"
        for kind, table in tables.items()
        if table is not None and lacking[kind]
    )
    if not lacks:
        return
    if missing == "error":
        raise ValueError(
            f"{topics.name}: no vector for {lacks}. Give a file that holds them all, or leave out those without one: "
            'missing="drop" (--missing drop)'
        )
    if not len(attached):
        raise ValueError(f"{topics.name}: no vector for {lacks}. Give the file that belongs to these topics")
    left = set(attached.query_ids)
    emptied = [shown(query_id) for query_id in topics.query_ids if query_id not in left]
    names = f": {few(emptied)}" if emptied else ""
    notice(
        f"{topics.name}: no vector for {lacks}: left out, and with them {len(emptied)} topics that have no document "
        f"left{names}"
    )


def attach_files(topics: TopicSet, documents: PathLike | None, queries: PathLike | None, missing: Missing) -> TopicSet:
    """The topics with vectors from files; None leaves a kind as it was.

    Args:
        topics: the topics.
        documents: vectors by document id, in any format of `read_vectors`. An .npz may hold those of queries, taken
            where no other file is given, and of subtopics; a subtopic without a text has a vector of zeros then.
        queries: vectors by query id or by query text, likewise.
        missing: as for `attach_vectors`.

    Raises:
        FileNotFoundError, ValueError: as `read_vectors` and `attach_vectors`.
    """
    wanted = {doc_id for topic in topics for doc_id in topic.doc_ids}
    asked = {*topics.query_ids, *(topic.query_text for topic in topics if topic.query_text is not None)}
    parts = () if documents is None else parts_of(documents)
    queries = documents if queries is None and "query" in parts else queries
    attached = attach_vectors(
        topics,
        None if documents is None else read_vectors(documents, only=wanted),
        queries=None if queries is None else read_vectors(queries, only=asked, part="query"),
        missing=missing,
    )
    if documents is None or "subtopic" not in parts or not any(topic.subtopic_texts for topic in attached):
        return attached
    return attach_vectors(attached, subtopics=_named_only(documents, attached), missing="drop")


def _named_only(path: PathLike, topics: TopicSet) -> VectorTable:
    """Vectors of subtopics by "query id<TAB>subtopic id", zeros for those without a text."""
    table = read_vectors(path, part="subtopic")
    texts = ((topic.query_id, zip(topic.subtopic_ids, topic.subtopic_texts or (), strict=False)) for topic in topics)
    blank = [f"{query_id}\t{name}" for query_id, own in texts for name, text in own if not text]
    blank = [name for name in blank if name not in table and name.replace("\t", ".", 1) not in table]
    zeros = np.zeros((len(blank), table.width), dtype=np.float32)
    vectors = np.concatenate([table.vectors, zeros])
    return VectorTable([*table.ids, *blank], vectors, source=table.source, encoder=table.encoder)
