"""Named subtopics as callers have them: vectors, or texts and what embeds them; and who can use them.

Shapes: B topics, S subtopics of a topic, F vector width, n texts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from srd_agents.heuristic.explicit import PM2, XQuAD
from srd_agents.pipeline.cautious import Cautious
from srd_gym.protocols import Ranker

Lookup = Callable[[list[str]], ArrayLike]
"""Vectors of texts: a list of n gives [n, F]."""


def check_uses_subtopics(ranker: Ranker) -> None:
    """Refuse subtopics for a ranker of ours that would not look at them; of others nothing is known.

    Raises:
        ValueError: it would not; the message names those that would.
    """
    ours = type(ranker).__module__.startswith("srd_agents.")
    if ours and not isinstance(ranker, XQuAD | PM2 | Cautious):
        name = getattr(ranker, "name", type(ranker).__name__)
        raise ValueError(
            f"ranker {name!r} cannot use subtopics; leave subtopics= out, or take one that can: xquad, pm2, cautious"
        )


def embedded(named: Sequence[Any], embed: Lookup | None) -> list[Any]:
    """The subtopics of B topics, vectors in place of texts; `embed` is asked once, for all of them.

    Args:
        named: of each topic a list of texts, anything else (vectors, None), which stays.
        embed: gives the vectors of texts.

    Raises:
        TypeError: a topic's subtopics are one text.
        ValueError: texts without embed, or embed does not give one vector each.
    """
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
    return list(entry)
