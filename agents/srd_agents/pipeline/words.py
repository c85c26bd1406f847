"""Documents without vectors: compared by the words of their texts, by the vectors of those, or ranked by their scores.

Shapes: N documents of a topic, M of them without a vector, F vector width.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any

import numpy as np

from srd_agents.heuristic.greedy import rows_of
from srd_agents.pipeline.subtopics import Lookup, vectors_by
from srd_gym.checks import array_from, check_even
from srd_gym.reading import shown, with_type
from srd_gym.topic import FloatArray

_WIDEST = 256
"""Dimensions at most; up to so many texts, cosines are exactly those of TF-IDF."""

_LOCK = Lock()
BY_WORDS = "the texts are compared by their words"
"""Note on a topic without vectors."""


def with_vectors(
    given: Any, embed: Lookup | None, *, named: bool = False, alone: bool = False
) -> tuple[Any, Lookup | None, str]:
    """A topic whose documents all have vectors.

    Documents without get that of their text where `embed` makes one. If no document has a vector and nothing embeds
    them, they are compared by their words, and so is the query, unless scores say what is relevant and no subtopics are
    named: cosines with a word or two may hardly differ, and are then no scale for scores. A document without a vector
    among others that have one is then ranked by its score alone: its cosine with another document is the mean cosine of
    two documents, and it is no near-duplicate.

    Args:
        given: a `srd_agents.pipeline.given.Given`; documents without a vector are None.
        embed: makes vectors of texts; None: nothing does.
        named: whether subtopics are named.
        alone: whether it is the only topic, which a warning then need not name.

    Returns:
        The topic, what embeds texts about it, and a note on what was done ("": nothing).

    Raises:
        ImportError: scikit-learn is not installed; the message names the extra.
        TypeError: texts that are none.
        ValueError: neither vectors nor texts, more or fewer texts than documents, a query's vector beside texts without
            `embed`, or a document without a vector that has no score and whose text nothing embeds.
    """
    vectors, texts = given.doc_vectors, given.doc_texts
    if given.similarity is not None or (texts is None and isinstance(vectors, np.ndarray)):
        return given, embed, ""
    topic = f"topic {shown(given.query_id)}: "
    if texts is not None:
        texts = _one_each(texts, vectors, topic)
        given = given._replace(doc_texts=texts)
    gaps = (
        [place for place, vector in enumerate(vectors) if vector is None] if isinstance(vectors, list | tuple) else []
    )
    if vectors is not None and not gaps:
        return given, embed, ""
    if vectors is None or len(gaps) == len(vectors):
        if texts is None:
            raise ValueError(f"{topic}no document has a vector; give doc_vectors, or texts")
        return _of_texts(given, embed, topic, named)
    some = f"{len(gaps)} of {len(vectors)} documents have no vector and are"
    check_even(f"{topic}doc_vectors", vectors)
    filled = list(vectors)
    if embed is not None and texts is not None:
        note, made = f"{some} embedded by their texts", vectors_by(embed, [texts[place] for place in gaps])
    elif given.scores is not None:
        note, given = f"{some} ranked by their scores alone", given._replace(without_vector=tuple(gaps))
        made = _average(array_from([each for each in vectors if each is not None]).astype(np.float32), len(gaps))
        warnings.warn(f"{topic * (not alone)}{note}; give embed= and texts, or their vectors", stacklevel=4)
    else:
        raise ValueError(
            f"{topic}document {gaps[0]} has no vector; give it, embed= and texts, or scores, by which it is then ranked"
        )
    for place, vector in zip(gaps, made, strict=True):
        filled[place] = vector
    return given._replace(doc_vectors=filled), embed, note


def _of_texts(given: Any, embed: Lookup | None, topic: str, named: bool) -> tuple[object, Lookup | None, str]:
    """`with_vectors` where no document has one."""
    texts, query, note = given.doc_texts, given.query_text, ""
    if not isinstance(query, str | None):
        raise TypeError(f"{topic}query_text must be text, got {with_type(query)}")
    if embed is None and given.scores is not None and not named:
        query = None
    asked = [*texts, *([] if query is None or given.query_vector is not None else [query])]
    if embed is None:
        if given.query_vector is not None:
            raise ValueError(f"{topic}query_vector belongs to doc_vectors, which are missing; give query_text")
        embed, note = embed_by_words(asked), BY_WORDS
    made = vectors_by(embed, asked)
    found = given.query_vector if len(made) == len(texts) else made[-1]
    return given._replace(doc_vectors=made[: len(texts)], query_vector=found), embed, note


def _average(vectors: FloatArray, count: int) -> FloatArray:
    """Unit vectors as near to given ones, and to one another, as those are on average: [M, F] of [N - M, F].

    They share the mean of the unit vectors; the rest, up to length 1, points anywhere.
    """
    mean = rows_of(vectors).unit(slice(None)).mean(axis=0)
    square = float(mean @ mean)
    if not square:
        return np.zeros((count, vectors.shape[1]), np.float32)
    rest = np.random.default_rng(0).normal(size=(count, vectors.shape[1])).astype(np.float32)
    rest -= (rest @ mean)[:, None] * mean / square
    rest /= np.maximum(np.linalg.norm(rest, axis=1, keepdims=True), np.finfo(np.float32).tiny)
    made: FloatArray = mean + np.float32(max(0.0, 1.0 - square) ** 0.5) * rest
    return made


def embed_by_words(texts: Sequence[str]) -> Lookup:
    """A function that makes vectors [n, F] of a list of n texts, learned from these texts: TF-IDF, then LSA.

    Of texts that hold fewer than two different words it makes zeros, with a warning.

    Args:
        texts: of the documents that are to be compared.

    Raises:
        ImportError: scikit-learn is not installed; the message names the extra.
        TypeError: something else than texts.
    """
    from srd_gym.data.lsa import LsaVectorizer

    texts = checked_texts(texts)
    try:
        vectorizer = LsaVectorizer(max(1, min(len(texts), _WIDEST)))
        # Of one text, scikit-learn's share of variance is 0 / 0.
        with np.errstate(invalid="ignore"), _one_thread():
            return vectorizer.fit(texts).transform
    except ValueError:
        warnings.warn(
            f"the {len(texts)} texts of documents and query hold fewer than two different words, so that nothing tells "
            "them apart; give vectors instead",
            stacklevel=8,
        )
        return lambda asked: np.zeros((len(asked), 1), np.float32)


@contextmanager
def _one_thread() -> Iterator[None]:
    """Keep matrix products to one thread: beside other programs, threads wait a hundred times as long as they work.

    The number of threads is the process's, so one caller after the other changes it and puts it back.
    """
    libraries = _libraries()
    if libraries is None:
        yield
        return
    with _LOCK, libraries.limit(limits=1):
        yield


@cache
def _libraries() -> Any:
    """Those of matrix products; None without scikit-learn, of which the vectoriser tells."""
    try:
        import sklearn.decomposition  # noqa: F401 - what is loaded later is not seen
        from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]
    except ImportError:
        return None
    return ThreadpoolController()


def _one_each(texts: object, vectors: Any, topic: str) -> list[str]:
    """Texts as a list; a column of a data frame would be looked up by its index."""
    listed = checked_texts(texts)
    count = len(listed) if vectors is None else vectors.shape[0] if hasattr(vectors, "shape") else len(vectors)
    if len(listed) != count:
        raise ValueError(f"{topic}got {len(listed)} texts for {count} documents; expected one each, in their order")
    return listed


def checked_texts(texts: Any) -> list[str]:
    """Texts as a list.

    Raises:
        TypeError: something else.
    """
    if isinstance(texts, str | bytes | Mapping | Set) or not hasattr(texts, "__len__"):
        raise TypeError(f"texts must be a list of texts, got {with_type(texts)}")
    for place, text in enumerate(texts):
        if not isinstance(text, str):
            raise TypeError(f"texts must be text, got {with_type(text)} at position {place}")
    return list(texts)
