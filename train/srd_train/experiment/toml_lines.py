"""Where things stand in a recipe: TOML's reader gives values without their lines, and errors should name the line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class RecipeLines:
    """Finds the line of a word."""

    where: str
    """The file, as errors call it."""
    text: str = ""
    """The file's content; without it places have no line."""

    def place(self, word: str, array: str | None = None, index: int = 0) -> str:
        """The place of a key or a value, as in "mine.toml, line 12"; only the file where it is not found.

        Args:
            word: a key, the text of a value, or "[[array]]" for the head of the table.
            array: the array of tables that it is in; None: it is in none.
            index: which of these tables.
        """
        pattern = re.compile(rf"(?<![\w-]){re.escape(word)}(?![\w-])")
        for lines in (self._table(array, index), self._numbered()):  # tables may be written inline
            for number, line in lines:
                if pattern.search(line):
                    return f"{self.where}, line {number}"
        return self.where

    def _table(self, array: str | None, index: int) -> Iterator[tuple[int, str]]:
        """The lines of a table with their numbers: its head, its keys, and the tables in it."""
        seen, inside = -1, array is None
        for number, line in self._numbered():
            head = line.replace(" ", "")
            if head.startswith(f"[[{array}]]"):
                seen += 1
                inside = seen == index
            elif head.startswith("[") and not head.lstrip("[").startswith(f"{array}."):
                inside = False
            if inside:
                yield number, line

    def _numbered(self) -> Iterator[tuple[int, str]]:
        """The lines that are no comments, with their numbers."""
        for number, line in enumerate(self.text.splitlines(), start=1):
            if not line.lstrip().startswith("#"):
                yield number, line.strip()
