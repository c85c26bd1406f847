"""How command lines become dataclasses: the fields are the options, their docstrings the help."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Protocol, TypeVar, get_type_hints

import tyro

from srd_train.commands.output import Output

Options = TypeVar("Options")

File = Annotated[Path, tyro.conf.arg(metavar="FILE")]
# A plain list: for any other container tyro imports a checker of types, which takes longer than all else at the start.
Files = Annotated[Sequence[str], tyro.conf.arg(metavar="FILE...", constructor=list)]
SomeFile = Annotated[Path | None, tyro.conf.arg(metavar="FILE")]
Folder = Annotated[Path, tyro.conf.arg(metavar="DIR")]
SomeFolder = Annotated[Path | None, tyro.conf.arg(metavar="DIR")]
DEFAULT_MEASURES = ("alpha_nDCG@10", "alpha_nDCG@5", "ERR_IA@10", "StRecall@10", "NRBP")
_SAID = f"(default: {' '.join(DEFAULT_MEASURES)})"
Measures = Annotated[Sequence[str], tyro.conf.arg(metavar="NAME...", constructor=list, help_behavior_hint=_SAID)]
SomeText = Annotated[str | None, tyro.conf.arg(metavar="TEXT")]


class Command(Protocol):
    """A parsed command line, ready to run."""

    def execute(self, output: Output) -> int:
        """Do it.

        Returns:
            The exit code.
        """


@dataclasses.dataclass(frozen=True)
class Help:
    """A command that shows how to use another."""

    text: str

    def execute(self, output: Output) -> int:
        """Show it."""
        output.text(self.text)
        return 0


def overview(usage: str, kind: type[Any], heading: str, entries: Mapping[str, str], last: str = "") -> Help:
    """The help of a command that needs a name first.

    Args:
        usage: how to write the command.
        kind: the dataclass of its options; its docstring says what it does.
        heading: of the names.
        entries: name -> summary.
        last: a line below.
    """
    width = max(map(len, entries))
    lines = [f"usage: {usage}", "", inspect.cleandoc(kind.__doc__ or ""), "", heading]
    lines += [f"  {name:<{width}}  {summary}" for name, summary in entries.items()]
    return Help("\n".join(lines + (["", last] if last else [])))


def parsed(kind: type[Options], args: Sequence[str], prog: str) -> Options:
    """The dataclass filled from a command line.

    Args:
        kind: a dataclass; its docstring is the description, with an example.
        args: the words after the command's name.
        prog: the command's name, e.g. "srd evaluate".

    Raises:
        SystemExit: code 0 after --help, code 2 after a wrong command line (tyro has said why).
        ValueError: a negative seed.
    """
    description = inspect.cleandoc(kind.__doc__ or "")
    found = tyro.cli(kind, args=args, prog=prog, description=description, config=(tyro.conf.FlagCreatePairsOff,))
    _check_seeds(found)
    return found


def _check_seeds(options: Any) -> None:
    """Refuse negative seeds, by whatever name; numpy would do so after the topics were read."""
    for entry in dataclasses.fields(options):
        value = getattr(options, entry.name)
        if dataclasses.is_dataclass(value):
            _check_seeds(value)
        elif entry.name.endswith(("seed", "seeds")):
            from srd_agents.config import check_count

            for seed in value if isinstance(value, tuple) else (value,):
                check_count(f"--{entry.name.replace('_', '-')}", seed, low=0)


def parsed_with_ranker(
    kind: type[Options], config: Any, args: Sequence[str], prog: str, *, tuned: Collection[str] = ()
) -> tuple[Options, dict[str, Any]]:
    """A command's own options and those of a ranker, from one command line.

    One truth: names, types, defaults and help of the ranker's options are those of its config dataclass.

    Args:
        kind: as of `parsed`.
        config: an instance of a dataclass with a docstring under each field; its values are the defaults. Fields that
            the command has itself (seed) are the command's.
        args: as of `parsed`.
        prog: as of `parsed`.
        tuned: fields that are chosen on validation topics unless given.

    Returns:
        The command's dataclass, and the ranker's values without the tuned ones that were not given.

    Raises:
        SystemExit, ValueError: as `parsed`.
    """
    taken = {entry.name for entry in dataclasses.fields(kind)}  # type: ignore[arg-type]
    unnamed = tyro.conf.arg(name="")
    parts = {"command": kind, "ranker": _ranker_options(config, tuned, taken)}
    both = dataclasses.make_dataclass("Both", [(name, Annotated[part, unnamed]) for name, part in parts.items()])
    both.__doc__ = kind.__doc__
    found: Any = parsed(both, args, prog)
    values = {entry.name: getattr(found.ranker, entry.name) for entry in dataclasses.fields(found.ranker)}
    return found.command, {name: value for name, value in values.items() if not (name in tuned and value is None)}


def _ranker_options(config: Any, tuned: Collection[str], taken: Collection[str]) -> type[Any]:
    """A dataclass whose fields are the command-line options of a ranker's config; None for what is to be tuned."""
    hints = get_type_hints(type(config))
    helps = _field_helps(type(config))
    made: list[tuple[str, Any, Any]] = []
    for entry in dataclasses.fields(config):
        if entry.name in taken:
            continue
        kind, default, text = hints[entry.name], getattr(config, entry.name), helps.get(entry.name, "")
        if entry.name in tuned:
            kind, default, text = kind | None, None, f"{text} Chosen on the validation topics unless given."
        # A Python name may end in an underscore to dodge a keyword (lambda_); an option need not.
        option = tyro.conf.arg(name=entry.name.rstrip("_").replace("_", "-"), help=text.replace("`", ""))
        made.append((entry.name, Annotated[kind, option], dataclasses.field(default=default)))
    return dataclasses.make_dataclass("RankerOptions", made, kw_only=True, frozen=True)


def _field_helps(config_class: type[Any]) -> dict[str, str]:
    """The docstring under each field, those of base classes included."""
    import docstring_parser

    helps: dict[str, str] = {}
    for base in reversed(config_class.__mro__[:-1]):
        for param in docstring_parser.parse_from_object(base).params:
            helps[param.arg_name] = " ".join((param.description or "").split())
    return helps
