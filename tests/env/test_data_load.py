"""load_topics: a set, a path, a generator's name, or the collection to read that comes with the package."""

from __future__ import annotations

from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest
from markdown_code import ROOT
from small_topics import refused

from srd_gym.data import generate, load_topics, write_topics
from srd_gym.topic import TopicSet


def test_a_set_is_returned_as_it_is_and_a_path_is_read(tmp_path: Path) -> None:
    topics = generate("tiny", n_topics=3, seed=0)
    assert load_topics(topics) is topics
    write_topics(tmp_path / "t.parquet", topics)
    for path in (tmp_path / "t.parquet", str(tmp_path / "t.parquet")):
        read = load_topics(path)
        assert (read.query_ids, read.name, read.simulated) == (topics.query_ids, topics.name, True)


@pytest.mark.parametrize(("source", "count", "seed"), [("tiny", 1000, 0), ("tiny:7", 7, 0), ("tiny:7:3", 7, 3)])
def test_names_give_generated_topics(source: str, count: int, seed: int) -> None:
    topics = load_topics(f"synthetic:{source}")
    assert topics.query_ids == generate("tiny", n_topics=count, seed=seed).query_ids
    assert len(topics) == count
    assert topics.simulated


@pytest.mark.parametrize(("source", "message"), [
    ("synthetic:tiny:x", r'expected "synthetic:PRESET\[:TOPICS\[:SEED\]\]" such as "synthetic:serp:200:1", got'),
    ("synthetic:tiny:1:2:3", r'expected "synthetic:PRESET'),
    ("synthetic:tiny:-1", r'expected "synthetic:PRESET'),
    ("synthetic:tinny", r"Did you mean tiny"),
])  # fmt: skip
def test_bad_names_say_what_was_expected(source: str, message: str) -> None:
    refused(lambda: load_topics(source), message)


def test_other_sources_say_what_to_do(tmp_path: Path) -> None:
    refused(lambda: load_topics(tmp_path), r"is a folder; make a Parquet file of it with `srd data build")
    with pytest.raises(FileNotFoundError, match=r'no file at absent\.parquet; give the path .* or "synthetic:serp"'):
        load_topics("absent.parquet")
    refused(lambda: load_topics(7), r"topics must be a TopicSet, .* got 7 \(int\)", TypeError)
    (tmp_path / "run").write_text("1 Q0 a 1 1 x\n")
    refused(lambda: load_topics(tmp_path / "run"), "not a whole Parquet file")


# The collection to read: judged, varied, and in an order like an engine's

COPY = 0.75


@pytest.fixture(scope="module")
def words() -> TopicSet:
    return load_topics("words")


def test_it_is_forty_queries_with_results_to_read(words: TopicSet) -> None:
    assert len(words) == 40
    assert (words.name, words.vector_width, words.marks) == ("words", 64, ("transductive",))
    assert load_topics("words") is words
    for topic in words:
        assert 30 <= topic.n_candidates <= 40
        assert 4 <= topic.n_subtopics <= 8
        assert topic.query_text
        assert topic.doc_texts is not None
        for text in topic.doc_texts:
            title, snippet = text.split("\n")
            assert 5 <= len(title) <= 90
            assert snippet.endswith((".", "!", "?")), snippet


def test_judgments_order_and_near_copies(words: TopicSet) -> None:
    for topic in words:
        judgments = np.asarray(topic.judgments)
        assert judgments.sum(axis=0).min() >= 2, "every subtopic is covered"
        assert 5 <= int((judgments.sum(axis=1) == 0).sum()) <= topic.n_candidates // 3, "some results are off topic"
        assert (np.diff(np.asarray(topic.retrieval_scores)) < 0).all()
        assert 3 <= judgments[:10].sum(axis=0).max() <= 9, "the engine shows popular subtopics first"
        vectors = np.asarray(topic.doc_vectors)
        first, second = np.nonzero(np.triu(vectors @ vectors.T > COPY, 1))
        assert len(first) >= 1, "near copies"
        assert (judgments[first] & judgments[second]).any(), "that say the same in other words"


def test_no_id_and_no_text_comes_twice(words: TopicSet) -> None:
    ids = [doc_id for topic in words for doc_id in topic.doc_ids]
    texts = [text for topic in words for text in topic.doc_texts or ()]
    assert len(set(ids)) == len(ids)
    assert len(set(texts)) == len(texts)


def test_the_episode_in_the_readme_is_what_is_rendered() -> None:
    env = gym.make("SRD-v0", topics="words", render_mode="ansi")
    _, info = env.reset(options={"query_id": "jaguar"})
    for _ in range(10):
        *_, info = env.step(int(info["action_mask"].argmax()))
    assert f"```text\n{env.render()}\n```" in (ROOT / "README.md").read_text(encoding="utf-8")
