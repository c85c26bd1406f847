"""What the adapters share: the default ranker, and what it ranks of the documents.

Shapes: N documents of a query, F vector width.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from srd_agents.heuristic.trade_off import TradeOff
from srd_agents.pipeline.diversify import Chooser, Given, as_ranker
from srd_agents.pipeline.diversity import ByRelevance, with_diversity
from srd_agents.pipeline.limits import COPIES, Limits
from srd_gym.checks import check_number
from srd_gym.files import PathLike
from srd_gym.protocols import IntArray, Ranker


def ranker_of(
    ranker: PathLike | Ranker | None,
    diversity: float | None = None,
    *,
    relevance: float | None = None,
    option: str = "diversity",
) -> Ranker:
    """The ranker at this weight.

    None is MMR where a weight is given, as in those libraries, else `DEFAULT_RANKER`.

    Args:
        ranker: as `srd_agents.diversify` takes it.
        diversity: from 0 (relevance only) to 1 (difference only), or None.
        relevance: from 0 (difference only) to 1 (relevance only), in libraries that weigh it instead.
        option: what the library calls the weight, for errors.

    Raises:
        TypeError: ranker is nothing that ranks, or the weight no number.
        ValueError: a weight outside [0, 1], or a ranker that takes none.
    """
    if relevance is not None:
        check_number(option, relevance, 0.0, 1.0)
        diversity = 1.0 - relevance
    return with_diversity(as_ranker("mmr" if ranker is None and diversity is not None else ranker), diversity, option)


def best_first(
    ranker: Ranker,
    k: int,
    vectors: Sequence[Any] | NDArray[Any],
    *,
    names: Sequence[str],
    query: str,
    query_vector: Any = None,
    scores: Sequence[Any] | None = None,
    remedy: str = "",
) -> IntArray:
    """The k documents to show of one query, as `srd_agents.diversify` chooses them: [min(k, N)] places, best first.

    Relevance is what the scores say. Without scores it is the cosine with the query, as in those libraries' own MMR,
    where the ranker weighs relevance (MMR, MSD, DPP) and there is a query vector; else the order in which the documents
    came.

    Args:
        ranker: what ranks.
        k: documents wanted, at least 1.
        vectors: [N, F], of the documents; None for one that has none.
        names: of the N documents, for errors.
        query: its text, for errors.
        query_vector: [F], or None.
        scores: [N], higher is better; None for a document that has none, or for all.
        remedy: what to do about a document without a vector.

    Raises:
        TypeError: k is no whole number, or vectors or scores hold no numbers.
        ValueError: k below 1, a document without a vector or with one of another width, scores of some documents only,
            numbers that are not finite, a query vector of another width, what the ranker refuses, or a ranking that is
            none.
    """
    for name, vector in zip(names, vectors, strict=True):
        if vector is None:
            raise ValueError(f"{name} has no embedding; {remedy}")
        if len(vector) != len(vectors[0]):
            raise ValueError(
                f"{name} has an embedding of width {len(vector)}, {names[0]} one of width {len(vectors[0])}; expected "
                "one width: embed all documents with one model"
            )
    scored = [score is not None for score in scores or ()]
    if any(scored) and not all(scored):
        raise ValueError(
            f"{names[scored.index(False)]} has no score, and others have; give every document one, or none"
        )

    def chosen(ranker: Ranker, vectors: Any, scores: Any, k: int) -> IntArray:
        chooser = Chooser(ranker, Limits(copies=COPIES), diversity=None, subtopics=False)
        return chooser.choose([Given(query, None, query_vector, vectors, scores)], k)[0]

    if not any(scored) and query_vector is not None and _weighs_cosines(ranker):
        # Ties go to the earlier document, which is to be the more relevant one.
        order = chosen(ByRelevance("cosine"), vectors, None, len(vectors))
        return order[chosen(ranker, np.asarray(vectors)[order], None, k)]
    return chosen(ranker, vectors, scores if any(scored) else range(len(vectors), 0, -1), k)


def named(what: str, ids: Sequence[Any]) -> list[str]:
    """What errors call documents: by their place, and by their id where they have one."""
    return [f"{what} {place}" + ("" if name is None else f" (id {name!r})") for place, name in enumerate(ids)]


def _weighs_cosines(ranker: Ranker) -> bool:
    """Whether relevance without scores is the cosine with the query."""
    if isinstance(ranker, ByRelevance):
        return ranker.relevance in ("auto", "cosine")
    return isinstance(ranker, TradeOff) and ranker.config.relevance in ("auto", "cosine")
