"""Fused runs: values by hand, and what holds of all of them."""

from __future__ import annotations

from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_topics import refused

from srd_gym.data import fuse_runs
from srd_gym.data.fusion import Fusion

METHODS = get_args(Fusion)
A = {"1": {"a": 3.0, "b": 2.0, "c": 1.0}, "2": {"x": 5.0}}
B = {"1": {"b": 10.0, "d": 0.0}}
VALUES = {
    "rrf": {"b": 1 / 62 + 1 / 61, "a": 1 / 61, "d": 1 / 62, "c": 1 / 63},
    "combsum": {"b": 0.5 + 1, "a": 1.0, "d": 0.0, "c": 0.0},
    "combmnz": {"b": 2 * (0.5 + 1), "a": 1.0, "d": 0.0, "c": 0.0},
}


@pytest.mark.parametrize("method", METHODS)
def test_values_by_hand(method: Fusion) -> None:
    run = fuse_runs([A, B], method)
    assert run.rankings == {"1": tuple(VALUES[method]), "2": ("x",)}, "equal ones by falling id; one run ranks query 2"
    np.testing.assert_allclose(run.scores["1"], list(VALUES[method].values()), rtol=1e-15)


RUN = st.dictionaries(st.sampled_from("abcdefgh"), st.floats(-9, 9, width=16), min_size=1)


@settings(max_examples=60)
@given(runs=st.lists(RUN, min_size=2, max_size=4), method=st.sampled_from(METHODS))
def test_the_order_of_runs_is_nothing_and_copies_keep_their_order(runs: list[Any], method: Fusion) -> None:
    given_runs = [{"q": run} for run in runs]
    fused, turned = fuse_runs(given_runs, method), fuse_runs(given_runs[::-1], method)
    assert fused.rankings == turned.rankings
    np.testing.assert_array_equal(fused.scores["q"], turned.scores["q"])
    assert set(fused.rankings["q"]) == set().union(*runs)
    assert (np.diff(fused.scores["q"]) <= 0).all()
    alone = fuse_runs([given_runs[0]] * 3, method).rankings["q"]
    assert [runs[0][name] for name in alone] == sorted(runs[0].values(), reverse=True)


def test_what_cannot_be_fused() -> None:
    refused(lambda: fuse_runs([A]), "fusion: expected two runs or more, got 1")
    refused(lambda: fuse_runs([A, B], "rff"), "unknown fusion 'rff'. Did you mean rrf")  # type: ignore[arg-type]
