"""`make ways`: how many of our files and functions a few common calls enter, as a measure of how much there is to read.

Counted are functions whose body ran during the call. What modules do while they are imported is not counted, nor are
the methods that dataclasses are given.
"""

from __future__ import annotations

import contextlib
import importlib
import inspect
import io
import multiprocessing
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

from srd_train.commands.console import Output

PACKAGES = ("srd_gym", "srd_agents", "srd_train")
RECIPE = """
title = "two heuristics"
reference = "mmr"
measures = ["alpha_nDCG@10"]
[[topics]]
name = "tiny"
source = "synthetic:tiny:12:0"
folds = 3
run_folds = [1]
[[rankers]]
ranker = "mmr"
[[rankers]]
ranker = "msd"
"""


@dataclass(frozen=True, kw_only=True)
class Ways:
    """Count the files and functions of ours that common calls enter.

    Examples:
      make ways
      make ways ARGS=--files
    """

    files: bool = False
    """List the files."""
    json: bool = False
    """Print JSON."""

    def execute(self, output: Output) -> int:
        """Trace every way in a process of its own, as modules remember what they have read, and show the table."""
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(1, mp_context=context, max_tasks_per_child=1) as pool:
            found = dict(zip(WAYS, pool.map(entered, WAYS), strict=True))
        if self.json:
            output.data(found)
            return 0
        counts = [[name, str(len(files)), str(sum(map(len, files.values())))] for name, files in found.items()]
        output.table("Entered", ["call", "files", "functions"], counts)
        for name, files in found.items() if self.files else ():
            output.text("\n".join([name, *(f"  {file} ({len(names)})" for file, names in files.items())]))
        return 0


@dataclass
class Trace:
    """What was entered: file -> names of functions."""

    entered: dict[str, set[str]] = field(default_factory=dict)
    _folders: dict[str, str] = field(init=False)
    _importing: int = 0

    def __post_init__(self) -> None:
        places = {name: str(Path(str(importlib.import_module(name).__file__)).parent) for name in PACKAGES}
        self._folders = {place: name for name, place in places.items()}

    @contextlib.contextmanager
    def recorded(self) -> Iterator[None]:
        """Record what is entered while the block runs."""
        sys.setprofile(self._on_event)
        try:
            yield
        finally:
            sys.setprofile(None)

    def _on_event(self, frame: FrameType, event: str, _: Any) -> None:
        """Note a function of ours that begins, unless a module is being imported."""
        code = frame.f_code
        if code.co_name == "<module>":
            self._importing += {"call": 1, "return": -1}.get(event, 0)
            return
        # Bodies of classes are no functions, and comprehensions belong to the function around them.
        inside = code.co_flags & inspect.CO_OPTIMIZED and (code.co_name == "<lambda>" or code.co_name[0] != "<")
        if event != "call" or self._importing or not inside:
            return
        for folder, name in self._folders.items():
            if code.co_filename.startswith(folder):
                file = name + code.co_filename[len(folder) :]
                self.entered.setdefault(file, set()).add(code.co_qualname)


def benchmark(folder: Path) -> Callable[[], object]:
    """A benchmark of two heuristics."""
    from srd_train.cli import main

    recipe = folder / "two.toml"
    recipe.write_text(RECIPE, encoding="utf-8")
    return lambda: main(["benchmark", str(recipe), "--out", str(folder / "results")])


def training(folder: Path) -> Callable[[], object]:
    """`srd train` of a learner without torch."""
    from srd_train.cli import main

    words = ["train", "listmle", "--topics", _topic_file(folder), "--fold", "1/3", "--out", str(folder / "model")]
    return lambda: main([*words, "--epochs", "2"])


def environment(folder: Path) -> Callable[[], object]:
    """An environment on a Parquet file: made, reset and one step."""
    import gymnasium as gym

    import srd_gym

    gym.register_envs(srd_gym)
    file = _topic_file(folder)

    def call() -> None:
        env = gym.make("SRD-v0", topics=file)
        env.reset(seed=0)
        env.step(0)

    return call


def diversify(folder: Path) -> Callable[[], object]:
    """`diversify` on vectors with scores."""
    import numpy as np

    from srd_agents import diversify

    del folder
    rng = np.random.default_rng(0)
    query, vectors, scores = rng.normal(size=8), rng.normal(size=(20, 8)), rng.random(20)
    return lambda: diversify(query, vectors, k=5, scores=scores)


WAYS: dict[str, Callable[[Path], Callable[[], object]]] = {
    "benchmark of two heuristics": benchmark,
    "srd train listmle": training,
    "gym.make on a Parquet file, reset, step": environment,
    "diversify": diversify,
}
"""What the table calls it -> what prepares the call in a folder of its own."""


def entered(name: str) -> dict[str, list[str]]:
    """The files that one way enters, in alphabetical order, with the names of their functions.

    Args:
        name: a key of `WAYS`.
    """
    trace = Trace()
    with tempfile.TemporaryDirectory() as folder:
        call = WAYS[name](Path(folder))
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()), trace.recorded():
            call()
    return {file: sorted(functions) for file, functions in sorted(trace.entered.items())}


def _topic_file(folder: Path) -> str:
    """A small Parquet file."""
    from srd_gym.data.parquet import write_topics
    from srd_gym.data.synthetic import generate

    path = folder / "topics.parquet"
    write_topics(path, generate("tiny", n_topics=12, seed=0))
    return str(path)
