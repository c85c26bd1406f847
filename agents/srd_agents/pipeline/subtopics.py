"""Named subtopics as callers have them: vectors, or texts and what embeds them.

Shapes: B topics, S subtopics of a topic, F vector width, n texts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import zip_longest
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from srd_agents.pipeline.naming import about
from srd_gym.checks import array_from
from srd_gym.dtypes import AnyArray
from srd_gym.reading import shown, with_type

Lookup = Callable[[list[str]], ArrayLike]
"""Vectors of texts: a list of n gives [n, F]."""


def embedded(
    named: Sequence[object], embed: Lookup | None, scores: Sequence[object] = (), queries: Sequence[str | None] = ()
) -> list[object]:
    """The subtopics of B topics, vectors in place of texts; `embed` is asked once, for all of them.

    Args:
        named: of each topic a list of texts, anything else (vectors, None), which stays.
        embed: gives the vectors of texts; without it texts stay where there are scores.
        scores: of each topic its `subtopic_scores` or None; none of them unless given.
        queries: of each topic the query's text or None, which counts with texts (`naming.about`).

    Raises:
        TypeError: a topic's subtopics are one text.
        ValueError: texts without embed, or embed does not give one vector each.
    """
    texts = [texts_of(entry) for entry in named]
    if embed is None:
        texts = [[] if rated is not None else each for each, rated in zip_longest(texts, scores)]
    asked = [about(query, text) for query, of_topic in zip_longest(queries, texts) for text in of_topic]
    if not asked:
        return list(named)
    if embed is None:
        raise no_embed(f"({shown(asked[0])}, ...)")
    parts = iter(np.split(vectors_by(embed, asked), np.cumsum([len(each) for each in texts if each])[:-1]))
    return [next(parts) if each else entry for each, entry in zip(texts, named, strict=True)]


def vectors_by(embed: Lookup, texts: list[str]) -> AnyArray:
    """Vectors of texts: [n, F].

    Raises:
        ValueError: embed does not give one vector each.
    """
    made: object = embed(texts)
    try:
        vectors = array_from(made)
        came = f"an array of shape {vectors.shape}"
    except (TypeError, ValueError, RuntimeError) as error:  # rows of several lengths, tensors elsewhere
        vectors, came = np.empty(0), f"what numpy cannot read ({error})"
    if vectors.ndim != 2 or len(vectors) != len(texts):
        raise ValueError(
            f"embed was asked for {len(texts)} vectors and gave {came}; expected [{len(texts)}, F], one row each, in "
            "their order"
        )
    return vectors


def check_embed(embed: object) -> None:
    """Refuse what cannot be called, such as a model's name.

    Raises:
        TypeError: it is no function.
    """
    if not (embed is None or callable(embed)):
        raise TypeError(
            f"embed must be a function that makes vectors [n, F] of a list of n texts, such as a model's encode, got "
            f"{with_type(embed)}"
        )


def no_embed(which: str) -> ValueError:
    """The error for texts that nothing embeds.

    Args:
        which: some of them, or where they come from.
    """
    return ValueError(
        f"subtopics are texts {which}: give embed=, a function that makes vectors [n, F] of a list of n texts, by the "
        "model of the documents' vectors; or subtopic_scores= [N, S], ratings of the documents"
    )


def texts_of(entry: Any) -> list[str]:
    """A topic's subtopics if they are texts, else nothing."""
    if isinstance(entry, str):
        raise TypeError(
            f"subtopics must be a list of texts or of vectors, one a subtopic, got one text: {shown(entry)}"
        )
    listed = entry.tolist() if getattr(entry, "ndim", 0) == 1 else entry  # an array, or a column
    if not isinstance(listed, Sequence) or not any(isinstance(each, str) for each in listed):
        return []
    if others := [each for each in listed if not isinstance(each, str)]:
        raise TypeError(f"subtopics must be texts or vectors, got both: {with_type(others[0])} beside texts")
    return list(listed)


def weights_apart(subtopics: Any, weights: object) -> tuple[Any, Any]:
    """A topic's subtopics and their weights, where they may have come together: {text: weight}.

    Raises:
        ValueError: both weights in them and beside them.
    """
    if not isinstance(subtopics, Mapping):
        return subtopics, weights
    if weights is not None:
        raise ValueError("subtopics hold their weights, got subtopic_weights, too; give one of them")
    return list(subtopics), list(subtopics.values())
