"""Composed topics: published judgments over the vectors of real texts, for sets that are published without any.

Each subtopic of a topic becomes a subtopic of a collection of texts, with its snippets (texts that are judged to cover
it). A document is the mean of one snippet of each subtopic that it covers and of snippets that are off topic; the query
is that of the texts. Judgments, candidates and pool stay as published. What recurs, how near subtopics are to each
other and how far snippets of one subtopic lie apart is therefore as in real texts, which simulated vectors
(`srd_gym.data.simulate`) only assume.

No snippet serves two folds, and unless it is asked for no subtopic does: tests are of subtopics that training has
not seen. What is drawn for a topic depends on seed, part, query id, subtopic and document ids alone.

Shapes: N candidates, S subtopics, F vector width.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from srd_gym.checks import check_integer
from srd_gym.data.synthetic import Vectors, generator_of, judgments_alone, to_unit_length
from srd_gym.reading import shown
from srd_gym.topic import Topic, TopicSet

_OFF_TOPIC = 1
"""Off-topic snippets in a document; one that covers nothing has one more, and nothing else."""
_SNIPPETS = 2
"""Snippets that a subtopic must have in a part, at least."""
_NEAR_SHARE = 0.5
"""How often what is off topic is about a text query of the topic itself, where it has subtopics to spare."""


class _Source(NamedTuple):
    """A subtopic of a text query, and its snippets in one part."""

    text: int
    """Which text query."""
    subtopic: int
    """Which of its subtopics."""
    rows: tuple[int, ...]
    """Which of its candidates."""


_Bank = Mapping[int, Sequence[_Source]]
"""What a part may compose from: text query -> its subtopics."""


def compose_topics(
    topics: TopicSet,
    texts: TopicSet,
    test_sets: Sequence[Sequence[str]],
    *,
    recur: bool = False,
    seed: int = 0,
) -> TopicSet:
    """Give every topic the vectors (and texts) of a composition of real snippets.

    A topic takes as few text queries as its subtopics need, in a drawn order. Its query is theirs: the mean of their
    vectors. Of a subtopic's snippets each serves one document until all have served.

    Args:
        topics: labelled topics without document vectors; query vectors, where there are any, are replaced.
        texts: labelled topics with document and query vectors, such as `load_texts(..., retrieve="none")`.
        test_sets: the query ids of each fold's test topics; topics in none of them make a part of their own. A part has
            snippets, and unless `recur` subtopics and text queries, of its own.
        recur: subtopics recur in all parts, with other snippets.
        seed: at least 0.

    Returns:
        The same topics (order, ids, judgments, pool, retrieval scores) with vectors of length 1, marked `simulated`,
        named like "du-div (composed of key-points)".

    Raises:
        ValueError: a topic without judgments or with vectors of its own, texts without, an unknown query id, or a part
            with too few subtopics of enough snippets.
    """
    check_integer("seed", seed, 0)
    named = [list(ids) for ids in test_sets]
    listed = {query_id for ids in named for query_id in ids}
    rest = [query_id for query_id in topics.query_ids if query_id not in listed]
    parts = named + [rest] * bool(rest)
    banks = _banks(texts, len(parts), recur, seed)
    made: dict[str, Topic] = {}
    for number, (ids, bank) in enumerate(zip(parts, banks, strict=True), start=1):
        sources = sum(map(len, bank.values()))
        for query_id in ids:
            topic = topics[topics.position(query_id)]
            if topic.n_subtopics >= sources:
                raise ValueError(
                    f"{texts.name} has too few subtopics to compose from: part {number} of {len(parts)} has {sources} "
                    f"of at least {_SNIPPETS} snippets each, but topic {shown(query_id)} needs {topic.n_subtopics} and "
                    "one more to be off topic; give a larger collection, fewer folds, or recur=True"
                )
            made[query_id] = _composed(topic, texts, bank, seed)
    notes = [f"composed of {texts.name}"] + ["subtopics recur"] * recur
    notes += [f"seed {seed}"] * (seed != 0)
    return topics.replace(
        (made[query_id] for query_id in topics.query_ids),
        name=f"{topics.name} ({', '.join(notes)})",
        simulated=True,
        encoder=texts.encoder,
    )


def _banks(texts: TopicSet, count: int, recur: bool, seed: int) -> Sequence[_Bank]:
    """What each of `count` parts may compose from."""
    part_of = _parts(texts, count, seed)
    banks: list[dict[int, list[_Source]]] = [{} for _ in range(count)]
    taken: set[str] = set()
    for text, topic in enumerate(texts):
        if topic.judgments is None or topic.doc_vectors is None or topic.query_vector is None:
            raise ValueError(
                f"{texts.name}: text query {shown(topic.query_id)} lacks judgments, document vectors or its own "
                "vector; "
                'composing needs all of them, as load_texts(folder, vectors=FILE, retrieve="none") gives'
            )
        covers = topic.judgments >= 1
        # What says two things at once, or serves an earlier text query too, would blur what a document covers.
        clear = (covers.sum(axis=1) == 1) & np.array([name not in taken for name in topic.doc_ids])
        taken.update(topic.doc_ids[row] for row in np.flatnonzero(covers.any(axis=1)))
        for subtopic in range(topic.n_subtopics):
            dealt: list[list[int]] = [[] for _ in range(count)]
            for row in np.flatnonzero(covers[:, subtopic] & clear).tolist():
                drawn = (
                    int(generator_of(seed, "snippet", topic.doc_ids[row]).integers(count)) if recur else part_of[text]
                )
                dealt[drawn].append(row)
            for bank, rows in zip(banks, dealt, strict=True):
                if len(rows) >= _SNIPPETS:
                    bank.setdefault(text, []).append(_Source(text, subtopic, tuple(rows)))
    return banks


def _parts(texts: TopicSet, count: int, seed: int) -> list[int]:
    """The part of each text query: the largest first, each to the part that has least so far."""
    drawn = generator_of(seed, "parts").permutation(len(texts)).tolist()
    load, part_of = [0] * count, [0] * len(texts)
    for text in sorted(drawn, key=lambda i: -texts[i].n_subtopics):
        part_of[text] = min(range(count), key=load.__getitem__)
        load[part_of[text]] += texts[text].n_subtopics
    return part_of


def _composed(topic: Topic, texts: TopicSet, bank: _Bank, seed: int) -> Topic:
    """The topic with texts and vectors."""
    rng = generator_of(seed, "composed", topic.query_id)
    mine, near, far = _drawn(topic, bank, rng)
    covers = judgments_alone(topic, "composed") >= 1
    snippets: list[list[tuple[int, int]]] = [[] for _ in topic.doc_ids]
    by_id = np.argsort(topic.doc_ids)
    for subtopic in np.argsort(topic.subtopic_ids).tolist():
        source = mine[subtopic]
        rows = rng.permutation(source.rows).tolist()
        for turn, document in enumerate(by_id[covers[by_id, subtopic]].tolist()):
            snippets[document].append((source.text, rows[turn % len(rows)]))
    for document in by_id.tolist():
        for _ in range(_OFF_TOPIC + (not snippets[document])):
            pool = near if near and (not far or rng.random() < _NEAR_SHARE) else far
            other = pool[int(rng.integers(len(pool)))]
            snippets[document].append((other.text, other.rows[int(rng.integers(len(other.rows)))]))
    subtopic_texts, subtopic_vectors = (
        _of_subtopics(texts, mine, name) for name in ("subtopic_texts", "subtopic_vectors")
    )
    asked = list(dict.fromkeys(source.text for source in mine)) or [far[0].text]
    return replace(
        topic,
        query_text=" / ".join(texts[text].query_text or texts[text].query_id for text in asked),
        query_vector=_mean([np.asarray(texts[text].query_vector) for text in asked]),
        doc_vectors=np.stack([_mean([np.asarray(texts[t].doc_vectors)[row] for t, row in each]) for each in snippets]),
        doc_texts=_joined(texts, snippets),
        subtopic_texts=None if subtopic_texts is None else tuple(subtopic_texts),
        subtopic_scores=None,
        subtopic_vectors=to_unit_length(np.stack(subtopic_vectors).astype(np.float32)) if subtopic_vectors else None,
    )


def _drawn(topic: Topic, bank: _Bank, rng: np.random.Generator) -> tuple[list[_Source], list[_Source], list[_Source]]:
    """A source for each subtopic, what its text queries have to spare, and the sources of other text queries."""
    chosen: list[_Source] = []
    near: list[_Source] = []
    far: list[_Source] = []
    for text in rng.permutation(sorted(bank)).tolist():
        if len(chosen) == topic.n_subtopics:
            far += bank[text]
            continue
        offered = [bank[text][i] for i in rng.permutation(len(bank[text])).tolist()]
        left = topic.n_subtopics - len(chosen)
        chosen += offered[:left]
        near += offered[left:]
    # Whatever the order of the subtopics: the first id has the first source.
    mine = list(chosen)
    for source, place in zip(chosen, np.argsort(topic.subtopic_ids).tolist(), strict=True):
        mine[place] = source
    return mine, near, far


def _mean(vectors: Sequence[Vectors]) -> Vectors:
    """[F], the mean direction."""
    return to_unit_length(to_unit_length(np.stack(vectors).astype(np.float32)).mean(axis=0))


def _joined(texts: TopicSet, snippets: Sequence[Sequence[tuple[int, int]]]) -> tuple[str, ...] | None:
    """The documents' texts; None where the collection has none."""
    if any(topic.doc_texts is None for topic in texts):
        return None
    return tuple(" / ".join((texts[text].doc_texts or ())[row] for text, row in each) for each in snippets)


def _of_subtopics(texts: TopicSet, mine: Sequence[_Source], name: str) -> list[Any] | None:
    """What the text queries' field of this name has for each subtopic, where all have it."""
    given = [getattr(texts[source.text], name) for source in mine]
    if any(each is None for each in given):
        return None
    return [each[source.subtopic] for each, source in zip(given, mine, strict=True)]
