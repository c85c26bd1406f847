"""Cosines that are equal but for rounding tie: lengths of vectors change no list."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from srd_agents import diversify
from srd_agents.heuristic.stepwise import EXACT, TIED, best, evened, falling_order
from srd_agents.pipeline.capabilities import rankers_with

Vectors = NDArray[Any]
COVERING = ("cover", "facility-location")
TAKE_DIVERSITY = rankers_with("with_diversity")


def bags(rng: np.random.Generator) -> tuple[Vectors, Vectors]:
    """A query's words and documents' words: many cosines are equal, and their sums."""
    documents = np.zeros((40, 30))
    for row in documents:
        row[rng.choice(30, rng.integers(2, 6), replace=False)] = 1
    return documents[:3].any(axis=0).astype(float), documents


def copies(rng: np.random.Generator) -> tuple[Vectors, Vectors]:
    """Some documents several times."""
    documents = rng.normal(size=(40, 16))
    documents[rng.integers(40, size=15)] = documents[rng.integers(40, size=15)]
    return rng.normal(size=16), documents


def groups(rng: np.random.Generator) -> tuple[Vectors, Vectors]:
    """Few directions, each as near to the query as others."""
    documents = np.eye(6)[rng.integers(6, size=30)] + 0.5 * np.eye(6)[rng.integers(6, size=30)]
    return np.ones(6), documents


def factors(rng: np.random.Generator, n: int) -> list[Vectors]:
    return [2.0 ** rng.integers(-8, 9, size=n), 10.0 ** rng.integers(-6, 7, size=n), rng.uniform(1e-3, 1e3, size=n)]


@pytest.mark.parametrize("kind", [bags, copies, groups])
@pytest.mark.parametrize("ranker", [*TAKE_DIVERSITY, *COVERING, "per_cost"])
def test_lengths_of_vectors_change_no_list(ranker: str, kind: Any) -> None:
    for seed in range(8):
        rng = np.random.default_rng(seed)
        query, documents = kind(rng)
        named: dict[str, Any] = {"subtopics": documents[5:8]} if ranker in ("xquad", "pm2", "vrisker") else {}
        weights = [None] if ranker in COVERING else [None, 0.0, 0.2, 0.5, 1.0]
        if ranker == "per_cost":
            named, weights = {"per_cost": True, "costs": rng.integers(1, 4, size=len(documents)), "budget": 15}, [0.5]
        asked: Any = (10, None if ranker == "per_cost" else ranker)
        for diversity in weights:
            more = named | {"diversity": diversity, "near_duplicates": 0.8 if diversity == 0.5 else None}
            wanted = diversify(query, documents, *asked, **more).indices.tolist()
            for factor in factors(rng, len(documents)):
                found = diversify(query * factor[0], documents * factor[:, None], *asked, **more)
                assert found.indices.tolist() == wanted, (seed, diversity)


def test_large_topics_and_batches_too() -> None:
    rng = np.random.default_rng(0)
    query, documents = bags(rng)
    documents = np.tile(documents, (30, 10))[:1200]
    query = np.tile(query, 10)
    for ranker in ("mmr", "msd", "dpp", "facility-location", None):
        wanted = diversify(query, documents, 12, ranker, near_duplicates=None).indices.tolist()
        for factor in factors(rng, len(documents)):
            found = diversify(query, documents * factor[:, None], 12, ranker, near_duplicates=None)
            assert found.indices.tolist() == wanted
    small = [bags(np.random.default_rng(seed)) for seed in range(8)]
    for ranker in ("mmr", "dpp", "ssd", "cover", "relational-pretrained"):
        alone = [diversify(*each, 9, ranker).indices.tolist() for each in small]
        scaled = [each * factors(rng, 40)[1][:, None] for _, each in small]
        assert diversify([each for each, _ in small], scaled, 9, ranker).indices.tolist() == alone


@pytest.mark.parametrize(("scores", "ties", "tied", "wanted"), [
    ([0.1, 0.3, 0.3 + 5e-8, 0.2], None, TIED, 1),
    ([0.1, 0.3, 0.3 + 5e-8, 0.2], None, EXACT, 2),
    ([0.1, 0.3, 0.3, 0.2], None, EXACT, 1),
    ([0.1, 0.3, 0.3 + 5e-8, 0.2], [9, 1, 1 + 5e-8, 5], TIED, 1),
    ([0.1, 0.3, 0.3 + 5e-8, 0.2], [9, 1, 2, 5], TIED, 2),
    ([0.1, 0.3, 0.3001, 0.2], [9, 2, 1, 5], TIED, 2),
    ([-np.inf, -np.inf], None, TIED, 0),
    ([-np.inf, -np.inf, -3], None, EXACT, 2),
    ([1, np.nan, 3], None, TIED, 1),
])  # fmt: skip
def test_the_best_of_scores(scores: Any, ties: Any, tied: Any, wanted: int) -> None:
    given = np.array(scores)
    assert best(given, None if ties is None else np.array(ties, float), tied) == wanted
    np.testing.assert_array_equal(given, scores)


@pytest.mark.parametrize("spread", [0.0, 1e-6, 1e-5, 1.0])
def test_orders_are_those_of_evened_values(spread: float) -> None:
    for seed in range(20):
        values = 0.5 + spread * np.random.default_rng(seed).random(300, dtype=np.float32)
        np.testing.assert_array_equal(falling_order(values), np.argsort(-evened(values), kind="stable"))


def test_values_are_evened_from_the_highest_down() -> None:
    values = np.array([[0.2, 0.5 + 1e-7, 0.2 - 1e-7, 0.5, 0.3], [1.0, 1.0, 0.0, 0.0, 0.0]])
    assert evened(values).tolist() == [[0.2, 0.5 + 1e-7, 0.2, 0.5 + 1e-7, 0.3], [1, 1, 0, 0, 0]]
    assert evened(values[:, :1]).tolist() == values[:, :1].tolist()
