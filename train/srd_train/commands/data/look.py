"""`srd data describe` and `srd data head`: the statistics of a topic file, and its first topics."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any

import numpy as np
import tyro

from srd_gym.data import load_topics
from srd_gym.topic import Topic
from srd_train.commands.console import Output
from srd_train.report.topic_statistics import statistics, statistics_table
from srd_train.serving.ranking import topic_stream

_shortened = partial(textwrap.shorten, width=60, placeholder="…")
"""The beginning of a text, on one line."""


@dataclass(frozen=True, kw_only=True)
class Describe:
    """Show the statistics of a topic file: topics, candidates, subtopics, relevance, vectors.

    Example:
      srd data describe topics.parquet
    """

    file: tyro.conf.Positional[str]
    """Topic file (Parquet), "words", or "synthetic:PRESET[:TOPICS[:SEED]]"."""
    json: bool = False
    """Print JSON."""

    def execute(self, output: Output) -> int:
        """Show the statistics."""
        described = statistics(load_topics(self.file))
        if self.json:
            output.data(described)
        else:
            output.table("Statistics", *statistics_table([described]))
            if described["odd_order"]:
                output.notice(f"notice: {described['odd_order']}")
        return 0


@dataclass(frozen=True, kw_only=True)
class Head:
    """Show the first topics of a topic file.

    Example:
      srd data head topics.parquet --topics 2
    """

    file: tyro.conf.Positional[str]
    """Topic file (Parquet), "words", or "synthetic:PRESET[:TOPICS[:SEED]]"."""
    topics: int = 3
    """Number of topics."""
    documents: int = 5
    """Number of candidates of each."""
    json: bool = False
    """Print JSON."""

    def execute(self, output: Output) -> int:
        """Show the first topics."""
        if self.topics < 1 or self.documents < 1:
            raise ValueError("--topics and --documents must be at least 1")
        topics = [_as_json(topic, self.documents) for topic in islice(topic_stream(self.file), self.topics)]
        if self.json:
            output.data(topics)
            return 0
        for topic in topics:
            rows = []
            for document in topic["documents"]:
                score = "" if document["retrieval_score"] is None else f"{document['retrieval_score']:.3f}"
                covers = ", ".join(document["covers"] or ()) or "-"
                rows.append([document["id"], covers, _shortened(document["text"] or ""), score])
            title = ": ".join(filter(None, [f"topic {topic['query_id']}", _shortened(topic["query_text"] or "")]))
            width = f"vector width {topic['vector_width']}" if topic["vector_width"] else "no vectors"
            judged = (
                f"{len(topic['subtopics'])} subtopics" if topic["documents"][0]["covers"] is not None else "not judged"
            )
            caption = f"{topic['candidates']} candidates, {judged}, {width}"
            output.table(title, ["document", "subtopics", "text", "score"], rows, caption, texts=3)
        return 0


def _as_json(topic: Topic, documents: int) -> dict[str, Any]:
    """One topic with its first candidates."""
    texts, scores, judgments = topic.doc_texts, topic.retrieval_scores, topic.judgments
    names = np.array(topic.subtopic_ids, dtype=object)
    return {
        "query_id": topic.query_id,
        "query_text": topic.query_text,
        "candidates": topic.n_candidates,
        "subtopics": list(topic.subtopic_ids),
        "vector_width": topic.vector_width,
        "documents": [
            {
                "id": doc_id,
                "text": None if texts is None else texts[i],
                "retrieval_score": None if scores is None else float(scores[i]),
                "covers": None if judgments is None else names[judgments[i] >= 1].tolist(),
            }
            for i, doc_id in enumerate(topic.doc_ids[:documents])
        ],
    }
