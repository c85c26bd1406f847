"""`srd data describe`: the statistics of a topic file."""

from __future__ import annotations

from dataclasses import dataclass

import tyro

from srd_gym.data import load_topics
from srd_train.commands.output import Output


@dataclass(frozen=True, kw_only=True)
class Describe:
    """Show the statistics of a topic file: topics, candidates, subtopics, relevance, vectors.

    Example:
      srd data describe topics.parquet
    """

    file: tyro.conf.Positional[str]
    """Topic file (Parquet), or "synthetic:PRESET[:TOPICS[:SEED]]"."""
    json: bool = False
    """Print JSON."""

    def execute(self, output: Output) -> int:
        """Show the statistics."""
        from srd_train.report.topic_statistics import statistics, statistics_table

        described = statistics(load_topics(self.file))
        if self.json:
            output.data(described)
        else:
            heads, rows = statistics_table([described])
            output.table("Statistics", heads, rows)
        return 0
