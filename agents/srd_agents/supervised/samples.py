"""The rankings that NTN-DIV and the linear rankers learn from: ideal ones, and good and bad ones. Numpy only.

Shapes: P good and Q bad rankings of a topic, K ranks, N candidates.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from srd_gym.dtypes import BoolArray, IntArray, ScoreArray
from srd_gym.measures import BoundMeasure, IdealPool, Measure, greedy_rankings, parse_measure
from srd_gym.measures.ideal import preference
from srd_gym.measures.judgments import judged
from srd_gym.topic import FloatArray, GradeArray, Topic

Pooling = Literal["max", "min", "mean"]

_DRAWS = 4
"""Random rankings drawn for each bad one wanted; where too few of them are bad, there are fewer."""


class Samples(NamedTuple):
    """Rankings of one topic; K is at most N."""

    rankings: IntArray
    """[P + Q, K], good ones first, the ideal first of all."""
    counted: BoolArray
    """[P + Q, K], ranks where the ideal still gains; beyond them any order is as good."""
    values: ScoreArray
    """[P + Q], in shares of the ideal's value."""
    n_good: int
    """P."""


class Sampler:
    """Finds the rankings of a topic.

    Args:
        by: the measure; without a cutoff it counts to the rankings' end.
        depth: K at most.

    Raises:
        ValueError: an unknown measure.
    """

    def __init__(self, by: str | Measure, depth: int) -> None:
        # Values are taken in shares of the ideal's, so that nothing else need normalise them.
        self._measure, self._depth = parse_measure(by, normalizer="candidates").plain(), depth

    def ideal(self, topic: Topic, order: IntArray | None = None) -> Samples:
        """The ideal ranking alone.

        Args:
            topic: judged.
            order: [N] candidates, those first that win ties; None: the larger document id wins, as in ndeval,
                never a position.
        """
        order = preference(topic.n_candidates, topic.doc_ids) if order is None else order
        judgments = judged(topic)[order]
        depth = min(self._depth, topic.n_candidates)
        bound = self.bound(topic, depth)
        first = greedy_rankings(bound, judgments[None], np.ones((1, len(order)), np.bool_), np.zeros(1, np.int64))
        ranking = order[first]
        gains = bound.gains(judged(topic)[ranking], np.zeros(1, np.int64))
        return Samples(ranking, gains > 0, np.ones(1), 1)

    def pairs(
        self,
        topic: Topic,
        positives: int,
        negatives: int,
        below: float,
        generator: np.random.Generator,
        order: IntArray | None = None,
    ) -> Samples:
        """The ideal ranking, variants of it, and bad rankings (PAMM's tau+ and tau-).

        Args:
            topic: judged.
            positives: P at most; fewer where the ideal has no two documents that could be swapped.
            negatives: Q at most; fewer where random rankings are too good.
            below: what a bad ranking may reach, in shares of the ideal's value.
            generator: draws variants and bad rankings.
            order: of ties, as for `ideal`.
        """
        ideal = self.ideal(topic, order)
        best, depth = ideal.rankings[0], ideal.rankings.shape[1]
        variants = {tuple(best.tolist()): None}
        for _ in range(_DRAWS * (positives - 1)):
            if len(variants) < positives:
                variants[tuple(_swapped(best, judged(topic), generator).tolist())] = None
        good = np.array(list(variants), np.int64)
        drawn = np.stack([generator.permutation(topic.n_candidates)[:depth] for _ in range(_DRAWS * negatives)])
        rankings = np.concatenate([good, drawn])
        values = self.bound(topic, depth).values(judged(topic)[rankings], np.zeros(len(rankings), np.int64))
        values = values / max(float(values[0]), 1e-12)
        bad = np.flatnonzero(values[len(good) :] <= min(below, 1 - 1e-9))[:negatives]
        rows = np.concatenate([np.arange(len(good)), len(good) + bad])
        return Samples(rankings[rows], np.repeat(ideal.counted, len(rows), axis=0), values[rows], len(good))

    def bound(self, topic: Topic, depth: int) -> BoundMeasure:
        """The measure for this topic alone, over this many ranks."""
        return self._measure.bind([IdealPool.of(topic, "candidates")], depth)


def _swapped(ranking: IntArray, judgments: GradeArray, generator: np.random.Generator) -> IntArray:
    """The ranking with one of its documents exchanged for an equally judged one, ranked or not."""
    variant = ranking.copy()
    place = int(generator.integers(len(ranking)))
    alike = np.flatnonzero((judgments == judgments[ranking[place]]).all(axis=1))
    other = int(generator.choice(alike))
    where = np.flatnonzero(variant == other)
    if len(where):
        variant[where[0]] = variant[place]
    variant[place] = other
    return variant


def pooled_with(pooled: FloatArray | None, row: FloatArray, count: int, pooling: Pooling) -> FloatArray:
    """The pool of `count` rows: of those before, None where there are none (it may be overwritten), and one more."""
    if pooled is None:
        return row
    if pooling == "mean":
        return pooled + (row - pooled) / np.float32(count)
    return (np.maximum if pooling == "max" else np.minimum)(pooled, row, out=pooled)
