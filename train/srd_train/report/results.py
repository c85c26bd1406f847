"""What a report is made of: records from folders of results, what is wrong with them, their recipes and topics.

One bad record spoils nothing but itself: it is named among the problems, and the others are used.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from srd_gym.topic import TopicSet
from srd_train.experiment.recipe import Recipe, TopicsEntry, built_in, load_recipe
from srd_train.experiment.records import OtherVersionError, Record, read_record
from srd_train.experiment.sources import load_entry

Kind = Literal["failed", "unreadable", "version", "twice", "incomplete", "run", "texts", "left out", "input"]

_FOLDERS = ("cells", "failed")
"""Of the files with one record each; that of a failed cell holds `error`."""


@dataclass(frozen=True, kw_only=True)
class Problem:
    """Something that is missing from the report, and why."""

    kind: Kind
    what: str
    """The cell, file or line."""
    why: str

    def __str__(self) -> str:
        return f"{self.what}: {self.why}"


@dataclass(frozen=True, kw_only=True)
class Results:
    """Records that can be used, and what could not be."""

    records: tuple[Record, ...]
    """Each with `folder`, which the path of its run starts from."""
    problems: tuple[Problem, ...]


def read_results(folders: Sequence[Path]) -> Results:
    """The records in folders as `srd benchmark` leaves them.

    Args:
        folders: one or more; a cell that is in several of them counts once.

    Returns:
        The records by name of their cells, and a problem for each failed cell and each record that cannot be used.

    Raises:
        FileNotFoundError: a path that does not exist, or a folder without cells.
        ValueError: no record that can be used; the message gives the first reason.
    """
    problems: list[Problem] = []
    latest: dict[tuple[object, ...], tuple[float, Record]] = {}
    for folder in dict.fromkeys(folders):
        files = [file for part in _FOLDERS for file in sorted((folder / part).glob("*.json"))]
        if not files:
            where = f"no cells in {folder}" if folder.is_dir() else f"there is no folder {folder}"
            raise FileNotFoundError(f"{where}; expected a folder of results as `srd benchmark` leaves it")
        for file in files:
            record = _parsed(file)
            if isinstance(record, Problem):
                problems.append(record)
            else:
                _keep(latest, {**record, "folder": folder}, file.stat().st_mtime, problems)
    if not latest:
        shown = "; ".join(str(problem) for problem in problems[:3])
        more = f" (and {len(problems) - 3} more)" if len(problems) > 3 else ""
        named = ", ".join(map(str, folders))
        raise ValueError(f"no record that a report could be made of in {named}: {shown}{more}")
    records = sorted((record for _, record in latest.values()), key=lambda record: str(record["cell"]))
    return Results(records=tuple(records), problems=tuple(problems))


def same_benchmark(record: Record) -> tuple[object, ...]:
    """What two records must agree on to stand in one table: topics, measures and the ideal."""
    topic_set = record["topic_set"]
    return (
        topic_set["name"],
        topic_set["fingerprint"],
        tuple(topic_set["marks"]),
        record["normalizer"],
        tuple(record["measures"]),
    )


def _parsed(file: Path) -> Record | Problem:
    """The record in a file, or why it cannot be used."""
    try:
        record = read_record(file)
    except OtherVersionError as error:
        why = f"{error}; run its benchmark again, or make the report with the version that wrote it"
        return Problem(kind="version", what=str(file), why=why)
    except ValueError as error:
        return Problem(kind="unreadable", what=str(file), why=str(error))
    failure = record.get("error")
    if isinstance(failure, dict):
        failure = ": ".join(str(failure[key]) for key in ("type", "message") if failure.get(key)) or json.dumps(failure)
    if failure:
        return Problem(kind="failed", what=str(record.get("cell", "a cell")), why=str(failure))
    return record


def _keep(
    latest: dict[tuple[object, ...], tuple[float, Record]], record: Record, written: float, problems: list[Problem]
) -> None:
    """Keep the latest record of each ranker, fold and seed."""
    key = (same_benchmark(record), record["ranker"], record["fold"], record["seed"])
    old, new = sorted((latest.get(key, (written, record)), (written, record)), key=lambda pair: pair[0])
    latest[key] = new
    if old[1]["per_topic"] == new[1]["per_topic"] and old[1]["cell"] == new[1]["cell"]:
        return
    why = (
        f"another cell of {record['ranker']}, fold {record['fold']}, seed {record['seed']} was written later "
        f"({new[1]['cell']}); only that one counts"
    )
    problems.append(Problem(kind="twice", what=str(old[1]["cell"]), why=why))


@dataclass(frozen=True, kw_only=True)
class Description:
    """What the recipes of the results say: title, references and topic sources; empty where no recipe is known."""

    recipes: tuple[Recipe, ...] = ()
    heading: str = "Benchmark results"
    """The title where no recipe is known."""

    @property
    def title(self) -> str:
        """What heads the report."""
        if len(self.recipes) > 1:
            return f"{len(self.recipes)} benchmarks"
        return self.recipes[0].title if self.recipes else self.heading

    @property
    def about(self) -> tuple[tuple[str, str], ...]:
        """What the recipes say of themselves: of several each with its title, else the title heads the page."""
        several = len(self.recipes) > 1
        return tuple((recipe.title if several else "", " ".join(recipe.about.split())) for recipe in self.recipes)

    @property
    def references(self) -> list[str | None]:
        """The two rankers that the recipes test against; None where they name none, or different ones."""
        pairs = [(recipe.reference, recipe.second_reference) for recipe in self.recipes]
        return [names[0] if len(set(names)) == 1 else None for names in zip(*pairs, strict=True)] or [None, None]

    @property
    def rankers(self) -> list[str]:
        """Names of the rankers in the order of the recipes."""
        return list(dict.fromkeys(name for recipe in self.recipes for entry in recipe.rankers for name in entry.rows))

    @property
    def topic_sets(self) -> list[str]:
        """Names of the topic sets in the order of the recipes."""
        return list(dict.fromkeys(entry.name for recipe in self.recipes for entry in recipe.topics))

    def entries(self, topic_set: str) -> list[TopicsEntry]:
        """Where topics of this name may come from."""
        return [entry for recipe in self.recipes for entry in recipe.topics if entry.name == topic_set]


def describe(records: Sequence[Record], names_or_paths: Iterable[str] = ()) -> Description:
    """The recipes of the records.

    Args:
        records: from `read_results`.
        names_or_paths: the recipes; where none is given, those that come along and have the records' topic sets and
            rankers are found by these names.

    Raises:
        ValueError, FileNotFoundError: a recipe that was named and cannot be read.
    """
    given = tuple(load_recipe(name) for name in names_or_paths)
    if given:
        return Description(recipes=given)
    known = [Description(recipes=(load_recipe(name),)) for name in built_in()]
    found: dict[str, Recipe] = {}
    for topic_set in dict.fromkeys(record["topic_set"]["name"] for record in records):
        own = [record for record in records if record["topic_set"]["name"] == topic_set]
        rankers = {record["ranker"] for record in own}
        matching = [d.recipes[0] for d in known if topic_set in d.topic_sets and rankers <= set(d.rankers)]
        if matching:
            recipe = min(matching, key=lambda recipe: _mismatch(recipe, own))
            found[recipe.name] = recipe  # the same recipe for several topic sets counts once
    return Description(recipes=tuple(found.values()))


def topics_of(record: Record, description: Description) -> tuple[TopicSet | None, str | None]:
    """The topics of a record; or None, and why they cannot be shown.

    Topics are compared by their fingerprint: if the source has changed since, its texts would be those of others.
    """
    topic_set = record["topic_set"]
    entries = description.entries(topic_set["name"])
    if not entries:
        return None, f"no recipe is known for the topic set {topic_set['name']!r}; name it with --recipe"
    reason = ""
    for entry in entries:
        try:
            topics = load_entry(entry)
        except (OSError, ValueError, ImportError) as error:
            reason = f"the topics ({entry.source}) cannot be read: {error}"
            continue
        if topics.fingerprint == topic_set["fingerprint"]:
            return topics, None
        reason = f"the topics ({entry.source}) are no longer those that were ranked: their content has changed since"
    return None, reason


def _mismatch(recipe: Recipe, records: Sequence[Record]) -> tuple[bool, bool, int]:
    """How unlike the recipe that made the records it is: by folder, by measures, by rows not run."""
    return (
        all(record["folder"].name != recipe.name for record in records),
        tuple(records[0]["measures"]) != recipe.measures,
        sum(len(entry.rows) for entry in recipe.rankers),
    )
