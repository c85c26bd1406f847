"""Topics of every shape: `synthetic:wide`, in which each topic draws its own statistics from wide ranges.

A ranker that is to serve vectors, scores and queries that it never saw must be trained on many kinds of them. So
nothing here resembles one real set. Vectors are made in two ways (a quarter of the topics in that of the presets), and
the ranges reach past what the Web Track's runs and labels, the topic proportions distributed with DSSA, and DU-DIV's
labels show (docs/relational.md has the figures).

Shapes: N candidates, M distinct ones (N without near-duplicates), S subtopics, F vector width.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from srd_gym.data.synthetic import (
    SyntheticConfig,
    Vectors,
    check_integer,
    draw_judgments,
    repeated,
    synthetic_topic,
    to_unit_length,
)
from srd_gym.topic import Topic, TopicSet

_STREAM = 1907
"""Keeps these topics' generators apart from those of the presets."""


class _Shape(NamedTuple):
    """What one topic is like: every field is drawn anew for each topic."""

    dimensions: int
    """Of the space that its vectors fill; the rest of the width is 0."""
    falloff: float
    """How much more the first dimensions vary than the last: standard deviation i^-falloff."""
    common: float
    """Squared weight of what all documents share."""
    common_spread: float
    """Standard deviation of its logarithm over documents."""
    aspect: float
    """Squared weight of a document's subtopics in what is left."""
    aspect_spread: float
    """Standard deviation of its logarithm over subtopics: some are tight, some loose."""
    elsewhere: float
    """How much of the common part an off-topic document has, as a factor."""
    asked: float
    """Squared weight of the common part in the query."""
    by_relevance: float
    """Correlation of retrieval score and relevance."""
    by_popularity: float
    """Weight of the subtopic's popularity in the retrieval score."""
    by_query: float
    """Weight of the cosine with the query in the retrieval score."""


def wide_topics(n_topics: int = 1000, *, seed: int = 0, width: int = 384, largest: int = 150) -> TopicSet:
    """Generate topics of every shape.

    A topic depends on the seed, on its number and on the other arguments alone. Its vectors fill a number of
    dimensions of its own (16 to `width`), the others are 0: cosines do not mind.

    Args:
        n_topics: how many, at least 1.
        seed: at least 0.
        width: F, at least 16.
        largest: the largest N, at least 15.

    Returns:
        Topics "wide-SEED-0", ..., named "synthetic:wide", marked `simulated`. About a tenth have no retrieval order,
        another tenth no query vector.
    """
    check_integer("n_topics", n_topics, 1)
    check_integer("seed", seed, 0)
    check_integer("width", width, 16)
    check_integer("largest", largest, 15)
    topics = [
        _topic(f"wide-{seed}-{i}", width, largest, np.random.default_rng([_STREAM, seed, i])) for i in range(n_topics)
    ]
    return TopicSet(topics, name="synthetic:wide", simulated=True)


def _shape(rng: np.random.Generator, width: int) -> _Shape:
    """The ranges."""
    return _Shape(
        dimensions=_log_uniform(rng, 16, width),
        falloff=rng.uniform(0.0, 0.6),
        common=rng.uniform(0.05, 0.7),
        common_spread=rng.uniform(0.0, 0.4),
        aspect=rng.uniform(0.08, 0.6),
        aspect_spread=rng.uniform(0.0, 0.5),
        elsewhere=rng.uniform(0.6, 1.4),
        asked=rng.uniform(0.0, 0.9),
        by_relevance=rng.uniform(-0.05, 0.6),
        by_popularity=rng.uniform(-0.2, 0.5),
        by_query=rng.uniform(0.0, 0.3),
    )


def _topic(query_id: str, width: int, largest: int, rng: np.random.Generator) -> Topic:
    """One topic, drawn from its own generator."""
    if rng.random() < 0.25:
        return _with_gaps(_from_preset(query_id, width, largest, rng), width, rng)
    shape = _shape(rng, width)
    n, s = _log_uniform(rng, 15, largest), _log_uniform(rng, 2, 15)
    labels = SyntheticConfig(
        subtopics_per_document=_shares(rng),
        popularity_skew=rng.uniform(0.0, 2.0),
        partly_relevant_share=rng.uniform(0.0, 0.3),
        near_duplicate_share=rng.uniform(0.0, 0.15),
        near_duplicate_noise=rng.uniform(0.05, 0.3),
    )
    distinct = n - round(labels.near_duplicate_share * n)
    relevant = max(1, round(rng.uniform(0.08, 1.0) * distinct))
    popularity = rng.permutation(np.arange(1.0, s + 1) ** -labels.popularity_skew)
    judgments, strength = draw_judgments(labels, rng, distinct, relevant, popularity)
    common = _directions(rng, shape, 1)
    vectors = _documents(rng, shape, judgments, strength, common)
    source, vectors = repeated(labels, rng, vectors, n)
    judgments, relevance = judgments[source], (strength > 0)[source]
    query = to_unit_length(_mixed(common, _directions(rng, shape, 1), np.array([shape.asked])))[0]
    scores = _scores(rng, shape, relevance, judgments @ popularity, vectors @ query)
    order = np.argsort(-scores)
    topic = Topic(
        query_id=query_id,
        doc_ids=tuple([f"{query_id}-d{i}" for i in range(n)]),
        query_vector=query,
        doc_vectors=vectors[order],
        retrieval_scores=_rescaled(rng, scores[order]),
        subtopic_ids=tuple(map(str, range(1, s + 1))),
        judgments=judgments[order],
    )
    return _with_gaps(topic, width, rng)


def _from_preset(query_id: str, width: int, largest: int, rng: np.random.Generator) -> Topic:
    """A topic made as those of the presets, with every number drawn: sums of directions, and noise on top."""
    n, s = _log_uniform(rng, 15, largest), _log_uniform(rng, 2, 15)
    config = SyntheticConfig(
        width=_log_uniform(rng, 16, width),
        candidates=(n, n),
        subtopics=(s, s),
        catalogue_size=None,
        subtopics_per_document=_shares(rng),
        popularity_skew=rng.uniform(0.0, 2.0),
        relevant_share=(0.08, 1.0),
        partly_relevant_share=rng.uniform(0.0, 0.3),
        near_duplicate_share=rng.uniform(0.0, 0.15),
        near_duplicate_noise=rng.uniform(0.05, 0.3),
        topic_weight=(topic_weight := rng.uniform(0.3, 2.0)),
        off_topic_weight=topic_weight * rng.uniform(0.6, 1.4),
        query_subtopic_weight=rng.uniform(0.0, 1.0),
        noise=float(np.exp(rng.uniform(np.log(0.3), np.log(3.0)))),
        retrieval_quality=rng.uniform(0.0, 0.6),
    )
    return synthetic_topic(config, None, query_id, rng)


def _with_gaps(topic: Topic, width: int, rng: np.random.Generator) -> Topic:
    """The topic with its vectors padded to the width, and now and then without a query vector or a retrieval order."""
    query, vectors, scores = topic.query_vector, topic.doc_vectors, topic.retrieval_scores
    if query is None or vectors is None or scores is None or topic.judgments is None:
        raise ValueError(f"topic {topic.query_id!r} was drawn incomplete")
    judgments, short = topic.judgments, width - len(query)
    if unordered := rng.random() < 0.1:
        order = rng.permutation(topic.n_candidates)
        vectors, judgments = vectors[order], judgments[order]
    return replace(
        topic,
        query_vector=None if rng.random() < 0.1 else np.pad(query, (0, short)),
        doc_vectors=np.pad(vectors, ((0, 0), (0, short))),
        retrieval_scores=None if unordered else scores,
        subtopic_vectors=None,
        judgments=judgments,
    )


def _log_uniform(rng: np.random.Generator, low: int, high: int) -> int:
    """An integer between two, small ones as often as large ones."""
    return round(float(np.exp(rng.uniform(np.log(low), np.log(high)))))


def _shares(rng: np.random.Generator) -> tuple[float, ...]:
    """Shares of the documents that cover 1, 2, 3, 4 subtopics: falling, from one alone to nearly equal."""
    kept = rng.uniform(0.0, 0.7) ** np.arange(4)
    return tuple((kept / kept.sum()).tolist())


def _directions(rng: np.random.Generator, shape: _Shape, count: int) -> Vectors:
    """[count, dimensions] float32 of length 1; the first dimensions vary more than the last."""
    spread = (np.arange(1.0, shape.dimensions + 1) ** -shape.falloff).astype(np.float32)
    return to_unit_length(rng.standard_normal((count, shape.dimensions), dtype=np.float32) * spread)


def _mixed(one: Vectors, other: Vectors, share: NDArray[np.floating]) -> Vectors:
    """Rows of both, with `share` of the squared length from the first."""
    mixed: Vectors = (np.sqrt(share)[:, None] * one + np.sqrt(1 - share)[:, None] * other).astype(np.float32)
    return mixed


def _documents(
    rng: np.random.Generator,
    shape: _Shape,
    judgments: NDArray[np.int8],
    strength: NDArray[np.float64],
    common: Vectors,
) -> Vectors:
    """[M, dimensions]: what all share, then subtopics (or, off topic, clusters of other matters), then noise."""
    count, s = judgments.shape
    off_topic = np.flatnonzero(strength == 0)
    matters = max(1, _log_uniform(rng, 3, 20))
    weights = np.arange(1.0, matters + 1) ** -rng.uniform(0.0, 1.5)
    member = np.zeros((count, s + matters), np.float32)
    member[:, :s] = judgments
    member[off_topic, s + rng.choice(matters, len(off_topic), p=weights / weights.sum())] = 1
    tightness = shape.aspect * np.exp(shape.aspect_spread * rng.standard_normal(s + matters))
    tightness[s:] *= rng.uniform(0.2, 1.5)
    held = np.where(strength == 0, 1.0, strength) * (member @ tightness) / np.maximum(member.sum(1), 1)
    about = to_unit_length(member @ _directions(rng, shape, s + matters))
    own = _mixed(about, _directions(rng, shape, count), np.clip(held, 0.0, 0.95))
    shared = shape.common * np.exp(shape.common_spread * rng.standard_normal(count))
    shared[off_topic] *= shape.elsewhere
    return to_unit_length(_mixed(np.broadcast_to(common, own.shape), own, np.clip(shared, 0.0, 0.9)))


def _scores(
    rng: np.random.Generator,
    shape: _Shape,
    relevance: NDArray[np.bool_],
    popularity: NDArray[np.float64],
    cosine: NDArray[np.float32],
) -> NDArray[np.float64]:
    """[N] standardised retrieval scores, before their scale is drawn."""
    parts = (shape.by_relevance, relevance), (shape.by_popularity, popularity * relevance), (shape.by_query, cosine)
    noise = np.sqrt(max(0.1, 1 - sum(weight**2 for weight, _ in parts)))
    scores: NDArray[np.float64] = noise * rng.standard_normal(len(relevance))
    for weight, part in parts:
        scores += weight * (part - np.mean(part)) / max(float(np.std(part)), 1e-9)
    return scores


def _rescaled(rng: np.random.Generator, scores: NDArray[np.float64]) -> Vectors:
    """Falling scores on one of the scales that engines use: BM25's, a probability's, reciprocal ranks, ..."""
    kind = rng.integers(4)
    if kind == 0:
        scaled = 12 + 3 * scores
    elif kind == 1:
        scaled = np.exp(scores)
    elif kind == 2:
        scaled = 1 / (1 + np.arange(len(scores)))
    else:
        scaled = 1 / (1 + np.exp(-2 * scores))
    return scaled.astype(np.float32)
