"""Scoring, rankers that need no training, and what stands around them, for the speed table.

Shapes: N candidates, F vector width, k documents.
"""

from __future__ import annotations

import base64
import json
import os
import resource
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from srd_agents import diversify
from srd_agents.heuristic.relevance import cosines
from srd_agents.registry import make_ranker
from srd_gym.core.arrays import TopicArrays
from srd_gym.measures import parse_measure, references
from srd_gym.protocols import Ranker
from srd_gym.topic import Topic
from studies.speed.race import Work, limit, share, timed
from studies.speed.topics import alike, web

# pyversity takes negative cosines as 0 in MMR; its DPP's exponent 1 - diversity is lambda / (2 (1 - lambda)).
_PYVERSITYS: dict[str, Any] = {"lambda_": 0.5, "relevance": "scores"}
"""What makes our objective pyversity's at its default diversity of 0.5."""
_EACH = 5_300
"""Multiply-adds in products for each candidate at each rank: the network's, and relations to what is ranked."""
_F = 384
_TEN = 10


def scoring(size: float) -> Work:
    """alpha_nDCG@10 of the first ten of 200 candidates, against pyndeval's evaluator on pre-parsed qrels.

    Raises:
        ImportError: pyndeval is not installed.
    """
    import pyndeval

    topics = web(50, 200, 2)
    count, lists = share(size, 100_000, len(topics)), share(size, 2_000, len(topics))
    owner, judgments = np.arange(count) % len(topics), TopicArrays.of(topics).judgments
    rankings = np.argsort(np.random.default_rng(0).random((count, 200)), axis=1)[:, :_TEN].astype(np.int64)
    bound = parse_measure("alpha_nDCG@10").bind(references(topics, "candidates"), _TEN, topics.max_subtopics)
    lines = [
        (topics[i].query_id, topics[i].doc_ids[j], float(_TEN - rank))
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


def heuristic(name: str, batch: bool, size: float) -> Work:
    """Rankings by mmr, msd or dpp, against pyversity, which ranks one topic at a time.

    Args:
        name: of the ranker.
        batch: many topics at once, the vectors random; else one larger topic at a time, its documents alike.
        size: share of the full work.

    Raises:
        ImportError: pyversity is not installed.
    """
    import pyversity

    ranker = make_ranker(name, **_PYVERSITYS, **({"clip": True} if name == "mmr" else {}))
    strategy = pyversity.Strategy(name)
    topics = alike(share(size, 256, 2), 100, 128, 0) if batch else alike(4, 1_000, _F)
    k, times = (10, share(size, 2)) if batch else (20, share(size, 25))
    inputs: list[tuple[Any, Any]] = [(topic.doc_vectors, topic.retrieval_scores) for topic in topics]

    def theirs() -> None:
        for embeddings, scores in inputs:
            pyversity.diversify(embeddings, scores, k, strategy=strategy, diversity=0.5)

    ours = partial(ranker.rank_batch, topics, k) if batch else one_by_one(ranker, topics, k)
    count, read = len(topics), limit(read=float(inputs[0][0].nbytes))
    return Work(timed(ours, count, times), timed(theirs, count, times), read)


def diversified(count: int, query: bool, size: float) -> Work:
    """MMR's ten of some documents by `diversify`, from arrays, against pyversity, which is given the same scores.

    Args:
        count: documents.
        query: whether `diversify` gets the query's vector and a diversity in place of scores; pyversity's are then
            made by a product of matrices.
        size: share of the full work.

    Raises:
        ImportError: pyversity is not installed.
    """
    import pyversity

    (topic,) = alike(1, count, _F, 0)
    vectors, scores = np.array(topic.doc_vectors), np.array(topic.retrieval_scores)
    asked = np.random.default_rng(1).standard_normal(_F, dtype=np.float32)
    ours = partial(diversify, None, vectors, _TEN, "mmr", scores)
    if query:
        ours = partial(diversify, asked, vectors, _TEN, "mmr", diversity=0.5)

    def theirs() -> None:
        given = cosines(asked, vectors) if query else scores
        pyversity.diversify(vectors, given, _TEN, strategy=pyversity.Strategy.MMR, diversity=0.5)

    times = share(size, 50_000 / count)
    return Work(timed(ours, times=times), timed(theirs, times=times))


def json_lines(size: float) -> Work:
    """A line of 50 documents read into a topic: vectors in base64 against lists of numbers."""
    from srd_train.serving.json_lines import content_of, topic_of

    vectors = np.random.default_rng(0).standard_normal((50, _F), dtype=np.float32)
    forms = ({"float32": base64.b64encode(vectors.tobytes()).decode()}, vectors.tolist())
    lines = [json.dumps({"query_id": "1", "doc_ids": list(map(str, range(50))), "doc_vectors": one}) for one in forms]
    ours, theirs = (
        timed(partial(lambda line: topic_of(content_of(line)), line), 1, share(size, 200)) for line in lines
    )
    return Work(ours, theirs)


def long_list(name: str, size: float) -> Work:
    """The top 20 of 100,000 documents that are alike."""
    topic, ranker = alike(1, share(size, 100_000, 100), _F)[0], make_ranker(name)
    return Work(timed(lambda: ranker.rank(topic, 20)), None, limit(read=4.0 * len(topic.doc_ids) * _F))


def relational(size: float) -> Work:
    """`relational-pretrained`, the top 20 of 1,000, a topic at a time."""
    ours = one_by_one(make_ranker("relational-pretrained"), alike(4, 1_000, _F), 20)
    return Work(timed(ours, 4, share(size, 20)), None, limit(multiply_adds=_EACH * 1_000 * 20))


def relational_batch(size: float) -> Work:
    """`relational-pretrained`, the top 10 of 100 with a batch of topics, against the same topics one by one."""
    topics, ranker = alike(share(size, 256, 2), 100, _F), make_ranker("relational-pretrained")
    ours, theirs = partial(ranker.rank_batch, topics, _TEN), one_by_one(ranker, topics, _TEN)
    count, least = len(topics), limit(multiply_adds=_EACH * 100 * _TEN)
    return Work(timed(ours, count), timed(theirs, count), least)


def without_scores(query: bool, size: float) -> Work:
    """The default's top 10 of 10,000 documents without scores, a topic at a time."""
    ranker, rng = make_ranker("safe"), np.random.default_rng(1)
    topics = [replace(topic, retrieval_scores=None) for topic in alike(2, 10_000, _F)]
    if query:
        topics = [replace(topic, query_vector=rng.standard_normal(_F, dtype=np.float32)) for topic in topics]
    return Work(timed(one_by_one(ranker, topics, _TEN), len(topics), share(size, 2)))


def imports(size: float) -> Work:
    """A process that imports srd_agents and ends; byte code is kept, as for users."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}

    def of_children() -> float:
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return used.ru_utime + used.ru_stime

    def side() -> float:
        before = of_children()
        subprocess.run([sys.executable, "-c", "import srd_agents"], env=environment, check=True)
        return 1 / (of_children() - before)

    return Work(side)
