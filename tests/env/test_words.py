"""The collection to read that comes with the package: judged, varied, and in an order like an engine's."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest
from markdown_code import ROOT

from srd_gym.data import load_topics
from srd_gym.topic import TopicSet

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


def test_every_subtopic_is_covered_and_some_results_are_off_topic(words: TopicSet) -> None:
    for topic in words:
        assert topic.judgments is not None
        assert topic.judgments.sum(axis=0).min() >= 2, topic.query_id
        off_topic = int((topic.judgments.sum(axis=1) == 0).sum())
        assert 5 <= off_topic <= topic.n_candidates // 3, topic.query_id


def test_no_id_and_no_text_comes_twice(words: TopicSet) -> None:
    ids = [doc_id for topic in words for doc_id in topic.doc_ids]
    texts = [text for topic in words for text in topic.doc_texts or ()]
    assert len(set(ids)) == len(ids)
    assert len(set(texts)) == len(texts)


def test_the_engine_shows_popular_subtopics_first(words: TopicSet) -> None:
    for topic in words:
        assert topic.judgments is not None
        assert topic.retrieval_scores is not None
        assert (np.diff(topic.retrieval_scores) < 0).all()
        most = topic.judgments[:10].sum(axis=0).max()
        assert 3 <= most <= 9, topic.query_id


def test_near_copies_say_the_same_in_other_words(words: TopicSet) -> None:
    for topic in words:
        assert topic.doc_vectors is not None
        assert topic.judgments is not None
        alike = topic.doc_vectors @ topic.doc_vectors.T
        first, second = np.nonzero(np.triu(alike > COPY, 1))
        assert len(first) >= 1, topic.query_id
        assert (topic.judgments[first] & topic.judgments[second]).any(), topic.query_id


def test_the_episode_in_the_readme_is_what_is_rendered() -> None:
    env = gym.make("SRD-v0", topics="words", render_mode="ansi")
    _, info = env.reset(options={"query_id": "jaguar"})
    for _ in range(10):
        *_, info = env.step(int(info["action_mask"].argmax()))
    assert f"```text\n{env.render()}\n```" in (ROOT / "README.md").read_text(encoding="utf-8")
