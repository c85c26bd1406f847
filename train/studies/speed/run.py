"""`make speed`: the speed table, on one thread, side by side with peers."""

from __future__ import annotations

import os
import platform
import shlex
from dataclasses import dataclass
from typing import Annotated

import tyro

from srd_train.commands.console import Output
from srd_train.commands.options import SomeFile
from srd_train.experiment.provenance import commit
from srd_train.report.markup import markdown, write_page


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
    only: Annotated[tuple[str, ...], tyro.conf.arg(metavar="WORDS...")] = ()
    """Only the lines whose names hold one of these, e.g. qmix, memory, "vector environment"."""
    markdown: SomeFile = None
    """Also write the table as a Markdown file; one with marks (<!-- speed: begin -->, <!-- speed: end -->) keeps its
    text around them."""
    figure: SomeFile = None
    """Draw time and memory against sizes (SVG or PNG) instead of measuring lines; exit code 1 where one grows faster
    than size^1.4."""

    def execute(self, output: Output) -> int:
        """Measure and show.

        Raises:
            ValueError: no rounds, words of no line, or more than one thread.
        """
        if self.rounds < 1:
            raise ValueError(f"expected --rounds of at least 1, got {self.rounds}")
        if os.environ.get("OMP_NUM_THREADS") != "1":
            raise ValueError("expected one thread: set OMP_NUM_THREADS=1, as libraries look at it when they start")
        if self.figure is not None:
            from studies.speed.curves import draw, growths, too_steep

            costs = list(growths(self.rounds))
            draw(costs, self.figure)
            for line in (steep := too_steep(costs)):
                output.error(line)
            return 1 if steep else 0
        from studies.speed.race import HEADS, measured, table

        names = [name for name in table() if not self.only or any(words in name for words in self.only)]
        if not names:
            raise ValueError(f"--only {' '.join(self.only)} is in no line's name; there are: {'; '.join(table())}")
        rows = []
        with output.progress("speed", len(names)) as advance:
            for name in names:
                try:
                    rows.append(measured(name, self.rounds))
                except ImportError as error:
                    output.notice(f"{name} is left out: {error}")
                advance(1)
        machine = f"{platform.machine()}, {platform.system()}, Python {platform.python_version()}"
        if self.markdown is not None:
            write_page(self.markdown, "speed", "Speed", f"{markdown(HEADS, rows)}\n\n{self._made_by(machine)}")
        output.table("Speed, one thread", HEADS, rows, machine, elsewhere="--markdown")
        return 0

    def _made_by(self, machine: str) -> str:
        """The limits of the machine, and the command."""
        from studies.speed.race import operations, reading

        words = f"--rounds {self.rounds}" + (f" --only {shlex.join(self.only)}" if self.only else "")
        return (
            f"The limits of one core, measured beside the lines: {operations() / 1e9:,.0f} GFLOP/s in products of "
            f"float32 matrices, {reading() / 1e9:.1f} GB/s in reading memory.\n\n"
            f'Made by `make speed ARGS="{words}"` at commit '
            f"{commit()} ({machine}, processor time of one thread). Figures are medians over rounds in "
            "which both sides took turns."
        )
