"""Notation is the API: what is read, what is written back, and what an error says."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest
from small_topics import alone, bare_topic, refused, small_topic

from srd_gym.data.synthetic import generate
from srd_gym.measures import MEASURES, Reference, default_normalizer, measure, references


@pytest.mark.parametrize("name", MEASURES)
def test_what_is_written_is_read_back(name: str) -> None:
    for each in (measure(name), measure(name).at(7), measure(name) @ 3, measure(name, normalizer="candidates").plain()):
        assert measure(str(each)) == each
        assert hash(measure(str(each))) == hash(each)


@pytest.mark.parametrize("name", MEASURES)
def test_every_measure_says_what_it_is(name: str) -> None:
    kind = MEASURES[name]
    assert kind.__doc__.startswith(name)
    assert "Parameters:" in kind.__doc__
    for field in fields(kind):
        if field.name not in ("cutoff", "normalizer", "normalization"):
            assert field.name in kind.__doc__


@pytest.mark.parametrize(("typed", "written"), [
    ("alpha_nDCG(alpha=0.5)@10", "alpha_nDCG@10"),
    (" alpha-ndcg ( rel = 2, alpha=0.3 ) @ 10 ", "alpha_nDCG(rel=2, alpha=0.3)@10"),
    ("ERR_IA(normalization=none)@5", "ERR_IA(normalization=None)@5"),
    ("D#-nDCG(normalizer=pool)@20", "Dsharp_nDCG(normalizer='pool')@20"),
    ("ALPHA_NDCG@5", "alpha_nDCG@5"),
    ("strec@5", "StRecall@5"),
    ("S-recall@5", "StRecall@5"),
    ("nERR-IA@5", "nERR_IA@5"),
    ("MAP-IA@5", "MAP_IA@5"),
    ("D-nDCG@5", "D_nDCG@5"),
])  # fmt: skip
def test_common_spellings_are_understood_and_defaults_left_out(typed: str, written: str) -> None:
    assert str(measure(typed)) == written


def test_an_explicit_cutoff_is_kept_and_a_missing_one_filled() -> None:
    assert measure("alpha_DCG@3").at(10).cutoff == 3
    assert measure("alpha_DCG").at(10) == measure("alpha_DCG@10")


def test_arguments_take_the_place_of_what_is_written() -> None:
    assert measure(measure("ERR_IA").plain()) == measure("ERR_IA(normalization=none)")
    assert measure("nNRBP", normalizer="candidates").normalizer == "candidates"


@pytest.mark.parametrize(("typed", "message"), [
    ("alpha_nDGC@10", r"unknown measure 'alpha_nDGC'\. Did you mean .*alpha_nDCG.*NAME@k"),
    ("err-aa@10", r"unknown measure 'err-aa'\. Did you mean .*ERR_IA"),
    ("alpha_nDCG(alfa=0.3)@10", r"unknown parameter of alpha_nDCG: 'alfa'\. Did you mean alpha"),
    ("StRecall(alpha=0.3)@10", r"unknown parameter of StRecall: 'alpha'"),
    ("alpha_nDCG(alpha=2)@10", r"alpha must be between 0 and 1, got 2"),
    ("alpha_nDCG(alpha=nan)@10", r"alpha must be a number, got 'nan'"),
    ("alpha_nDCG(alpha=half)@10", r"alpha must be a number, got 'half'"),
    ("NRBP(beta=1)", r"beta must be below 1"),
    ("Dsharp_nDCG(gamma=-1)@5", r"gamma must be between 0 and 1, got -1"),
    ("alpha_DCG(normalization=chapelle)@5", r"unknown normalization of alpha_DCG: 'chapelle'. Known: ndeval"),
    ("nNRBP(normalizer=best)", r"unknown normalizer of nNRBP: 'best'. Known: candidates, pool"),
    ("alpha_nDCG@0", r"cutoff must be at least 1, got 0"),
    ("alpha_nDCG@ten", r"the cutoff after '@' must be a whole number, got 'ten'"),
    ("alpha_nDCG@-5", r"the cutoff after '@' must be a whole number, got '-5'"),
    ("alpha_nDCG(rel=0)@5", r"rel must be at least 1, got 0"),
    ("alpha_nDCG(0.5)@5", r"expected parameter=value, got '0.5'"),
    ("alpha_nDCG(alpha=0.5, alpha=0.4)@5", r"alpha comes twice"),
    ("alpha_nDCG(alpha=0.5@5", r"cannot read measure .*expected NAME@k or NAME\(parameter=value"),
    ("", r"cannot read measure ''"),
])  # fmt: skip
def test_a_slip_says_what_was_expected(typed: str, message: str) -> None:
    refused(lambda: measure(typed), message)
    refused(lambda: measure(10), "expected a measure or its notation such as 'alpha_nDCG@10', got 10", TypeError)


POOL = {"pool": [[1], [0], [1]], "pool_ids": ("a", "b", "c")}


def test_the_pool_is_the_default_where_every_topic_has_one() -> None:
    pooled, bare = alone(small_topic([[1], [0]], **POOL)), alone(small_topic([[1], [0]]))
    assert default_normalizer(pooled) == "pool"
    assert default_normalizer(bare) == "candidates"
    assert len(references(pooled)[0].pool) == 3
    assert len(references(pooled, "candidates")[0].pool) == 2
    assert len(references(generate("tiny", n_topics=2, seed=0))) == 2
    empty = [*references(alone(bare_topic(2, subtopic_ids=("1",)))), Reference(np.zeros((0, 1), np.int8))]
    bound = measure("alpha_nDCG@2").bind(empty, 2)
    assert bound.values(np.ones((2, 2, 1), bool), [0, 1]).tolist() == [0.0, 0.0]
    with pytest.raises(ValueError, match="read-only"):
        bound.terms[0].weights[0, 0] = 2.0


def test_a_reference_needs_judgments() -> None:
    refused(lambda: Reference.of(small_topic(), "pool"), r"topic '1' has no pool .*use normalizer='candidates'")
    refused(lambda: Reference.of(bare_topic(), "candidates"), "topic '1' has no judgments")
    refused(lambda: Reference([[1], [0]], ["a"]), "expected one id for each of 2 pool documents, got 1")
    refused(lambda: Reference([[1], [0]], None, [1.0, 2.0]), "expected one weight for each of 1 subtopics")


def test_binding_and_scoring_check_their_shapes() -> None:
    bound = measure("alpha_nDCG").bind([Reference([[1, 0], [0, 1]])], 2)
    rows = Reference([[1, 0], [0, 1]]).pool
    whole = measure("NRBP").bind([Reference(rows)], 2)
    message = "was bound for 2 ranks, but lists have 3; bind it with depth=3"
    refused(lambda: whole.values(rows[[0, 1, 1]][None], 0), message)
    refused(lambda: bound.values(rows, 0), r"expected judgments of shape \[B, L, S\], got \(2, 2\)")
    refused(lambda: bound.values(rows[None, :, :1], 0), "judgments have 1 subtopics, but the measure was bound for 2")
    refused(lambda: bound.values(rows[None], [0, 0]), "expected one topic index for each of 1 lists")
    message = "rankings hold candidate 2, but topics have at most 2 candidates"
    refused(lambda: bound.score_rankings([[2]], rows[None], 0), message)
    message = "rankings hold candidate indices, expected integers, got float64"
    refused(lambda: bound.score_rankings([[0.0]], rows[None], 0), message, TypeError)
    refused(lambda: bound.score_rankings([0], rows[None], 0), r"expected rankings \[B, L\] and judgments \[T, N, S\]")
    refused(lambda: bound.candidate_gains(rows[None], [[0, 0]], 2, 0), "rank must be 0 to 1")
    refused(lambda: measure("NRBP").bind([Reference(rows)], 0), "depth must be at least 1")
    refused(lambda: measure("NRBP").bind([Reference(rows)], 1, 1), "a topic has 2 subtopics, more than n_subtopics=1")
