"""docs/claims.toml: claims, generated tables, and what prose may hold besides."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from srd_agents.training.options import config_from
from srd_gym.reading import reading
from studies.claims.claim import Claim


@dataclass(frozen=True, kw_only=True)
class Allowed:
    """Numbers that are no results of ours: definitions, versions, figures that papers published."""

    why: str
    text: str = ""
    """As it stands in the prose."""
    pattern: str = ""
    """Or a regular expression."""

    def __post_init__(self) -> None:
        """Refuse both or neither."""
        if bool(self.text) == bool(self.pattern):
            raise ValueError(f"allowed ({self.why}): expected either a text or a pattern")
        re.compile(self.pattern)


@dataclass(frozen=True, kw_only=True)
class Situation:
    """A line of the table that says which ranker to use."""

    situation: str
    """What the reader has."""
    use: str
    """What to use then, in Markdown."""
    recipe: str
    topics: str
    ranker: str
    order: str = ""
    """The row of the untouched order; empty where there is none."""
    mmr: str = ""
    """The row of MMR as it comes, or of MMR chosen on validation topics, which the table says; "RECIPE: ROW" where it
    stands on another page of the same topics; empty where there is none."""


@dataclass(frozen=True, kw_only=True)
class Pivot:
    """A table with a line a topic set and a column a ranker: means of the first measure."""

    name: str
    """Of its marks on pages, <!-- NAME: begin --> and <!-- NAME: end -->."""
    head: str = "topics"
    """Of the first column."""
    lines: Mapping[str, str]
    """Label -> "RECIPE: TOPIC SET"."""
    columns: Mapping[str, str]
    """Head -> row; a line's topic set may lack it."""
    above: tuple[str, ...] = ()
    """Rows; figures significantly above all of them that the topic set has are bold."""
    figure: str = ""
    """Where below docs/ to draw the differences from the first of `above`; empty: nowhere."""


@dataclass(frozen=True, kw_only=True)
class Book:
    """All of docs/claims.toml."""

    claims: tuple[Claim, ...] = ()
    tables: tuple[Pivot, ...] = ()
    situations: tuple[Situation, ...] = ()
    allowed: tuple[Allowed, ...] = ()
    other_parts: tuple[str, ...] = ()
    """Marks of the parts of pages that other commands write: `make speed`, say."""
    unchecked: tuple[str, ...] = ()
    """Pages whose prose nobody has held against the scores yet."""
    without_scores: tuple[str, ...] = ()
    """Pages of results that have no scores beside them."""


_PARTS: Mapping[str, tuple[str, type[Any]]] = {
    "claim": ("claims", Claim),
    "table": ("tables", Pivot),
    "situation": ("situations", Situation),
    "allowed": ("allowed", Allowed),
}


def read_book(path: Path) -> Book:
    """The file.

    Raises:
        FileNotFoundError: there is none.
        ValueError, TypeError: what is wrong in it.
    """
    with reading(path, "claims", "TOML", "correct it"):
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    parts: dict[str, Any] = {}
    for key, (name, kind) in _PARTS.items():
        entries = content.pop(key, [])
        parts[name] = tuple(config_from(kind, one, f"{key} {number + 1}") for number, one in enumerate(entries))
    book = config_from(Book, {**content, **parts}, path.name)
    names = [claim.id for claim in book.claims]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"{path}: claims of one id: {', '.join(twice)}; expected each id once")
    return book
