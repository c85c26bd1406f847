"""All that must hold before the documentation is built."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from studies.claims.book import Book, read_book
from studies.claims.claim import faults as claim_faults
from studies.claims.generated import DECISION, LIST, remade
from studies.claims.prose import decimals, plain, prose
from studies.claims.stored import Stored

MOST_BYTES = 10_000_000
"""Of all scores together."""


def faults(docs: Path) -> list[str]:
    """What the pages say and the stored scores do not, a line each; empty where all is well.

    Args:
        docs: the folder, beside README.md.
    """
    book, stored = read_book(docs / "claims.toml"), Stored(docs / "results")
    return [
        *claim_faults(book.claims, stored),
        *_prose(docs, book, stored),
        *_standing(docs, book, stored),
        *_results(book, stored),
        *_parts(docs, book, stored),
    ]


def pages(docs: Path) -> dict[str, Path]:
    """Pages that are written by hand, by their names in lists."""
    own = {path.name: path for path in sorted(docs.glob("*.md"))}
    return {"README.md": docs.parent / "README.md", **own}


def remade_pages(docs: Path, book: Book, stored: Stored) -> Iterator[tuple[Path, str, str]]:
    """Every page with its text and what it should be; a recipe's own page is called like it."""
    for path in (*pages(docs).values(), *sorted((docs / "results").glob("*.md"))):
        text = path.read_text(encoding="utf-8")
        name = path.stem if path.parent.name == "results" else ""
        yield path, text, remade(text, name, book, stored, "docs/" if path.name == "README.md" else "")


def _proses(docs: Path, book: Book, stored: Stored) -> dict[str, str]:
    """What each page says by hand."""
    parts = {DECISION, LIST, *(table.name for table in book.tables), *stored.recipes, *book.other_parts}
    return {name: prose(path.read_text(encoding="utf-8"), parts) for name, path in pages(docs).items()}


def _prose(docs: Path, book: Book, stored: Stored) -> Iterator[str]:
    """Numbers that nothing bears."""
    allowed = [one.text for one in book.allowed if one.text] + [claim.sentence for claim in book.claims]
    patterns = [one.pattern for one in book.allowed if one.pattern]
    for name, text in _proses(docs, book, stored).items():
        found = list(decimals(text, allowed, patterns))
        if name not in book.unchecked:
            yield from (f"{name}: {one}: make it a claim, let a table say it, or delete it" for one in found)
        elif not found:
            yield f"{name}: nothing is left to check; take it out of `unchecked`"


def _standing(docs: Path, book: Book, stored: Stored) -> Iterator[str]:
    """What is listed and stands nowhere."""
    everywhere = " ".join(_proses(docs, book, stored).values())
    yield from (f"`unchecked` names {name}, which is no page" for name in book.unchecked if name not in pages(docs))
    for claim in book.claims:
        if plain(claim.sentence) not in everywhere:
            yield f"claim {claim.id!r} stands on no page: {claim.sentence}"
    for one in book.allowed:
        if plain(one.text) not in everywhere:
            yield f"allowed text that stands on no page: {one.text}"


def _results(book: Book, stored: Stored) -> Iterator[str]:
    """Pages of results without scores, scores without a page, and too many bytes."""
    names = {path.stem for path in stored.folder.glob("*.md")}
    listed = {name.removesuffix(".md") for name in book.without_scores}
    for name in sorted(names - listed - set(stored.recipes)):
        yield f"results/{name}.md has no scores beside it: `srd benchmark {name} --scores docs/results/{name}.parquet`"
    for name in sorted(set(stored.recipes) - names):
        yield f"results/{name}.parquet has no page beside it"
    for name in sorted(listed - names | listed & set(stored.recipes)):
        yield f"`without_scores` names {name}.md, which is no page without scores"
    size = sum(path.stat().st_size for path in stored.folder.glob("*.parquet"))
    if size > MOST_BYTES:
        yield f"the scores of all pages take {size:,} bytes; expected at most {MOST_BYTES:,}"


def _parts(docs: Path, book: Book, stored: Stored) -> Iterator[str]:
    """Generated parts that are not what the scores say."""
    try:
        for path, text, new in remade_pages(docs, book, stored):
            if text != new:
                old, changed = (set(version.splitlines()) for version in (text, new))
                line = next(iter(sorted(old - changed)), "")
                yield f"{path.relative_to(docs.parent)} is not what its scores say, as in {line!r}; run `make results`"
    except (ValueError, FileNotFoundError) as error:
        yield str(error)
