"""Where in a recipe's file something stands that an error speaks of."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class RecipeFile:
    """Where a recipe is written."""

    name: str
    """As errors call it."""
    lines: list[str]

    def place(self, words: list[str], array: str, index: int) -> str:
        """The line of the first of these words that a table of an array has ("": of none), as in "mine.toml, line 12".

        A table that is written inline has no head, and is looked for everywhere.
        """
        heads = [i for i, line in enumerate(self.lines) if array and line.replace(" ", "").startswith(f"[[{array}]]")]
        start = heads[index] if index < len(heads) else 0
        for word in words:
            for number, line in enumerate(self.lines[start:], start=start + 1):
                if not line.lstrip().startswith("#") and _holds(line, word):
                    return f"{self.name}, line {number}"
        return f"{self.name}, line {start + 1}" if heads else self.name


def named_in(value: Any, message: str) -> list[str]:
    """The texts and keys in a value that a message names, the innermost first."""
    if isinstance(value, str):
        return [value] if repr(value) in message else []
    inner = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    found = [word for item in sorted(inner, key=lambda item: isinstance(item, str)) for word in named_in(item, message)]
    return found + ([key for key in value if _holds(message, key)] if isinstance(value, Mapping) else [])


def _holds(text: str, word: str) -> bool:
    """Whether a text has a word."""
    return re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", text) is not None
