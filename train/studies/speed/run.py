"""`make speed`: the speed table, on one thread, side by side with peers."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from srd_agents.training.options import versions
from srd_train.commands.console import Output, SomeFile, parsed
from srd_train.experiment.provenance import commit
from srd_train.report.markup import markdown, write_page

if TYPE_CHECKING:
    from studies.speed.memory import MemoryCase
    from studies.speed.race import Outcome

_THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


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
            return _with_one_thread(self.words)
        if options.figure is not None:
            from studies.speed.curves import draw, growths

            draw(list(growths(options.rounds)), options.figure)
            return 0
        measured = _measured(options, output)
        if options.markdown is not None:
            _write_markdown(options, measured)
        if options.json:
            output.data(_as_json(options, measured))
            return 0
        from studies.speed.race import HEADS

        if measured.rows:
            output.table("Speed, one thread", HEADS, measured.rows, _machine())
        return 0


def _with_one_thread(words: Sequence[str]) -> int:
    """The same command in a process that reads the thread settings: libraries look at them only when they start."""
    environment = {**os.environ, **dict.fromkeys(_THREAD_VARIABLES, "1")}
    return subprocess.run([sys.executable, "-m", "studies", "speed", *words], env=environment, check=False).returncode


@dataclass
class Measured:
    """What was measured."""

    lines: list[Outcome] = field(default_factory=list)
    """Lines of the table."""
    memory: list[tuple[MemoryCase, float]] = field(default_factory=list)
    """Lines on memory, with peak megabytes."""

    @property
    def rows(self) -> list[list[str]]:
        """The table as text."""
        return [line.as_row() for line in self.lines] + [_memory_row(case, peak) for case, peak in self.memory]


def _measured(options: Speed, output: Output) -> Measured:
    """Everything that --only leaves."""
    from studies.speed.cases import all_cases
    from studies.speed.memory import memory_cases
    from studies.speed.race import MissingError

    cases, memories = list(all_cases(options.rounds, options.size)), memory_cases()
    chosen = _chosen([name for name, _ in cases] + [case.name for case in memories], options.only)
    measured = Measured()
    with output.progress("speed", len(chosen)) as advance:
        for name, run in cases:
            if name not in chosen:
                continue
            try:
                measured.lines.append(run())
            except (ImportError, MissingError) as error:
                output.notice(f"{name} is left out: {error}")
            advance(1)
        for case in memories:
            if case.name not in chosen:
                continue
            try:
                measured.memory.append((case, case.run()))
            except ImportError as error:
                output.notice(f"{case.name} is left out: {error}")
            advance(1)
    return measured


def _chosen(names: Sequence[str], only: Sequence[str]) -> set[str]:
    """The names that hold one of the words; all where no word is given.

    Raises:
        ValueError: a word that is in no name.
    """
    for words in only:
        if not any(words in name for name in names):
            raise ValueError(f"--only {words!r} is in no line's name; there are: {'; '.join(names)}")
    return {name for name in names if not only or any(words in name for words in only)}


def _as_json(options: Speed, measured: Measured) -> dict[str, Any]:
    """All figures as plain values."""
    return {
        "lines": [line.as_dict() for line in measured.lines],
        "memory": [
            {"name": case.name, "what": case.what, "megabytes": peak, "target_megabytes": case.target}
            for case, peak in measured.memory
        ],
        "rounds": options.rounds,
        "size": options.size,
        "machine": _machine(),
        "commit": commit(),
        "versions": versions(),
    }


def _memory_row(case: MemoryCase, peak: float) -> list[str]:
    """A line on memory."""
    return [
        case.what,
        f"{peak:,.0f} MB",
        "-",
        "-",
        f"{case.target:,.0f} MB",
        "yes" if peak <= case.target else "no",
        "-",
    ]


def _machine() -> str:
    """What it ran on."""
    return (
        f"{platform.machine()}, {platform.system()}, Python {platform.python_version()}, processor time of one thread"
    )


def _write_markdown(options: Speed, measured: Measured) -> None:
    """The table as a page."""
    from studies.speed.machine import described
    from studies.speed.race import HEADS

    software = ", ".join(f"{name} {number}" for name, number in versions().items())
    only = "".join(f" '{words}'" if " " in words else f" {words}" for words in options.only)
    made_by = (
        f'Made by `make speed ARGS="--rounds {options.rounds}{" --only" + only if only else ""}"` at commit {commit()} '
        f"({software}; {_machine()}). Figures are medians over rounds in which both sides took turns."
    )
    parts = [markdown(HEADS, measured.rows)] if measured.rows else []
    part = "\n\n".join([*parts, described(), made_by])
    write_page(options.markdown or Path("speed.md"), "speed", part, f"# Speed\n\n{part}")
