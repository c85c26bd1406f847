from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from small_topics import alone, refused, small_topic

from srd_gym.data.simulate import NOISE_SWEEP, simulate_vectors
from srd_gym.data.synthetic import generate
from srd_gym.topic import TOPIC_FIELDS, Topic, TopicSet

FROZEN = [[0.8300132, -0.5498617, -0.0934356], [0.8738379, 0.2511288, 0.4163431]]
"""Vectors of seed 0 and noise 1 at the freeze: whoever changes them changes every published number."""
VECTORS = ("query_vector", "doc_vectors", "subtopic_vectors")


def judged(n_topics: int = 6, **overrides: object) -> TopicSet:
    topics = generate("tiny", n_topics=n_topics, **overrides)
    return TopicSet([replace(topic, **dict.fromkeys(VECTORS)) for topic in topics], name="judged")


def cosines(topic: Topic) -> np.ndarray:
    return topic.doc_vectors @ topic.doc_vectors.T


def test_the_vectors_are_those_that_were_frozen() -> None:
    simulated = simulate_vectors(alone(small_topic([[1, 0], [0, 0]], "7")), width=3)[0]
    np.testing.assert_allclose(simulated.doc_vectors, FROZEN, atol=1e-6)


@given(data=st.data())
def test_vectors_do_not_depend_on_the_order_or_presence_of_topics_and_candidates(data: st.DataObject) -> None:
    topics = judged(n_topics=4)
    catalogue = data.draw(st.sampled_from([None, 25]))
    reference = simulate_vectors(topics, catalogue=catalogue)
    some = data.draw(st.permutations(range(4)))[: data.draw(st.integers(1, 4))]
    kept = {}
    for i in some:
        order = data.draw(st.permutations(range(topics[i].n_candidates)))
        kept[i] = np.array(order[: data.draw(st.integers(1, len(order)))])
    moved = simulate_vectors(topics.replace([topics[i].take(kept[i]) for i in some]), catalogue=catalogue)
    for i, topic in zip(some, moved, strict=True):
        np.testing.assert_array_equal(topic.doc_vectors, reference[i].take(kept[i]).doc_vectors)
        np.testing.assert_array_equal(topic.query_vector, reference[i].query_vector)
        np.testing.assert_array_equal(topic.subtopic_vectors, reference[i].subtopic_vectors)


def test_the_set_says_that_it_is_simulated_and_keeps_all_but_vectors() -> None:
    topics = judged()
    pooled = topics.replace(replace(topic, pool=topic.judgments, pool_ids=topic.doc_ids) for topic in topics)
    simulated, other = simulate_vectors(pooled, noise=2), simulate_vectors(pooled, noise=2, seed=1)
    assert (simulated.marks, topics.marks) == (("simulated",), ())
    assert simulated.name == "judged (simulated, noise 2)"
    assert simulate_vectors(topics, width=32, seed=3).name == "judged (simulated, noise 1, width 32, seed 3)"
    for before, after, another in zip(pooled, simulated, other, strict=True):
        for field in set(TOPIC_FIELDS) - set(VECTORS):
            np.testing.assert_array_equal(getattr(after, field), getattr(before, field))
        for field in VECTORS:
            assert not np.allclose(getattr(after, field), getattr(another, field))
        np.testing.assert_allclose(np.linalg.norm(after.doc_vectors, axis=1), 1, atol=1e-5)


def test_ids_are_told_apart_by_every_character_and_nothing_need_be_relevant() -> None:
    ids = ("1.1", "1.10", "é", "\u2028", "<b>", " 1.1")
    for subtopics in (1, 0):
        simulated = simulate_vectors(alone(small_topic(np.ones((6, subtopics)), doc_ids=ids)))[0]
        assert len(np.unique(simulated.doc_vectors, axis=0)) == 6
        np.testing.assert_allclose(np.linalg.norm(simulated.doc_vectors, axis=1), 1, atol=1e-5)
        np.testing.assert_allclose(np.linalg.norm(simulated.query_vector), 1, atol=1e-5)


def added_by(topic: Topic, subtopic: int) -> np.ndarray:
    """[F], the direction that a subtopic adds to a document."""
    has = topic.judgments[:, subtopic] >= 1
    mean = topic.doc_vectors[has].mean(axis=0) - topic.doc_vectors[~has].mean(axis=0)
    return mean / np.linalg.norm(mean)


def pages_on(ids: tuple[str, ...], queries: str) -> TopicSet:
    rows = np.tile(np.eye(len(ids)), (60, 1))
    names = tuple(map(str, range(len(rows))))
    return TopicSet([small_topic(rows, q, doc_ids=names, subtopic_ids=ids) for q in queries], name="pages")


def test_subtopics_are_private_or_mapped_to_a_catalogue_at_random() -> None:
    topics = pages_on(("1", "2"), "abcdefgh")
    private = simulate_vectors(topics, noise=0.1)
    assert private.name == "pages (simulated, noise 0.1)"
    firsts = np.array([added_by(topic, 0) for topic in private])
    assert np.abs(np.triu(firsts @ firsts.T, 1)).max() < 0.6
    shared = simulate_vectors(topics, noise=0.1, catalogue=2)
    assert shared.name == "pages (simulated, noise 0.1, catalogue 2)"
    firsts = np.array([added_by(topic, 0) for topic in shared])
    same = firsts @ firsts[0] > 0
    assert 0 < same.sum() < len(same)  # number 1 of some queries is number 2 of others
    assert np.abs(firsts @ firsts[0]).min() > 0.9  # but both directions recur


def test_the_order_of_subtopics_changes_no_vector() -> None:
    topic = pages_on(("1", "2", "3"), "a")[0]
    turned = replace(topic, subtopic_ids=("3", "1", "2"), judgments=topic.judgments[:, [2, 0, 1]])
    one, other = (simulate_vectors(alone(each), catalogue=9)[0] for each in (topic, turned))
    # A near-duplicate's common noise is drawn by what it covers, in the order of the topic: one subtopic each here.
    np.testing.assert_allclose(one.doc_vectors, other.doc_vectors, atol=1e-6)


def test_documents_that_share_a_subtopic_are_closer_and_more_so_with_less_noise() -> None:
    topics = judged(40)

    def contrast(noise: float) -> float:
        near, far = list[float](), list[float]()
        for topic in simulate_vectors(topics, noise=noise):
            shares = (topic.judgments @ topic.judgments.T) > 0
            relevant = topic.judgments.any(axis=1)
            pairs = np.triu(np.outer(relevant, relevant), 1)
            near.extend(cosines(topic)[pairs & shares])
            far.extend(cosines(topic)[pairs & ~shares])
        return float(np.mean(near) - np.mean(far))

    falling = [contrast(noise) for noise in NOISE_SWEEP]
    assert falling == sorted(falling, reverse=True)
    assert falling[0] > 0.1
    assert abs(falling[-1]) < 0.05


def test_non_relevant_documents_are_less_like_the_query_but_not_told_apart_by_that_alone() -> None:
    topics = judged(60, relevant_share=(0.5, 0.5))

    def separation(noise: float) -> float:
        """How often a relevant document is more like the query than a non-relevant one of its topic."""
        wins = list[bool]()
        for topic in simulate_vectors(topics, noise=noise):
            similarity, relevant = topic.doc_vectors @ topic.query_vector, topic.judgments.any(axis=1)
            wins.extend((similarity[relevant][:, None] > similarity[~relevant]).ravel())
        return float(np.mean(wins))

    assert 0.8 < separation(1) < 0.99
    assert 0.6 < separation(2) < 0.9
    assert separation(8) < 0.65


def test_some_documents_are_near_duplicates() -> None:
    topic = small_topic(np.ones((100, 1)), doc_ids=tuple(map(str, range(100))))
    close = cosines(simulate_vectors(alone(topic))[0])
    near = close[np.triu_indices(100, 1)] > 0.98
    assert 10 <= near.sum() <= 300


def test_bad_input_says_what_to_do() -> None:
    topics, pages = judged(1), pages_on(("1", "2", "3"), "ab")
    unjudged = topics.replace([replace(topics[0], judgments=None)])
    refused(lambda: simulate_vectors(unjudged), "must have judgments, .* to be simulated")
    refused(lambda: simulate_vectors(simulate_vectors(topics)), "no document vectors of its own")
    refused(lambda: simulate_vectors(topics, width=0), "width must be at least 1, got 0")
    refused(lambda: simulate_vectors(topics, noise=-1), "noise must be between 0 and 1000, got -1")
    refused(lambda: simulate_vectors(topics, noise=float("nan")), "between 0 and 1000, got nan")
    refused(lambda: simulate_vectors(topics, seed=0.5), "seed must be a whole number", TypeError)
    refused(lambda: simulate_vectors(pages, catalogue=2), "at least 3, as topic 'a' has so many subtopics")
    refused(lambda: simulate_vectors(pages, catalogue=0), "catalogue must be at least 1, got 0")
    assert len(simulate_vectors(pages, catalogue=3)) == 2
