"""What stands where: what an import may bring along, and that additive gains are computed in one room."""

from __future__ import annotations

import ast
import pkgutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import srd_agents
import srd_gym

OPTIONAL = (
    "torch",
    "sklearn",
    "scipy",
    "matplotlib",
    "stable_baselines3",
    "sb3_contrib",
    "tianshou",
    "torchrl",
    "supersuit",
    "ray",
    "sentence_transformers",
)


def imported_by(modules: list[str]) -> set[str]:
    """Top-level packages that a fresh interpreter has loaded after importing these modules."""
    code = f"import sys, importlib\nfor name in {modules!r}: importlib.import_module(name)\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return {name.partition(".")[0] for name in done.stdout.split()}


def test_no_module_of_the_problem_imports_an_optional_library() -> None:
    modules = [module.name for module in pkgutil.walk_packages(srd_gym.__path__, "srd_gym.")]
    assert "srd_gym.topic" in modules
    assert not imported_by(["srd_gym", *modules]) & set(OPTIONAL)


def test_the_import_is_light() -> None:
    assert not imported_by(["srd_gym"]) & {"pyarrow", "pettingzoo", "defusedxml", "pandas"}


@pytest.mark.skipif(find_spec("srd_agents") is None, reason="srd_agents is not installed")
def test_heuristics_registry_and_numpy_rankers_need_no_torch() -> None:
    modules = ["srd_agents", "srd_agents.registry", "srd_agents.learner", "srd_agents.heuristic"]
    modules += [
        "srd_agents.integrations.ranking",
        "srd_agents.supervised.linear.r_ltr",
        "srd_agents.supervised.linear.svm",
        "srd_agents.relational.ranker",
    ]
    assert not imported_by(modules) & set(OPTIONAL)


@pytest.mark.skipif(find_spec("tyro") is None, reason="tyro is not installed")
def test_the_command_starts_without_torch() -> None:
    assert not imported_by(["srd_train.cli"]) & set(OPTIONAL)


# Gains: nobody but `srd_gym.measures` reads the arrays that they are made of

MADE_OF = {"terms", "adds", "discounts"}
"""Not `novelty`, which other things are called too: nothing is a gain of ranks without its discounts."""


def readers(source: str) -> set[str]:
    """Which of the arrays a file reads."""
    return {node.attr for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Attribute)} & MADE_OF


def test_no_additive_gain_outside_the_measures() -> None:
    gym, agents = Path(srd_gym.__file__).parent, Path(srd_agents.__file__).parent
    files = [file for root in (gym, agents) for file in sorted(root.rglob("*.py"))]
    inside = [file for file in files if file.parent == gym / "measures"]
    assert set().union(*(readers(file.read_text("utf-8")) for file in inside)) == MADE_OF
    # Surrogates are gains of soft ranks; that their sharp limits are the measures, their own tests say.
    exempt = agents / "supervised" / "smooth"
    outside = [file for file in files if file not in inside and exempt not in file.parents]
    assert len(outside) > 100
    assert {file.name: found for file in outside if (found := readers(file.read_text("utf-8")))} == {}
