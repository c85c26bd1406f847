"""scikit-learn: a search for nearest neighbours that differ, as an estimator.

Shapes: M documents fitted, B queries, F features, K neighbours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from srd_agents.heuristic.stepwise import evened
from srd_agents.integrations import library
from srd_agents.integrations.ranking import default_of
from srd_agents.pipeline.arguments import Knobs
from srd_agents.pipeline.documents import of_each_kind, warn_lacking
from srd_agents.pipeline.given import Given, plainly
from srd_agents.pipeline.groups import group_ids
from srd_agents.pipeline.limits import array_of, costs_of, row_of
from srd_agents.pipeline.request import RankingRequest
from srd_gym.checks import check_integer
from srd_gym.dtypes import AnyArray, IntArray
from srd_gym.files import PathLike
from srd_gym.protocols import Ranker
from srd_gym.reading import few

with library("sklearn", "scikit-learn"):
    from sklearn.base import BaseEstimator
    from sklearn.metrics.pairwise import cosine_distances
    from sklearn.neighbors import NearestNeighbors
    from sklearn.utils.validation import check_is_fitted, validate_data


@dataclass(eq=False, repr=False)
class DiverseNeighbors(Knobs, BaseEstimator):
    """The documents to show for a query: near to it by their cosine, and different from one another.

    `fit` takes the documents, `kneighbors` and `predict` the queries, as rows of numbers. The `n_candidates` nearest
    documents of each query are ranked. Without `diversity` the nearest come first, repeats last
    (`srd_agents.pipeline.safe`), unless another ranker is named. At the end of a pipeline that begins with texts:
    `make_pipeline(TfidfVectorizer(), TruncatedSVD(100), DiverseNeighbors()).fit(texts).predict(queries)`.

    Args:
        n_neighbors: documents shown for a query.
        n_candidates: nearest documents among which they are chosen.
        diversity: from 0 (relevance only) to 1 (difference only); None lets the ranker decide.
        ranker: a ranker, its name such as "mmr" or the folder of a trained one; None is MMR where diversity is
            given, else "safe".
        **options: those of `srd_agents.pipeline.arguments.Knobs`; `groups` and `costs` are given to `fit`, scores are
            the cosines with the query.
    """

    n_neighbors: int = 10
    _: KW_ONLY
    n_candidates: int = 100
    diversity: float | None = None
    ranker: PathLike | Ranker | None = None

    def fit(
        self, X: ArrayLike, y: object = None, *, groups: object = None, costs: ArrayLike | None = None
    ) -> DiverseNeighbors:
        """Take the documents.

        Args:
            X: [M, F], a row a document.
            y: not looked at.
            groups: [M] ids such as sites, None for a document that has none, or of each kind of groups, by name, such
                ids; None: no document is in a group.
            costs: [M] at least 0, such as tokens, None for a document that has none; None: they cost nothing.

        Raises:
            TypeError: an option of another type, or groups or costs that hold something else.
            ValueError: no documents, numbers that are not finite, an option out of range, other lengths, or groups or
                costs without max_per_group or budget.
        """
        check_integer("n_neighbors", self.n_neighbors, 1)
        check_integer("n_candidates", self.n_candidates, 1)
        self.request_ = self._request(groups is not None, costs is not None, named=False)
        self.documents_ = validate_data(self, X, dtype=np.float32)
        count, gaps = len(self.documents_), None if self.strict else dict[str, int]()
        try:
            self.groups_ = None
            if groups is not None:
                self.groups_ = of_each_kind(groups, lambda row: np.fromiter(group_ids("0", row, count, gaps), object))
            self.costs_ = None if costs is None else costs_of("0", costs, count, gaps)
        except (TypeError, ValueError) as error:
            plainly(error)
            raise
        warn_lacking(gaps, stacklevel=3)
        self.nearest_ = NearestNeighbors(metric="cosine").fit(self.documents_)
        return self

    def _request(self, groups: bool, costs: bool, *, named: bool) -> RankingRequest:
        ranker = self.ranker if self.per_cost else default_of(self.ranker, self.diversity is not None, named)
        asked: dict[str, Any] = {"groups": groups, "costs": costs, "subtopics": named, **self.knobs()}
        return RankingRequest(ranker=ranker, diversity=self.diversity, **asked)

    def kneighbors(
        self,
        X: ArrayLike,
        n_neighbors: int | None = None,
        *,
        subtopics: Sequence[ArrayLike | None] | None = None,
        already_shown: Sequence[ArrayLike | None] | None = None,
        pinned: Sequence[Sequence[int | None] | None] | None = None,
        return_filled: bool = False,
    ) -> tuple[Any, ...]:
        """The documents to show for each query, best first.

        Args:
            X: [B, F], a row a query.
            n_neighbors: in place of the estimator's.
            subtopics: of each query the vectors [S, F] of what it may mean or ask about, or None; queries are rows of
                numbers here, so that nothing can name them.
            already_shown: of each query the rows in `fit` of documents shown before, or None; they are not shown again,
                count for groups and differences, and take no candidate's place. -1 says nothing.
            pinned: of each query the row in `fit` of the document in each of the first places, None for a place that is
                free; or None.
            return_filled: whether to tell which documents are above `max_per_group`.

        Returns:
            Cosine distances of query and document [B, K] (they need not rise), and the documents' rows in `fit` [B, K];
            K is n_neighbors, or M where that is less. Where limits leave fewer, rows end in -1, at infinite distance.
            With `return_filled` also which of them are above `max_per_group`: [B, K] bool.

        Raises:
            TypeError: n_neighbors or a row shown before is no whole number, or subtopics are no numbers.
            ValueError: another width than the documents', numbers that are not finite, subtopics or documents shown of
                more or fewer queries, rows that `fit` was not given, or what the ranker refuses.
        """
        check_is_fitted(self)
        queries = validate_data(self, X, dtype=np.float32, reset=False)
        wanted = self.n_neighbors if n_neighbors is None else n_neighbors
        check_integer("n_neighbors", wanted, 1)
        among = min(max(self.n_candidates, wanted), len(self.documents_))
        request, limited = self.request_, (self.groups_ is not None, self.costs_ is not None)
        if subtopics is not None:
            request = self._request(*limited, named=True)
        told = _of_each(queries, "subtopics", subtopics)
        seen = [self._rows(row, each) for row, each in enumerate(_of_each(queries, "already_shown", already_shown))]
        fixed = [[] if each is None else list(each) for each in _of_each(queries, "pinned", pinned)]
        named = [[each for each in places if each is not None] or None for places in fixed]
        pins = [self._rows(row, each, "pinned") for row, each in enumerate(named)]
        for row, (one, other) in enumerate(zip(seen, pins, strict=True)):
            if both := set(one.tolist()).intersection(other.tolist()):
                raise ValueError(
                    f"query {row}: pinned must name none of already_shown, got {few(both)} in both; leave one out"
                )
        more = max((len(one) + len(other) for one, other in zip(seen, pins, strict=True)), default=0)
        distances, places = self.nearest_.kneighbors(queries, min(among + more, len(self.documents_)))
        given, candidates, apart = [], list[IntArray](), list[AnyArray]()
        for row, shown in enumerate(map(np.concatenate, zip(pins, seen, strict=True))):
            fresh = np.flatnonzero(~np.isin(places[row], shown))[:among]
            fresh = fresh[np.argsort(places[row, fresh])]  # of equally near ones the earlier comes first
            near, far_off = places[row, fresh], distances[row, fresh]
            if len(shown):
                near = np.concatenate([near, shown])
                far_off = np.concatenate([far_off, cosine_distances(queries[row, None], self.documents_[shown])[0]])
            candidates.append(near)
            apart.append(far_off)
            given.append(
                Given(
                    query_id=str(row),
                    query_vector=queries[row],
                    doc_vectors=self.documents_[near],
                    scores=evened(1.0 - far_off),
                    subtopics=None if told[row] is None else array_of(str(row), "subtopics", told[row]),
                    groups=None if self.groups_ is None else of_each_kind(self.groups_, itemgetter(near)),
                    costs=None if self.costs_ is None else self.costs_[near],
                    already_shown=np.arange(len(fresh) + len(pins[row]), len(near)),
                    pinned=[None if each is None else int(np.flatnonzero(near == each)[0]) for each in fixed[row]],
                )
            )
        shape = len(queries), min(wanted, len(self.documents_))
        far, rows, filled = np.full(shape, np.inf), np.full(shape, -1, np.int64), np.zeros(shape, np.bool_)
        for row, found in enumerate(request.diversified(given, wanted)):
            held = slice(len(found.indices))
            far[row, held], rows[row, held] = apart[row][found.indices], candidates[row][found.indices]
            filled[row, held] = found.filled
        return (far, rows, filled) if return_filled else (far, rows)

    def _rows(self, query: int, told: ArrayLike | None, option: str = "already_shown") -> IntArray:
        """[P] rows in `fit` of these documents, each once; -1 is left out, as it fills up rows of answers."""
        if told is None:
            return np.empty(0, np.int64)
        rows = np.unique(row_of(str(query), option, told, None, "iu", "whole numbers (rows in fit)"))
        wrong = rows[(rows < -1) | (rows >= len(self.documents_))]
        if len(wrong):
            raise ValueError(
                f"query {query}: {option} names row {wrong[0]}, where fit was given {len(self.documents_)} "
                "documents, numbered from 0"
            )
        return rows[rows >= 0].astype(np.int64)

    def predict(
        self,
        X: ArrayLike,
        *,
        subtopics: Sequence[ArrayLike | None] | None = None,
        already_shown: Sequence[ArrayLike | None] | None = None,
        pinned: Sequence[Sequence[int | None] | None] | None = None,
    ) -> IntArray:
        """The rows in `fit` of the documents to show for each query, best first: [B, K] int64."""
        rows: IntArray = self.kneighbors(X, subtopics=subtopics, already_shown=already_shown, pinned=pinned)[1]
        return rows


def _of_each(queries: Any, name: str, values: Sequence[object] | None) -> Sequence[Any]:
    """One entry per query, None where a query has none."""
    told = [None] * len(queries) if values is None else values
    if len(told) != len(queries):
        raise ValueError(f"expected {name} of {len(queries)} queries (None: of one that has none), got {len(told)}")
    return told
