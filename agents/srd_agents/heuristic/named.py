"""Coverage of named subtopics by candidates; names may be missing, wrong, repeated, or about more than was asked.

Everything is measured in spreads of the candidates themselves, so that one set of constants serves any encoder, and
ratings; only whether a name is about the query is a matter of cosines as they are, of which 0 means nothing in common.
docs/results/named.md shows on what the constants were chosen, and what they bring.

Shapes: N candidates, S subtopics.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from srd_gym.topic import FloatArray

_SHARPNESS = 3.0
"""Sharpness of the softmax over names: one that is a spread nearer than another gets e to this power more."""
_ALLOWED = 2.0
"""Spreads by which, at most, the query may be nearer than any name, where it is nearer than every name, before a
candidate belongs to none of them."""
_PEAK, _FALL = 3.0, 0.58
"""A candidate with this standard score (or the largest that so few can have) is all about a name; what each one less
takes, in powers of e."""
_DOUBT, _NEAREST = 0.55, 3
"""Loss of a name's weight, in powers of e, for each spread by which the query is nearer than the name; number of
candidates that show how near either is."""
_FOREIGN, _ABOUT = 3.0, 0.6
"""Doubt added for a name that is not about the query: the first number, times how far its cosine with the query, as a
part of the nearest candidates', is below the second."""
_OWN = 8.0
"""A name loses weight where less than one part in this many of its evidence is not the query's."""
_POSITION = -0.27
"""Power of its position that is the weight of a listed name."""
_BESIDE, _RANK, _RANK_COVERED = 0.37, -0.2, -0.06
"""Weight of the order beside a name; powers of the rank in it, and in what a candidate covers."""
_TRUSTED, _TRUSTED_COVERED = 0.5, 0.2
"""Loss of both, in powers of e, for each standard score of relevance below the best, where it is trusted."""
_SHORT, _LONG = 0.5, 1.2
"""Skewness of scores, or of the query's cosines, below which no candidate stands out, and above which some do."""
_WIDE = 2.0
"""Weight, beside the query, of the mean of its names in what is relevant: a query widened by its names."""
_KEPT = 0.3
"""Share of their weight below which, the less of it names keep, the more the order counts."""
_SHORT_OF, _SHORT_COVERED = 0.6, 0.3
"""Spreads by which the query is nearer than any name from which on names tell apart little but relevance: the order
counts twice as much there, and twice as steeply; further loss of what a candidate covers, as `_TRUSTED_COVERED`."""
_UNASKED = 3.0
"""Doubt of a name that is not about the query, however near candidates come to it, where the scores are trusted."""
_IDLE = 0.75
"""Share of its weight that an order loses if it only repeats the query's cosines and no candidate stands out."""


class Named(NamedTuple):
    """Estimates for the named subtopics of a topic."""

    coverage: FloatArray
    """[S, N] float32, 0 to 1: how far each candidate covers each subtopic."""
    weights: FloatArray
    """[S] float32: how much each subtopic counts, 1 on average where candidates speak of all of them."""
    order: FloatArray
    """[N] float32: what a candidate's place in the order is worth, beside a subtopic of weight 1."""
    trust: float
    """Trust in the scores, or in the cosines with the query, as signs of relevance, 0 to 1."""


def estimate(
    evidence: FloatArray,
    query: FloatArray | None = None,
    *,
    about: FloatArray | None = None,
    scores: FloatArray | None = None,
    weights: FloatArray | None = None,
    ordered: bool = True,
) -> Named:
    """Estimate how far candidates cover each name, how much each name counts, and how much the order does.

    A candidate is shared among the names that it is near to (a softmax), the query one of them: what is nearer to the
    query than to any name is about none. It covers its names as far as it stands out of the candidates. A name that
    no candidate comes as near to as to the query counts less, above all if it is not about the query: it is wrong, or
    nobody speaks of it. So does one whose evidence is the query's alone. The order counts a little, and the more, the
    better it follows the query's cosines, if these have a long tail: where few candidates stand out, they are what was
    asked for. Where none stands out, an order that follows them tells nothing: it counts less, and names are believed.
    Scores with a long tail, which an engine computed of more than the vectors show (say, of words, or by a better
    encoder), are trusted beside the query's cosines, each as far as it tells; then the order counts up to twice as
    much.

    Names make a candidate relevant, too: where cosines are trusted, they are those with the query widened by its names
    (the query and twice their mean, foreign ones left out). Where the query is nearer than nearly every name, names
    tell candidates apart by little but that, and it counts more. The less weight names keep, the more the order has.

    Args:
        evidence: [S, N] how near each candidate is to each name: cosines, or ratings standardised for each name. NaN:
            not known, taken as the name's mean.
        query: [N] how near each candidate is to the query, in the same unit; None: not known.
        about: [S] cosine of each name with the query, where `query` are cosines; None: not known.
        scores: [N] of relevance, in whose order the candidates stand; None: they stand in no order.
        weights: [S] of the names, above 0; None: by position, or all alike.
        ordered: without weights: whether names are listed likeliest first.
    """
    near = _filled(evidence)
    apart, deviations = _standardised(near)
    spread = float(np.sqrt(np.mean(deviations.astype(np.float64) ** 2))) or 1.0
    given = np.arange(1, len(near) + 1) ** (_POSITION if ordered else 0.0) if weights is None else weights
    counts = np.asarray(given, dtype=np.float64) / np.mean(given, dtype=np.float64)
    ranks = np.log(np.arange(1, near.shape[1] + 1)) * (scores is not None)
    # At most 0, so that the best of all is worth 1.
    order, covered, beside, trust = _RANK * ranks, _RANK_COVERED * ranks, _BESIDE, 0.0
    near /= spread
    if query is None:
        shares = _softmax(near)
    else:
        known = _filled(query[None]) / np.float32(spread)
        relevance = _standardised(known)[0][0]
        trust, idle = _trust(relevance, None if scores is None else ranks)
        nearest = float(_nearest(known)[0])
        gaps = nearest - _nearest(near).astype(np.float64)
        alien = np.zeros(1) if about is None or nearest <= 0 else np.maximum(_ABOUT - about / (spread * nearest), 0.0)
        asked = (counts * np.exp(-_FOREIGN * alien) / len(counts)).astype(np.float32)
        told, scored = _standardised(known + np.float32(_WIDE) * (asked @ near))[0][0], 0.0
        if scores is not None and _more_than_ranks(scores):
            size = int(np.frexp(np.abs(scores).max())[1])  # their squares may leave float32's range
            given_scores = _standardised(np.ldexp(np.asarray(scores, dtype=np.float32), -size)[None])[0][0]
            scored = _trust(given_scores, ranks)[0]
            told = (trust * told + scored * given_scores) / ((trust + scored) or 1.0)
        doubt = (_DOUBT * (1.0 - idle) + _FOREIGN * alien) * np.maximum(gaps, 0.0) + _UNASKED * scored * alien
        kept = np.exp(-doubt)
        left = float(kept @ counts) / float(counts.sum())
        beside *= (1.0 + max(scored - trust, 0.0)) / min(max(left / _KEPT, 1e-6), 1.0)
        counts *= kept * _own(apart, relevance)
        allowed = float(np.clip(np.percentile(gaps, 10), 0.0, _ALLOWED))
        shares = _softmax(np.vstack([near, known - np.float32(allowed)]))[:-1]
        trust = max(scored, trust)
        below = trust * (told - told.max())
        short = trust * min(allowed / _SHORT_OF, 1.0)
        order += _TRUSTED * (1.0 + short) * below
        covered += (_TRUSTED_COVERED + _SHORT_COVERED * short) * below
        beside *= (1.0 + short) * (1.0 - _IDLE * idle)
    apart -= np.float32(min(_PEAK, np.sqrt(near.shape[1] - 1)))
    np.minimum(apart, 0.0, out=apart)
    apart *= np.float32(_FALL)
    apart += covered.astype(np.float32)
    shares *= np.exp(apart, out=apart)
    shares[deviations == 0] = 0.0  # of a name that tells no candidates apart, such as one without a word of theirs
    return Named(shares, counts.astype(np.float32), (beside * np.exp(order)).astype(np.float32), trust)


def _filled(evidence: FloatArray) -> FloatArray:
    """A copy in float32, the mean of its row (0 where all are) in place of each NaN."""
    filled = np.array(evidence, dtype=np.float32)
    unknown = np.isnan(filled)
    if unknown.any():
        known = np.maximum((~unknown).sum(axis=1), 1)
        means = np.where(unknown, 0.0, filled).sum(axis=1) / known
        filled[unknown] = np.broadcast_to(means[:, None], filled.shape)[unknown]
    return filled


def _standardised(rows: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Each row less its mean, by its standard deviation (0 where all are equal), and the deviations, [S]."""
    centred = rows - rows.mean(axis=1, dtype=np.float64, keepdims=True).astype(np.float32)
    deviations = np.sqrt(np.vecdot(centred, centred) / rows.shape[1])
    # Equal numbers may leave a rounding error of their mean, which must not become a difference.
    deviations[deviations <= 1e-6 * np.abs(rows).max(axis=1)] = 0.0
    centred *= np.divide(1.0, deviations, out=np.zeros_like(deviations), where=deviations > 0)[:, None]
    return centred, deviations


def _nearest(rows: FloatArray) -> FloatArray:
    """The mean of the largest few of each row: [S]."""
    left, total = rows.copy(), np.zeros(len(rows), dtype=np.float32)
    few = min(_NEAREST, rows.shape[1])
    for _ in range(few):
        best = left.argmax(axis=1)[:, None]
        total += np.take_along_axis(left, best, axis=1)[:, 0]
        np.put_along_axis(left, best, -np.inf, axis=1)
    return total / np.float32(few)


def _softmax(rows: FloatArray) -> FloatArray:
    """Shares of the rows in each column, which sum to 1."""
    powers: FloatArray = np.exp(np.float32(_SHARPNESS) * (rows - rows.max(axis=0)))
    powers /= powers.sum(axis=0)
    return powers


def _own(apart: FloatArray, relevance: FloatArray) -> FloatArray:
    """Weight of each name by what it says beyond the query, 0 to 1: [S], from standardised evidence of both."""
    n = len(relevance)
    if n < 3:
        return np.ones(len(apart), dtype=np.float32)
    follows = np.maximum(np.vecdot(apart, relevance) / n, 0.0)
    # Of few candidates some part follows the query's by chance.
    left: FloatArray = np.clip(_OWN * (1.0 - follows**2) * (n - 1) / (n - 2), 0.0, 1.0) ** 2
    return left


def _more_than_ranks(scores: FloatArray) -> bool:
    """Whether scores tell more than ranks; those made of ranks, such as 1 / rank, fall by ever smaller steps."""
    bends = np.diff(scores.astype(np.float64), n=2)
    return bool(bends.min(initial=0.0) < -1e-6 * np.ptp(scores))


def _trust(relevance: FloatArray, ranks: NDArray[np.float64] | None) -> tuple[float, float]:
    """Trust in standardised scores or cosines, and idleness of the order, 0 to 1 each.

    They are trusted if they have a long tail and the order follows them. The order is idle if it follows them where
    they have no tail.
    """
    wide = relevance.astype(np.float64)
    tail = float(np.clip((np.mean(wide**3) - _SHORT) / (_LONG - _SHORT), 0.0, 1.0))
    if ranks is None:
        return tail, 0.0
    falling = ranks.mean() - ranks
    follows = max(0.0, float(np.vecdot(wide, falling) / (len(wide) * (falling.std() or 1.0))))
    return tail * follows, (1.0 - tail) * follows
