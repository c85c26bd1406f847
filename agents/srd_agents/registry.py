"""All rankers by name. Importing this imports no torch: rankers are loaded when asked for."""

from __future__ import annotations

import contextlib
import importlib
import os
import tomllib
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from srd_agents.training.files import ModelInfo
from srd_agents.training.learner import Learner
from srd_agents.training.options import Config, config_from
from srd_gym.checks import unknown
from srd_gym.files import PathLike
from srd_gym.installing import how_to_install
from srd_gym.protocols import Ranker
from srd_gym.reading import reading
from srd_gym.showing import repr_of, short_repr

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

__all__ = [
    "GROUP",
    "RANKERS",
    "RankerSpec",
    "Registry",
    "load_ranker",
    "load_trained",
    "make_ranker",
    "pretrained_names",
]

GROUP = "srd_gym.rankers"
"""The entry-point group in which other distributions announce rankers: name -> "module:SPEC" of a `RankerSpec`."""

PRETRAINED = "pretrained:"
"""Before the name of a trained policy that comes with the package."""
POLICIES = Path(__file__).with_name("pretrained")
"""Their model folders, each with a card (`python -m studies policies` makes them)."""


@dataclass(frozen=True, kw_only=True)
class RankerSpec:
    """A ranker as the registry knows it."""

    __repr__ = short_repr

    name: str
    """Name in commands, tables and model folders."""
    summary: str
    """One line for lists."""
    config_path: str = ""
    """Place of its options: "module:Dataclass", of a `Learner` its `config_class`; left out, they are those that the
    class names as `config_class`, else it takes none."""
    class_path: str
    """Place of its class: "module:Class"; the class takes the options as its only argument (see `requires_trust`)."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Values of the options that this name stands for, where they differ from the dataclass's defaults."""
    trainable: bool = False
    """Whether it must be fitted: the class is then a `srd_agents.training.learner.Learner`, or has
    `fit(train, validation, *, seed)` of its own and lives as long as its benchmark. Of a ranker of another distribution
    the registry asks the class."""
    needs: Sequence[str] = ()
    """Parts that a topic must have to be ranked: "vectors", "texts", "subtopic vectors", "query", "retrieval order",
    "judgments"; "model file": the options must name one; "language model": the options must hold a client."""
    requires_trust: bool = False
    """Whether its options name a file that can run any code while it is read: then it is built only where the caller
    says `trust=True` at the call, which the class is then told. No file can say so: neither a model folder nor a
    pruning description."""
    parameters_to_tune: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    """Options that are chosen on validation topics, and the values to try."""

    @property
    def config_class(self) -> type[Any]:
        """The dataclass of its options, imported now."""
        if self.config_path:
            return _imported(self.config_path, self.name)
        return getattr(self.ranker_class, "config_class", Config)

    @property
    def ranker_class(self) -> type[Any]:
        """The class, imported now (a learner's imports torch)."""
        return _imported(self.class_path, self.name)

    @property
    def ranking_options(self) -> tuple[str, ...]:
        """Options of a trained ranker that may differ from those of its training (`RANKING_OPTIONS` of its config)."""
        return getattr(self.config_class, "RANKING_OPTIONS", ())

    def configure(self, **overrides: Any) -> Any:
        """The options, with these values in place of the name's own.

        Raises:
            ValueError: an unknown option (the message suggests the nearest) or a value out of range.
        """
        return config_from(self.config_class, {**self.options, **overrides}, f"ranker {self.name!r}")

    def build(self, config: Any = None, seed: int | None = None, *, trust: bool = False) -> Ranker:
        """The ranker with these options; a learner comes untrained.

        Args:
            config: an instance of `config_class`; None takes the name's own.
            seed: for rankers that draw while ranking (an option `seed`); learners take theirs in `fit`.
            trust: let it run other people's code (`requires_trust`).

        Raises:
            TypeError: it must be fitted but has no `fit`, or is a `Learner` that reads other options than these.
            ValueError: it can run other people's code and is not trusted.
        """
        if self.requires_trust and not trust:
            raise ValueError(
                f"ranker {self.name!r} reads a file that can run any code in it. If you or people you trust have made "
                "the file, say so where you call: trust=True in Python, --trust for `srd rank` and `srd benchmark`"
            )
        config = self.configure() if config is None else config
        if seed is not None and hasattr(config, "seed"):
            config = replace(config, seed=seed)
        given = () if self.config_class is Config else (config,)
        made: Any = self.ranker_class(*given, **({"trust": True} if self.requires_trust else {}))
        if self.trainable:
            self._check_learner(made)
            made.name = self.name  # several names can share a class
        ranker: Ranker = made
        return ranker

    def _check_learner(self, made: object) -> None:
        """Refuse what could not be fitted, or not be loaded again."""
        if not isinstance(made, Learner):
            if not callable(getattr(made, "fit", None)):
                raise TypeError(
                    f"ranker {self.name!r} is to be fitted, but {self.class_path} has no method `fit`: write one, or "
                    "leave trainable=True out where nothing needs training"
                )
        elif made.config_class is not self.config_class:
            raise TypeError(
                f"ranker {self.name!r}: its RankerSpec has the options {self.config_path}, but {self.class_path} reads "
                f"those of saved models as {made.config_class.__qualname__}; set the class's config_class to the same "
                "dataclass, and leave config_path out"
            )


class Registry(Mapping[str, RankerSpec]):
    """Built-in rankers and those that installed distributions announce; a built-in name cannot be taken over.

    What a distribution announces and cannot be loaded is left out with one notice, and an error where asked for.

    Args:
        built_in: the specs of this distribution, by name.
    """

    __repr__ = repr_of("built_in")

    def __init__(self, built_in: dict[str, RankerSpec]) -> None:
        self.built_in = built_in
        self._skipped: set[str] = set()

    def __getitem__(self, name: str) -> RankerSpec:
        """The spec of this name; one that is announced has the entry point's name, and learns if its class has `fit`.

        Raises:
            KeyError: none; `find` gives the friendlier error.
            ImportError: the entry point cannot be loaded.
            TypeError: the entry point is no `RankerSpec`.
        """
        if name in self.built_in:
            return self.built_in[name]
        point = self._announced()[name]
        try:
            spec = point.load()
        except (Exception, SystemExit) as error:  # whatever the code of others raises
            raise ImportError(
                f"ranker {name!r} cannot be imported: entry point {point.value} of {_provider(point)} raised "
                f"{type(error).__name__} ({error}); repair or remove that distribution"
            ) from error
        if not isinstance(spec, RankerSpec):
            raise TypeError(
                f"entry point {point.name!r} in {GROUP!r} ({point.value}) of {_provider(point)} gives "
                f"{type(spec).__name__}, expected a srd_agents.registry.RankerSpec"
            )
        return _as_announced(spec, name)

    def add(self, path: str, kind: type[Any]) -> None:
        """Know a class of the user's own by its "module:Class", in this process.

        Args:
            path: its name from now on.
            kind: called without arguments, or with an instance of the dataclass that its `config_class` is. One with
                `fit` learns (`RankerSpec.trainable`).
        """
        summary = (kind.__doc__ or "").partition("\n")[0]
        self.built_in[path] = RankerSpec(name=path, summary=summary, class_path=path, trainable=hasattr(kind, "fit"))

    def __iter__(self) -> Iterator[str]:
        yield from self.built_in
        for name, point in self._announced().items():
            if name not in self.built_in:
                try:
                    self[name]
                except (ImportError, TypeError) as error:
                    if (provider := _provider(point)) not in self._skipped:
                        self._skipped.add(provider)
                        warnings.warn(f"rankers are left out: {error}", stacklevel=2)
                else:
                    yield name

    def __len__(self) -> int:
        return len(list(iter(self)))

    def find(self, name: str, hint: str = "") -> RankerSpec:
        """The spec of this name.

        Args:
            name: what the user typed.
            hint: a last sentence for the error.

        Raises:
            ValueError: none; the message suggests the nearest names.
        """
        if not isinstance(name, str) or name not in self:
            raise unknown("ranker", name, [*self.built_in, *self._announced()], hint)
        return self[name]

    def __contains__(self, name: object) -> bool:
        # Mapping's own would import a third-party ranker only to see whether its name exists.
        return name in self.built_in or name in self._announced()

    def _announced(self) -> dict[str, EntryPoint]:
        """Entry points by name, nothing imported."""
        from importlib.metadata import entry_points  # here, as it is slow to import

        return {point.name: point for point in entry_points(group=GROUP)}


def _provider(point: EntryPoint) -> str:
    """The distribution that an entry point is of, for messages."""
    return f"distribution {point.dist.name!r}" if point.dist else f"the distribution that has {point.value!r}"


def _built_in() -> dict[str, RankerSpec]:
    """The rankers of this distribution: rankers.toml."""
    rows = tomllib.loads(Path(__file__).with_name("rankers.toml").read_text("utf-8"))
    return {name: RankerSpec(name=name, **rows[row.pop("like", name)] | row) for name, row in rows.items()}


RANKERS = Registry(_built_in())
"""Name -> spec."""


def make_ranker(name: str, *, trust: bool = False, **overrides: object) -> Ranker:
    """A ranker by name, with these options in place of the defaults: `make_ranker("mmr", lambda_=0.7)`.

    Args:
        name: in the registry.
        trust: build it although it can run other people's code (`RankerSpec.requires_trust`).
        overrides: its options.

    Raises:
        ValueError: an unknown name or option (the message suggests the nearest), a value out of range, or a ranker that
            can run other people's code and is not trusted.
    """
    spec = RANKERS.find(name)
    return spec.build(spec.configure(**overrides), trust=trust)


def load_ranker(name_or_folder: PathLike) -> Ranker:
    """A ranker that can rank at once: a trained one, or one that needs no training by name.

    Args:
        name_or_folder: folder of a trained ranker, "pretrained:NAME" (`pretrained_names`), or a name in the registry.

    Raises:
        FileNotFoundError: a folder that holds no trained ranker.
        ValueError: a learner's name without a folder, an unknown name, or whatever could run other people's code.
    """
    folder = model_folder(name_or_folder)
    return find_untrained(str(name_or_folder)).build() if folder is None else load_trained(folder)


def pretrained_names() -> list[str]:
    """Names of the trained policies that come with the package, as `load_ranker` takes them."""
    return sorted(f"{PRETRAINED}{folder.name}" for folder in POLICIES.iterdir() if folder.is_dir())


def model_folder(name_or_folder: PathLike) -> Path | None:
    """The folder that is named, or that holds the trained policy of this name; None where neither is.

    Raises:
        ValueError: "pretrained:NAME" with an unknown name (the message suggests the nearest).
    """
    name = str(name_or_folder)
    if not name.startswith(PRETRAINED):
        return Path(name_or_folder) if os.path.isdir(name_or_folder) else None
    if name not in pretrained_names():
        raise unknown("trained policy", name, pretrained_names())
    return POLICIES / name.removeprefix(PRETRAINED)


def find_untrained(name: str) -> RankerSpec:
    """The spec of a ranker that needs no training.

    Raises:
        ValueError: a learner's name, or an unknown one.
    """
    own = ", ".join(pretrained_names())
    hint = f"A trained ranker is given by its folder, and there is no such folder; those of the package: {own}."
    spec = RANKERS.find(name, hint=hint)
    if spec.trainable:
        raise ValueError(f"ranker {name!r} must be trained first: give the folder that `srd train {name}` wrote")
    return spec


def load_trained(folder: PathLike) -> Ranker:
    """The trained ranker in a folder: a learner with its weights, or a heuristic with the options chosen for it.

    Nothing in the folder can run code, whatever it says.

    Raises:
        ValueError: a folder of an unknown ranker or of one that can run other people's code, or whatever `Learner.load`
            refuses.
    """
    with reading(folder, "trained ranker", "the folder of one", "train again"):
        info = ModelInfo.read(folder)
        spec = RANKERS.find(info.ranker, hint=f"{folder} holds its weights; install its package.")
        if spec.requires_trust:
            raise ValueError(
                f"{folder} names ranker {spec.name!r}, which can run any code in the file that it reads, so a model "
                "folder must not name it. If you trust the file, name it yourself: `srd rank ... --trust`, "
                "make_ranker(trust=True)"
            )
        if not spec.trainable:
            return spec.build(spec.configure(**info.config))
        check_saved(spec)
        learner: Ranker = spec.ranker_class.load(folder, name=spec.name)
        return learner


def check_saved(spec: RankerSpec) -> None:
    """Refuse a class that learns and is no `Learner`, where a model folder is asked for.

    Raises:
        ValueError: the message says what it can do.
    """
    if spec.trainable and not issubclass(spec.ranker_class, Learner):
        raise ValueError(
            f"ranker {spec.name!r} learns in `srd benchmark` and by its own `fit`, but no folder holds it: "
            f"{spec.class_path} is not a srd_agents.training.learner.Learner"
        )


def _as_announced(spec: RankerSpec, name: str) -> RankerSpec:
    """Another distribution's spec by the name that it was announced by, with `trainable` as its class says."""
    trainable = spec.trainable
    with contextlib.suppress(ImportError, AttributeError):  # whoever uses the ranker is told
        trainable = trainable or hasattr(spec.ranker_class, "fit")
    return spec if (name, trainable) == (spec.name, spec.trainable) else replace(spec, name=name, trainable=trainable)


def _imported(path: str, owner: str) -> type[object]:
    """The class that "module:Name" names."""
    module, _, name = path.partition(":")
    try:
        kind: type[object] = getattr(importlib.import_module(module), name)
    except ModuleNotFoundError as error:
        if error.name == "torch":
            raise ImportError(f"ranker {owner!r} needs torch: {how_to_install('agents')}") from error
        raise
    except (AttributeError, SystemExit) as error:
        raise ImportError(f"ranker {owner!r}: {path} cannot be imported: {error}") from error
    return kind
