"""`srd data reshape`: lists of equal size, drawn from each topic's candidates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

import tyro

from srd_gym.data import load_topics
from srd_gym.data.parquet import write_topics
from srd_gym.data.reshape import origin, reshape
from srd_gym.topic import TopicSet
from srd_train.commands.options import File
from srd_train.commands.output import Output


@dataclass(frozen=True, kw_only=True)
class Reshape:
    """Draw lists of equal size from each topic's candidates, as MA4DIV makes of TREC.

    Each list is a topic of its own, with the id "QUERY/NUMBER". `srd train --fold` and the recipes keep all lists of a
    query in one part, also with a file of published folds by query id. Give topics their vectors first.

    Examples:
      srd data reshape topics.parquet --out lists.parquet
      srd data reshape synthetic:web:50 --lists 4 --list-size 30 --min-relevant 10 --out lists.parquet
    """

    file: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="FILE|synthetic:PRESET")]
    """Topic file (Parquet), "words", or "synthetic:PRESET[:TOPICS[:SEED]]"."""
    out: File
    """The topic file to write (Parquet)."""
    lists: int = 32
    """Lists a topic; fewer, where there are no more different ones."""
    list_size: int = 30
    """Documents a list."""
    min_relevant: int = 10
    """Documents of a list that cover a subtopic, at least (all of them, where a topic has fewer)."""
    seed: int = 0
    """Of the draws."""
    unfit: Literal["error", "drop"] = "error"
    """What to do about topics that are not judged or have fewer candidates than a list: stop, or leave them out."""
    json: bool = False
    """Print JSON about the file written."""

    def execute(self, output: Output) -> int:
        """Draw and write.

        Raises:
            ValueError: numbers out of range, or topics that lists cannot be drawn from.
        """
        topics = load_topics(self.file)
        fit = _fit(topics, self) if self.unfit == "drop" else topics
        made = reshape(
            fit,
            list_size=self.list_size,
            lists=self.lists,
            min_relevant=self.min_relevant,
            seed=self.seed,
        )
        used = len({origin(query_id) for query_id in made.query_ids})
        if not used:
            raise ValueError(f"{self.file}: no topic has a relevant candidate; there are no lists to draw")
        write_topics(self.out, made)
        if self.json:
            output.data({"file": str(self.out), "name": made.name, "lists": len(made), "topics": used})
            return 0
        left_out = len(topics) - used
        dropped = f"; {left_out} topics left out" if left_out else ""
        output.notice(f"{self.out}: {len(made)} lists of {self.list_size} from {used} topics{dropped}")
        return 0


def _fit(topics: TopicSet, options: Reshape) -> TopicSet:
    """The topics that lists can be drawn from."""
    return topics.replace(topic for topic in topics if topic.labelled and topic.n_candidates >= options.list_size)
