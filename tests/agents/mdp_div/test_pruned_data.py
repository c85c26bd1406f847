"""Pruning and NTN-DIV on the real files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from srd_agents.registry import make_ranker
from srd_agents.validation import Validation

pytestmark = pytest.mark.data


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
