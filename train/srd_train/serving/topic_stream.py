"""Topics to be ranked, one after the other: of a file, of many files, or generated."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from srd_gym.data import WORDS, load_topics
from srd_gym.data.parquet import iter_query_ids, iter_topics
from srd_gym.topic import Topic, TopicSet

_FILES = "*.parquet"
_PATTERN_MARKS = "*?["


@dataclass(frozen=True, kw_only=True)
class TopicStream:
    """Topics that can be gone through any number of times; of files, one row group is in memory at a time."""

    name: str
    """What messages call it."""
    files: tuple[Path, ...] = ()
    """Parquet files, in the order they are read in."""
    generated: TopicSet | None = None
    """The topics, where they are no files'."""

    def __iter__(self) -> Iterator[Topic]:
        """The topics.

        Raises:
            ValueError: a file or topic that cannot be read, or vectors of another width than the topics before.
        """
        first: Topic | None = None
        for topic in self._all():
            first = topic if first is None else first
            if topic.vector_width != first.vector_width:
                raise ValueError(
                    f"topics of {self.name}: topic {topic.query_id!r} has vectors of width {topic.vector_width}, but "
                    f"topic {first.query_id!r} of width {first.vector_width}; one set has one width"
                )
            yield topic

    def query_ids(self) -> Iterator[str]:
        """Their ids, without reading the topics."""
        if self.generated is not None:
            yield from self.generated.query_ids
        for path in self.files:
            yield from iter_query_ids(path)

    def count(self, wanted: Sequence[str] | None = None) -> int:
        """How many topics there are, once their ids are checked.

        Args:
            wanted: ids that must be there.

        Raises:
            ValueError: an id that comes twice, or one that is missing.
        """
        seen: set[str] = set()
        for query_id in self.query_ids():
            if query_id in seen:
                raise ValueError(f"topics of {self.name}: query id {query_id!r} comes twice; ids must differ")
            seen.add(query_id)
        missing = [query_id for query_id in wanted or () if query_id not in seen]
        if missing:
            raise ValueError(
                f"the model's test fold has {len(wanted or ())} topics, but {len(missing)} of them are not in "
                f"{self.name!r} (first: {missing[0]!r}); give the file it was trained on, or rank every topic with "
                "--all"
            )
        return len(seen)

    def _all(self) -> Iterator[Topic]:
        """The topics, unchecked."""
        if self.generated is not None:
            yield from self.generated
        for path in self.files:
            yield from iter_topics(path)


def topic_stream(source: str) -> TopicStream:
    """The topics that `srd rank` was given.

    Args:
        source: a Parquet file, a folder of such (*.parquet), a pattern ("parts/*.parquet"), or
            "synthetic:PRESET[:TOPICS[:SEED]]", or "words".

    Raises:
        FileNotFoundError: no such file, or no file that matches.
        ValueError: a name that is none of these.
    """
    path = WORDS if source == WORDS.stem else Path(source)
    if path.is_file():
        return TopicStream(name=source, files=(path,))
    if path.is_dir():
        folder, pattern = path, _FILES
    elif any(mark in source for mark in _PATTERN_MARKS):
        anchor = Path(path.anchor)
        folder, pattern = anchor, str(path.relative_to(anchor))
    else:
        return TopicStream(name=source, generated=load_topics(source))
    files = tuple(sorted(file for file in folder.glob(pattern) if file.is_file()))
    if not files:
        raise FileNotFoundError(f"topics: no file matches {folder / pattern}; expected Parquet files of topics")
    return TopicStream(name=source, files=files)
