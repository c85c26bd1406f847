"""Kill commands at random moments, run them again, and compare with runs that nothing disturbed: `make kills`."""

from __future__ import annotations

import argparse
import json
import os
import random
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fuzz.writers import write_together
from made_results import recipe_file, timeless

from srd_gym.data import generate, write_topics

PROMISE = "--resume goes on from the checkpoint"
STATE = "state.safetensors"
"""The checkpoint of a training."""
BURST = 4
"""Kills of one folder before its work is finished."""
SIGNALS = (signal.SIGKILL, signal.SIGTERM)
SHOWN = ("kills", "ended before", "identical results", "other results", "leftovers", "broken promises")


def result(folder: Path) -> dict[str, Any]:
    """What a command left, by file: bytes, and JSON without times. A training's state has times inside."""
    left = {}
    for path in folder.rglob("*"):
        if path.is_file() and path.name not in (".lock", STATE):
            content = path.read_bytes()
            left[str(path.relative_to(folder))] = timeless(json.loads(content)) if path.suffix == ".json" else content
    return left


def works(inputs: Path, names: Sequence[str] | None) -> dict[str, Sequence[str]]:
    """The words of the commands of these names (None: all), on inputs that are made first."""
    topics, wide = inputs / "tiny.parquet", inputs / "serp.parquet"
    write_topics(topics, generate("tiny", n_topics=30))
    if names is None or {"rank", "data log"} & set(names):
        write_topics(wide, generate("serp", n_topics=1000))
    learner = 'ranker = "r-ltr"\nconfig = { epochs = 20, patience = 0 }\n'
    recipe = recipe_file(inputs, learner, "mmr", topics='source = "synthetic:tiny:15:0"\nfolds = 3')
    often = ("--topics", str(topics), "--patience", "0", "--checkpoint-seconds", "0.1", "--epochs")
    every: dict[str, Sequence[str]] = {
        "train r-ltr": ("train", "r-ltr", *often, "60"),
        "train mdp-div": ("train", "mdp-div", *often, "20"),
        "benchmark": ("benchmark", str(recipe), "--jobs", "2"),
        "data build": ("data", "build", "synthetic", "serp", "--topics", "1500"),
        "rank": ("rank", "mmr", "--topics", str(wide)),
        "data log": ("data", "log", "mmr", "--topics", str(wide), "--episodes", "60000"),
    }
    return {name: words for name, words in every.items() if names is None or name in names}


def command(words: Sequence[str], folder: Path) -> list[str]:
    """The command line to begin the work in a folder, or to go on with it where there is a checkpoint."""
    resume = ["--resume"] if (folder / "out" / STATE).exists() else []
    return [sys.executable, "-m", "srd_train", *words, "--out", str(folder / "out"), *resume]


@dataclass
class Trials:
    """Kills of one command by one signal, counted."""

    name: str
    words: Sequence[str]
    number: signal.Signals
    expected: Mapping[str, Any]
    earliest: float
    """Seconds after the start before which it is not killed: it is loading Python."""
    latest: float
    """Seconds after which it is not killed; follows what runs take, as machines are busy or idle."""
    counts: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)

    def burst(self, kills: int, generator: random.Random) -> None:
        """Kill the work in a new folder a few times, finish it, and look at what is there."""
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place)
            while kills and self.kill(folder, generator):
                kills -= 1
            done = subprocess.run(command(self.words, folder), capture_output=True, text=True, check=False)
            if done.returncode != 0:
                self._problem("broken promises", f"run again: exit code {done.returncode}: {done.stderr[-500:]}")
            if result(folder) == self.expected:
                self.counts["identical results"] += 1
            else:
                self._problem("other results", f"other results in {sorted(result(folder))}")
            self._look_for_partials(folder)

    def kill(self, folder: Path, generator: random.Random) -> bool:
        """Run it for a while, and kill it: alone, or for signals of a terminal with all its processes.

        Returns:
            Whether it was still running.
        """
        began = time.monotonic()
        line, pipe = command(self.words, folder), subprocess.PIPE
        run = subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=pipe, start_new_session=True)
        try:
            run.wait(timeout=generator.uniform(self.earliest, self.latest))
        except subprocess.TimeoutExpired:
            everyone = self.number != signal.SIGKILL and generator.random() < 0.5
            below = children_of(run.pid)
            (os.killpg if everyone else os.kill)(run.pid, self.number)
            self.counts["kills"] += 1
            self.latest *= 1.1
            self._see_it_end(folder, run, below)
            return True
        run.communicate()
        self.counts["ended before"] += 1
        took = time.monotonic() - began
        self.earliest, self.latest = min(self.earliest, took / 2), (self.latest + took) / 2
        if run.returncode != 0:
            self._problem("broken promises", f"exit code {run.returncode}")
        return False

    def _see_it_end(self, folder: Path, run: subprocess.Popen[bytes], below: Sequence[int]) -> None:
        """It and its processes must end soon, and what a command that was stopped promised must be so."""
        try:
            said = run.communicate(timeout=60)[1].decode()
        except subprocess.TimeoutExpired:
            run.kill()
            run.communicate()
            self._problem("broken promises", "it did not end")
            return
        until = time.monotonic() + 20
        while (left := [pid for pid in below if alive(pid)]) and time.monotonic() < until:
            time.sleep(0.01)
        if left:
            self._problem("leftovers", f"processes {left}")
        code = run.returncode
        if code not in (0, -self.number, 128 + self.number):  # before it listens to signals, they kill it
            self._problem("broken promises", f"exit code {code}: {said[-500:]}")
        if PROMISE in said and not (folder / "out" / STATE).exists():
            self._problem("broken promises", "there is no checkpoint")
        if code > 0:
            if f"stopped by {self.number.name}" not in said:
                self._problem("broken promises", f"it did not say why it stopped: {said[-500:]}")
            self._look_for_partials(folder)

    def _look_for_partials(self, folder: Path) -> None:
        """Files that were being written must not be there."""
        for path in folder.rglob("*.partial"):
            self._problem("leftovers", str(path))

    def _problem(self, kind: str, text: str) -> None:
        self.counts[kind] += 1
        self.problems.append(text)


def children_of(pid: int) -> list[int]:
    """The processes that it started; none where the system does not tell."""
    try:
        return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def alive(pid: int) -> bool:
    """Whether the process runs (one that has ended and waits for its parent has no command line left)."""
    try:
        return bool(Path(f"/proc/{pid}/cmdline").read_bytes())
    except OSError:
        return False


def undisturbed(words: Sequence[str]) -> tuple[dict[str, Any], float]:
    """What the work leaves when nothing kills it, and its seconds."""
    with tempfile.TemporaryDirectory() as place:
        began = time.monotonic()
        subprocess.run(command(words, Path(place)), check=True, capture_output=True)
        left, seconds = result(Path(place)), time.monotonic() - began
        if not left:
            raise ValueError(f"srd {shlex.join(words)} left nothing to compare with")
        return left, seconds


def kill_all(names: Sequence[str] | None, kills: int, seed: int) -> Iterator[Trials]:
    """Kill the commands of these names (None: all), so often in all; the trials of each by each signal."""
    generator = random.Random(seed)
    with tempfile.TemporaryDirectory() as place:
        chosen = works(Path(place), names)
        began = time.monotonic()
        subprocess.run([sys.executable, "-m", "srd_train", "--version"], check=True, capture_output=True)
        start = time.monotonic() - began
        each = -(-kills // (len(chosen) * len(SIGNALS)))
        for name, words in chosen.items():
            expected, seconds = undisturbed(words)
            for number in SIGNALS:
                trials = Trials(name, words, number, expected, 0.8 * start, max(start, seconds))
                while trials.counts["kills"] < each:
                    trials.burst(min(BURST, each - trials.counts["kills"]), generator)
                yield trials


def line(trials: Trials) -> str:
    counts = " | ".join(str(trials.counts[name]) for name in SHOWN)
    return f"| `srd {trials.name}` | {trials.number.name} | {counts} |"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=100, help="in all, shared among commands and signals")
    parser.add_argument("--seed", type=int, default=0, help="of the moments")
    parser.add_argument("--commands", nargs="+", help="'train r-ltr', benchmark, ...; by default all")
    parser.add_argument("--writers", type=float, help="in their place: seconds of many writers of the same files")
    options = parser.parse_args()
    if options.writers is not None:
        count, problems = write_together(options.writers)
        print(f"{count:,} times written in {options.writers:g} s: {len(problems)} problems")  # noqa: T201 - a script
        print(*problems, sep="\n", file=sys.stderr)  # noqa: T201 - a script
        return 1 if problems or not count else 0
    print("| command | signal | " + " | ".join(SHOWN) + " |")  # noqa: T201 - a script
    print("|---|---|" + "---:|" * len(SHOWN))  # noqa: T201 - a script
    problems = []
    for trials in kill_all(options.commands, options.kills, options.seed):
        print(line(trials), flush=True)  # noqa: T201 - a script
        problems += [f"{line(trials)}: {problem}" for problem in trials.problems]
    for problem in problems:
        print(problem, file=sys.stderr)  # noqa: T201 - a script
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
