"""Topics of every shape: each draws its own statistics from wide ranges.

A ranker that is to serve vectors, scores and queries that it never saw must be trained on many kinds of them. So
nothing here resembles one real set. What all topics have in common is how text behaves: a subtopic is loose, small
groups of documents within it (or across subtopics) say nearly the same, off-topic documents are about many small
matters, and kinds of documents run across subtopics. docs/relational.md says what the ranges were set by.

Shapes: N candidates, S subtopics, F vector width, D dimensions that a topic's vectors fill.
"""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
from numpy.typing import NDArray

from srd_gym.checks import check_integer
from srd_gym.data.synthetic import to_unit_length
from srd_gym.topic import FloatArray, Topic, TopicSet

_STREAM = 1907
"""Keeps these topics' generators apart from those of the presets."""
_SMALLEST = 16
"""Least dimensions and candidates."""
_Shape = SimpleNamespace
"""The numbers of `_shape`, by name."""


def wide_topics(n_topics: int = 1000, *, seed: int = 0, width: int = 384, largest: int = 130) -> TopicSet:
    """Generate topics of every shape.

    A topic depends on the seed, on its number and on the other arguments alone. Its vectors fill a number of
    dimensions of its own (60 to `width`), the others are 0: cosines do not mind.

    Args:
        n_topics: how many, at least 1.
        seed: at least 0.
        width: F, at least 16.
        largest: the largest N, at least 16.

    Returns:
        Topics "wide-SEED-0", ..., named "synthetic:wide", marked `simulated`. About a tenth have no retrieval order,
        another tenth no query vector.
    """
    check_integer("n_topics", n_topics, 1)
    check_integer("seed", seed, 0)
    check_integer("width", width, _SMALLEST)
    check_integer("largest", largest, _SMALLEST)
    generators = (np.random.default_rng([_STREAM, seed, number]) for number in range(n_topics))
    topics = [_topic(f"wide-{seed}-{number}", width, largest, rng) for number, rng in enumerate(generators)]
    return TopicSet(topics, name="synthetic:wide", simulated=True)


def _shape(rng: np.random.Generator, width: int) -> _Shape:
    """What one topic is like: every number is drawn anew for each topic. Weights are shares of a squared length.

    Half of the first stages match texts: their scores follow the cosine with the query, and relevance adds little. The
    others know what texts do not say (links, clicks): their scores follow relevance, hardly that cosine.
    """
    matches_texts = rng.random() < 0.5
    return SimpleNamespace(
        relevant=rng.uniform(0.15, 0.95),  # chance of a document to be relevant
        skew=rng.uniform(0.5, 2.0),  # popularity of the i-th subtopic is i^-skew
        second=rng.uniform(0.0, 0.6) * rng.random(),  # chance of a relevant document to be drawn for a second subtopic
        # Of the space that its vectors fill; the rest of the width is 0.
        dimensions=round(_log_uniform(rng, min(60, width), width)),
        # How much more the first dimensions vary than the last: standard deviation i^-falloff.
        falloff=rng.uniform(0.0, 0.5),
        common=rng.uniform(0.05, 0.6),  # weight of what all documents share
        common_spread=rng.uniform(0.05, 0.4),  # standard deviation of its logarithm over documents
        elsewhere=rng.uniform(0.5, 1.1),  # how much of the common part an off-topic document has, as a factor
        aspect=rng.uniform(0.08, 0.5),  # weight of a document's subtopics in what is left
        # Standard deviation of its logarithm over subtopics: some are tight, some loose.
        aspect_spread=rng.uniform(0.2, 0.7),
        other_aspect=rng.uniform(0.3, 1.2),  # tightness of an off-topic matter beside a subtopic's, as a factor
        # Concentration of the off-topic documents' matters: many small ones where it is large.
        other_matters=_log_uniform(rng, 3, 60),
        kind=rng.uniform(0.0, 0.3),  # weight of a document's kind, which has nothing to do with its subtopics
        group=rng.uniform(0.2, 0.95),  # most that a group's documents have in common beside all that
        groups=_log_uniform(rng, 1, 30),  # concentration of the groups within a subtopic
        stray=rng.uniform(0.0, 0.5),  # chance of a document to belong to a group of another subtopic
        asked=rng.uniform(*((0.2, 0.95) if matches_texts else (0.1, 0.9))),  # weight of the common part in the query
        leaning=rng.uniform(0.0, 0.5),  # weight of one subtopic in the rest of the query
        # Weight of relevance in the retrieval score, beside noise of 1; all parts are standardised.
        by_relevance=rng.uniform(*((0.0, 0.3) if matches_texts else (0.1, 0.7))),
        # Weight of the popularity of the document's subtopics.
        by_popularity=rng.uniform(*((-0.2, 0.3) if matches_texts else (-0.1, 0.5))),
        by_query=rng.uniform(*((0.3, 1.0) if matches_texts else (-0.1, 0.2))),  # weight of the cosine with the query
    )


def _topic(query_id: str, width: int, largest: int, rng: np.random.Generator) -> Topic:
    """One topic, drawn from its own generator."""
    n, s = round(_log_uniform(rng, _SMALLEST, largest)), round(_log_uniform(rng, 2, 15))
    shape = _shape(rng, width)
    popularity = np.arange(1.0, s + 1) ** -shape.skew
    popularity /= popularity.sum()
    main, judgments = _judgments(rng, shape, n, popularity)
    common, subtopics = _directions(rng, shape, 1), _directions(rng, shape, s)
    vectors = _documents(rng, shape, main, judgments, common, subtopics)
    leaning = _mixed(subtopics[rng.choice(s, size=1, p=popularity)], _directions(rng, shape, 1), shape.leaning)
    query = _mixed(common, leaning, shape.asked)[0]
    scores = rng.standard_normal(n)
    scores += shape.by_relevance * _standardised(main >= 0)
    scores += shape.by_popularity * _standardised((judgments * popularity).max(axis=1))
    scores += shape.by_query * _standardised(vectors @ query)
    unordered, unasked = rng.random() < 0.1, rng.random() < 0.1
    order = rng.permutation(n) if unordered else np.argsort(-scores)
    gap = ((0, 0), (0, width - shape.dimensions))
    covered = judgments.any(axis=0)
    return Topic(
        query_id=query_id,
        doc_ids=tuple([f"{query_id}-d{i}" for i in range(n)]),
        query_vector=None if unasked else np.pad(query, gap[1]),
        doc_vectors=np.pad(vectors[order], gap),
        retrieval_scores=None if unordered else _rescaled(rng, _standardised(scores[order])),
        subtopic_ids=tuple(map(str, range(1, int(covered.sum()) + 1))),
        judgments=judgments[order][:, covered],
    )


def _judgments(
    rng: np.random.Generator, shape: _Shape, n: int, popularity: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.int8]]:
    """[N] the main subtopic of each document, -1 for off-topic ones, and the judgments, [N, S]; one is relevant."""
    s = len(popularity)
    relevant = rng.random(n) < shape.relevant
    relevant[rng.integers(n)] = True
    main = np.where(relevant, rng.choice(s, size=n, p=popularity), -1)
    judgments = np.zeros((n, s), np.int8)
    judgments[relevant, main[relevant]] = 1
    also = np.flatnonzero(relevant & (rng.random(n) < shape.second))
    judgments[also, rng.choice(s, size=len(also), p=popularity)] = 1
    return main, judgments


def _documents(
    rng: np.random.Generator,
    shape: _Shape,
    main: NDArray[np.int64],
    judgments: NDArray[np.int8],
    common: FloatArray,
    subtopics: FloatArray,
) -> FloatArray:
    """[N, D]: what all share, then subtopics (or, off topic, other matters), then kind, then group, then noise."""
    n, s = judgments.shape
    off_topic = np.flatnonzero(main < 0)
    matter, matters = _crowd(rng, len(off_topic), shape.other_matters)
    tightness = np.clip(shape.aspect * np.exp(shape.aspect_spread * rng.standard_normal(s + matters)), 0, 0.8)
    tightness[s:] *= shape.other_aspect
    member = np.zeros((n, s + matters), np.float32)
    member[:, :s] = judgments
    member[off_topic, s + matter] = 1
    about = to_unit_length(member @ np.concatenate([subtopics, _directions(rng, shape, matters)]))
    held = (member @ tightness) / member.sum(axis=1)
    group, groups = _groups(rng, shape, main)
    in_common = shape.group * rng.beta(1.5, 1.0, groups)
    vectors = _mixed(_directions(rng, shape, groups)[group], _directions(rng, shape, n), in_common[group])
    kinds = int(rng.integers(2, 9))
    kind = rng.integers(kinds, size=n)
    of_kind = np.where(rng.random(n) < 0.5, 0, np.clip(shape.kind * rng.uniform(0, 1.5, kinds), 0, 0.6)[kind])
    vectors = _mixed(_directions(rng, shape, kinds)[kind], vectors, of_kind)
    vectors = _mixed(about, vectors, held)
    shared = shape.common * np.exp(shape.common_spread * rng.standard_normal(n))
    shared[off_topic] *= shape.elsewhere
    return to_unit_length(_mixed(common, vectors, np.clip(shared, 0, 0.85)))


def _groups(rng: np.random.Generator, shape: _Shape, main: NDArray[np.int64]) -> tuple[NDArray[np.int64], int]:
    """[N] the group of each document, and how many there are; groups off topic are smaller."""
    group, count = np.zeros(len(main), np.int64), 0
    for subtopic in np.unique(main):
        members = np.flatnonzero(main == subtopic)
        found, groups = _crowd(rng, len(members), shape.groups * (2 if subtopic < 0 else 1))
        group[members] = found + count
        count += groups
    stray = rng.random(len(main)) < shape.stray
    group[stray] = group[rng.integers(len(main), size=int(stray.sum()))]
    return group, count


def _crowd(rng: np.random.Generator, count: int, concentration: float) -> tuple[NDArray[np.int64], int]:
    """A Chinese restaurant process: [count] the table of each guest, and how many tables there are.

    Guest i takes a new table with chance concentration / (concentration + i), else that of a guest before, drawn
    evenly: large tables grow, many stay small.
    """
    table = np.zeros(count, np.int64)
    new = rng.random(count) * (concentration + np.arange(count)) < concentration
    table[new] = np.arange(int(new.sum()))
    follows = (rng.random(count) * np.arange(count)).astype(np.int64)
    for guest in np.flatnonzero(~new):
        table[guest] = table[follows[guest]]
    return table, int(new.sum())


def _log_uniform(rng: np.random.Generator, low: float, high: float) -> float:
    """A number between two, small ones as often as large ones."""
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))


def _directions(rng: np.random.Generator, shape: _Shape, count: int) -> FloatArray:
    """[count, D] float32 of length 1; the first dimensions vary more than the last."""
    spread = (np.arange(1.0, shape.dimensions + 1) ** -shape.falloff).astype(np.float32)
    return to_unit_length(rng.standard_normal((count, shape.dimensions), dtype=np.float32) * spread)


def _mixed(one: FloatArray, other: FloatArray, share: NDArray[np.floating] | float) -> FloatArray:
    """Rows of both, with `share` of the squared length from the first."""
    part = np.broadcast_to(share, len(other))[:, None]
    mixed: FloatArray = (np.sqrt(part) * one + np.sqrt(1 - part) * other).astype(np.float32)
    return mixed


def _standardised(values: NDArray[np.generic]) -> NDArray[np.float64]:
    """Values less their mean over their standard deviation; 0 where all are alike."""
    centred: NDArray[np.float64] = values.astype(np.float64) - values.astype(np.float64).mean()
    return centred / max(float(centred.std()), 1e-9)


def _rescaled(rng: np.random.Generator, scores: NDArray[np.float64]) -> FloatArray:
    """Falling scores on one of the scales that engines use: BM25's, a probability's, reciprocal ranks, ..."""
    bm25, exponential, ranks, odds = 12 + 3 * scores, np.exp(scores), np.arange(len(scores)), np.exp(-2 * scores)
    scale: NDArray[np.float64] = (bm25, exponential, 1 / (1 + ranks), 1 / (1 + odds))[rng.integers(4)]
    return scale.astype(np.float32)
