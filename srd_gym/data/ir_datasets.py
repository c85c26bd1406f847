"""Topic sets from datasets of the library ir_datasets: its queries, judgments, scored documents and texts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from srd_gym.data.attach import Missing, attach_files
from srd_gym.data.notices import tell
from srd_gym.data.queries import TopicText
from srd_gym.data.trec import topics_of_run
from srd_gym.files import PathLike
from srd_gym.in_memory import RunSource, as_qrels, as_run, ir_dataset
from srd_gym.reading import shown
from srd_gym.topic import TopicSet


def load_ir_datasets(
    dataset: str,
    *,
    run: RunSource | None = None,
    texts: bool = True,
    vectors: PathLike | None = None,
    query_vectors: PathLike | None = None,
    missing: Missing = "error",
) -> TopicSet:
    """A topic set from a dataset of ir_datasets, as `load_trec` makes one of files.

    The library fetches what it may when it is first asked for it, and says what must be fetched by hand. Subtopic texts
    are those of the queries, where these have any (TREC Web).

    Args:
        dataset: its id, such as "clueweb09/en/trec-web-2009/diversity"; the prefix "ir-datasets:" is understood.
        run: the candidates and their scores, as `srd_gym.data.as_run` takes them; None: the dataset's scored documents.
        texts: take documents' texts from the dataset's collection, which must be at hand.
        vectors: vectors by document id (`srd_gym.data.vectors`).
        query_vectors: vectors by query id or by query text.
        missing: what to do about documents (and queries) without a vector: "error" or "drop".

    Raises:
        ImportError: ir_datasets is not installed.
        ValueError: an unknown dataset, one without scored documents where no run is given, or missing vectors.
    """
    given = ir_dataset(dataset)
    rankings = as_run(given if run is None else run)
    judged = as_qrels(given).topics if given.has_qrels() else {}
    queries = {query.query_id: _text(query) for query in given.queries_iter()} if given.has_queries() else {}
    topics = topics_of_run(rankings, judged, queries, given.dataset_id())
    if texts and given.has_docs():
        topics = _with_texts(topics, given.docs_store())
    return attach_files(topics, vectors, query_vectors, missing)


def _text(query: Any) -> TopicText:
    """Query and subtopic texts of a query of the library."""
    text = next((getattr(query, name) for name in ("query", "text", "title") if getattr(query, name, None)), None)
    if text is None:
        raise ValueError(f"query {shown(query.query_id)} of ir_datasets has neither query, text nor title")
    subtopics = getattr(query, "subtopics", None) or ()
    return TopicText(query_text=text, subtopics={str(each.number): each.text for each in subtopics})


def _with_texts(topics: TopicSet, store: Any) -> TopicSet:
    """The topics with the texts of their documents; a document that the collection lacks has an empty one."""
    wanted = {doc_id for topic in topics for doc_id in topic.doc_ids}
    found: Mapping[str, Any] = store.get_many(wanted)
    absent = sorted(wanted - found.keys())
    tell(topics.name, f"of {len(wanted)} documents are not in the collection, their text is empty", absent)
    texts = {doc_id: document.default_text() for doc_id, document in found.items()}
    return topics.replace(
        replace(topic, doc_texts=tuple(texts.get(doc_id, "") for doc_id in topic.doc_ids)) for topic in topics
    )
