"""Several runs fused into one list per query, a first stage whose result rankers then diversify."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Literal, get_args

import numpy as np

from srd_gym.checks import check_option
from srd_gym.dtypes import ScoreArray
from srd_gym.in_memory import RunSource, as_run
from srd_gym.trec_files import Run

RECIPROCAL_OFFSET = 60
"""Number that Cormack et al. add to a rank."""
Fusion = Literal["rrf", "combsum", "combmnz"]
"""Reciprocal rank fusion (Cormack, Clarke & Buettcher, SIGIR 2009); CombSUM and CombMNZ (Fox & Shaw, TREC-2 1993)."""


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
    check_option("fusion", method, get_args(Fusion))
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


def _by_rank(scores: ScoreArray) -> ScoreArray:
    """[N] votes by rank alone."""
    return 1.0 / (RECIPROCAL_OFFSET + np.arange(1, len(scores) + 1))


def _min_max(scores: ScoreArray) -> ScoreArray:
    """[N] scores scaled to [0, 1]."""
    low, high = scores.min(), scores.max()
    return (scores - low) / (high - low) if high > low else np.ones(len(scores))
