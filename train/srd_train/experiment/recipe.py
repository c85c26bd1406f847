"""Recipes: what a benchmark compares, as a product of lists (topic sets x rankers x folds x seeds), read from TOML."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

from srd_agents.config import check_count, check_positive
from srd_agents.registry import RANKERS
from srd_gym.data.simulate import NOISE_SWEEP
from srd_gym.data.synthetic import PRESETS
from srd_gym.files import existing_file
from srd_gym.measures import measure
from srd_gym.names import unknown
from srd_gym.reading import reading
from srd_train.experiment.fit import all_options
from srd_train.experiment.toml_lines import RecipeLines, filled, table_list

SUFFIX = ".toml"
SOURCES = ("words", "ambient", "rl4srd", "trec-indri", "dssa-sample", "du-div")
"""Topic sets by name, besides files and synthetic ones."""
_SYNTHETIC = "synthetic:"
_PRESETS = (*PRESETS, "wide")
LACKING = ("retrieval_scores", "query_vector")
"""What can be removed from topics."""
NEEDS = ("retrieval order", "query")
"""What a row can ask of topics beside what its ranker needs anyway."""
_LONGEST_NAME = 60
RESHAPE_OPTIONS = ("list_size", "lists", "min_relevant", "seed")


@dataclass(frozen=True, kw_only=True)
class TopicsEntry:
    """A topic set of a benchmark, and how it is split."""

    name: str
    """Its name in the tables."""
    source: str
    """A Parquet file, "words", "synthetic:PRESET[:TOPICS[:SEED]]", or real files: ambient, rl4srd, trec-indri,
    dssa-sample or du-div."""
    vectors: str | None = None
    """None: those of the source. "lsa": fitted on the training fold only. "simulated": drawn from the judgments.
    Otherwise a file below SRD_DATA_DIR."""
    qrels: tuple[str, ...] = ()
    """Official judgments below SRD_DATA_DIR (patterns), for rl4srd: they give the pool."""
    years: tuple[int, ...] = ()
    """Of trec-indri: only the topics of these years of the Web Track; none named: all of them."""
    width: int = 64
    """F of lsa and simulated vectors."""
    noise: float | None = None
    """Of simulated vectors and synthetic topics; None: their default. A list, or "sweep", makes one set for each."""
    shared_subtopics: bool | None = None
    """Of simulated vectors: a subtopic id means the same in every topic; None takes the set's usual answer."""
    limit: int | None = None
    """Keep this many topics, drawn at random (always the same)."""
    candidates: int | None = None
    """Keep only this many candidates of each topic, the first ones; a smaller topic stays whole."""
    without: tuple[str, ...] = ()
    """What to remove from the topics, to see who needs it: "retrieval_scores" (the candidates are shuffled then, as of
    any set without a retrieval order), "query_vector", or both."""
    reshape: Mapping[str, int] | None = None
    """Draw lists of equal size from each topic (options of `srd_gym.data.reshape.reshape`: list_size, lists,
    min_relevant, seed), after vectors were simulated; folds are by the original topics."""
    folds: int = 5
    """How many folds to split the set into."""
    folds_file: str | None = None
    """Published test sets instead, in a file here or below SRD_DATA_DIR."""
    run_folds: tuple[int, ...] = ()
    """Only these folds; none named: all of them."""
    published: Mapping[str, float] = field(default_factory=dict)
    """Row's name in the tables -> its figure in a paper, of the recipe's first measure. Shown beside ours; no part of
    a cell."""
    published_source: str = ""
    """Which paper, set and measure the figures are of, and what else differs; stands below the table."""

    @property
    def fold_numbers(self) -> tuple[int, ...]:
        """The folds that are run, from 1 on."""
        return self.run_folds or tuple(range(1, self.folds + 1))

    def __post_init__(self) -> None:
        if self.limit is not None and self.limit < 3:
            raise ValueError(f"topics {self.name!r}: limit must be at least 3, got {self.limit}")
        if self.years and self.source != "trec-indri":
            raise ValueError(f"topics {self.name!r}: only trec-indri has years to choose, not {self.source!r}")
        if self.candidates is not None and self.candidates < 1:
            raise ValueError(f"topics {self.name!r}: candidates must be at least 1, got {self.candidates}")
        if self.noise is not None and self.vectors != "simulated" and not self.source.startswith(_SYNTHETIC):
            raise ValueError(f"topics {self.name!r}: noise is of simulated vectors and synthetic topics; leave it out")
        if self.shared_subtopics is not None and self.vectors != "simulated":
            raise ValueError(f"topics {self.name!r}: shared_subtopics is of simulated vectors; leave it out")
        check_count(f"topics {self.name!r}: width", self.width)
        check_count(f"topics {self.name!r}: folds", self.folds, low=2)
        for fold in self.run_folds:
            check_count(f"topics {self.name!r}: a fold of run_folds", fold)
        self._check_lacking()
        for key in self.reshape or ():
            if key not in RESHAPE_OPTIONS:
                raise unknown(f"option of reshape in topics {self.name!r}:", key, RESHAPE_OPTIONS)
        if bool(self.published) != bool(self.published_source):
            raise ValueError(
                f"topics {self.name!r}: published figures and published_source belong together; give both or neither"
            )

    def _check_lacking(self) -> None:
        """Refuse to remove what topics do not have."""
        for name in self.without:
            if name not in LACKING:
                raise unknown(f"part of topics {self.name!r} to do without:", str(name), LACKING)
        if "query_vector" in self.without and self.vectors == "lsa":
            raise ValueError(f"topics {self.name!r}: lsa gives every query a vector in its fold; take other vectors")


@dataclass(frozen=True, kw_only=True)
class View:
    """Another way to rank with what a ranker has learned: a row of its own that costs no training of its own."""

    name: str
    """Its name in the tables."""
    config: Mapping[str, Any] = field(default_factory=dict)
    """Options of ranking that differ from those it was trained with (and validated by)."""


@dataclass(frozen=True, kw_only=True)
class RankerEntry:
    """A ranker of a benchmark with its options."""

    ranker: str
    """Its name in the registry."""
    name: str = ""
    """Its name in the tables; by default the ranker's name."""
    config: Mapping[str, Any] = field(default_factory=dict)
    """Options that differ from the defaults."""
    grid: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    """Option -> values to choose from on the validation topics."""
    seeds: tuple[int, ...] = ()
    """Instead of the recipe's; one is enough for a ranker without chance."""
    time_budget: float | None = None
    """Seconds of training at most; a cell that it ends depends on the machine, and the tables say so."""
    needs: tuple[str, ...] = ()
    """What a topic set must have for these options, beside what the ranker needs anyway: "retrieval order", "query"
    (a vector). A set without it gets no such row."""
    views: tuple[View, ...] = ()
    """Further ways to rank with the same fit, each a row behind this one; for rankers that have options of ranking."""

    def __post_init__(self) -> None:
        if not self.name:
            object.__setattr__(self, "name", self.ranker)
        for need in self.needs:
            if need not in NEEDS:
                raise unknown(f"need of ranker {self.name!r}:", str(need), NEEDS)
        _check_seeds(f"ranker {self.name!r}", self.seeds)
        if self.time_budget is not None:
            check_positive(f"ranker {self.name!r}: time_budget", self.time_budget)

    @property
    def rows(self) -> tuple[str, ...]:
        """The names of its rows: its own, then its views'."""
        return (self.name, *(view.name for view in self.views))


@dataclass(frozen=True, kw_only=True)
class Recipe:
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
    """What the benchmark shows, for the page it is on."""
    measures: tuple[str, ...] = ("alpha_nDCG@5", "alpha_nDCG@10", "ERR_IA@10", "StRecall@10")
    """What is measured; the first is the one the test is on."""
    select_by: str = "alpha_nDCG@10"
    """What grids are chosen by on the validation topics."""
    depth: int = 10
    """Documents ranked per topic."""
    seeds: tuple[int, ...] = (0,)
    """Of the rankers."""

    def __post_init__(self) -> None:
        if not 0 < len(self.name) <= _LONGEST_NAME or "/" in self.name or "\0" in self.name:
            raise ValueError(
                f"recipe {self.name!r}: its name is that of a folder; expected 1 to {_LONGEST_NAME} letters, no slash"
            )
        _check_seeds(f"recipe {self.name!r}", self.seeds)
        of_rankers = [name for entry in self.rankers for name in entry.rows]
        for kind, names in (("topic set", [entry.name for entry in self.topics]), ("ranker", of_rankers)):
            if not names:
                raise ValueError(f"recipe {self.name!r} names no {kind}; expected at least one")
            twice = next((name for name in names if names.count(name) > 1), None)
            if twice is not None:
                raise ValueError(f"recipe {self.name!r}: two entries are named {twice!r}; give each {kind} its name")
        for reference in filter(None, (self.reference, self.second_reference)):
            if reference not in of_rankers:
                raise unknown(f"reference ranker in recipe {self.name!r}:", reference, of_rankers)
        if not self.seeds or not self.measures or self.depth < 1:
            raise ValueError(f"recipe {self.name!r}: expected seeds, measures and a depth of at least 1")


def _check_seeds(whose: str, seeds: tuple[int, ...]) -> None:
    """Refuse negative seeds."""
    for seed in seeds:
        check_count(f"{whose}: a seed", seed, low=0)


def built_in() -> dict[str, Path]:
    """The recipes that are part of the package: name -> file."""
    folder = Path(str(resources.files("srd_train") / "recipes"))
    return {path.name.removesuffix(SUFFIX): path for path in sorted(folder.glob(f"*{SUFFIX}"))}


def load_recipe(name_or_path: str) -> Recipe:
    """A recipe by name, or from a file ending in .toml.

    Raises:
        ValueError: an unknown name, or a file that is no recipe; the message says what is wrong in it.
        FileNotFoundError: no such file.
    """
    known = built_in()
    if name_or_path in known:
        path = known[name_or_path]
    elif name_or_path.endswith(SUFFIX):
        path = existing_file(name_or_path, "recipe")
    else:
        raise unknown("recipe", name_or_path, known, "A file of your own must end in .toml.")
    advice = "correct it; srd_train/recipes has examples"
    with reading(path, "recipe", "TOML", advice):
        text = path.read_text(encoding="utf-8")
        content = tomllib.loads(text)
    with reading(path, "recipe", "a recipe", advice):
        return recipe_from(content, path.name.removesuffix(SUFFIX), str(path), text)


def recipe_from(content: Mapping[str, Any], name: str, where: str, text: str = "") -> Recipe:
    """A recipe from parsed TOML.

    Args:
        content: the tables; `topics`, `rankers` and a ranker's `views` are arrays of tables. A list as a topic set's
            `noise` (or "sweep") makes one topic set for each value.
        name: of the recipe, where the content gives none.
        where: the file, for errors.
        text: what the file holds, for their lines.

    Raises:
        ValueError: unknown or missing keys, unknown rankers, topic sets or measures; the message gives file and line.
    """
    values, lines = dict(content), RecipeLines(where, text)
    topics = [
        filled(TopicsEntry, single, lines, "topics", index)
        for index, table in enumerate(table_list(values, "topics", where))
        for single in _one_each_noise(table)
    ]
    rankers = [
        filled(RankerEntry, _with_views(table, lines, index), lines, "rankers", index)
        for index, table in enumerate(table_list(values, "rankers", where))
    ]
    recipe = filled(Recipe, {"name": name, **values, "topics": tuple(topics), "rankers": tuple(rankers)}, lines)
    _check_names(recipe, content, lines)
    _check_options(recipe, lines)
    _check_published_rows(recipe, content, lines)
    return recipe


def _check_names(recipe: Recipe, content: Mapping[str, Any], lines: RecipeLines) -> None:
    """Refuse rankers, topic sets and measures that do not exist, before hours of work."""
    for index, table in enumerate(content.get("rankers", ())):
        if table["ranker"] not in RANKERS:
            raise unknown(f"ranker in {lines.place(table['ranker'], 'rankers', index)}:", table["ranker"], RANKERS)
    for index, table in enumerate(content.get("topics", ())):
        source = str(table["source"])
        preset = source.removeprefix(_SYNTHETIC).split(":")[0]
        if source.startswith(_SYNTHETIC) and preset not in _PRESETS:
            raise unknown(f"synthetic preset in {lines.place(source, 'topics', index)}:", preset, _PRESETS)
        if not (source.startswith(_SYNTHETIC) or source in SOURCES or _is_path(source)):
            what = f"topic set in {lines.place(source, 'topics', index)}:"
            raise unknown(what, source, SOURCES, "A file of your own needs its path with its ending.")
    for name in (*recipe.measures, recipe.select_by):
        try:
            measure(name)
        except (ValueError, TypeError) as error:
            raise ValueError(f"{lines.place(str(name))}: {error}") from error


def _check_options(recipe: Recipe, lines: RecipeLines) -> None:
    """Refuse options that a ranker does not take, those to choose among and those of its views included."""
    for index, entry in enumerate(recipe.rankers):
        try:
            all_options(entry.ranker, entry.config, entry.grid)
            check_views(entry)
        except (TypeError, ValueError) as error:
            options = (*entry.config, *entry.grid, *(option for view in entry.views for option in view.config))
            named = (option for option in options if option in str(error))
            place = lines.place(next(named, "config"), "rankers", index)
            raise ValueError(f"{place}: {error}") from error


def check_views(entry: RankerEntry) -> None:
    """Refuse views that the ranker cannot take, before anything is trained.

    A ranker's config class names its options of ranking in `RANKING_OPTIONS`.

    Raises:
        ValueError: a ranker without options of ranking, an option that training depends on, or a value out of range.
    """
    spec = RANKERS.find(entry.ranker)
    known: tuple[str, ...] = getattr(spec.config_class, "RANKING_OPTIONS", ())
    for view in entry.views:
        if not known:
            raise ValueError(
                f"ranker {entry.ranker!r} has one way to rank, so it takes no views; give {view.name!r} an entry of "
                "its own under [[rankers]]"
            )
        for option in view.config:
            if option not in known:
                hint = "An option of training needs an entry of its own."
                raise unknown(f"option of ranking in view {view.name!r} of {entry.name!r}:", option, known, hint)
        spec.configure(**{**entry.config, **view.config})


def _check_published_rows(recipe: Recipe, content: Mapping[str, Any], lines: RecipeLines) -> None:
    """Refuse published figures of rows that the tables do not have."""
    rows = [name for entry in recipe.rankers for name in entry.rows]
    for index, table in enumerate(content.get("topics", ())):
        for name in table.get("published", ()):
            if name not in rows:
                raise unknown(f"row of a published figure in {lines.place(name, 'topics', index)}:", name, rows)


def _is_path(source: str) -> bool:
    """Whether a topic set is meant to be a file: one that is there, or a name with a folder or an ending."""
    return Path(source).suffix != "" or Path(source).name != source or os.path.exists(source)


def _with_views(table: dict[str, Any], lines: RecipeLines, index: int) -> dict[str, Any]:
    """A ranker's table with its views read."""
    if "views" not in table:
        return table
    whose = f"views of ranker {table.get('name', table.get('ranker'))!r}"
    views = table_list(table, "views", f"{lines.where}: {whose}")
    return {**table, "views": tuple(filled(View, view, lines, "rankers", index, whose) for view in views)}


def _one_each_noise(table: dict[str, Any]) -> list[dict[str, Any]]:
    """One table for each noise level, named after it."""
    noise = table.get("noise")
    if noise == "sweep":
        noise = list(NOISE_SWEEP)
    if not isinstance(noise, list):
        return [table]
    return [
        {**table, "noise": level, "name": f"{table.get('name', '')} noise {level:g}".strip()}
        if isinstance(level, (int, float))
        else {**table, "noise": level}
        for level in noise
    ]
