"""Topics as callers have them: one or a batch taken apart, made ready, and made the topics that rankers see.

Shapes: B topics, N documents of a topic, S subtopics of a topic, F vector width, P documents shown before, R
places pinned.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Sized
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from srd_agents.pipeline.documents import Gaps
from srd_agents.pipeline.limits import array_of, scores_of
from srd_agents.pipeline.naming import Named, Namer, Names, named_by
from srd_agents.pipeline.subtopics import Lookup, embedded, no_embed, texts_of, weights_apart
from srd_agents.pipeline.words import with_vectors
from srd_gym.checks import array_from, rows_of_column
from srd_gym.dtypes import AnyArray, IntArray
from srd_gym.reading import shown as as_text
from srd_gym.topic import Topic
from srd_gym.topic_fields import PlainIds


class Given(NamedTuple):
    """A topic as a caller has it; what nobody knows is None."""

    query_id: str
    """For rankers' messages."""
    doc_ids: tuple[str, ...] | None = None
    """N ids; None numbers the documents."""
    query_vector: Any = None
    """[F]."""
    doc_vectors: Any = None
    """[N, F]."""
    scores: Any = None
    """[N]; None: the candidates stay as they are and have no retrieval order."""
    subtopics: Any = None
    """[S, F], or S texts beside scores."""
    subtopic_weights: Any = None
    """[S]."""
    subtopic_scores: Any = None
    """[N, S]."""
    groups: Any = None
    """[N], or of each kind of groups [N]."""
    costs: Any = None
    """[N]."""
    already_shown: Any = None
    """[P]."""
    query_text: str | None = None
    """As typed."""
    doc_texts: Any = None
    """N texts."""
    note: str = ""
    """Where the vectors come from, if not from the caller, and why a model named no subtopics."""
    names: Sequence[str] = ()
    """S texts of the subtopics, where they have any."""
    ordered: bool = False
    """Whether documents without scores came best first, as a library's retriever lists them."""
    similarity: Any = None
    """[N, N], in place of vectors."""
    pinned: Any = None
    """[R] positions, None for places that are not pinned."""
    without_vector: tuple[int, ...] = ()
    """Positions of documents ranked by their scores alone, whose vectors stand in for missing ones."""


def taken_apart(*, thin: bool, **parts: Any) -> tuple[list[Given], bool]:
    """The topics of a call: one, or those of a batch.

    Args:
        thin: whether columns of sparse matrices that nothing uses may go.
        parts: of a `Given`, of one topic or of each topic of a batch.

    Returns:
        The topics, and whether this is one topic rather than a batch.

    Raises:
        TypeError: one text for all topics of a batch.
        ValueError: neither vectors nor texts, something of other dimensions, or parts of more or fewer topics.
    """
    if type(parts["doc_vectors"]) is not np.ndarray:
        parts |= _densely(parts["doc_vectors"], parts["query_vector"], bare=thin and parts["subtopics"] is None)
    documents = parts["doc_vectors"] = rows_of_column(parts["doc_vectors"])
    if (similarity := parts.get("similarity")) is not None:
        if documents is not None:
            raise ValueError("similarity takes the place of doc_vectors, got both; give one of them")
        documents = similarity
    if isinstance(documents, list | tuple) and documents and all(each is None for each in documents):
        documents = parts["doc_vectors"] = None
    if _is_alone(documents, parts["doc_texts"]):
        return [Given("0", **parts)], True
    count = len(parts["doc_texts"] if documents is None else documents)
    each = [_each(name, part, count) for name, part in parts.items()]
    return [Given(str(b), **dict(zip(parts, own, strict=True))) for b, own in enumerate(zip(*each, strict=True))], False


def _densely(documents: Any, query: Any, *, bare: bool) -> dict[str, object]:
    """Sparse matrices of scipy as arrays; where there is nothing else to compare (`bare`), without unused columns."""
    if isinstance(documents, list | tuple) and any(map(_is_sparse, documents)):
        queries = _each("query_vector", query, len(documents))
        each = [_densely(*pair, bare=bare) for pair in zip(documents, queries, strict=True)]
        return {name: [one[name] for one in each] for name in ("doc_vectors", "query_vector")}
    if not _is_sparse(documents):
        return {"doc_vectors": documents, "query_vector": query}
    rows = documents.tocsr()
    query = query.toarray().ravel() if _is_sparse(query) else None if query is None else array_from(query).ravel()
    if bare and (query is None or len(query) == rows.shape[1]):
        used = np.bincount(rows.indices, minlength=rows.shape[1]) > 0
        used |= False if query is None else query != 0
        rows, query = rows[:, used], None if query is None else query[used]
    return {"doc_vectors": rows.toarray(), "query_vector": query}


def _is_sparse(value: object) -> bool:
    """Whether this is a sparse matrix of scipy, or a like one."""
    return hasattr(value, "tocsr") and hasattr(value, "toarray")


def _is_alone(doc_vectors: Any, texts: Any) -> bool:
    """Whether this is one topic, not a batch.

    Raises:
        ValueError: neither vectors nor texts, or something of other dimensions.
    """
    if doc_vectors is None:
        if texts is None:
            raise ValueError("there are no documents; give doc_vectors ([N, F]), or texts (N of them)")
        each_lists = hasattr(texts, "__len__") and all(isinstance(each, Sized | None) for each in texts)
        return not each_lists or not len(texts) or any(isinstance(each, str | bytes | Mapping) for each in texts)
    plain = type(doc_vectors) is np.ndarray and doc_vectors.ndim > 1
    dimensions = doc_vectors.ndim if plain else _dimensions(doc_vectors)
    if dimensions not in (2, 3):
        raise ValueError(
            "doc_vectors must be [N, F] (one topic), or [B, N, F] or B arrays [N, F] (a batch), "
            f"got {dimensions} dimension{'' if dimensions == 1 else 's'}; np.stack makes one array of many vectors"
        )
    return dimensions == 2


def _dimensions(value: Any) -> int:
    """Dimensions of an array, or of lists of lists judged by their first entries that hold something.

    Others may be ragged. No documents, however written, count as [0, F].
    """
    depth = 0
    while isinstance(value, list | tuple) and value:
        told = (entry for entry in value if entry is not None and not _is_empty(entry))
        value, depth = next(told, value[0]), depth + 1
    dimensions = int(np.ndim(value))
    return depth + (2 if dimensions == 1 and _is_empty(value) else dimensions)


def _is_empty(documents: Any) -> bool:
    """Whether these are no documents: [], or an array [0] or [0, F]."""
    return not documents if isinstance(documents, list | tuple) else np.shape(documents)[:1] == (0,)


def _each(name: str, value: Any, count: int) -> Sequence[object]:
    """A batch's argument taken apart, one entry a topic; None is None for each."""
    if value is None:
        return [None] * count
    if isinstance(value, str):
        raise TypeError(
            f"the documents are lists in a list, a batch of {count} topics, so {name} must be {count} texts, got one: "
            f"{as_text(value)}; texts of one topic are a list of strings"
        )
    came: object
    try:
        entries = [] if isinstance(value, Mapping) else list(value)
        came = str(len(entries))
    except TypeError:
        entries, came = [], as_text(value)
    if len(entries) != count:
        raise ValueError(
            f"the documents are a batch of {count} topics, so {name} must have {count} entries, one per topic, "
            f"got {came}"
        )
    return entries


def has_documents(given: Given) -> bool:
    """Whether something was retrieved for the topic.

    Raises:
        ValueError: something is given of documents where there are none.
    """
    held = (given.doc_vectors, given.similarity, given.doc_texts)
    if not _is_empty(next((each for each in held if each is not None), None)):
        return True
    for name in ("scores", "subtopic_scores", "groups", "costs", "already_shown", "pinned", "doc_texts"):
        part = getattr(given, name)
        if part is not None and any(map(np.size, part.values() if isinstance(part, Mapping) else [part])):
            raise ValueError(
                f"topic '{given.query_id}': there are no documents, got {name}; give doc_vectors, or leave it out"
            )
    return False


def ready_to_rank(
    given: Sequence[Given], embed: Lookup | None, *, named: bool, names: Names | None = None, alone: bool = False
) -> list[Given]:
    """Topics with the vectors of what they have as texts, and with their subtopics; `embed` is asked once.

    Args:
        given: the topics.
        embed: makes vectors of texts; None: texts are compared by their words.
        named: whether subtopics are named, which may be texts, and have their weights: {text: weight}.
        names: gives the subtopics of each topic, in place of what it has.
        alone: as of `srd_agents.pipeline.words.with_vectors`.

    Raises:
        ImportError, TypeError, ValueError: as `srd_agents.pipeline.words.with_vectors` and
            `srd_agents.pipeline.naming.named_by`, names of a model without `embed`, or weights twice.
    """
    if names is not None:
        bare = embed is None and any(one.doc_vectors is not None and one.subtopic_scores is None for one in given)
        if isinstance(names, Namer) and bare:
            raise no_embed("that a model names")
        asked = [one.query_text for one in given], [one.doc_texts for one in given]
        told = named_by(names, *asked, [one.query_id for one in given])
        given = [
            one._replace(subtopics=own, note=own.note if isinstance(own, Named) else "")
            for one, own in zip(given, told, strict=True)
        ]
    if named:
        given = [_told(one) for one in given]
        if embed is not None and given:
            rated = [one.subtopic_scores for one in given]
            vectors = embedded([one.subtopics for one in given], embed, rated, [one.query_text for one in given])
            given = [one._replace(subtopics=told) for one, told in zip(given, vectors, strict=True)]
    ready = list[Given]()
    for each in given:
        one, by, note = with_vectors(each, embed, named=named, alone=alone)
        if named and embed is None:
            one = one._replace(subtopics=embedded([one.subtopics], by, [one.subtopic_scores], [one.query_text])[0])
        ready.append(one._replace(note="; ".join(filter(None, [each.note, note]))) if note else one)
    return ready


def _told(given: Given) -> Given:
    """The topic with the weights and the texts of its subtopics apart, where they have any."""
    subtopics, weights = weights_apart(given.subtopics, given.subtopic_weights)
    return given._replace(subtopics=subtopics, subtopic_weights=weights, names=texts_of(subtopics))


def plainly(error: Exception) -> None:
    """Let an error about the one query of a call not call it topic '0'."""
    if "topic '0'" in str(error):
        error.args = (str(error).removeprefix("topic '0': ").replace("topic '0'", "this query"),)


def topic_of(given: Given, gaps: Gaps, scores: str = "scores") -> tuple[Topic, IntArray | None]:
    """The topic that a ranker is to see: an unlabelled one, its candidates in the order of their scores.

    Args:
        given: the topic as a caller has it.
        gaps: takes note of missing scores.
        scores: the caller's word for them, for errors.

    Returns:
        The topic, and for each of its candidates its position among the documents given (None: the same).
    """
    ids, documents = given.doc_ids, _documents(given)
    if ids is None:
        ids = _numbered(len(documents if documents is not None else ()))
    count = len(ids)
    order = first_stage = None
    if given.scores is not None:
        first_stage, order = scores_of(given.query_id, scores, given.scores, count, gaps)
        if first_stage is not None and order is not None:
            _check_one_each(given, documents, count)
            if documents is not None:  # the topic checks them sorted, where a row in an error would be another one
                documents = array_of(given.query_id, "doc_vectors", documents).take(order, axis=0)
                if given.similarity is not None:
                    documents = documents.take(order, axis=1)
            first_stage = first_stage[order]
    elif given.ordered:
        first_stage = np.arange(count, 0, -1)
    if order is not None and given.doc_ids is not None:
        ids = tuple([ids[i] for i in order.tolist()])
    texts = given.doc_texts
    if texts is not None and order is not None:
        texts = [texts[i] for i in order.tolist()]
    topic = Topic(
        query_id=given.query_id,
        query_text=given.query_text,
        doc_ids=ids,
        query_vector=None if given.query_vector is None else _row(given.query_id, given.query_vector),
        doc_texts=texts,
        doc_vectors=documents,
        retrieval_scores=first_stage,
        **_subtopics(given, order, count),
    )
    return topic, order


def _documents(given: Given) -> AnyArray | None:
    """[N, F] vectors, or [N, N] similarities in their place.

    Raises:
        ValueError: no symmetric square, no scores, or vectors of query or subtopics.
    """
    if given.similarity is None:
        vectors = given.doc_vectors
        return None if vectors is None else array_of(given.query_id, "doc_vectors", vectors, may_lack=True)
    similarity, topic = array_of(given.query_id, "similarity", given.similarity), f"topic {as_text(given.query_id)}: "
    if similarity.ndim != 2 or len({*similarity.shape}) > 1:
        raise ValueError(f"{topic}similarity has shape {similarity.shape}, expected (N, N): of all pairs of documents")
    if not np.allclose(similarity, similarity.T, rtol=1e-4, atol=1e-6):
        raise ValueError(f"{topic}similarity must be symmetric; (S + S.T) / 2 makes it so")
    if given.query_vector is not None or (given.subtopics is not None and not texts_of(given.subtopics)):
        raise ValueError(f"{topic}similarity has no vectors to compare query_vector or subtopics with; leave these out")
    if given.scores is None:
        raise ValueError(f"{topic}similarity says nothing of relevance; give scores")
    return similarity


def _check_one_each(given: Given, documents: AnyArray | None, count: int) -> None:
    """Refuse more or fewer vectors or texts than documents, before they are sorted.

    Raises:
        ValueError: there are.
    """
    named = "doc_vectors" if given.similarity is None else "similarity"
    for name, rows in ((named, documents), ("doc_texts", given.doc_texts)):
        if rows is not None and len(rows) != count:
            raise ValueError(
                f"topic {as_text(given.query_id)}: {name} has {len(rows)} rows for {count} documents; expected one each"
            )


def _subtopics(given: Given, order: IntArray | None, documents: int) -> dict[str, Any]:
    """The fields of a topic that say what its subtopics are."""
    told = [] if given.subtopics is None else texts_of(given.subtopics)
    named = None if told or given.subtopics is None else _named(given)
    rated = None if given.subtopic_scores is None else _rated(given, documents)
    count = len(told) or (len(named) if named is not None else 0 if rated is None else rated.shape[1])
    weights = given.subtopic_weights
    if weights is not None:
        weights = array_of(given.query_id, "subtopic_weights", weights, may_lack=True)
        if not count and weights.size:
            raise ValueError(
                f"topic {as_text(given.query_id)}: subtopic_weights weigh subtopics, got none; give subtopics or "
                "subtopic_scores, or leave subtopic_weights out"
            )
    return {
        "subtopic_ids": _numbered(count),
        "subtopic_texts": tuple(told) or None,
        "subtopic_vectors": named,
        "subtopic_weights": weights,
        "subtopic_scores": rated if rated is None or order is None else rated[order],
    }


def _named(given: Given) -> AnyArray | None:
    """[S, F] vectors of the subtopics, if there are any."""
    vectors = array_of(given.query_id, "subtopics", given.subtopics, what="texts, or vectors of numbers")
    if vectors.ndim == 2 or vectors.shape == (0,):
        return vectors if len(vectors) else None
    raise ValueError(
        f"topic {as_text(given.query_id)}: subtopics must be [S, F], a vector (or a text) each, got shape "
        f"{vectors.shape}; one subtopic alone is a list of one: [vector]"
    )


def _rated(given: Given, count: int) -> AnyArray:
    """[N, S] scores of the subtopics, a row a document given."""
    rated = array_of(given.query_id, "subtopic_scores", given.subtopic_scores, may_lack=True)
    if rated.ndim != 2 or len(rated) != count:
        raise ValueError(
            f"topic {as_text(given.query_id)}: subtopic_scores have shape {rated.shape}, expected ({count}, S): a row "
            "per document, a column per subtopic"
        )
    return rated


def _row(query_id: str, query: object) -> Any:
    """A query's vector [F], which encoders often give as [1, F]."""
    vector = array_of(query_id, "query_vector", query, may_lack=True)
    return vector[0] if vector.ndim == 2 and len(vector) == 1 else vector


@lru_cache(maxsize=64)
def _numbered(count: int) -> PlainIds:
    """Ids for documents that came without: "0", "1", ...; kept, since making and comparing text is slow."""
    return PlainIds(map(str, range(count)))
