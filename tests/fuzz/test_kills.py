from __future__ import annotations

import os

import pytest
from fuzz.kills import kill_all


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such signals")
@pytest.mark.parametrize("command", ["train r-ltr", pytest.param("benchmark", marks=pytest.mark.slow)])
def test_what_is_killed_comes_to_the_same(command: str) -> None:
    for trials in kill_all([command], kills=4, seed=0):
        assert not trials.problems
        assert trials.counts["kills"] == 2
        assert trials.counts["identical results"] >= 1
