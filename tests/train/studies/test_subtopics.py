"""The study of named subtopics: what is named, and its tables, on a few topics made here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

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


def test_tables() -> None:
    scores, differences = study.tables(generate("tiny", n_topics=4, seed=0))
    assert [line.split("|")[1].strip() for line in scores.splitlines()[2:]] == ["the order as it came", *study.RANKERS]
    assert differences.count("less") == 3


def test_the_weight_of_the_order_is_chosen_by_differences_to_the_order() -> None:
    topics = generate("tiny", n_topics=4, seed=0)
    found: study.Differences = {name: {kind: [] for kind in study.NAMED} for name in study.CHOICE}
    study.weigh(topics, found)
    study.weigh(topics, found)
    rows = study.chosen(found).splitlines()[2:]
    assert [row.split("|")[1].strip() for row in rows] == list(study.CHOICE)
    assert all(len(pairs) == 2 for of_kind in found.values() for pairs in of_kind.values())


def test_scores_are_told_unless_the_title_says_no() -> None:
    class Seen:
        def rank_batch(self, topics: Sequence[Topic], k: int) -> list[IntArray]:
            self.told = topics
            return [np.arange(k)] * len(topics)

        def rank(self, topic: Topic, k: int) -> IntArray:
            return self.rank_batch([topic], k)[0]

    topics = generate("tiny", n_topics=2, seed=0)
    for title, told in (("cautious", True), ("cautious, no scores", False)):
        ranker = Seen()
        study.Told(ranker, "all", title).rank_batch(topics, 3)
        assert [topic.retrieval_scores is not None for topic in ranker.told] == [told] * 2
