"""What named subtopics bring, and what they cost where they are wrong: `make subtopics`.

It reads AMBIENT and the collections in `texts/` below the folder that SRD_DATA_DIR names, and writes
docs/results/subtopics.md anew.

Shapes: N candidates, S subtopics, F vector width, T topics.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from srd_agents.registry import make_ranker
from srd_gym.data import LsaVectorizer, load_ambient, load_texts
from srd_gym.files import written_atomically
from srd_gym.measures import evaluate
from srd_gym.protocols import IntArray, Ranker
from srd_gym.topic import FloatArray, Topic, TopicSet
from srd_train.experiment.fit import commit, versions
from srd_train.experiment.sources import data_root
from srd_train.report.markup import markdown
from srd_train.report.significance import difference_interval, paired_test

PAGE = Path(__file__).parents[2] / "docs" / "results" / "subtopics.md"
MEASURE = "alpha_nDCG@10"
DEPTH = 100
"""Candidates of a query."""
RANKERS = {
    "cautious": make_ranker("cautious"),
    "pm2": make_ranker("pm2"),
    "pm2, sharpness 8": make_ranker("pm2", sharpness=8.0),
    "xquad": make_ranker("xquad"),
    "xquad, no scores": make_ranker("xquad", relevance="cosine"),
}
CHOOSING = 3
"""Every so-manieth query of `perspectives` chose the options of `cautious`."""
Scores = NDArray[np.float64]
ABOUT = f"""# Named subtopics, right and wrong

What is gained where the caller names subtopics, and what is lost where some of the names are wrong. `cautious` is the
default of `diversify`; it ranks such topics by PM-2 with `coverage="standardised"`, `sharpness=1.5` and
`query_weight=0.2`. `pm2` and `xquad` are as they come, but for what they name. Of these only `xquad` looks at scores:
what it does without, where the cosine with the query takes their place, is a row of its own.

The subtopics named are vectors of the texts that define a query's subtopics: **all** of them; **half** of them (at
least one); **half + wrong**, with as many of other queries added; **all + wrong** likewise; **repeated**, each one to
three times; **one** of them; **wrong**, as many of other queries and none of its own. Candidates are the {DEPTH}
documents that the first stage finds; queries without a relevant candidate are left out. In `perspectives` the text of
a subtopic is a document as well: such documents are taken out of the candidates.

{MEASURE}, ideal of the candidates; p is not adjusted. LSA (width 100) is fitted on the collection's texts. `key-points`
and every third query of `perspectives`, with these vectors and first stages, chose the options of `cautious`; the
tables have the other queries of `perspectives`. AMBIENT was opened once, when the options stood (an earlier choice of
options had used it)."""


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


def collections(root: Path) -> Iterator[tuple[str, TopicSet]]:
    """Titles and topic sets."""
    for name in ("key-points", "perspectives"):
        folder = root / "texts" / name
        minilm = folder / "minilm-384.npz"
        for title, topics in (
            ("MiniLM vectors, nearest by cosine", load_texts(folder, vectors=minilm, depth=2 * DEPTH)),
            ("MiniLM vectors, found by BM25", load_texts(folder, vectors=minilm, retrieve="bm25", depth=2 * DEPTH)),
            ("LSA vectors, nearest by cosine", load_texts(folder, vectors=LsaVectorizer(100), depth=2 * DEPTH)),
        ):
            ready = list(_without_leaks(topics))
            shown = [t for i, t in enumerate(ready) if i % CHOOSING] if name == "perspectives" else ready
            yield f"{name}, {title}", topics.replace(shown)
    ambient = root / "ambient"
    yield "AMBIENT, MiniLM vectors", load_ambient(ambient, vectors=ambient / "minilm-384.npz")


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


class Told:
    """A ranker that is told subtopics in place of the topics' own."""

    def __init__(self, ranker: Ranker, kind: str) -> None:
        self.ranker, self.kind = ranker, kind

    def rank(self, topic: Topic, k: int) -> IntArray:
        """The ranking of a topic alone, to which nothing wrong can be told."""
        return self.rank_batch([topic], k)[0]

    def rank_batch(self, topics: Sequence[Topic], k: int) -> list[IntArray]:
        """The ranker's rankings."""
        return list(self.ranker.rank_batch(named(self.kind, topics), k))


def scores_of(topics: TopicSet, ranker: Ranker) -> Scores:
    """MEASURE of every topic: [T]."""
    rankings = dict(zip(topics.query_ids, ranker.rank_batch(topics, 10), strict=True))
    per_topic = evaluate(topics, rankings, [MEASURE], "candidates").per_topic
    return np.array([per_topic[query_id][MEASURE] for query_id in topics.query_ids])


def tables(topics: TopicSet) -> Iterator[str]:
    """The scores, and how the default differs."""
    order = scores_of(topics, make_ranker("retrieval-order"))
    scores = {name: {kind: scores_of(topics, Told(ranker, kind)) for kind in NAMED} for name, ranker in RANKERS.items()}
    rows = [[name, *(f"{of_kind[kind].mean():.3f}" for kind in NAMED)] for name, of_kind in scores.items()]
    yield markdown(("ranker", *NAMED), [["the order as it came", *[f"{order.mean():.3f}"] * len(NAMED)], *rows])
    against = {"the order": dict.fromkeys(NAMED, order), "pm2": scores["pm2"], "xquad": scores["xquad"]}
    rows = [
        [f"cautious less {name}", *(_difference(scores["cautious"][kind], others[kind]) for kind in NAMED)]
        for name, others in against.items()
    ]
    yield markdown(("difference [95% interval], p", *NAMED), rows)


def _difference(scores: Scores, others: Scores) -> str:
    low, high = difference_interval((scores, others))
    p = paired_test((scores, others))
    return f"{(scores - others).mean():+.3f} [{low:+.3f}, {high:+.3f}], {'< 0.001' if p < 0.001 else f'{p:.3f}'}"


def page(root: Path) -> str:
    """The whole page."""
    parts = [ABOUT]
    for title, topics in collections(root):
        parts += [f"## {title}: {len(topics)} topics", *tables(topics)]
    software = ", ".join(f"{name} {number}" for name, number in versions().items())
    return "\n\n".join([*parts, f"Made by `make subtopics` at commit {commit()} ({software})."]) + "\n"


if __name__ == "__main__":
    text = page(data_root())
    with written_atomically(PAGE) as temporary:
        temporary.write_text(text, encoding="utf-8")
