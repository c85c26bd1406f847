"""Any collection of texts, with queries, and where known their subtopics and judgments: four files in a folder.

=====================  ==========================================  ===================================================
file                   a line                                      note
=====================  ==========================================  ===================================================
`corpus.jsonl`         `{"_id": "d1", "title": "", "text": ""}`    BEIR's format; a title is optional
`queries.jsonl`        `{"_id": "q1", "text": ""}`
`subtopics.jsonl`      `{"query_id": "q1", "_id": "s1", ...}`      optional; `text` may be empty
`diversity.qrels`      `query subtopic document judgment`          optional: without it topics are unlabelled
=====================  ==========================================  ===================================================

Each may be gzipped (`corpus.jsonl.gz`). A document's text is its title and text. There is no retrieval order: a first
stage finds the candidates among all documents.

An id that stands for several texts of the corpus is taken for several documents: the first keeps the id, the others are
called "id~2", "id~3", ...; the vectors of that id go to them in their order, and a judgment of the id holds for each. A
pair judged several times has the highest judgment. Of a subtopic that is duplicated the first stays.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import get_args

from srd_gym.checks import check_integer, check_option
from srd_gym.data.attach import Embedding, Missing
from srd_gym.data.collection import BY_VECTORS, WHAT, Collection, Retrieve, topics_of
from srd_gym.data.folders import entries, existing_folder, needed_file, text_of, with_optional_gz
from srd_gym.data.lsa import LsaVectorizer
from srd_gym.data.notices import tell
from srd_gym.data.vectors import numbered_ids
from srd_gym.files import PathLike
from srd_gym.in_memory import RunSource, as_run
from srd_gym.topic import TopicSet
from srd_gym.trec_files import Run, TopicQrels, read_qrels


def load_texts(
    folder: PathLike,
    *,
    vectors: PathLike | LsaVectorizer | Embedding | None = None,
    run: RunSource | None = None,
    retrieve: Retrieve = "cosine",
    depth: int = 100,
    missing: Missing = "error",
    advance: Callable[[int], None] | None = None,
) -> TopicSet:
    """The topics of a folder of texts, candidates found by a first stage or given by a run.

    Queries without candidates, documents without text, ids used twice and judged documents that are not in the corpus
    are reported in a `DataNotice` each. Judged documents that are not in the corpus stay in the pool.

    Args:
        folder: holds the files.
        vectors: vectors by document id (any format of `srd_gym.data.vectors`; an .npz may hold those of queries and of
            subtopics, named "query<TAB>subtopic", as well); or a `LsaVectorizer`, which is fitted on the whole corpus
            unless it is (the set is then marked transductive); or a function from texts to vectors; or None.
        run: the candidates and their scores, as `srd_gym.data.as_run` takes them, in place of a first stage; those that
            are not in the corpus are left out, with a `DataNotice`.
        retrieve: the first stage. "cosine" needs vectors of documents and queries; "bm25" their texts; "hybrid" fuses
            both by reciprocal ranks; "none" takes a query's judged documents in a fixed shuffle.
        depth: candidates of a query, at most.
        missing: what to do about documents or queries without a vector in the file: "error" or "drop". A topic of which
            a subtopic has none gets no subtopic vectors.
        advance: called for every query for which candidates were sought.

    Raises:
        FileNotFoundError: no such folder, or a file is not in it.
        ImportError: bm25s or scikit-learn is not installed.
        ValueError: a malformed line (file and line are named), what the first stage needs is not there, vectors are
            missing, or a run of other queries or documents.
    """
    check_option("first stage", retrieve, get_args(Retrieve))
    check_integer("depth", depth, 1)
    if run is None and vectors is None and retrieve in BY_VECTORS:
        raise ValueError(f"a first stage by {retrieve} needs vectors: give a file or lsa, or retrieve by bm25 or none")
    collection = _read(existing_folder(folder, WHAT))
    source: Retrieve | Run = retrieve if run is None else as_run(run)
    return topics_of(collection, vectors=vectors, source=source, depth=depth, missing=missing, advance=advance)


def _read(folder: Path) -> Collection:
    """The files, with notices of what is odd about them."""
    given = [(entry["_id"], text_of(entry)) for entry in entries(needed_file(folder, "corpus.jsonl", WHAT), "_id")]
    ids = numbered_ids([own_id for own_id, _ in given])
    same_id: defaultdict[str, list[str]] = defaultdict(list)
    for distinct, (own_id, _) in zip(ids, given, strict=True):
        same_id[own_id].append(distinct)
    several = {own_id: names for own_id, names in same_id.items() if len(names) > 1}
    texts = {distinct: text for distinct, (_, text) in zip(ids, given, strict=True)}
    renamed = "which are kept as id, id~2, ...; a judgment of such an id counts for each, so give every text its own id"
    tell(folder, f"ids of corpus.jsonl stand for several texts each, {renamed}", several)
    tell(folder, "documents have no text and are left out", [name for name, text in texts.items() if not text])
    queries: dict[str, str] = {}
    twice = []
    for entry in entries(needed_file(folder, "queries.jsonl", WHAT), "_id"):
        twice += [entry["_id"]] * (entry["_id"] in queries)
        queries.setdefault(entry["_id"], text_of(entry))
    tell(folder, "queries come twice: the first of each stays", twice)
    subtopics: defaultdict[str, dict[str, str]] = defaultdict(dict)
    place, twice = with_optional_gz(folder, "subtopics.jsonl"), []
    for entry in () if place is None else entries(place, "query_id", "_id"):
        twice += [f"{entry['_id']} of {entry['query_id']}"] * (entry["_id"] in subtopics[entry["query_id"]])
        subtopics[entry["query_id"]].setdefault(entry["_id"], text_of(entry))
    tell(folder, "subtopics come twice: the first of each stays", twice)
    tell(folder, "queries of subtopics.jsonl are unknown and are left out", [q for q in subtopics if q not in queries])
    qrels = with_optional_gz(folder, "diversity.qrels")
    judged = {} if qrels is None else read_qrels(qrels, on_duplicate="highest").topics
    absent = [name for rows in judged.values() for name in rows.doc_ids if name not in same_id]
    tell(folder, "judged documents are not in corpus.jsonl", absent)
    tell(folder, "judged queries are not in queries.jsonl and are left out", [q for q in judged if q not in queries])
    return Collection(
        folder=folder,
        documents={name: text for name, text in texts.items() if text},
        queries=queries,
        subtopics=subtopics,
        judged={query_id: _for_each(rows, same_id) for query_id, rows in judged.items()},
    )


def _for_each(judged: TopicQrels, several: Mapping[str, Sequence[str]]) -> TopicQrels:
    """The judgments of a query, each once for every text of its document's id."""
    named = [(name, row) for row, own_id in enumerate(judged.doc_ids) for name in several.get(own_id, [own_id])]
    return TopicQrels(
        doc_ids=tuple(name for name, _ in named),
        subtopic_ids=judged.subtopic_ids,
        judgments=judged.judgments[[row for _, row in named]],
    )
