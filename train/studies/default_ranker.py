"""What ranks where no ranker is named, against the order that it was given: `make default-ranker`.

It reads AMBIENT and the collections in `texts/` below the folder that SRD_DATA_DIR names, and writes
docs/results/default-ranker.md anew.

Shapes: N candidates, S subtopics, F vector width, T topics.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from srd_agents.registry import make_ranker
from srd_gym.data import LsaVectorizer, load_ambient, load_texts
from srd_gym.files import written_atomically
from srd_gym.measures import evaluate
from srd_gym.protocols import IntArray, Ranker
from srd_gym.topic import Topic, TopicSet
from srd_train.experiment.fit import commit, versions
from srd_train.experiment.sources import data_root
from srd_train.report.markup import markdown
from srd_train.report.significance import interval, paired_test

PAGE = Path(__file__).parents[2] / "docs" / "results" / "default-ranker.md"
MEASURE = "alpha_nDCG@10"
DEPTH = 100
"""Candidates that the first stage of `texts/` finds."""
WIDTHS = (50, 100, 300)
"""Of LSA vectors."""
RANKERS = {name: make_ranker(name) for name in ("cautious", "mmr", "dpp", "msd", "relational-pretrained")}
"""What is compared with the order, all as they come."""
SEEDS = range(5)
"""Of shuffles and random orders."""

Scores = NDArray[np.float64]
ABOUT = f"""# The default ranker against the order that it was given

`cautious` ranks where `diversify` and `FrameRanker` are given no ranker. Here it stands beside the order of the first
stage and the other rankers that need no training, all as they come, on real texts. Collections: AMBIENT (44 ambiguous
queries, the results and the order of a web engine), `key-points` (debate motions, arguments) and `perspectives`
(claims, sentences for and against); the candidates of the last two are the {DEPTH} documents with the highest MiniLM
cosine with the query, whose order is that cosine's; queries without a relevant candidate are left out. LSA vectors are
fitted on each fold's training texts (5 folds, inductive).

{MEASURE}, ideal of the candidates. Differences are against the first row, with their 95% interval over
topics; p is the paired t test's, not adjusted: adjusting could only hide harm. No ranker sees judgments
or subtopics; [named subtopics](subtopics.md) have a page of their own. `random` is the mean over {len(SEEDS)}
shuffles. In `key-points` 689 ids stand for two texts each, of different motions; a judgment holds for both.

Among the rankers that need no scores, `cautious` took the one that is nowhere significantly below a random order: so
these collections chose it, and its rows without scores are no test of it."""
WITHOUT = f"""## Without scores

The same topics, their scores taken away and the candidates shuffled. Every row is the mean over {len(SEEDS)} shuffles;
the first is the order that the shuffle left, a random one. `cosine` sorts by the cosine with the query."""


class Given:
    """The candidates as they stand, retrieval order or not."""

    def rank(self, topic: Topic, k: int) -> IntArray:
        """The first k."""
        return np.arange(min(k, topic.n_candidates))

    def rank_batch(self, topics: Sequence[Topic], k: int) -> list[IntArray]:
        """The first k of each."""
        return [self.rank(topic, k) for topic in topics]


def collections(root: Path) -> Iterator[tuple[str, TopicSet]]:
    """Titles and topic sets; none names its subtopics."""
    minilm = load_ambient(root / "ambient", vectors=root / "ambient" / "minilm-384.npz")
    yield "AMBIENT, MiniLM vectors", without_subtopics(minilm)
    texts = load_ambient(root / "ambient")
    for width in WIDTHS:
        folds = [LsaVectorizer(width).fit_topics(fold.train).apply(fold.test) for fold in texts.folds(5, seed=0)]
        by_id = {topic.query_id: topic for fold in folds for topic in fold}
        yield (
            f"AMBIENT, LSA vectors, width {width}",
            without_subtopics(texts.replace(by_id[q] for q in texts.query_ids)),
        )
    for name in ("key-points", "perspectives"):
        folder = root / "texts" / name
        texts = load_texts(folder, vectors=folder / "minilm-384.npz", depth=DEPTH)
        yield f"{name}, MiniLM vectors", without_subtopics(texts.trainable())


def without_subtopics(topics: TopicSet) -> TopicSet:
    """The topics without vectors of their subtopics."""
    return topics.replace(replace(topic, subtopic_vectors=None) for topic in topics)


def shuffled(topics: TopicSet, seed: int) -> TopicSet:
    """The topics without scores, candidates shuffled."""
    rng = np.random.default_rng(seed)
    orders = [rng.permutation(topic.n_candidates) for topic in topics]
    return topics.replace(
        replace(topic, retrieval_scores=None).take(order) for topic, order in zip(topics, orders, strict=True)
    )


def scores_of(topics: TopicSet, ranker: Ranker) -> Scores:
    """MEASURE of every topic: [T]."""
    rankings = dict(zip(topics.query_ids, ranker.rank_batch(topics, 10), strict=True))
    per_topic = evaluate(topics, rankings, [MEASURE], "candidates").per_topic
    return np.array([per_topic[query_id][MEASURE] for query_id in topics.query_ids])


def rows_with_scores(topics: TopicSet) -> dict[str, Scores]:
    """Scores by row, the reference first."""
    rows = {"the order as it came": scores_of(topics, Given())}
    rows |= {name: scores_of(topics, ranker) for name, ranker in RANKERS.items()}
    return rows | {"random": over_shuffles(topics, Given())}


def rows_without_scores(topics: TopicSet) -> dict[str, Scores]:
    """Scores by row, means over shuffles, the reference first."""
    rows = {"random (the order as it came)": over_shuffles(topics, Given())}
    rows |= {name: over_shuffles(topics, ranker) for name, ranker in RANKERS.items()}
    return rows | {"cosine": over_shuffles(topics, make_ranker("mmr", lambda_=1.0))}


def over_shuffles(topics: TopicSet, ranker: Ranker) -> Scores:
    """Mean of `scores_of` over shuffles: [T]."""
    mean: Scores = np.mean([scores_of(shuffled(topics, seed), ranker) for seed in SEEDS], axis=0)
    return mean


def table(rows: dict[str, Scores]) -> str:
    """A Markdown table against the first row."""
    reference, cells = next(iter(rows.values())), []
    for name, scores in rows.items():
        against = ["-"] * 3
        if scores is not reference:
            difference = scores - reference
            low, high = interval(difference)
            p = paired_test((scores, reference))
            against = [
                f"{difference.mean():+.3f}",
                f"[{low:+.3f}, {high:+.3f}]",
                "< 0.001" if p < 0.001 else f"{p:.3f}",
            ]
        cells.append([name, f"{scores.mean():.3f}", *against])
    return markdown(("ranker", MEASURE, "difference", "95% interval", "p"), cells)


def page(root: Path) -> str:
    """The whole page."""
    sets = list(collections(root))

    def tables(rows_of: Callable[[TopicSet], dict[str, Scores]]) -> Iterator[str]:
        for title, topics in sets:
            yield f"**{title}: {len(topics)} topics**"
            yield table(rows_of(topics))

    software = ", ".join(f"{name} {number}" for name, number in versions().items())
    parts = [ABOUT, "## With scores", *tables(rows_with_scores), WITHOUT, *tables(rows_without_scores)]
    parts.append(f"Made by `make default-ranker` at commit {commit()} ({software}).")
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    text = page(data_root())
    with written_atomically(PAGE) as temporary:
        temporary.write_text(text, encoding="utf-8")
