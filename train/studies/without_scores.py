"""What the default does on real texts, and what it was chosen from: `make without-scores`.

It reads AMBIENT, the collections in `texts/`, `trec-web/` and `dssa-sample/` below the folder that SRD_DATA_DIR names,
and writes the tables of docs/without_scores.md anew between their marks. Takes some two minutes of processor time.

Shapes: T queries, N candidates of one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from srd_agents.heuristic.representative import Representative
from srd_agents.registry import make_ranker
from srd_gym.data import LsaVectorizer, load_ambient, load_texts, load_trec
from srd_gym.dtypes import IntArray, ScoreArray
from srd_gym.measures import evaluate
from srd_gym.topic import Topic, TopicSet
from srd_train.experiment.provenance import commit
from srd_train.experiment.sources import data_root
from srd_train.report.markup import difference, markdown, with_parts, write_text

NAME = "without-scores"
PAGE = Path(__file__).parents[2] / "docs" / "without_scores.md"
MEASURE = "alpha_nDCG@10"
MOST = 100
"""Queries of a collection and first stage, spread over it: the rule was looked for on others of large collections."""
RETRIEVED, JUDGED = "retrieved", "all judged"
TEXTS = {
    "author-names": ("none",),
    "word-senses": ("none",),
    "key-points": ("bm25", "cosine", "none"),
    "perspectives": ("bm25", "cosine", "none"),
    "medical-questions": ("bm25", "cosine", "none"),
    "reference-lists": ("bm25", "cosine", "none"),
    "textbook-sections": ("bm25", "cosine", "none"),
    "clarifying-questions": ("bm25", "cosine"),
    "expert-questions": ("bm25", "cosine"),
}
"""First stages of each collection; "none": all judged documents are candidates."""

Place = tuple[str, str]
"""A collection, and where its candidates come from."""
Cell = tuple[Place, TopicSet]
Table = dict[str, dict[Place, dict[str, list[float]]]]
"""By ranker, place and query: MEASURE with each first stage and kind of vectors."""
Rank = Callable[[Topic, int], IntArray]
"""Ranks the first k documents of a topic."""


def without_query(rank: Rank) -> Rank:
    """A ranker that is not shown the query: one of zeros stands for none where a ranker needs one."""
    return lambda topic, k: rank(replace(topic, query_vector=np.zeros(topic.vector_width or 0, np.float32)), k)


def ranked(name: str, **options: Any) -> Rank:
    """A ranker of the package."""
    return make_ranker(name, **options).rank


DPP = ranked("dpp")
RANDOM: dict[str, Rank] = {"random": ranked("random")}
FIRST: dict[str, Rank] = {"cosine": ranked("dpp", lambda_=1.0), "DPP": DPP}
"""What a user would try first."""
WITH_QUERY: dict[str, Rank] = {
    **FIRST,
    **{f"DPP, lambda {weight}": ranked("dpp", lambda_=weight) for weight in (0.6, 0.7, 0.9)},
    "MMR": ranked("mmr"),
    "MMR, lambda 0.9": ranked("mmr", lambda_=0.9),
    "representative": without_query(Representative().rank),
}
DOCUMENTS_ALONE: dict[str, Rank] = {
    "DPP": without_query(DPP),
    "MMR": without_query(ranked("mmr")),
    "MSD": without_query(ranked("msd")),
    "representative": without_query(Representative().rank),
}
WITH_SCORES: dict[str, Rank] = {
    "order": ranked("retrieval-order"),
    "duplicates last": ranked("safe"),
    "DPP": DPP,
    "DPP, lambda 0.9": ranked("dpp", lambda_=0.9),
    "MMR": ranked("mmr"),
    "MMR, lambda 0.9": ranked("mmr", lambda_=0.9),
}


def cells(root: Path) -> Iterator[Cell]:
    """All topics, with the vectors of their files, and but for `dssa-sample` with LSA fitted on their candidates."""
    for place, topics in _collections(root):
        kept = [
            replace(topic, subtopic_vectors=None, subtopic_texts=None, pool=None, pool_ids=None)
            for topic in topics.trainable()
            if topic.n_candidates >= 10
        ]
        step = -(-len(kept) // MOST)
        chosen = topics.replace(kept[step // 2 :: step])
        yield place, chosen
        if place[0] != "dssa-sample":
            lsa = LsaVectorizer(100).fit(text for topic in chosen for text in topic.doc_texts or ())
            yield place, lsa.apply(chosen, transductive=True)


def _collections(root: Path) -> Iterator[Cell]:
    ambient, dssa, trec = (root / name for name in ("ambient", "dssa-sample", "trec-web"))
    yield ("AMBIENT", RETRIEVED), load_ambient(ambient, vectors=ambient / "minilm-384.npz")
    for name, stages in TEXTS.items():
        folder = root / "texts" / name
        for stage in stages:
            how: dict[str, Any] = {"retrieve": stage, "depth": 5_000 if stage == "none" else 100}
            place = (name, JUDGED if stage == "none" else RETRIEVED)
            yield place, load_texts(folder, vectors=folder / "minilm-384.npz", **how)
    files = {"qrels": "diversity.qrels.gz", "run": "indri.run.gz", "topics": "topics.xml"}
    given: dict[str, Any] = {kind: sorted(trec.glob(f"*.{end}")) for kind, end in files.items()}
    given |= {"vectors": dssa / "doc.emb.gz", "query_vectors": dssa / "query.emb.gz", "missing": "drop"}
    yield ("dssa-sample", RETRIEVED), load_trec(**given)


def shuffled(topics: TopicSet) -> TopicSet:
    """Without scores, candidates in a random order."""
    rng = np.random.default_rng(0)
    return topics.replace(replace(t, retrieval_scores=None).take(rng.permutation(t.n_candidates)) for t in topics)


def add(table: Table, place: Place, topics: TopicSet, rankers: Mapping[str, Rank]) -> None:
    """Put what these rankers come to into a table."""
    for name, rank in rankers.items():
        rankings = {topic.query_id: rank(topic, 10) for topic in topics}
        own = table.setdefault(name, {}).setdefault(place, {})
        for query, scores in evaluate(topics, rankings, [MEASURE], "candidates").per_topic.items():
            own.setdefault(query, []).append(scores[MEASURE])


def by_query(table: Table) -> dict[str, dict[Place, ScoreArray]]:
    """The mean of each query over first stages and vectors: [T] by ranker and place."""
    return {
        name: {place: np.array([np.mean(own[query]) for query in sorted(own)]) for place, own in places.items()}
        for name, places in table.items()
    }


def worth(
    name: str, means: Mapping[str, Mapping[Place, float]], first: Sequence[str], places: Sequence[Place]
) -> float:
    """The mean, less how far any place is 0.01 below the best of `first`, or below random."""
    lacks = [min(0.0, min(means[name][place] - means["random"][place] for place in places))]
    if first:
        least = min(means[name][place] - max(means[one][place] for one in first) for place in places)
        lacks.append(min(0.0, least + 0.01))
    return float(np.mean([means[name][place] for place in places])) + sum(lacks)


def left_out(
    means: Mapping[str, Mapping[Place, float]], names: Sequence[str], first: Sequence[str]
) -> dict[Place, str]:
    """For each place of retrieved candidates the rule with the highest worth on those of all other collections."""
    places = [place for place in means["random"] if place[1] == RETRIEVED]
    return {
        place: max(names, key=lambda name: worth(name, means, first, [p for p in places if p[0] != place[0]]))
        for place in places
    }


def chosen_table(table: Table, names: Sequence[str], first: Sequence[str], default: str) -> str:
    """Means of all rules, how far the default is from what is simplest, and where the other collections choose another.

    Args:
        table: of "random" and the rules.
        names: rules.
        first: those that the choice is compared with.
        default: the rule that the default follows.
    """
    scores = by_query(table)
    means = {name: {place: float(own.mean()) for place, own in places.items()} for name, places in scores.items()}
    picked = left_out(means, names, first)
    columns = ["random", *names]
    heads = ["candidates", "queries", *columns]
    heads += [f"`safe`'s rule minus {other}" for other in ("random", *([" or ".join(first)] if first else []))]
    rows = []
    for place in means["random"]:
        best = max(first, key=lambda name: means[name][place]) if first else None
        others = ["random", *([best] if best else [])]
        rows.append(
            [
                ", ".join(place),
                str(len(scores["random"][place])),
                *(f"{means[name][place]:.3f}" for name in columns),
                *(" ".join(difference((scores[default][place], scores[other][place]))) for other in others),
            ]
        )
    for kind in dict.fromkeys(kind for _, kind in means["random"]):
        of_kind = [np.mean([mean for place, mean in means[name].items() if place[1] == kind]) for name in columns]
        ends = [""] * (len(heads) - len(columns) - 2)
        rows.append([f"mean, {kind}", "", *(f"{mean:.3f}" for mean in of_kind), *ends])
    others = [
        f"{', '.join(place)}: {name}, {means[name][place]:.3f}" for place, name in picked.items() if name != default
    ]
    chosen = f"Whichever collection is left out, the others choose {default}{', but for ' if others else ''}"
    return f"{markdown(heads, rows)}\n\n{chosen}{'; '.join(others)}."


def scores_table(table: Table) -> str:
    """What the rules with scores gain over the order, and what putting duplicates last does."""
    scores = by_query(table)
    rules = [name for name in table if name != "order"]
    rows = [
        [place[0], str(len(order)), *(f"{(scores[name][place] - order).mean():+.4f}" for name in rules)]
        for place, order in scores["order"].items()
    ]
    means = [
        np.mean([float((scores[name][p] - order).mean()) for p, order in scores["order"].items()]) for name in rules
    ]
    rows.append(["mean of the collections", "", *(f"{mean:+.4f}" for mean in means)])
    return markdown(("retrieved candidates of", "queries", *rules), rows)


def part_of(found: Iterator[Cell]) -> str:
    """The generated part of the page."""
    query: Table = {}
    alone: Table = {}
    with_scores: Table = {}
    for place, topics in found:
        bare = shuffled(topics)
        add(query, place, bare, RANDOM | WITH_QUERY)
        add(alone, place, bare, RANDOM | DOCUMENTS_ALONE)
        if topics.has_retrieval_order:
            add(with_scores, place, topics, WITH_SCORES)
    return "\n\n".join(
        [
            "**No scores, a query vector**",
            chosen_table(query, list(WITH_QUERY), list(FIRST), "DPP, lambda 0.7"),
            "**Documents alone**",
            chosen_table(alone, list(DOCUMENTS_ALONE), [], "representative"),
            "**With scores, less their order**",
            scores_table(with_scores),
            f"Made by `make {NAME}` at commit {commit()}.",
        ]
    )


def main(collections: Callable[[Path], Iterator[Cell]] = cells) -> None:
    """Write the part of the page."""
    part = part_of(collections(data_root()))
    write_text(PAGE, with_parts(PAGE.read_text(encoding="utf-8"), {NAME: part}))


if __name__ == "__main__":
    main()
