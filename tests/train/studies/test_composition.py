"""Topics whose documents are composed of texts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_topics import alone, bare_topic, refused, small_topic

from srd_gym.data.synthetic import generate
from srd_gym.topic import Topic, TopicSet
from studies.sources.composition import compose_topics

VECTORS = ("query_vector", "doc_vectors", "subtopic_vectors")


def judged(n_topics: int = 6, **overrides: object) -> TopicSet:
    topics = generate("tiny", n_topics=n_topics, **overrides)
    return TopicSet([replace(topic, **dict.fromkeys(VECTORS)) for topic in topics], name="judged")


def collection(queries: int = 12, subtopics: int = 4, snippets: int = 8, *, texts: bool = True) -> TopicSet:
    """Every text says of which query, subtopic and snippet it is; one snippet of each query covers two subtopics."""
    rng = np.random.default_rng(0)
    made = []
    for q in range(queries):
        judgments = np.repeat(np.eye(subtopics, dtype=np.int8), snippets, axis=0)
        judgments[0, 1] = 1
        names = tuple(f"{q}:{row // snippets}:{row}" for row in range(len(judgments)))
        fields: dict[str, Any] = {"doc_ids": names, "doc_texts": names if texts else None, "query_text": f"query {q}"}
        fields["subtopic_texts"] = tuple(f"{q}:{s}" for s in range(subtopics))
        for name, count in (("doc_vectors", len(names)), ("subtopic_vectors", subtopics)):
            fields[name] = rng.normal(size=(count, 8))
        made.append(small_topic(judgments, f"t{q}", query_vector=rng.normal(size=8), **fields))
    return TopicSet(made, name="texts")


def parts(topics: TopicSet, count: int = 3) -> list[tuple[str, ...]]:
    return [fold.test.query_ids for fold in topics.folds(count, 0)]


def said(topic: Topic) -> list[list[str]]:
    """The snippets of each document."""
    return [text.split(" / ") for text in topic.doc_texts]


@given(seed=st.integers(0, 20), recur=st.booleans())
def test_documents_say_what_they_are_judged_to_cover_and_nothing_else_of_their_topic(seed: int, recur: bool) -> None:
    topics, texts = judged(12), collection()
    made = compose_topics(topics, texts, parts(topics), recur=recur, seed=seed)
    assert made.simulated
    for topic, before in zip(made, topics, strict=True):
        assert (topic.judgments == before.judgments).all()
        assert topic.doc_ids == before.doc_ids
        np.testing.assert_allclose(np.linalg.norm(topic.doc_vectors, axis=1), 1, atol=1e-5)
        own = [text.split(":") for text in topic.subtopic_texts]
        assert len({tuple(each) for each in own}) == topic.n_subtopics
        for row, snippets in zip(topic.judgments, said(topic), strict=True):
            about = [snippet.split(":")[:2] for snippet in snippets]
            covered = [own[s] for s in np.flatnonzero(row >= 1)]
            assert sorted(each for each in about if each in own) == sorted(covered)
            assert len(about) == len(covered) + 1 + (not covered)
            assert not any(snippet.endswith(":0") for snippet in snippets)  # it covers two


@pytest.mark.parametrize("recur", [False, True])
def test_no_snippet_serves_two_folds_and_no_subtopic_unless_asked_for(recur: bool) -> None:
    topics = judged(30)
    sets = parts(topics, 4)
    some = [list(ids)[:-1] for ids in sets]  # the last of each is in no fold, and so a part of its own
    made = compose_topics(topics, collection(40, snippets=20), some, recur=recur)
    rest = [list(ids)[-1] for ids in sets]
    used = [{s for name in ids for each in said(made[made.position(name)]) for s in each} for ids in [*some, rest]]
    about = [{snippet.rpartition(":")[0] for snippet in part} for part in used]
    for one in range(len(used)):
        for other in range(one):
            assert not used[one] & used[other]
            assert bool(about[one] & about[other]) == recur


def test_neither_the_order_of_candidates_and_subtopics_nor_of_topics_changes_what_is_drawn() -> None:
    topics, texts = judged(12), collection()
    made = compose_topics(topics, texts, parts(topics))
    rng = np.random.default_rng(1)

    def turned(topic: Topic) -> Topic:
        order, other = rng.permutation(topic.n_candidates), rng.permutation(topic.n_subtopics)
        moved, ids = topic.take(order), tuple(topic.subtopic_ids[i] for i in other)
        return small_topic(moved.judgments[:, other], topic.query_id, doc_ids=moved.doc_ids, subtopic_ids=ids)

    again = compose_topics(topics.replace(turned(t) for t in reversed(list(topics))), texts, parts(topics))
    for topic in made:
        same = again[again.position(topic.query_id)]
        places = [topic.doc_ids.index(name) for name in same.doc_ids]
        np.testing.assert_array_equal(same.doc_vectors, topic.doc_vectors[places])
        np.testing.assert_array_equal(same.query_vector, topic.query_vector)


def test_a_document_is_the_mean_of_its_snippets_and_the_query_its_texts() -> None:
    def unit(vector: np.ndarray) -> np.ndarray:
        return vector / np.linalg.norm(vector)

    topics, texts = judged(12), collection(subtopics=2)  # too few for one query to answer all of a topic
    known = {text.query_text: unit(text.query_vector) for text in texts}
    for text in texts:
        known |= {name: unit(vector) for name, vector in zip(text.doc_ids, text.doc_vectors, strict=True)}
    made = compose_topics(topics, texts, parts(topics), seed=3)
    assert made.name == "judged (composed of texts, seed 3)"
    for topic in made:
        vectors = [topic.query_vector, *topic.doc_vectors]
        for vector, own in zip(vectors, [topic.query_text.split(" / "), *said(topic)], strict=True):
            np.testing.assert_allclose(vector, unit(np.mean([known[text] for text in own], axis=0)), atol=1e-5)


def test_what_cannot_be_composed_is_refused_and_texts_are_no_must() -> None:
    topics, texts = judged(12), collection()
    sets = parts(topics)
    silent = compose_topics(topics, collection(texts=False), sets)
    assert all(topic.doc_texts is None for topic in silent)
    small, bare = collection(queries=3, subtopics=3), alone(bare_topic(1, "q"), "bare")
    unjudged = topics.replace(replace(t, judgments=None, subtopic_ids=()) for t in topics)
    few = "texts has too few subtopics to compose from: part 1 of 3 has 3 of at least 2 snippets each, but topic"
    refused(lambda: compose_topics(topics, small, sets), few)
    refused(lambda: compose_topics(generate("tiny", n_topics=12), texts, sets), "no document vectors of its own")
    refused(lambda: compose_topics(unjudged, texts, sets), "must have judgments")
    lacks = r"text query 'q\w*' lacks judgments, document vectors or its own vector"
    refused(lambda: compose_topics(topics, bare, sets), lacks)
    refused(lambda: compose_topics(topics, texts, [["nobody"], *sets[1:]]), "nobody")
