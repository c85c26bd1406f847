"""Topic sets from TREC files: diversity qrels, runs, topics and vectors.

All readers take one path or several, plain or packed by gzip, xz or bz2. Several files are parts of one whole, so a
query in two of them is an error. Ids are text and kept as they stand.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from types import MappingProxyType
from typing import Any

import numpy as np

from srd_gym.data.attach import Missing, attach_files
from srd_gym.data.folders import entries, text_of
from srd_gym.data.notices import tell
from srd_gym.data.queries import TopicText, read_queries, read_subtopics
from srd_gym.files import PathLike, written_atomically
from srd_gym.in_memory import QrelsSource, RunSource, as_qrels, as_run, called
from srd_gym.reading import few, shown
from srd_gym.topic import GradeArray, Topic, TopicSet
from srd_gym.trec_files import Qrels, Run, TopicQrels
from srd_gym.trec_lines import Paths, check_query_id, check_word, path_list


def load_trec(
    *,
    run: RunSource,
    qrels: QrelsSource | None = None,
    topics: Paths | None = None,
    subtopics: Paths | None = None,
    vectors: PathLike | None = None,
    query_vectors: PathLike | None = None,
    texts: Paths | None = None,
    missing: Missing = "error",
    name: str = "trec",
) -> TopicSet:
    """A topic set from TREC files.

    Candidates are the run's documents in its order. Judgments and pool come from the qrels; the pool is all
    judged documents, relevant or not. A topic without a qrels line is unlabelled; a topic of the topics or the qrels
    without a ranking has no candidates and is left out, with a `DataNotice`. Subtopics are those that are named, in
    their order, then those that only the qrels have (their text is empty); without names, those of the qrels. Where
    qrels have weights, a named subtopic that is not judged has the mean weight of those that are, with a `DataNotice`.

    Args:
        run: the rankings: files, or what else `srd_gym.data.as_run` takes.
        qrels: diversity judgments: files, or what else `srd_gym.data.as_qrels` takes; None: nothing is labelled.
        topics: queries in any form of `srd_gym.data.queries`; Web Track XML names subtopics, too. None: no texts.
        subtopics: named subtopics, in any form of `srd_gym.data.queries`, in place of those of the topics; a query that
            is not in them has none.
        vectors: vectors by document id (`srd_gym.data.vectors`); an .npz may hold those of queries and of subtopics,
            named "query<TAB>subtopic", as well.
        query_vectors: vectors by query id or by query text.
        texts: documents' texts, JSON lines in BEIR's format (`{"_id": ..., "title": ..., "text": ...}`). A document
            that is in none has an empty text, with a `DataNotice`.
        missing: what to do about documents (and queries) without a vector: "error" or "drop".
        name: the set's name.

    Raises:
        FileNotFoundError: no such file.
        ValueError: as the readers; a query of the run that is in no topics file (the message counts matches both ways);
            subtopics of other queries; qrels that judge nothing that the run ranks; subtopics without topics; missing
            vectors.
    """
    rankings = as_run(run)
    judged = {} if qrels is None else as_qrels(qrels).topics
    queries = {} if topics is None else read_queries(topics)
    if topics is not None:
        _check_queries(rankings, queries, few(path_list(topics, "topics")))
    if subtopics is not None:
        if topics is None:
            raise ValueError("subtopics belong to queries: give topics, the file of their texts, as well")
        queries = _with_subtopics(queries, read_subtopics(subtopics), few(path_list(subtopics, "subtopics")), name)
    if qrels is not None:
        _check_judged(rankings, judged, called(qrels))
    loaded = topics_of_run(rankings, judged, queries, name)
    if texts is not None:
        loaded = with_texts(loaded, texts)
    return attach_files(loaded, vectors, query_vectors, missing)


def topics_of_run(run: Run, judged: Mapping[str, TopicQrels], queries: Mapping[str, TopicText], name: str) -> TopicSet:
    """Topics of a run's candidates; a `DataNotice` names those that it does not rank.

    Args:
        run: the candidates.
        judged: judgments by query id, as far as there are any.
        queries: texts by query id, as far as there are any.
        name: the set's.
    """
    unranked = [query_id for query_id in {**queries, **judged} if query_id not in run.rankings]
    tell(name, "topics have no candidates, as the run ranks nothing for them, and are left out", unranked)
    topics = (_trec_topic(query_id, run, judged.get(query_id), queries.get(query_id)) for query_id in run.rankings)
    made = TopicSet(topics, name=name)
    weighted = [topic for topic in made if topic.subtopic_weights is not None]
    more = [one.query_id for one in weighted if one.n_subtopics > len(judged[one.query_id].subtopic_ids)]
    tell(name, "topics name subtopics that are not judged, and so have the mean weight of those that are", more)
    return made


def _with_subtopics(
    queries: Mapping[str, TopicText], named: Mapping[str, Mapping[str, str]], files: str, name: str
) -> dict[str, TopicText]:
    """The queries with named subtopics in place of their own; notices count queries that one of the two lacks."""
    other = [query_id for query_id in named if query_id not in queries]
    if len(other) == len(named):
        raise ValueError(
            f"subtopics: none of {len(named):,} queries of {files} is in the topics (the subtopics have "
            f"{shown(other[0])}, the topics {shown(next(iter(queries), None))}); ids must be equal as text"
        )
    tell(name, "queries of the subtopics are in no topics and are left out", other)
    tell(name, "queries have no named subtopics", [query_id for query_id in queries if query_id not in named])
    return {query_id: replace(text, subtopics=dict(named.get(query_id, {}))) for query_id, text in queries.items()}


def _check_queries(run: Run, queries: Mapping[str, TopicText], files: str) -> None:
    """Refuse topics that lack a query of the run, with the matches counted both ways."""
    lacking = [query_id for query_id in run.rankings if query_id not in queries]
    if not lacking:
        return
    others = [query_id for query_id in queries if query_id not in run.rankings]
    bare = {query_id.lstrip("0") for query_id in others}
    zeros = "; ids are text, and '051' is not '51'" if any(one.lstrip("0") in bare for one in lacking) else ""
    raise ValueError(
        f"topics: {len(run.rankings) - len(lacking):,} of {len(run.rankings):,} queries of the run are in {files} (not "
        f"{few([shown(one) for one in lacking])}); of its {len(queries):,} queries {len(others):,} are not in the run "
        f"({few([shown(one) for one in others]) or 'none'}){zeros}; give the topics of this run, or leave them out"
    )


def _check_judged(run: Run, judged: Mapping[str, TopicQrels], files: str) -> None:
    """Refuse judgments of another collection, of which none is of a ranked document."""
    shared = [query_id for query_id in run.rankings if query_id in judged]
    advice = "give the qrels of the collection that the run is of"
    if not shared:
        first, other = (shown(next(iter(ids))) for ids in (judged, run.rankings))
        raise ValueError(
            f"qrels: {files}: none of {len(judged):,} judged queries is among the {len(run.rankings):,} of the run "
            f"(the qrels have {first}, the run {other}); {advice}"
        )
    if all(set(judged[query_id].doc_ids).isdisjoint(run.rankings[query_id]) for query_id in shared):
        first = shared[0]
        ids = [shown(ids[0]) for ids in (run.rankings[first], judged[first].doc_ids)]
        raise ValueError(
            f"qrels: {files}: no document that the run ranks is judged (query {shown(first)}: the run has {ids[0]}, "
            f"the qrels {ids[1]}); {advice}"
        )


def judgment_rows(qrels: TopicQrels, doc_ids: Sequence[str], subtopic_ids: Sequence[str]) -> GradeArray:
    """Judgments of any documents and subtopics of a topic; 0 where there is none.

    Returns:
        [len(doc_ids), len(subtopic_ids)] int8.
    """
    row_of = {doc_id: row for row, doc_id in enumerate(qrels.doc_ids)}
    column_of = {subtopic_id: column for column, subtopic_id in enumerate(qrels.subtopic_ids)}
    rows = np.array([row_of.get(doc_id, -1) for doc_id in doc_ids], dtype=np.int64)
    columns = np.array([column_of.get(subtopic_id, -1) for subtopic_id in subtopic_ids], dtype=np.int64)
    # One more row and column of zeros stands for what was not judged; index -1 finds it.
    padded = np.pad(qrels.judgments, ((0, 1), (0, 1)))
    return np.ascontiguousarray(padded[np.ix_(rows, columns)])


def judged_fields(
    qrels: TopicQrels | None, doc_ids: Sequence[str], named: Mapping[str, str] = MappingProxyType({})
) -> dict[str, Any]:
    """Fields that names and judgments fill: subtopics (those named, then those of the qrels), judgments, pool.

    A named subtopic that is not judged has the mean weight of those that are; no measure counts it.

    Args:
        qrels: the judgments, if there are any.
        doc_ids: the candidates.
        named: texts of subtopics by id; without any, subtopics have no texts.
    """
    judged = () if qrels is None else qrels.subtopic_ids
    subtopic_ids = tuple(dict.fromkeys((*named, *judged)))
    texts = tuple(named.get(subtopic_id, "") for subtopic_id in subtopic_ids)
    fields: dict[str, Any] = {"subtopic_ids": subtopic_ids} | ({"subtopic_texts": texts} if any(texts) else {})
    if qrels is None:
        return fields
    given = qrels.subtopic_weights
    weights = {} if given is None else dict(zip(qrels.subtopic_ids, given.tolist(), strict=True))
    mean = fmean(weights.values()) if weights else None
    return fields | {
        "subtopic_weights": [weights.get(s, mean) for s in subtopic_ids] if weights else None,
        "judgments": judgment_rows(qrels, doc_ids, subtopic_ids),
        "pool": judgment_rows(qrels, qrels.doc_ids, subtopic_ids),
        "pool_ids": qrels.doc_ids,
    }


def write_qrels(path: PathLike, topics: TopicSet) -> None:
    """Write the labels of topics as diversity qrels, whole or not at all: a line for each document and subtopic.

    The documents are those of the pool where every judged topic has one, else the candidates. A run then scores by the
    file what it scores by the topics (`srd_gym.measures.evaluate_run`). A judged topic without subtopics gets lines of
    a subtopic 0 that nothing is relevant to. Topics that are not judged are left out, and subtopic weights, which the
    format cannot carry, with a `DataNotice` each.

    Args:
        path: the file to write; an existing one is replaced once the new one is complete.
        topics: the topics.

    Raises:
        ValueError: no topic is judged; an id that is empty or holds white space or control characters; or a candidate
            that is judged otherwise than in the pool. Nothing is written.
    """
    qrels = topic_qrels(topics)
    tell(topics.name, "topics are not judged, and are left out", [t.query_id for t in topics if not t.labelled])
    weighted = [query_id for query_id, labels in qrels.topics.items() if labels.subtopic_weights is not None]
    tell(topics.name, "topics have subtopic weights, which qrels cannot carry: there each subtopic counts 1", weighted)
    with written_atomically(path) as temporary, temporary.open("w", encoding="utf-8", newline="\n") as stream:
        for query_id, labels in qrels.topics.items():
            check_query_id("qrels", query_id)
            for name, ids in (("subtopic id", labels.subtopic_ids), ("document id", labels.doc_ids)):
                for one in ids:
                    check_word("qrels", f"topic {shown(query_id)}: {name}", one)
            for doc_id, row in zip(labels.doc_ids, labels.judgments.tolist(), strict=True):
                for subtopic_id, judgment in zip(labels.subtopic_ids, row, strict=True):
                    stream.write(f"{query_id} {subtopic_id} {doc_id} {judgment}\n")


def topic_qrels(topics: TopicSet) -> Qrels:
    """The labels of topics as diversity qrels, by which a run scores what it scores by the topics.

    The documents are those of the pool where every judged topic has one, else the candidates. A judged topic without
    subtopics has a subtopic 0 that nothing is relevant to.

    Args:
        topics: the topics; those that are not judged are left out.

    Raises:
        ValueError: no topic is judged, or a candidate is judged otherwise than in the pool.
    """
    judged = [(topic, topic.judgments) for topic in topics if topic.judgments is not None]
    if not judged:
        raise ValueError(f"qrels: no topic of {topics.name!r} is judged; give topics with judgments")
    return Qrels(
        topics={topic.query_id: _qrels_of(topic, judgments, by_pool=topics.has_pool) for topic, judgments in judged}
    )


def _qrels_of(topic: Topic, judgments: GradeArray, *, by_pool: bool) -> TopicQrels:
    """The labels of a topic that has these judgments, with at least one document and one subtopic."""
    doc_ids, subtopic_ids = topic.doc_ids, topic.subtopic_ids
    if by_pool and topic.pool is not None and topic.pool_ids is not None:
        pool = TopicQrels(doc_ids=topic.pool_ids, subtopic_ids=subtopic_ids, judgments=topic.pool)
        differs = np.maximum(judgment_rows(pool, doc_ids, subtopic_ids), 0) != np.maximum(judgments, 0)
        if differs.any():
            row, column = np.argwhere(differs)[0]
            raise ValueError(
                f"qrels: topic {shown(topic.query_id)}: candidate {shown(doc_ids[row])} is not judged as in the "
                f"pool for subtopic {shown(subtopic_ids[column])}; a qrels file holds one judgment per pair: make "
                "both agree"
            )
        if pool.doc_ids:
            doc_ids, judgments = pool.doc_ids, pool.judgments
    weights = None if topic.subtopic_weights is None else topic.subtopic_weights.astype(np.float64)
    if not subtopic_ids:
        subtopic_ids, judgments, weights = ("0",), np.zeros((len(doc_ids), 1), np.int8), None
    return TopicQrels(doc_ids=doc_ids, subtopic_ids=subtopic_ids, judgments=judgments, subtopic_weights=weights)


def with_texts(topics: TopicSet, paths: Paths) -> TopicSet:
    """The topics with the texts of their documents."""
    wanted = {doc_id for topic in topics for doc_id in topic.doc_ids}
    given: defaultdict[str, list[str]] = defaultdict(list)
    files = path_list(paths, "texts")
    for path in files:
        for entry in entries(Path(path), "_id"):
            if entry["_id"] in wanted:
                given[entry["_id"]].append(text_of(entry))
    if not given:
        raise ValueError(
            f"texts: none of the {len(wanted):,} documents that the run ranks is in {', '.join(map(str, files))}; "
            "give the corpus that the run was made of"
        )
    several = [doc_id for doc_id, own in given.items() if len(set(own)) > 1]
    tell(topics.name, f"of {len(wanted)} documents have no text, theirs is empty", sorted(wanted - given.keys()))
    tell(topics.name, "documents have several texts: the first stays, and may be another document's", several)
    return topics.replace(
        replace(topic, doc_texts=tuple(given[doc_id][0] if doc_id in given else "" for doc_id in topic.doc_ids))
        for topic in topics
    )


def _trec_topic(query_id: str, run: Run, qrels: TopicQrels | None, text: TopicText | None) -> Topic:
    """One topic of `load_trec`."""
    doc_ids = run.rankings[query_id]
    scores: Any = run.scores[query_id]  # a topic makes float32 of them
    return Topic(
        query_id=query_id,
        query_text=None if text is None else text.query_text,
        doc_ids=doc_ids,
        retrieval_scores=scores,
        **judged_fields(qrels, doc_ids, {} if text is None else text.subtopics),
    )
