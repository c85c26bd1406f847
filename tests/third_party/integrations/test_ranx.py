"""ranx: runs in and out, the ad-hoc view of qrels out."""

from __future__ import annotations

import pytest
import ranx
from small_topics import refused

from srd_gym.data import as_qrels, as_run
from srd_gym.data.fusion import fuse_runs
from srd_gym.measures import evaluate_run

FIRST = {"q1": {"a": 1.5, "b": 3.25, "c": 0.5}, "q2": {"c": 0.125, "a": -1.0}}
SECOND = {"q1": {"c": 9.0, "d": 8.0}, "q2": {"a": 0.0}}
QRELS = as_qrels({"q1": {"1": {"a": 1, "d": -2}, "2": {"a": 3, "b": 1}}, "q2": {"1": {"a": 1}, "2": {"a": 0}}})


def test_runs_go_in_and_out() -> None:
    theirs = ranx.Run(FIRST, name="first")
    assert as_run(theirs).to_dict() == as_run(FIRST).to_dict() == FIRST
    assert as_run(theirs).rankings == {"q1": ("b", "a", "c"), "q2": ("c", "a")}
    assert ranx.Run(as_run(FIRST).to_dict()).to_dict() == theirs.to_dict()
    refused(lambda: as_qrels(ranx.Qrels({"q1": {"a": 1}})), "cannot tell how diverse")


@pytest.mark.filterwarnings("ignore:unsafe cast")
def test_what_ranx_computes_of_them_is_what_is_computed_here() -> None:
    assert QRELS.ad_hoc() == {"q1": {"a": 3, "d": 0, "b": 1}, "q2": {"a": 1}}
    found = ranx.evaluate(ranx.Qrels(QRELS.ad_hoc()), ranx.Run(FIRST), ["ndcg@5", "mrr"])
    expected = evaluate_run(QRELS, FIRST, ["nDCG@5", "RR"]).measures
    assert list(found.values()) == pytest.approx(list(expected.values()), abs=1e-12)


def test_a_run_that_ranx_fused_is_ranked_as_ours() -> None:
    theirs = ranx.fuse(runs=[ranx.Run(FIRST), ranx.Run(SECOND)], norm=None, method="rrf", params={"k": 60})
    ours = fuse_runs([FIRST, SECOND], "rrf")
    assert as_run(theirs).rankings == ours.rankings
    assert as_run(theirs).to_dict()["q1"] == pytest.approx(ours.to_dict()["q1"], abs=1e-12)
