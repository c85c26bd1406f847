"""The two streams of a command: results go to standard output, progress, notices and errors to standard error."""

from __future__ import annotations

import contextlib
import json as json_module
import sys
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Literal

from srd_gym.reading import shown_text

Advance = Callable[..., None]
"""Tells a progress bar that this many more units are done."""
_LONGEST = 1_900
"""Characters of an error or a notice."""
_UNFOLDED = 100_000
"""Characters in a line of a file or a pipe."""
_BETWEEN = 3
"""Characters between two columns."""


class Output:
    """The two streams of a command.

    Args:
        json: results are JSON for programs; progress bars are left out.
    """

    def __init__(self, *, json: bool = False) -> None:
        self.json = json

    def text(self, text: str) -> None:
        """Print plain text to standard output."""
        sys.stdout.write(text + "\n")
        sys.stdout.flush()

    def data(self, value: object) -> None:
        """Print a value as JSON to standard output; NaN and infinity are errors, never written."""
        self.text(json_module.dumps(value, indent=2, allow_nan=False))

    def notice(self, text: str) -> None:
        """Tell the user something on standard error."""
        sys.stderr.write(visible(shown_text(text, _LONGEST)) + "\n")
        sys.stderr.flush()

    def outcome(self, values: Mapping[str, object], text: str) -> None:
        """Tell what was written: as JSON with --json, else as a notice."""
        if self.json:
            self.data(values)
        else:
            self.notice(text)

    def error(self, text: str) -> None:
        """Print one `error: ...` line to standard error, if it is still there (a terminal may have been closed)."""
        with contextlib.suppress(OSError):
            line = " ".join(shown_text(text, _LONGEST).split("\n"))
            sys.stderr.write(f"error: {visible(line)}\n")
            sys.stderr.flush()

    def table(
        self,
        title: str,
        columns: Sequence[str],
        rows: Sequence[Sequence[str]],
        caption: str = "",
        *,
        texts: int = 1,
        elsewhere: str = "--json",
    ) -> None:
        """Print a table for people.

        Where a terminal is too narrow, the last columns of numbers are left out until names and numbers stay whole, and
        a line below names them. A file or a pipe has no width: nothing is left out there.

        Args:
            title: what the table shows.
            columns: the heads.
            rows: the cells, as text; kept as data (no markup is interpreted).
            caption: a note below the table.
            texts: how many columns, from the left, hold text; the others hold numbers.
            elsewhere: the option that shows all columns.
        """
        from rich import box
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text

        console = Console(file=sys.stdout, width=None if sys.stdout.isatty() else _UNFOLDED, highlight=False)
        heads = [visible(column) for column in columns]
        cells = [[visible(cell) for cell in row] for row in rows]
        widths, fixed = _fitting(heads, cells, console.width, texts)
        table = Table(title=Text(visible(title)), box=box.SIMPLE_HEAD, title_justify="left")
        for index, (head, width) in enumerate(zip(heads, widths, strict=False)):
            justify: Literal["left", "right"] = "left" if index < texts else "right"
            table.add_column(Text(head), justify=justify, overflow="fold", width=width if fixed else None)
        for row in cells:
            table.add_row(*map(Text, row[: len(widths)]))
        console.print(table)
        if missing := ", ".join(heads[len(widths) :]):
            console.print(Text(f"Left out at this width: {missing}. To see them: {elsewhere} or a wider terminal."))
        if caption:
            console.print(Text(visible(caption)))

    @contextlib.contextmanager
    def progress(self, description: str, total: int | None = None) -> Iterator[Advance]:
        """A progress bar, with rate and time left, on standard error while the block runs.

        Nothing is shown where that is no terminal, or with --json.

        Args:
            description: what is being done.
            total: units to do, or None where that is unknown.

        Yields:
            A function to call with the number of units just done, and where it changes with the description.
        """
        if self.json or not sys.stderr.isatty():
            yield lambda _units, _text=description: None
            return
        from rich import progress
        from rich.console import Console
        from rich.text import Text

        class Rate(progress.ProgressColumn):
            """Units per second."""

            def render(self, task: progress.Task) -> Text:
                speed = task.finished_speed or task.speed
                return Text("" if speed is None else f"{speed:,.3g}/s")

        columns = (
            progress.TextColumn("{task.description}", markup=False),
            progress.BarColumn(),
            progress.MofNCompleteColumn(),
            Rate(),
            progress.TimeElapsedColumn(),
            progress.TimeRemainingColumn(),
        )
        with progress.Progress(*columns, console=Console(file=sys.stderr), transient=True) as bar:
            task = bar.add_task(visible(description), total=total)
            yield lambda units, text=description: bar.update(task, advance=units, description=visible(text))


def _fitting(
    heads: Sequence[str], cells: Sequence[Sequence[str]], available: int, texts: int
) -> tuple[list[int], bool]:
    """Widths of the first columns, as many as fit with every cell and every word of a head in one line.

    Returns:
        The widths of at least the texts and one column of numbers; and whether they are to be kept, which is so where
        they fit but whole heads do not.
    """
    from rich.cells import cell_len

    columns = zip(heads, zip(*cells, strict=True) if cells else [()] * len(heads), strict=True)
    widths = [max(map(cell_len, [*head.split(), *column]), default=0) for head, column in columns]
    while len(widths) > texts + 1 and 1 + sum(widths) + _BETWEEN * len(widths) > available:
        widths.pop()
    needed = 1 + _BETWEEN * len(widths)
    whole = needed + sum(max(width, cell_len(head)) for width, head in zip(widths, heads, strict=False))
    return widths, needed + sum(widths) <= available < whole


def visible(text: str) -> str:
    """The text with control characters (but line ends) written as escapes: data must not steer a terminal."""
    return "".join(
        one if one == "\n" or not unicodedata.category(one).startswith("C") else ascii(one)[1:-1] for one in text
    )
