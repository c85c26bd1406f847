"""Whatever a ranker returns, no document is shown twice and none that was not given."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from small_topics import Answers

from srd_agents.diversify import diversify
from srd_agents.frames import FrameRanker
from srd_gym.protocols import Ranker
from srd_train.serving.json_lines import rank_lines
from srd_train.serving.models import Model

VECTORS = np.eye(3, 4)
LINE = json.dumps({"query_id": "0", "doc_ids": ["a", "b", "c"], "doc_vectors": VECTORS.tolist()})


def frame(ranker: Ranker) -> object:
    pandas = pytest.importorskip("pandas")
    vectors = {"a": VECTORS[0], "b": VECTORS[1], "c": VECTORS[2]}
    rows = pandas.DataFrame({"qid": ["0"] * 3, "docno": list(vectors), "v": list(vectors.values())})
    return FrameRanker(ranker, doc_vectors="v", query_vectors=None)(rows)


WAYS: dict[str, Callable[[Ranker], object]] = {
    "one topic": lambda ranker: diversify(None, VECTORS, 3, ranker, [1, 2, 3]),
    "a batch": lambda ranker: diversify(None, [VECTORS, VECTORS], 3, ranker),
    "many": lambda ranker: diversify(None, [VECTORS] * 20, 3, ranker),
    "a frame": frame,
    "standard input": lambda ranker: rank_lines(Model(ranker=ranker, name="odd"), [LINE], lambda _: None, 3),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("ranking", "message"), [
    ([0, 1, 0], "ranks a document of topic '0' twice"),
    (np.array([0, 3]), "ranks a document that topic '0' does not have; they are 0 to 2"),
    ([-1], "ranks a document that topic '0' does not have"),
    ([0.0, 1.0], r"returned float64 of shape \(2,\) for topic '0'; expected whole numbers"),
    ([[0, 1]], r"returned int64 of shape \(1, 2\)"),
    (["a"], "returned <U1 of shape"),
    (None, r"returned object of shape \(\)"),
])  # fmt: skip
def test_odd_rankings_are_refused(way: str, ranking: Any, message: str) -> None:
    with pytest.raises(ValueError, match=f"ranker 'odd' {message}"):
        WAYS[way](Answers(ranking))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("ranking", [[2, 0, 1], [1], [], np.array([2, 1]), np.array([0, 2], np.uint8)])
def test_sound_rankings_pass(way: str, ranking: Any) -> None:
    WAYS[way](Answers(ranking))
