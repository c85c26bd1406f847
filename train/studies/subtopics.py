"""What named subtopics bring, and what they cost where they are wrong: `make subtopics`.

It reads AMBIENT and the collections in `texts/` below the folder that SRD_DATA_DIR names, and writes
docs/results/subtopics.md anew.

Shapes: N candidates, S subtopics, F vector width, T topics.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from srd_agents.registry import make_ranker
from srd_agents.training.options import versions
from srd_gym.data import LsaVectorizer, load_ambient, load_texts
from srd_gym.files import written_atomically
from srd_gym.measures import evaluate
from srd_gym.protocols import IntArray, Ranker
from srd_gym.topic import FloatArray, Topic, TopicSet
from srd_train.experiment.fit import commit
from srd_train.experiment.sources import data_root
from srd_train.report.markup import markdown
from srd_train.report.significance import difference_interval, paired_test
from srd_train.report.tables import SIGNIFICANT

PAGE = Path(__file__).parents[2] / "docs" / "results" / "subtopics.md"
MEASURE = "alpha_nDCG@10"
DEPTH = 100
"""Candidates of a query."""
RANKERS = {
    "cautious": make_ranker("cautious"),
    "pm2": make_ranker("pm2"),
    "pm2, sharpness 8": make_ranker("pm2", sharpness=8.0),
    "xquad": make_ranker("xquad"),
    "cautious, no scores": make_ranker("cautious"),
    "xquad, no scores": make_ranker("xquad"),
}
BEFORE = "query, 0.2"
CHOICE = {BEFORE: 0.2, "order, 0.5": 0.5, "order, 1": 1.0, "order, 1.5": 1.5, "order, 2": 2.0}
"""Weights that were tried; that of the query is what it has where there are no scores."""
ORDER = "the order"
ALONE = ", relevant alone"
AGAINST = (ORDER, "pm2", "xquad")
"""What `cautious` is compared with."""
TESTS = ("AMBIENT", "word-senses")
"""Test collections whose subtopics have texts; they chose nothing."""
ENCODERS = {"MiniLM": "minilm-384.npz", "E5": "e5-384.npz"}
FEW = 20
CHOOSING = 3
"""Every so-manieth query of `perspectives` chose the options of `cautious`."""
Scores = NDArray[np.float64]
ABOUT = f"""# Named subtopics, right and wrong

What is gained where the caller names subtopics, and what is lost where some of the names are wrong. `cautious` is the
default of `diversify`; it ranks such topics by PM-2 with `coverage="standardised"` and `sharpness=1.5`. One subtopic
more is the order of the scores (`order_weight=1`), or without scores the query (`order_weight=0.2`), and then what a
document covers is multiplied by how new it is (`novel`). `pm2` and `xquad` are as they come, but for what they name;
`pm2` does not look at scores. **No scores**: the same candidates, their order not told.

Named are vectors of the texts that define a query's subtopics: **all** of them; **half** of them (at least one);
**half + wrong**, with as many of other queries added; **all + wrong** likewise; **repeated**, each one to three times;
**one** of them; **wrong**, as many of other queries and none of its own. Candidates are the {DEPTH} documents that the
first stage finds, or, **relevant alone**, up to {DEPTH} relevant ones in a fixed shuffle without scores (queries that
have more than {FEW}), as in `word-senses`; queries without a relevant candidate are left out, and documents of
`perspectives` that are a subtopic's text themselves. {MEASURE}, ideal of the candidates; p is not adjusted. LSA (width
100) is fitted on the collection's texts."""
CHOSEN = """## How its options were chosen

On `key-points` and every third query of `perspectives`; the tables below have the other queries of `perspectives`.

**The weight of the order.** Each figure is the mean of the difference to the order over the sets below; in brackets,
in how many sets the ranking is significantly below it. The first row is what `cautious` did before. Of the weights
tried, 1 is the largest that costs nothing on average where all subtopics are named. Wrong subtopics alone are still
below the order in some sets. Weights by how near a subtopic is to its nearest candidate, or estimates multiplied by
the place in the order, cost as much elsewhere as a larger weight does.

The choice did not see that on the other queries of `perspectives` half of the subtopics with as many wrong ones are
below the order too, with LSA vectors of MiniLM's candidates, which are far worse than the first stage.

AMBIENT was opened twice for it: with the first row's options, and, as those were below the order there with one
subtopic or wrong ones alone, once more with the weight chosen here. (A choice before these two had used it.)"""
NEW = """**Novelty, without scores.** The first opening of `word-senses` had shown that half of the subtopics with
as many wrong ones were below the shuffle there (0.851, 0.893): where all candidates are relevant, what nobody named
counts as much as what is named. So the development collections got sets of relevant candidates alone, in which the
same happened, and these with the others chose novelty. Each figure is the mean of what novelty adds to `cautious`
without scores; in brackets, in how many sets the ranking is significantly worse with it. Tried as well, and not
better over both kinds: other powers of it (0.5, 2, 4), the exponential of the standardised cosine, a sum in place
of a product, and the order of `relational-pretrained` as one more subtopic (weights 0.25 to 3). With scores novelty
costs 0.05 on `perspectives`, so that it is off there. `word-senses`, and AMBIENT without scores, were then opened
once more; half of the subtopics with as many wrong ones are still below the shuffle on `word-senses` (0.873),
though not significantly."""


def named(kind: str, topics: Sequence[Topic]) -> list[Topic]:
    """The topics with other names for their subtopics, and no other change.

    Args:
        kind: one of `NAMED`.
        topics: with vectors of all their subtopics.
    """
    rng = np.random.default_rng(0)
    own = [np.asarray(topic.subtopic_vectors) for topic in topics]

    def wrong(index: int, count: int) -> FloatArray:
        others = rng.choice(np.delete(np.arange(len(own)), index), size=count)
        return np.stack([rng.choice(own[other]) for other in others])

    def vectors(index: int) -> FloatArray:
        rows = rng.permutation(own[index])
        half = rows[: (len(rows) + 1) // 2]
        of_kind: dict[str, Callable[[], FloatArray]] = {
            "all": lambda: rows,
            "half": lambda: half,
            "half + wrong": lambda: np.vstack([half, wrong(index, len(half))]),
            "all + wrong": lambda: np.vstack([rows, wrong(index, len(rows))]),
            "repeated": lambda: np.repeat(rows, rng.integers(1, 4, size=len(rows)), axis=0),
            "one": lambda: rows[:1],
            "wrong": lambda: wrong(index, len(rows)),
        }
        return of_kind[kind]()

    return [_renamed(topic, vectors(index)) for index, topic in enumerate(topics)]


NAMED = ("all", "half", "half + wrong", "all + wrong", "repeated", "one", "wrong")


def _renamed(topic: Topic, vectors: FloatArray) -> Topic:
    """The topic as it is ranked, without judgments."""
    return replace(
        topic,
        subtopic_ids=tuple(map(str, range(len(vectors)))),
        subtopic_vectors=vectors,
        subtopic_texts=None,
        subtopic_weights=None,
        judgments=None,
        pool=None,
        pool_ids=None,
    )


def collections(root: Path) -> Iterator[tuple[str, str, TopicSet, TopicSet]]:
    """Collections, titles, topics that chose, and topics shown."""
    for name in ("key-points", "perspectives"):
        for title, topics in _texts(root / "texts" / name):
            ready = topics.replace(list(_without_leaks(topics)))
            yield name, title, *_chosen_and_shown(name, ready)
        for encoder, file in ENCODERS.items():
            judged = load_texts(root / "texts" / name, vectors=root / "texts" / name / file, retrieve="none")
            ready = judged.replace(list(_without_leaks(_relevant_alone(judged))))
            yield name + ALONE, f"{encoder} vectors", *_chosen_and_shown(name, ready)
    ambient = load_ambient(root / "ambient", vectors=root / "ambient" / "minilm-384.npz")
    yield TESTS[0], "MiniLM vectors", ambient[:0], ambient
    for encoder, file in ENCODERS.items():
        words = load_texts(
            root / "texts" / "word-senses", vectors=root / "texts" / "word-senses" / file, retrieve="none"
        )
        yield TESTS[1], f"{encoder} vectors", words[:0], words


def _chosen_and_shown(name: str, topics: TopicSet) -> tuple[TopicSet, TopicSet]:
    """Topics that chose, and topics shown."""
    if name == "key-points":
        return topics, topics
    apart = [[t for i, t in enumerate(topics) if bool(i % CHOOSING) == shown] for shown in (False, True)]
    return topics.replace(apart[0]), topics.replace(apart[1])


def _relevant_alone(topics: Iterable[Topic]) -> Iterator[Topic]:
    """Those with more than a few relevant candidates, without the others."""
    for topic in topics:
        relevant = np.flatnonzero((np.asarray(topic.judgments) > 0).any(axis=1))
        if len(relevant) > FEW:
            yield topic.take(relevant)


def _texts(folder: Path) -> Iterator[tuple[str, TopicSet]]:
    """A collection's candidates by several first stages, with several vectors."""
    lsa = LsaVectorizer(100)
    by_lsa = load_texts(folder, vectors=lsa, depth=2 * DEPTH)
    for encoder, file in ENCODERS.items():
        nearest = load_texts(folder, vectors=folder / file, depth=2 * DEPTH)
        yield f"{encoder} vectors, nearest by cosine", nearest
        if encoder == "MiniLM":
            yield "LSA vectors, nearest by MiniLM's cosine", lsa.apply(nearest, transductive=True)
            found = load_texts(folder, vectors=folder / file, retrieve="bm25", depth=2 * DEPTH)
            yield "MiniLM vectors, found by BM25", found
            yield "LSA vectors, found by BM25", lsa.apply(found, transductive=True)
    yield "LSA vectors, nearest by cosine", by_lsa


def _without_leaks(topics: Iterable[Topic]) -> Iterator[Topic]:
    """Those with relevant candidates that are not themselves the texts of their subtopics, and with these texts."""
    for topic in topics:
        texts = {_plain(text) for text in topic.subtopic_texts or ()}
        apart = [i for i, text in enumerate(topic.doc_texts or ()) if _plain(text) not in texts]
        kept = topic.take(np.array(apart[:DEPTH]))
        if kept.judgments is not None and kept.subtopic_vectors is not None and (kept.judgments > 0).any():
            yield kept


def _plain(text: str) -> str:
    return " ".join(text.lower().split())


class AsGiven:
    """Candidates as they come: in the order of their scores, or in a fixed shuffle where there are none."""

    def rank_batch(self, topics: Sequence[Topic], k: int) -> list[IntArray]:
        """The first k of each."""
        return [np.arange(min(k, topic.n_candidates)) for topic in topics]


class Told:
    """A ranker that is told subtopics in place of the topics' own, and not of scores where its title says so."""

    def __init__(self, ranker: Ranker, kind: str, title: str = "") -> None:
        self.ranker, self.kind, self.scores = ranker, kind, not title.endswith("no scores")

    def rank(self, topic: Topic, k: int) -> IntArray:
        """The ranking of a topic alone, to which nothing wrong can be told."""
        return self.rank_batch([topic], k)[0]

    def rank_batch(self, topics: Sequence[Topic], k: int) -> list[IntArray]:
        """The ranker's rankings."""
        told = named(self.kind, topics)
        return list(self.ranker.rank_batch(told if self.scores else [_without_scores(t) for t in told], k))


def _without_scores(topic: Topic) -> Topic:
    return replace(topic, retrieval_scores=None)


def scores_of(topics: TopicSet, ranker: Ranker | AsGiven) -> Scores:
    """MEASURE of every topic: [T]."""
    rankings = dict(zip(topics.query_ids, ranker.rank_batch(topics, 10), strict=True))
    per_topic = evaluate(topics, rankings, [MEASURE], "candidates").per_topic
    return np.array([per_topic[query_id][MEASURE] for query_id in topics.query_ids])


@dataclass(frozen=True, kw_only=True)
class Difference:
    """Of `cautious` from another ranker."""

    mean: float
    interval: tuple[float, float]
    p_value: float

    def __str__(self) -> str:
        low, high = self.interval
        p = "< 0.001" if self.p_value < 0.001 else f"{self.p_value:.3f}"
        return f"{self.mean:+.3f} [{low:+.3f}, {high:+.3f}], {p}"

    @property
    def short(self) -> str:
        """With a mark where p < 0.05."""
        mark = "" if self.p_value >= SIGNIFICANT else " ▼" if self.mean < 0 else " ▲"
        return f"{self.mean:+.3f}{mark}"


@dataclass(frozen=True, kw_only=True)
class Figures:
    """What a set of topics shows."""

    collection: str
    title: str
    topics: int
    means: Mapping[str, Mapping[str, float]]
    """By ranker, ORDER among them, and what is named."""
    differences: Mapping[str, Mapping[str, Difference]]
    """Of `cautious`, by the ranker that it is compared with and what is named."""


def figures(collection: str, title: str, topics: TopicSet) -> Figures:
    """Everybody's means, and how the default differs."""
    order = scores_of(topics, AsGiven())
    scores = {ORDER: dict.fromkeys(NAMED, order)}
    for name, ranker in RANKERS.items():
        scores[name] = {kind: scores_of(topics, Told(ranker, kind, name)) for kind in NAMED}
    return Figures(
        collection=collection,
        title=title,
        topics=len(topics),
        means={name: {kind: float(of_kind[kind].mean()) for kind in NAMED} for name, of_kind in scores.items()},
        differences={
            name: {kind: _difference(scores["cautious"][kind], scores[name][kind]) for kind in NAMED}
            for name in AGAINST
        },
    )


def _difference(scores: Scores, others: Scores) -> Difference:
    return Difference(
        mean=float((scores - others).mean()),
        interval=difference_interval((scores, others)),
        p_value=paired_test((scores, others)),
    )


def tables(found: Sequence[Figures]) -> Iterator[str]:
    """A line a set of the development collections, means of each of these, and everything of the test collections."""
    chosen_on = [one for one in found if one.collection not in TESTS]
    rows = [
        [f"{one.collection}, {one.title} ({one.topics})", f"{one.means[ORDER][NAMED[0]]:.3f}"]
        + [one.differences[ORDER][kind].short for kind in NAMED]
        for one in chosen_on
    ]
    yield "## `cautious` less the order, set by set\n\nIn brackets topics; ▲ and ▼: p < 0.05."
    yield markdown(("set", ORDER, *NAMED), rows)
    for name in dict.fromkeys(one.collection for one in found):
        own = [one for one in found if one.collection == name]
        titles = ", ".join(one.title for one in own)
        what = f"means over {len(own)} sets" if name not in TESTS else f"{titles}, {own[0].topics} topics"
        yield f"## {name}: {what}"
        rows = [
            [ranker, *(f"{np.mean([one.means[ranker][kind] for one in own]):.3f}" for kind in NAMED)]
            for ranker in (ORDER, *RANKERS)
        ]
        yield markdown(("ranker", *NAMED), rows)
        if name in TESTS:
            rows = [
                [f"{one.title}: cautious less {other}", *map(str, of_kind.values())]
                for one in own
                for other, of_kind in one.differences.items()
            ]
            yield markdown(("difference [95% interval], p", *NAMED), rows)


Differences = defaultdict[str, defaultdict[str, list[tuple[float, bool]]]]
"""By option and what is named: means, and whether they are significantly below 0."""


def weigh(topics: TopicSet, found: Differences) -> None:
    """Add how rankings with each weight of the order differ from the order."""
    order = scores_of(topics, AsGiven())
    for name, weight in CHOICE.items():
        ranker = make_ranker("pm2", coverage="standardised", sharpness=1.5, order_weight=weight)
        for kind in NAMED:
            scores = scores_of(topics, Told(ranker, kind, "no scores" if name == BEFORE else ""))
            less = float((scores - order).mean())
            found[name][kind].append((less, less < 0 and paired_test((scores, order)) < SIGNIFICANT))


def renew(collection: str, topics: TopicSet, found: Differences) -> None:
    """Add what novelty does to rankings without scores."""
    options: dict[str, Any] = {"coverage": "standardised", "sharpness": 1.5, "order_weight": 0.2}
    regime = ALONE.strip(", ") if collection.endswith(ALONE) else "found by a first stage"
    for kind in NAMED:
        plain, new = (
            scores_of(topics, Told(make_ranker("pm2", **options, novel=novel), kind, "no scores"))
            for novel in (False, True)
        )
        less = float((new - plain).mean())
        found[regime][kind].append((less, less < 0 and paired_test((new, plain)) < SIGNIFICANT))


def chosen(found: Differences, what: str) -> str:
    """A table of what chose."""
    rows = []
    for name, of_kind in found.items():
        cells = [f"{np.mean([d for d, _ in pairs]):+.3f} ({sum(b for _, b in pairs)})" for pairs in of_kind.values()]
        rows.append([name, *cells])
    return markdown((what, *NAMED), rows)


def page(root: Path) -> str:
    """The whole page."""
    weights: Differences = defaultdict(lambda: defaultdict(list))
    novelty: Differences = defaultdict(lambda: defaultdict(list))
    shown = []
    for collection, title, choosing, topics in collections(root):
        if len(choosing):
            renew(collection, choosing, novelty)
            if not collection.endswith(ALONE):
                weigh(choosing, weights)
        shown.append(figures(collection, title, topics))
    choices = [CHOSEN, chosen(weights, "one more subtopic"), NEW, chosen(novelty, "candidates")]
    parts = [ABOUT, *choices, *tables(shown)]
    software = ", ".join(f"{name} {number}" for name, number in versions().items())
    return "\n\n".join([*parts, f"Made by `make subtopics` at commit {commit()} ({software})."]) + "\n"


if __name__ == "__main__":
    text = page(data_root())
    with written_atomically(PAGE) as temporary:
        temporary.write_text(text, encoding="utf-8")
