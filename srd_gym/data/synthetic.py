"""The embedded topics: seeded, made from latent subtopic directions, and like the real sets in their statistics.

A topic's documents are drawn in three steps. First the judgments: how many subtopics a relevant document covers, and
which, the popular ones more often. Then the vectors: topic direction + directions of the covered subtopics + noise,
scaled to length 1, so that a vector's length says nothing about the labels. Last the retrieval order: a noisy view of
how relevant a document is. docs/synthetic.md shows what each number was set to, and why.

No matrix product takes part: those round differently by kind of processor, and a topic has the same bits on each.

Shapes: N candidates, S subtopics, F vector width, C catalogue size, M distinct documents (N without near-duplicates).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from srd_gym.checks import check_integer, check_number, check_option
from srd_gym.reading import shown
from srd_gym.topic import FloatArray, GradeArray, Topic, TopicSet

MOST_TOPICS = 1_000_000
"""Largest number of topics of a set, as all are in memory."""
_CATALOGUE_SEED = 2512
"""Starts the generator of every catalogue, together with its size and width: one world for all seeds of topics."""


@dataclass(frozen=True, kw_only=True)
class SyntheticConfig:
    """Settings of the topics of a synthetic set."""

    width: int = 64
    """F, the width of all vectors."""
    candidates: tuple[int, int] = (15, 15)
    """Smallest and largest N; a topic's is drawn uniformly between them."""
    subtopics: tuple[int, int] = (5, 15)
    """Smallest and largest S; a topic's is drawn uniformly between them."""
    catalogue_size: int | None = 25
    """Subtopics that all topics draw from; None: each query has its own, which no other query shares."""
    subtopics_per_document: tuple[float, ...] = (0.05, 0.62, 0.28, 0.05)
    """Shares of the fully relevant documents that cover 1, 2, 3, ... subtopics; they sum to 1."""
    popularity_skew: float = 2.0
    """Skew of subtopics: the i-th most popular one is drawn with weight i^-skew; 0 makes all alike."""
    relevant_share: tuple[float, float] = (0.8, 1.0)
    """Smallest and largest share of relevant documents; a topic's is drawn uniformly between them."""
    partly_relevant_share: float = 0.2
    """Share of the relevant documents that cover one subtopic only, and weakly."""
    partly_relevant_strength: float = 0.6
    """Weight of a subtopic's direction in a partly relevant document; a relevant one has 1."""
    near_duplicate_share: float = 0.1
    """Share of the candidates that repeat another one: same subtopics, almost the same vector."""
    near_duplicate_noise: float = 0.1
    """Expected length of the noise that tells a near-duplicate from its original; vectors have length 1."""
    topic_weight: float = 1.0
    """Weight of the topic's own direction in a relevant document; a subtopic's direction has 1."""
    off_topic_weight: float = 0.5
    """Weight of the topic's direction in an off-topic document, which shares some words with the query."""
    query_subtopic_weight: float = 0.5
    """Weight in the query of the mean direction of its subtopics (scaled to length 1), beside its own."""
    noise: float = 1.0
    """Expected length of the noise in a vector before scaling; a subtopic's direction has length 1."""
    retrieval_quality: float = 0.3
    """Correlation of retrieval score and relevance: 0 is a random order, 1 sorts by relevance."""

    def __post_init__(self) -> None:
        check_integer("width", self.width, 1)
        check_number("noise", self.noise, 0, 1e3)


PRESETS: Mapping[str, SyntheticConfig] = MappingProxyType(
    {
        "tiny": SyntheticConfig(
            width=8,
            candidates=(6, 12),
            subtopics=(3, 3),
            catalogue_size=6,
            subtopics_per_document=(0.7, 0.3),
            popularity_skew=1.0,
            relevant_share=(0.6, 0.9),
            noise=0.5,
        ),
        "serp": SyntheticConfig(),
        "web": SyntheticConfig(
            candidates=(120, 280),
            subtopics=(3, 8),
            catalogue_size=None,
            subtopics_per_document=(0.55, 0.28, 0.12, 0.05),
            relevant_share=(0.05, 0.65),
            retrieval_quality=0.25,
        ),
    }
)
"""`tiny` for tests, `serp` like DU-DIV (shared catalogue), `web` like the TREC Web Track (query-specific subtopics)."""


def generate(preset: str = "serp", *, n_topics: int = 1000, seed: int = 0, **overrides: Any) -> TopicSet:
    """Generate a topic set.

    Topic i depends on the seed, on i and on the configuration alone: a larger `n_topics` only appends, and two seeds
    share no topic. Topics of different seeds draw from the same catalogue, so that seed 0 can train what seed 1 tests.

    Args:
        preset: a name in `PRESETS`.
        n_topics: how many topics, 1 to `MOST_TOPICS`.
        seed: at least 0.
        **overrides: fields of `SyntheticConfig` that replace the preset's.

    Returns:
        Topics "serp-0-0", "serp-0-1", ... (preset, seed, index), named "synthetic:serp", which is their `encoder`, too
        (with the overrides, where there are some). The set is marked `simulated`: no vector of it was made
        from a text. There is no pool: the ideal is that of the candidates.

    Raises:
        ValueError: an unknown preset (with the nearest names), or `n_topics`, `seed`, `width` or `noise` out of range.
        TypeError: one of these is no number, or an unknown override.
    """
    check_option("synthetic preset", preset, PRESETS)
    check_integer("n_topics", n_topics, 1, MOST_TOPICS)
    check_integer("seed", seed, 0)
    config = replace(PRESETS[preset], **overrides)
    shared = None if config.catalogue_size is None else catalogue(config.catalogue_size, config.width)
    topics = [_topic(config, shared, f"{preset}-{seed}-{i}", np.random.default_rng([seed, i])) for i in range(n_topics)]
    name = f"synthetic:{preset}"
    return TopicSet(topics, name=name, simulated=True, encoder=f"{name} {overrides}" if overrides else name)


def catalogue(size: int, width: int) -> FloatArray:
    """The subtopic directions that all topics share: always the same ones for a size and width.

    Returns:
        [C, F] float32, rows of length 1.
    """
    return directions(np.random.default_rng([_CATALOGUE_SEED, size, width]), size, width)


def _topic(config: SyntheticConfig, shared: FloatArray | None, query_id: str, rng: np.random.Generator) -> Topic:
    """One topic, drawn from its own generator."""
    n = int(rng.integers(*config.candidates, endpoint=True))
    s = int(rng.integers(*config.subtopics, endpoint=True))
    if shared is None:
        aspects = directions(rng, s, config.width)
        subtopic_ids = tuple(map(str, range(1, s + 1)))
    else:
        drawn = np.sort(rng.permutation(len(shared))[:s])
        aspects = shared[drawn]
        subtopic_ids = tuple(map(str, (drawn + 1).tolist()))
    distinct = n - round(config.near_duplicate_share * n)
    relevant = max(1, round(rng.uniform(*config.relevant_share) * distinct))
    popularity = rng.permutation(np.arange(1.0, s + 1) ** -config.popularity_skew)
    judgments, strength = _draw_judgments(config, rng, distinct, relevant, popularity)
    topic_direction = directions(rng, 1, config.width)
    vectors = _draw_vectors(config, rng, judgments, strength, aspects, topic_direction[0])
    source, vectors = _repeated(config, rng, vectors, n)
    order, scores = _retrieved(config, rng, (strength * (judgments * popularity).sum(axis=1))[source])
    asked = topic_direction + np.float32(config.query_subtopic_weight) * to_unit_length(aspects.sum(axis=0))
    query = to_unit_length(asked + noise_like(rng, topic_direction, config.noise / 2))
    titles = config.topic_weight * topic_direction + aspects
    return Topic(
        query_id=query_id,
        doc_ids=tuple([f"{query_id}-d{i}" for i in range(n)]),
        query_vector=query[0],
        doc_vectors=vectors[order],
        retrieval_scores=scores,
        subtopic_ids=subtopic_ids,
        subtopic_vectors=to_unit_length(titles + noise_like(rng, aspects, config.noise)),
        judgments=judgments[source[order]],
    )


def _draw_judgments(
    config: SyntheticConfig, rng: np.random.Generator, distinct: int, relevant: int, popularity: NDArray[np.float64]
) -> tuple[NDArray[np.int8], NDArray[np.float64]]:
    """Which subtopics each document covers, and how strongly; off-topic documents come last.

    Every subtopic is covered by some document: each gets one of its own first, the rest is drawn by popularity without
    replacement (Gumbel keys: the c largest of log weight + Gumbel noise are a weighted draw of c).

    Returns:
        [M, S] int8 and [M] float64 (0 for off-topic documents).
    """
    s = len(popularity)
    partly = rng.random(relevant) < config.partly_relevant_share
    shares = np.cumsum(config.subtopics_per_document)
    counts = 1 + np.minimum(np.searchsorted(shares, rng.random(relevant), side="right"), len(shares) - 1)
    counts[partly] = 1
    owner = np.resize(rng.permutation(relevant), s)
    counts = np.clip(counts, np.bincount(owner, minlength=relevant), s)
    keys = np.log(popularity) + rng.gumbel(size=(relevant, s))
    keys[owner, np.arange(s)] = np.inf
    falling = np.argsort(-keys, axis=1)
    judgments = np.zeros((distinct, s), dtype=np.int8)
    rows, ranks = np.nonzero(np.arange(s) < counts[:, None])
    judgments[rows, falling[rows, ranks]] = 1
    strength = np.zeros(distinct)
    strength[:relevant] = np.where(partly, config.partly_relevant_strength, 1.0)
    return judgments, strength


def _draw_vectors(
    config: SyntheticConfig,
    rng: np.random.Generator,
    judgments: NDArray[np.int8],
    strength: NDArray[np.float64],
    aspects: FloatArray,
    topic_direction: FloatArray,
) -> FloatArray:
    """Vectors of the distinct documents, [M, F], length 1.

    An off-topic document holds a little of the topic, and directions of its own matters, a few of which the topic's
    off-topic documents share: neither its length nor its distance to others gives it away.
    """
    off_topic = np.flatnonzero(strength == 0)
    on_topic = np.where(strength == 0, config.off_topic_weight, config.topic_weight).astype(np.float32)
    vectors = on_topic[:, None] * topic_direction
    for share, aspect in zip((judgments * strength[:, None]).T.astype(np.float32), aspects, strict=True):
        vectors += share[:, None] * aspect
    if off_topic.size:
        matters = directions(rng, 2 + off_topic.size // 8, aspects.shape[1])
        vectors[off_topic] += matters[rng.integers(len(matters), size=(2, off_topic.size))].sum(axis=0)
    return to_unit_length(vectors + noise_like(rng, vectors, config.noise))


def _repeated(
    config: SyntheticConfig, rng: np.random.Generator, vectors: FloatArray, n: int
) -> tuple[NDArray[np.int64], FloatArray]:
    """The distinct documents followed by near-duplicates of some of them: [N] the row each comes from, and [N, F]."""
    distinct = len(vectors)
    copied = rng.integers(distinct, size=n - distinct)
    copies = vectors[copied]
    copies = to_unit_length(copies + noise_like(rng, copies, config.near_duplicate_noise))
    return np.concatenate([np.arange(distinct), copied]), np.concatenate([vectors, copies])


def _retrieved(
    config: SyntheticConfig, rng: np.random.Generator, relevance: NDArray[np.float64]
) -> tuple[NDArray[np.int64], FloatArray]:
    """Retrieval order (candidate rows, best first) and falling scores, of the size that BM25 gives a short query."""
    spread = max(float(relevance.std()), 1e-9)
    quality = config.retrieval_quality
    scores = quality * (relevance - relevance.mean()) / spread
    scores += np.sqrt(1 - quality**2) * rng.standard_normal(len(relevance))
    order = np.argsort(-scores)
    return order, (12 + 3 * scores[order]).astype(np.float32)


def judgments_alone(topic: Topic, made: str) -> GradeArray:
    """The judgments of a topic that waits for vectors.

    Raises:
        ValueError: it has none, or document vectors of its own.
    """
    if topic.judgments is None or topic.doc_vectors is not None:
        raise ValueError(
            f"topic {shown(topic.query_id)} must have judgments, and no document vectors of its own, to be {made}"
        )
    return topic.judgments


def generator_of(*key: object) -> np.random.Generator:
    """A generator that depends on the key alone, on every machine (Python's own hash differs between runs)."""
    # JSON keeps ("a", "bc") and ("ab", "c") apart, and escapes whatever an id may hold.
    digest = hashlib.blake2b(json.dumps(key).encode(), digest_size=16).digest()
    return np.random.default_rng(int.from_bytes(digest, "little"))


def directions(rng: np.random.Generator, count: int, width: int) -> FloatArray:
    """Random directions, uniform on the unit sphere.

    Returns:
        [count, width] float32, rows of length 1.
    """
    return to_unit_length(rng.standard_normal((count, width), dtype=np.float32))


def to_unit_length(vectors: FloatArray) -> FloatArray:
    """The rows scaled to length 1; [..., F] float32 in and out."""
    lengths = np.sqrt(np.einsum("...f,...f->...", vectors, vectors))[..., None]
    scaled: FloatArray = vectors / np.maximum(lengths, np.float32(1e-12))
    return scaled


def noise_like(rng: np.random.Generator, vectors: FloatArray, length: float) -> FloatArray:
    """Gaussian noise of the vectors' shape whose rows have the expected (root mean square) length `length`."""
    scale = np.float32(length / np.sqrt(vectors.shape[-1]))
    return rng.standard_normal(vectors.shape, dtype=np.float32) * scale
