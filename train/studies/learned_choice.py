"""Whether a learned choice among rankers should rank where none is named: `make learned-choice`.

It reads the development collections below the folder that SRD_DATA_DIR names (`texts/key-points`, `texts/perspectives`
and `wordnet`, each with `minilm-384.npz` and `e5-384.npz`), and writes docs/results/learned-choice.md anew. No test
collection is read.

Shapes: N candidates, F vector width, T topics, D features, O rankers to choose from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from srd_agents.heuristic.config import TradeOffConfig
from srd_agents.heuristic.greedy import rows_of
from srd_agents.heuristic.trade_off import DPP, standardised
from srd_agents.registry import make_ranker
from srd_agents.training.options import versions
from srd_gym.data import LsaVectorizer, load_texts
from srd_gym.dtypes import IntArray
from srd_gym.files import written_atomically
from srd_gym.measures import evaluate
from srd_gym.protocols import Ranker
from srd_gym.topic import FloatArray, Topic, TopicSet
from srd_train.experiment.provenance import commit
from srd_train.experiment.sources import data_root
from srd_train.report.markup import markdown
from srd_train.report.significance import difference_interval
from studies.sources.wordnet import load_wordnet

PAGE = Path(__file__).parents[2] / "docs" / "results" / "learned-choice.md"
MEASURE = "alpha_nDCG@10"
DEPTH = 100
COLLECTIONS = ("perspectives", "key-points", "wordnet")
SPACES = {"MiniLM": "minilm-384.npz", "E5": "e5-384.npz", "LSA": None}
EVERY = 3
"""Every so-manieth query of `perspectives` is taken."""
HARM = 3.0
"""What is lost against the order counts so many times what is gained."""
SHARPNESS = 5.0
"""Of the softmax that stands for the choice while it is learned."""
Scores = NDArray[np.float64]


class Given:
    """The candidates as they stand."""

    def rank(self, topic: Topic, k: int) -> IntArray:
        """The first k."""
        return np.arange(min(k, topic.n_candidates))

    def rank_batch(self, topics: Sequence[Topic], k: int) -> list[IntArray]:
        """The first k of each."""
        return [self.rank(topic, k) for topic in topics]


class Blend(Given):
    """DPP whose relevance is a sum of scores and of cosines with the query and with the centroid, each standardised."""

    def rank(self, topic: Topic, k: int) -> IntArray:
        """The first k."""
        parts = [topic.retrieval_scores, *cosines(topic)]
        mixed = np.array((0.6, 0.2, 0.2)) @ [standardised(np.asarray(part)) for part in parts]
        order = np.argsort(-mixed, kind="stable")
        again = replace(replace(topic, retrieval_scores=None).take(order), retrieval_scores=mixed[order])
        return order[DPP(TradeOffConfig(lambda_=0.7)).rank(again, k)]


HEURISTICS: dict[str, Ranker] = {
    **{f"{name} {weight}": make_ranker(name, lambda_=weight) for name in ("mmr", "dpp") for weight in (0.9, 0.7, 0.5)},
    **{f"msd {weight}": make_ranker("msd", lambda_=weight) for weight in (0.9, 0.5)},
    "relational": make_ranker("relational-pretrained"),
}
RANKERS: dict[str, Ranker] = {"order": Given(), "cautious": make_ranker("cautious"), **HEURISTICS, "blend": Blend()}


@dataclass(frozen=True, kw_only=True)
class Part:
    """One of both tables."""

    title: str
    stages: tuple[str, ...]
    choices: tuple[tuple[str, ...], ...]
    """Sets of rankers to choose from."""
    shown: tuple[str, ...]
    """The set that is tried on vectors that it has not seen, too."""
    columns: tuple[str, ...]
    """Features that the choice looks at."""

    @property
    def scored(self) -> bool:
        """Whether topics have scores."""
        return "web" in self.stages


PARTS = (
    Part(
        title="With scores",
        stages=("BM25", "cosine", "hybrid", "noisy", "web"),
        choices=(("blend",), ("order", "dpp 0.7"), ("order", "dpp 0.7", "blend"), ("order", *HEURISTICS)),
        shown=("order", "dpp 0.7", "blend"),
        columns=("score and query", "score and centroid", "best score", "best alike", "nearest", "best cosine"),
    ),
    Part(
        title="Without scores",
        stages=("BM25", "cosine", "all relevant"),
        choices=(("dpp 0.5",), ("dpp 0.5", "relational"), tuple(HEURISTICS)),
        shown=("dpp 0.5", "relational"),
        columns=("spread", "skew", "best cosine", "best alike", "nearest", "deviation"),
    ),
)


@dataclass(frozen=True, kw_only=True)
class Cell:
    """Topics of one collection, one space of vectors and one first stage, ranked by everybody."""

    collection: str
    space: str
    stage: str
    query_ids: tuple[str, ...]
    features: Scores
    """[T, D]"""
    scores: Mapping[str, Scores]
    """MEASURE by ranker, each [T]."""


def _units(topic: Topic) -> FloatArray:
    rows = rows_of(topic.require_vectors("the study"))
    return np.asarray(rows.vectors * rows.scale[:, None])


def cosines(topic: Topic) -> tuple[FloatArray, FloatArray]:
    """With the query (zeros without one) and with the centroid: [N] each."""
    units = _units(topic)
    query = np.zeros(units.shape[1], np.float32) if topic.query_vector is None else topic.query_vector
    return units @ (query / max(float(np.linalg.norm(query)), 1e-9)), units @ units.mean(axis=0)


def features(topic: Topic) -> dict[str, float]:
    """What the choice may look at."""
    units = _units(topic)
    alike = (units @ units.T).astype(np.float64)
    pairs = alike[np.triu_indices(len(alike), 1)]
    mean, deviation = float(pairs.mean()), max(float(pairs.std()), 1e-9)
    query, centroid = (standardised(part) for part in cosines(topic))
    spread = float(cosines(topic)[0].std())
    best = np.argsort(-query, kind="stable")[:10]
    within = alike[np.ix_(best, best)]
    count = len(best)
    score = standardised(np.zeros_like(query) if topic.retrieval_scores is None else topic.retrieval_scores)
    np.fill_diagonal(alike, -1.0)
    return {
        "score and query": float((score * query).mean()),
        "score and centroid": float((score * centroid).mean()),
        "best score": float(score.max()),
        "best cosine": float(query.max()),
        "skew": float((query**3).mean()),
        "spread": spread / deviation,
        "deviation": spread,
        "best alike": ((within.sum() - count) / max(count * (count - 1), 1) - mean) / deviation,
        "nearest": float((alike.max(axis=1).mean() - mean) / deviation),
    }


def loaded(root: Path, name: str, space: str) -> Callable[[str, int], TopicSet]:
    """A function from a first stage and a depth to the topics that have a relevant candidate, and ten or more."""
    folder = root / name if name == "wordnet" else root / "texts" / name
    file = SPACES[space]
    vectors = LsaVectorizer(DEPTH) if file is None else folder / file

    @cache
    def topics(stage: str, depth: int) -> TopicSet:
        found = (
            load_wordnet(folder, vectors=vectors, depth=depth)
            if name == "wordnet"
            else load_texts(folder, vectors=vectors, retrieve=stage.lower(), depth=depth)  # type: ignore[arg-type]
        ).trainable()
        kept = found[::EVERY] if name == "perspectives" else found
        return found.replace(
            replace(topic, subtopic_vectors=None, pool=None, pool_ids=None)
            for topic in kept
            if topic.n_candidates >= 10 and topic.query_vector is not None and topic.query_vector.any()
        )

    return topics


def staged(topics: Callable[[str, int], TopicSet], name: str, stage: str) -> TopicSet | None:
    """The topics under a first stage; None where the collection cannot have it."""
    if stage in ("BM25", "cosine", "hybrid"):
        return topics(stage, DEPTH) if name != "wordnet" or stage == "BM25" else None
    wide = topics("BM25" if name == "wordnet" else "hybrid", DEPTH)
    rng = np.random.default_rng(0)
    if stage == "all relevant":
        judged = [(topic, np.asarray(topic.judgments) > 0) for topic in wide]
        relevant = [(topic, rng.permutation(np.flatnonzero(on.any(axis=1)))) for topic, on in judged]
        return wide.replace(
            replace(topic, retrieval_scores=None).take(rows)
            for topic, rows in relevant
            if len(rows) >= 10 and (np.asarray(topic.judgments)[rows] > 0).any(axis=0).sum() > 1
        )
    return wide.replace(_rescored(topic, rng, knows=stage == "web") for topic in wide)


def _rescored(topic: Topic, rng: np.random.Generator, *, knows: bool) -> Topic:
    """The topic by a noisy first stage, or by one that knows of relevance what texts do not say, as a web engine's."""
    query = standardised(cosines(topic)[0])
    noise = rng.standard_normal(topic.n_candidates)
    scores = query + 1.5 * noise
    if knows:
        judged = np.asarray(topic.judgments) > 0
        popular = (judged * (judged.sum(axis=0) / judged.sum(axis=0).max()) ** rng.uniform()).max(axis=1)
        scores = rng.uniform(0, 0.6) * query + rng.uniform(0.5, 1.5) * standardised(popular) + noise
    order = np.argsort(-scores, kind="stable")
    given = replace(topic, retrieval_scores=None).take(order)
    return replace(given, retrieval_scores=scores[order].astype(np.float32))


def scores_of(topics: TopicSet, ranker: Ranker) -> Scores:
    """MEASURE of every topic: [T]."""
    rankings = dict(zip(topics.query_ids, ranker.rank_batch(topics, 10), strict=True))
    per_topic = evaluate(topics, rankings, [MEASURE], "candidates").per_topic
    return np.array([per_topic[query_id][MEASURE] for query_id in topics.query_ids])


def cells_of(part: Part, root: Path) -> Iterator[Cell]:
    """All topics of one table."""
    for name in COLLECTIONS:
        for space in SPACES:
            topics = loaded(root, name, space)
            for stage in part.stages:
                found = staged(topics, name, stage)
                if found is None:
                    continue
                yield cell(part, name, space, stage, found if part.scored else shuffled(found))


def shuffled(topics: TopicSet) -> TopicSet:
    """The topics without scores, candidates shuffled."""
    rng = np.random.default_rng(0)
    return topics.replace(replace(t, retrieval_scores=None).take(rng.permutation(t.n_candidates)) for t in topics)


def cell(part: Part, name: str, space: str, stage: str, topics: TopicSet) -> Cell:
    """Rank the topics by everybody."""
    rankers = {ranker: made for ranker, made in RANKERS.items() if part.scored or ranker != "blend"}
    described = [features(topic) for topic in topics]
    return Cell(
        collection=name,
        space=space,
        stage=stage,
        query_ids=tuple(topics.query_ids),
        features=np.array([[row[column] for column in part.columns] for row in described]),
        scores={ranker: scores_of(topics, made) for ranker, made in rankers.items()},
    )


def learned(cells: Sequence[Cell], choices: Sequence[str]) -> Callable[[Cell], IntArray]:
    """A linear choice among O rankers by gradient ascent on the gain over the order; it gives a cell's choices, [T].

    Collections count the same, and the cells of one; a cell's loss counts `HARM` times.
    """
    per_collection = {c.collection: sum(other.collection == c.collection for other in cells) for c in cells}
    weights = np.array([1 / per_collection[c.collection] / len(per_collection) for c in cells])
    each = np.concatenate([np.full(len(c.features), w / len(c.features)) for c, w in zip(cells, weights, strict=True)])
    raw = np.concatenate([c.features for c in cells])
    mean = each @ raw
    deviation = np.sqrt(each @ (raw - mean) ** 2) + 1e-9

    def rows(values: Scores) -> Scores:
        scaled = np.clip((values - mean) / deviation, -3, 3)
        return np.column_stack([scaled, np.ones(len(scaled))])

    gains = [np.stack([c.scores[name] - c.scores["order"] for name in choices], axis=1) for c in cells]
    inputs = [rows(c.features) for c in cells]
    table = np.zeros((raw.shape[1] + 1, len(choices)))
    momentum = np.zeros_like(table)
    for _ in range(600):
        slope = np.zeros_like(table)
        for gain, given, weight in zip(gains, inputs, weights, strict=True):
            logits = SHARPNESS * given @ table
            chance = np.exp(logits - logits.max(axis=1, keepdims=True))
            chance /= chance.sum(axis=1, keepdims=True)
            gained = (chance * gain).sum(axis=1, keepdims=True)
            factor = weight * (1.0 if gained.mean() > 0 else HARM) * SHARPNESS / len(gain)
            slope += factor * given.T @ (chance * (gain - gained))
        slope[:-1] -= 0.02 * table[:-1]
        momentum = 0.9 * momentum + slope
        table += 0.5 * momentum
    return lambda c: (rows(c.features) @ table).argmax(axis=1)


def best_single(cells: Sequence[Cell], *, scored: bool) -> str:
    """The heuristic, or the order of scores, with the best mean over collections of the means over their cells."""
    names = [*(["order"] if scored else []), *HEURISTICS]

    def mean(name: str) -> float:
        found: dict[str, list[float]] = {}
        for c in cells:
            found.setdefault(c.collection, []).append(float(c.scores[name].mean()))
        return float(np.mean([np.mean(means) for means in found.values()]))

    return max(names, key=mean)


def held_out(part: Part, cells: Sequence[Cell], choices: Sequence[str], space: str | None) -> dict[str, Any]:
    """What is learned on two collections (and other vectors than `space`), on the third (with these vectors).

    Returns:
        For each the scores by query of the choice, the order, `cautious` and the best single heuristic; the name of the
        last; and what the choice gains over the order in its worst cell.
    """
    outcome = {}
    for name in COLLECTIONS:
        others = [c for c in cells if c.collection != name and c.space != space]
        single, choose = best_single(others, scored=part.scored), learned(others, choices)
        queries: dict[str, list[list[float]]] = {}
        worst = np.inf
        for c in (c for c in cells if c.collection == name and space in (None, c.space)):
            own = np.stack([c.scores[choice] for choice in choices], axis=1)
            got = np.take_along_axis(own, choose(c)[:, None], axis=1)[:, 0]
            worst = min(worst, float((got - c.scores["order"]).mean()))
            columns = np.stack([got, c.scores["order"], c.scores["cautious"], c.scores[single]], axis=1)
            for query_id, row in zip(c.query_ids, columns.tolist(), strict=True):
                queries.setdefault(query_id, []).append(row)
        outcome[name] = (np.array([np.mean(rows, axis=0) for rows in queries.values()]), single, worst)
    return outcome


def table(part: Part, rows: Sequence[Sequence[str]]) -> str:
    """The Markdown table of both kinds of topics."""
    order = "less the order" if part.scored else "less random"
    return markdown(("choice among", f"{order} [95% interval]", "worst", "less cautious", "less best single"), rows)


def lines(part: Part, cells: Sequence[Cell]) -> Iterator[list[str]]:
    """A line for each set of choices; those shown are tried on vectors that they have not seen, too."""
    for choices in part.choices:
        for space in (None, *SPACES) if choices == part.shown else (None,):
            title = "any heuristic" if len(choices) > 3 else ", ".join(choices)
            yield _line(title if space is None else f"on {space}", held_out(part, cells, choices, space))


def _line(title: str, outcome: Mapping[str, Any]) -> list[str]:
    pairs = [[(scores[:, 0], scores[:, place]) for scores, _, _ in outcome.values()] for place in (1, 2, 3)]
    order, *others = (f"{np.mean([(mine - theirs).mean() for mine, theirs in each]):+.3f}" for each in pairs)
    low, high = difference_interval(*pairs[0])
    worst = min(gain for _, _, gain in outcome.values())
    return [title, f"{order} [{low:+.3f}, {high:+.3f}]", f"{worst:+.3f}", *others]


ABOUT = f"""# A learned choice of ranker, tried

Would a ranker that looks at a topic and then chooses be a better default than [`cautious`](texts.md)? What is learned
on two development collections ranks the third, which it has not seen. No test collection is read.

A linear function of {len(PARTS[0].columns)} features of a topic (how scores agree with cosines, how far the best stand
out, how near neighbours are) chooses; it maximises the gain over the order, a loss counting {HARM:.0f} times. `blend`
is DPP (lambda 0.7) whose relevance is 0.6 score + 0.2 cosine with the query + 0.2 cosine with the centroid,
standardised. Vectors: MiniLM, E5, LSA. First stages: BM25, cosine, hybrid, a noisy one, one that knows of relevance as
a web engine does; without scores, lists of BM25, of cosine, and of relevant candidates alone.

{MEASURE}, ideal of the candidates, means over collections (every third query of `perspectives`). "worst": the gain over
the order by the worst pair of vectors and first stage. "best single": the order, MMR, DPP, MSD or
`relational-pretrained`, the best on the other two. "on LSA": the choice above, learned on the other vectors alone.

A new default had to lead `cautious` and the best single heuristic in both tables, and to do no harm. With scores the
choice among three harms the order of LSA vectors where it never saw such. Without scores it does not lead DPP alone,
which is significantly below a random order on [AMBIENT](texts-test.md). So `cautious` stays. About a hundred variants
were seen on these collections, which flatters what is shown.

Tried too, without a table: `relational` trained anew on two of the collections and generated topics, far below the
order on `perspectives`. How much of the relevance in DPP is the score, chosen by topic for the gain in the worst
quarter of pairs, collection and kind of vectors left out: level with the order (-0.001). Without scores, ranks of DPP,
MSD and `cautious` fused: above `cautious` (+0.018), below DPP alone (-0.030).

Without scores `cautious` is `relational-pretrained` with `novelty=0.5`. Seen were 0, 0.25, 0.5, 1 and 2, on lists of
the first stage and of relevant documents alone (MiniLM, E5). The more it counts, the worse `perspectives` and
`wordnet` are ranked, and mostly the better relevant documents alone; with 0.5 alone the interval of `key-points`
against a random order stays above -0.02 with both kinds of vectors. Weights learned for such topics were tried, too,
half-way from the package's to what the other two collections and generated topics make of them: left out,
`perspectives` (+0.025) and `wordnet` (+0.014) gain, `key-points` loses where all is relevant (-0.017): not taken."""


def page(root: Path) -> str:
    """The whole page."""
    parts = [ABOUT]
    for part in PARTS:
        parts += [f"## {part.title}", table(part, list(lines(part, list(cells_of(part, root)))))]
    software = ", ".join(f"{name} {number}" for name, number in versions().items())
    return "\n\n".join([*parts, f"Made by `make learned-choice` at commit {commit()} ({software})."]) + "\n"


if __name__ == "__main__":
    text = page(data_root())
    with written_atomically(PAGE) as temporary:
        temporary.write_text(text, encoding="utf-8")
