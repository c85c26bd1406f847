"""Lists drawn from topics: what every list holds, that they repeat, and that folds keep a query together."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_topics import refused

from srd_gym.data.reshape import origin, reshape, reshaped_folds
from srd_gym.data.rl4srd import load_rl4srd
from srd_gym.data.splits import read_folds
from srd_gym.data.synthetic import generate
from srd_gym.topic import Topic, TopicSet


def topic_of(query_id: str, relevant: int, n: int, width: int = 2) -> Topic:
    judgments = np.zeros((n, 2), np.int8)
    judgments[:relevant, 0] = 1
    order = np.random.default_rng(n).permutation(n)
    return Topic(
        query_id=query_id,
        doc_ids=tuple(f"{query_id}-{i}" for i in range(n)),
        doc_vectors=np.arange(n * width, dtype=np.float32).reshape(n, width),
        retrieval_scores=-np.arange(n, dtype=np.float32),
        subtopic_ids=("a", "b"),
        judgments=judgments[order],
        pool=np.ones((1, 2), np.int8),
        pool_ids=("p",),
    )


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 12), st.integers(1, 40), st.integers(0, 30), st.integers(1, 6), st.integers(1, 12))
def test_every_list_is_a_part_of_its_topic(size: int, relevant: int, others: int, lists: int, least: int) -> None:
    n = max(relevant + others, size)
    topics = TopicSet([topic_of("7", relevant, n), topic_of("x/y", relevant, n)], name="two")
    least = min(least, size)
    drawn = reshape(topics, list_size=size, lists=lists, min_relevant=least)
    assert len(set(drawn.query_ids)) == len(drawn) <= 2 * lists
    for item in drawn:
        source = topics[topics.position(origin(item.query_id))]
        places = [source.doc_ids.index(doc_id) for doc_id in item.doc_ids]
        assert len(places) == size
        assert places == sorted(places)
        np.testing.assert_array_equal(item.judgments, source.judgments[places])
        np.testing.assert_array_equal(item.doc_vectors, source.doc_vectors[places])
        np.testing.assert_array_equal(item.retrieval_scores, source.retrieval_scores[places])
        assert item.pool_ids == ("p",)
        assert (item.judgments[:, 0] == 1).sum() >= min(least, relevant)
    for query_id in topics.query_ids:
        sets = [item.doc_ids for item in drawn if origin(item.query_id) == query_id]
        assert len(set(sets)) == len(sets) >= 1


def test_lists_repeat_and_do_not_depend_on_other_topics() -> None:
    topics = generate("serp", n_topics=6, seed=1)
    options = {"list_size": 8, "lists": 4, "min_relevant": 3}
    one, again = reshape(topics, **options), reshape(topics, **options)
    alone, other = reshape(topics[2:3], **options), reshape(topics, **options, seed=1)
    assert [t.doc_ids for t in one] == [t.doc_ids for t in again]
    assert [t.doc_ids for t in alone] == [t.doc_ids for t in one if origin(t.query_id) == topics[2].query_id]
    assert [t.doc_ids for t in one] != [t.doc_ids for t in other]
    assert one.name == f"{topics.name}, lists of 8"
    assert one.simulated == topics.simulated


def test_topics_without_a_relevant_candidate_are_left_out() -> None:
    topics = TopicSet([topic_of("1", 0, 9), topic_of("2", 1, 9)], name="two")
    drawn = reshape(topics, list_size=4, lists=2, min_relevant=2)
    assert {origin(query_id) for query_id in drawn.query_ids} == {"2"}


def test_folds_keep_the_lists_of_a_query_together() -> None:
    lists = reshape(generate("serp", n_topics=11, seed=1), list_size=8, lists=3, min_relevant=3)
    folds = reshaped_folds(lists, 4, seed=2)
    tested: list[str] = []
    for fold in folds:
        parts = [{origin(q) for q in part.query_ids} for part in (fold.train, fold.validation, fold.test)]
        assert sum(len(part) for part in parts) == 11
        assert not parts[0] & parts[1]
        assert not parts[2] & (parts[0] | parts[1])
        assert len(fold.train) + len(fold.validation) + len(fold.test) == len(lists)
        tested.extend(fold.test.query_ids)
    assert sorted(tested) == sorted(lists.query_ids)


def test_given_test_sets_name_the_original_topics() -> None:
    topics = TopicSet([topic_of(str(i), 0 if i == 3 else 4, 9) for i in range(8)], name="eight")
    lists = reshape(topics, list_size=4, lists=2, min_relevant=2)
    folds = reshaped_folds(lists, [["0", "3"], ["1", "2"], ["4"]])
    assert folds[0].test.query_ids == ("0/1", "0/2")
    assert folds[1].test.query_ids == ("1/1", "1/2", "2/1", "2/2")
    assert {"5/1", "6/2", "7/1"} <= set(folds[2].train.query_ids)
    refused(lambda: reshaped_folds(lists, [["0"], ["3"], ["4"]]), "test set 2 holds no topic of")
    refused(lambda: reshaped_folds(lists, [["0"], ["1"], ["0"]]), "in the test sets of folds 1 and 3")
    refused(lambda: reshaped_folds(lists, 2), "expected 3 to 7 folds for lists of 7 topics, got 2")


def test_what_cannot_be_drawn_is_refused() -> None:
    topics = TopicSet([topic_of("1", 3, 9), topic_of("2", 3, 5)], name="two")
    with pytest.raises(ValueError, match=r"1 topics have fewer than 6 candidates \(2\); leave them out"):
        reshape(topics, list_size=6, min_relevant=1)
    refused(lambda: reshape(topics, list_size=4, min_relevant=5), "min_relevant must be at most list_size=4, got 5")
    refused(lambda: reshape(topics, lists=0), "lists must be at least 1")
    refused(lambda: reshape(topics, list_size=2.5), "list_size must be an integer", TypeError)
    unjudged = TopicSet([Topic(query_id="1", doc_ids=("a", "b"))], name="bare")
    refused(lambda: reshape(unjudged, list_size=2, min_relevant=1), r"1 topics have no judgments \(1\)")
    refused(lambda: origin("12"), "'12' is not the id of a list; expected one like '12/3'")


@pytest.mark.data
def test_trec_becomes_about_as_many_lists_as_in_the_paper(data_dir: Path) -> None:
    lists = reshape(load_rl4srd(data_dir / "rl4srd"))
    assert len({origin(query_id) for query_id in lists.query_ids}) == 197
    assert len(lists) == 197 * 32
    assert {topic.n_candidates for topic in lists} == {30}
    folds = reshaped_folds(lists, read_folds(next((data_dir / "rl4srd").glob("*fold*"))))
    assert len(folds) == 5
    assert all(len(fold.test) > 1000 for fold in folds)
