from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from small_topics import alone, bare_topic, refused

from srd_gym.data.lsa import LsaVectorizer
from srd_gym.topic import TopicSet

pytest.importorskip("sklearn", reason="scikit-learn is not installed (extra `text`)")

TEXTS = [
    "the jaguar is a large cat of the americas",
    "a big cat that hunts at night in the forest",
    "the jaguar car company builds fast cars",
    "fast cars and old cars at the motor show",
    "a guitar by the company of the same name",
]


def topics(*texts: str) -> TopicSet:
    named: Any = {"subtopic_ids": ("a", "b"), "subtopic_texts": ("big cat", "")}
    return alone(bare_topic(len(texts), query_text="fast cars", doc_texts=texts, **named))


def test_vectors_have_length_one_and_are_near_where_texts_are_on_one_matter() -> None:
    vectorizer = LsaVectorizer(3).fit(TEXTS)
    vectors = vectorizer.transform(TEXTS)
    assert (vectors.shape, vectors.dtype) == ((5, 3), np.float32)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, rtol=1e-5)
    *unknown, cars = vectorizer.transform(["", "zebra", "!?", "cars, cars & CARS!"])
    assert not np.any(unknown), "a text without a known word is zero"
    cat, _, _, car, guitar = vectors
    assert cars @ car > max(cars @ cat, cars @ guitar)
    wide = LsaVectorizer(50).fit(TEXTS).transform(TEXTS)
    assert wide.shape == (5, 50)
    assert not wide[:, 5:].any(), "five texts have five dimensions; the rest are 0"


def test_applying_covers_documents_query_and_subtopics() -> None:
    vectorizer = LsaVectorizer(4).fit(TEXTS)
    made = vectorizer.apply(topics("big cat", "fast cars"))
    assert (made.transductive, made.simulated, made.vector_width) == (False, False, 4)
    topic = made[0]
    np.testing.assert_array_equal(topic.doc_vectors, vectorizer.transform(["big cat", "fast cars"]))
    np.testing.assert_array_equal(topic.query_vector, vectorizer.transform(["fast cars"])[0])
    np.testing.assert_array_equal(topic.subtopic_vectors, vectorizer.transform(["big cat", ""]))
    assert vectorizer.apply(topics("x"), transductive=True).transductive


def test_fitting_reads_the_documents_of_the_given_topics_only() -> None:
    train = topics(*TEXTS)
    other = replace(train[0], query_text="unseen", subtopic_texts=("unseen", "unseen"))
    one = LsaVectorizer(3).fit_topics(train).transform(TEXTS)
    np.testing.assert_array_equal(one, LsaVectorizer(3).fit_topics(train.replace([other])).transform(TEXTS))
    np.testing.assert_array_equal(one, LsaVectorizer(3).fit(TEXTS).transform(TEXTS))
    assert not LsaVectorizer(3).fit_topics(train).transform(["unseen"]).any()


def test_saved_in_another_process_and_loaded_it_gives_the_same_vectors(tmp_path: Path) -> None:
    code = "import sys; from srd_gym.data import LsaVectorizer; LsaVectorizer(3).fit(sys.argv[2:]).save(sys.argv[1])"
    folder, other = tmp_path / "model" / "vectorizer", {**os.environ, "PYTHONHASHSEED": "7"}
    texts = [" ".join(f"word{word}" for word in words) for words in np.random.default_rng(0).integers(0, 90, (99, 9))]
    subprocess.run([sys.executable, "-c", code, folder, *texts], check=True, env=other)
    loaded = LsaVectorizer.load(folder)
    np.testing.assert_array_equal(loaded.transform(texts), LsaVectorizer(3).fit(texts).transform(texts))
    assert {path.suffix for path in folder.iterdir()} == {".json", ".npz"}


def test_what_cannot_be_fitted_or_used_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    refused(lambda: LsaVectorizer(0), "width must be at least 1, got 0")
    refused(lambda: LsaVectorizer(3).fit([]), "0 texts hold too few words to learn from")
    refused(lambda: LsaVectorizer(3).fit(["!", ""]), "2 texts hold too few words to learn from")
    one_word = "2 texts hold too few words"
    refused(lambda: LsaVectorizer(3).fit(["text a", "text b"]), one_word)
    unfitted = r"not fitted; call fit\(texts\)"
    refused(lambda: LsaVectorizer(3).transform(["x"]), unfitted, RuntimeError)
    refused(lambda: LsaVectorizer(3).save(tmp_path), "nothing to save", RuntimeError)
    bare = alone(bare_topic(), "bare")
    refused(lambda: LsaVectorizer(3).fit_topics(bare), "of 'bare' has no document texts")
    monkeypatch.setitem(sys.modules, "sklearn.feature_extraction.text", None)
    refused(lambda: LsaVectorizer(3).fit(TEXTS), r"pip install .*\[text\]", ImportError)


def test_damaged_and_foreign_files_are_refused(tmp_path: Path) -> None:
    LsaVectorizer(3).fit(TEXTS).save(tmp_path)
    about = json.loads((tmp_path / "lsa.json").read_text())
    changes = [
        ({"format_version": 2}, r"format version '2', expected 1: upgrade"),
        ({"terms": about["terms"][1:]}, r"not a saved vectoriser \(idf length = .* vocabulary"),
        ({"terms": about["terms"][:1] * len(about["terms"])}, "not a saved vectoriser .*Duplicate term"),
        ({"terms": []}, r"not a saved vectoriser .*empty"),
        *(({"terms": terms}, r"terms of lsa.json must be a list of texts") for terms in ("x", None, [1, 2])),
    ]
    for change, message in changes:
        (tmp_path / "lsa.json").write_text(json.dumps(about | change))
        refused(lambda: LsaVectorizer.load(tmp_path), message)
    (tmp_path / "lsa.json").write_text("[]")
    refused(lambda: LsaVectorizer.load(tmp_path), r"expected a JSON object")
    (tmp_path / "lsa.json").write_text(json.dumps(about))
    (tmp_path / "lsa.npz").write_bytes(pickle.dumps({}))
    refused(lambda: LsaVectorizer.load(tmp_path), r"is a pickle, .* refused; fit it again")
    np.savez(tmp_path / "lsa.npz", idf=np.array([{}], dtype=object), components=np.zeros(1))
    refused(lambda: LsaVectorizer.load(tmp_path), "cannot be loaded when allow_pickle=False")
    (tmp_path / "lsa.npz").unlink()
    refused(lambda: LsaVectorizer.load(tmp_path), r"no file at .*lsa\.npz", FileNotFoundError)
