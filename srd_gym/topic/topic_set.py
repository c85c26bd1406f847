"""A topic set: topics with one vector width, in a fixed order, and the folds that it is cut into.

Shapes: N candidates, S subtopics, F vector width.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self, overload
from weakref import WeakValueDictionary

import numpy as np

from srd_gym.checks import check_integer, unknown
from srd_gym.reading import shown, with_type
from srd_gym.topic.topic import TOPIC_FIELDS, Topic, no_vectors


class TopicSet(Sequence[Topic]):
    """Topics with one vector width, in a fixed order; slicing and selecting give topic sets.

    `topics[3]` is the fourth topic, `topics["jaguar"]` the one of that query id.

    Args:
        topics: the topics; query ids must differ, and all must agree on the vector width (or all lack vectors).
        name: what tables call the set, e.g. "ambient" or "trec-rl4srd".
        simulated: the vectors were drawn from the judgments, not from texts. Every table prints it.
        transductive: the vectors were fitted on texts of all folds. Every table prints it.
        encoder: what made the vectors, where that is known: a file's name, a model's, or a generator's. A model that
            was trained on vectors of another encoder says so when it ranks.

    Raises:
        TypeError: something else than topics.
        ValueError: a repeated query id, or topics of different widths; the message names them.
    """

    def __init__(
        self,
        topics: Iterable[Topic],
        *,
        name: str,
        simulated: bool = False,
        transductive: bool = False,
        encoder: str | None = None,
    ) -> None:
        self._topics = _listed(topics)
        self.name = name
        self.simulated = simulated
        self.transductive = transductive
        self.encoder = encoder
        self._named: tuple[object, ...] | None = None
        self._index: dict[str, int] = {}
        for position, topic in enumerate(self._topics):
            if topic.query_id in self._index:
                raise ValueError(
                    f"topic set {shown(name)}: query id {shown(topic.query_id)} is duplicated; ids must differ"
                )
            self._index[topic.query_id] = position
            first = self._topics[0]
            if topic.vector_width != first.vector_width:
                raise ValueError(
                    f"topic set {shown(name)}: topic {shown(topic.query_id)} has vectors of width "
                    f"{topic.vector_width}, but topic {shown(first.query_id)} of width {first.vector_width}; one set "
                    "has one width"
                )

    def __len__(self) -> int:
        return len(self._topics)

    @overload
    def __getitem__(self, index: int | str) -> Topic: ...
    @overload
    def __getitem__(self, index: slice) -> TopicSet: ...
    def __getitem__(self, index: int | str | slice) -> Topic | TopicSet:
        if isinstance(index, slice):
            return self.replace(self._topics[index])
        return self._topics[self.position(index) if isinstance(index, str) else index]

    def __contains__(self, item: object) -> bool:
        return item in self._index if isinstance(item, str) else any(item is topic for topic in self._topics)

    def __deepcopy__(self, memo: dict[int, object]) -> Self:
        # Nothing in it changes, and Gymnasium copies environment arguments deeply whenever a spec is asked for.
        return self

    def __reduce__(self) -> tuple[object, ...]:
        # By its name, where that makes it anywhere; copies of others are one set in a process.
        key = (type(self), self.fingerprint, *self.flags.values())
        _SETS.setdefault(key, self)
        return self._named or (_one_set, (key, self._topics, self.flags))

    def __repr__(self) -> str:
        marks = "".join(f", {mark}" for mark in self.marks)
        return (
            f"TopicSet({shown(self.name)}: {len(self)} topics, at most {self.max_candidates} candidates, "
            f"vector width {self.vector_width}{marks})"
        )

    def replace(self, topics: Iterable[Topic], **changes: object) -> Self:
        """Another set with this one's name, flags and encoder, unless `changes` says otherwise."""
        return type(self)(topics, **(self.flags | changes))

    @property
    def flags(self) -> dict[str, Any]:
        """Its arguments but the topics, by name."""
        return {name: getattr(self, name) for name in ("name", "simulated", "transductive", "encoder")}

    @property
    def marks(self) -> tuple[str, ...]:
        """Words on the vectors that every table must show: "simulated", "transductive", or nothing."""
        return tuple(mark for mark in ("simulated", "transductive") if getattr(self, mark))

    @property
    def origin(self) -> dict[str, Any]:
        """Source of the vectors, in JSON values: a trained model keeps it, to compare with what it ranks."""
        return {"name": self.name, "marks": list(self.marks), "encoder": self.encoder}

    @cached_property
    def query_ids(self) -> tuple[str, ...]:
        """Ids of the topics, in order."""
        return tuple(topic.query_id for topic in self._topics)

    @cached_property
    def vector_width(self) -> int | None:
        """F, or None where the set has no vectors (or no topics)."""
        return self._topics[0].vector_width if self._topics else None

    def require_vectors(self, who: str) -> int:
        """F, for one who cannot do without document vectors.

        Args:
            who: who needs them, for the error.

        Raises:
            ValueError: there are none; the message says how to make some.
        """
        if self.vector_width is None:
            raise no_vectors(f"topic set {shown(self.name)}", who)
        return self.vector_width

    @cached_property
    def max_candidates(self) -> int:
        """N of the largest topic; 0 for an empty set."""
        return max((topic.n_candidates for topic in self._topics), default=0)

    @cached_property
    def max_subtopics(self) -> int:
        """S of the largest topic; 0 for an empty set."""
        return max((topic.n_subtopics for topic in self._topics), default=0)

    @cached_property
    def labelled(self) -> bool:
        """Whether every topic is judged."""
        return all(topic.labelled for topic in self._topics)

    @cached_property
    def has_pool(self) -> bool:
        """Whether some topic is judged and every judged one has a pool, so that the ideal ranking of ndeval exists."""
        judged = [topic for topic in self._topics if topic.labelled]
        return bool(judged) and all(topic.pool is not None for topic in judged)

    @cached_property
    def has_retrieval_order(self) -> bool:
        """Whether every topic has retrieval scores, so that a "retrieval order" row makes sense."""
        return bool(self._topics) and all(topic.retrieval_scores is not None for topic in self._topics)

    @cached_property
    def fingerprint(self) -> str:
        """A short hash of all that rankings, scores and training depend on: every field of every topic, in order."""
        digest = hashlib.sha256()
        for topic in self._topics:
            for name in TOPIC_FIELDS:
                value = getattr(topic, name)
                if name in _ADDED and value is None:
                    continue
                if isinstance(value, np.ndarray):
                    digest.update(repr(value.shape).encode())
                    digest.update(value.data)
                else:
                    digest.update(repr(value).encode())
        return digest.hexdigest()[:16]

    def position(self, query_id: str) -> int:
        """Index of the topic with this id.

        Raises:
            TypeError: no text.
            ValueError: no such topic; the message suggests near ids.
        """
        if not isinstance(query_id, str):
            raise TypeError(f"a query id is text, got {with_type(query_id)}")
        if query_id not in self._index:
            raise unknown(f"query id in topic set {shown(self.name)}:", query_id, self._index)
        return self._index[query_id]

    def select(self, query_ids: Iterable[str]) -> Self:
        """The topics with these ids (one alone is one), in the order given.

        Raises:
            ValueError: an id that is not there.
        """
        query_ids = [query_ids] if isinstance(query_ids, str) else query_ids
        return self.replace(self._topics[self.position(query_id)] for query_id in query_ids)

    def trainable(self) -> Self:
        """The topics in which some candidate covers some subtopic."""
        return self.replace(topic for topic in self._topics if topic.trainable)

    def folds(self, n: int, seed: int = 0) -> tuple[Fold, ...]:
        """The set cut into n folds by query id; fold i tests on part i and validates on part i mod n + 1.

        Args:
            n: number of folds, at least 3 (one part to test, one to validate, one to train).
            seed: of the shuffle.

        Raises:
            ValueError: fewer than 3 folds, or fewer topics than folds.
        """
        check_integer("folds", n, 1)
        if n < 3 or n > len(self):
            raise ValueError(f"expected 3 to {len(self)} folds for {len(self)} topics, got {n}")
        order = np.random.default_rng(seed).permutation(len(self))
        return self.folds_from([[self.query_ids[i] for i in sorted(part)] for part in np.array_split(order, n)])

    def folds_from(self, test_sets: Sequence[Sequence[str]]) -> tuple[Fold, ...]:
        """Folds with published test sets; topics in none of them are always training.

        Args:
            test_sets: one list of query ids a fold; no id in two of them.

        Raises:
            ValueError: fewer than 3 lists, an unknown id, or an id in two lists.
        """
        if len(test_sets) < 3:
            raise ValueError(f"expected at least 3 test sets (test, validation, training), got {len(test_sets)}")
        owner: dict[str, int] = {}
        for index, ids in enumerate(test_sets, start=1):
            for query_id in ids:
                self.position(query_id)
                if query_id in owner:
                    raise ValueError(
                        f"query id {shown(query_id)} is in the test sets of folds {owner[query_id]} and {index}; "
                        "folds must not share a query"
                    )
                owner[query_id] = index
        count = len(test_sets)

        def part(belongs: set[int | None]) -> TopicSet:
            return self.replace(topic for topic in self._topics if owner.get(topic.query_id) in belongs)

        every: set[int | None] = {None, *range(1, count + 1)}
        pairs = [(index, index % count + 1) for index in range(1, count + 1)]
        return tuple(
            Fold(index=i, count=count, train=part(every - {i, v}), validation=part({v}), test=part({i}))
            for i, v in pairs
        )


@dataclass(frozen=True, kw_only=True)
class Fold:
    """One cut of a topic set into three parts that share no query."""

    index: int
    """i of "fold i of n", from 1."""
    count: int
    """n."""
    train: TopicSet
    """Topics to learn from."""
    validation: TopicSet
    """Topics to choose models and parameters on; never the test topics."""
    test: TopicSet
    """Opened once, after all choices are made."""

    def __repr__(self) -> str:
        sizes = f"{len(self.train)} training, {len(self.validation)} validation and {len(self.test)} test topics"
        return f"Fold({self.index} of {self.count} of {shown(self.test.name)}: {sizes})"


_SETS: WeakValueDictionary[tuple[object, ...], TopicSet] = WeakValueDictionary()
"""Sets that were pickled or come from a pickle, by class, content and flags."""


def _one_set(key: tuple[Any, ...], topics: Sequence[Topic], flags: Mapping[str, object]) -> TopicSet:
    """The set of a pickle, or its equal that is here already."""
    return _SETS.get(key) or _SETS.setdefault(key, key[0](topics, **flags))


def as_topic_set(topics: TopicSet | Iterable[Topic]) -> TopicSet:
    """A topic set as it is; of topics in a list or a stream, one that is named "topics" and has no marks.

    Raises:
        TypeError: something else than topics.
        ValueError: a repeated query id, or topics of different widths.
    """
    return topics if isinstance(topics, TopicSet) else TopicSet(topics, name="topics")


def _listed(topics: Iterable[Topic]) -> tuple[Topic, ...]:
    """The topics, if that is what they are."""
    if isinstance(topics, Iterable) and not isinstance(topics, str):
        listed = tuple(topics)
        wrong = next((place for place, topic in enumerate(listed) if not isinstance(topic, Topic)), None)
        if wrong is None:
            return listed
        fault = f", whose entry {wrong} is {shown(listed[wrong])}"
    else:
        fault = "; srd_gym.load_topics reads names and files" if isinstance(topics, str) else ""
    raise TypeError(
        "topics must be a TopicSet, the path of a Parquet file or the name of a set, or Topics in a list, got "
        f"{with_type(topics)}{fault}"
    )


_ADDED = ("subtopic_scores",)
"""Fields that older versions lacked: absent, they leave fingerprints, which models and results hold, as they were."""
