"""A ranker as the registry knows it: what it needs, and where its options and its class are."""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from srd_agents.config import config_from
from srd_gym.protocols import Ranker


@dataclass(frozen=True, kw_only=True)
class RankerSpec:
    """A ranker as the registry knows it."""

    name: str
    """How commands, tables and model folders call it."""
    summary: str
    """One line for lists."""
    config_path: str
    """Where its options are: "module:Dataclass"."""
    class_path: str
    """Where it is: "module:Class"; the class takes the options as its only argument (see `foreign_code`)."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Values of the options that this name stands for, where they differ from the dataclass's defaults."""
    learns: bool = False
    """Whether it must be fitted: the class is then a `srd_agents.learner.Learner`."""
    needs: tuple[str, ...] = ()
    """What a topic must have to be ranked: "vectors", "texts", "subtopic vectors", "query", "retrieval order",
    "judgments"; "model file": the options must name one."""
    uses: tuple[str, ...] = ()
    """What it also looks at where a topic has it."""
    foreign_code: bool = False
    """Whether its options name a file that can run any code while it is read: then it is built only where the caller
    says `trust=True` at the call, which the class is then told. No file can say so: neither a model folder nor a
    pruning description."""
    parameters_to_tune: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    """Options that are chosen on validation topics, and the values to try."""

    @property
    def config_class(self) -> type[Any]:
        """The dataclass of its options, imported now."""
        found: type[Any] = _import(self.config_path, self.name)
        return found

    @property
    def ranker_class(self) -> type[Any]:
        """The class, imported now (a learner's imports torch)."""
        found: type[Any] = _import(self.class_path, self.name)
        return found

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
            trust: let it run other people's code (`foreign_code`).

        Raises:
            TypeError: options of another ranker.
            ValueError: it can run other people's code and is not trusted.
        """
        if self.foreign_code and not trust:
            raise ValueError(
                f"ranker {self.name!r} reads a file that can run any code in it. If you or people you trust have made "
                "the file, say so where you call: trust=True in Python, --trust for `srd rank` and `srd benchmark`"
            )
        config_class = self.config_class
        config = self.configure() if config is None else config
        if not isinstance(config, config_class):
            raise TypeError(f"ranker {self.name!r} takes {config_class.__name__}, got {type(config).__name__}")
        if seed is not None and "seed" in {option.name for option in dataclasses.fields(config)}:
            config = dataclasses.replace(config, seed=seed)
        trusted = {"trust": True} if self.foreign_code else {}
        made: Any = self.ranker_class(config, **trusted)
        if self.learns:
            made.name = self.name  # several names can share a class
        ranker: Ranker = made
        return ranker


def _import(path: str, owner: str) -> Any:
    """What "module:Name" stands for."""
    module, _, name = path.partition(":")
    try:
        return getattr(importlib.import_module(module), name)
    except ModuleNotFoundError as error:
        if error.name in ("torch", "safetensors"):
            raise ImportError(f'ranker {owner!r} needs {error.name}: pip install "srd-gym[agents]"') from error
        raise
