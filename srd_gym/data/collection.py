"""A collection of texts, and the topics that a first stage makes of it: candidates found in its whole corpus.

It finds the documents nearest to each query, by cosine, by BM25, or by both.

Shapes: M documents of the corpus, F vector width, K documents found.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from srd_gym.checks import as_scores
from srd_gym.data.attach import Embedding, Missing, attach_vectors
from srd_gym.data.fusion import RECIPROCAL_OFFSET
from srd_gym.data.label_files import label_free_order
from srd_gym.data.lsa import LsaVectorizer, unit_rows
from srd_gym.data.notices import tell
from srd_gym.data.trec import judged_fields
from srd_gym.data.vectors import Part, VectorTable, read_vector_parts
from srd_gym.files import PathLike
from srd_gym.installing import how_to_install
from srd_gym.reading import few, shown
from srd_gym.topic import FloatArray, Topic, TopicSet
from srd_gym.trec_files import Run, TopicQrels

FirstStage = Callable[[str, FloatArray | None], FloatArray]
"""Scores every document of a corpus for the text and the vector ([F], or None) of a query: [M] float32, higher is
better, -inf where a document is not found, as everywhere for a query that says nothing."""


def best_of(scores: FloatArray, depth: int) -> tuple[NDArray[np.int64], FloatArray]:
    """The best documents that a stage finds, [K] rows and their scores; of equal ones the earlier first."""
    best = np.argsort(-scores, kind="stable")[:depth]
    best = best[scores[best] > -np.inf]
    return best, scores[best]


def by_cosine(vectors: FloatArray) -> FirstStage:
    """First stage by the cosine of query and document, whose vectors are [M, F]; a vector of zeros says nothing."""
    units = unit_rows(vectors)

    def scores(_: str, vector: FloatArray | None) -> FloatArray:
        if vector is None or not vector.any():
            return np.full(len(units), -np.inf, dtype=np.float32)
        cosines: FloatArray = units @ unit_rows(vector[None])[0]
        return cosines

    return scores


def by_bm25(texts: Sequence[str]) -> FirstStage:
    """First stage by BM25 (Robertson et al. 1994) of M texts: that of bm25s (Lucene's variant, English stop words).

    A document without a word of the query is not found; a query says nothing where no document has one of its words.

    Raises:
        ImportError: bm25s is not installed.
    """
    try:
        import bm25s
    except ImportError as error:
        raise ImportError(
            f"a first stage by BM25 needs bm25s, which is not installed: {how_to_install('text')}; or take "
            "cosine, which needs vectors only"
        ) from error

    def words_of(several: Sequence[str]) -> list[list[str]]:
        words: list[list[str]] = bm25s.tokenize(list(several), return_ids=False, show_progress=False)
        return words

    index = bm25s.BM25()
    index.index(words_of(texts), show_progress=False)

    def scores(text: str, _: FloatArray | None) -> FloatArray:
        words = [word for word in words_of([text])[0] if word in index.vocab_dict]
        if not words:
            return np.full(len(texts), -np.inf, dtype=np.float32)
        given = np.asarray(index.get_scores(words), dtype=np.float32)
        return np.where(given > 0, given, np.float32(-np.inf))

    return scores


def fused(stages: Sequence[FirstStage]) -> FirstStage:
    """First stage by reciprocal rank fusion (Cormack et al. 2009): sum over stages that find it of 1 / (60 + rank)."""

    def scores(text: str, vector: FloatArray | None) -> FloatArray:
        given = [stage(text, vector) for stage in stages]
        total = np.zeros_like(given[0])
        for own in given:
            best, _ = best_of(own, own.size)
            total[best] += 1 / (RECIPROCAL_OFFSET + np.arange(1, best.size + 1, dtype=np.float32))
        return np.where(total > 0, total, np.float32(-np.inf))

    return scores


Retrieve = Literal["cosine", "bm25", "hybrid", "none"]
"""First stages. hybrid: cosine and BM25 together. none: a query's judged documents, in a fixed shuffle."""

WHAT = "texts"
BY_VECTORS = ("cosine", "hybrid")
"""First stages that need vectors."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Collection:
    """Documents, queries, subtopics and judgments."""

    folder: Path
    documents: dict[str, str]
    """Texts by id."""
    queries: dict[str, str]
    subtopics: dict[str, dict[str, str]]
    """Texts by id, by query."""
    judged: dict[str, TopicQrels]

    @property
    def name(self) -> str:
        """The folder's."""
        return self.folder.resolve().name


def topics_of(
    collection: Collection,
    *,
    vectors: PathLike | LsaVectorizer | Embedding | None,
    source: Retrieve | Run,
    depth: int,
    missing: Missing,
    advance: Callable[[int], None] | None = None,
) -> TopicSet:
    """The topics of a collection; candidates come from a first stage or a run. `load_texts` says what the others are.

    Raises:
        ImportError: bm25s or scikit-learn is not installed.
        ValueError: what the first stage needs is not there, or vectors are missing.
    """
    if source == "none" and not collection.judged:
        raise ValueError(
            f"{WHAT}: {collection.folder} has no judged query in its diversity.qrels, so there are no judged documents "
            "to stand for candidates; retrieve by cosine or bm25"
        )
    candidates: Candidates
    tables: Tables = {}
    if isinstance(source, Run):
        candidates = _ranked(collection, source, int(depth))
    elif source == "none":
        candidates = partial(_judged, collection)
    else:
        if vectors is not None and source in BY_VECTORS:
            tables = _tables(collection, vectors, collection.documents)
        candidates = _retrieved(collection, tables, source, int(depth), missing)
    topics = TopicSet(_topics(collection, candidates, advance), name=collection.name)
    if vectors is None:
        return topics
    # A stage that needs no vectors spares embedding what it does not find.
    wanted = dict.fromkeys(doc_id for topic in topics for doc_id in topic.doc_ids)
    tables = tables or _tables(collection, vectors, wanted)
    topics = topics.replace(topics, transductive=isinstance(vectors, LsaVectorizer))
    topics = attach_vectors(topics, tables["document"], queries=tables.get("query"), missing=missing)
    # Judgments may name subtopics that have no text and so no vector: their topics can do without.
    return attach_vectors(topics, subtopics=tables["subtopic"], missing="drop") if "subtopic" in tables else topics


Tables = dict[Part, VectorTable]


def _tables(collection: Collection, vectors: PathLike | LsaVectorizer | Embedding, doc_ids: Iterable[str]) -> Tables:
    """Vectors of queries, subtopics and at least these documents, as far as they are known."""
    if not isinstance(vectors, LsaVectorizer) and not callable(vectors):
        return read_vector_parts(vectors, number_twice=True)
    if isinstance(vectors, LsaVectorizer) and not vectors.fitted:
        vectors.fit(collection.documents.values())
    embed = vectors.transform if isinstance(vectors, LsaVectorizer) else vectors
    encoder = getattr(vectors, "encoder", None)
    subtopics = {f"{q}\t{s}": text for q, texts in collection.subtopics.items() for s, text in texts.items() if text}
    texts: dict[Part, dict[str, str]] = {"document": {name: collection.documents[name] for name in doc_ids}}
    texts["query"] = collection.queries
    if all(text for of_query in collection.subtopics.values() for text in of_query.values()) and subtopics:
        texts["subtopic"] = subtopics
    return {
        part: VectorTable(list(of_part), embed(list(of_part.values())), source=collection.name, encoder=encoder)
        for part, of_part in texts.items()
    }


Candidates = Callable[[str], tuple[Sequence[str], FloatArray | None]]
"""Source of a query's documents, and of their scores where they have some."""


def _judged(collection: Collection, query_id: str) -> tuple[Sequence[str], None]:
    """Without a first stage: the judged documents that are in the corpus, in a fixed shuffle."""
    names = collection.judged[query_id].doc_ids if query_id in collection.judged else ()
    return label_free_order(query_id, (name for name in names if name in collection.documents)), None


def _ranked(collection: Collection, run: Run, depth: int) -> Candidates:
    """The first documents of a run that are in the corpus.

    Raises:
        ValueError: no query of the run is known, or no document of those that are.
    """
    unknown = [query_id for query_id in run.rankings if query_id not in collection.queries]
    if len(unknown) == len(run.rankings):
        raise ValueError(
            f"{WHAT}: none of {len(run.rankings):,} queries of the run is among the {len(collection.queries):,} of "
            f"{collection.folder} (the run has {shown(unknown[0])}, the folder {shown(next(iter(collection.queries)))})"
        )
    ranked = dict.fromkeys(name for query_id in collection.queries for name in run.rankings.get(query_id, ()))
    absent = [name for name in ranked if name not in collection.documents]
    if len(absent) == len(ranked):
        raise ValueError(
            f"{WHAT}: none of {len(ranked):,} documents of the run is in the corpus of {collection.folder} (the run "
            f"has {shown(absent[0])}); give the corpus that the run was made of"
        )
    tell(collection.folder, "queries of the run are unknown and are left out", unknown)
    tell(collection.folder, f"of {len(ranked)} documents of the run are not in the corpus and are left out", absent)

    def candidates(query_id: str) -> tuple[Sequence[str], FloatArray | None]:
        doc_ids, scores = run.rankings.get(query_id, ()), run.scores.get(query_id, np.zeros(0))
        rows = [row for row, name in enumerate(doc_ids) if name in collection.documents][:depth]
        return [doc_ids[row] for row in rows], as_scores(scores[rows])

    return candidates


def _retrieved(collection: Collection, tables: Tables, retrieve: str, depth: int, missing: Missing) -> Candidates:
    """Candidates that a first stage finds."""
    queries = tables.get("query")
    ids = _with_vectors(collection, tables, missing) if retrieve in BY_VECTORS else list(collection.documents)
    stages: list[FirstStage] = []
    if retrieve in BY_VECTORS:
        stages.append(by_cosine(tables["document"].rows(ids)))
    if retrieve != "cosine":
        stages.append(by_bm25([collection.documents[name] for name in ids]))
    stage = stages[0] if len(stages) == 1 else fused(stages)

    def candidates(query_id: str) -> tuple[Sequence[str], FloatArray | None]:
        vector = queries.rows([query_id])[0] if queries is not None and query_id in queries else None
        best, scores = best_of(stage(collection.queries[query_id], vector), depth)
        return [ids[row] for row in best], scores

    return candidates


def _with_vectors(collection: Collection, tables: Tables, missing: Missing) -> list[str]:
    """The documents that have a vector."""
    documents, queries = tables["document"], tables.get("query")
    if queries is None:
        raise ValueError(
            f"{WHAT}: {documents.source} has no vectors of queries, which a first stage by cosine needs; give an "
            ".npz with query_ids and query_vectors as well, or retrieve by bm25"
        )
    absent = [f"document {shown(name)}" for name in collection.documents if name not in documents]
    absent += [f"query {shown(name)}" for name in collection.queries if name not in queries]
    if absent and missing == "error":
        raise ValueError(
            f"{collection.folder}: {len(absent)} documents or queries have no vector in {documents.source} "
            f"({few(absent)}); give a file that holds them all, or leave out those without one: "
            'missing="drop" (--missing drop)'
        )
    tell(collection.folder, "documents or queries have no vector and are left out", absent)
    return [name for name in collection.documents if name in documents]


def _topics(collection: Collection, candidates: Candidates, advance: Callable[[int], None] | None) -> Iterator[Topic]:
    """The topics of the queries for which there are candidates."""
    without = []
    for query_id in collection.queries:
        doc_ids, scores = candidates(query_id)
        if len(doc_ids):
            yield _topic(collection, query_id, doc_ids, scores)
        else:
            without.append(query_id)
        if advance is not None:
            advance(1)
    tell(collection.folder, "queries have no candidates and are left out", without)
    if len(without) == len(collection.queries):
        raise ValueError(
            f"{WHAT}: {collection.folder}: no query has candidates; check that queries and corpus belong together"
        )


def _topic(collection: Collection, query_id: str, doc_ids: Sequence[str], scores: FloatArray | None) -> Topic:
    """One topic."""
    return Topic(
        query_id=query_id,
        query_text=collection.queries[query_id] or None,
        doc_ids=tuple(doc_ids),
        doc_texts=tuple(collection.documents[name] for name in doc_ids),
        retrieval_scores=scores,
        **judged_fields(collection.judged.get(query_id), doc_ids, collection.subtopics.get(query_id, {})),
    )
