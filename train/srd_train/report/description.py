"""What a report knows of its results besides the records: their recipes, and the topics, told by their fingerprint."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from srd_gym.topic import TopicSet
from srd_train.experiment.recipe import Recipe, TopicsEntry, built_in, load_recipe
from srd_train.experiment.sources import load_entry
from srd_train.report.results import Record


@dataclass(frozen=True, kw_only=True)
class Description:
    """What the recipes of the results say: title, references and topic sources; empty where no recipe is known."""

    recipes: tuple[Recipe, ...] = ()

    @property
    def title(self) -> str:
        """What heads the report."""
        if len(self.recipes) > 1:
            return f"{len(self.recipes)} benchmarks"
        return self.recipes[0].title if self.recipes else "Benchmark results"

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
