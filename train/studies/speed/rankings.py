"""Scoring, and rankers that need no training, for the speed table.

Shapes: N candidates, F vector width, k documents.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from srd_agents.registry import make_ranker
from srd_gym.core.arrays import TopicArrays
from srd_gym.measures import measure, references
from srd_gym.protocols import Ranker
from srd_gym.pruning.knn import neighbour_distances
from srd_gym.topic import Topic
from studies.speed.race import MissingError, Side, Work, limit, share, timed
from studies.speed.topics import alike, web

# pyversity takes negative cosines as 0 in MMR; its DPP's exponent 1 - diversity is lambda / (2 (1 - lambda)).
_PYVERSITYS: dict[str, Any] = {"lambda_": 0.5, "relevance": "scores"}
"""What makes our objective pyversity's at its default diversity of 0.5."""
_EACH = 5_300
"""Multiply-adds in products for each candidate at each rank: the network's, and relations to what is ranked."""
_F = 384


def scoring(depth: int, size: float) -> Work:
    """alpha_nDCG@10 of rankings of 200 candidates, against pyndeval's evaluator on pre-parsed qrels.

    Args:
        depth: documents of each list that both get.
        size: share of the full work.

    Raises:
        ImportError: pyndeval is not installed.
    """
    import pyndeval

    topics = web(50, 200, 2)
    count, lists = share(size, 100_000, len(topics)), share(size, 2_000, len(topics))
    owner, judgments = np.arange(count) % len(topics), TopicArrays.of(topics).judgments
    rankings = np.argsort(np.random.default_rng(0).random((count, 200)), axis=1)[:, :depth].astype(np.int64)
    bound = measure("alpha_nDCG@10").bind(references(topics, "candidates"), depth, topics.max_subtopics)
    lines = [
        (topics[i].query_id, topics[i].doc_ids[j], float(depth - rank))
        for i, ranking in zip(owner[:lists], rankings[:lists], strict=True)
        for rank, j in enumerate(ranking)
    ]
    qrels = [
        (topic.query_id, name, doc_id, int(grade))
        for topic, rows in zip(topics, judgments, strict=True)
        for doc_id, row in zip(topic.doc_ids, rows, strict=True)
        for name, grade in zip(topic.subtopic_ids, row, strict=False)
    ]
    evaluator = pyndeval.RelevanceEvaluator(qrels, ["alpha-nDCG@10"])
    ours = timed(lambda: bound.score_rankings(rankings, judgments, owner), count)
    return Work(ours, timed(lambda: list(evaluator.evaluate_iter(lines)), lists))


def one_by_one(ranker: Ranker, topics: list[Topic], k: int) -> Callable[[], None]:
    """Ranking topic by topic."""

    def run() -> None:
        for topic in topics:
            ranker.rank(topic, k)

    return run


def heuristic(name: str, groups: int, size: float) -> Work:
    """One large topic at a time, ranked by mmr, msd or dpp as pyversity does; `groups` as `alike` says."""
    return _beside_pyversity(name, alike(4, 1000, _F, groups), 20, share(size, 25), batch=False)


def heuristics(name: str, size: float) -> Work:
    """Many smaller topics at once, likewise."""
    return _beside_pyversity(name, alike(share(size, 256, 2), 100, 128, 0), 10, share(size, 2), batch=True)


def _beside_pyversity(name: str, topics: list[Topic], k: int, times: int, *, batch: bool) -> Work:
    """Rankings by a heuristic, against the package pyversity, which ranks one topic at a time.

    Raises:
        ImportError: pyversity is not installed.
    """
    import pyversity

    ranker = make_ranker(name, **_PYVERSITYS, **({"clip": True} if name == "mmr" else {}))
    strategy = pyversity.Strategy(name)
    inputs: list[tuple[Any, Any]] = [(topic.doc_vectors, topic.retrieval_scores) for topic in topics]

    def theirs() -> None:
        for embeddings, scores in inputs:
            pyversity.diversify(embeddings, scores, k, strategy=strategy, diversity=0.5)

    ours = partial(ranker.rank_batch, topics, k) if batch else one_by_one(ranker, topics, k)
    count, read = len(topics), limit(read=float(inputs[0][0].nbytes))
    return Work(timed(ours, count, times), timed(theirs, count, times), read)


def long_list(name: str, size: float) -> Work:
    """The top 20 of 100,000 documents that are alike."""
    topic, ranker = alike(1, share(size, 100_000, 100), _F)[0], make_ranker(name)
    return Work(timed(lambda: ranker.rank(topic, 20)), None, limit(read=4.0 * len(topic.doc_ids) * _F))


def relational(candidates: int, k: int, times: int, size: float) -> Work:
    """`relational-pretrained`, a topic at a time."""
    ours = one_by_one(make_ranker("relational-pretrained"), alike(4, candidates, _F), k)
    return Work(timed(ours, 4, share(size, times)), None, limit(multiply_adds=_EACH * candidates * k))


def relational_batch(candidates: int, k: int, size: float) -> Work:
    """`relational-pretrained` with a batch of topics, against the same topics one by one."""
    topics, ranker = alike(share(size, 256, 2), candidates, _F), make_ranker("relational-pretrained")
    ours, theirs = partial(ranker.rank_batch, topics, k), one_by_one(ranker, topics, k)
    count, least = len(topics), limit(multiply_adds=_EACH * candidates * k)
    return Work(timed(ours, count), timed(theirs, count), least)


def without_scores(candidates: int, k: int, query: bool, size: float) -> Work:
    """The default, a topic at a time, on topics without scores."""
    ranker, rng = make_ranker("safe"), np.random.default_rng(1)
    topics = [replace(topic, retrieval_scores=None) for topic in alike(2, candidates, _F)]
    if query:
        topics = [replace(topic, query_vector=rng.standard_normal(_F, dtype=np.float32)) for topic in topics]
    return Work(timed(one_by_one(ranker, topics, k), len(topics), share(size, 20_000 / candidates)))


def distances(size: float) -> Work:
    """The distance matrix of 1,000 documents of width 384, against one product of two matrices of that size."""
    one, other = np.random.default_rng(0).standard_normal((2, 1_000, _F), dtype=np.float32)
    ours, theirs = partial(neighbour_distances, one, "euclidean"), partial(np.matmul, one, other.T)
    return Work(timed(ours, times=share(size, 20)), timed(theirs, times=share(size, 20)))


def evaluate(size: float) -> Work:
    """`srd evaluate` on the four TREC runs, the whole process.

    Raises:
        MissingError: the files are not here.
    """
    folder = Path(os.environ.get("SRD_DATA_DIR", "")) / "trec-web"
    qrels, runs = sorted(folder.glob("*.qrels.gz")), sorted(folder.glob("*.run.gz"))
    if not (qrels and runs):
        raise MissingError("it reads the TREC files below $SRD_DATA_DIR")
    words = ["-m", "srd_train.cli", "evaluate", "--qrels", *map(str, qrels), "--run", *map(str, runs)]
    return Work(_process(words))


def imports(module: str, size: float) -> Work:
    """A process that imports a module and ends."""
    return Work(_process(["-c", f"import {module}"]))


def _process(words: list[str]) -> Side:
    """Python with these words, the whole process; byte code is kept, as for users."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}

    def of_children() -> float:
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return used.ru_utime + used.ru_stime

    def side() -> float:
        before = of_children()
        subprocess.run([sys.executable, *words], env=environment, check=True, stdout=subprocess.DEVNULL)
        return 1 / (of_children() - before)

    return side
