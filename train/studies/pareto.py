"""The picture of relevance against diversity on docs/environments.md: `python -m studies.pareto` draws it anew.

The two sides are the default rewards of `srd_gym.wrappers.VectorReward`.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from srd_agents.registry import make_ranker
from srd_gym.data.synthetic import generate
from srd_gym.measures import evaluate
from srd_gym.protocols import Ranker
from srd_gym.topic import TopicSet
from studies.figures import empty_figure, look, save_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FIGURE = Path(__file__).parents[2] / "docs" / "pictures" / "pareto.svg"
SIDES = ("D_nDCG@10", "StRecall@10")
LAMBDAS = tuple(step / 10 for step in range(11))
"""Weights of relevance against novelty in MMR."""
OTHERS = {"retrieval order": "retrieval-order", "random": "random"}


def point(ranker: Ranker, topics: TopicSet) -> tuple[float, float]:
    """Mean relevance and mean diversity of a ranker's first ten."""
    rankings = dict(zip(topics.query_ids, ranker.rank_batch(topics, 10), strict=True))
    means = evaluate(topics, rankings, list(SIDES)).measures
    return means[SIDES[0]], means[SIDES[1]]


def sweep(topics: TopicSet) -> dict[str, list[tuple[float, float]]]:
    """The points of each line: MMR's by lambda, by relevance from scores and from cosines, and single ones."""
    lines = {
        f"MMR, relevance by {name}": [
            point(make_ranker("mmr", lambda_=weight, relevance=name), topics) for weight in LAMBDAS
        ]
        for name in ("matched", "cosine")
    }
    return lines | {label: [point(make_ranker(name), topics)] for label, name in OTHERS.items()}


def draw(lines: dict[str, list[tuple[float, float]]], topics: str) -> Figure:
    """The figure."""
    figure, ((axes,),) = empty_figure(1, 1, (7.0, 4.4))
    for number, (label, points) in enumerate(lines.items()):
        axes.plot(*zip(*points, strict=True), label=label, **look(number))
        if len(points) > 1:
            for place in (0, -1):
                axes.annotate(f"λ = {LAMBDAS[place]:g}", points[place], textcoords="offset points", xytext=(6, -4))
    axes.set(xlabel=f"relevance: {SIDES[0]}", ylabel=f"diversity: {SIDES[1]}", title=topics)
    axes.legend(frameon=False)
    return figure


def main() -> None:
    """Write the figure."""
    topics = generate("serp", n_topics=1_000, seed=0)
    lines = sweep(topics)
    save_figure(lambda: draw(lines, "synthetic:serp, 1,000 topics"), FIGURE)


if __name__ == "__main__":
    main()
