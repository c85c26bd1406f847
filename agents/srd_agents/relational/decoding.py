"""From a stochastic policy to one ranking: greedy, the likeliest of samples, or beam search. Numpy only.

No judgment is looked at: among several rankings the one of the highest likelihood under the policy is taken.

Shapes: B topics, R rankings of each, N candidates, K ranks.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from srd_agents.heuristic.greedy import in_blocks
from srd_agents.training.options import Count
from srd_gym.dtypes import IntArray
from srd_gym.topic import Topic

Floats = NDArray[np.float32]

_BLOCK = 1 << 19
"""Numbers of vectors worked on at once: about the processor's cache."""


class Draft(Protocol):
    """R rankings of each of B topics in progress, as a policy sees them."""

    def scores(self) -> Floats:
        """[B, R, N], logits of every candidate as the next document; those of ranked ones mean nothing."""

    def add(self, chosen: IntArray) -> None:
        """Put these candidates, [B, R] int64, at the next rank."""

    def keep(self, rankings: IntArray) -> None:
        """Go on from some of the rankings: [B, R] int64, the ranking that each is a copy of."""


@dataclass(frozen=True, kw_only=True)
class Decoding:
    """How a trained policy ranks; options of rankers that have one, and not of their training."""

    RANKING_OPTIONS: ClassVar[tuple[str, ...]] = ("decoding", "sequences")
    decoding: Literal["greedy", "samples", "beam"] = "greedy"
    """"greedy" takes the likeliest document at each rank; "samples" draws rankings and takes the likeliest (the greedy
    one is among them); "beam" keeps the likeliest beginnings at each rank."""
    sequences: Count = 64
    """Rankings that "samples" draws, or "beam" keeps."""

    @property
    def rankings(self) -> int:
        """R, rankings of a topic that are worked on side by side."""
        return 1 if self.decoding == "greedy" else self.sequences


def rankings_of(
    how: Decoding, topics: Sequence[Topic], k: int, begin: Callable[[list[Topic], int], Draft]
) -> list[IntArray]:
    """Rankings of topics with document vectors, [min(k, N)] int64 each; none depends on the others.

    Args:
        how: the options.
        topics: the topics.
        k: ranks wanted.
        begin: makes empty rankings, as many of each, of topics of equal shape.
    """
    shapes = [topic.require_vectors("a learned ranker").shape for topic in topics]

    def side_by_side(part: list[Topic]) -> IntArray:
        n = part[0].n_candidates
        seeds = [zlib.crc32(topic.query_id.encode()) for topic in part]
        return decode(how, begin(part, how.rankings), (len(part), n), min(k, n), seeds)

    return in_blocks(topics, shapes, max(1, _BLOCK // how.rankings), side_by_side)


def decode(how: Decoding, draft: Draft, shape: tuple[int, int], ranks: int, seeds: Sequence[int]) -> IntArray:
    """Rankings of B topics, [B, K] int64. Ties go to the earlier candidate.

    Args:
        how: the options.
        draft: `how.rankings` rankings of each topic, empty.
        shape: (B, N).
        ranks: K, at most N.
        seeds: of each topic's samples, so that a topic's ranking does not depend on the others.
    """
    if how.decoding == "beam":
        return _beam(draft, shape, how.sequences, ranks)
    count, n = shape
    drawn = how.rankings
    noise = [np.random.default_rng([seed, 1]) for seed in seeds] if drawn > 1 else []
    off = np.zeros((count, drawn, n), np.float32)
    rankings, likelihood = np.empty((count, drawn, ranks), np.int64), np.zeros((count, drawn))
    topics, each = np.arange(count)[:, None], np.arange(drawn)
    taken, first = off.reshape(-1), (topics * drawn + each) * n
    for rank in range(ranks):
        scores = draft.scores() + off
        drawing = scores
        if drawn > 1:
            # Gumbel-max: the largest of score + noise is a draw from the softmax. The first ranking is the greedy one.
            drawing = scores.copy()
            for row, generator in zip(drawing, noise, strict=True):
                row[1:] += generator.gumbel(size=(drawn - 1, n)).astype(np.float32)
        chosen = rankings[..., rank] = drawing.argmax(axis=2)
        if drawn > 1:
            likelihood += log_softmax(scores)[topics, each, chosen]
        taken[first + chosen] = -np.inf
        if rank + 1 < ranks:
            draft.add(chosen)
    return rankings[:, 0] if drawn == 1 else np.asarray(rankings[topics[:, 0], likelihood.argmax(axis=1)])


def _beam(draft: Draft, shape: tuple[int, int], width: int, ranks: int) -> IntArray:
    """At each rank the `width` likeliest beginnings go on; in the end the likeliest ranking: [B, K]."""
    count, n = shape
    off = np.zeros((count, width, n), np.float32)
    rankings = np.zeros((count, width, ranks), np.int64)
    likelihood = np.full((count, width), -np.inf)
    likelihood[:, 0] = 0.0  # all beginnings are the empty one: the others must not fill the beam with its copies
    topics = np.arange(count)[:, None]
    for rank in range(ranks):
        total = (likelihood[..., None] + log_softmax(draft.scores() + off)).reshape(count, -1)
        best = np.argsort(-total, axis=1, kind="stable")[:, :width]
        parents, chosen = best // n, best % n
        likelihood = np.take_along_axis(total, best, axis=1)
        rankings, off = rankings[topics, parents], off[topics, parents]
        rankings[..., rank] = chosen
        np.put_along_axis(off, chosen[..., None], -np.inf, axis=2)
        if rank + 1 < ranks:
            draft.keep(parents)
            draft.add(chosen)
    return np.asarray(rankings[:, 0])


def log_softmax(scores: Floats) -> NDArray[np.float64]:
    """Log of the softmax over the last axis, [..., N] float64; minus infinity stays so."""
    wide = scores.astype(np.float64)
    wide -= wide.max(axis=-1, keepdims=True)
    wide -= np.log(np.exp(wide).sum(axis=-1, keepdims=True))
    return np.asarray(wide)
