"""Additive gains are computed in one room: nobody but `srd_gym.measures` reads the arrays that they are made of."""

from __future__ import annotations

import ast
from pathlib import Path

import srd_agents
import srd_gym

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
