"""Label files {topic: {document: [subtopics it covers]}}, the form that MDP-DIV and DU-DIV share.

Their order is that of the labels, more or less, so candidates get one that knows nothing of them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from srd_gym.data.trec_files import natural_key
from srd_gym.files import PathLike
from srd_gym.reading import read_json_object, shown
from srd_gym.topic import Topic

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
    column = {subtopic_id: i for i, subtopic_id in enumerate(subtopic_ids)}
    judgments = np.zeros((len(doc_ids), len(subtopic_ids)), dtype=np.int8)
    for row, doc_id in enumerate(doc_ids):
        judgments[row, [column[s] for s in labels.get(doc_id, ())]] = 1
    return Topic(query_id=query_id, doc_ids=tuple(doc_ids), subtopic_ids=tuple(subtopic_ids), judgments=judgments)


def label_free_order(query_id: str, doc_ids: Iterable[str]) -> tuple[str, ...]:
    """The documents in a fixed shuffle: sorted by a digest of query and document id.

    The published files of MDP-DIV and DU-DIV list documents in (nearly) ideal order, so that whoever breaks ties by
    position would read the labels. This order depends on the ids alone: not on the file's order, not on which other
    documents there are, and not on any library's random numbers, so it is the same everywhere and for ever.

    Args:
        query_id: the topic; the same documents stand in another order in another topic.
        doc_ids: the documents, in any order.

    Returns:
        The same ids, shuffled.
    """

    def digest(doc_id: str) -> bytes:
        return hashlib.blake2b(f"{query_id}\0{doc_id}".encode(errors="surrogatepass"), digest_size=16).digest()

    return tuple(sorted(doc_ids, key=lambda doc_id: (digest(doc_id), doc_id)))
