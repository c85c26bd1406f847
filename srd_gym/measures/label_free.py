"""LabelFree of a list: how alike its documents are and how few sources they come from, without any judgment.

These values describe a list. They are no measure of its quality: documents drawn at random crowd least.

Shapes: B lists, K ranks, F vector width.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, NoReturn

import numpy as np
from numpy.typing import ArrayLike

from srd_gym.checks import check_positive
from srd_gym.dtypes import BoolArray, IntArray, ScoreArray
from srd_gym.measures.base import Measure, Statistics
from srd_gym.reading import shown
from srd_gym.topic import Topic

NEAR_DUPLICATE = 0.95
"""Cosine from which on `duplicates@k` counts a document as a near-duplicate of an earlier one."""
ROUNDING = 1e-6
"""Largest error of a cosine: a threshold is reached from so much below it on."""
_TOGETHER = 256
"""Lists whose cosines are in memory together."""

Needs = Literal["vectors", "sources", "scores"]
Sources = Mapping[str, object]
"""Document id -> its source (site, author, ...), anything that can be hashed; a document without is its own source."""


@dataclass(frozen=True, eq=False, slots=True)
class Lists:
    """Arrays that label-free measures are computed from, of B lists padded to K ranks."""

    present: BoolArray
    """[B, K] ranks that hold a document."""
    cosines: ScoreArray
    """[B, K, K] float64, 1 on the diagonal, 0 wherever a rank is empty; of zero vectors 0."""
    sources: IntArray
    """[B, K] number of each document's source in its list; zeros where nobody asks."""
    candidates: IntArray
    """[B, K] candidate at each rank; -1 where it is empty."""
    scores: ScoreArray
    """[B, K] float64 retrieval scores, scaled to [0, 1] among the candidates; zeros where nobody asks."""

    def first(self, k: int | None) -> Lists:
        """The first k ranks."""
        cosines = self.cosines[:, :k, :k]
        return Lists(self.present[:, :k], cosines, self.sources[:, :k], self.candidates[:, :k], self.scores[:, :k])


@dataclass(frozen=True, kw_only=True)
class LabelFree(Measure):
    """A measure of a list by its vectors, sources or retrieval scores: no judgments, no ideal, and so no reward.

    Of an empty list all are 0. A cutoff beyond the list takes the whole list.
    """

    needs: ClassVar[Needs] = "vectors"
    """The part of a topic that it is computed from."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.rel != 1 or self.normalizer is not None:
            raise ValueError(f"{self.name} reads no judgments; leave out rel and normalizer")

    @abstractmethod
    def values(self, lists: Lists) -> ScoreArray:
        """[B] float64, the value of each list."""

    def _terms(self, statistics: Statistics, depth: int) -> NoReturn:
        raise ValueError(
            f"{self} describes a list without judgments, so it can be neither reward nor ideal; "
            "`evaluate`, `evaluate_run` and `srd evaluate --topics` compute it"
        )


@dataclass(frozen=True, kw_only=True)
class ILS(LabelFree):
    """ILS@k, intra-list similarity: Ziegler et al., "Improving recommendation lists", WWW 2005; lower is more diverse.

    Mean cosine of all pairs of the first k documents; 0 below two documents.

    Differs from the paper: the mean of the pairs, not their sum, so that lists of several lengths compare.
    """

    name: ClassVar[str] = "ILS"
    lower_is_better: ClassVar[bool] = True

    def values(self, lists: Lists) -> ScoreArray:
        """[B] float64, -1 to 1."""
        return mean_cosines(lists.cosines, lists.present.sum(axis=1))


@dataclass(frozen=True, kw_only=True)
class Vendi(LabelFree):
    """Vendi@k, the Vendi score: Friedman & Dieng, TMLR 2023; the effective number of different documents.

    exp of the entropy of the eigenvalues of C / n, with C the cosines of the first k documents, of which there are n:
    from 1 (all alike) to n (all orthogonal).
    """

    name: ClassVar[str] = "Vendi"

    def values(self, lists: Lists) -> ScoreArray:
        """[B] float64, 0 (nothing) or 1 to K."""
        return vendi_scores(lists.cosines, lists.present.sum(axis=1))


@dataclass(frozen=True, kw_only=True)
class NearDuplicates(LabelFree):
    """duplicates@k: how many of the first k documents are near-duplicates of an earlier one; lower is more diverse.

    Parameters: cosine, from which on two documents are near-duplicates, above 0 to 1.
    """

    name: ClassVar[str] = "duplicates"
    lower_is_better: ClassVar[bool] = True

    cosine: float = NEAR_DUPLICATE
    """Cosine from which on two documents are near-duplicates."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive(f"{self.name}: cosine", self.cosine, 1)

    def values(self, lists: Lists) -> ScoreArray:
        """[B] float64, 0 to K - 1."""
        return _counts(duplicate_ranks(lists.cosines, self.cosine))


@dataclass(frozen=True, kw_only=True)
class SourceCount(LabelFree):
    """sources@k: how many different sources the first k documents come from."""

    name: ClassVar[str] = "sources"
    needs: ClassVar[Needs] = "sources"

    def values(self, lists: Lists) -> ScoreArray:
        """[B] float64, 0 to K."""
        again = np.tril(_same_source(lists), k=-1).any(axis=2)
        return _counts(lists.present & ~again)


@dataclass(frozen=True, kw_only=True)
class TopSource(LabelFree):
    """top_source@k: share of the first k documents that comes from one source, the largest; lower is more diverse."""

    name: ClassVar[str] = "top_source"
    lower_is_better: ClassVar[bool] = True
    needs: ClassVar[Needs] = "sources"

    def values(self, lists: Lists) -> ScoreArray:
        """[B] float64, 0 (nothing) or 1 / K to 1."""
        most = _same_source(lists).sum(axis=2).max(axis=1, initial=0)
        shares: ScoreArray = most / np.maximum(lists.present.sum(axis=1), 1)
        return shares


@dataclass(frozen=True, kw_only=True)
class Score(LabelFree):
    """score@k: mean retrieval score of the first k documents, scaled to [0, 1] among the topic's candidates.

    Where all scores are equal it is 1.
    """

    name: ClassVar[str] = "score"
    needs: ClassVar[Needs] = "scores"

    def values(self, lists: Lists) -> ScoreArray:
        """[B] float64, 0 to 1."""
        means: ScoreArray = lists.scores.sum(axis=1) / np.maximum(lists.present.sum(axis=1), 1)
        return means


@dataclass(frozen=True, kw_only=True)
class Moved(LabelFree):
    """moved@k: how many of the first k ranks show another document than in retrieval order."""

    name: ClassVar[str] = "moved"
    needs: ClassVar[Needs] = "scores"
    lower_is_better: ClassVar[bool] = True

    def values(self, lists: Lists) -> ScoreArray:
        """[B] float64, 0 to K."""
        return _counts(lists.present & (lists.candidates != np.arange(lists.candidates.shape[1])))


_KINDS = (ILS, Vendi, NearDuplicates, SourceCount, TopSource, Score, Moved)
LABEL_FREE: dict[str, type[LabelFree]] = {kind.name: kind for kind in _KINDS}
"""Every measure that needs no judgments, by its name in the notation."""


def cosines_of(vectors: ArrayLike, present: BoolArray) -> ScoreArray:
    """[B, K, K] float64, cosines of the documents of each list: as of `Lists`.

    Args:
        vectors: [B, K, F].
        present: [B, K].
    """
    wide = np.where(present[:, :, None], np.asarray(vectors, dtype=np.float64), 0.0)
    largest = np.abs(wide).max(axis=2, initial=0.0, keepdims=True)
    wide /= np.where(largest > 0, largest, 1.0)  # squares of huge or tiny entries would be infinite or 0
    lengths = np.linalg.norm(wide, axis=2, keepdims=True)
    units = wide / np.where(lengths > 0, lengths, 1.0)
    cosines: ScoreArray = units @ units.swapaxes(1, 2)
    diagonal = np.arange(cosines.shape[1])
    cosines[:, diagonal, diagonal] = present
    return cosines


def mean_cosines(cosines: ScoreArray, counts: IntArray) -> ScoreArray:
    """[B] float64, mean cosine of the pairs of `counts` [B] documents, from [B, K, K]; 0 where there is no pair."""
    pairs = counts * (counts - 1)
    means: ScoreArray = (cosines.sum(axis=(1, 2)) - counts) / np.maximum(pairs, 1)
    return np.where(pairs > 0, means, 0.0)


def vendi_scores(cosines: ScoreArray, counts: IntArray) -> ScoreArray:
    """[B] float64, Vendi scores of `counts` [B] documents, from [B, K, K]; 0 where there are none."""
    shares = np.linalg.eigvalsh(cosines / np.maximum(counts, 1)[:, None, None])
    shares = np.where(shares > 0, shares, 1.0)  # 1 has no entropy; empty ranks have eigenvalue 0
    scores: ScoreArray = np.exp(-(shares * np.log(shares)).sum(axis=1))
    return np.where(counts > 0, scores, 0.0)


def duplicate_ranks(cosines: ScoreArray, threshold: float) -> BoolArray:
    """[B, K] ranks whose document has at least this cosine (above 0) with one at an earlier rank, from [B, K, K]."""
    near = np.tril(cosines >= threshold - ROUNDING, k=-1)
    return np.asarray(near.any(axis=2))


def _counts(marks: BoolArray) -> ScoreArray:
    """[B] float64, marked ranks of [B, K]."""
    counts: ScoreArray = marks.sum(axis=1).astype(np.float64)
    return counts


def _same_source(lists: Lists) -> BoolArray:
    """[B, K, K] whether two ranks hold documents of one source."""
    both = lists.present[:, :, None] & lists.present[:, None, :]
    same: BoolArray = (lists.sources[:, :, None] == lists.sources[:, None, :]) & both
    return same


def label_free_values(
    topics: Sequence[Topic],
    rankings: Sequence[IntArray],
    measures: Mapping[str, LabelFree],
    sources: Sources | None = None,
) -> dict[str, ScoreArray]:
    """Values of a ranking of each topic.

    Args:
        topics: B topics.
        rankings: of each its candidates by index, best first; -1 is a rank left empty.
        measures: by the name that the result has them by.
        sources: of the documents; needed by `sources` and `top_source` alone.

    Returns:
        Name -> [B] float64.

    Raises:
        ValueError: a topic without vectors or retrieval scores, or no sources, where a measure needs them.
    """
    asking: dict[Needs, str] = {each.needs: name for name, each in reversed(list(measures.items()))}
    if "sources" in asking:
        _check_sources(asking["sources"], topics, rankings, sources)
    depths = [each.cutoff for each in measures.values()]
    depth = None if None in depths else max(filter(None, depths), default=0)
    parts: dict[str, list[ScoreArray]] = {name: [np.zeros(0)] for name in measures}
    for start in range(0, len(topics), _TOGETHER):
        part = slice(start, start + _TOGETHER)
        filled = [ranking[ranking >= 0][:depth] for ranking in rankings[part]]
        lists = _lists(topics[part], filled, asking, sources or {})
        for name, each in measures.items():
            parts[name].append(each.values(lists.first(each.cutoff)))
    return {name: np.concatenate(own) for name, own in parts.items()}


def _lists(
    topics: Sequence[Topic], rankings: Sequence[IntArray], asking: Mapping[Needs, str], sources: Sources
) -> Lists:
    """The lists of topics, with what measures (named for errors) ask for."""
    shape = len(topics), max(map(len, rankings), default=0)
    width = max((topic.vector_width or 0 for topic in topics), default=0) if "vectors" in asking else 0
    vectors, numbers = np.zeros((*shape, width), np.float32), np.zeros(shape, np.int64)
    candidates, scores = np.full(shape, -1), np.zeros(shape)
    for row, (topic, ranking) in enumerate(zip(topics, rankings, strict=True)):
        length = len(ranking)
        candidates[row, :length] = ranking
        if "vectors" in asking:
            vectors[row, :length] = topic.require_vectors(asking["vectors"])[ranking]
        if "scores" in asking:
            scores[row, :length] = _scaled(topic, asking["scores"])[ranking]
        if "sources" in asking:
            seen: dict[object, int] = {}
            ids = [topic.doc_ids[i] for i in ranking.tolist()]
            named = [sources.get(one, object()) for one in ids]  # an object is equal to no other
            numbers[row, :length] = [seen.setdefault(one, len(seen)) for one in named]
    present = candidates >= 0
    return Lists(present, cosines_of(vectors, present), numbers, candidates, scores)


def _scaled(topic: Topic, name: str) -> ScoreArray:
    """[N] float64, retrieval scores scaled to [0, 1]; 1 where all are equal.

    Raises:
        ValueError: the topic has none.
    """
    if topic.retrieval_scores is None:
        raise ValueError(f"topic {shown(topic.query_id)} has no retrieval scores, which {name} needs; leave it out")
    wide = topic.retrieval_scores.astype(np.float64)
    spread = np.ptp(wide) if len(wide) else 0.0
    scaled: ScoreArray = (wide - wide.min(initial=np.inf)) / spread if spread else np.ones(len(wide))
    return scaled


def _check_sources(name: str, topics: Sequence[Topic], rankings: Sequence[IntArray], sources: Sources | None) -> None:
    """Refuse to count sources where there are none, or none of a ranked document.

    Raises:
        ValueError: they are missing, or by ids of another kind.
    """
    if sources is None:
        raise ValueError(
            f"{name} needs the source of each document, got none; give sources={{document id: source}} (--sources FILE)"
        )
    ranked = [topic.doc_ids[i] for topic, ranking in zip(topics, rankings, strict=True) for i in ranking if i >= 0]
    if ranked and not any(doc_id in sources for doc_id in ranked):
        raise ValueError(
            f"sources name none of the ranked documents (sources have {shown(next(iter(sources), None))}, ..., "
            f"rankings {shown(ranked[0])}, ...); give them by the ids of documents"
        )
