"""The collection in the package is what its readable source says."""

from __future__ import annotations

import numpy as np

from srd_gym.data import load_topics
from srd_gym.topic import TOPIC_FIELDS
from studies.words import built

VECTORS = {"query_vector", "doc_vectors", "subtopic_vectors"}


def test_file_and_source_agree() -> None:
    kept, made = load_topics("words"), built()
    assert (kept.query_ids, kept.origin) == (made.query_ids, made.origin), "run `python -m studies.words`"
    for old, new in zip(kept, made, strict=True):
        for name in set(TOPIC_FIELDS) - VECTORS:
            np.testing.assert_array_equal(getattr(old, name), getattr(new, name), f"{new.query_id}: {name}")
        # Cosines, not coordinates: the dimensions of a decomposition are determined up to a rotation.
        np.testing.assert_allclose(old.doc_vectors @ old.doc_vectors.T, new.doc_vectors @ new.doc_vectors.T, atol=0.02)
