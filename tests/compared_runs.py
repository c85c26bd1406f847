"""The runs that `made_runs` makes, in the words of `srd compare`, and the measures that tests compare them by."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from srd_gym.measures import Evaluation

MEASURES = ("alpha_nDCG@5", "StRecall@5", "NRBP")
NAMES = ("first", "second", "third")
QUICK = ("--measures", *MEASURES)


def words(made: dict[str, Path], *names: str) -> list[object]:
    return ["compare", *(made[name] for name in names or NAMES), "--qrels", made["qrels"], *QUICK]


def values_of(evaluated: Evaluation, name: str) -> np.ndarray:
    """Scores by topic."""
    return np.array([scores[name] for scores in evaluated.per_topic.values()])
