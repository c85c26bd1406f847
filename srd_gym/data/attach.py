"""Bringing topics and vectors together: by id, from a table or a file, or by embedding their texts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from srd_gym.checks import check_option
from srd_gym.data.streams import few, notice
from srd_gym.data.vectors import VectorTable, read_vectors
from srd_gym.files import PathLike
from srd_gym.reading import shown
from srd_gym.topic import FloatArray, Topic, TopicSet

Missing = Literal["error", "drop"]
Embedding = Callable[[Sequence[str]], FloatArray]
"""Turns n texts into [n, F] float32."""


@dataclass(slots=True)
class _Gaps:
    """What has no vector, as errors name it, with the table that lacks it."""

    found: dict[str, tuple[VectorTable, list[str]]] = field(default_factory=dict)
    """"documents", "queries" or "subtopics" -> (table, what it lacks)."""
    emptied: list[str] = field(default_factory=list)
    """Query ids of topics without any document left."""

    def add(self, kind: str, table: VectorTable, names: Iterable[str]) -> None:
        """Note what a table lacks."""
        if lacking := list(names):
            self.found.setdefault(kind, (table, []))[1].extend(lacking)


def attach_vectors(
    topics: TopicSet,
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
        ValueError: missing vectors (which, how many, what to do), tables of different widths, vectors that stay of
            another width, no vector for any document, or an unknown value of `missing`.
    """
    check_option("way to treat missing vectors", missing, ("error", "drop"))
    _check_widths([table for table in (documents, queries, subtopics) if table is not None and len(table)])
    gaps = _Gaps()
    attached = []
    for topic in topics:
        kept = topic if documents is None else _present(topic, documents, gaps)
        changes = _query_and_subtopics(topic, queries, subtopics, gaps)
        if kept is not None:
            if documents is not None:
                _check_kept(kept, changes, documents)
                changes["doc_vectors"] = documents.rows(kept.doc_ids)
            attached.append(replace(kept, **changes))  # type: ignore[arg-type]  # mypy takes ** for every field
    if documents is not None:
        _check_documents(topics, documents, gaps)
    _report(topics, gaps, missing)
    return topics.replace(attached, **({} if documents is None else {"simulated": False}))


def embed_topics(topics: TopicSet, embed: Embedding, *, transductive: bool | None = None) -> TopicSet:
    """The topics with vectors of their texts: documents, and queries and subtopics where they have texts.

    Args:
        topics: topics with `doc_texts`.
        embed: turns texts into vectors, e.g. `LsaVectorizer.transform`.
        transductive: marks the result; None keeps the set's mark.

    Raises:
        ValueError: a topic without document texts.
    """

    def embedded(topic: Topic) -> Topic:
        query = () if topic.query_text is None else (topic.query_text,)
        subtopics = topic.subtopic_texts or ()
        vectors = embed([*doc_texts(topic, topics), *query, *subtopics])
        n, q = topic.n_candidates, len(query)
        return replace(
            topic,
            doc_vectors=vectors[:n],
            query_vector=vectors[n] if q else None,
            subtopic_vectors=None if topic.subtopic_texts is None else vectors[n + q :],
        )

    mark = topics.transductive if transductive is None else transductive
    return topics.replace([embedded(topic) for topic in topics], transductive=mark, simulated=False)


def doc_texts(topic: Topic, topics: TopicSet) -> tuple[str, ...]:
    """The texts of a topic's documents.

    Raises:
        ValueError: there are none.
    """
    if topic.doc_texts is None:
        raise ValueError(
            f"topic {topic.query_id!r} of {topics.name!r} has no document texts to make vectors of; give vectors "
            "by document id instead (--vectors FILE)"
        )
    return topic.doc_texts


def _check_widths(tables: list[VectorTable]) -> None:
    """All tables have one width."""
    for table in tables[1:]:
        if table.width != tables[0].width:
            raise ValueError(
                f"vectors of {tables[0].source} have width {tables[0].width}, those of {table.source} width "
                f"{table.width}; documents, queries and subtopics need vectors of one space"
            )


def _check_kept(topic: Topic, changes: Mapping[str, object], documents: VectorTable) -> None:
    """Query and subtopic vectors that stay have the new documents' width."""
    for name, advice in (("query_vector", "queries=, --query-vectors"), ("subtopic_vectors", "subtopics=")):
        kept = None if name in changes else getattr(topic, name)
        if kept is not None and kept.shape[-1] != documents.width:
            raise ValueError(
                f"topic {topic.query_id!r}: its {name} has width {kept.shape[-1]}, vectors of {documents.source} have "
                f"width {documents.width}; give it by the same model, too ({advice})"
            )


def _present(topic: Topic, documents: VectorTable, gaps: _Gaps) -> Topic | None:
    """The topic with those of its documents that have vectors; None where none has."""
    present = [i for i, doc_id in enumerate(topic.doc_ids) if doc_id in documents]
    absent = (doc_id for doc_id in topic.doc_ids if doc_id not in documents)
    gaps.add("documents", documents, (f"{shown(doc_id)} of topic {shown(topic.query_id)}" for doc_id in absent))
    if not present:
        gaps.emptied.append(shown(topic.query_id))
        return None
    return topic if len(present) == topic.n_candidates else topic.take(present)


def _query_and_subtopics(
    topic: Topic, queries: VectorTable | None, subtopics: VectorTable | None, gaps: _Gaps
) -> dict[str, FloatArray | None]:
    """New query and subtopic vectors of a topic, for the tables that are given."""
    changes: dict[str, FloatArray | None] = {}
    if queries is not None:
        key = next((k for k in (topic.query_id, topic.query_text) if k is not None and k in queries), None)
        changes["query_vector"] = None if key is None else queries.rows([key])[0]
        gaps.add("queries", queries, [shown(topic.query_id)] * (key is None))
    if subtopics is not None:
        keys = [next((k for k in keys if k in subtopics), None) for keys in _subtopic_keys(topic)]
        found = [key for key in keys if key is not None]
        changes["subtopic_vectors"] = subtopics.rows(found) if len(found) == len(keys) else None
        absent = (s for s, key in zip(topic.subtopic_ids, keys, strict=True) if key is None)
        gaps.add("subtopics", subtopics, (f"{shown(s)} of topic {shown(topic.query_id)}" for s in absent))
    return changes


def _subtopic_keys(topic: Topic) -> Iterator[list[str]]:
    """Names under which each subtopic's vector may stand."""
    for i, subtopic_id in enumerate(topic.subtopic_ids):
        keys = [f"{topic.query_id}.{subtopic_id}"]
        if subtopic_id.startswith(f"{topic.query_id}."):
            keys.append(subtopic_id)
        if topic.subtopic_texts is not None:
            keys.append(topic.subtopic_texts[i])
        yield keys


def _check_documents(topics: TopicSet, documents: VectorTable, gaps: _Gaps) -> None:
    """Raise where the file is of other topics."""
    if len(topics) and len(gaps.emptied) == len(topics):
        names = shown(documents.ids[0]) if len(documents) else "nothing that was asked for"
        raise ValueError(
            f"{documents.source} has a vector for no document of {topics.name!r}: the topics name documents like "
            f"{shown(topics[0].doc_ids[0])}, the file {names}; give the file that belongs to these topics"
        )


def _report(topics: TopicSet, gaps: _Gaps, missing: Missing) -> None:
    """Raise for missing vectors, or tell what was left out."""
    if not gaps.found:
        return
    asked = {"documents": sum(topic.n_candidates for topic in topics), "queries": len(topics)}
    asked["subtopics"] = sum(topic.n_subtopics for topic in topics)
    found = "; for ".join(
        f"{len(names)} of {asked[kind]} {kind} ({few(names)}; {table.source})"
        for kind, (table, names) in gaps.found.items()
    )
    if missing == "error":
        raise ValueError(
            f"{topics.name}: no vector for {found}. Give a file that holds them all, or leave out what has none: "
            'missing="drop" (--missing drop)'
        )
    emptied = f": {few(gaps.emptied)}" if gaps.emptied else ""
    notice(
        f"{topics.name}: no vector for {found}: left out, and with them {len(gaps.emptied)} topics that have no "
        f"document left{emptied}"
    )


def attach_files(topics: TopicSet, documents: PathLike | None, queries: PathLike | None, missing: Missing) -> TopicSet:
    """The topics with vectors from files; None leaves a kind as it was.

    Args:
        topics: the topics.
        documents: vectors by document id, in any format of `read_vectors`.
        queries: vectors by query id or by query text, likewise.
        missing: as for `attach_vectors`.

    Raises:
        FileNotFoundError, ValueError: as `read_vectors` and `attach_vectors`.
    """
    wanted = {doc_id for topic in topics for doc_id in topic.doc_ids}
    asked = {*topics.query_ids, *(topic.query_text for topic in topics if topic.query_text is not None)}
    return attach_vectors(
        topics,
        None if documents is None else read_vectors(documents, only=wanted),
        queries=None if queries is None else read_vectors(queries, only=asked, part="query"),
        missing=missing,
    )
