"""Label files {topic: {document: [subtopics it covers]}}, the form that MDP-DIV and DU-DIV share.

Their order is that of the labels, more or less, so candidates get one that knows nothing of them.

MDP-DIV's published files (Xia et al., SIGIR 2017): candidates and judgments of 198 TREC Web Track topics.

==========================================  =====================================================================
file (plain or `.gz`)                       holds
==========================================  =====================================================================
`query_doc.json`                            {topic: {document: [subtopics it covers]}}
`query_permutation.json`                    {topic: {"permutation": [documents], "alphaDCG": number}}: the candidates,
                                            in the order of the greedy ideal ranking
`query_representation.dat`                  JSON {topic: [numbers]}: query vectors
`doc_representation.dat`                    JSON {document: [numbers]}: document vectors (large)
==========================================  =====================================================================

The order of the permutation file is the labels in disguise and is never kept: candidates stand in a shuffle that
depends on the ids alone, and there are no retrieval scores.

DU-DIV (Chen et al., WWW 2025): labels of 4,473 queries with 15 documents each, over a catalogue of 25 subtopics.

Of the published files only the labels, `query_doc_subtopics_doc15_2.json` (plain or `.gz`), are read: {topic:
{document: [subtopics it covers]}}. Both orders that the set comes with leak the labels (its permutation file reaches
0.93 of the ideal alpha-DCG, the order of the label file 0.80, chance 0.75), so both are dropped: candidates stand in a
shuffle that depends on the ids alone, and there are no retrieval scores.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from srd_gym.data.attach import Missing, attach_files
from srd_gym.data.folders import existing_folder, needed_file, with_optional_gz
from srd_gym.data.trec import judged_fields
from srd_gym.files import PathLike
from srd_gym.reading import read_json_object, shown
from srd_gym.topic import Topic, TopicSet
from srd_gym.trec_files import Qrels, natural_key, read_qrels
from srd_gym.trec_lines import Paths

Labels = Mapping[str, list[str]]
"""Subtopics by document id, for one topic."""


def read_labels(path: PathLike, what: str) -> dict[str, dict[str, list[str]]]:
    """Read and check a label file (plain or gzip).

    Raises:
        FileNotFoundError: no such file.
        ValueError: another form; the message names topic and document.
    """
    labels: dict[str, dict[str, list[str]]] = {}
    for query_id, documents in read_json_object(path, what).items():
        if not isinstance(documents, dict) or not documents:
            raise ValueError(
                f"{what}: {path}: topic {shown(query_id)}: expected {{document: [subtopics]}} with at least one "
                f"document, got {shown(str(documents))}"
            )
        for doc_id, subtopics in documents.items():
            if not isinstance(subtopics, list) or not all(isinstance(s, str) for s in subtopics):
                raise ValueError(
                    f"{what}: {path}: topic {shown(query_id)}, document {shown(doc_id)}: expected a list of subtopic "
                    f"ids (text), got {shown(str(subtopics))}"
                )
        labels[query_id] = documents
    return labels


def label_topic(query_id: str, doc_ids: Sequence[str], labels: Labels) -> Topic:
    """A topic whose judgments are 1 where the label file names a subtopic.

    Args:
        query_id: the topic.
        doc_ids: its N candidates, in the order they are to stand.
        labels: subtopics by document id; a candidate without an entry covers none.

    Returns:
        A topic with S = the subtopics that some labelled document covers, in numeric order.
    """
    subtopic_ids = sorted({s for covered in labels.values() for s in covered}, key=natural_key)
    covers = [[subtopic_id in labels.get(doc_id, ()) for subtopic_id in subtopic_ids] for doc_id in doc_ids]
    judgments = np.array(covers, dtype=np.int8).reshape(len(doc_ids), len(subtopic_ids))
    return Topic(query_id=query_id, doc_ids=tuple(doc_ids), subtopic_ids=tuple(subtopic_ids), judgments=judgments)


def label_free_order(query_id: str, doc_ids: Iterable[str]) -> tuple[str, ...]:
    """The documents in a fixed shuffle: sorted by a digest of query and document id.

    The published files of MDP-DIV and DU-DIV list documents in (nearly) ideal order, so that whoever breaks ties by
    position would read the labels. This order depends on the ids alone: not on the file's order, not on which other
    documents there are, and not on any library's random numbers, so it is the same everywhere and always.

    Args:
        query_id: the topic; the same documents stand in another order in another topic.
        doc_ids: the documents, in any order.

    Returns:
        The same ids, shuffled.
    """

    def digest(doc_id: str) -> bytes:
        return hashlib.blake2b(f"{query_id}\0{doc_id}".encode(errors="surrogatepass"), digest_size=16).digest()

    return tuple(sorted(doc_ids, key=lambda doc_id: (digest(doc_id), doc_id)))


_MDP_DIV = "MDP-DIV's files"


def load_rl4srd(
    folder: PathLike,
    *,
    documents: PathLike | None = None,
    qrels: Paths | None = None,
    missing: Missing = "error",
) -> TopicSet:
    """The topics of MDP-DIV's files, candidates in a label-free shuffle, topics in numeric order.

    Args:
        folder: holds the files above; `query_representation.dat` and `doc_representation.dat` may be missing.
        documents: document vectors in another place, in any format of `srd_gym.data.vectors`.
        qrels: official judgments. Candidates are then judged by them, and they give the pool, which the label file
            lacks (it knows 8,805 relevant documents less); without them the ideal comes from the candidates.
        missing: what to do about documents and queries without a vector: "error" or "drop".

    Raises:
        FileNotFoundError: no such folder, or no label or permutation file in it.
        ValueError: a file of another form, a topic in one file only, or missing vectors.
    """
    place = existing_folder(folder, _MDP_DIV)
    labels = read_labels(needed_file(place, "query_doc.json", _MDP_DIV), _MDP_DIV)
    candidates = _read_candidates(needed_file(place, "query_permutation.json", _MDP_DIV))
    lonely = sorted(labels.keys() ^ candidates.keys(), key=natural_key)
    if lonely:
        raise ValueError(
            f"{_MDP_DIV}: {place}: {len(lonely)} topics, {shown(lonely[0])} among them, are in only one of "
            "query_doc.json and query_permutation.json; both must hold the same topics"
        )
    judged = None if qrels is None else read_qrels(qrels)
    topics = TopicSet(
        (
            _official(label_topic(query_id, candidates[query_id], labels[query_id]), judged)
            for query_id in sorted(labels, key=natural_key)
        ),
        name="trec-rl4srd",
    )
    vectors = documents or with_optional_gz(place, "doc_representation.dat")
    return attach_files(topics, vectors, with_optional_gz(place, "query_representation.dat"), missing)


def _read_candidates(path: Path) -> dict[str, tuple[str, ...]]:
    """Candidates by topic; the order of the file ends here."""
    candidates: dict[str, tuple[str, ...]] = {}
    for query_id, entry in read_json_object(path, _MDP_DIV).items():
        listed = entry.get("permutation") if isinstance(entry, dict) else None
        if not isinstance(listed, list) or not listed or not all(isinstance(d, str) for d in listed):
            raise ValueError(
                f'{_MDP_DIV}: {path}: topic {shown(query_id)}: expected {{"permutation": [document ids, at least one]}}'
            )
        if len(set(listed)) < len(listed):
            raise ValueError(f"{_MDP_DIV}: {path}: topic {shown(query_id)}: a document is duplicated; keep one")
        candidates[query_id] = label_free_order(query_id, listed)
    return candidates


def _official(topic: Topic, qrels: Qrels | None) -> Topic:
    """The topic judged by the official qrels, with their pool; as it is without qrels."""
    if qrels is None:
        return topic
    judged = qrels.topics.get(topic.query_id)
    if judged is None:
        raise ValueError(
            f"qrels: no judgment of topic {shown(topic.query_id)}; give the files of all years (2009 to 2012)"
        )
    return replace(topic, **judged_fields(judged, topic.doc_ids))


_DU_DIV = "DU-DIV"
_LABELS = "query_doc_subtopics_doc15_2.json"


def load_du_div(
    folder: PathLike,
    *,
    documents: PathLike | None = None,
    missing: Missing = "error",
) -> TopicSet:
    """The labelled queries of DU-DIV, in numeric order.

    Subtopic ids are numbers of the shared catalogue; a topic has those that its documents cover (the paper speaks of
    50, the file has 25).

    Args:
        folder: holds the label file.
        documents: vectors by document id, in any format of `srd_gym.data.vectors`; the published files at hand have
            none.
        missing: what to do about documents and queries without a vector: "error" or "drop".

    Raises:
        FileNotFoundError: no such folder, or no label file in it.
        ValueError: a file of another form, or missing vectors.
    """
    place = existing_folder(folder, _DU_DIV)
    labels = read_labels(needed_file(place, _LABELS, _DU_DIV), _DU_DIV)
    topics = TopicSet(
        (
            label_topic(query_id, label_free_order(query_id, labels[query_id]), labels[query_id])
            for query_id in sorted(labels, key=natural_key)
        ),
        name="du-div",
    )
    return attach_files(topics, documents, None, missing)
