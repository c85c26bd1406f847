"""`make speed`: the speed table, on one thread, side by side with peers."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro

from srd_agents.training.options import versions
from srd_train.commands.console import Output, SomeFile, parsed
from srd_train.experiment.provenance import commit
from srd_train.report.markup import markdown, write_page

_THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
_PARTS = ("lines", "memory")


@dataclass(frozen=True, kw_only=True)
class Speed:
    """Measure speed on one thread, side by side with peers in one run, as ratios.

    Peers: pyndeval for scoring, pyversity for heuristics, CartPole-v1 for stepping, SyncVectorEnv for vector
    environments, the published MDP-DIV, M2Div and MA4DIV codes' times, and rates to reach. Times are processor time;
    contenders take turns. What the machine can do at most is measured too.

    Examples:
      make speed
      make speed ARGS="--only qmix"
      make speed ARGS="--rounds 9 --markdown speed.md"
    """

    rounds: int = 5
    """Rounds that count, for each line; the figures are medians over them."""
    size: float = 1.0
    """Share of the full work: smaller is quicker and less exact."""
    only: Annotated[tuple[str, ...], tyro.conf.arg(metavar="WORDS...")] = ()
    """Only the lines whose names hold one of these, e.g. qmix, memory, "vector environment"."""
    markdown: SomeFile = None
    """Also write the table as a Markdown file; one with marks (<!-- speed: begin -->, <!-- speed: end -->) keeps its
    text around them."""
    figure: SomeFile = None
    """Draw time against candidates, vector width, batch and ranks (SVG or PNG) instead of measuring lines."""
    json: bool = False
    """Print JSON."""


def parse(args: Sequence[str], prog: str) -> SpeedCommand:
    """The command from its words."""
    return SpeedCommand(parsed(Speed, args, prog), tuple(args))


@dataclass(frozen=True)
class SpeedCommand:
    """`make speed`, ready to run."""

    options: Speed
    words: tuple[str, ...]

    def execute(self, output: Output) -> int:
        """Measure and show.

        Raises:
            ValueError: no rounds, or a size that is not above 0.
        """
        options = self.options
        if options.rounds < 1 or not 0 < options.size <= 1:
            raise ValueError("expected --rounds of at least 1 and --size above 0 and at most 1")
        if any(os.environ.get(name) != "1" for name in _THREAD_VARIABLES):
            # Libraries look at the thread settings only when they start.
            environment = {**os.environ, **dict.fromkeys(_THREAD_VARIABLES, "1")}
            words = [sys.executable, "-m", "studies", "speed", *self.words]
            return subprocess.run(words, env=environment, check=False).returncode
        if options.figure is not None:
            from studies.speed.curves import draw, growths

            draw(list(growths(options.rounds)), options.figure)
            return 0
        lines = _measured(options, output)
        if options.markdown is not None:
            _write_markdown(options, options.markdown, lines)
        if options.json:
            parts = {key: [line for line in lines if ("megabytes" in line) == (key == "memory")] for key in _PARTS}
            about = {"rounds": options.rounds, "size": options.size, "machine": _machine()}
            output.data(parts | about | {"commit": commit(), "versions": versions()})
        elif lines:
            from studies.speed.race import HEADS, as_row

            output.table("Speed, one thread", HEADS, [as_row(line) for line in lines], _machine())
        return 0


def _measured(options: Speed, output: Output) -> list[dict[str, Any]]:
    """The lines that --only leaves, with their figures."""
    from studies.speed.race import MissingError, measured, table

    lines, chosen = [], _chosen(list(table()), options.only)
    with output.progress("speed", len(chosen)) as advance:
        for name in chosen:
            try:
                lines.append(measured(name, options.rounds, options.size))
            except (ImportError, MissingError) as error:
                output.notice(f"{name} is left out: {error}")
            advance(1)
    return lines


def _machine() -> str:
    """What it ran on."""
    where = f"{platform.machine()}, {platform.system()}, Python {platform.python_version()}"
    return f"{where}, processor time of one thread"


def _chosen(names: Sequence[str], only: Sequence[str]) -> list[str]:
    """The names that hold one of the words; all where no word is given.

    Raises:
        ValueError: a word that is in no name.
    """
    for words in only:
        if not any(words in name for name in names):
            raise ValueError(f"--only {words!r} is in no line's name; there are: {'; '.join(names)}")
    return [name for name in names if not only or any(words in name for words in only)]


def _write_markdown(options: Speed, path: Path, lines: Sequence[dict[str, Any]]) -> None:
    """The table as a page."""
    from studies.speed.race import HEADS, as_row, operations, reading

    limits = (
        f"The limits of one core, measured beside the lines: {operations() / 1e9:,.0f} thousand million floating-point "
        f"operations a second in products of float32 matrices, {reading() / 1e9:.1f} GB/s in reading memory. What a "
        "unit needs of them at least is counted: products, and one pass over the vectors."
    )
    software = ", ".join(f"{name} {number}" for name, number in versions().items())
    words = [f"--rounds {options.rounds}"] + [f"--size {options.size:g}"] * (options.size != 1)
    words += ["--only", *(f"'{part}'" if " " in part else part for part in options.only)] if options.only else []
    made_by = (
        f'Made by `make speed ARGS="{" ".join(words)}"` at commit {commit()} ({software}; {_machine()}). Figures are '
        "medians over rounds in which both sides took turns."
    )
    part = "\n\n".join([*([markdown(HEADS, list(map(as_row, lines)))] if lines else []), limits, made_by])
    write_page(path, "speed", "Speed", part)
