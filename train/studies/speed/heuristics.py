"""What `make speed` measures of the heuristics: MMR, MSD and DPP against pyversity, by the same objective.

Shapes: N candidates, F vector width, k documents.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from srd_agents.registry import make_ranker
from srd_gym.protocols import Ranker
from srd_gym.topic import FloatArray, Topic
from studies.speed.machine import limit
from studies.speed.race import Contender, Outcome, race

LARGE, LARGE_K = (1000, 384), 20
"""One topic as a retriever hands it over: N, F and how many are chosen."""
SMALL, SMALL_K, SMALL_COUNT = (100, 128), 10, 256
"""Many smaller topics at once."""

GROUPS = (5, 20, 30, 300)
"""In how many clusters documents stand that are alike."""

_NAMES = {"mmr": "MMR", "msd": "MSD", "dpp": "DPP"}
_TARGETS = {"mmr": 3.0, "msd": 1.5, "dpp": 3.0}
_BATCH_TARGET = 1.5
_OPTIONS: dict[str, dict[str, Any]] = {
    # pyversity takes negative cosines as 0 in MMR; its DPP's exponent 1 - diversity is lambda / (2 (1 - lambda)).
    "mmr": {"lambda_": 0.5, "relevance": "raw_scores", "clip": True},
    "msd": {"lambda_": 0.5, "relevance": "raw_scores"},
    "dpp": {"lambda_": 0.5, "relevance": "raw_scores"},
}
"""What makes our objective pyversity's at its default diversity of 0.5."""


def drawn(count: int, documents: int, width: int, *, groups: int = 20) -> list[Topic]:
    """Topics with random vectors and falling random scores.

    Args:
        count: how many.
        documents: N.
        width: F.
        groups: documents share a direction with all, and another with those of their cluster, as texts on one query
            do; their cosines are about 0.5 and 0.85. This is how many clusters; 0: random vectors.
    """
    rng = np.random.default_rng(0)
    topics = []
    for index in range(count):
        vectors = rng.standard_normal((documents, width), dtype=np.float32)
        if groups:
            centres = rng.standard_normal((groups, width), dtype=np.float32)
            shared = rng.standard_normal(width, dtype=np.float32)
            vectors = 0.6 * vectors + 0.8 * centres[rng.integers(groups, size=documents)] + shared
        topics.append(_topic(index, vectors.astype(np.float32), np.sort(rng.random(documents, dtype=np.float32))[::-1]))
    return topics


def heuristic(name: str, *, batch: bool, groups: int, rounds: int, size: float = 1.0) -> Outcome:
    """Rankings by a heuristic, against the package pyversity, which ranks one topic at a time.

    Args:
        name: mmr, msd or dpp.
        batch: many small topics at once instead of one large one at a time.
        groups: as `drawn` says.
        rounds: how many count.
        size: share of the full work, for tests.

    Raises:
        ImportError: pyversity is not installed.
    """
    import pyversity

    documents, width = SMALL if batch else LARGE
    k = SMALL_K if batch else LARGE_K
    topics = drawn(max(2, int(SMALL_COUNT * size)) if batch else 4, documents, width, groups=groups)
    ranker = make_ranker(name, **_OPTIONS[name])
    strategy = pyversity.Strategy(name)
    repeats = max(1, int((2 if batch else 25) * size))
    inputs: list[tuple[Any, Any]] = [(topic.doc_vectors, topic.retrieval_scores) for topic in topics]

    def theirs() -> int:
        for _ in range(repeats):
            for embeddings, scores in inputs:
                pyversity.diversify(embeddings, scores, k, strategy=strategy, diversity=0.5)
        return repeats * len(topics)

    vectors = f"alike, {groups} groups" if groups else "random vectors"
    number = f"{len(topics)} topics at once" if batch else "one topic"
    return race(
        f"{_NAMES[name]}, top {k} of {documents}, F = {width}, {vectors}, {number}",
        "topics/s",
        Contender(name="srd_agents", run=_ours(ranker, topics, k, repeats, batch=batch)),
        Contender(name="pyversity", run=theirs),
        target=_BATCH_TARGET if batch else _TARGETS[name],
        rounds=rounds,
        limit=limit(read=4.0 * documents * width),
    )


def heuristic_cases(rounds: int, size: float = 1.0) -> Iterator[tuple[str, Callable[[], Outcome]]]:
    """The heuristics' lines of the speed table: a name to show while it runs, and the case."""
    for name in _NAMES:
        for groups in (0, *GROUPS) if name != "msd" else (20,):
            vectors = f"{groups} groups" if groups else "random"
            yield (
                f"heuristics {name}, {vectors}",
                partial(heuristic, name, batch=False, groups=groups, rounds=rounds, size=size),
            )
        yield f"heuristics {name}, batch", partial(heuristic, name, batch=True, groups=0, rounds=rounds, size=size)


def _ours(ranker: Ranker, topics: Sequence[Topic], k: int, repeats: int, *, batch: bool) -> Callable[[], int]:
    """Our side: topic by topic, or all at once."""

    def run() -> int:
        for _ in range(repeats):
            if batch:
                ranker.rank_batch(topics, k)
            else:
                for topic in topics:
                    ranker.rank(topic, k)
        return repeats * len(topics)

    return run


def _topic(index: int, vectors: FloatArray, scores: FloatArray) -> Topic:
    """A topic without judgments."""
    ids = tuple(map(str, range(len(vectors))))
    return Topic(query_id=str(index), doc_ids=ids, doc_vectors=vectors, retrieval_scores=scores)
