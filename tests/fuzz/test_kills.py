from __future__ import annotations

import os

import pytest
from fuzz.kills import kill_all


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such signals")
def test_training_that_is_killed_comes_to_the_same() -> None:
    for trials in kill_all(["train r-ltr"], kills=4, seed=0):
        assert not trials.problems
        assert trials.counts["kills"] == 2
        assert trials.counts["identical results"] >= 1
