from __future__ import annotations

import ast
import pkgutil
import subprocess
import sys
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import pytest

import srd_agents
import srd_gym
from srd_gym.installing import how_to_install

needs_tyro = pytest.mark.skipif(find_spec("tyro") is None, reason="tyro is not installed")
OPTIONAL = {
    "torch", "sklearn", "scipy", "matplotlib", "stable_baselines3", "sb3_contrib", "tianshou", "torchrl", "supersuit",
    "ray", "sentence_transformers",
}  # fmt: skip
PROBLEM = ["srd_gym", *(module.name for module in pkgutil.walk_packages(srd_gym.__path__, "srd_gym."))]
WITHOUT_TORCH = [
    "srd_agents.registry", "srd_agents.training.learner", "srd_agents.heuristic", "srd_agents.integrations.ranking",
    "srd_agents.supervised.linear.r_ltr", "srd_agents.supervised.linear.svm", "srd_agents.relational.ranker",
]  # fmt: skip


@pytest.mark.parametrize(("modules", "unwanted"), [
    pytest.param(PROBLEM, OPTIONAL, id="no module of the problem imports an optional library"),
    pytest.param(["srd_gym"], {"pyarrow", "pettingzoo", "defusedxml", "pandas"}, id="the import is light"),
    pytest.param([*PROBLEM, "srd_agents"], {"pyarrow"}, id="readers of Parquet import pyarrow when they read"),
    pytest.param(WITHOUT_TORCH, OPTIONAL, id="heuristics, registry and numpy rankers need no torch"),
    pytest.param(["srd_train.cli"], OPTIONAL, id="the command starts without torch", marks=needs_tyro),
])  # fmt: skip
def test_a_fresh_interpreter_loads_nothing_unwanted(modules: list[str], unwanted: set[str]) -> None:
    code = f"import sys, importlib\nfor name in {modules!r}: importlib.import_module(name)\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {name.partition(".")[0] for name in done.stdout.split()} & unwanted


@pytest.mark.parametrize("order", ["srd_gym, gymnasium", "gymnasium, srd_gym", "srd_gym, gymnasium.envs.registration"])
def test_environments_are_registered_whichever_is_imported_first(order: str) -> None:
    code = f"import {order}\nprint(gymnasium.spec('SRD-v0').id, gymnasium.spec('SRD-shared-v0').id)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["SRD-v0", "SRD-shared-v0"]


def test_the_package_knows_its_version() -> None:
    assert srd_gym.__version__ == version("srd-gym")


WITHOUT_PYARROW = """
import sys
sys.modules.update(dict.fromkeys(("pyarrow", "pyarrow.compute", "pyarrow.parquet")))
import gymnasium, srd_agents, srd_gym
from srd_gym import scoring_v0
from srd_gym.data import VectorTable, load_topics, read_vectors
environment = gymnasium.make("SRD-v0", topics="synthetic:tiny:20")
environment.reset(seed=0)
environment.step(0)
scoring_v0.parallel_env("synthetic:tiny:20").reset(seed=0)
assert len(srd_agents.diversify(None, [[1, 0], [0, 1]], 2).indices) == 2
written = load_topics("synthetic:tiny:9")
for use in (lambda: load_topics("words"), lambda: srd_gym.data.write_topics(sys.argv[1], written)):
    try:
        use()
    except ImportError as error:
        print(error)
"""


def test_without_pyarrow_all_but_parquet_works(tmp_path: Path) -> None:
    words = [sys.executable, "-c", WITHOUT_PYARROW, str(tmp_path / "t.parquet")]
    told = subprocess.run(words, capture_output=True, text=True, check=True).stdout.splitlines()
    assert len(told) == 2
    assert all(how_to_install("parquet") in line for line in told)
    assert not list(tmp_path.iterdir())


# Gains: nobody but `srd_gym.measures` reads the arrays that they are made of

MADE_OF = {"terms", "adds", "discounts"}
"""Not `novelty`, which other things are called too: nothing is a gain of ranks without its discounts."""


def readers(source: str) -> set[str]:
    return {node.attr for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Attribute)} & MADE_OF


def test_no_additive_gain_outside_the_measures() -> None:
    gym, agents = Path(srd_gym.__file__).parent, Path(srd_agents.__file__).parent
    files = [file for root in (gym, agents) for file in sorted(root.rglob("*.py"))]
    inside = [file for file in files if file.parent == gym / "measures"]
    assert set().union(*(readers(file.read_text("utf-8")) for file in inside)) == MADE_OF
    # Surrogates are gains of soft ranks; that their sharp limits are the measures, their own tests say.
    # The simulators in torch are tested against them, gain by gain.
    exempt = {agents / "supervised" / "smooth", agents / "simulators"}
    outside = [file for file in files if file not in inside and exempt.isdisjoint(file.parents)]
    assert len(outside) > 100
    assert {file.name: found for file in outside if (found := readers(file.read_text("utf-8")))} == {}
