"""DU-DIV (Chen et al., WWW 2025): labels of 4,473 queries with 15 documents each, over a catalogue of 25 subtopics.

Of the published files only the labels, `query_doc_subtopics_doc15_2.json` (plain or `.gz`), are read: {topic:
{document: [subtopics it covers]}}. Both orders that the set comes with leak the labels (its permutation file reaches
0.93 of the ideal alpha-DCG, the order of the label file 0.80, chance 0.75), so both are dropped: candidates stand in a
shuffle that depends on the ids alone, and there are no retrieval scores.
"""

from __future__ import annotations

from srd_gym.data.attach import Missing
from srd_gym.data.json_vectors import attach_files
from srd_gym.data.labels import label_free_order, label_topic, read_labels
from srd_gym.data.streams import existing_folder, needed_file
from srd_gym.data.trec_files import natural_key
from srd_gym.files import PathLike
from srd_gym.topic import TopicSet

_WHAT = "DU-DIV"
_LABELS = "query_doc_subtopics_doc15_2.json"


def load_du_div(
    folder: PathLike,
    *,
    documents: PathLike | None = None,
    query_vectors: PathLike | None = None,
    missing: Missing = "error",
    name: str = "du-div",
) -> TopicSet:
    """The labelled queries of DU-DIV, in numeric order.

    Subtopic ids are numbers of the shared catalogue; a topic has those that its documents cover (the paper speaks of
    50, the file has 25).

    Args:
        folder: holds the label file.
        documents: vectors by document id: JSON {id: [numbers]}, or any format of `srd_gym.data.vectors`; the published
            files at hand have none.
        query_vectors: vectors by query id, likewise.
        missing: what to do about documents and queries without a vector: "error" or "drop".
        name: the set's name.

    Raises:
        FileNotFoundError: no such folder, or no label file in it.
        ValueError: a file of another form, or missing vectors.
    """
    place = existing_folder(folder, _WHAT)
    labels = read_labels(needed_file(place, _LABELS, _WHAT), _WHAT)
    topics = TopicSet(
        (
            label_topic(query_id, label_free_order(query_id, labels[query_id]), labels[query_id])
            for query_id in sorted(labels, key=natural_key)
        ),
        name=name,
    )
    return attach_files(topics, documents, query_vectors, missing)
