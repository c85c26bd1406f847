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
from srd_agents.heuristic.trade_off import TradeOff
from srd_gym.files import PathLike
from srd_gym.protocols import Ranker


def ranker_of(ranker: PathLike | Ranker | None, diversity: float | None, *, option: str = "diversity") -> Ranker:
    """The ranker at this diversity.

    None is MMR where diversity is given, as in those libraries, else `DEFAULT_RANKER`.

    Args:
        ranker: as `srd_agents.diversify` takes it.
        diversity: from 0 (relevance only) to 1 (difference only), or None.
        option: what the library calls it, for errors.

    Raises:
        TypeError: ranker is nothing that ranks, or diversity no number.
        ValueError: diversity outside [0, 1], or a ranker that takes none.
    """
    return with_diversity(as_ranker("mmr" if ranker is None and diversity is not None else ranker), diversity, option)


def diversity_of(relevance: float | None) -> float | None:
    """The weight of diversity in libraries that weigh relevance: 1 less it; None stays None."""
    return None if relevance is None else 1.0 - relevance


def best_first(
    ranker: Ranker,
    k: int,
    vectors: Sequence[Any] | NDArray[Any],
    *,
    query: str,
    query_vector: Any = None,
    scores: Sequence[float] | None = None,
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

    Raises:
        TypeError: k is no whole number, or vectors or scores hold no numbers.
        ValueError: k below 1, numbers that are not finite, a query vector of another width, what the ranker refuses, or
            a ranking that is none.
    """
    with speaking_of_queries(query):
        if scores is None and query_vector is not None and _weighs_cosines(ranker):
            # Ties go to the earlier document, which is to be the more relevant one.
            order = diversify(query_vector, vectors, len(vectors), ByRelevance("cosine")).indices
            found = diversify(query_vector, np.asarray(vectors)[order], k, ranker)
            return found._replace(indices=order[found.indices])
        scores = range(len(vectors), 0, -1) if scores is None else scores
        return diversify(query_vector, vectors, k, ranker, scores)


def embeddings_of(vectors: Sequence[Any], names: Sequence[str], remedy: str) -> Sequence[Any]:
    """The documents' vectors, if each has one: N of [F].

    Args:
        vectors: one a document; None where it has none.
        names: what errors call the documents.
        remedy: what to do about a document without a vector.

    Raises:
        ValueError: a document has no vector, or one of another width.
    """
    for name, vector in zip(names, vectors, strict=True):
        if vector is None:
            raise ValueError(f"{name} has no embedding; {remedy}")
        if len(vector) != len(vectors[0]):
            raise ValueError(
                f"{name} has an embedding of width {len(vector)}, {names[0]} one of width {len(vectors[0])}; expected "
                "one width: embed all documents with one model"
            )
    return vectors


def scores_of(scores: Sequence[Any], names: Sequence[str]) -> Sequence[Any] | None:
    """The documents' scores, or None where none has one.

    Args:
        scores: one a document; None where it has none.
        names: what errors call the documents.

    Raises:
        ValueError: some documents have a score and some have none.
    """
    missing = [name for name, score in zip(names, scores, strict=True) if score is None]
    if missing and len(missing) < len(scores):
        raise ValueError(f"{missing[0]} has no score, and others have; expected a score of every document, or of none")
    return None if missing else scores


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
