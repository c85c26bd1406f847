"""Additive gains are computed in one room: nobody but `srd_gym.measures` reads the arrays that they are made of."""

from __future__ import annotations

import ast
from pathlib import Path

import numpy as np
import pytest

import srd_agents
import srd_gym
from srd_gym.core import TopicArrays
from srd_gym.data import generate
from srd_gym.measures import MEASURES, measure, references
from srd_gym.measures.bound import PlainMeasure, covered_subtopics

MADE_OF = {"terms", "adds", "novelty", "discounts"}
ROOTS = (Path(srd_gym.__file__).parent, Path(srd_agents.__file__).parent)


def readers(source: str) -> set[str]:
    """Which of the arrays a file reads."""
    return {node.attr for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Attribute)} & MADE_OF


def test_no_additive_gain_outside_the_measures() -> None:
    files = [file for root in ROOTS for file in sorted(root.rglob("*.py"))]
    inside = [file for file in files if file.parent == ROOTS[0] / "measures"]
    assert set().union(*(readers(file.read_text("utf-8")) for file in inside)) == MADE_OF
    # Surrogates are gains of soft ranks; that their sharp limits are the measures, their own tests say.
    exempt = ROOTS[1] / "supervised" / "smooth"
    outside = [file for file in files if file not in inside and exempt not in file.parents]
    assert len(outside) > 100
    assert {file.name: found for file in outside if (found := readers(file.read_text("utf-8")))} == {}


@pytest.mark.parametrize("name", sorted(MEASURES))
def test_gains_in_python_numbers_are_those_of_arrays_to_the_last_bit(name: str) -> None:
    topics = generate("serp", n_topics=5)
    arrays, generator = TopicArrays(topics), np.random.default_rng(0)
    bound = measure(name).plain().bind(references(topics), 8, arrays.max_subtopics)
    if bound.needs_grades:
        pytest.skip("looks at grades")
    plain = PlainMeasure(bound, covered_subtopics(arrays.covers(1)))
    for topic in range(len(topics)):
        ranking = generator.permutation(topics[topic].n_candidates)[:8]
        covers = arrays.covers(1)[topic, ranking]
        coverage = np.cumsum(covers, axis=0) - covers
        gains = bound.gains(covers[None], topic)[0]
        for rank, candidate in enumerate(ranking.tolist()):
            one = plain.gain(topic, plain.covered[topic][candidate], coverage[rank], rank)
            many = bound.step_gains(covers[rank], coverage[rank], rank, np.array(topic))
            assert one == many.item() == gains[rank]
        assert plain.value(topic, ranking.tolist()) == bound.score_rankings(ranking[None], arrays.judgments, topic)[0]
