"""A topic: one query with its candidates, and the judgments where they are known.

Shapes: N candidates, S subtopics, F vector width, P judged documents (pool), D feature columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from srd_gym.checks import unknown
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
    Documents have `doc_ids` (N), `doc_texts`, `doc_vectors` [N, F] and `retrieval_scores` [N]; the query has
    `query_vector` [F]; S subtopics have `subtopic_texts` and `subtopic_vectors` [S, F]; `judgments` are [N, S] int8.

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

    def __deepcopy__(self, memo: dict[int, object]) -> Self:
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
            raise no_vectors(f"topic {shown(self.query_id)}", who)
        return self.doc_vectors

    def take(self, candidates: Iterable[int]) -> Topic:
        """The same topic with only these candidates, in this order (indices, each at most once; or a mask).

        The pool stays: leaving documents out does not change what was judged. Retrieval scores are kept only if the
        order keeps them from rising.
        """
        chosen = np.arange(self.n_candidates)[list(candidates)]
        taken: dict[str, Any] = {}
        for name, axes in (TEXTS | ARRAYS).items():
            value = getattr(self, name)
            if axes.startswith("N") and value is not None:
                taken[name] = [value[i] for i in chosen] if name in TEXTS else value[chosen]
        if (np.diff(taken.get("retrieval_scores", ())) > 0).any():
            taken["retrieval_scores"] = None
        return replace(self, **taken)


def one_topic(topic: Topic) -> Topic:
    """The topic, which is one and not several.

    Raises:
        TypeError: something else.
    """
    if isinstance(topic, Topic):
        return topic
    raise TypeError(f"rank takes one Topic, got {with_type(topic)}; rank_batch takes several")


def no_vectors(what: str, who: str) -> ValueError:
    """The error for topics that lack document vectors."""
    return ValueError(
        f"{what} has no document vectors, which {who} needs; make them from texts (`srd data build ... --vectors lsa`, "
        "in Python srd_gym.data.LsaVectorizer) or from judgments (srd_gym.data.simulate_vectors), or give your own "
        "(doc_vectors, `--vectors FILE`)"
    )


TOPIC_FIELDS = tuple(field.name for field in fields(Topic))
"""Names of a topic's fields, in the order of definition."""
