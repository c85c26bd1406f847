"""scikit-learn: a search for nearest neighbours that differ, as an estimator.

Shapes: M documents fitted, B queries, F features, K neighbours.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from srd_agents.integrations import library
from srd_agents.integrations.ranking import best_first, chooser_of, named
from srd_gym.checks import check_integer
from srd_gym.dtypes import IntArray, ScoreArray
from srd_gym.files import PathLike
from srd_gym.protocols import Ranker

with library("sklearn", "scikit-learn"):
    from sklearn.base import BaseEstimator
    from sklearn.neighbors import NearestNeighbors
    from sklearn.utils.validation import check_is_fitted, validate_data


class DiverseNeighbors(BaseEstimator):
    """The documents to show for a query: near to it by their cosine, and different from one another.

    `fit` takes the documents, `kneighbors` and `predict` the queries, as rows of numbers. The `n_candidates` nearest
    documents of each query are ranked. Without `diversity` the nearest come first, repeats last
    (`srd_agents.pipeline.cautious`), unless another ranker is named. At the end of a pipeline that begins with texts:
    `make_pipeline(TfidfVectorizer(), TruncatedSVD(100), DiverseNeighbors()).fit(texts).predict(queries)`.

    Args:
        n_neighbors: documents shown for a query.
        n_candidates: nearest documents among which they are chosen.
        diversity: from 0 (relevance only) to 1 (difference only); None lets the ranker decide.
        ranker: a ranker, its name such as "mmr" or the folder of a trained one; None is MMR where diversity is
            given, else `srd_agents.diversify.DEFAULT_RANKER`.
    """

    def __init__(
        self,
        n_neighbors: int = 10,
        *,
        n_candidates: int = 100,
        diversity: float | None = None,
        ranker: PathLike | Ranker | None = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.n_candidates = n_candidates
        self.diversity = diversity
        self.ranker = ranker

    def fit(self, X: ArrayLike, y: Any = None) -> DiverseNeighbors:
        """Take the documents.

        Args:
            X: [M, F], a row a document.
            y: not looked at.

        Raises:
            TypeError: an option of another type.
            ValueError: no documents, numbers that are not finite, or an option out of range.
        """
        check_integer("n_neighbors", self.n_neighbors, 1)
        check_integer("n_candidates", self.n_candidates, 1)
        self.chooser_ = chooser_of(self.ranker, self.diversity)
        self.documents_ = validate_data(self, X, dtype=np.float32)
        self.nearest_ = NearestNeighbors(metric="cosine").fit(self.documents_)
        return self

    def kneighbors(
        self, X: ArrayLike, n_neighbors: int | None = None, *, subtopics: Sequence[ArrayLike | None] | None = None
    ) -> tuple[ScoreArray, IntArray]:
        """The documents to show for each query, best first.

        Args:
            X: [B, F], a row a query.
            n_neighbors: in place of the estimator's.
            subtopics: of each query the vectors [S, F] of what it may mean or ask about, or None; queries are rows of
                numbers here, so that nothing can name them.

        Returns:
            Cosine distances of query and document [B, K] (they need not rise), and the documents' rows in `fit` [B, K];
            K is n_neighbors, or M where that is less.

        Raises:
            TypeError: n_neighbors is no whole number.
            ValueError: another width than the documents', numbers that are not finite, subtopics of more or fewer
                queries, or what the ranker refuses.
        """
        check_is_fitted(self)
        queries = validate_data(self, X, dtype=np.float32, reset=False)
        wanted = self.n_neighbors if n_neighbors is None else n_neighbors
        among = min(max(self.n_candidates, wanted), len(self.documents_))
        distances, places = self.nearest_.kneighbors(queries, among)
        chooser = self.chooser_ if subtopics is None else chooser_of(self.ranker, self.diversity, named=True)
        told = [None] * len(queries) if subtopics is None else subtopics
        if len(told) != len(queries):
            raise ValueError(
                f"expected subtopics of {len(queries)} queries (None: of one that has none), got {len(told)}"
            )
        rankings = [
            best_first(
                chooser,
                wanted,
                self.documents_[near],
                names=named("document", near),
                query=str(row),
                query_vector=queries[row],
                scores=(1.0 - distances[row]).tolist(),
                subtopics=told[row],
            )
            for row, near in enumerate(places)
        ]
        return np.take_along_axis(distances, np.array(rankings), 1), np.take_along_axis(places, np.array(rankings), 1)

    def predict(self, X: ArrayLike, *, subtopics: Sequence[ArrayLike | None] | None = None) -> IntArray:
        """The rows in `fit` of the documents to show for each query, best first: [B, K] int64."""
        return self.kneighbors(X, subtopics=subtopics)[1]
