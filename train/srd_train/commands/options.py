"""Options of commands: a dataclass of each command's, whose docstrings are the help, read from the command line."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import operator
import os
from collections.abc import Collection, Sequence
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin, get_type_hints

import tyro

from srd_gym.checks import check_integer, unknown
from srd_gym.core.own import notation
from srd_train.commands.help import TYRO, field_helps, options_of, show_help
from srd_train.commands.outputs import check_outputs

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


def parsed(kind: type[Options], args: Sequence[str], prog: str, *, reads: Sequence[str] = ()) -> Options:
    """The dataclass filled from a command line.

    Args:
        kind: a dataclass; its docstring is the description, with an example.
        args: the words after the command's name.
        prog: the command's name, e.g. "srd evaluate".
        reads: what is read besides, such as a model folder.

    Raises:
        SystemExit: code 0 after --help, code 2 after a wrong command line (tyro has said why).
        ValueError: a negative seed, or a file to write that is read, too.
    """
    _check_options(kind, args, prog)
    os.environ.setdefault("TYPEGUARD_DISABLE_PLUGIN_AUTOLOAD", "1")  # tyro's; one broken plug-in would end the command
    if not {"-h", "--help"}.isdisjoint(args):
        show_help(kind, prog)
    options: Options = tyro.cli(kind, args=args, prog=prog, config=TYRO)
    check_outputs(options, reads)
    if hasattr(options, "seed"):
        check_integer("--seed", options.seed, 0, 2**63 - 1)  # numpy would refuse it after the topics were read
    return options


def _check_options(kind: type[object], args: Sequence[str], prog: str) -> None:
    """Refuse an option that a command does not have, and say which may be meant; tyro knows no abbreviations.

    Raises:
        ValueError: near names are suggested.
    """
    names, lists, seen = {"--help"}, set[str](), set[str]()
    for own in options_of(kind):
        if get_origin(own.hint) in (tuple, Sequence):
            lists.add(own.spelt)
        names |= {own.spelt, f"--no-{own.field.name}".replace("_", "-")}
        names |= {alias for one in own.about for alias in getattr(one, "aliases", None) or ()}
    for word in itertools.takewhile(lambda word: word != "--", args):
        option = word.partition("=")[0].rstrip("_").replace("_", "-")
        if word.startswith("--") and option not in names and not option.startswith("--tyro-"):
            options = [name for name in names if name != "--help" and not name.startswith("--no-")]
            meant = getattr(kind, "MEANT", {}).get(option, "")
            raise unknown(f"option of {prog}:", option, options, f"{meant}More: {prog} --help")
        if option in lists & seen:
            raise ValueError(f"{option} is given twice; give all its values after one: {option} A B")
        seen.add(option)


def parsed_with_ranker(
    kind: type[Options],
    config: Any,
    args: Sequence[str],
    prog: str,
    *,
    tuned: Collection[str] = (),
    only: Collection[str] | None = None,
    reads: Sequence[str] = (),
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
        only: fields to take; None takes all.
        reads: as of `parsed`.

    Returns:
        The command's dataclass (with the ranker's fields), and the ranker's values without those that were not given
        and are tuned, or objects that text cannot bring back.

    Raises:
        SystemExit, ValueError: as `parsed`.
    """
    own = {entry.name for entry in dataclasses.fields(kind)}  # type: ignore[arg-type]
    hints, helps = get_type_hints(type(config)), field_helps(type(config))
    made: list[tuple[str, object, object]] = []
    unsaid: dict[str, object] = {}
    for name in [entry.name for entry in dataclasses.fields(config) if only is None or entry.name in only]:
        if name in own:
            continue
        field, default, text = _in_text(hints[name]), getattr(config, name), helps.get(name, "")
        if hasattr(default, "bind"):
            unsaid[name] = default = notation(default)
        if name in tuned:
            field, text = field | None, f"{text} Chosen on the validation topics unless given."
            unsaid[name] = default = None
        # A Python name may end in an underscore to dodge a keyword (lambda_); an option need not.
        hint = None
        if default is True:  # its option is --no-NAME
            text, hint = f"Turn off: {text[:1].lower()}{text[1:]}", "(default: on)"
        spelt = name.rstrip("_").replace("_", "-")
        option = tyro.conf.arg(name=spelt, help=text.replace("`", ""), help_behavior_hint=hint)
        made.append((name, Annotated[field, option], dataclasses.field(default=default)))
    both = dataclasses.make_dataclass(kind.__name__, made, bases=(kind,), kw_only=True, frozen=True)
    both.__doc__ = kind.__doc__
    options: Any = parsed(both, list(map(_as_options_are_spelt, args)), prog, reads=reads)
    values = {name: getattr(options, name) for name, *_ in made}
    return options, {name: value for name, value in values.items() if name not in unsaid or value != unsaid[name]}


def _as_options_are_spelt(word: str) -> str:
    """A word of a command line; an option that is written as Python spells it (--lambda_) without the underscore."""
    flag, equals, value = word.partition("=")
    return flag.rstrip("_") + equals + value if flag.startswith("--") else word


def _in_text(hint: object) -> Any:
    """The type that a command line has for a field: what text cannot bring is left out."""
    if get_origin(hint) not in (Union, UnionType):
        return hint
    return functools.reduce(
        operator.or_, [kind for kind in get_args(hint) if not hasattr(kind, "bind") and kind not in (Any, object)]
    )
