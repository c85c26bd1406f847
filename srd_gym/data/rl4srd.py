"""MDP-DIV's published files (Xia et al., SIGIR 2017): candidates and judgments of 198 TREC Web Track topics.

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
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from srd_gym.data.attach import Missing
from srd_gym.data.json_vectors import attach_files
from srd_gym.data.labels import label_free_order, label_topic, read_labels
from srd_gym.data.streams import existing_folder, needed_file, with_optional_gz
from srd_gym.data.trec import judgment_rows
from srd_gym.data.trec_files import Paths, Qrels, natural_key, read_qrels
from srd_gym.files import PathLike
from srd_gym.reading import read_json_object, shown
from srd_gym.topic import Topic, TopicSet

_WHAT = "MDP-DIV's files"


def load_rl4srd(
    folder: PathLike,
    *,
    documents: PathLike | None = None,
    qrels: Paths | None = None,
    missing: Missing = "error",
    name: str = "trec-rl4srd",
) -> TopicSet:
    """The topics of MDP-DIV's files, candidates in a label-free shuffle, topics in numeric order.

    Args:
        folder: holds the files above; `query_representation.dat` and `doc_representation.dat` may be missing.
        documents: document vectors in another place: JSON as above, read as a stream, or any format of
            `srd_gym.data.vectors`.
        qrels: official judgments. Candidates are then judged by them, and they give the pool, which the label file
            lacks (it knows 8,805 relevant documents less); without them the ideal comes from the candidates.
        missing: what to do about documents and queries without a vector: "error" or "drop".
        name: the set's name.

    Raises:
        FileNotFoundError: no such folder, or no label or permutation file in it.
        ValueError: a file of another form, a topic in one file only, or missing vectors.
    """
    place = existing_folder(folder, _WHAT)
    labels = read_labels(needed_file(place, "query_doc.json", _WHAT), _WHAT)
    candidates = _read_candidates(needed_file(place, "query_permutation.json", _WHAT))
    lonely = sorted(labels.keys() ^ candidates.keys(), key=natural_key)
    if lonely:
        raise ValueError(
            f"{_WHAT}: {place}: {len(lonely)} topics, {shown(lonely[0])} among them, are in only one of query_doc.json "
            "and query_permutation.json; both must hold the same topics"
        )
    judged = None if qrels is None else read_qrels(qrels)
    topics = TopicSet(
        (
            _official(label_topic(query_id, candidates[query_id], labels[query_id]), judged)
            for query_id in sorted(labels, key=natural_key)
        ),
        name=name,
    )
    found = documents or with_optional_gz(place, "doc_representation.dat")
    return attach_files(topics, found, with_optional_gz(place, "query_representation.dat"), missing)


def _read_candidates(path: Path) -> dict[str, tuple[str, ...]]:
    """Candidates by topic; the order of the file ends here."""

    def documents(query_id: str, entry: Any) -> tuple[str, ...]:
        listed = entry.get("permutation") if isinstance(entry, Mapping) else None
        if not isinstance(listed, list) or not listed or not all(isinstance(d, str) for d in listed):
            raise ValueError(
                f'{_WHAT}: {path}: topic {shown(query_id)}: expected {{"permutation": [document ids, at least one]}}'
            )
        if len(set(listed)) < len(listed):
            raise ValueError(f"{_WHAT}: {path}: topic {shown(query_id)}: a document comes twice; keep one")
        return label_free_order(query_id, listed)

    return {query_id: documents(query_id, entry) for query_id, entry in read_json_object(path, _WHAT).items()}


def _official(topic: Topic, qrels: Qrels | None) -> Topic:
    """The topic judged by the official qrels, with their pool; as it is without qrels."""
    if qrels is None:
        return topic
    judged = qrels.topics.get(topic.query_id)
    if judged is None:
        raise ValueError(
            f"qrels: no judgment of topic {shown(topic.query_id)}; give the files of all years (2009 to 2012)"
        )
    return replace(
        topic,
        subtopic_ids=judged.subtopic_ids,
        judgments=judgment_rows(judged, topic.doc_ids, judged.subtopic_ids),
        pool=judged.judgments,
        pool_ids=judged.doc_ids,
    )
