"""A topic set as padded arrays, which simulators and networks index by topic, and the order in which topics are dealt.

Shapes: T topics, N candidates (of the largest topic, or as asked), S subtopics (of the largest topic), F vector width.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterable
from functools import cached_property
from typing import Any
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from srd_gym.checks import check_integer
from srd_gym.dtypes import IntArray
from srd_gym.files import PathLike
from srd_gym.measures import BoundMeasure, Measure, Normalizer, default_normalizer, measure, references
from srd_gym.measures.base import tell_irrelevant
from srd_gym.reading import shown as as_text
from srd_gym.topic import FloatArray, GradeArray, Topic, TopicSet, as_topic_set

DEFAULT_TOPICS = "synthetic:serp"
"""The embedded topics: 1,000 of preset serp, seed 0."""


class TopicArrays:
    """Read-only padded arrays of a topic set; padding is 0. Vectors are laid out only when somebody asks for them.

    Args:
        topics: the topics, at least one.
        max_candidates: N; None takes the largest topic's.

    Raises:
        ValueError: an empty set, or a topic with more than `max_candidates` candidates.
    """

    def __init__(self, topics: TopicSet, max_candidates: int | None = None) -> None:
        if len(topics) == 0:
            raise ValueError(f"topic set {as_text(topics.name)} is empty; expected at least one topic")
        self.topics = topics
        self.query_ids = topics.query_ids
        self.max_candidates = _checked_width(topics, max_candidates)
        self.max_subtopics = topics.max_subtopics
        self.n_candidates: NDArray[np.int64] = shown(np.array([topic.n_candidates for topic in topics], np.int64))
        """[T] int64, how many of the N rows are real."""
        self.labelled: NDArray[np.bool_] = shown(np.array([topic.labelled for topic in topics], np.bool_))
        """[T] bool, whether the topic is judged."""
        self._cache: dict[Any, Any] = {}

    @classmethod
    def of(cls, topics: TopicSource, max_candidates: int | None = None) -> TopicArrays:
        """The arrays of a topic set, shared by all who ask for the same set while somebody holds them.

        Args:
            topics: the set, topics in a list, the path of a Parquet file, or a name such as "synthetic:serp"; arrays
                are returned as they are.
            max_candidates: N; None takes the largest topic's (or what the arrays have).

        Raises:
            TypeError: something else.
            ValueError: as the constructor; an unknown name, a bad file, or arrays of another N than asked.
        """
        if isinstance(topics, TopicArrays):
            if max_candidates not in (None, topics.max_candidates):
                raise ValueError(
                    f"the topic arrays have room for {topics.max_candidates} candidates, but max_candidates="
                    f"{max_candidates} was asked; pass the topic set, or leave max_candidates out"
                )
            return topics
        topics = topics_from(topics)
        key = (id(topics), _checked_width(topics, max_candidates))
        arrays = _SHARED.get(key)
        if arrays is None:
            arrays = _SHARED[key] = cls(topics, max_candidates)
        return arrays

    def __deepcopy__(self, memo: dict[int, Any]) -> TopicArrays:
        # Read-only: copies of environments (and of Gymnasium's specs) share it.
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.topics, self.max_candidates)

    def __len__(self) -> int:
        return len(self.topics)

    def __repr__(self) -> str:
        return f"TopicArrays({self.topics!r}, max_candidates={self.max_candidates})"

    @cached_property
    def judgments(self) -> GradeArray:
        """[T, N, S] int8, stored as given; 0 where unlabelled or padding."""
        return self._padded("judgments", np.int8, self.max_candidates, self.max_subtopics)

    @cached_property
    def documents(self) -> FloatArray:
        """[T, N, F] float32 document vectors; rows of padding are 0.

        Raises:
            ValueError: the topics have no vectors; the message says how to make some.
        """
        return self._padded("doc_vectors", np.float32, self.max_candidates, self.topics.require_vectors(_WHO))

    @cached_property
    def queries(self) -> FloatArray:
        """[T, F] float32 query vectors; 0 where a topic has none.

        Raises:
            ValueError: the topics have no document vectors.
        """
        return self._padded("query_vector", np.float32, self.topics.require_vectors(_WHO))

    @cached_property
    def retrieval_scores(self) -> FloatArray:
        """[T, N] float32; 0 in padding and where a topic has no retrieval order."""
        return self._padded("retrieval_scores", np.float32, self.max_candidates)

    @cached_property
    def present(self) -> NDArray[np.bool_]:
        """[T, N] bool, the real candidates."""
        return shown(np.arange(self.max_candidates) < self.n_candidates[:, None])

    def _padded(self, field: str, dtype: type[np.generic], *shape: int) -> NDArray[Any]:
        """[T, *shape] a field of every topic; 0 where it has none."""
        out = np.zeros((len(self), *shape), dtype)
        for row, topic in zip(out, self.topics, strict=True):
            if (given := getattr(topic, field)) is not None:
                row[tuple(map(slice, given.shape))] = given
        return shown(out)

    def covers(self, rel: int) -> NDArray[np.bool_]:
        """[T, N, S] bool, where the judgment is at least `rel`. Made once."""
        table: NDArray[np.bool_] = self.cache(("covers", rel), lambda: shown(self.judgments >= rel))
        return table

    def bound(self, what: Measure, horizon: int) -> BoundMeasure:
        """The measure bound to the topics, once for all who share the arrays; a missing cutoff is the horizon."""
        normalizer = what.normalizer or default_normalizer(self.topics)

        def tell() -> None:
            grades = ((topic.query_id, topic.judgments) for topic in self.topics if topic.judgments is not None)
            tell_irrelevant(f"topic set {as_text(self.topics.name)}", grades, [what.rel])

        def bind() -> BoundMeasure:
            self.cache(("told", what.rel), tell)
            judged = self.cache(("references", normalizer), lambda: references(self.topics, normalizer))
            return what.bind(judged, horizon, self.max_subtopics)

        bound: BoundMeasure = self.cache(("bound", what, horizon, normalizer), bind)
        return bound

    def table_measures(
        self, what: str | Measure | Iterable[str | Measure], horizon: int, normalizer: Normalizer | None
    ) -> dict[str, BoundMeasure]:
        """Measures as tables print them, by the names that they have there (a cutoff left out is the horizon).

        Args:
            what: names, or measures; one of them alone is one.
            horizon: K, ranks that will ever be filled.
            normalizer: what ideal rankings are made of; None: the pool where every topic has one, else the candidates.

        Raises:
            TypeError: neither a name nor a measure.
            ValueError: an unknown measure.
        """
        found: dict[str, BoundMeasure] = {}
        for item in [what] if isinstance(what, str | Measure) else what:
            asked = measure(item)
            chosen = measure(asked, normalizer=normalizer)
            # Tables print the normalizer that all measures share beside them, and only a measure's own in its name.
            named = asked if asked.normalizer is None else chosen
            found[str(named if named.whole_list else named.at(horizon))] = self.bound(chosen, horizon)
        return found

    def cache(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """What `make()` gave when this hashable key was first asked for: bound measures, references and the like."""
        if key not in self._cache:
            self._cache[key] = make()
        return self._cache[key]


class TopicShuffle:
    """Deals the topics of a set one by one, in a fresh shuffle every epoch.

    Args:
        n_topics: T, at least 1.
    """

    def __init__(self, n_topics: int) -> None:
        self._n_topics = n_topics
        self._epoch: IntArray = np.empty(0, np.int64)
        self._next = 0

    def restart(self) -> None:
        """Forget the epoch begun: the next topic opens a new one (after seeding)."""
        self._next = len(self._epoch)

    def next(self, generator: np.random.Generator) -> int:
        """The next topic's index; draws from the generator only when an epoch begins."""
        if self._next >= len(self._epoch):
            self._epoch = generator.permutation(self._n_topics)
            self._next = 0
        topic = self._epoch.item(self._next)
        self._next += 1
        return topic


TopicSource = TopicSet | Iterable[Topic] | TopicArrays | PathLike
"""What the `topics` argument of simulators, environments and learners may be."""

_WHO = "an environment with observation='full' (not 'compact')"

_SHARED: WeakValueDictionary[tuple[int, int], TopicArrays] = WeakValueDictionary()
# Keyed by identity: arrays hold their topic set, so an id cannot be reused while its entry lives.


def topics_from(source: TopicSource) -> TopicSet:
    """The topic set of whatever the `topics` argument of simulators, environments and learners may be.

    Raises:
        FileNotFoundError, TypeError, ValueError: as `srd_gym.data.load_topics`.
    """
    if isinstance(source, TopicArrays):
        return source.topics
    if isinstance(source, str | os.PathLike):
        from srd_gym.data import load_topics  # reads files with pyarrow, which is slow to import

        return load_topics(source)
    return as_topic_set(source)


ENOUGH = 1_000_000
"""Most candidates, ranks or scores where the topics need no more: arrays of that size are made at once."""


def _checked_width(topics: TopicSet, max_candidates: int | None) -> int:
    """N, if every topic fits."""
    if max_candidates is None:
        return topics.max_candidates
    check_integer("max_candidates", max_candidates, 1, max(topics.max_candidates, ENOUGH))
    large = [topic.query_id for topic in topics if topic.n_candidates > max_candidates]
    if large:
        raise ValueError(
            f"max_candidates={max_candidates}, but {len(large)} topics of {as_text(topics.name)} have more (the first "
            f"is {as_text(large[0])}); raise it to {topics.max_candidates}, or shorten the topics with Topic.take"
        )
    return int(max_candidates)


def shown(array: NDArray[Any]) -> NDArray[Any]:
    """A read-only view."""
    view = array.view()
    view.flags.writeable = False
    return view
