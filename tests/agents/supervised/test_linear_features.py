from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from small_topics import judged_topic

from srd_agents.networks.features import relevance_columns
from srd_agents.supervised.linear import features
from srd_agents.supervised.linear.features import Distances, WordDirections, Words
from srd_gym.topic import Topic

TEXTS = ("jaguar cars, fast cars", "jaguar cats", "jaguar: Cars and CATS", "")


def topic(**changes: Any) -> Topic:
    values: dict[str, Any] = {
        "retrieval_scores": np.array([9.0, 7.0, 6.0, 5.0]),
        "doc_texts": TEXTS,
        "doc_features": np.array([[1, 5], [1, 3], [1, 3], [1, 9]]),
        "feature_names": ("constant", "site"),
    }
    return judged_topic(4, 0, 3, query_id="q", **(values | changes))


def test_relevance_columns_run_from_0_to_1() -> None:
    columns = relevance_columns(topic(), ("constant",))
    assert columns.dtype == np.float32
    assert columns.min(axis=0).tolist() == [0] * 5
    assert columns.max(axis=0).tolist() == [1, 1, 1, 1, 0]
    np.testing.assert_allclose(columns[:, 3], [1, 0.5, 0.25, 0])
    bare = relevance_columns(topic(query_vector=None, retrieval_scores=None))
    assert not bare.any()


def test_relations_are_the_distances_in_typical_ones() -> None:
    one = topic()
    rows = Distances(one).rows(np.arange(4))
    assert rows.shape == (4, len(features.RELATIONS), 4)
    vectors = one.doc_vectors.astype(np.float64)
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    euclidean = np.linalg.norm(vectors[:, None] - vectors, axis=2)
    for index, wanted in ((0, euclidean / np.sqrt((euclidean**2).mean())), (1, (1 - unit @ unit.T))):
        scaled = wanted / (1 if index == 0 else wanted.mean())
        np.testing.assert_allclose(rows[:, index], scaled, atol=2e-3)
    assert rows[:, 2].mean() == pytest.approx(1, abs=1e-5)


def test_blocks_and_single_rows_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = Distances(topic()).rows(np.array([3, 1, 0]))
    monkeypatch.setattr(features, "_BLOCK", 1)
    np.testing.assert_allclose(Distances(topic()).rows(np.array([3, 1, 0])), whole, atol=1e-6)


def test_what_does_not_vary_is_zero() -> None:
    same = topic(doc_vectors=np.full((4, 3), 0.1), doc_texts=("same words",) * 4)
    assert not Distances(same).rows(np.arange(4)).any()
    assert not Distances(topic(doc_vectors=np.zeros((4, 3)), doc_texts=None)).rows(np.arange(4)).any()
    huge = Distances(topic(doc_vectors=np.array([[3e38, 0, 0], [0, 3e38, 0], [0, 0, 1], [1, 1, 1]]))).rows(np.arange(4))
    assert np.isfinite(huge).all()


def test_words_by_hand() -> None:
    words = Words.of(TEXTS)
    assert words.words == ("and", "cars", "cats", "fast", "jaguar")
    assert words.shares.tolist() == [0.25, 0.5, 0.5, 0.25, 0.75]
    table = np.zeros((4, 5))
    table[words.document, words.word] = words.count
    assert table.tolist() == [[0, 2, 0, 1, 1], [0, 0, 1, 0, 1], [1, 1, 1, 0, 1], [0] * 5]
    directions = WordDirections(words)
    rare, half, most = math.log(4), math.log(2), math.log(4 / 3)
    first, second = np.array([0, 2 * half, 0, rare, most]), np.array([0, 0, half, 0, most])
    cosine = first @ second / np.linalg.norm(first) / np.linalg.norm(second)
    assert directions.cosines(0)[:2] == pytest.approx([1.0, cosine])
    assert directions.cosines(3).tolist() == [0, 0, 0, 0]
    every = np.array([directions.cosines(i) for i in range(4)])
    assert directions.mean() == pytest.approx(every.mean())
    none = WordDirections(Words.of(("", "!")))
    assert (none.cosines(0).tolist(), none.mean()) == ([0, 0], 0)
