"""docs/stable.md lists what keeps its name and meaning: the page and the packages must say the same."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import gymnasium as gym
import pytest

PAGE = (Path(__file__).resolve().parents[1] / "docs" / "stable.md").read_text(encoding="utf-8")
LISTED = {
    section.split("\n", 1)[0].strip(): set(re.findall(r"`(\w+)`", section.split("\n##", 1)[0]))
    for section in re.split(r"^### ", PAGE, flags=re.MULTILINE)[1:]
}


@pytest.mark.parametrize("module", sorted(LISTED))
def test_names_import_and_are_those_that_the_module_announces(module: str) -> None:
    there = importlib.import_module(module)
    assert LISTED[module], f"docs/stable.md lists nothing under {module}"
    for name in LISTED[module]:
        assert getattr(there, name) is not None
    announced = set(getattr(there, "__all__", LISTED[module]))
    assert announced == LISTED[module], f"list in docs/stable.md what {module}.__all__ has, or neither has it"


def test_the_public_packages_are_listed() -> None:
    public = {"srd_gym", "srd_gym.core", "srd_gym.data", "srd_gym.measures", "srd_gym.testing", "srd_agents"}
    assert public <= set(LISTED)
    assert all(hasattr(importlib.import_module(module), "__all__") for module in public)


def test_environment_ids_are_registered() -> None:
    importlib.import_module("srd_gym")
    ids = set(re.findall(r"^\| `(SRD-[\w-]+)` \|", PAGE, flags=re.MULTILINE))
    assert ids == {name for name in gym.registry if name.startswith("SRD-")}
