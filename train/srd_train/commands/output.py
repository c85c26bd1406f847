"""Where a command writes: results to standard output, everything else (progress, notices, errors) to standard error."""

from __future__ import annotations

import contextlib
import json as json_module
import sys
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from typing import Any

Advance = Callable[[int], None]
"""Tells a progress bar that this many more units are done."""


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

    def data(self, value: Any) -> None:
        """Print a value as JSON to standard output; NaN and infinity are errors, never written."""
        self.text(json_module.dumps(value, indent=2, allow_nan=False))

    def notice(self, text: str) -> None:
        """Tell the user something on standard error."""
        sys.stderr.write(visible(text) + "\n")
        sys.stderr.flush()

    def error(self, text: str) -> None:
        """Print one `error: ...` line to standard error."""
        sys.stderr.write("error: " + visible(" ".join(text.split("\n"))) + "\n")
        sys.stderr.flush()

    def table(
        self, title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], caption: str = "", *, texts: int = 1
    ) -> None:
        """Print a table for people.

        Args:
            title: what the table shows.
            columns: the heads.
            rows: the cells, as text; kept as data (no markup is interpreted).
            caption: a note below the table.
            texts: how many columns, from the left, hold text; the others hold numbers.
        """
        from rich import box
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text

        table = Table(title=Text(visible(title)), box=box.SIMPLE_HEAD, title_justify="left")
        for index, column in enumerate(columns):
            table.add_column(Text(visible(column)), justify="left" if index < texts else "right", no_wrap=index == 0)
        for row in rows:
            table.add_row(*(Text(visible(cell)) for cell in row))
        # A file or a pipe has no width: lines must not be folded there.
        console = Console(file=sys.stdout, width=None if sys.stdout.isatty() else 240, highlight=False)
        console.print(table)
        if caption:
            console.print(Text(visible(caption)))

    @contextlib.contextmanager
    def progress(self, description: str, total: int | None = None) -> Iterator[Advance]:
        """A progress bar on standard error while the block runs; nothing where that is no terminal, or with --json.

        Args:
            description: what is being done.
            total: units to do, or None where that is unknown.

        Yields:
            A function to call with the number of units just done.
        """
        if self.json or not sys.stderr.isatty():
            yield lambda _units: None
            return
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
        from rich.text import Text

        columns = (
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
        )
        with Progress(*columns, console=Console(file=sys.stderr), transient=True) as bar:
            task = bar.add_task(str(Text(visible(description))), total=total)
            yield lambda units: bar.advance(task, units)


def visible(text: str) -> str:
    """The text with control characters (but line ends) written as escapes: data must not steer a terminal."""
    if text.isprintable():
        return text
    return "".join(
        character
        if character == "\n" or not unicodedata.category(character).startswith("C")
        else character.encode("unicode_escape").decode("ascii")
        for character in text
    )
