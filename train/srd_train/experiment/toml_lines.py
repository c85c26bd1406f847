"""Where things stand in a recipe: TOML's reader gives values without their lines, and errors should name the line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_HEADER = re.compile(r"\s*\[")


@dataclass(frozen=True)
class RecipeLines:
    """Finds the line of a key or a value."""

    where: str
    """The file, as errors call it."""
    text: str = ""
    """The file's content; without it places have no line."""

    def of_key(self, key: str, array: str | None = None, index: int = 0) -> str:
        """The place of a key, as in "mine.toml, line 12"; only the file where it is not found.

        Args:
            key: what stands before "=".
            array: the array of tables that it is in; None: it is in none.
            index: which of these tables.
        """
        return self._place(rf"(^|[{{,])\s*[\"']?{re.escape(key)}[\"']?\s*=", array, index)

    def of_value(self, value: str, array: str | None = None, index: int = 0) -> str:
        """The place of a text, as `of_key`."""
        return self._place(rf"[\"']{re.escape(value)}[\"']", array, index)

    def of_table(self, array: str, index: int) -> str:
        """The place of a table's head."""
        return self._place(rf"^\s*\[\[\s*{array}\s*\]\]", array, index)

    def _place(self, pattern: str, array: str | None, index: int) -> str:
        """The first line that matches, within the table, else (tables may be written inline) anywhere."""
        for lines in (self._table(array, index), self._numbered()):
            for number, line in lines:
                if re.search(pattern, line):
                    return f"{self.where}, line {number}"
        return self.where

    def _table(self, array: str | None, index: int) -> Iterator[tuple[int, str]]:
        """The lines of a table with their numbers: its head, its keys, and the tables in it."""
        seen, inside = -1, array is None
        for number, line in self._numbered():
            if _HEADER.match(line):
                if array is None:
                    return
                if re.match(rf"\s*\[\[\s*{array}\s*\]\]", line):
                    seen += 1
                    inside = seen == index
                elif not re.match(rf"\s*\[+\s*{array}\s*\.", line):
                    inside = False
            if inside:
                yield number, line

    def _numbered(self) -> Iterator[tuple[int, str]]:
        """The lines that are no comments, with their numbers."""
        for number, line in enumerate(self.text.splitlines(), start=1):
            if not line.lstrip().startswith("#"):
                yield number, line
