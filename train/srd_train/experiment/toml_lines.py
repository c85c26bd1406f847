"""From TOML's tables to dataclasses: errors name the line, which TOML's reader does not."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar, get_type_hints

from srd_agents.config import check_type
from srd_gym.names import unknown

Entry = TypeVar("Entry")


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


def filled(
    kind: type[Entry],
    table: Mapping[str, Any],
    lines: RecipeLines,
    array: str | None = None,
    index: int = 0,
    whose: str | None = None,
) -> Entry:
    """A dataclass from a table; lists become tuples, unknown keys and values of other types are errors.

    Args:
        kind: of dataclass.
        table: its fields.
        lines: where the table is written.
        array: the array of tables that it is in.
        index: which of these tables.
        whose: what errors call it.

    Raises:
        ValueError: the message gives file and line, what was expected and what came.
    """
    fields = {entry.name: entry for entry in dataclasses.fields(kind)}  # type: ignore[arg-type]
    what = f": {whose or array}" if whose or array else ""
    for key in table:
        if key not in fields:
            raise unknown(f"key in {lines.place(key, array, index)}{what}:", key, fields)
    needed = [
        name
        for name, entry in fields.items()
        if entry.default is dataclasses.MISSING and entry.default_factory is dataclasses.MISSING
    ]
    missing = [name for name in needed if name not in table]
    head = lines.where if array is None else lines.place(f"[[{array}]]", array, index)
    if missing:
        raise ValueError(f"{head}{what}: {', '.join(missing)} missing; expected at least {', '.join(needed)}")
    hints = get_type_hints(kind)
    for key, value in table.items():
        try:
            check_type(key, value, hints[key])
        except (TypeError, ValueError) as error:
            raise ValueError(f"{lines.place(key, array, index)}{what}: {error}") from error
    try:
        return kind(**{key: _frozen(value) for key, value in table.items()})
    except ValueError as error:
        raise ValueError(f"{head}: {error}") from error


def _frozen(value: Any) -> Any:
    """Lists as tuples, throughout."""
    if isinstance(value, list):
        return tuple(_frozen(item) for item in value)
    if isinstance(value, dict):
        return {key: _frozen(item) for key, item in value.items()}
    return value


def table_list(values: Mapping[str, Any], key: str, where: str) -> list[dict[str, Any]]:
    """An array of tables.

    Raises:
        ValueError: something else.
    """
    tables = values.get(key, [])
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise ValueError(f"{where}: expected [[{key}]] tables, one for each")
    return tables
