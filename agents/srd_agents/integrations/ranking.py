"""What the adapters share: the default ranker, where subtopics come from, and what is ranked of the documents.

Shapes: N documents of a query, S subtopics, F vector width.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from srd_agents.heuristic.relevance import ByRelevance
from srd_agents.pipeline.diversify import Chooser, Given
from srd_agents.pipeline.limits import COPIES, Limits
from srd_agents.pipeline.naming import Namer, Names, as_names, named_by, named_later, tidied
from srd_agents.pipeline.subtopics import Lookup, embedded
from srd_gym.checks import check_number
from srd_gym.dtypes import IntArray
from srd_gym.files import PathLike
from srd_gym.protocols import Ranker


def chooser_of(
    ranker: PathLike | Ranker | None,
    diversity: float | None = None,
    *,
    relevance: float | None = None,
    option: str = "diversity",
    named: bool = False,
) -> Chooser:
    """What ranks at this weight, near-duplicates last.

    Args:
        ranker: as `srd_agents.diversify` takes it; None: `default_of`.
        diversity: from 0 (relevance only) to 1 (difference only), or None.
        relevance: from 0 (difference only) to 1 (relevance only), in libraries that weigh it instead.
        option: what the library calls the weight, for errors.
        named: whether there are subtopics.

    Raises:
        TypeError: ranker is nothing that ranks, or the weight no number.
        ValueError: a weight outside [0, 1], or a ranker that takes none, or no subtopics where there are some.
    """
    if relevance is not None:
        check_number(option, relevance, 0.0, 1.0)
        diversity = 1.0 - relevance
    chosen = default_of(ranker, diversity is not None, named)
    return Chooser(chosen, Limits(copies=COPIES), diversity=diversity, subtopics=named, option=option)


def default_of(ranker: PathLike | Ranker | None, weighed: bool, named: bool) -> PathLike | Ranker | None:
    """The ranker; None is MMR where a weight is given and no subtopics are, as in those libraries."""
    return "mmr" if ranker is None and weighed and not named else ranker


class Subtopics:
    """Where an adapter finds the subtopics of a query.

    Args:
        subtopics: a key of the documents' metadata, which holds a text or a list of texts (those of all documents
            count, each once), or a function as `srd_agents.diversify` takes it; None: there are none, or `namer` names
            them.
        namer: a language model of the library, or a `Namer`.
        remedy: what to do where nothing embeds them; nothing where something does.

    Raises:
        TypeError: something else.
        ValueError: both, or a model's names without anything that embeds them.
    """

    def __init__(self, subtopics: str | Names | None, namer: Any, remedy: str) -> None:
        if subtopics is not None and namer is not None:
            raise ValueError("subtopics and namer were both given; give one of them")
        if not (subtopics is None or isinstance(subtopics, str) or callable(subtopics)):
            raise TypeError(
                "subtopics must be a key of the documents' metadata or a function of the query's text, got "
                f"{type(subtopics).__name__}; a language model goes to namer="
            )
        self.given = subtopics is not None or namer is not None
        self._key = subtopics if isinstance(subtopics, str) else None
        self._names = as_names(namer) if namer is not None else subtopics if callable(subtopics) else None
        self._remedy = remedy
        if isinstance(self._names, Namer) and remedy:
            raise ValueError(f"subtopics are texts that a model names: {remedy}")

    def of(self, query: str | None, texts: Sequence[Any], metadata: Sequence[Mapping[str, Any]]) -> Any:
        """A query's subtopics: texts, vectors [S, F], or None.

        Args:
            query: its text.
            texts: of the N documents.
            metadata: of the N documents.

        Raises:
            TypeError, ValueError: a query without text, or what `srd_agents.pipeline.naming.named_by` refuses.
        """
        if self._key is not None:
            return self._listed(metadata)
        if self._names is None:
            return None
        return named_by(self._names, [query], [[text or "" for text in texts]], [query or "of these documents"])[0]

    async def later(self, query: str | None, texts: Sequence[Any], metadata: Sequence[Mapping[str, Any]]) -> Any:
        """`of` for asynchronous code."""
        if self._names is None:
            return self.of(query, texts, metadata)
        return await named_later(self._names, query, [text or "" for text in texts], query or "of these documents")

    def vectors(self, named: Any, query: str | None, embed: Lookup | None) -> Any:
        """Vectors [S, F] of what `of` gives, or None.

        Raises:
            ValueError: texts that nothing embeds.
        """
        if named is not None and len(named) and isinstance(named[0], str) and embed is None:
            raise ValueError(f"subtopics are texts ({named[0]!r}, ...): {self._remedy}")
        return embedded([named], embed, queries=[query])[0]

    def _listed(self, metadata: Sequence[Mapping[str, Any]]) -> list[str] | None:
        """The texts under the key."""
        texts: list[str] = []
        for fields in metadata:
            value = fields.get(str(self._key))
            some = [value] if isinstance(value, str) else value or ()
            if not isinstance(some, Sequence) or not all(isinstance(each, str) for each in some):
                raise TypeError(f"metadata[{self._key!r}] must hold a text or a list of texts, got {value!r}")
            texts += some
        return tidied(texts) or None


def best_first(
    chooser: Chooser,
    k: int,
    vectors: Sequence[Any] | NDArray[Any],
    *,
    names: Sequence[str],
    query: str,
    query_vector: Any = None,
    scores: Sequence[Any] | None = None,
    subtopics: Any = None,
    remedy: str = "",
) -> IntArray:
    """The k documents to show of one query, as `srd_agents.diversify` chooses them: [min(k, N)] places, best first.

    Relevance is what the scores say. Without scores it is the cosine with the query, as in those libraries' own MMR,
    where the ranker weighs relevance (MMR, MSD, DPP) and there is a query vector; else the order in which the documents
    came.

    Args:
        chooser: what ranks.
        k: documents wanted, at least 1.
        vectors: [N, F], of the documents; None for one that has none.
        names: of the N documents, for errors.
        query: its text, for errors.
        query_vector: [F], or None.
        scores: [N], higher is better; None for a document that has none, or for all.
        subtopics: [S, F], or None.
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

    def chosen(chooser: Chooser, vectors: Any, scores: Any, k: int) -> IntArray:
        return chooser.choose([Given(query, None, query_vector, vectors, scores, subtopics)], k)[0]

    if not any(scored) and query_vector is not None and getattr(chooser.ranker, "weighs_cosines", False):
        # Ties go to the earlier document, which is to be the more relevant one.
        order = chosen(Chooser(ByRelevance("cosine"), Limits()), vectors, None, len(vectors))
        return order[chosen(chooser, np.asarray(vectors)[order], None, k)]
    return chosen(chooser, vectors, scores if any(scored) else range(len(vectors), 0, -1), k)


def named(what: str, ids: Sequence[Any]) -> list[str]:
    """What errors call documents: by their place, and by their id where they have one."""
    return [f"{what} {place}" + ("" if name is None else f" (id {name!r})") for place, name in enumerate(ids)]
