"""`srd data qrels`: the labels of a topic file for ndeval and other tools."""

from __future__ import annotations

from dataclasses import dataclass

import tyro

from srd_gym.data import load_topics, write_qrels
from srd_train.commands.console import Output
from srd_train.commands.options import File


@dataclass(frozen=True, kw_only=True)
class Qrels:
    """Write the labels of a topic file as TREC diversity qrels: lines "topic subtopic document judgment".

    The qrels hold the pool where every judged topic has one, else the candidates. `srd evaluate --qrels` then gives
    the scores of `srd evaluate --topics`.

    Example:
      srd data qrels words --out words.qrels
    """

    file: tyro.conf.Positional[str]
    """Topic file (Parquet), "words", or "synthetic:PRESET[:TOPICS[:SEED]]"."""
    out: File
    """The qrels to write."""
    json: bool = False
    """Print JSON about the file written."""

    def execute(self, output: Output) -> int:
        """Write them.

        Raises:
            FileNotFoundError, ValueError: topics that cannot be read, or labels that qrels cannot carry.
        """
        topics = load_topics(self.file, vectors=False)
        write_qrels(self.out, topics)
        judged = sum(topic.labelled for topic in topics)
        documents = "pool" if topics.has_pool else "candidates"
        about = {"file": str(self.out), "topics": judged, "documents": documents}
        output.outcome(about, f"{self.out}: {judged} judged topics, documents of the {documents}")
        return 0
