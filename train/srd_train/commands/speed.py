"""`srd speed`: the speed table, on one thread, side by side with peers."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from srd_train.options import SomeFile, parsed
from srd_train.output import Output
from srd_train.pages import write_page
from srd_train.provenance import commit, versions

_THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
MEMORY_RANKERS = ("mdp-div", "mdp-div-batched")


@dataclass(frozen=True, kw_only=True)
class Speed:
    """Measure speed on one thread, side by side with peers in one run, as ratios.

    Peers: pyndeval for scoring, CartPole-v1 for stepping, SyncVectorEnv for vector environments, and the published
    MDP-DIV code's times for training and ranking. Times are processor time; contenders take turns.

    Examples:
      srd speed
      srd speed --rounds 9 --markdown speed.md
    """

    rounds: int = 5
    """Rounds that count, for each line; the figures are medians over them."""
    size: float = 1.0
    """Share of the full work: smaller is quicker and less exact."""
    markdown: SomeFile = None
    """Also write the table as a Markdown file; one with marks (<!-- speed: begin -->, <!-- speed: end -->) keeps its
    text around them."""
    json: bool = False
    """Print JSON."""


def parse(args: Sequence[str], prog: str) -> SpeedCommand:
    """The command from its words."""
    return SpeedCommand(parsed(Speed, args, prog), tuple(args))


@dataclass(frozen=True)
class SpeedCommand:
    """`srd speed`, ready to run."""

    options: Speed
    words: tuple[str, ...]

    def run(self, output: Output) -> int:
        """Measure and show.

        Raises:
            ValueError: no rounds, or a size that is not above 0.
        """
        options = self.options
        if options.rounds < 1 or not 0 < options.size <= 1:
            raise ValueError("expected --rounds of at least 1 and --size above 0 and at most 1")
        if any(os.environ.get(name) != "1" for name in _THREAD_VARIABLES):
            return _with_one_thread(self.words)
        lines, memory = _measured(options, output)
        rows = [line.as_row() for line in lines] + [_memory_row(name, peak) for name, peak in memory.items()]
        from srd_train.speed import HEADS

        if options.markdown is not None:
            _write_markdown(options, rows)
        if options.json:
            from srd_train.speed_cases import MEMORY_TARGET

            output.data(
                {
                    "lines": [line.as_dict() for line in lines],
                    "memory_megabytes": memory,
                    "memory_target_megabytes": MEMORY_TARGET,
                    "rounds": options.rounds,
                    "size": options.size,
                    "machine": _machine(),
                    "commit": commit(),
                    "versions": versions(),
                }
            )
        else:
            output.table("Speed, one thread", HEADS, rows, _machine())
        return 0


def _with_one_thread(words: Sequence[str]) -> int:
    """The same command in a process that reads the thread settings: libraries look at them only when they start."""
    environment = {**os.environ, **dict.fromkeys(_THREAD_VARIABLES, "1")}
    return subprocess.run(
        [sys.executable, "-m", "srd_train.cli", "speed", *words], env=environment, check=False
    ).returncode


def _measured(options: Speed, output: Output) -> tuple[list[Any], dict[str, float]]:
    """The lines of the table, and peak megabytes of training by ranker."""
    from srd_train.speed_cases import all_cases, training_memory

    cases = list(all_cases(options.rounds, options.size))
    lines = []
    memory = {}
    with output.progress("speed", len(cases) + len(MEMORY_RANKERS)) as advance:
        for name, case in cases:
            try:
                lines.append(case())
            except ImportError as error:
                output.notice(f"{name} is left out: {error}")
            advance(1)
        for name in MEMORY_RANKERS:
            memory[name] = training_memory(name)
            advance(1)
    return lines, memory


def _memory_row(name: str, peak: float) -> list[str]:
    """A line on memory."""
    from srd_train.speed_cases import MEMORY_TARGET

    what = f"peak memory of training {name} on 198 topics, F = 100"
    return [what, f"{peak:.0f} MB", "-", "-", f"{MEMORY_TARGET:.0f} MB", "yes" if peak <= MEMORY_TARGET else "no"]


def _machine() -> str:
    """What it ran on."""
    return (
        f"{platform.machine()}, {platform.system()}, Python {platform.python_version()}, processor time of one thread"
    )


def _write_markdown(options: Speed, rows: Sequence[Sequence[str]]) -> None:
    """The table as a page."""
    from srd_train.describe import markdown
    from srd_train.speed import HEADS

    software = ", ".join(f"{name} {number}" for name, number in versions().items())
    part = (
        f"{markdown(HEADS, rows)}\n\n"
        f"Made by `srd speed --rounds {options.rounds}` at commit {commit()} ({software}; {_machine()}). Figures are "
        "medians over rounds in which both sides took turns."
    )
    write_page(options.markdown or Path("speed.md"), "speed", part, f"# Speed\n\n{part}")
