"""How far a benchmark is, and how long it will take: what is left is judged by what the same rows took so far."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from typing import Any, Self

from srd_agents.registry import RANKERS
from srd_train.commands.output import Output, visible
from srd_train.experiment.recipe import Recipe

Row = tuple[str, str]
"""Topic set and row of the tables."""


class TimeLeft:
    """Estimates the time that a recipe's unfinished cells will take.

    A cell is expected to take what cells of its row took on the same topics, else on other topics; else a learner takes
    its time budget, or the mean of the learners seen, and what does not learn takes nothing. How these seconds of work
    become seconds on the clock (several processes, a busy machine) is estimated from the cells done in this run.

    Args:
        recipe: the product.
        clock: gives seconds; for tests.
    """

    def __init__(self, recipe: Recipe, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._left: Counter[Row] = Counter()
        self._learns: dict[str, bool] = {}
        self._budgets: dict[str, float | None] = {}
        for topics in recipe.topics:
            for ranker in recipe.rankers:
                for row in ranker.rows:
                    self._left[topics.name, row] += len(topics.fold_numbers) * len(ranker.seeds or recipe.seeds)
                    self._learns[row] = RANKERS.find(ranker.ranker).learns
                    # The folds and seeds of a row are trained anew; its views rank with what it learned.
                    self._budgets[row] = ranker.time_budget if row == ranker.name else None
        self.total = sum(self._left.values())
        self.finished = 0
        self._took: dict[Row, list[float]] = {}
        self._began = clock()
        self._work = 0.0
        self._end: float | None = None

    def add(self, topics: str, row: str, seconds: float, *, found: bool) -> None:
        """A cell is finished.

        Args:
            topics: its topic set.
            row: its row of the tables.
            seconds: what it took, or had taken when it was run.
            found: it was finished before this run.
        """
        self.finished += 1
        self._left[topics, row] -= 1
        self._took.setdefault((topics, row), []).append(seconds)
        if not found:
            self._work += seconds
        now = self._clock()
        pace = (now - self._began) / self._work if self._work > 0 else 1.0
        expected = [(count, self._expected(key)) for key, count in self._left.items() if count > 0]
        known = sum(count * each for count, each in expected if each is not None)
        self._end = None if any(each is None for _, each in expected) else now + pace * known

    @property
    def seconds(self) -> float | None:
        """Seconds left by now; None where a row is left of which nothing is known."""
        return None if self._end is None else max(0.0, self._end - self._clock())

    def __str__(self) -> str:
        """As in: 3 of 12 cells, about 0:02:05 left."""
        left = self.seconds
        time_left = "time left unknown" if left is None else f"about {timedelta(seconds=round(left))} left"
        return f"{self.finished} of {self.total} cells" + (f", {time_left}" if self.finished < self.total else "")

    def _expected(self, key: Row) -> float | None:
        """Seconds that one more cell of a row takes; None: unknown."""
        row = key[1]
        same = self._took.get(key) or [s for (_, other), took in self._took.items() if other == row for s in took]
        if same:
            return sum(same) / len(same)
        if not self._learns[row]:
            return 0.0
        budget = self._budgets[row]
        if budget is not None:
            return budget
        learners = [s for (_, other), took in self._took.items() if self._learns.get(other) for s in took]
        return sum(learners) / len(learners) if learners else None


class BenchmarkProgress:
    """A bar with the time left on standard error, where that is a terminal and results are for people.

    Args:
        recipe: the product.
        output: of the command.
    """

    def __init__(self, recipe: Recipe, output: Output) -> None:
        self.left = TimeLeft(recipe)
        self._bar: Any = None
        if not output.json and sys.stderr.isatty():
            self._bar = _bar(self.left)
            self._task = self._bar.add_task(visible(recipe.name), total=self.left.total)

    def add(self, topics: str, row: str, seconds: float, *, found: bool) -> None:
        """As `TimeLeft.add`."""
        self.left.add(topics, row, seconds, found=found)
        if self._bar is not None:
            self._bar.update(self._task, completed=self.left.finished)

    def __enter__(self) -> Self:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(self, *exception: object) -> None:
        if self._bar is not None:
            self._bar.stop()


def _bar(left: TimeLeft) -> Any:
    """A bar that shows `left`, every second anew, and vanishes at the end."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn, TimeElapsedColumn
    from rich.text import Text

    class Left(ProgressColumn):
        """Cells done and the time left."""

        def render(self, task: Task) -> Text:
            return Text(str(left))

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TimeElapsedColumn(), Left())
    return Progress(*columns, console=Console(file=sys.stderr), transient=True, refresh_per_second=1)
