from __future__ import annotations

import copy
import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_topics import alone, refused

from srd_gym.testing import check_topics
from srd_gym.topic import TOPIC_FIELDS, Topic, TopicSet

JUDGMENTS = ((1, 0), (0, 0), (0, 4))


def topic(query_id: str = "7", **changes: Any) -> Topic:
    fields: dict[str, Any] = {
        "doc_texts": ("x", "y", "z"),
        "doc_vectors": np.arange(6).reshape(3, 2),
        "retrieval_scores": [3, 2, 2],
        "subtopic_ids": ("s", "t"),
        "pool": [[1, 1]],
        "pool_ids": ("p",),
        "doc_features": [[1.0], [2.0], [3.0]],
        "feature_names": ("bm25",),
    }
    return Topic(**({"query_id": query_id, "doc_ids": tuple("abc"), "judgments": JUDGMENTS} | fields | changes))


# topics


@pytest.mark.parametrize(("given", "expected"), [
    ({"judgments": JUDGMENTS}, ("1", "2")),
    ({"pool": [[1, 0, 1]], "pool_ids": ["p"]}, ("1", "2", "3")),
    ({"subtopic_texts": ["cat", "car"]}, ("1", "2")),
    ({"doc_vectors": np.ones((3, 4)), "subtopic_vectors": np.ones((5, 4))}, tuple("12345")),
    ({"subtopic_weights": [1, 2, 3]}, ("1", "2", "3")),
    ({"judgments": np.zeros((3, 0))}, ()),
    ({}, ()),
])  # fmt: skip
def test_subtopics_without_ids_are_numbered(given: dict[str, Any], expected: tuple[str, ...]) -> None:
    assert Topic(query_id="7", doc_ids=("a", "b", "c"), **given).subtopic_ids == expected


def test_fields_are_converted_and_frozen() -> None:
    made = topic(doc_ids=["a", "b", "c"], query_vector=[1, 2], subtopic_weights=[1, 2])
    assert made.doc_ids == ("a", "b", "c")
    for name in ("doc_vectors", "query_vector", "retrieval_scores", "subtopic_weights", "doc_features"):
        assert getattr(made, name).dtype == np.float32
        assert not getattr(made, name).flags.writeable
    assert made.judgments.dtype == np.int8
    assert (made.n_candidates, made.n_subtopics, made.vector_width) == (3, 2, 2)
    assert made.trainable
    vectors = np.zeros((3, 2), dtype=np.float32)
    assert np.shares_memory(topic(doc_vectors=vectors).doc_vectors, vectors), "what fits is not copied"
    assert vectors.flags.writeable, "the caller's array stays the caller's"


def test_a_topic_without_a_relevant_document_is_kept_but_teaches_nothing() -> None:
    barren = topic(judgments=[[0, -2], [0, 0], [0, 0]])
    assert (barren.labelled, barren.trainable) == (True, False)
    assert not topic(judgments=None).labelled
    assert topic(subtopic_ids=(), judgments=np.zeros((3, 0)), pool=None, pool_ids=None).n_subtopics == 0


@pytest.mark.parametrize(("changes", "kind", "message"), [
    ({"query_id": 7}, TypeError, r"query_id must be text, got 7 \(int\)"),
    ({"query_text": 7}, TypeError, "query_text must be text or None"),
    ({"doc_ids": ("a", 2, "c")}, TypeError, "doc_ids must be text"),
    ({"doc_texts": ("a", None, "c")}, TypeError, "doc_texts must be text"),
    ({"doc_ids": "abc"}, TypeError, "doc_ids must be a sequence of texts"),
    ({"doc_ids": ("a", "b", "a")}, ValueError, "doc_ids holds 'a' twice"),
    ({"subtopic_ids": ("s", "s")}, ValueError, r"topic '7': subtopic_ids holds 's' twice"),
    ({"doc_ids": ()}, ValueError, "topic '7': no candidates"),
    ({"doc_texts": ("x",)}, ValueError, "doc_texts has 1 entries"),
    ({"doc_vectors": np.zeros((2, 2))}, ValueError, r"doc_vectors has shape \(2, 2\)"),
    ({"doc_vectors": [[1, 2], [3], [4, 5]]}, ValueError, "doc_vectors must have rows of one length"),
    ({"doc_vectors": [["1", "2"]] * 3}, TypeError, "doc_vectors must hold numbers, got '1'"),
    ({"query_vector": [1, 2, 3]}, ValueError, r"query_vector has shape \(3,\)"),
    ({"subtopic_vectors": np.zeros((2, 3))}, ValueError, r"subtopic_vectors has shape \(2, 3\)"),
    ({"subtopic_scores": [[1, 2]]}, ValueError, r"subtopic_scores has shape \(1, 2\)"),
    ({"subtopic_scores": [[1, 2], [np.inf, 1], [1, 1]]}, ValueError, r"holds infinity \(.* row 1\)"),
    ({"judgments": np.zeros((3, 1))}, ValueError, r"judgments has shape \(3, 1\)"),
    ({"judgments": [[0.5, 0]] * 3}, ValueError, "judgments .*not whole numbers from -128"),
    ({"doc_vectors": [[0, 0], [0, 0], [np.inf, 0]]}, ValueError, "doc_vectors holds NaN .* row 2"),
    ({"doc_vectors": [[0, 0], [0, 0], [1e300, 0]]}, ValueError, "doc_vectors .*that float32 cannot"),
    ({"retrieval_scores": [1, 2, 0]}, ValueError, "retrieval_scores rise .*best first"),
    ({"subtopic_weights": [1, 0]}, ValueError, r"subtopic_weights must be positive"),
    ({"pool": None}, ValueError, r"pool and pool_ids come together"),
    ({"doc_features": [[1.0], [2.0]]}, ValueError, r"doc_features has shape \(2, 1\)"),
])  # fmt: skip
def test_what_does_not_hold_together_is_named(changes: dict[str, Any], kind: type[Exception], message: str) -> None:
    refused(lambda: topic(**changes), message, kind)


def test_scores_of_subtopics_may_lack_numbers_and_follow_the_candidates() -> None:
    scores = [[5, np.nan], [np.nan, np.nan], [-1, 0]]
    made = topic(subtopic_scores=scores)
    assert made.subtopic_scores.dtype == np.float32
    np.testing.assert_array_equal(made.subtopic_scores, np.float32(scores))
    np.testing.assert_array_equal(made.take([2, 0]).subtopic_scores, [[-1, 0], [5, np.nan]])
    other = topic("8", subtopic_scores=scores)
    chosen = TopicSet([made, other], name="two").select(["8"])
    assert chosen[0].subtopic_scores is other.subtopic_scores
    assert alone(made).fingerprint == alone(topic(subtopic_scores=scores)).fingerprint
    check_topics(TopicSet([made, topic("8")], name="two"))


def test_taking_candidates_keeps_everything_else() -> None:
    taken = topic().take([2, 0])
    assert (taken.doc_ids, taken.doc_texts, taken.pool_ids) == (("c", "a"), ("z", "x"), ("p",))
    np.testing.assert_array_equal(taken.doc_vectors, [[4, 5], [0, 1]])
    np.testing.assert_array_equal(taken.judgments, [[0, 4], [1, 0]])
    np.testing.assert_array_equal(taken.doc_features, [[3], [1]])
    assert taken.retrieval_scores is None, "the order is no retrieval order any more"
    assert topic().take(np.array([0, 2])).retrieval_scores.tolist() == [3, 2]
    assert topic().take([True, False, True]).doc_ids == ("a", "c")
    refused(lambda: topic().take([0.5]), "only integers", IndexError)
    refused(lambda: topic().take([0, 0]), "twice")
    refused(lambda: topic().take([]), "no candidates")


# topic sets


def numbered(count: int, **flags: bool) -> TopicSet:
    return TopicSet([topic(str(i)) for i in range(count)], name="set", **flags)


def test_a_set_is_a_sequence_that_keeps_its_name_flags_and_what_made_its_vectors() -> None:
    topics = numbered(5, simulated=True, transductive=True)
    part = topics[1:4]
    assert (part.query_ids, part.name, part.marks) == (("1", "2", "3"), "set", ("simulated", "transductive"))
    assert topics[-1].query_id == "4"
    assert topics.select(["3", "0"]).query_ids == ("3", "0")
    assert repr(topics) == "TopicSet('set': 5 topics, at most 3 candidates, vector width 2, simulated, transductive)"
    assert (topics.max_candidates, topics.max_subtopics, topics.vector_width) == (3, 2, 2)
    assert TopicSet([], name="none").vector_width is None
    topics = TopicSet([topic("a"), topic("b")], name="x", encoder="minilm.npz")
    assert topics[:1].encoder == topics.trainable().encoder == "minilm.npz"
    assert topics.origin == {"name": "x", "marks": [], "encoder": "minilm.npz"}


def test_ids_are_text_find_their_topic_and_differ_and_one_set_has_one_width() -> None:
    assert len(TopicSet([topic("7"), topic("07"), topic("7.0")], name="x")) == 3
    refused(lambda: TopicSet([topic("7"), topic("7")], name="x"), "query id '7' is duplicated")
    refused(lambda: numbered(5).select(["33"]), "in topic set 'set': '33'")
    wide, bare = topic("8", doc_vectors=np.zeros((3, 3))), topic("8", doc_vectors=None)
    refused(lambda: TopicSet([topic("7"), wide], name="x"), "'8' has vectors of width 3")
    refused(lambda: TopicSet([topic("7"), bare], name="x"), "'8' has vectors of width None")
    topics = TopicSet([topic("jaguar"), topic("python")], name="words")
    assert topics["python"] is topics[1] is topics[-1]
    assert "python" in topics
    assert topics[0] in topics
    assert "java" not in topics
    assert topics.select("python").query_ids == ("python",)
    refused(lambda: topics["jagaur"], "'words': 'jagaur'. Did you mean jaguar")
    refused(lambda: topics.position(3), r"a query id is text, got 3 \(int\)", TypeError)


def test_the_official_ideal_needs_a_pool_for_every_judged_topic() -> None:
    bare = topic("1", pool=None, pool_ids=None)
    unjudged = topic("2", pool=None, pool_ids=None, judgments=None)
    assert TopicSet([topic("0"), unjudged], name="x").has_pool
    for lacking in ([topic("0"), bare], [unjudged], []):
        assert not TopicSet(lacking, name="x").has_pool


def test_the_fingerprint_tells_any_change_and_nothing_else() -> None:
    texts = {"query_text": "jaguar", "subtopic_texts": ("one", "two")}
    named = {"subtopic_vectors": np.ones((2, 2)), "subtopic_scores": np.arange(6.0).reshape(3, 2)}
    whole = topic(query_vector=[1, 2], subtopic_weights=[1, 2], **named, **texts)

    def other(value: Any) -> Any:
        if isinstance(value, tuple):
            return (f"{value[0]}x", *value[1:])
        return f"{value}x" if isinstance(value, str) else value * 2

    changed = [replace(whole, **{name: other(getattr(whole, name))}) for name in TOPIC_FIELDS]
    changed += [replace(whole, **{name: None}) for name in ("retrieval_scores", "subtopic_scores")]
    changed += [replace(whole, pool=np.zeros((0, 2)), pool_ids=())]
    prints = {alone(each).fingerprint for each in (whole, *changed)}
    assert len(prints) == 1 + len(changed)
    assert TopicSet([whole], name="another", simulated=True).fingerprint == alone(whole).fingerprint
    assert numbered(3).fingerprint != numbered(2).fingerprint
    bare = Topic(query_id="7", doc_ids=("a", "b"), doc_vectors=np.eye(2))
    assert alone(bare).fingerprint == "b90743ef39641bb6", "models and results hold it"


def test_sets_survive_pickling_between_processes_and_are_shared_by_deep_copies() -> None:
    topics = numbered(3, simulated=True)
    again = pickle.loads(pickle.dumps(topics))
    assert (again.fingerprint, again.marks) == (topics.fingerprint, topics.marks)
    assert copy.deepcopy(topics) is topics


# folds


@settings(max_examples=50)
@given(count=st.integers(3, 40), n=st.integers(3, 6), seed=st.integers(0, 9))
def test_folds_share_no_query(count: int, n: int, seed: int) -> None:
    topics, n = numbered(count), min(n, count)
    folds = topics.folds(n, seed)
    assert [fold.index for fold in folds] == list(range(1, n + 1))
    tested = [query_id for fold in folds for query_id in fold.test.query_ids]
    assert sorted(tested) == sorted(topics.query_ids), "every topic is tested once"
    for fold in folds:
        parts = [part.query_ids for part in (fold.train, fold.validation, fold.test)]
        assert all(parts)
        assert sorted(sum(parts, ())) == sorted(topics.query_ids)
        assert fold.validation.query_ids == folds[fold.index % n].test.query_ids
    assert [f.test.query_ids for f in topics.folds(n, seed)] == [f.test.query_ids for f in folds]


def test_published_folds_train_on_topics_of_no_fold_and_others_have_a_seed() -> None:
    folds = numbered(7).folds_from([["1", "2"], ["3"], ["6"]])
    assert [(f.train.query_ids, f.validation.query_ids, f.test.query_ids) for f in folds] == [
        (("0", "4", "5", "6"), ("3",), ("1", "2")),
        (("0", "1", "2", "4", "5"), ("6",), ("3",)),
        (("0", "3", "4", "5"), ("1", "2"), ("6",)),
    ]
    one, other = (numbered(12).folds(4, *seed) for seed in ((), (0,)))
    assert [fold.test.query_ids for fold in one] == [fold.test.query_ids for fold in other]
    refused(lambda: numbered(12).folds("4"), "folds must be a whole number, got '4'", TypeError)  # type: ignore[arg-type]


@pytest.mark.parametrize(("call", "message"), [
    (lambda t: t.folds(2, 0), "expected 3 to 4 folds for 4 topics"),
    (lambda t: t.folds_from([["0"], ["1"]]), r"expected at least 3 test sets .*, got 2"),
    (lambda t: t.folds_from([["0"], ["1"], ["9"]]), r"unknown query id in topic set 'set': '9'"),
    (lambda t: t.folds_from([["0"], ["1"], ["0"]]), "in the test sets of folds 1 and 3"),
])  # fmt: skip
def test_bad_folds_are_refused(call: Any, message: str) -> None:
    refused(lambda: call(numbered(4)), message)
