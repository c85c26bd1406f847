"""Re-ranking results that stand in a pandas DataFrame, as PyTerrier hands them from step to step.

Shapes: N documents of a query, F vector width. Nothing is imported for it: the frame brings its own methods.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from srd_agents.pipeline.arguments import Knobs
from srd_agents.pipeline.documents import each_once, places_of
from srd_agents.pipeline.given import Given, ready_to_rank
from srd_agents.pipeline.limits import was_shown
from srd_agents.pipeline.naming import Namer, Names
from srd_agents.pipeline.request import RankingRequest
from srd_agents.pipeline.subtopics import Lookup, check_embed, no_embed
from srd_gym.checks import check_integer, is_missing
from srd_gym.dtypes import IntArray
from srd_gym.files import PathLike
from srd_gym.protocols import Ranker
from srd_gym.reading import shown, with_type

if TYPE_CHECKING:
    import pandas as pd


@dataclass(eq=False, repr=False)
class FrameRanker(Knobs):
    """Re-ranks each query's documents so that the first ones differ: a transformer in PyTerrier's sense.

    The frame has a row a document retrieved: `qid`, `docno` (text), and where there are any `score` (of the first
    stage, higher is better), `rank`, `query` and columns of your own. What comes out are its rows, best first,
    queries in the order in which they came: `rank` counts from 0, `score` is 1 / (rank + 1), all else is kept. The
    first stage's score is what rankers take for relevance; without that column it is the cosine of query and document.

    In a pipeline of PyTerrier: `first_stage >> pt.apply.generic(FrameRanker(k=10))`.

    Args:
        ranker: None for "safe", another name that needs no training ("mmr"), the folder
            of a trained ranker, or a `Ranker`.
        k: documents kept of each query; None keeps (and ranks) all.
        doc_vectors: the column that holds each document's vector [F] (a missing one as for `srd_agents.diversify`);
            None: the texts in the column `doc_texts` are embedded by `embed`, or else compared by their words.
        query_vectors: the column that holds the query's vector [F] (its first row counts); None where there are none.
        subtopics: the column that holds the query's subtopics, texts, {text: weight} or vectors [S, F] (its first row
            counts; a missing one is none), or a function that names them, as for `srd_agents.diversify`.
        subtopic_weights: the column that holds a weight of each of the query's subtopics; None: they count alike.
        subtopic_scores: the column that holds each document's score [S] for each of its query's subtopics; a missing
            one was not rated.
        embed: gives the vectors [n, F] of a list of subtopics that are texts, such as a model's `encode`.
        query_texts: the column that holds the query's text, where a function names its subtopics or there are no
            `doc_vectors`; a frame that has it needs no other for texts of subtopics, embedded as by `diversify`.
        doc_texts: the column that holds each document's text, where such a function asks for them or documents have no
            vectors.
        diversity: as for `srd_agents.diversify`, and so are the arguments of `srd_agents.pipeline.arguments.Knobs`.
            `fill` marks rows in a column `filled`. Unless `strict`, rows of one `docno` are one document: the best
            score, and what else one of them has.
        groups: the column of ids of each document's group; several columns are groups of several kinds, by their names.
        costs: the column of costs.
        already_shown: the column that says (True or False) which documents were shown before; they are left out.
        pinned: the column of places, from 0, of documents that have a fixed one; others are missing.
        similarity: the column of each document's similarities with the query's documents [N], in their order, in place
            of `doc_vectors`.

    Raises:
        TypeError: k is no whole number, or ranker is none of the above.
        ValueError: k below 1, an unknown ranker, or what `srd_agents.diversify` refuses of the others.
    """

    ranker: PathLike | Ranker | None = None
    k: int | None = None
    _: KW_ONLY
    doc_vectors: str | None = "doc_vec"
    query_vectors: str | None = "query_vec"
    subtopics: str | Names | None = None
    subtopic_weights: str | None = None
    subtopic_scores: str | None = None
    embed: Lookup | None = None
    query_texts: str = "query"
    doc_texts: str | None = None
    diversity: float | None = None
    groups: str | Sequence[str] | None = None
    costs: str | None = None
    already_shown: str | None = None
    pinned: str | None = None
    similarity: str | None = None

    def __post_init__(self) -> None:
        if self.k is not None:
            check_integer("k", self.k, 1)
        check_embed(self.embed)
        self._names = self.subtopics if callable(self.subtopics) else None
        self._request = RankingRequest(
            ranker=self.ranker,
            diversity=self.diversity,
            subtopics=self.subtopics is not None or self.subtopic_scores is not None,
            groups=self.groups is not None,
            similarity=self.similarity is not None,
            costs=self.costs is not None,
            **self.knobs(),
        )
        if isinstance(self.subtopics, Namer) and self.embed is None and self.doc_vectors is not None:
            raise no_embed("that a model names")
        if self.similarity is not None:
            self.doc_vectors = self.query_vectors = None
        elif self.doc_vectors is None:
            self.doc_texts, self.query_vectors = self.doc_texts or "text", None
        of_documents = ("doc_vectors", "similarity", "subtopic_scores", "costs", "already_shown", "pinned", "doc_texts")
        self._of_documents = {part: column for part in of_documents if (column := getattr(self, part)) is not None}
        kinds = [self.groups] if isinstance(self.groups, str) else self.groups or ()
        self._of_documents |= {f"groups {kind}": kind for kind in kinds}
        asks = self._names is not None or self.doc_vectors is self.similarity is None
        of_queries: dict[str, Any] = {
            "query_vector": self.query_vectors,
            "subtopic_weights": self.subtopic_weights,
            "subtopics": None if self._names is not None else self.subtopics,
            "query_text": self.query_texts if asks else None,
        }
        self._of_queries = {part: column for part, column in of_queries.items() if column is not None}

    def transform(self, frame: pd.DataFrame) -> pd.DataFrame:
        """The frame re-ranked; the one given is left as it is. Of one without rows nothing is asked.

        Raises:
            TypeError: no frame, query or document numbers that are not text, or vectors that are no numbers.
            ValueError: a column is missing, a value is not finite, vectors do not match, or what `strict` refuses.
        """
        if not (hasattr(frame, "iloc") and hasattr(frame, "columns")):
            raise TypeError(
                f"expected a pandas DataFrame, a row a document, got {with_type(frame)}; polars "
                "and pyarrow have to_pandas()"
            )
        if not len(frame):
            marks = {"filled": np.empty(0, np.bool_)} if self.fill else {}
            return frame.assign(score=np.empty(0), rank=np.empty(0, np.int64), **marks)
        self._check_columns(frame)
        places = _places(frame["qid"].tolist())
        groups = list(places.values())
        documents = _cells(frame, self._of_documents)
        if "score" in frame.columns:
            documents["scores"] = frame["score"].tolist()
        of_queries = self._of_queries
        if isinstance(self.subtopics, str) and self.embed is not None and self.query_texts in frame.columns:
            of_queries = of_queries | {"query_text": self.query_texts}  # for texts of subtopics that do not name it
        queries = _cells(frame.iloc[[rows[0] for rows in groups]], of_queries)
        docnos, given = frame["docno"].tolist(), list[Given]()
        for number, (query_id, rows) in enumerate(zip(places, groups, strict=True)):
            parts = {part: values[number] for part, values in queries.items()}
            parts |= {part: [values[row] for row in rows] for part, values in documents.items()}
            if kinds := {name: parts.pop(name) for name in list(parts) if name.startswith("groups ")}:
                rows_of_kinds = {name.removeprefix("groups "): values for name, values in kinds.items()}
                parts["groups"] = next(iter(kinds.values())) if isinstance(self.groups, str) else rows_of_kinds
            if "subtopic_scores" in parts:
                parts["subtopic_scores"] = self._table(parts["subtopic_scores"])
            if "already_shown" in parts:
                column, cells = f"column {shown(self._of_documents['already_shown'])}", parts["already_shown"]
                parts["already_shown"] = [was_shown(column, each, strict=self.strict) for each in cells]
            one = Given(query_id=query_id, doc_ids=tuple([docnos[row] for row in rows]), **parts)
            if not self.strict:  # of a topic with a document twice the error says so
                one, best = each_once(one)
                groups[number] = rows if best is None else rows[best]
            seen = one.already_shown and np.flatnonzero(one.already_shown)
            given.append(one._replace(already_shown=seen, pinned=places_of(one.pinned)))
        given = ready_to_rank(given, self.embed, named=self._request.subtopics, names=self._names)
        rankings = self._request.diversified(given, self.k or max(map(len, groups)))
        chosen = [rows[ranking.indices] for rows, ranking in zip(groups, rankings, strict=True)]
        rank = np.concatenate([np.arange(len(rows), dtype=np.int64) for rows in chosen])
        ranked = frame.take(np.concatenate(chosen)).reset_index(drop=True)
        marks = {"filled": np.concatenate([ranking.filled for ranking in rankings])} if self.fill else {}
        return ranked.assign(score=1.0 / (rank + 1), rank=rank, **marks)

    __call__ = transform

    @property
    def columns(self) -> list[str]:
        """The columns that a frame must have."""
        return ["qid", "docno", *self._of_documents.values(), *self._of_queries.values()]

    def _table(self, rows: list[Any]) -> list[object] | None:
        """Documents' scores one below the other, NaN for a document without; None where none has any."""
        rated = [row for row in rows if row is not None]
        if wrong := [row for row in rated if not hasattr(row, "__len__")]:
            column = shown(self._of_documents["subtopic_scores"])
            raise TypeError(f"column {column} must hold lists of numbers, one a subtopic, got {shown(wrong[0])}")
        return [[np.nan] * len(rated[0]) if row is None else row for row in rows] if rated else None

    def _check_columns(self, frame: pd.DataFrame) -> None:
        """Refuse a frame without what is asked for, and ids that are not text."""
        columns, held = self.columns, list(frame.columns)
        missing = [name for name in columns if name not in held]
        if missing:
            raise ValueError(
                f"the frame has no column {' and no column '.join(map(repr, missing))}, got "
                f"{', '.join(map(repr, held))}; doc_vectors= and query_vectors= name the columns of "
                "vectors (query_vectors=None: there are none; doc_vectors=None: documents are compared by their texts)"
            )
        twice = [name for name in (*columns, "score") if held.count(name) > 1]
        if twice:
            raise ValueError(f"the frame has several columns {shown(twice[0])}; keep one of them")
        for name in ("qid", "docno"):
            wrong = [value for value in frame[name].unique().tolist() if not isinstance(value, str)]
            if wrong:
                raise TypeError(
                    f"column {name!r} must hold text, got {with_type(wrong[0])}; "
                    f'frame.astype({{"{name}": str}}) makes it so'
                )


def _places(query_ids: list[str]) -> dict[str, IntArray]:
    """The rows of each query, in the order in which queries came."""
    rows: dict[str, list[int]] = {}
    for row, query_id in enumerate(query_ids):
        rows.setdefault(query_id, []).append(row)
    return {query_id: np.array(of_query, np.int64) for query_id, of_query in rows.items()}


def _cells(frame: pd.DataFrame, columns: dict[str, str]) -> dict[str, Any]:
    """The cells of columns, by what they are; None where a data frame says None, NaN or NA."""
    return {
        part: [None if is_missing(cell) else cell for cell in frame[column].tolist()]
        for part, column in columns.items()
    }
