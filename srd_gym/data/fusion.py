"""Several runs fused into one list per query, a first stage whose result rankers then diversify.

Shapes: N candidates, R runs.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Literal, get_args

import numpy as np

from srd_gym.checks import check_option
from srd_gym.dtypes import ScoreArray
from srd_gym.in_memory import RunSource, as_run
from srd_gym.reading import shown, twice_in
from srd_gym.topic import FloatArray, Topic, TopicSet
from srd_gym.trec_files import Run

RECIPROCAL_OFFSET = 60
"""Number that Cormack et al. add to a rank."""
Fusion = Literal["rrf", "combsum", "combmnz"]
"""Reciprocal rank fusion (Cormack, Clarke & Buettcher, SIGIR 2009); CombSUM and CombMNZ (Fox & Shaw, TREC-2 1993)."""

FUSIONS: tuple[Fusion, ...] = get_args(Fusion)
"""The same as words."""


def fuse_runs(runs: Sequence[RunSource], method: Fusion = "rrf") -> Run:
    """One run of several: each query's documents of all runs that rank it.

    "rrf" sums 1 / (60 + rank) over the runs that have a document. "combsum" sums its scores, which are scaled to [0, 1]
    within run and query (1 each where all are equal); "combmnz" multiplies this by the number of runs that have it. The
    order of the runs does not matter; equal documents are ordered by id, falling, as in `read_run`.

    Args:
        runs: at least two, each as `srd_gym.data.as_run` takes it.
        method: how.

    Raises:
        ValueError: fewer than two runs, an unknown method, or what `as_run` refuses.
    """
    check_option("fusion", method, FUSIONS)
    read = [as_run(run) for run in runs]
    if len(read) < 2:
        raise ValueError(f"fusion: expected two runs or more, got {len(read)}")
    scaled: Callable[[ScoreArray], ScoreArray] = _by_rank if method == "rrf" else _min_max
    fused = Run(rankings={}, scores={})
    for query_id in dict.fromkeys(query_id for run in read for query_id in run.rankings):
        votes: defaultdict[str, list[float]] = defaultdict(list)
        for run in read:
            if query_id in run.rankings:
                for doc_id, vote in zip(run.rankings[query_id], scaled(run.scores[query_id]).tolist(), strict=True):
                    votes[doc_id].append(vote)
        # Exact sums: those of runs in another order are the same to the last bit.
        totals = {doc: math.fsum(own) * (len(own) if method == "combmnz" else 1) for doc, own in votes.items()}
        ordered = sorted(sorted(totals, reverse=True), key=totals.__getitem__, reverse=True)
        fused.rankings[query_id] = tuple(ordered)
        fused.scores[query_id] = np.array([totals[doc_id] for doc_id in ordered])
    return fused


def with_runs(topics: TopicSet, runs: Mapping[str, RunSource]) -> TopicSet:
    """The topics with ranks and scores of several runs in place of vectors of texts: nothing is read of judgments.

    `doc_vectors` are [N, 2 R]: per run 61 / (60 + rank), 1 at its first rank, then its score scaled to [0, 1] within
    run and query; both are 0 where it lacks the document. `doc_features` are the same columns, "NAME" and "NAME score",
    then one of fused scores per `Fusion`. Queries and subtopics have no vectors.

    Args:
        topics: whose candidates the runs rank.
        runs: by name, at least two; each as `srd_gym.data.as_run` takes it.

    Raises:
        ValueError: fewer than two runs, one that is named as a fusion, or what `as_run` refuses.
    """
    read = {name: as_run(run) for name, run in runs.items()}
    fused = {method: fuse_runs(list(read.values()), method) for method in FUSIONS}
    if twice := twice_in([*FUSIONS, *read, *(f"{name} score" for name in read)]):
        raise ValueError(f"runs: {shown(twice)} would be the name of two columns; give a run another name")

    def columns(topic: Topic) -> Topic:
        own = {
            f"{name}{ending}": _column(topic, run, scaled)
            for name, run in read.items()
            for ending, scaled in (("", _by_first_rank), (" score", _min_max))
        }
        of_fused = {method: _column(topic, run, np.asarray) for method, run in fused.items()}
        return replace(
            topic,
            query_vector=None,
            subtopic_vectors=None,
            doc_vectors=np.stack(list(own.values()), axis=1),
            doc_features=np.stack([*own.values(), *of_fused.values()], axis=1),
            feature_names=(*own, *of_fused),
        )

    encoder = f"ranks and scores of {', '.join(read)}"
    return topics.replace(map(columns, topics), transductive=False, simulated=False, encoder=encoder)


def _column(topic: Topic, run: Run, scaled: Callable[[ScoreArray], ScoreArray]) -> FloatArray:
    """[N] float32 numbers that a run gives the candidates; 0 for those that it lacks."""
    ranked = run.rankings.get(topic.query_id, ())
    values = dict(zip(ranked, scaled(run.scores[topic.query_id]).tolist() if ranked else (), strict=True))
    return np.array([values.get(doc_id, 0.0) for doc_id in topic.doc_ids], dtype=np.float32)


def _by_first_rank(scores: ScoreArray) -> ScoreArray:
    """[N] votes by rank, 1 for the first."""
    return (RECIPROCAL_OFFSET + 1) * _by_rank(scores)


def _by_rank(scores: ScoreArray) -> ScoreArray:
    """[N] votes by rank alone."""
    return 1.0 / (RECIPROCAL_OFFSET + np.arange(1, len(scores) + 1))


def _min_max(scores: ScoreArray) -> ScoreArray:
    """[N] scores scaled to [0, 1]."""
    scores = scores / 2  # so that no difference leaves the range of floats
    low, high = scores.min(), scores.max()
    return (scores - low) / (high - low) if high > low else np.ones(len(scores))
