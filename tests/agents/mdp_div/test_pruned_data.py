"""Pruning and NTN-DIV on the real files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from srd_agents.registry import make_ranker
from srd_agents.validation import Validation
from srd_gym.core import SelectionCore
from srd_gym.pruning import KNN

pytestmark = pytest.mark.data


def test_full_lists_of_trec_rl4srd_need_a_third_of_the_evaluations(data_dir: Path) -> None:
    from srd_gym.data.labels import load_rl4srd
    from srd_gym.data.simulate import simulate_vectors

    topics = simulate_vectors(load_rl4srd(data_dir / "rl4srd", missing="drop")[:40], width=32)
    offered = []
    for pruning in (None, KNN(0.3)):
        core = SelectionCore(topics, pruning=pruning)
        core.reset(range(len(topics)))
        offered.append(0)
        while not core.done.all():
            offered[-1] += int(core.allowed[~core.done].sum())
            core.step(np.where(core.allowed, np.random.default_rng(0).random(core.allowed.shape), -1).argmax(1))
    assert offered[1] / offered[0] == pytest.approx(1 / 3, abs=0.02)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("ntn-div", {"slices": 2}),
        ("mdp-div-knn30", {"standardize": True}),
        ("mdp-div-ntn-d", {"ntn_epochs": 1, "ntn_slices": 2}),
        ("mdp-div-ntn-e", {"ntn_epochs": 1, "ntn_slices": 2}),
    ],
)
def test_ambient_is_ranked(data_dir: Path, name: str, options: dict[str, Any]) -> None:
    from srd_gym.data.ambient import load_ambient

    topics = load_ambient(data_dir / "ambient", vectors=data_dir / "ambient" / "minilm-384.npz")[:16]
    ranker: Any = make_ranker(name, epochs=1, **options)
    ranker.fit(topics[:10], topics[10:], seed=0)
    rankings = ranker.rank_batch(topics[10:], 10)
    assert all(len(set(ranking.tolist())) == 10 for ranking in rankings)
    assert 0.2 < Validation(topics[10:], "alpha_nDCG@10").score(rankings).mean() <= 1
