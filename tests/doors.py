"""Calls of `diversify`, one for each argument that data can hold, so that tests can hold every door against it."""

from __future__ import annotations

from typing import Any

import numpy as np

N, K = 12, 8
RNG = np.random.default_rng(0)
SENSES = RNG.normal(size=(3, 4))
VECTORS = np.vstack([RNG.normal(size=(N - 2, 4)), RNG.normal(size=(1, 4)).repeat(2, axis=0)])
TEXTS = [f"jaguar {word} {i % 3}" for i, word in enumerate(["cat", "car", "system", "river"] * 3)]
WITH_VECTORS: dict[str, Any] = {"doc_vectors": VECTORS.tolist(), "scores": RNG.normal(size=N).tolist()}
GROUPS: dict[str, Any] = {"groups": list("aab" * 4), "max_per_group": 1}
COSTS: dict[str, Any] = {"costs": list(range(1, N + 1)), "budget": 20}
CASES: dict[str, dict[str, Any]] = {
    "query_text": {"texts": TEXTS, "query_text": "jaguar cat"},
    "texts": {"texts": TEXTS, "scores": list(range(N)), "diversity": 0.5},
    "query_vector": {"doc_vectors": VECTORS.tolist(), "query_vector": SENSES[0].tolist()},
    "doc_vectors": {"doc_vectors": VECTORS.tolist()},
    "scores": WITH_VECTORS,
    "subtopics": {**WITH_VECTORS, "subtopics": SENSES.tolist()},
    "subtopic_weights": {**WITH_VECTORS, "subtopics": SENSES.tolist(), "subtopic_weights": [1, 2, 9]},
    "subtopic_scores": {**WITH_VECTORS, "subtopic_scores": RNG.random((N, 3)).tolist()},
    "groups": {**WITH_VECTORS, **GROUPS},
    "max_per_group": {**WITH_VECTORS, **GROUPS, "max_per_group": 2},
    "fill": {**WITH_VECTORS, **GROUPS, "fill": True},
    "min_per_group": {**WITH_VECTORS, "groups": GROUPS["groups"], "min_per_group": {"a": 7}},
    "pinned": {**WITH_VECTORS, "pinned": [7, None, 3]},
    "metric": {**WITH_VECTORS, "metric": "dot", "diversity": 0.8},
    "similarity": {"similarity": (VECTORS @ VECTORS.T).tolist(), "scores": WITH_VECTORS["scores"], "diversity": 0.8},
    "costs": {**WITH_VECTORS, **COSTS},
    "budget": {**WITH_VECTORS, **COSTS, "budget": 9},
    "per_cost": {**WITH_VECTORS, **COSTS, "per_cost": True},
    "already_shown": {**WITH_VECTORS, "already_shown": [3, 5], "diversity": 0.8},
    "relevance": {**WITH_VECTORS, "query_vector": SENSES[0].tolist(), "relevance": "cosine", "diversity": 0.3},
    "near_duplicates": {**WITH_VECTORS, "near_duplicates": 0.4},
    "diversity": {**WITH_VECTORS, "diversity": 0.7},
    "k": {**WITH_VECTORS, "k": 3},
}
"""A call for each argument that data can hold."""
PYTHON_ONLY = {
    "ranker": "the command's; names of files may not come from outside",
    "embed": "a function",
    "strict": "data from outside are always checked",
}
