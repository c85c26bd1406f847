"""How far a call travels: calls, functions and files that five journeys pass, by a profile hook.

Command: PYTHONPATH=.:agents:train python -m studies.journeys
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from types import FrameType

import numpy as np

from srd_agents import diversify
from srd_agents.registry import RANKERS
from srd_agents.training.learner import Learner
from srd_gym import load_topics
from srd_train.cli import main as main_of_srd
from srd_train.experiment.recipe import load_recipe

PACKAGES = ("srd_gym", "srd_agents", "srd_train")
RECIPE = """title = "two rows"
about = "A recipe of two rows."
minutes = 1
reference = "mmr"
measures = ["alpha_nDCG@10"]
seeds = [0]

[[topics]]
name = "serp"
source = "synthetic:serp:40:0"

[[rankers]]
ranker = "mmr"
grid = { lambda_ = [0.1, 0.5] }

[[rankers]]
ranker = "reinforce"
config = { epochs = 2 }
"""


def passed(journey: Callable[[], object]) -> tuple[int, int, int, int]:
    """Calls of functions of these packages, different functions, their files, and calls from one file into another."""
    journey()  # what is imported or kept at the first call is no part of the journey
    calls: list[tuple[str, str]] = []

    def hook(frame: FrameType, event: str, _: object) -> None:
        where = frame.f_code.co_filename
        if event == "call" and any(f"/{package}/" in where for package in PACKAGES):
            calls.append((where, frame.f_code.co_qualname))

    sys.setprofile(hook)
    try:
        journey()
    finally:
        sys.setprofile(None)
    files = [where for where, _ in calls]
    return len(calls), len(set(calls)), len(set(files)), sum(a != b for a, b in pairwise(files))


def journeys(folder: Path) -> dict[str, Callable[[], object]]:
    """The journeys by name."""
    generator = np.random.default_rng(0)
    documents, query = generator.normal(size=(100, 64)).astype(np.float32), generator.normal(size=64)
    scores, subtopics = np.sort(generator.normal(size=100))[::-1], generator.normal(size=(5, 64))
    learner = RANKERS.find("reinforce").build()
    assert isinstance(learner, Learner)  # noqa: S101 - for the type checker
    learner.prepare(load_topics("synthetic:serp:40:0"), 0)
    recipe = folder / "two.toml"
    recipe.write_text(RECIPE, encoding="utf-8")
    results = str(folder / "results")
    main_of_srd(["benchmark", str(recipe), "--out", results])
    return {
        "diversify, scores (the order stays)": lambda: diversify(query, documents, scores=scores),
        "diversify, scores and subtopics": lambda: diversify(query, documents, scores=scores, subtopics=subtopics),
        "an update of reinforce, 8 topics": lambda: learner._update(np.arange(8)),
        "a recipe of two rows, loaded": lambda: load_recipe(str(recipe)),
        "a report of two rows": lambda: main_of_srd(["report", results]),
    }


def main() -> None:
    """Print a line per journey."""
    lines = ["journey                              calls  functions  files  between files"]
    with tempfile.TemporaryDirectory() as folder:
        for name, journey in journeys(Path(folder)).items():
            calls, functions, files, between = passed(journey)
            lines.append(f"{name:35} {calls:6} {functions:10} {files:6} {between:14}")
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
