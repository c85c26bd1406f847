"""The weights of the relational ranker for topics without a retrieval order: `make unordered`.

It reads the development collections below the folder that SRD_DATA_DIR names, as `make learned-choice` does, and writes
`pretrained-unordered.npz` into the package and docs/results/unordered.md, where each collection is ranked by weights
that have not seen it. No test collection is read.

Shapes: N candidates, S subtopics, F vector width.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, replace
from pathlib import Path

import numpy as np

from srd_agents.registry import make_ranker
from srd_agents.reinforce.agent import Reinforce
from srd_agents.reinforce.config import ReinforceConfig
from srd_agents.relational.config import PretrainedConfig
from srd_agents.relational.forward import Weights
from srd_agents.relational.ranker import CHECKPOINTS, Pretrained, pretrained_weights
from srd_gym.files import written_atomically
from srd_gym.protocols import Ranker
from srd_gym.topic import FloatArray, Topic, TopicSet
from srd_train.experiment.sources import data_root
from srd_train.experiment.surroundings import commit, versions
from srd_train.report.markup import markdown
from srd_train.report.significance import difference_interval
from studies.learned_choice import COLLECTIONS, SPACES, Given, Scores, loaded, scores_of, shuffled, staged
from studies.pretrain.run import write_npz
from studies.pretrain.wide import wide_topics

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "results" / "unordered.md"
SPACES_LEARNED = ("MiniLM", "E5")
SHARE = 0.5
"""How far the weights go from those that come with the package to those learned here."""
GENERATED = 1000
MERGED = 150
"""Topics that are several in one, of each collection and kind of vectors."""
SHUFFLES = 20
FOUND, RELEVANT = "found", "relevant alone"
RANKERS: dict[str, Ranker] = {
    "relational-pretrained": make_ranker("relational-pretrained"),
    "mmr": make_ranker("mmr"),
    "dpp": make_ranker("dpp"),
    "msd": make_ranker("msd"),
}
ABOUT = f"""# Topics without a retrieval order: what `cautious` asks

`cautious` ranks a topic without scores by the relational ranker with weights of its own
(`relational-pretrained` with `strategy="unordered"`), made by `make unordered`. They stand half-way between the weights
that come with the package and what these become in two passes over real and generated topics without scores:
{GENERATED} generated ones, and of the development collections (every third query of `perspectives`; MiniLM and E5) what
the first stage finds, and the relevant candidates alone; there, and in a few topics of the former kind, the query is
missing or that of another topic; and lists of relevant documents of two to four topics in one, as under an ambiguous
name. To a score is added half of the logarithm of 1 less the largest cosine with a chosen document.

Below, each collection is ranked by weights that never saw it ("unordered, left out"), with the same options.
alpha_nDCG@10, ideal of the candidates; in brackets the difference from a shuffle (the mean of {SHUFFLES}) and its 95%
interval.
"""


def kinds(root: Path, name: str, space: str) -> Iterator[tuple[str, TopicSet]]:
    """Topics without scores, shuffled: what the first stage finds, and the relevant ones alone."""
    topics = loaded(root, name, space)
    stage = "BM25" if name == "wordnet" or space == "LSA" else "cosine"
    for kind, found in ((FOUND, staged(topics, name, stage)), (RELEVANT, staged(topics, name, "all relevant"))):
        if found is not None:
            yield kind, shuffled(found)


def lessons(root: Path, names: Sequence[str]) -> TopicSet:
    """What is learned from: the collections' topics in many forms, and generated ones."""
    rng = np.random.default_rng(0)
    lists = [_without_order(topic, rng) for topic in wide_topics(GENERATED, seed=0)]
    for name in names:
        for space in SPACES_LEARNED:
            for kind, topics in kinds(root, name, space):
                queries = [np.asarray(topic.query_vector) for topic in topics]
                repeats = 3 if name == "key-points" else 1  # it has few topics
                lists += [_varied(t, kind, queries, part, rng) for part in range(repeats) for t in topics]
                if kind == RELEVANT:
                    lists += [merged(topics, queries, rng) for _ in range(MERGED)]
    apart = [replace(topic, query_id=str(i)) for i, topic in enumerate(lists) if np.asarray(topic.judgments).any()]
    return TopicSet(apart, name="without an order")


def _without_order(topic: Topic, rng: np.random.Generator) -> Topic:
    return replace(topic, retrieval_scores=None).take(rng.permutation(topic.n_candidates))


def _varied(topic: Topic, kind: str, queries: Sequence[FloatArray], part: int, rng: np.random.Generator) -> Topic:
    """The topic, or a part of it, with its query, none or another's."""
    if part:
        size = max(20, int(topic.n_candidates * rng.uniform(0.3, 1.0)))
        topic = topic.take(rng.permutation(topic.n_candidates)[:size])
    missing, strange = (0.25, 0.25) if kind == RELEVANT else (0.075, 0.075)
    drawn = rng.random()
    if drawn < missing:
        return replace(topic, query_vector=None)
    if drawn < missing + strange:
        return replace(topic, query_vector=queries[int(rng.integers(len(queries)))])
    return topic


def merged(topics: TopicSet, queries: Sequence[FloatArray], rng: np.random.Generator) -> Topic:
    """Relevant documents of two to four topics as one topic of at most 100, under no query or any."""
    chosen = rng.choice(len(topics), size=min(len(topics), int(rng.integers(2, 5))), replace=False)
    parts = [topics[i].take(rng.permutation(topics[i].n_candidates)[: rng.integers(8, 40)]) for i in chosen]
    ends = np.cumsum([0, *(part.n_subtopics for part in parts)])
    judgments = np.zeros((sum(part.n_candidates for part in parts), ends[-1]), np.float32)
    row = 0
    for part, start in zip(parts, ends, strict=False):
        judgments[row : row + part.n_candidates, start : start + part.n_subtopics] = part.judgments
        row += part.n_candidates
    kept = rng.permutation(len(judgments))[:100]
    used = judgments[kept].any(axis=0)
    return Topic(
        query_id="merged",
        doc_ids=tuple(map(str, range(len(kept)))),
        doc_vectors=np.vstack([part.require_vectors("this study") for part in parts])[kept],
        query_vector=queries[int(rng.integers(len(queries)))] if rng.random() < 0.6 else None,
        subtopic_ids=tuple(map(str, range(used.sum()))),
        judgments=judgments[kept][:, used],
    )


def learned(topics: TopicSet, advance: Callable[[str], None]) -> Weights:
    """Half-way from the package's weights to what they become."""
    learner = Reinforce(
        ReinforceConfig(
            parts="relations",
            patience=0,
            decay_epochs=0,
            entropy=0.01,
            epochs=2,
            learning_rate=0.001,
            average=0.99,
        )
    )
    advance(f"learning from {len(topics):,} topics")
    learner.fit(topics, None, seed=0)
    pairs = [(f.name, pretrained_weights(), learner.relational_weights()) for f in fields(Weights)]
    return Weights(**{name: (1 - SHARE) * getattr(old, name) + SHARE * getattr(new, name) for name, old, new in pairs})


def rows(root: Path, name: str, ranker: Ranker) -> Iterator[list[str]]:
    """The table's rows of a collection; the ranker has not seen it."""
    rng = np.random.default_rng(1)
    for space in SPACES:
        for kind, topics in kinds(root, name, space):
            order = np.mean([scores_of(_shuffled(topics, rng), Given()) for _ in range(SHUFFLES)], axis=0)
            others = {"unordered, left out": ranker, **RANKERS}
            figures = [_figure(scores_of(topics, each), order) for each in others.values()]
            yield [f"{name}, {space}, {kind} ({len(topics)})", f"{order.mean():.3f}", *figures]


def _shuffled(topics: TopicSet, rng: np.random.Generator) -> TopicSet:
    return topics.replace(topic.take(rng.permutation(topic.n_candidates)) for topic in topics)


def _figure(scores: Scores, order: Scores) -> str:
    low, high = difference_interval((scores, order))
    return f"{scores.mean():.3f} ({(scores - order).mean():+.3f} [{low:+.3f}, {high:+.3f}])"


def ranker_of(weights: Weights, folder: Path) -> Ranker:
    """What ranks by these weights; they are written into the folder."""
    file = folder / CHECKPOINTS["unordered"]
    write_npz(file, weights)
    return Pretrained(PretrainedConfig(checkpoint=str(file), strategy="unordered"))


def page(root: Path, folder: Path, advance: Callable[[str], None]) -> str:
    """The whole page."""
    found = []
    for name in COLLECTIONS:
        others = [other for other in COLLECTIONS if other != name]
        found += list(rows(root, name, ranker_of(learned(lessons(root, others), advance), folder)))
    software = ", ".join(f"{name} {number}" for name, number in versions().items())
    made = f"Made by `make unordered` at commit {commit()} ({software})."
    head = ("collection, vectors, candidates (topics)", "shuffle", "unordered, left out", *RANKERS)
    return "\n\n".join([ABOUT.rstrip(), markdown(head, found), made]) + "\n"


if __name__ == "__main__":
    text = page(data_root(), ROOT / "results", print)
    with written_atomically(PAGE) as temporary:
        temporary.write_text(text, encoding="utf-8")
    ranker_of(learned(lessons(data_root(), COLLECTIONS), print), ROOT / "agents" / "srd_agents" / "relational")
