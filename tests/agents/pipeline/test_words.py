from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

from srd_agents.pipeline.words import embed_by_words

TEXTS = ["the big cat", "the big cat", "a car for sale", "an operating system", "cat and car"]


def test_cosines_of_few_texts_are_those_of_tf_idf() -> None:
    text = pytest.importorskip("sklearn.feature_extraction.text")
    weights = text.TfidfVectorizer(sublinear_tf=True, token_pattern=r"(?u)\b\w\w+\b").fit(TEXTS)
    vectors = np.asarray(embed_by_words(TEXTS)(TEXTS))
    expected = (weights.transform(TEXTS) @ weights.transform(TEXTS).T).toarray()
    np.testing.assert_allclose(vectors @ vectors.T, expected, atol=1e-5)


@pytest.mark.parametrize(("texts", "error", "said"), [
    ("cat", TypeError, "must be a list of texts, got 'cat'"),
    ({"a": "cat"}, TypeError, "must be a list of texts"),
    (["cat", None], TypeError, r"got None \(NoneType\) at position 1"),
    (["", "?"], ValueError, "give vectors instead"),
])  # fmt: skip
def test_what_holds_no_words_is_refused(texts: Any, error: type[Exception], said: str) -> None:
    pytest.importorskip("sklearn")
    with pytest.raises(error, match=said):
        embed_by_words(texts)


def test_scikit_learn_is_named_where_it_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn.feature_extraction.text", None)
    with pytest.raises(ImportError, match=r"srd-gym\[text\]"):
        embed_by_words(TEXTS)
