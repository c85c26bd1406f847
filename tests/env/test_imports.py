"""What an import may bring along: the problem and the heuristics stay light, optional libraries come on demand."""

from __future__ import annotations

import pkgutil
import subprocess
import sys
from importlib.util import find_spec

import pytest

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
        "srd_agents.supervised.linear.r_ltr",
        "srd_agents.supervised.linear.svm",
        "srd_agents.relational.ranker",
    ]
    assert not imported_by(modules) & set(OPTIONAL)


@pytest.mark.skipif(find_spec("tyro") is None, reason="tyro is not installed")
def test_the_command_starts_without_torch() -> None:
    assert not imported_by(["srd_train.cli"]) & set(OPTIONAL)
