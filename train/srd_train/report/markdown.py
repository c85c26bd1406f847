"""Markdown: tables, and parts of pages that are generated between marks, so that the text around is a person's own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from srd_gym.files import written_atomically


def markdown(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table; numbers stand right."""
    rule = ["---", *["---:"] * (len(heads) - 1)]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (heads, rule, *rows))


def marks(name: str) -> tuple[str, str]:
    """The comments between which a part of a page is generated."""
    return f"<!-- {name}: begin -->", f"<!-- {name}: end -->"


def with_parts(text: str, parts: Mapping[str, str]) -> str:
    """The page with each part between its marks `<!-- NAME: begin -->` and `<!-- NAME: end -->`.

    Raises:
        ValueError: a part whose marks the page lacks.
    """
    for name, part in parts.items():
        begin, end = marks(name)
        if begin not in text or end not in text:
            raise ValueError(f"the page has no marks {begin} and {end}; write them where the part belongs")
        before, rest = text.split(begin, 1)
        text = f"{before}{begin}\n{part}\n{end}{rest.split(end, 1)[1]}"
    return text


def write_page(path: Path, name: str, part: str, whole: str) -> None:
    """Put a part between its marks where the page has them, else write the whole page anew; never half of it."""
    there = path.read_text(encoding="utf-8") if path.is_file() else ""
    text = with_parts(there, {name: part}) if marks(name)[0] in there else whole + "\n"
    with written_atomically(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
