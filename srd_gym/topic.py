"""The problem's nouns: a topic (one query with its candidates) and a topic set.

Shapes: N candidates, S subtopics, F vector width, P judged documents (pool), D feature columns.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, Self, overload
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from srd_gym.checks import check_integer, unknown
from srd_gym.reading import few, shown, with_type
from srd_gym.showing import ROWS, html_table
from srd_gym.topic_fields import ARRAYS, TEXTS, checked_fields

FloatArray = NDArray[np.float32]
GradeArray = NDArray[np.int8]


@dataclass(frozen=True, kw_only=True, eq=False, slots=True)
class Topic:
    """One query, the documents retrieved for it, and the judgments where they are known.

    Candidates stand in retrieval order where one exists (`retrieval_scores` is then given), else in a fixed shuffle.
    Arrays are checked, converted to the dtypes below and held as read-only views; what already fits is not copied.

    Raises:
        ValueError: shapes that do not match, values that are not finite, or repeated ids; the message names the topic.
    """

    query_id: str
    """Text: "7" and "07" are two topics."""
    doc_ids: tuple[str, ...]
    """Ids of the N candidates, each once."""
    query_text: str | None = None
    """The query as typed."""
    query_vector: FloatArray | None = None
    """[F] float32."""
    doc_texts: tuple[str, ...] | None = None
    """N texts, for vectorisers and for showing."""
    doc_vectors: FloatArray | None = None
    """[N, F] float32; None while texts wait for a vectoriser."""
    retrieval_scores: FloatArray | None = None
    """[N] float32, higher is better, never rising along the candidates; None where there is no retrieval order. Scores
    that float32 cannot hold are all scaled by one power of two."""
    subtopic_ids: tuple[str, ...] = ()
    """Ids of the S subtopics; "1", "2", ... unless given."""
    subtopic_texts: tuple[str, ...] | None = None
    """S texts; explicit methods (xQuAD, PM-2) read them."""
    subtopic_vectors: FloatArray | None = None
    """[S, F] float32."""
    subtopic_weights: FloatArray | None = None
    """[S] float32, positive; None means 1 each."""
    subtopic_scores: FloatArray | None = None
    """[N, S] float32, on any scale, higher is more: how far a cross-encoder or a language model says that each
    candidate speaks of each subtopic, beside or instead of `subtopic_vectors`. NaN: not rated."""
    judgments: GradeArray | None = None
    """[N, S] int8, stored as given: >= the relevance level (1) covers. None: unlabelled."""
    pool: GradeArray | None = None
    """[P, S] int8: every judged document of the topic, retrieved or not; the ideal ranking of ndeval comes from it."""
    pool_ids: tuple[str, ...] | None = None
    """Ids of the P pool documents; the ideal ranking breaks ties by them."""
    doc_features: FloatArray | None = None
    """[N, D] float32: relevance columns that a set brings along (BM25, PageRank, ...)."""
    feature_names: tuple[str, ...] = ()
    """Names of the D columns."""

    def __post_init__(self) -> None:
        for name, value in checked_fields(self).items():
            object.__setattr__(self, name, value)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        # Nothing in it changes, and Gymnasium copies environment arguments deeply whenever a spec is asked for.
        return self

    def __repr__(self) -> str:
        text = "" if self.query_text is None else f", {shown(self.query_text)}"
        width = "no vectors" if self.vector_width is None else f"vector width {self.vector_width}"
        judged = "judged" if self.labelled else "not judged"
        return (
            f"Topic({shown(self.query_id)}{text}: {self.n_candidates} candidates, {self.n_subtopics} subtopics, "
            f"{width}, {judged})"
        )

    def _repr_html_(self) -> str:
        """A table of the first candidates, for notebooks."""
        columns: dict[str, Sequence[str]] = {
            "": [str(i) for i in range(min(self.n_candidates, ROWS))],
            "document": self.doc_ids,
        }
        if self.retrieval_scores is not None:
            columns["score"] = [f"{score:.4g}" for score in self.retrieval_scores[:ROWS].tolist()]
        if self.doc_texts is not None:
            columns["text"] = self.doc_texts
        if self.judgments is not None:
            names = self.subtopic_names
            columns["covers"] = [few([names[s] for s in np.flatnonzero(row >= 1)], 3) for row in self.judgments[:ROWS]]
        return html_table(repr(self), columns, self.n_candidates)

    @property
    def n_candidates(self) -> int:
        """N."""
        return len(self.doc_ids)

    @property
    def n_subtopics(self) -> int:
        """S."""
        return len(self.subtopic_ids)

    @property
    def subtopic_names(self) -> tuple[str, ...]:
        """The text of each of the S subtopics, its id where it has none."""
        texts = self.subtopic_texts or self.subtopic_ids
        return tuple(text or name for text, name in zip(texts, self.subtopic_ids, strict=True))

    @property
    def vector_width(self) -> int | None:
        """F, or None where there are no document vectors."""
        return None if self.doc_vectors is None else self.doc_vectors.shape[1]

    @property
    def labelled(self) -> bool:
        """Whether the candidates are judged."""
        return self.judgments is not None

    @property
    def trainable(self) -> bool:
        """Whether some candidate covers some subtopic: without one, every ranking earns 0 and teaches nothing."""
        return self.judgments is not None and bool((self.judgments >= 1).any())

    def feature(self, name: str) -> FloatArray:
        """A column of `doc_features` by its name, [N].

        Raises:
            ValueError: it has no such column; the message suggests the nearest.
        """
        if self.doc_features is None or name not in self.feature_names:
            raise unknown(f"feature column of topic {shown(self.query_id)}:", name, self.feature_names)
        column: FloatArray = self.doc_features[:, self.feature_names.index(name)]
        return column

    def require_vectors(self, who: str) -> FloatArray:
        """The document vectors, [N, F] float32, for one who cannot do without.

        Args:
            who: who needs them, for the error.

        Raises:
            ValueError: there are none; the message says how to make some.
        """
        if self.doc_vectors is None:
            raise _no_vectors(f"topic {shown(self.query_id)}", who)
        return self.doc_vectors

    def take(self, candidates: Iterable[int]) -> Topic:
        """The same topic with only these candidates, in this order (indices, each at most once; or a mask).

        The pool stays: leaving documents out does not change what was judged. Retrieval scores are kept only if the
        order keeps them from rising.
        """
        chosen = np.arange(self.n_candidates)[list(candidates)]
        given = {name: getattr(self, name) for name, axes in (TEXTS | ARRAYS).items() if axes.startswith("N")}
        taken: dict[str, Any] = {
            name: [value[i] for i in chosen] if name in TEXTS else value[chosen]
            for name, value in given.items()
            if value is not None
        }
        if (np.diff(taken.get("retrieval_scores", ())) > 0).any():
            taken["retrieval_scores"] = None
        return replace(self, **taken)


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
        self._named: tuple[Any, ...] | None = None
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

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        # Nothing in it changes, and Gymnasium copies environment arguments deeply whenever a spec is asked for.
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        # By its name, where that makes it anywhere; copies of others are one set in a process.
        key = (type(self), self.fingerprint, *self._flags.values())
        _SETS.setdefault(key, self)
        return self._named or (_one_set, (key, self._topics, self._flags))

    def __repr__(self) -> str:
        marks = "".join(f", {mark}" for mark in self.marks)
        return (
            f"TopicSet({shown(self.name)}: {len(self)} topics, at most {self.max_candidates} candidates, "
            f"vector width {self.vector_width}{marks})"
        )

    def replace(self, topics: Iterable[Topic], **changes: Any) -> Self:
        """Another set with this one's name, flags and encoder, unless `changes` says otherwise."""
        return type(self)(topics, **(self._flags | changes))

    @property
    def _flags(self) -> dict[str, Any]:
        """Its arguments but the topics."""
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
            raise _no_vectors(f"topic set {shown(self.name)}", who)
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


_SETS: WeakValueDictionary[tuple[Any, ...], TopicSet] = WeakValueDictionary()
"""Sets that were pickled or come from a pickle, by class, content and flags."""


def _one_set(key: tuple[Any, ...], topics: Sequence[Topic], flags: Mapping[str, Any]) -> TopicSet:
    """The set of a pickle, or its equal that is here already."""
    return _SETS.get(key) or _SETS.setdefault(key, key[0](topics, **flags))


def as_topic_set(topics: TopicSet | Iterable[Topic]) -> TopicSet:
    """A topic set as it is; of topics in a list or a stream, one that is named "topics" and has no marks.

    Raises:
        TypeError: something else than topics.
        ValueError: a repeated query id, or topics of different widths.
    """
    return topics if isinstance(topics, TopicSet) else TopicSet(topics, name="topics")


def one_topic(topic: Topic) -> Topic:
    """The topic, which is one and not several.

    Raises:
        TypeError: something else.
    """
    if isinstance(topic, Topic):
        return topic
    raise TypeError(f"rank takes one Topic, got {with_type(topic)}; rank_batch takes several")


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


def _no_vectors(what: str, who: str) -> ValueError:
    """The error for topics that lack document vectors."""
    return ValueError(
        f"{what} has no document vectors, which {who} needs; make them from texts (`srd data build ... --vectors lsa`, "
        "in Python srd_gym.data.LsaVectorizer) or from judgments (srd_gym.data.simulate_vectors), or give your own "
        "(doc_vectors, `--vectors FILE`)"
    )


_ADDED = ("subtopic_scores",)
"""Fields that older versions lacked: absent, they leave fingerprints, which models and results hold, as they were."""

TOPIC_FIELDS = tuple(field.name for field in fields(Topic))
"""Names of a topic's fields, in the order of definition."""
