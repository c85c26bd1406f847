from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from small_topics import refused

from srd_agents import diversify
from srd_agents.pipeline import words
from srd_agents.pipeline.words import BY_WORDS, embed_by_words

TEXTS = ["the big cat", "the big cat", "a car for sale", "an operating system", "cat and car"]


def test_cosines_of_few_texts_are_those_of_tf_idf() -> None:
    text = pytest.importorskip("sklearn.feature_extraction.text")
    weights = text.TfidfVectorizer(sublinear_tf=True, token_pattern=r"(?u)\b\w\w+\b").fit(TEXTS)
    vectors = np.asarray(embed_by_words(TEXTS)(TEXTS))
    expected = (weights.transform(TEXTS) @ weights.transform(TEXTS).T).toarray()
    np.testing.assert_allclose(vectors @ vectors.T, expected, atol=1e-5)


def test_few_texts_are_compared_on_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    lsa = pytest.importorskip("srd_gym.data.lsa")
    pytest.importorskip("sklearn.decomposition")
    control = pytest.importorskip("threadpoolctl")
    seen: list[int] = []
    fit = lsa.LsaVectorizer.fit

    def watched(self: Any, texts: Sequence[str]) -> Any:
        seen.extend(library["num_threads"] for library in control.threadpool_info() if library["user_api"] == "blas")
        return fit(self, texts)

    monkeypatch.setattr(lsa.LsaVectorizer, "fit", watched)
    with control.threadpool_limits(2, user_api="blas"):
        embed_by_words(TEXTS)
    assert set(seen) == {1}


def test_one_caller_at_a_time_changes_the_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    lsa = pytest.importorskip("srd_gym.data.lsa")
    pytest.importorskip("sklearn.decomposition")
    control = pytest.importorskip("threadpoolctl")
    inside: list[int] = []
    most, fit = [0], lsa.LsaVectorizer.fit

    def slow(self: Any, texts: Sequence[str]) -> Any:
        inside.append(1)
        most[0] = max(most[0], len(inside))
        time.sleep(0.01)
        inside.pop()
        return fit(self, texts)

    monkeypatch.setattr(lsa.LsaVectorizer, "fit", slow)
    with control.threadpool_limits(2, user_api="blas"), ThreadPoolExecutor(4) as pool:
        list(pool.map(embed_by_words, [TEXTS] * 8))
        assert most == [1]
        assert {each["num_threads"] for each in control.threadpool_info() if each["user_api"] == "blas"} == {2}


@pytest.mark.parametrize("texts", [["", "?"], ["Paris", "Paris"]])
def test_texts_that_nothing_tells_apart_have_vectors_of_zeros(texts: list[str]) -> None:
    pytest.importorskip("sklearn")
    with pytest.warns(UserWarning, match="hold fewer than two different words.*give vectors instead"):
        made = embed_by_words(texts)
    np.testing.assert_array_equal(made(texts), np.zeros((2, 1)))


def test_scikit_learn_is_named_where_it_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("sklearn", "sklearn.decomposition", "sklearn.feature_extraction.text"):
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setattr("srd_agents.pipeline.words._libraries", words._libraries.__wrapped__)  # not what it kept
    with pytest.raises(ImportError, match=r"\[text\]"):
        embed_by_words(TEXTS)


def by_length(texts: Sequence[str]) -> Any:
    return [[float(len(text)), float(text.count("a"))] for text in texts]


def test_texts_without_vectors_are_compared_by_their_words() -> None:
    text = pytest.importorskip("sklearn.feature_extraction.text")
    weigher = text.TfidfVectorizer(sublinear_tf=True, token_pattern=r"(?u)\b\w\w+\b")
    weights = weigher.fit_transform([*TEXTS, "cat"]).toarray()
    for options in ({"diversity": 0.5}, {"diversity": 0.5, "ranker": "mmr"}, {"scores": [5, 4, 3, 2, 1]}):
        found = diversify(texts=TEXTS, query_text="cat", k=4, **options)  # type: ignore[arg-type]
        assert found.indices.tolist() == diversify(weights[-1], weights[:-1], 4, **options).indices.tolist()  # type: ignore[arg-type]
        assert found.note.endswith(BY_WORDS)
    assert diversify(texts=TEXTS, query_text="cat", k=1).explain().reasons[0].relevance is not None
    named = diversify(texts=TEXTS, k=2, scores=[5, 4, 3, 2, 1], subtopics=["car", "operating system"])
    assert set(named.indices.tolist()) <= {2, 3, 4}


def test_texts_are_embedded_by_embed() -> None:
    wanted = diversify(by_length(["cat"])[0], by_length(TEXTS), 3, diversity=0.4)
    found = diversify(texts=TEXTS, query_text="cat", embed=by_length, k=3, diversity=0.4)
    assert (found.indices.tolist(), found.note) == (wanted.indices.tolist(), wanted.note)
    some = [None if i in (1, 4) else vector for i, vector in enumerate(by_length(TEXTS))]
    found = diversify(by_length(["cat"])[0], some, 3, texts=TEXTS, embed=by_length, diversity=0.4)
    assert found.indices.tolist() == wanted.indices.tolist()
    assert found.note.endswith("2 of 5 documents have no vector and are embedded by their texts")


class Column:
    """As a column of a data frame: iterated over it gives its values, and it is looked up by its index."""

    def __init__(self, values: Sequence[str]) -> None:
        self.values = values

    def __len__(self) -> int:
        return len(self.values)

    def __iter__(self) -> Any:
        return iter(self.values)

    def __getitem__(self, label: Any) -> Any:
        raise KeyError(label)


@pytest.mark.parametrize("missing", [[], [1, 4]])
def test_texts_and_subtopics_may_be_columns(missing: list[int]) -> None:
    given: dict[str, Any] = {"k": 3, "embed": by_length, "scores": range(5)}
    given["doc_vectors"] = [None if i in missing else vector for i, vector in enumerate(by_length(TEXTS))]
    names = np.array(["cat", "a car"], object)
    found = diversify(**given, texts=Column(TEXTS), subtopics=names)
    assert found.indices.tolist() == diversify(**given, texts=TEXTS, subtopics=names.tolist()).indices.tolist()


def test_a_batch_of_texts_is_its_topics_one_by_one() -> None:
    pytest.importorskip("sklearn")
    queries, texts = ["cat", "", "car"], [TEXTS, [], TEXTS[2:]]
    found = diversify(texts=texts, query_text=queries, k=3).topics()
    assert [one.indices.tolist() for one in found] == [
        diversify(texts=some, query_text=query, k=3).indices.tolist()
        for query, some in zip(queries, texts, strict=True)
    ]
    assert not len(diversify(texts=[]).indices)
    mixed = diversify(None, [by_length(TEXTS), None], 2, texts=[None, TEXTS], scores=[[1, 2, 3, 4, 5]] * 2)  # type: ignore[list-item]
    assert mixed.indices.tolist() == [[4, 3], [4, 3]]


@pytest.mark.parametrize("diversity", [None, 0.3, 0.5, 0.8])
def test_a_document_without_a_vector_is_ranked_by_its_score_alone(diversity: float | None) -> None:
    """It gains no rank by that: others differ from it as they differ from one another."""
    generator = np.random.default_rng(0)
    vectors: Any = (generator.normal(size=(30, 16)) + 1.5).tolist()  # cosines of about 0.7
    scores, ranks = np.linspace(0.9, 0.4, 30), []
    for place in (3, 10, 20):
        some = [None if i == place else vector for i, vector in enumerate(vectors)]
        with pytest.warns(UserWarning, match="^1 of 30 documents have no vector and are ranked by their scores alone"):
            found = diversify(np.ones(16), some, 30, scores=scores, diversity=diversity)
        assert sorted(found.indices.tolist()) == list(range(30))
        assert "ranked by their scores alone" in found.note
        ranks.append(found.indices.tolist().index(place))
    assert ranks == sorted(ranks)
    assert ranks == [3, 10, 20] or diversity is not None


@pytest.mark.parametrize("ranker", ["safe", "retrieval-order"])
@pytest.mark.parametrize("limit", [0.9999, 0.5])
@pytest.mark.parametrize("width", [1, 2, 3, 64])
def test_a_document_without_a_vector_is_no_near_duplicate(width: int, limit: float, ranker: str) -> None:
    generator = np.random.default_rng(width)
    vectors = np.abs(generator.normal(size=(12, width)))[generator.integers(12, size=12)]
    units = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    with_vector = generator.random(12) < 0.5
    first, last = list[int](), list[int]()
    scores = generator.permutation(12)
    for i in np.argsort(-scores).tolist():
        near = with_vector[i] and any(with_vector[j] and units[i] @ units[j] >= limit - 1e-6 for j in first)
        (last if near else first).append(i)
    given: Any = [vector if known else None for vector, known in zip(vectors, with_vector, strict=True)]
    whole = vectors[::-1]
    with pytest.warns(UserWarning, match="have no vector"):
        both = diversify(None, [given, whole], 12, ranker, [scores] * 2, near_duplicates=limit)  # type: ignore[list-item]
    found, other = both.topics()
    assert found.indices.tolist() == first + last
    assert other == diversify(None, whole, 12, ranker, scores, near_duplicates=limit)
    reasons = {reason.document: reason for reason in found.explain().reasons}
    assert all(reasons[i].most_similar is reasons[i].near_duplicate_of is None for i in np.flatnonzero(~with_vector))
    assert {i for i, reason in reasons.items() if reason.near_duplicate_of is not None} == set(last)


@pytest.mark.parametrize(("seen", "wanted"), [([], [0, 1, 2, 3]), ([2], [0, 1, 3]), ([1], [0, 2, 3])])
def test_no_document_is_like_one_without_a_vector(seen: list[int], wanted: list[int]) -> None:
    """The vectors that stand in for those of 0 and 2 are the one there is."""
    with pytest.warns(UserWarning, match="have no vector"):
        found = diversify(None, [None, [1, 2], None, [2, 4]], 4, scores=[4, 3, 2, 1], already_shown=seen)
    assert found.indices.tolist() == wanted
    near = [reason.near_duplicate_of for reason in found.explain().reasons]
    assert near == [None] * (len(wanted) - 1) + [1]


@pytest.mark.parametrize(("given", "error", "said"), [
    ({}, ValueError, r"give doc_vectors \(\[N, F\]\)"),
    ({"doc_vectors": [None, None]}, ValueError, "there are no documents; give"),
    ({"doc_vectors": [[1, 2], None]}, ValueError, "^document 1 has no vector"),
    ({"texts": "cat"}, TypeError, "texts must be a list of texts, got 'cat'"),
    ({"texts": ["big cat", 3]}, TypeError, "texts must be text, got 3"),
    ({"texts": TEXTS, "query_text": 3}, TypeError, "query_text must be text, got 3"),
    ({"texts": TEXTS, "query_vector": [1, 2]}, ValueError, "^query_vector belongs to doc_vectors"),
    ({"texts": TEXTS, "embed": lambda texts: [[1.0]]}, ValueError, r"asked for 5 vectors and gave .* \(1, 1\)"),
    ({"texts": TEXTS, "embed": lambda texts: [[1.0]] * 4 + [[1, 2]]}, ValueError, r"cannot read .*\[5, F\], one row"),
    ({"texts": TEXTS, "doc_vectors": [[1.0], None], "embed": len}, ValueError, "^got 5 texts for 2 documents"),
    ({"texts": [TEXTS, TEXTS], "query_text": "cat"}, TypeError, "so query_text must be 2 texts"),
])  # fmt: skip
def test_odd_texts_and_vectors_are_named(given: Any, error: type[Exception], said: str) -> None:
    refused(lambda: diversify(**given), said, error)


def test_names_without_a_word_of_the_documents_are_said_to_tell_nothing() -> None:
    pytest.importorskip("sklearn")
    given: dict[str, Any] = {"texts": TEXTS, "query_text": "cat", "scores": [5, 4, 3, 2, 1]}
    assert "say nothing beyond the query" in diversify(**given, subtopics=["zebra", "yak"]).note
    assert "beyond the query" not in diversify(**given, subtopics=["zebra", "car"]).note
