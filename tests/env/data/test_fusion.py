"""Fused runs: values by hand, and what holds of all of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_topics import refused

from srd_gym.data import as_run, fuse_runs, with_runs
from srd_gym.data.fusion import Fusion
from srd_gym.data.trec import load_trec

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


def test_ranks_and_scores_of_runs_stand_in_for_texts() -> None:
    qrels = {"1": {"s": {"a": 1, "d": 1}, "t": {"b": 1}}, "2": {"s": {"x": 1}, "t": {"x": 1}}}
    topics = load_trec(run=fuse_runs([A, B]), qrels=qrels)
    made = with_runs(topics, {"first": A, "second": B})
    first, second = made
    assert first.doc_ids == ("b", "a", "d", "c")
    assert first.feature_names == ("first", "first score", "second", "second score", *METHODS)
    ranks = [[61 / 62, 1, 0, 61 / 63], [1, 0, 61 / 62, 0]]
    scores = [[0.5, 1, 0, 0], [1, 0, 0, 0]]
    columns = np.array([ranks[0], scores[0], ranks[1], scores[1]], np.float32).T
    np.testing.assert_array_equal(first.doc_vectors, columns)
    np.testing.assert_array_equal(first.doc_features[:, :4], columns)
    fused = [[VALUES[method][doc_id] for doc_id in first.doc_ids] for method in METHODS]
    np.testing.assert_allclose(first.doc_features[:, 4:], np.transpose(fused), rtol=1e-7)
    np.testing.assert_array_equal(second.doc_vectors, [[1, 1, 0, 0]])
    assert (made.encoder, made.marks) == ("ranks and scores of first, second", ())
    bare = with_runs(
        topics.replace(replace(topic, judgments=None, pool=None, pool_ids=None) for topic in topics),
        {"first": A, "second": B},
    )
    np.testing.assert_array_equal(bare[0].doc_features, first.doc_features, "judgments are not read")
    refused(lambda: with_runs(topics, {"first": A}), "fusion: expected two runs or more, got 1")
    refused(lambda: with_runs(topics, {"rrf": A, "b": B}), "'rrf' would be the name of two columns")


@settings(max_examples=30)
@given(runs=st.lists(RUN, min_size=2, max_size=4))
def test_each_column_of_ranks_orders_as_its_run(runs: list[Any]) -> None:
    named = {f"run {number}": {"q": run} for number, run in enumerate(runs)}
    qrels = {"q": {"s": {next(iter(runs[0])): 1}, "t": {next(iter(runs[0])): 1}}}
    (topic,) = with_runs(load_trec(run=fuse_runs(list(named.values())), qrels=qrels), named)
    for name, run in named.items():
        column = topic.doc_features[:, topic.feature_names.index(name)]
        found = np.argsort(-column)[: len(run["q"])]
        assert np.count_nonzero(column) == len(found)
        assert tuple(topic.doc_ids[i] for i in found) == as_run(run).rankings["q"]


def test_scores_of_any_size_are_fused() -> None:
    fused = fuse_runs([{"1": {"a": 1e308, "b": -1e308, "c": 0.0}}, {"1": {"a": 1.0}}], "combsum")
    assert fused.scores["1"].tolist() == [2, 0.5, 0]
