from __future__ import annotations

import copy
import gc
import pickle

import numpy as np
import pytest
from small_topics import random_topics, refused

from srd_gym.core import TopicArrays
from srd_gym.topic import Topic, TopicSet


def test_arrays_hold_the_judgments_and_pad_with_zeros() -> None:
    topics = random_topics(3, unlabelled=True)
    arrays = TopicArrays(topics, max_candidates=topics.max_candidates + 2)
    assert arrays.documents.shape == (5, topics.max_candidates + 2, 3)
    for index, topic in enumerate(topics):
        n, s = topic.n_candidates, topic.n_subtopics
        assert arrays.labelled[index] == topic.labelled
        if topic.judgments is None:
            assert not arrays.judgments[index].any()
        else:
            assert np.array_equal(arrays.judgments[index, :n, :s], topic.judgments)
            assert np.array_equal(arrays.covers(2)[index, :n, :s], topic.judgments >= 2)
        assert arrays.present[index].tolist() == [True] * n + [False] * (topics.max_candidates + 2 - n)
        assert not arrays.judgments[index, n:].any()
        assert not arrays.judgments[index, :, s:].any()


@pytest.mark.parametrize(
    "name", ["documents", "queries", "retrieval_scores", "judgments", "present", "n_candidates", "labelled"]
)
def test_arrays_are_read_only(name: str) -> None:
    with pytest.raises(ValueError, match="read-only"):
        getattr(TopicArrays(random_topics(0)), name)[0] = 1


def test_the_same_set_shares_its_arrays_while_they_live() -> None:
    topics = random_topics(0)
    arrays = TopicArrays.of(topics)
    assert TopicArrays.of(topics) is arrays
    assert TopicArrays.of(arrays) is arrays
    assert TopicArrays.of(topics, topics.max_candidates) is arrays
    assert TopicArrays.of(topics, 50) is not arrays
    assert TopicArrays.of(random_topics(0)) is not arrays
    kept = id(arrays)
    del arrays
    gc.collect()
    assert TopicArrays.of(topics).topics is topics, kept


def test_copies_share_and_pickles_rebuild() -> None:
    arrays = TopicArrays(random_topics(0), 12)
    assert copy.deepcopy(arrays) is arrays
    again = pickle.loads(pickle.dumps(arrays))
    assert again.max_candidates == 12
    assert np.array_equal(again.documents, arrays.documents)


def test_bad_input_is_refused() -> None:
    topics = random_topics(0, n=6)
    refused(lambda: TopicArrays(topics, 4), r"max_candidates=4, but 5 topics .* first is 'q0'.* raise it to 6")
    refused(lambda: TopicArrays(TopicSet([], name="none")), "'none' is empty")
    refused(lambda: TopicArrays.of([]), r"topics must be a TopicSet.*got \[\] \(list\)", TypeError)
    refused(lambda: TopicArrays.of(TopicArrays(topics), 9), "room for 6 candidates, but max_candidates=9")


def test_missing_vectors_are_explained() -> None:
    arrays = TopicArrays(TopicSet([Topic(query_id="1", doc_ids=("a",), doc_texts=("text",))], name="texts"))
    for name in ("documents", "queries"):
        with pytest.raises(
            ValueError, match=r"'texts' has no document vectors.*compact.*LsaVectorizer.*simulate_vectors"
        ):
            getattr(arrays, name)
