"""Do label-free numbers predict the gain of diversifying? `python -m studies audit`, two minutes.

Each collection is left out in turn. Least squares on the queries of the others predict from three numbers of a list
what an action gains; the page compares their error with that of constants. And it shows what the advice of `srd audit`
gains, without judgments, and by those of half of the queries on the other half.

Shapes: T queries of a collection, A numbers of a list.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from srd_gym.data import load_ambient, load_texts, load_topics
from srd_gym.dtypes import ScoreArray
from srd_gym.measures import evaluate
from srd_gym.measures.label_free import Sources
from srd_gym.topic import TopicSet
from srd_train.commands.console import Output
from srd_train.experiment.provenance import commit
from srd_train.experiment.sources import COLLECTIONS, data_root
from srd_train.report.actions import CAP, ORDER, SAFE, actions, bare
from srd_train.report.advice import unmeasured
from srd_train.report.markup import markdown, write_page
from srd_train.report.significance import holm, paired_test
from srd_train.report.tables import SIGNIFICANT

NAME = "audit"
PAGE = Path(__file__).parents[2] / "docs" / "audit_study.md"
QUALITY = "alpha_nDCG@10"
NUMBERS = ("ILS@10", "duplicates@10", "score@10")
MOST, POOL, K = 100, 50, 10
PARTS = {"reference-lists": "-", "textbook-sections": "-"}
"""Collections whose document ids begin with a source, and what ends it."""


@dataclass(frozen=True, kw_only=True)
class Measured:
    """A collection."""

    numbers: ScoreArray
    """[T, A] `NUMBERS` of the lists as they are."""
    gains: dict[str, ScoreArray]
    """Action -> [T] gain in `QUALITY`."""
    advice: str
    """The action that advice without judgments names."""


def collections() -> Iterator[tuple[str, TopicSet]]:
    """Names and topics, spread over each collection, whose candidates a first stage found."""
    root = data_root()
    yield "words", load_topics("words")
    yield "ambient", load_ambient(root / "ambient", vectors=root / "ambient" / "minilm-384.npz")
    for name in COLLECTIONS:
        folder = root / name
        topics = load_texts(folder, vectors=folder / "minilm-384.npz", retrieve="cosine")
        usable = [topic for topic in topics.trainable() if topic.n_candidates >= K]
        step = -(-len(usable) // MOST)
        yield name.removeprefix("texts/"), topics.replace(usable[step // 2 :: step])


def measured(name: str, topics: TopicSet) -> Measured:
    """Numbers, gains and advice of a collection."""
    ids = {doc_id for topic in topics for doc_id in topic.doc_ids} if name in PARTS else ()
    sources: Sources | None = {one: one.rpartition(PARTS[name])[0] for one in ids} or None
    plain = [bare(topic) for topic in topics]
    ranked = {action.name: action.rank(plain, POOL, K, sources) for action in actions(sources)}
    ranked[ORDER] = [np.arange(K) for _ in topics]
    asked = [QUALITY, *NUMBERS]
    rankings = {action: dict(zip(topics.query_ids, own, strict=True)) for action, own in ranked.items()}
    scored = {action: evaluate(topics, own, asked) for action, own in rankings.items()}

    def column(action: str, name: str) -> ScoreArray:
        return np.array([row[name] for row in scored[action].per_topic.values()])

    advice = unmeasured({action: own.measures for action, own in scored.items()}, K, scored=True)
    return Measured(
        numbers=np.column_stack([column(ORDER, one) for one in NUMBERS]),
        gains={action: column(action, QUALITY) - column(ORDER, QUALITY) for action in ranked},
        advice=advice.row,
    )


def predicted(others: list[Measured], left: Measured, action: str) -> float:
    """Mean gain of an action on a collection, by least squares on the queries of the others."""
    weights = np.concatenate([np.full(len(each.numbers), len(each.numbers) ** -0.5) for each in others])
    rows = np.concatenate([np.insert(each.numbers, 0, 1.0, axis=1) for each in others])
    gains = np.concatenate([each.gains[action] for each in others])
    slopes = np.linalg.lstsq(rows * weights[:, None], gains * weights)[0]
    return float(slopes[0] + left.numbers.mean(axis=0) @ slopes[1:])


def errors(found: dict[str, Measured], action: str) -> list[float]:
    """Mean absolute errors on collections left out: of the model, "always", "never", the best constant in hindsight."""
    true = np.array([each.gains[action].mean() for each in found.values()])
    others = [[each for other, each in found.items() if other != name] for name in found]
    model = [predicted(several, left, action) for several, left in zip(others, found.values(), strict=True)]
    always = (true.sum() - true) / (len(true) - 1)
    return [float(np.abs(guess - true).mean()) for guess in (np.array(model), always, 0.0, np.median(true))]


def by_half(each: Measured) -> str:
    """Gain, on half of the queries, of the action that gains significantly and most on the others: mean and worst."""
    rng, gains = np.random.default_rng(0), np.array([own for name, own in each.gains.items() if name != CAP])
    found = []
    for _ in range(100):
        one, other = np.array_split(rng.permutation(gains.shape[1]), 2)
        best = int(gains[:, one].mean(axis=1).argmax())
        p_value = holm([paired_test((own[one], np.zeros(len(one)))) for own in gains])[best]
        taken = p_value < SIGNIFICANT and gains[best, one].mean() > 0
        found.append(gains[best, other].mean() if taken else 0.0)
    return f"{np.mean(found):+.4f} ({np.min(found):+.4f})"


def part_of(found: dict[str, Measured]) -> str:
    """The page, below its title."""
    names = [action.name for action in actions(None) if action.name != SAFE]
    wrong = {name: errors(found, name) for name in names}
    shown = [*names, CAP]
    heads = [
        "collection",
        "queries",
        "near-duplicates",
        *shown,
        "advice without judgments",
        "by half of the judgments (worst of 100)",
    ]
    rows = [
        [
            name, str(len(each.numbers)), f"{each.numbers[:, 1].mean():.2f}",
            *(f"{each.gains[one].mean():+.3f}" if one in each.gains else "-" for one in shown),
            f"{each.gains[each.advice].mean():+.4f} ({each.advice})", by_half(each),
        ]
        for name, each in found.items()
    ]  # fmt: skip
    better = sum(own[0] < min(own[1:]) for own in wrong.values())
    worst = min(float(each.gains[each.advice].mean()) for each in found.values())
    said = f"The model has the lowest error for {better} of {len(wrong)} actions"
    heads_of_errors = ["action", "model", "always the mean gain", "never (0)", "best constant in hindsight"]
    parts = [
        f"Mean gain in {QUALITY} over keeping the order, on pools of {POOL}:",
        markdown(heads, rows),
        f"The advice without judgments costs at most {abs(min(worst, 0.0)):.4f} of {QUALITY} on any collection.",
        f"Mean absolute error of a predicted gain, on collections left out, by {', '.join(NUMBERS)}:",
        markdown(heads_of_errors, [[name, *(f"{value:.4f}" for value in own)] for name, own in wrong.items()]),
        said + (", so `srd audit` predicts no gain." if better < len(wrong) else "."),
        f"Made by `python -m studies {NAME}` at commit {commit()}.",
    ]
    return "\n\n".join(parts)


@dataclass(frozen=True, kw_only=True)
class Audits:
    """Measure what label-free numbers predict, and write docs/audit_study.md."""

    def execute(self, output: Output) -> int:
        """Measure and write."""
        found = {name: measured(name, topics) for name, topics in collections()}
        write_page(PAGE, NAME, "What predicts a gain of diversifying?", part_of(found))
        output.notice(str(PAGE))
        return 0
