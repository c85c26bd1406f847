"""Named subtopics as callers have them: vectors, or texts and what embeds them; and who can use them.

Shapes: B topics, S subtopics of a topic, F vector width, n texts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from srd_agents.registry import RANKERS
from srd_gym.protocols import Ranker

Lookup = Callable[[list[str]], ArrayLike]
"""Vectors of texts: a list of n gives [n, F]."""


def check_uses_subtopics(ranker: Ranker) -> None:
    """Refuse subtopics for a ranker of ours that would not look at them; of others nothing is known.

    Raises:
        ValueError: it would not; the message names those that would.
    """
    path = f"{type(ranker).__module__}:{type(ranker).__qualname__}"
    able = [spec for spec in RANKERS.built_in.values() if spec.takes_subtopics]
    unable = [spec.name for spec in RANKERS.built_in.values() if spec.class_path == path and spec not in able]
    if unable:
        raise ValueError(
            f"ranker {unable[0]!r} cannot use subtopics; leave subtopics= out, or take one that can: "
            f"{', '.join(spec.name for spec in able)}"
        )


def embedded(named: Sequence[Any], embed: Lookup | None) -> list[Any]:
    """The subtopics of B topics, vectors in place of texts; `embed` is asked once, for all of them.

    Args:
        named: of each topic a list of texts, anything else (vectors, None), which stays.
        embed: gives the vectors of texts.

    Raises:
        TypeError: embed cannot be called, or a topic's subtopics are one text, or texts and something else.
        ValueError: texts without embed, or embed does not give one vector each.
    """
    if embed is not None and not callable(embed):
        raise TypeError(f"embed must be a function from texts to vectors [n, F], got {type(embed).__name__}")
    texts = [_texts(entry) for entry in named]
    asked = [text for of_topic in texts for text in of_topic]
    if not asked:
        return list(named)
    if embed is None:
        raise ValueError(
            f"subtopics are texts ({asked[0]!r}, ...): give embed=, a function that makes vectors [n, F] of a list of "
            "n texts, by the model of the documents' vectors"
        )
    vectors = np.asarray(embed(asked))
    if vectors.ndim != 2 or len(vectors) != len(asked):
        raise ValueError(
            f"embed was asked for {len(asked)} vectors and gave an array of shape {vectors.shape}; expected "
            f"[{len(asked)}, F], one row each, in their order"
        )
    parts = iter(np.split(vectors, np.cumsum([len(each) for each in texts if each])[:-1]))
    return [next(parts) if each else entry for each, entry in zip(texts, named, strict=True)]


def _texts(entry: Any) -> list[str]:
    """A topic's subtopics if they are texts, else nothing."""
    if isinstance(entry, str):
        raise TypeError(f"subtopics must be a list of texts or of vectors, one a subtopic, got one text: {entry!r}")
    if not isinstance(entry, Sequence | np.ndarray) or not any(isinstance(each, str) for each in entry):
        return []
    wrong = [each for each in entry if not isinstance(each, str)]
    if wrong:
        raise TypeError(f"subtopics must all be texts or all be vectors, got texts and {wrong[0]!r}")
    return list(map(str, entry))
