"""`python -m studies safe-default`: what the default ranker does without named subtopics, and what chose it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from srd_agents.heuristic.config import TradeOffConfig
from srd_agents.heuristic.order import RetrievalOrder
from srd_agents.heuristic.relevance import relevance_of
from srd_agents.heuristic.trade_off import DPP, standardised
from srd_agents.registry import make_ranker
from srd_agents.training.options import versions
from srd_gym.data import LsaVectorizer, load_ambient, load_texts
from srd_gym.dtypes import IntArray
from srd_gym.files import written_atomically
from srd_gym.measures import evaluate
from srd_gym.protocols import Ranker
from srd_gym.topic import Topic, TopicSet
from srd_train.commands.console import Output
from srd_train.experiment.provenance import commit
from srd_train.experiment.sources import data_root
from srd_train.report.markup import markdown
from srd_train.report.significance import difference_interval
from studies.sources.wordnet import load_wordnet

PAGE = Path(__file__).parents[2] / "docs" / "results" / "safe-default.md"
MEASURE = "alpha_nDCG@10"
MOST = 100  # queries of a collection, spread over it
OPEN = ("AMBIENT", "key-points", "perspectives", "medical-questions", "reference-lists", "wordnet")
CLOSED = ("author-names", "word-senses", "perspectives, odd")
THRESHOLDS = (0.9, 0.95, 0.98, 0.99, 0.995, 0.9999)


class Corrected(RetrievalOrder):
    """DPP by score plus weighted cosine with the query; cosine and diversity count from a correlation of both on."""

    def __init__(self, cosine: float, least: float = -2.0, lambda_: float = 0.6) -> None:
        self.cosine, self.least, self.lambda_ = cosine, least, lambda_

    def rank(self, topic: Topic, k: int) -> IntArray:
        """The first k."""
        scores = standardised(np.asarray(topic.retrieval_scores))
        cosines = standardised(relevance_of(topic, "cosine", "the study"))
        far = float(np.clip(((scores * cosines).mean() - self.least) / 0.3, 0.0, 1.0))
        mixed = scores + far * self.cosine * cosines
        ranker = DPP(TradeOffConfig(lambda_=1 - far * (1 - self.lambda_), relevance="scores"))
        again, order = _ordered(topic, mixed)
        return order[ranker.rank(again, k)]


SINGLE: dict[str, Ranker] = {
    "random": make_ranker("random"),
    "cosine": make_ranker("dpp", lambda_=1.0),
    "dpp": make_ranker("dpp"),
    "relational-pretrained": make_ranker("relational-pretrained", novelty=0.5),
}
WITH_SCORES: dict[str, Ranker] = {
    "the order": make_ranker("retrieval-order"),
    "dpp": make_ranker("dpp"),
    "dpp, lambda 0.9": make_ranker("dpp", lambda_=0.9),
    "relational-pretrained": make_ranker("relational-pretrained"),
    "score and half the cosine": Corrected(0.5),
    "the same, as far as both agree": Corrected(0.5, 0.3),
    "the same, nearer to the order": Corrected(0.5, 0.3, 0.8),
}

Key = tuple[str, str]  # collection, vectors
Cell = tuple[Key, TopicSet]
Table = dict[str, dict[Key, NDArray[np.float64]]]  # by ranker: MEASURE by query and first stage, [T]


def cells(root: Path, names: Sequence[str]) -> Iterator[Cell]:
    """All topics of these collections, with the vectors of their files, and with LSA fitted on their candidates."""
    for name in names:
        folder = root / (name.lower() if name in ("AMBIENT", "wordnet") else f"texts/{name.split(',')[0]}")
        file: Any = folder / "minilm-384.npz"
        if name in ("AMBIENT", "wordnet"):
            found = [load_ambient(folder, vectors=file) if name == "AMBIENT" else load_wordnet(folder, words=300)]
        else:
            stages: Any = ("none",) if name in CLOSED[:2] else ("bm25", "cosine")
            found = [load_texts(folder, vectors=file, retrieve=stage) for stage in stages]
        for topics in (_kept(name, each) for each in found):
            lsa = LsaVectorizer(100).fit(text for topic in topics for text in topic.doc_texts or ())
            if name != "wordnet":
                yield (name, "MiniLM"), topics
            yield (name, "LSA"), lsa.apply(topics, transductive=True)


def _kept(name: str, topics: TopicSet) -> TopicSet:
    """Those that are judged, of `perspectives` the even or the odd ids, at most MOST; without subtopics' vectors."""
    digits = {"perspectives": "02468", "perspectives, odd": "13579"}.get(name)
    kept = [
        replace(topic, subtopic_vectors=None, subtopic_texts=None, pool=None, pool_ids=None)
        for topic in topics.trainable()
        if topic.n_candidates >= 10 and (digits is None or topic.query_id[-1] in digits)
    ]
    return topics.replace(kept[:: -(-len(kept) // MOST)])


def _ordered(topic: Topic, scores: NDArray[Any]) -> tuple[Topic, IntArray]:
    """The topic by falling scores, and the candidate that each of its candidates was."""
    order = np.argsort(-scores, kind="stable")
    return replace(replace(topic, retrieval_scores=None).take(order), retrieval_scores=scores[order]), order


def scored(topics: TopicSet) -> TopicSet:
    """With scores that fall along the candidates where there are none."""
    return topics.replace(
        t if t.retrieval_scores is not None else _ordered(t, np.arange(t.n_candidates, 0, -1))[0] for t in topics
    )


def noisy(topics: TopicSet) -> TopicSet:
    """By a noisy first stage: the cosine with the query, and 1.5 times as much noise."""
    rng = np.random.default_rng(0)
    cosines = [standardised(relevance_of(topic, "cosine", "the study")) for topic in topics]
    return topics.replace(
        _ordered(t, own + 1.5 * rng.standard_normal(len(own)))[0] for t, own in zip(topics, cosines, strict=True)
    )


def shuffled(topics: TopicSet) -> TopicSet:
    """Without scores, candidates in a random order."""
    rng = np.random.default_rng(0)
    return topics.replace(replace(t, retrieval_scores=None).take(rng.permutation(t.n_candidates)) for t in topics)


def table_of(found: Sequence[Cell], rankers: Mapping[str, Ranker], change: Callable[[TopicSet], TopicSet]) -> Table:
    """What all rankers come to."""
    table: Table = {name: {} for name in rankers}
    for key, given in found:
        topics = change(given)
        for name, ranker in rankers.items():
            rankings = dict(zip(topics.query_ids, ranker.rank_batch(topics, 10), strict=True))
            per_topic = evaluate(topics, rankings, [MEASURE], "candidates").per_topic
            scores = np.array([per_topic[query_id][MEASURE] for query_id in topics.query_ids])
            table[name][key] = np.append(table[name].get(key, ()), scores)
    return table


def left_out(table: Table, names: Sequence[str], baselines: Sequence[str]) -> dict[Key, str]:
    """For each key what is chosen without them, by the sum of mean and lowest gain over the best of the baselines."""

    def worth(name: str, key: Key) -> float:
        others = [k for k in table[name] if k[0] != key[0] and (k[1] != key[1] or key[0] == "wordnet")]
        gains = [table[name][k].mean() - max(table[base][k].mean() for base in baselines) for k in others]
        return float(np.mean(gains) + min(gains))

    return {key: max(names, key=lambda name: worth(name, key)) for key in table[names[0]]}


def duplicates(found: Sequence[Cell]) -> str:
    """What demoting near-duplicates costs or brings, by threshold."""
    rankers = {str(copies or "off"): make_ranker("cautious", copies=copies) for copies in (None, *THRESHOLDS)}
    table = table_of(found, rankers, scored)
    rows = [
        [*key, *(f"{(table[name][key] - off).mean():+.4f}" for name in rankers if name != "off")]
        for key, off in table["off"].items()
    ]
    return markdown(("collection", "vectors", *map(str, THRESHOLDS)), rows)


def without_scores(found: Sequence[Cell], *, choose: bool) -> str:
    """What a user would try first, and which of it is chosen without the collection and the vectors."""
    table = table_of(found, SINGLE, shuffled)
    columns = [*SINGLE, *(["left out"] if choose else [])]
    if choose:
        picked = left_out(table, list(SINGLE)[1:], ("cosine", "dpp"))
        table["left out"] = {key: table[name][key] for key, name in picked.items()}
    rows = [[*key, *(f"{table[name][key].mean():.3f}" for name in columns)] for key in table["random"]]
    means = (np.mean([scores.mean() for scores in table[name].values()]) for name in columns)
    return markdown(("collection", "vectors", *columns), [*rows, ["mean", "", *(f"{mean:.3f}" for mean in means)]])


def with_scores(found: Sequence[Cell]) -> str:
    """What was tried in place of the order, less the order."""
    rows = []
    for title, change in (("", scored), (", noisy", noisy)):
        table = table_of(found, WITH_SCORES, change)
        order = table["the order"]
        picked = left_out(table, list(WITH_SCORES), ("the order",))
        table["chosen on the others"] = {key: table[name][key] for key, name in picked.items()}
        for name, row in list(table.items())[1:]:
            gains = {key: float((scores - order[key]).mean()) for key, scores in row.items()}
            low, high = difference_interval(*((row[key], order[key]) for key in row))
            worst = min(gains, key=lambda key: gains[key])
            both = [np.mean([gain for key, gain in gains.items() if key[1] == kind]) for kind in ("MiniLM", "LSA")]
            less = f"{np.mean(list(gains.values())):+.3f} [{low:+.3f}, {high:+.3f}]"
            rows.append([name + title, less, *map("{:+.3f}".format, both), f"{gains[worst]:+.3f} ({', '.join(worst)})"])
    return markdown(("ranker", "less the order [95% interval]", "MiniLM", "LSA", "worst"), rows)


ABOUT = f"""# The safe default

What [`cautious`](../agents.md#without-judgments) does without named subtopics, and what it was chosen from.
{MEASURE}, ideal of the candidates, at most {MOST} queries of a collection. Candidates by BM25 and by MiniLM's cosine;
AMBIENT: the engine's order; WordNet (Debian's wordnet-base): BM25. Vectors: MiniLM, and LSA (width 100) fitted on the
candidates' texts.

**Near-duplicates**: gains over the order when documents from this cosine on come last, by `copies=`.

**Without scores** candidates stand shuffled, and `cautious` is DPP. *left out*: of cosine, DPP and
`relational-pretrained`, the one chosen without the collection and without these vectors, by the sum of mean and
lowest gain over the better of cosine and DPP: DPP in most rows, cosine in the others. On AMBIENT, whose queries are
single ambiguous words, all that weighs the cosine with the query is below random. Tried, and not taken: standard
scores of the cosine and of how near the nearest candidates are, and no query where no document stands out by its
cosine. That gains on the collections that chose it (AMBIENT most of all) and, chosen without them, is level with DPP;
so is a learned choice between DPP and `relational-pretrained`. Without a query the default is `relational-pretrained`
with `novelty=0.5`.

**With scores** the order stays. What gains over it does so by adding the query's cosine to BM25 or to noise, and loses
where the vectors are poor or an engine knows more than they do. Tried without a table, and worse: a number per query
that says how far to go, learned from how scores fall and agree with cosines, how alike the top is, and density;
relevance by rank; DPP within ties; isolated documents later. No weights were trained anew."""


OPENED = """## Closed collections

`author-names` and `word-senses` (all candidates are relevant, in a fixed shuffle) and the claims of `perspectives` with
odd ids. Opened once for an estimate of relevance that is not taken, and once more for this page; nothing was chosen on
them."""


@dataclass(frozen=True, kw_only=True)
class SafeDefault:
    """Write the page of the default ranker from `ambient`, `texts` and `wordnet` below SRD_DATA_DIR."""

    closed: bool = False
    """Open the closed collections, too. Nothing may be chosen after that."""

    def execute(self, output: Output) -> int:
        """Rank and write."""
        found = list(cells(data_root(), OPEN))
        parts = [ABOUT, "## Near-duplicates", duplicates(found), "## Without scores"]
        parts += [without_scores(found, choose=True), "## With scores", with_scores(found)]
        if self.closed:
            found = list(cells(data_root(), CLOSED))
            parts += [OPENED, duplicates(found), without_scores(found, choose=False)]
        arguments = " ARGS=--closed" if self.closed else ""
        software = ", ".join(f"{name} {number}" for name, number in versions().items())
        parts.append(f"Made by `make safe-default{arguments}` at commit {commit()} ({software}).")
        with written_atomically(PAGE) as temporary:
            temporary.write_text("\n\n".join(parts) + "\n", encoding="utf-8")
        output.notice(str(PAGE))
        return 0
