"""docs/claims.toml: claims, generated tables, and what prose may hold besides."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from srd_agents.training.options import config_from
from srd_gym.reading import reading


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A `[[claim]]` of docs/claims.toml. It must hold on each of its topic sets."""

    id: str
    sentence: str
    """As it stands on a page: a sentence, a part of one or a cell of a table. Each number in it with decimals must be a
    figure of the claim: a mean, a difference, an end of its interval, a p value, a cost."""
    recipe: str
    """Whose stored scores bear it."""
    topics: Sequence[str] = ()
    """Topic sets of the recipe, or its macro-averages; none named: all topic sets."""
    rows: tuple[str, ...]
    """The first is held against each of the others; all of them where the relation takes a `value`."""
    relation: Literal["greater", "at_least", "not_worse", "significant", "level"]
    """greater: a higher mean. significant: greater, with a paired test's p below `p`, adjusted by Holm's method over
    the recipe's significant claims. not_worse: the 95% interval of the difference stays above -`margin`. level: p is
    at least `p`. at_least: every row's mean is at least `value`, or the first's at least `times` each other's."""
    measure: str = ""
    """Of the table, or a cost: fit_cpu_seconds, rank_milliseconds, environment_steps; empty: the first measure."""
    p: float = 0.05
    margin: float = 0.0
    value: float | None = None
    times: float | None = None

    def __post_init__(self) -> None:
        """Refuse what cannot be checked."""
        alone = self.relation == "at_least" and self.value is not None
        if not alone and len(self.rows) < 2:
            rows = list(self.rows)
            raise ValueError(f"claim {self.id!r}: expected two rows or more for {self.relation!r}, got {rows}")
        if self.relation == "at_least" and (self.value is None) == (self.times is None):
            raise ValueError(f"claim {self.id!r}: at_least takes either a `value` or `times`")


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


def read_book(path: Path) -> Book:
    """The file; FileNotFoundError, ValueError or TypeError say what is wrong with it."""
    with reading(path, "claims", "TOML", "correct it"):
        content: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
    kinds = {"claim": ("claims", Claim), "table": ("tables", Pivot), "situation": ("situations", Situation)}
    for key, (name, kind) in (kinds | {"allowed": ("allowed", Allowed)}).items():
        entries = enumerate(content.pop(key, []), start=1)
        content[name] = tuple(config_from(kind, one, f"{key} {number}") for number, one in entries)
    book = config_from(Book, content, path.name)
    names = [claim.id for claim in book.claims]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"{path}: claims of one id: {', '.join(twice)}; expected each id once")
    return book
