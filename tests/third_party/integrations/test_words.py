"""Adapters without an embedding model: documents and what is named are compared by their words."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest
from adapters import ADAPTERS, SHOWS, Retrieved

from srd_agents import diversify
from srd_agents.integrations.pyterrier import DiverseReranker

TEXTS = [
    "the big cat of the forest",
    "big cat pictures of the forest",
    "used car prices",
    "a new electric car",
    "the operating system of apple",
    "apple pictures",
]
SCORES = [6.0, 5.0, 4.0, 3.0, 2.0, 1.0]
QUERY, K = "pictures of the big cat", 4


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """Notices of adapters that expect embeddings are tested elsewhere."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="no document has an embedding")
        yield


@pytest.mark.parametrize(("adapter", "later"), [(show, later) for show in SHOWS for later in (False, True)][:-1])
@pytest.mark.parametrize("diversity", [None, 0.0, 0.3, 0.7])
@pytest.mark.parametrize("subtopics", [None, lambda query: ["electric car", "operating system"]])
def test_texts_are_ranked_as_diversify_ranks_them(adapter: str, later: bool, diversity: Any, subtopics: Any) -> None:
    ranker = "mmr" if diversity is not None and subtopics is None else None
    told = {} if subtopics is None else {"subtopics": subtopics}
    wanted = diversify(
        texts=TEXTS, query_text=QUERY, k=K, ranker=ranker, scores=SCORES, diversity=diversity, **told
    ).indices
    weight = None if diversity is None else ADAPTERS[adapter][1](diversity)
    more = {"later": True} if later else {}
    shown = SHOWS[adapter](Retrieved(SCORES, text=QUERY, texts=TEXTS), K, weight, **told, **more)
    assert [place for place, _ in shown] == wanted.tolist()


def test_frames_take_the_most_value_per_cost() -> None:
    generator = np.random.default_rng(0)
    vectors, tokens = generator.normal(size=(9, 4)), generator.integers(1, 9, size=9)
    given = pd.DataFrame({"qid": "1", "docno": list("abcdefghi"), "score": np.arange(9.0, 0, -1), "tokens": tokens})
    given["doc_vec"] = list(vectors)
    options: dict[str, Any] = {"budget": 12, "per_cost": True}
    wanted = diversify(None, vectors, 5, scores=given["score"], costs=tokens, **options).indices
    found = DiverseReranker(k=5, cost_key="tokens", **options).transform(given)
    assert found["docno"].tolist() == ["abcdefghi"[i] for i in wanted]
    with pytest.raises(ValueError, match="per_cost chooses by itself, got a ranker"):
        DiverseReranker("mmr", cost_key="tokens", **options)
    with pytest.raises(ValueError, match="per_cost divides by costs=, got none"):
        DiverseReranker(per_cost=True)
