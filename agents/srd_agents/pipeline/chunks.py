"""Documents of which chunks were retrieved, or that have a vector for each token: one result each, by `similarity=`.

Shapes: N chunks, D documents, M tokens at most of a document, Q tokens of a query, F vector width.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from srd_agents.heuristic.greedy import rows_of
from srd_agents.heuristic.relevance import cosines
from srd_agents.pipeline.groups import group_ids
from srd_agents.pipeline.limits import array_of, row_of
from srd_gym.checks import check_option
from srd_gym.dtypes import IntArray, ScoreArray
from srd_gym.topic import FloatArray


class WholeDocuments(NamedTuple):
    """Documents in the order in which their first chunks came; `diversify` takes `scores` and `similarity`."""

    scores: ScoreArray
    """[D] float64."""
    similarity: FloatArray
    """[D, D] float32, 1 on the diagonal."""
    best: IntArray
    """[D] int64, the chunk that represents each document, by its position among those given: that of the highest
    score, the earlier one of equal ones."""


def of_chunks(
    doc_vectors: ArrayLike,
    parents: object,
    scores: ArrayLike | None = None,
    *,
    query_vector: ArrayLike | None = None,
    similarity: str = "nearest",
) -> WholeDocuments:
    """Documents as their chunks say: the score is that of the best chunk.

    O(N^2 F) time, and N^2 cosines in memory.

    Args:
        doc_vectors: [N, F] of the chunks.
        parents: [N] id of each chunk's document; None of one that is a document of its own.
        scores: [N] of the chunks, higher is better; None: their cosines with the query.
        query_vector: [F], where there are no scores.
        similarity: "nearest" (the highest cosine of a chunk of one and one of the other: documents with one passage in
            common are alike, and near-duplicates unless `near_duplicates=None`), or "mean" (of all such pairs).

    Raises:
        TypeError: no numbers, or ids that are none.
        ValueError: other shapes, neither scores nor a query vector, or another similarity.

    Examples:
        >>> from srd_agents import diversify
        >>> vectors, parents = [[1, 0], [0, 1], [1, 0.1], [1, 1]], ["a", "a", "b", "c"]
        >>> documents = of_chunks(vectors, parents, [3, 4, 2, 1])
        >>> found = diversify(similarity=documents.similarity, scores=documents.scores, k=2)
        >>> documents.best[found.indices].tolist()
        [1, 2]
    """
    check_option("similarity", similarity, ("nearest", "mean"))
    vectors = _vectors("doc_vectors", doc_vectors, 2).astype(np.float32)
    count = len(vectors)
    numbers: dict[object, int] = {}
    names = group_ids("of chunks", parents, count, {}, "parents")
    of = np.array([numbers.setdefault(name, len(numbers)) for name in names], np.int64)
    if scores is None and query_vector is None:
        raise ValueError("chunks need scores or query_vector, got neither; give one of them")
    if scores is None:
        values = cosines(_vectors("query_vector", query_vector, 1).astype(np.float32), vectors).astype(np.float64)
    else:
        values = row_of("of chunks", "scores", scores, count).astype(np.float64)
    together = np.lexsort((-values, of))
    starts = np.searchsorted(of[together], np.arange(len(numbers)))
    units = rows_of(vectors).unit(together)
    reduce = np.maximum.reduceat if similarity == "nearest" else np.add.reduceat
    alike: Any = units @ units.T
    if len(numbers):
        alike = reduce(reduce(alike, starts, axis=0), starts, axis=1)
    if similarity == "mean":
        sizes = np.bincount(of)
        alike /= np.multiply.outer(sizes, sizes)
    return WholeDocuments(values[together[starts]], _whole(alike), together[starts])


def of_tokens(query_vectors: ArrayLike, doc_vectors: ArrayLike, mask: ArrayLike | None = None) -> WholeDocuments:
    """Documents by late interaction (Khattab & Zaharia, SIGIR 2020): MaxSim on the scale of cosines.

    MaxSim of a query and a document is the mean, over the query's tokens, of the highest cosine with a token of the
    document (ColBERT's sum, divided by Q). The similarity of two documents is the mean of theirs in both directions.
    O(D^2 M^2 F) time: seconds for a hundred documents of 180 tokens.

    Args:
        query_vectors: [Q, F].
        doc_vectors: [D, M, F].
        mask: [D, M], true where there is a token, one at least for each document; None: everywhere.

    Raises:
        TypeError: no numbers.
        ValueError: other shapes or widths, or a document without a token.
    """
    query, documents = _vectors("query_vectors", query_vectors, 2), _vectors("doc_vectors", doc_vectors, 3)
    held = np.ones(documents.shape[:2], np.bool_)
    if mask is not None:
        held = array_of("of tokens", "mask", mask, "iub", "true and false").astype(np.bool_)
    if held.shape != documents.shape[:2] or not held.any(axis=1).all():
        raise ValueError(f"mask must be {documents.shape[:2]} and true for a token of each document, got {held.shape}")
    if query.shape[-1] != documents.shape[-1] or not len(query):
        raise ValueError(f"query_vectors must be [Q, {documents.shape[-1]}] with Q at least 1, got {query.shape}")
    units = rows_of(documents.astype(np.float32)).unit(...)
    each = [_max_sim(one[own], units, held) for one, own in zip(units, held, strict=True)]
    alike = np.array(each, np.float32).reshape(len(units), -1)
    scores = _max_sim(rows_of(query.astype(np.float32)).unit(...), units, held).astype(np.float64)
    return WholeDocuments(scores, _whole((alike + alike.T) / 2), np.arange(len(units)))


def _max_sim(tokens: FloatArray, units: FloatArray, held: Any) -> FloatArray:
    """[D] mean over tokens [T, F] of the highest cosine with one of each document [D, M, F]."""
    near = np.where(held[:, None], tokens @ units.swapaxes(1, 2), -np.inf)
    mean: FloatArray = near.max(axis=2).mean(axis=1)
    return mean


def _whole(alike: Any) -> FloatArray:
    """Similarities of documents, each alike to itself."""
    np.fill_diagonal(alike, 1.0)
    whole: FloatArray = alike.astype(np.float32)
    return whole


def _vectors(name: str, values: Any, dimensions: int) -> Any:
    """Numbers of so many dimensions."""
    array = array_of("of chunks", name, values)
    if array.ndim != dimensions:
        raise ValueError(f"{name} must have {dimensions} dimensions, got shape {array.shape}")
    return array
