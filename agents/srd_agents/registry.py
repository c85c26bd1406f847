"""All rankers by name. Importing this imports no torch: rankers are loaded when asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

from srd_agents.built_in import BUILT_IN
from srd_agents.spec import RankerSpec
from srd_agents.storage import CONFIG_FILE, read_model_config
from srd_gym.files import PathLike
from srd_gym.names import unknown
from srd_gym.protocols import Ranker
from srd_gym.reading import reading

__all__ = ["GROUP", "RANKERS", "RankerSpec", "Registry", "load_ranker", "load_trained", "make_ranker"]

GROUP = "srd_gym.rankers"
"""The entry-point group in which other distributions announce rankers: name -> "module:SPEC" of a `RankerSpec`."""


class Registry(Mapping[str, RankerSpec]):
    """Built-in rankers and those that installed distributions announce; a built-in name cannot be taken over.

    Args:
        built_in: specs of this distribution.
        group: the entry-point group of the others.
    """

    def __init__(self, built_in: tuple[RankerSpec, ...], group: str) -> None:
        self._built_in = {spec.name: spec for spec in built_in}
        self._group = group

    def __getitem__(self, name: str) -> RankerSpec:
        """The spec of this name.

        Raises:
            KeyError: none; `find` gives the friendlier error.
            TypeError: the entry point is no `RankerSpec`.
        """
        if name in self._built_in:
            return self._built_in[name]
        point = self._announced()[name]
        spec = point.load()
        if not isinstance(spec, RankerSpec):
            raise TypeError(
                f"entry point {point.name!r} in {self._group!r} ({point.value}) gives {type(spec).__name__}, "
                "expected a srd_agents.registry.RankerSpec"
            )
        return spec

    def __iter__(self) -> Iterator[str]:
        yield from self._built_in
        yield from (name for name in self._announced() if name not in self._built_in)

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
        if name not in self:
            raise unknown("ranker", name, self, hint)
        return self[name]

    def __contains__(self, name: object) -> bool:
        # Mapping's own would import a third-party ranker only to see whether its name exists.
        return name in self._built_in or name in self._announced()

    def _announced(self) -> dict[str, EntryPoint]:
        """Entry points by name, nothing imported."""
        return {point.name: point for point in entry_points(group=self._group)}


RANKERS = Registry(BUILT_IN, GROUP)
"""Name -> spec."""


def make_ranker(name: str, *, trust: bool = False, **overrides: Any) -> Ranker:
    """A ranker by name, with these options in place of the defaults: `make_ranker("mmr", lambda_=0.7)`.

    Args:
        name: in the registry.
        trust: build it although it can run other people's code (`RankerSpec.foreign_code`).
        overrides: its options.

    Raises:
        ValueError: an unknown name or option (the message suggests the nearest), a value out of range, or a ranker that
            can run other people's code and is not trusted.
    """
    spec = RANKERS.find(name)
    return spec.build(spec.configure(**overrides), trust=trust)


def load_ranker(name_or_folder: PathLike) -> Ranker:
    """A ranker that can rank at once: a trained one from its folder, or one that needs no training by name.

    Raises:
        ValueError: a learner's name without a folder, an unknown name, a folder that holds no trained ranker, or
            whatever could run other people's code.
    """
    folder = Path(name_or_folder)
    if folder.is_dir():
        if not (folder / CONFIG_FILE).is_file():
            raise ValueError(f"{folder} holds no trained ranker (no {CONFIG_FILE}); expected a folder of `srd train`")
        return load_trained(folder)
    return find_untrained(str(name_or_folder)).build()


def find_untrained(name: str) -> RankerSpec:
    """The spec of a ranker that needs no training.

    Raises:
        ValueError: a learner's name, or an unknown one.
    """
    spec = RANKERS.find(name, hint="A trained ranker is given by its folder, and there is no such folder.")
    if spec.learns:
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
        return _trained(folder)


def _trained(folder: PathLike) -> Ranker:
    """What `load_trained` gives."""
    content = read_model_config(folder)
    spec = RANKERS.find(content["ranker"], hint=f"{folder} holds its weights; install what provides it.")
    if spec.foreign_code:
        raise ValueError(
            f"{folder} names ranker {spec.name!r}, which can run any code in the file that it reads, so a model folder "
            "must not name it. If you trust the file, name it yourself: `srd rank ... --trust`, make_ranker(trust=True)"
        )
    if not spec.learns:
        return spec.build(spec.configure(**content["config"]))
    learner: Ranker = spec.ranker_class.load(folder, name=spec.name)
    return learner
