"""The pages: what is wrong with their generated parts, their prose and the commits that they name."""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from studies.results.curve import draw_curves, draw_sizes
from studies.results.figure import draw_costs, draw_gains
from studies.results.lint import faults as prose_faults
from studies.results.made import MARKED, PART, PICTURES, fields, remade, stale_pages, written
from studies.results.runs import Tell, record_faults, scored_again
from studies.results.stored import Stored

OTHER_PARTS = (
    "audit",
    "speed",
    "statistics of the presets",
    "statistics of the real sets",
    "sweep",
    "tuned",
    "returns",
    "coverage",
    "logs",
    "facts",
    "language_models",
    "small_model",
    "without-scores",
)
"""Marks of the parts that other commands write."""
MOST_BYTES = 10_000_000
"""Of all scores together."""
_COMMIT = re.compile(r"\b[0-9a-f]{40}\b")


def faults(docs: Path, tell: Tell | None = None) -> list[str]:
    """A line for each statement in this folder, or in the Markdown files above it, that the stored scores do not make.

    Args:
        docs: the folder.
        tell: as of `scored_again`, for scores that are not those of their runs as well; None: runs are left alone.
    """
    stored = Stored(docs / "results")
    try:
        return [
            *record_faults(stored),
            *(scored_again(stored, tell) if tell else ()),
            *_parts(docs, stored),
            *_pictures(docs, stored),
            *_prose(docs, stored),
            *_files(stored),
            *_commits(docs, stored),
        ]
    except (ValueError, FileNotFoundError) as error:
        return [str(error)]


def pages(docs: Path) -> list[Path]:
    """All pages, and the Markdown files at the project's top."""
    own = [path for path in docs.rglob("*.md") if "_build" not in path.parts]
    return sorted([*docs.parent.glob("*.md"), *own])


def remade_pages(docs: Path, stored: Stored) -> Iterator[tuple[Path, str, str]]:
    """Every page with its text and what it should be."""
    for path in pages(docs):
        text = path.read_text(encoding="utf-8")
        yield path, text, remade(text, path, stored, "docs/" if path.parent == docs.parent else "")


DRAWN = {"picture": draw_gains, "costs": draw_costs, "curves": draw_curves, "sizes": draw_sizes}
"""Kind of a picture -> what draws it, from its lines and the stored scores into a file."""


def pictures(docs: Path) -> Iterator[tuple[Path, Callable[[Stored, Path], None]]]:
    """Every picture that is made of scores, and a function that draws it into a file."""
    for page in pages(docs):
        for kind, words, _ in PART.findall(page.read_text(encoding="utf-8")):
            if kind in PICTURES:
                (file,), *lines = fields(words)
                folder = docs if page.parent == docs.parent else page.parent
                yield folder / file, partial(DRAWN[kind], lines)


def _parts(docs: Path, stored: Stored) -> Iterator[str]:
    """Generated parts that are not what the scores say."""
    for path, text, new in remade_pages(docs, stored):
        if text != new:
            kept = set(new.splitlines())
            line = next((line for line in text.splitlines() if line not in kept), "")
            yield f"{path.relative_to(docs.parent)} is not what the scores say, as in {line!r}; run `make results`"


def _pictures(docs: Path, stored: Stored) -> Iterator[str]:
    """Pictures that are not what the scores say."""
    with tempfile.TemporaryDirectory() as folder:
        for path, draw in pictures(docs):
            fresh = Path(folder) / path.name
            draw(stored, fresh)
            if not path.is_file() or fresh.read_bytes() != path.read_bytes():
                yield f"{path.relative_to(docs.parent)} is not what the scores say; run `make results`"


def _prose(docs: Path, stored: Stored) -> Iterator[str]:
    """Comparisons and decimals written by hand."""
    for path in pages(docs):
        name, text = str(path.relative_to(docs.parent)), path.read_text(encoding="utf-8")
        for mark, _ in MARKED.findall(text):
            if mark not in (*stored.recipes, *OTHER_PARTS):
                yield f"{name}: no command makes the part {mark!r}"
        text = PART.sub(written, MARKED.sub("\n\n", text))
        yield from (f"{name}: {fault}" for fault in prose_faults(text))
    for recipe in stored.recipes:
        about = re.sub(r"\d+\.\d+", "", stored.recipe(recipe).about)  # options, not results
        yield from (f"recipe {recipe}: {fault}" for fault in prose_faults(about))


def _files(stored: Stored) -> Iterator[str]:
    """Pages without scores, scores without a page, and too many bytes."""
    names = {path.name for path in stored.folder.glob("*.md")}
    own = {name: stored.page(name) for name in stored.recipes}
    for name in sorted(names - set(own.values())):
        recipe = name.removesuffix(".md")
        yield f"results/{name} has no scores beside it: `srd benchmark {recipe} --scores docs/results/{recipe}.parquet`"
    yield from (f"results/{name}.parquet has no page beside it" for name, page in own.items() if page not in names)
    size = sum(path.stat().st_size for path in stored.folder.glob("*.parquet"))
    if size > MOST_BYTES:
        yield f"the scores of all pages take {size:,} bytes; expected at most {MOST_BYTES:,}"


def _commits(docs: Path, stored: Stored) -> Iterator[str]:
    """Commits of scores and on pages that the history lacks, and pages listed as stale for nothing."""
    history = _history(docs.parent)
    if history is None:
        return
    results = docs / "results.md"
    stale = stale_pages(results.read_text(encoding="utf-8")) if results.is_file() else []
    remedy = "run it again, or list it as stale on results.md"
    for path in pages(docs):
        text = path.read_text(encoding="utf-8")
        text = MARKED.sub(lambda part: "" if part[1] in stored.recipes else part[0], text)
        yield from (
            f"{path.relative_to(docs.parent)} names commit {lost}, which the history lacks; {remedy}"
            for lost in sorted(set(_COMMIT.findall(text)) - history)[:1]
        )
    for name in stored.recipes:
        lost = sorted({commit.partition("+")[0] for commit in stored.commits(name)} - history)
        if lost and name not in stale:
            yield f"results/{name}.parquet names commit {lost[0]}, which the history lacks; {remedy}"
        if not lost and name in stale:
            yield f"results.md lists {name} as stale, whose commits are all in the history"
    yield from (
        f"results.md lists {name} as stale, which has no scores" for name in stale if name not in stored.recipes
    )


def _history(folder: Path) -> set[str] | None:
    """All commits that lead to the one checked out; None outside a checkout, or in a shallow one."""
    try:
        top, shallow = _git(folder, "rev-parse", "--show-toplevel", "--is-shallow-repository").split("\n")
        if shallow == "true" or Path(top).resolve() != folder.resolve():
            return None
        return set(_git(folder, "rev-list", "HEAD").split())
    except (OSError, subprocess.SubprocessError):
        return None


def _git(folder: Path, *words: str) -> str:
    """What git answers."""
    done = subprocess.run(["git", "-C", str(folder), *words], capture_output=True, text=True, check=True, timeout=60)
    return done.stdout.strip()
