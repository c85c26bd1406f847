"""The study of named subtopics: what is named, and its tables, on a few topics made here."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from small_topics import Own

from srd_gym.data import generate
from srd_gym.protocols import IntArray
from srd_gym.topic import Topic
from studies import subtopics as study


def test_what_is_named() -> None:
    topics = generate("tiny", n_topics=5, seed=0)
    own = [{tuple(row) for row in np.asarray(topic.subtopic_vectors).tolist()} for topic in topics]
    for kind in study.NAMED:
        for index, told in enumerate(study.named(kind, topics)):
            rows = [tuple(row) for row in np.asarray(told.subtopic_vectors).tolist()]
            right = [row for row in rows if row in own[index]]
            count = len(own[index])
            half = (count + 1) // 2
            wrong = {"half + wrong": half, "all + wrong": count, "wrong": count}.get(kind, 0)
            assert len(rows) - len(right) == wrong
            assert len(set(right)) == {"half": half, "half + wrong": half, "one": 1, "wrong": 0}.get(kind, count)
            assert all(any(row in others for others in own) for row in rows)
            assert told.judgments is None
            assert told.doc_ids == topics[index].doc_ids


def test_documents_that_are_texts_of_subtopics_leave() -> None:
    topic = generate("tiny", n_topics=1, seed=0)[0]
    texts = [f"text {i}" for i in range(topic.n_candidates)]
    named = [f"  Text {i}" for i in range(topic.n_subtopics)]
    told = replace(topic, doc_texts=tuple(texts), subtopic_texts=tuple(named))
    (kept,) = study._without_leaks([told])
    assert kept.doc_texts == tuple(texts[topic.n_subtopics :])


def test_figures_and_their_tables() -> None:
    topics = generate("tiny", n_topics=4, seed=0)
    found = [study.figures("made", f"set {i}", topics) for i in range(2)]
    found.append(study.figures(study.TESTS[0], "other", topics))
    cautious = found[0].means["cautious"]
    for kind in study.NAMED:
        less = found[0].differences[study.ORDER][kind]
        assert less.mean == pytest.approx(cautious[kind] - found[0].means[study.ORDER][kind])
        assert less.interval[0] <= less.mean <= less.interval[1]
    heads, sets, mean_head, means, test_head, shown, differences = study.tables(found)
    assert "set by set" in heads
    lines = sets.splitlines()[2:]
    assert [line.split("|")[1].strip() for line in lines] == ["made, set 0 (4)", "made, set 1 (4)"]
    assert mean_head == "## made: means over 2 sets"
    assert test_head == "## AMBIENT: other, 4 topics"
    assert means == shown, "two equal sets have the mean of one"
    assert [line.split("|")[1].strip() for line in means.splitlines()[2:]] == [study.ORDER, *study.RANKERS]
    assert differences.count("less") == 3


def test_relevant_documents_alone() -> None:
    topics = [*generate("tiny", n_topics=3, seed=0), *generate("serp", n_topics=3, seed=0)]
    counts = [np.asarray(topic.judgments).any(axis=1).sum() for topic in topics]
    alone = list(study._relevant_alone(topics))
    assert [topic.n_candidates for topic in alone] == [count for count in counts if count > study.FEW]
    assert all(np.asarray(topic.judgments).any(axis=1).all() for topic in alone)


def test_scores_are_told_unless_the_title_says_no() -> None:
    seen: list[Topic] = []

    def looking(topic: Topic, k: int) -> IntArray:
        seen.append(topic)
        return np.arange(k)

    topics = generate("tiny", n_topics=2, seed=0)
    for title, told in (("cautious", True), ("cautious, no scores", False)):
        seen.clear()
        study.Told(Own(looking), "all", title).rank_batch(topics, 3)
        assert [topic.retrieval_scores is not None for topic in seen] == [told] * 2
