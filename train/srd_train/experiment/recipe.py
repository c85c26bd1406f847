"""Recipes: what a benchmark compares, as a product of lists (topic sets x rankers x folds x seeds), read from TOML.

Entries refuse what cannot be, whoever makes them; of a file's mistakes the table is told, too. The points of the
product are cells; those that differ only in their view share one fit.
"""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib import resources
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Annotated, Any, Literal, TypeVar

from srd_agents.own_code import import_own
from srd_agents.training.options import Config, Count, at_least, config_from
from srd_gym.checks import unknown
from srd_gym.measures import parse_measure
from srd_gym.measures.ad_hoc import AdHoc
from srd_gym.measures.label_free import LabelFree
from srd_gym.reading import existing_file, read_json_object, reading, twice_in
from srd_train.experiment.selection import ResolvedRanker
from srd_train.experiment.sources import TopicsEntry

Entry = TypeVar("Entry")

SUFFIX = ".toml"
RECIPE_FILE = "recipe.json"
"""In a folder of results: the recipe that they are of."""
CELLS = "cells"
"""In that file: the ids of all cells, once each was run."""
Needs = Literal["retrieval order", "query"]
"""Needs of a row beside those of its ranker."""
_LONGEST_NAME = 60
_EPOCHS = ("epochs", "lr_decay_epochs", "first_epochs")
"""Options of learners that a topic set can multiply."""


@dataclass(frozen=True, kw_only=True)
class View(Config):
    """Another way to rank with what a ranker has learned: a row of its own that costs no training of its own."""

    name: str
    """Its name in the tables."""
    config: Mapping[str, Any] = field(default_factory=dict)
    """Options of ranking that differ from those it was trained with (and validated by)."""


@dataclass(frozen=True, kw_only=True)
class RankerEntry(Config):
    """A ranker of a benchmark with its options."""

    ranker: str
    """Its name in the registry, or "module:Class" of one's own."""
    name: str = ""
    """Its name in the tables; by default the ranker's name."""
    config: Mapping[str, Any] = field(default_factory=dict)
    """Options that differ from the defaults."""
    grid: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    """Option -> values to choose from on the validation topics."""
    grid_seed: Annotated[int | None, at_least(0)] = None
    """Seed that the grid is tried with, once per fold; the other seeds train with what it chose. None: each seed
    chooses for itself."""
    select_by: str = ""
    """Instead of the recipe's measure, that the grid is chosen by; for rows trained for another one."""
    seeds: Annotated[tuple[int, ...], at_least(0)] = ()
    """Instead of the recipe's; one is enough for a ranker without chance."""
    needs: tuple[Needs, ...] = ()
    """Needs of these options beside those of the ranker: "retrieval order", "query"
    (a vector). A set without it gets no such row."""
    views: tuple[View, ...] = ()
    """Further ways to rank with the same fit, each a row behind this one; for rankers that have options of ranking."""

    def __post_init__(self) -> None:
        if not self.name:
            object.__setattr__(self, "name", self.ranker)
        super().__post_init__()
        spec = self.resolved.spec  # it refuses what the ranker does not take
        hint = "An option of training, or of a ranker that ranks in one way, needs an entry of its own."
        for view in self.views:
            what = f"option of ranking in view {view.name!r} of {self.name!r}:"
            _check_known(what, view.config, spec.ranking_options, hint)
            self.resolved.configured(view.config)

    @cached_property
    def resolved(self) -> ResolvedRanker:
        """The ranker, its options checked."""
        return ResolvedRanker.of(self.ranker, self.config, self.grid)

    def trained_longer(self, factor: float) -> RankerEntry:
        """The same ranker with this many times its epochs, and epochs of decay, at least one; others as they are."""
        if factor == 1 or not self.resolved.spec.trainable:
            return self
        options: Any = self.resolved.configured({})
        own = {name: getattr(options, name, 0) for name in _EPOCHS if name not in self.grid}
        longer = {name: max(1, round(factor * epochs)) for name, epochs in own.items() if epochs}
        grid = {
            name: tuple(max(1, round(factor * value)) for value in values) if name in _EPOCHS else values
            for name, values in self.grid.items()
        }
        return replace(self, config={**self.resolved.config, **longer}, grid=grid)

    def on_device(self, device: str) -> RankerEntry:
        """The same ranker on a device of torch, if it has the option; others as they are."""
        if not hasattr(self.resolved.configured({}), "device"):
            return self
        return replace(self, config={**self.config, "device": device})

    @property
    def rows(self) -> tuple[str, ...]:
        """The names of its rows: its own, then its views'."""
        return (self.name, *(view.name for view in self.views))


@dataclass(frozen=True, kw_only=True)
class Recipe(Config):
    """A benchmark: every topic set with every ranker, fold and seed."""

    name: str
    """Names the folder of results."""
    title: str
    """Heads the tables."""
    topics: tuple[TopicsEntry, ...]
    """The topic sets."""
    rankers: tuple[RankerEntry, ...]
    """The rankers, in the order of the tables' rows."""
    reference: str
    """The ranker (its name in the tables) that the others are tested against."""
    second_reference: str | None = None
    """Another ranker that they are tested against, each pair of tests in its own column."""
    about: str = ""
    """Purpose of the benchmark, for the page it is on."""
    measures: tuple[str, ...] = ("alpha_nDCG@10", "alpha_nDCG@5", "ERR_IA@10", "StRecall@10")
    """Measures ("module:NAME@k": one's own); the first is the one the test is on."""
    select_by: str = "alpha_nDCG@10"
    """Measure that grids are chosen by on the validation topics."""
    depth: Count = 10
    """Documents ranked per topic: all that measures see. No cutoff of a measure is larger."""
    seeds: Annotated[tuple[int, ...], at_least(0)] = (0,)
    """Seeds of the rankers."""
    minutes: float | None = None
    """Minutes of one processor that fitting takes in all cells; None: unknown."""

    @cached_property
    def rows(self) -> tuple[str, ...]:
        """The rows of the tables, in their order."""
        return tuple(name for entry in self.rankers for name in entry.rows)

    def entry(self, topics: str) -> TopicsEntry | None:
        """The topic set of this name."""
        return next((entry for entry in self.topics if entry.name == topics), None)

    def seeds_of(self, entry: TopicsEntry, ranker: RankerEntry, fold: int) -> tuple[int, ...]:
        """The seeds that a ranker is run with on a fold; of too few for the folds, an untrained one takes the first."""
        seeds = ranker.seeds or self.seeds
        if not entry.one_seed_a_fold:
            return seeds
        if len(seeds) < len(entry.fold_numbers) and not ranker.resolved.spec.trainable:
            return seeds[:1]
        return (seeds[(fold - 1) % len(seeds)],)

    @property
    def cells(self) -> int:
        """Number of cells at most."""
        return sum(
            sum(len(self.seeds_of(entry, ranker, fold)) for fold in entry.fold_numbers) * len(ranker.rows)
            for entry in self.topics
            for ranker in self.rankers
            if not entry.rankers or ranker.name in entry.rankers
        )

    def __post_init__(self) -> None:
        if not (0 < len(self.name) <= _LONGEST_NAME and _names_a_folder(self.name)):
            raise ValueError(
                f"recipe {self.name!r}: its name is that of a folder of results; expected 1 to {_LONGEST_NAME} letters "
                "other than dots alone, without slashes and line ends"
            )
        super().__post_init__()
        for kind, names in (("topic set", [entry.name for entry in self.topics]), ("ranker", self.rows)):
            if not names:
                raise ValueError(f"the recipe names no {kind}; expected at least one")
            if (twice := twice_in(names)) is not None:
                raise ValueError(f"two entries are named {twice!r}; give each {kind} its name")
        _check_known("reference ranker:", filter(None, (self.reference, self.second_reference)), self.rows)
        for entry in self.topics:
            _check_known(f"row of a published figure of topics {entry.name!r}:", entry.published, self.rows)
            _check_known(f"ranker of topics {entry.name!r}:", entry.rankers, [ranker.name for ranker in self.rankers])
            self._check_seeds(entry)
        if not self.seeds or not self.measures:
            raise ValueError("expected seeds and measures")
        for name in self.measures:
            parse_measure(name)
        for name in (self.select_by, *(entry.select_by for entry in self.rankers if entry.select_by)):
            if isinstance(parse_measure(name), AdHoc | LabelFree):
                raise ValueError(f"select_by {name!r}: options are chosen by a measure such as alpha_nDCG@10")

    def _check_seeds(self, entry: TopicsEntry) -> None:
        """Refuse learners that would train with one seed on two folds that are to have each its own."""
        for ranker in self.rankers if entry.one_seed_a_fold else ():
            seeds = [seed for fold in entry.fold_numbers for seed in self.seeds_of(entry, ranker, fold)]
            if (
                ranker.resolved.spec.trainable
                and len(set(seeds)) < len(seeds)
                and ranker.name in (entry.rankers or self.rows)
            ):
                raise ValueError(
                    f"topics {entry.name!r} have one seed a fold; {ranker.name!r} has {len(set(seeds))} seeds for "
                    f"{len(seeds)} folds; give it as many"
                )


def _names_a_folder(name: str) -> bool:
    """Whether a folder of this name lies in the one that it is made in, on any system."""
    parts = (PurePosixPath(name).name, PureWindowsPath(name).name)
    return parts == (name, name) and name.isprintable() and name.strip(" .") != ""


def check_recipe(recipe: Recipe, *, trust: bool = False) -> None:
    """Refuse what may run other people's code, and measures that cannot be computed here or of so few ranks.

    Args:
        recipe: the product.
        trust: let rankers do so; the recipe itself cannot say so.

    Raises:
        ImportError: a measure's library is not installed.
        ValueError: a ranker that is not trusted, parameters that a measure does not have, or a cutoff above the depth.
    """
    for name in recipe.measures:
        if isinstance(chosen := parse_measure(name), AdHoc):
            chosen.parsed()
        if (chosen.cutoff or 0) > recipe.depth:
            raise ValueError(
                f"recipe {recipe.name!r}: {name!r} measures {chosen.cutoff} ranks, and depth is {recipe.depth}; set "
                f"depth = {chosen.cutoff}"
            )
    for row in recipe.rankers:
        if row.resolved.spec.requires_trust and not trust:
            raise ValueError(
                f"recipe {recipe.name!r}: row {row.name!r} (ranker {row.ranker!r}) reads a file that can run any "
                "code in it; give the command --trust if you trust the recipe and the file"
            )


def chosen_at_edges(recipe: Recipe, records: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Numbers chosen for learners at an end of their grid, where a better one may lie beyond: a line each.

    Args:
        recipe: the product.
        records: of its cells.
    """
    entries = {entry.name: entry for entry in recipe.rankers if entry.resolved.spec.trainable}
    seen: dict[tuple[str, str, str, float], set[int]] = {}
    for record in records:
        for option, value in record["chosen"].items() if record["ranker"] in entries else ():
            values = entries[record["ranker"]].resolved.grid[option]
            if isinstance(value, (int, float)) and not isinstance(value, bool) and value in (min(values), max(values)):
                where = (record["topic_set"]["name"], record["ranker"], option, value)
                seen.setdefault(where, set()).add(record["fold"])
    for (topics, row, option, value), folds in seen.items():
        numbers = ", ".join(map(str, sorted(folds)))
        yield f"{topics}, {row}: {option}={value:g} was chosen at an end of its grid (fold {numbers}); widen the grid"


def _check_known(kind: str, names: Iterable[str], allowed: Collection[str], hint: str = "") -> None:
    """Refuse names that nothing has."""
    for name in names:
        if name not in allowed:
            raise unknown(kind, name, allowed, hint)


def built_in() -> dict[str, Path]:
    """The recipes that are part of the package: name -> file."""
    folder = Path(str(resources.files("srd_train") / "recipes"))
    return {path.name.removesuffix(SUFFIX): path for path in sorted(folder.glob(f"*{SUFFIX}"))}


def load_recipe(name_or_path: str, *, trust: bool = False) -> Recipe:
    """A recipe by name, or from a file ending in .toml.

    Args:
        name_or_path: which.
        trust: import the rankers and measures that it names as "module:NAME".

    Raises:
        ValueError: an unknown name, or a file that is no recipe; the message says what is wrong in it.
        FileNotFoundError: no such file.
    """
    recipes = built_in()
    if name_or_path in recipes:
        path = recipes[name_or_path]
    elif name_or_path.endswith(SUFFIX):
        path = existing_file(name_or_path, "recipe")
    else:
        raise unknown("recipe", name_or_path, recipes, "A file of your own must end in .toml.")
    advice = "correct it; srd_train/recipes has examples"
    with reading(path, "recipe", "TOML", advice):
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    return _recipe(content, path, trust, advice)


def saved_recipe(folder: Path, *, trust: bool = False) -> Recipe | None:
    """The recipe of a folder of results, as `load_recipe`; None where it has none.

    Raises:
        ValueError: no recipe of this version, or one that names code and is not trusted.
    """
    path, advice = folder / RECIPE_FILE, "the same `srd benchmark` writes it again, and keeps finished cells"
    if not path.is_file():
        return None
    content = read_json_object(path, "recipe", advice)
    content.pop(CELLS, None)
    return _recipe(content, path, trust, advice)


def _recipe(content: Mapping[str, Any], path: Path, trust: bool, advice: str) -> Recipe:
    """The recipe that a file holds, once the code that it names is known."""
    import_own([content.get(key) for key in ("rankers", "measures", "select_by")], trust=trust, where=str(path))
    with reading(path, "recipe", "a recipe", advice):
        return recipe_from(content, path.name.removesuffix(SUFFIX), str(path))


def recipe_from(content: Mapping[str, object], name: str, where: str) -> Recipe:
    """A recipe from parsed TOML.

    Args:
        content: the tables; `topics`, `rankers` and a ranker's `views` are arrays of tables.
        name: of the recipe, where the content gives none.
        where: the file, for errors.

    Raises:
        ValueError: unknown or missing keys, unknown rankers, topic sets or measures; the message gives file and table.
    """
    topics = _entries(TopicsEntry, content.get("topics", []), "topics", where)
    rankers = _entries(RankerEntry, content.get("rankers", []), "rankers", where)
    return _entry(Recipe, {"name": name, **content, "topics": topics, "rankers": rankers}, where)


def _entries(kind: type[Entry], tables: object, key: str, where: str) -> tuple[Entry, ...]:
    """Dataclasses from an array of tables; errors give the place, as in "mine.toml, [[rankers]] number 2"."""
    if not isinstance(tables, list) or set(map(type, tables)) - {dict}:
        raise ValueError(f"{where}: expected [[{key}]] tables, one for each")
    made = []
    for number, table in enumerate(tables, start=1):
        place = f"{where}, [[{key}]] number {number}"
        views = {"views": _entries(View, table["views"], "views", place)} if "views" in table else {}
        made.append(_entry(kind, {**table, **views}, place))
    return tuple(made)


def _entry(kind: type[Entry], table: Mapping[str, object], where: str) -> Entry:
    """A dataclass from a table.

    Args:
        kind: of dataclass.
        table: its fields.
        where: the file, and which of its tables it is.

    Raises:
        ValueError: the message gives the place, what was expected and what came.
    """
    try:
        return config_from(kind, table, "the table")
    except (TypeError, ValueError) as error:
        raise ValueError(f"{where}: {error}") from error
