"""What the adapters share: vectors and scores taken off documents, and the default ranker.

Errors speak as those libraries do, of queries and documents. Shapes: N documents of a query, F vector width.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from srd_agents.diversify import Diversified, as_ranker, diversify
from srd_agents.diversity import ByRelevance, with_diversity
from srd_agents.heuristic.greedy import TradeOff
from srd_agents.heuristic.vectors import rows_of
from srd_agents.subtopics import Lookup, check_uses_subtopics
from srd_gym.files import PathLike
from srd_gym.protocols import Ranker


def ranker_of(
    ranker: PathLike | Ranker | None, diversity: float | None, *, option: str = "diversity", subtopics: bool = False
) -> Ranker:
    """The ranker at this diversity.

    None is MMR where diversity is given and no subtopics are, as in those libraries, else `DEFAULT_RANKER`.

    Args:
        ranker: as `srd_agents.diversify` takes it.
        diversity: from 0 (relevance only) to 1 (difference only), or None.
        option: what the library calls it, for errors.
        subtopics: whether there are any.

    Raises:
        TypeError: ranker is nothing that ranks, or diversity no number.
        ValueError: diversity outside [0, 1], or a ranker that takes none, or cannot use subtopics.
    """
    chosen = as_ranker("mmr" if ranker is None and diversity is not None and not subtopics else ranker)
    if subtopics:
        check_uses_subtopics(chosen)
    return with_diversity(chosen, diversity, option)


def diversity_of(relevance: float | None) -> float | None:
    """The weight of diversity in libraries that weigh relevance: 1 less it; None stays None."""
    return None if relevance is None else 1.0 - relevance


def best_first(
    ranker: Ranker,
    k: int,
    vectors: NDArray[Any],
    *,
    query: str,
    query_vector: Any = None,
    scores: Sequence[float] | None = None,
    subtopics: Any = None,
    embed: Lookup | None = None,
) -> Diversified:
    """The k documents to show of one query, by `srd_agents.diversify`.

    Relevance is what the scores say. Without scores it is the cosine with the query, as in those libraries' own MMR,
    where the ranker weighs relevance (MMR, MSD, DPP) and there is a query vector; else the order in which the documents
    came.

    Args:
        ranker: what ranks.
        k: documents wanted, at least 1.
        vectors: [N, F], of the documents.
        query: what errors call it: "query 'jaguar'".
        query_vector: [F], or None.
        scores: [N], higher is better, or None.
        subtopics: S texts or vectors [S, F], or None.
        embed: gives the vectors of texts.

    Raises:
        TypeError: k is no whole number, or the query's vector holds no numbers.
        ValueError: k below 1, a query vector of another width, what the ranker refuses, or a ranking that is none.
    """
    asked = None if query_vector is None else _query_vector(query, query_vector, vectors.shape[1])
    order = np.arange(len(vectors))
    if scores is None and asked is not None and _weighs_cosines(ranker):
        with np.errstate(over="ignore", invalid="ignore"):  # numbers too large for float32 are refused below
            unit = rows_of(asked.astype(np.float32)[None]).unit(0)
            cosines = rows_of(vectors.astype(np.float32)).project(unit)
        # Ties go to the earlier document, which is to be the more relevant one.
        order = np.argsort(-cosines, kind="stable")
    elif scores is None:
        scores = np.arange(len(vectors), 0.0, -1.0).tolist()
    with speaking_of_queries(query):
        found = diversify(asked, vectors[order], k, ranker, scores=scores, subtopics=subtopics, embed=embed)
    return found._replace(indices=order[found.indices])


def embeddings_of(vectors: Sequence[Any], names: Sequence[str], remedy: str) -> NDArray[Any]:
    """The documents' vectors as one array: [N, F].

    Args:
        vectors: one a document; None where it has none.
        names: what errors call the documents.
        remedy: what to do about a document without a vector.

    Raises:
        TypeError: a vector holds no numbers.
        ValueError: a document has no vector, one of another width, or one that is not finite.
    """
    rows = []
    for name, vector in zip(names, vectors, strict=True):
        if vector is None:
            raise ValueError(f"{name} has no embedding; {remedy}")
        rows.append(_row(name, vector))
        if len(rows[-1]) != len(rows[0]):
            raise ValueError(
                f"{name} has an embedding of width {len(rows[-1])}, {names[0]} one of width {len(rows[0])}; expected "
                "one width: embed all documents with one model"
            )
    return np.stack(rows)


def scores_of(scores: Sequence[Any], names: Sequence[str]) -> list[float] | None:
    """The documents' scores, or None where none has one.

    Args:
        scores: one a document; None where it has none.
        names: what errors call the documents.

    Raises:
        TypeError: a score is no number.
        ValueError: some documents have a score and some have none, or one is not finite.
    """
    if all(score is None for score in scores):
        return None
    for name, score in zip(names, scores, strict=True):
        if score is None:
            raise ValueError(f"{name} has no score, and others have; expected a score of every document, or of none")
        if np.ndim(score) or np.asarray(score).dtype.kind not in "fiu":
            raise TypeError(f"{name}: its score must be a number, got {score!r} ({type(score).__name__})")
        if not np.isfinite(score):
            raise ValueError(f"{name}: its score must be finite, got {score}")
    return [float(score) for score in scores]


def named(what: str, ids: Sequence[Any]) -> list[str]:
    """What errors call documents: by their place, and by their id where they have one."""
    return [f"{what} {place}" + ("" if name is None else f" (id {name!r})") for place, name in enumerate(ids)]


@contextmanager
def speaking_of_queries(query: str | None = None) -> Iterator[None]:
    """Errors raised inside call a topic a query.

    Args:
        query: what they call the only query; None: there are several, called by their ids.
    """
    try:
        yield
    except (TypeError, ValueError) as error:
        told = re.sub(r"\btopic ('[^']*'|\"[^\"]*\")", lambda found: query or f"query {found[1]}", str(error))
        if type(error) not in (TypeError, ValueError) or told == str(error):
            raise
        raise type(error)(told) from error


def _weighs_cosines(ranker: Ranker) -> bool:
    """Whether relevance without scores is the cosine with the query."""
    if isinstance(ranker, ByRelevance):
        return ranker.relevance in ("auto", "cosine")
    return isinstance(ranker, TradeOff) and ranker.config.relevance in ("auto", "cosine")


def _row(name: str, vector: Any) -> NDArray[Any]:
    """One document's vector: [F]."""
    row = np.asarray(vector)
    if row.ndim != 1 or not row.size or row.dtype.kind not in "fiub":
        raise TypeError(f"{name}: its embedding must be numbers in one row, got {row.dtype} of shape {row.shape}")
    if not np.isfinite(row).all():
        raise ValueError(f"{name}: its embedding holds NaN or infinity; expected finite numbers")
    return row


def _query_vector(query: str, vector: Any, width: int) -> NDArray[Any]:
    """The query's vector: [F]."""
    row = _row(query, vector)
    if len(row) != width:
        raise ValueError(
            f"{query} has an embedding of width {len(row)}, its documents of width {width}; expected one width: "
            "embed queries and documents with one model"
        )
    return row
