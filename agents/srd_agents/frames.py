"""Re-ranking results that stand in a pandas DataFrame, as PyTerrier hands them from step to step.

Shapes: N documents of a query, F vector width. Nothing is imported for it: the frame brings its own methods.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from srd_agents.config import check_count
from srd_agents.constraints import COPIES, Rules
from srd_agents.diversify import Chooser, Given
from srd_agents.subtopics import Lookup, embedded, looked_up
from srd_gym.files import PathLike
from srd_gym.protocols import Ranker

if TYPE_CHECKING:
    import pandas as pd

Names = Callable[[list[str]], Sequence[Any]]
"""Subtopics of queries: a list of n texts gives n of texts [S] or vectors [S, F], or None."""


class FrameRanker:
    """Re-ranks each query's documents so that the first ones differ: a transformer in PyTerrier's sense.

    The frame has a row a document retrieved: `qid`, `docno` (text), and where there are any `score` (of the first
    stage, higher is better), `rank`, `query` and columns of your own. What comes out are its rows, best first,
    queries in the order in which they came: `rank` counts from 0, `score` is 1 / (rank + 1), all else is kept. The
    first stage's score is what rankers take for relevance; without that column it is the cosine of query and document.

    In a pipeline of PyTerrier: `first_stage >> pt.apply.generic(FrameRanker(k=10))`.

    Args:
        ranker: None for `srd_agents.diversify.DEFAULT_RANKER`, another name that needs no training ("mmr"), the folder
            of a trained ranker, or a `Ranker`.
        k: documents kept of each query; None keeps (and ranks) all.
        doc_vectors: the column that holds each document's vector [F], or a function that gives the vectors [n, F] of a
            list of docnos; it is asked once a frame, for every docno once.
        query_vectors: the column that holds the query's vector [F] (its first row counts), or a function that gives the
            vectors [n, F] of a list of query texts, such as a model's `encode`; None where there are none.
        subtopics: the column that holds the query's subtopics (its first row counts; a missing one is none), or a
            function that gives those of a list of query texts: of each a list of texts, vectors [S, F], or None.
        subtopic_weights: the column that holds a weight of each of the query's subtopics; None: they count alike.
        embed: gives the vectors [n, F] of subtopics that are texts; None: query_vectors, where that is a function.
        diversity: as for `srd_agents.diversify`, and so are the following.
        copies: cosine from which on a document is a near copy.
        groups: the column of ids of each document's group.
        max_per_group: documents that may be shown of a query's group.
        costs: the column of costs.
        budget: what the documents of a query may cost in all.
        shown: the column that says (True or False) which documents were shown before; they are left out.

    Raises:
        TypeError: k is no whole number, or ranker is none of the above.
        ValueError: k below 1, an unknown ranker, or what `srd_agents.diversify` refuses of the others.
    """

    def __init__(
        self,
        ranker: PathLike | Ranker | None = None,
        k: int | None = None,
        *,
        doc_vectors: str | Lookup = "doc_vec",
        query_vectors: str | Lookup | None = "query_vec",
        subtopics: str | Names | None = None,
        subtopic_weights: str | None = None,
        embed: Lookup | None = None,
        diversity: float | None = None,
        copies: float | None = COPIES,
        groups: str | None = None,
        max_per_group: int | None = None,
        costs: str | None = None,
        budget: float | None = None,
        shown: str | None = None,
    ) -> None:
        if k is not None:
            check_count("k", k)
        rules = Rules(copies=copies, groups=groups, max_per_group=max_per_group, costs=costs, budget=budget)
        self._chooser = Chooser(ranker, rules, diversity=diversity, subtopics=subtopics is not None)
        self.groups, self.costs, self.shown = groups, costs, shown
        self.k = k
        self.doc_vectors = doc_vectors
        self.query_vectors = query_vectors
        self.subtopics, self.subtopic_weights = subtopics, subtopic_weights
        self.embed = query_vectors if embed is None and callable(query_vectors) else embed

    def transform(self, frame: pd.DataFrame) -> pd.DataFrame:
        """The frame re-ranked; the one given is left as it is.

        Raises:
            TypeError: query or document numbers that are not text, or vectors that are no numbers.
            ValueError: a column is missing, a document comes twice for a query, a value is missing or not finite, or
                vectors do not match.
        """
        self._check_columns(frame)
        groups = [np.sort(rows) for rows in frame.groupby("qid", sort=False, observed=True).indices.values()]
        groups.sort(key=lambda rows: int(rows[0]))
        documents, queries = self._document_vectors(frame), self._query_vectors(frame, groups)
        named, weights = self._named(frame, groups), _of_queries(frame, self.subtopic_weights, groups)
        qids, docnos = frame["qid"].tolist(), frame["docno"].tolist()
        scores = frame["score"].tolist() if "score" in frame.columns else None
        of_groups, costs, shown = (_values(frame, column) for column in (self.groups, self.costs, self.shown))
        given = (
            Given(
                qids[rows[0]],
                tuple([docnos[row] for row in rows]),
                query,
                documents(rows),
                None if scores is None else [scores[row] for row in rows],
                subtopics,
                weighed,
                None if of_groups is None else of_groups[rows].tolist(),
                None if costs is None else costs[rows].tolist(),
                None if shown is None else np.flatnonzero(shown[rows].tolist()),
            )
            for rows, query, subtopics, weighed in zip(groups, queries, named, weights, strict=True)
        )
        depth = self.k or max((len(rows) for rows in groups), default=1)
        rankings = self._chooser.choose(given, depth)
        chosen = [rows[ranking] for rows, ranking in zip(groups, rankings, strict=True)]
        ranks = [np.arange(len(rows), dtype=np.int64) for rows in chosen]
        rank = np.concatenate([np.empty(0, np.int64), *ranks])
        kept = frame.take(np.concatenate([np.empty(0, np.int64), *chosen])).reset_index(drop=True)
        return kept.assign(score=1.0 / (rank + 1), rank=rank)

    __call__ = transform

    def _check_columns(self, frame: pd.DataFrame) -> None:
        """Refuse a frame without what is asked for, and ids that are not text."""
        columns = ["qid", "docno", *(name for name in (self.groups, self.costs, self.shown) if name)]
        columns += [self.doc_vectors] if isinstance(self.doc_vectors, str) else []
        of_query = (self.query_vectors, self.subtopics, self.subtopic_weights)
        columns += [column for column in of_query if isinstance(column, str)]
        columns += ["query"] if any(callable(lookup) for lookup in of_query) else []
        missing = [name for name in columns if name not in frame.columns]
        if missing:
            raise ValueError(
                f"the frame has no column {' and no column '.join(map(repr, missing))}, got "
                f"{', '.join(map(repr, frame.columns))}; doc_vectors= and query_vectors= name the columns of "
                "vectors, or are functions that find them (query_vectors=None: there are none)"
            )
        twice = [name for name in (*columns, "score") if list(frame.columns).count(name) > 1]
        if twice:
            raise ValueError(f"the frame has several columns {twice[0]!r}; keep one of them")
        for name in ("qid", "docno"):
            wrong = [value for value in frame[name].unique().tolist() if not isinstance(value, str)]
            if wrong:
                raise TypeError(
                    f"column {name!r} must hold text, got {wrong[0]!r} ({type(wrong[0]).__name__}); "
                    f'frame.astype({{"{name}": str}}) makes it so'
                )

    def _document_vectors(self, frame: pd.DataFrame) -> Callable[[NDArray[np.int64]], Any]:
        """What gives the vectors [N, F] of some rows."""
        if isinstance(self.doc_vectors, str):
            column = frame[self.doc_vectors].tolist()
            return lambda rows: [column[row] for row in rows]
        codes, docnos = frame["docno"].factorize()
        vectors = looked_up("doc_vectors", self.doc_vectors, docnos.tolist())
        return lambda rows: vectors[codes[rows]]

    def _query_vectors(self, frame: pd.DataFrame, groups: Sequence[NDArray[np.int64]]) -> Sequence[Any]:
        """The vector [F] of each query, or None for each."""
        if self.query_vectors is None or isinstance(self.query_vectors, str):
            return _of_queries(frame, self.query_vectors, groups)
        return list(looked_up("query_vectors", self.query_vectors, _of_queries(frame, "query", groups)))

    def _named(self, frame: pd.DataFrame, groups: Sequence[NDArray[np.int64]]) -> list[Any]:
        """The vectors [S, F] of each query's subtopics, or None."""
        if self.subtopics is None or isinstance(self.subtopics, str):
            named = _of_queries(frame, self.subtopics, groups)
        else:
            named = list(self.subtopics(_of_queries(frame, "query", groups))) if groups else []
            if len(named) != len(groups):
                raise ValueError(
                    f"subtopics was asked about {len(groups)} queries and gave {len(named)} lists; expected one each"
                )
        # A missing value of a data frame is NaN.
        return embedded([None if isinstance(each, float) else each for each in named], self.embed)


def _values(frame: pd.DataFrame, column: str | None) -> NDArray[Any] | None:
    """A column's values, where it is named."""
    return None if column is None else frame[column].to_numpy()


def _of_queries(frame: pd.DataFrame, column: str | None, groups: Sequence[NDArray[np.int64]]) -> list[Any]:
    """What a column says of each query, in its first row; None for each where there is no column."""
    if column is None:
        return [None] * len(groups)
    values = frame[column].tolist()
    return [values[rows[0]] for rows in groups]
