"""Embeddings of texts by the words that they share, for callers without an embedding model."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from srd_agents.pipeline.subtopics import Lookup
from srd_gym.reading import shown

_WIDEST = 256
"""Dimensions at most; up to so many texts, cosines are exactly those of TF-IDF."""


def embed_by_words(texts: Sequence[str]) -> Lookup:
    """A function that makes vectors [n, F] of a list of n texts, learned from these texts: TF-IDF, then LSA.

    Args:
        texts: of the documents that are to be compared.

    Raises:
        ImportError: scikit-learn is not installed; the message names the extra.
        TypeError: something else than texts.
        ValueError: the texts hold fewer than two different words.
    """
    from srd_gym.data.lsa import LsaVectorizer

    if isinstance(texts, str) or not isinstance(texts, Sequence):
        raise TypeError(f"texts must be a list of texts, got {shown(texts)} ({type(texts).__name__})")
    for place, text in enumerate(texts):
        if not isinstance(text, str):
            raise TypeError(f"texts must be text, got {shown(text)} ({type(text).__name__}) at position {place}")
    try:
        with np.errstate(invalid="ignore"):  # of one text, scikit-learn's share of variance is 0 / 0
            return LsaVectorizer(max(1, min(len(texts), _WIDEST))).fit(texts).transform
    except ValueError as error:
        raise ValueError(
            f"the {len(texts)} texts hold fewer than two different words to compare them by; give doc_vectors instead"
        ) from error
