"""Vectors drawn from real judgments, for sets that are published without any (TREC, DU-DIV).

Such vectors know the labels: what is learned on them says how a ranker copes with a given amount of noise, not how it
would do on the texts. Everything made here is marked `simulated`, and its name says so in every table.

A vector is drawn from a digest of seed, query id and document id, so it is the same whatever the order of topics and
candidates, and whichever of them are present. All numbers below were fixed before any learner saw the vectors; results
are to be shown over `NOISE_SWEEP`. docs/synthetic.md has the figures they were fixed by.

Shapes: N candidates, S subtopics, F vector width.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from srd_gym.checks import check_integer, check_number
from srd_gym.data.synthetic import directions, generator_of, judgments_alone, noise_like, to_unit_length
from srd_gym.reading import shown
from srd_gym.topic import FloatArray, Topic, TopicSet, as_topic_set

NOISE_SWEEP = (0.5, 1.0, 2.0, 4.0, 8.0)
"""Noise levels that results are shown over, from easy to where MMR is no better than a random order."""

_TOPIC_WEIGHT = 1.0
"""Weight of the topic's own direction in a relevant document, a subtopic and the query."""
_OFF_TOPIC_WEIGHT = 0.9
"""Weight of it in a non-relevant document, which was judged, or retrieved, because it looked relevant."""
_SUBTOPIC_WEIGHT = 0.5
"""Weight in a document of the direction of each covered subtopic, or other matter."""
_QUERY_SUBTOPIC_WEIGHT = 0.35
"""Weight in the query of the mean direction of all its subtopics (scaled to length 1)."""
_MATTERS = 12
"""Other matters that a topic's non-relevant documents are about; each holds the directions of two of them."""
_NEAR_DUPLICATE_SHARE = 0.1
"""Share of documents that nearly repeat the others of that share which cover the same subtopics of the topic."""
_NEAR_DUPLICATE_NOISE = 0.1
"""Share (in length) of a near-duplicate's noise that is its own."""


def simulate_vectors(
    topics: TopicSet | Iterable[Topic],
    *,
    width: int = 64,
    noise: float = 1.0,
    seed: int = 0,
    catalogue: int | None = None,
) -> TopicSet:
    """Give every topic vectors that are drawn from its judgments.

    A relevant document is the topic's direction (length 1) plus half a direction for each subtopic that it covers, a
    non-relevant one a little less of the topic plus two other matters; both get noise and are scaled to length 1. The
    query is the topic's direction plus a little of the mean direction of all its subtopics, with half the noise; a
    subtopic's vector is that of a document which covers it alone.

    Args:
        topics: labelled topics without document vectors; query vectors, where there are any, are replaced.
        width: F.
        noise: expected length of the noise; the topic's direction has length 1, a subtopic adds half of that.
        seed: at least 0; another seed is another world of directions.
        catalogue: C, directions that all topics share; each topic's subtopics are mapped to different ones, drawn by
            the seed, so that subtopics recur and their numbers say nothing. None: every topic has its own.

    Returns:
        The same topics (order, ids, judgments, pool, retrieval scores) with vectors, marked `simulated`, named like
        "du-div (simulated, noise 1, catalogue 25)"; a width or seed other than the default is named too. Their
        `encoder` names catalogue, width and seed: other directions are another world.

    Raises:
        ValueError: a topic without judgments or with document vectors of its own, or a number out of its range, or a
            catalogue smaller than a topic's subtopics.
        TypeError: a number of the wrong kind.
    """
    topics = as_topic_set(topics)
    check_integer("width", width, 1)
    check_integer("seed", seed, 0)
    check_number("noise", noise, 0, 1e3)
    shared: FloatArray | None = None
    if catalogue is not None:
        check_integer("catalogue", catalogue, 1)
        if catalogue < topics.max_subtopics:
            largest = max(topics, key=lambda topic: topic.n_subtopics)
            raise ValueError(
                f"catalogue must be at least {largest.n_subtopics}, as topic {shown(largest.query_id)} has so many "
                f"subtopics, got {catalogue}"
            )
        shared = directions(generator_of(seed, "catalogue"), catalogue, width)
    made = [_with_vectors(topic, int(width), float(noise), int(seed), shared) for topic in topics]
    told = {f"catalogue {catalogue}": catalogue is not None, f"width {width}": width != 64, f"seed {seed}": seed != 0}
    notes = [f"simulated, noise {noise:g}", *(note for note, differs in told.items() if differs)]
    name, world = f"{topics.name} ({', '.join(notes)})", f"simulated: catalogue {catalogue}, width {width}, seed {seed}"
    return topics.replace(made, name=name, simulated=True, encoder=world)


def _with_vectors(topic: Topic, width: int, noise: float, seed: int, shared: FloatArray | None) -> Topic:
    """The topic with query, document and subtopic vectors; `shared` [C, F] are the directions of the catalogue."""
    own = generator_of(seed, "topic", topic.query_id)
    topic_direction = directions(own, 1, width)
    matters = np.float32(_SUBTOPIC_WEIGHT) * directions(own, _MATTERS, width)
    query_noise = noise_like(own, topic_direction, noise / 2)
    aspects, title_noise = _subtopics(topic, width, seed, shared)
    middle = np.float32(_QUERY_SUBTOPIC_WEIGHT) * to_unit_length(aspects.sum(axis=0, keepdims=True))
    scale = np.float32(noise / np.sqrt(width))
    covers = judgments_alone(topic, "simulated") >= 1
    rows = [
        _document(generator_of(seed, "document", topic.query_id, doc_id), topic, covered, seed, aspects, matters, scale)
        for doc_id, covered in zip(topic.doc_ids, covers.tolist(), strict=True)
    ]
    on_topic = np.where(covers.any(axis=1), _TOPIC_WEIGHT, _OFF_TOPIC_WEIGHT).astype(np.float32)
    return replace(
        topic,
        query_vector=to_unit_length(topic_direction + middle + query_noise)[0],
        doc_vectors=to_unit_length(on_topic[:, None] * topic_direction + np.stack(rows)),
        subtopic_vectors=to_unit_length(topic_direction + aspects + scale * title_noise),
    )


def _document(
    rng: np.random.Generator,
    topic: Topic,
    covered: list[bool],
    seed: int,
    aspects: FloatArray,
    matters: FloatArray,
    scale: np.float32,
) -> FloatArray:
    """[F] what one document holds beside its topic: the subtopics it covers, or else other matters, and noise."""
    pair = sorted(rng.choice(_MATTERS, size=2, replace=False).tolist())
    repeats = rng.random() < _NEAR_DUPLICATE_SHARE
    deviation = rng.standard_normal(aspects.shape[1:], dtype=np.float32)
    if any(covered):
        vector = aspects[covered].sum(axis=0)
        contents = list(itertools.compress(topic.subtopic_ids, covered))
    else:
        vector = matters[pair].sum(axis=0)
        contents = pair
    if repeats:
        group = generator_of(seed, "duplicates", topic.query_id, contents)
        common = group.standard_normal(aspects.shape[1:], dtype=np.float32)
        deviation = common + np.float32(_NEAR_DUPLICATE_NOISE) * deviation
    drawn: FloatArray = vector + scale * deviation
    return drawn


def _subtopics(topic: Topic, width: int, seed: int, shared: FloatArray | None) -> tuple[FloatArray, FloatArray]:
    """[S, F] what each subtopic adds to a document that covers it, and [S, F] standard normal noise."""
    aspects = np.zeros((topic.n_subtopics, width), dtype=np.float32)
    title_noise = np.zeros_like(aspects)
    for i, subtopic_id in enumerate(topic.subtopic_ids):
        rng = generator_of(seed, "subtopic", topic.query_id, subtopic_id)
        aspects[i] = directions(rng, 1, width)[0]
        title_noise[i] = rng.standard_normal(width, dtype=np.float32)
    if shared is not None:
        drawn = generator_of(seed, "mapping", topic.query_id).permutation(len(shared))[: topic.n_subtopics]
        aspects[np.argsort(topic.subtopic_ids)] = shared[drawn]  # whatever the order of the subtopics
    return np.float32(_SUBTOPIC_WEIGHT) * aspects, title_noise
