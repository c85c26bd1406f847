"""Help of commands: what needs a name first is listed, and options are shown in words."""

from __future__ import annotations

import contextlib
import dataclasses
import inspect
import io
import itertools
import shutil
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, NamedTuple, NoReturn, Union, get_args, get_origin, get_type_hints

import tyro

from srd_train.commands.console import Output

TYRO = (tyro.conf.FlagCreatePairsOff,)
"""Settings of tyro."""
_VALUES = {int: "N", float: "NUMBER", str: "NAME", Path: "FILE"}
_WIDEST = 100
"""Characters in a line of prose, however wide the terminal."""
_ABOUT = "[description]"
"""Place of a command's description in the help that tyro makes."""


def overview(
    usage: str, about: str | None, heading: str, entries: Mapping[str, str], last: str = "", *, code: int = 0
) -> NoReturn:
    """Show the help of what needs a name first, and end.

    Args:
        usage: how to write the command.
        about: what it does; a docstring, say.
        heading: of the names.
        entries: name -> summary.
        last: what stands below.
        code: what to end with.

    Raises:
        SystemExit: with the code.
    """
    width = max(map(len, entries))
    lines = [f"usage: {usage}", "", filled(about or ""), "", filled(heading)]
    lines += [_line(f"  {name:<{width}}  {summary}", " " * (width + 4)) for name, summary in entries.items()]
    Output().text("\n".join(lines + (["", filled(last)] if last else [])))
    raise SystemExit(code)


def filled(text: str) -> str:
    """The text with every paragraph filled to the terminal's width; indented lines, such as examples, stay."""
    paragraphs = []
    for paragraph in inspect.cleandoc(text).split("\n\n"):
        lines = paragraph.split("\n")
        prose = list(itertools.takewhile(lambda line: not line.startswith(" "), lines))
        paragraphs.append("\n".join([_line(" ".join(prose)), *lines[len(prose) :]]))
    return "\n\n".join(paragraphs)


def _line(text: str, indent: str = "") -> str:
    """One paragraph in lines of the terminal's width; the second and later lines are indented."""
    width = min(shutil.get_terminal_size().columns, _WIDEST)
    return textwrap.fill(text, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def show_help(kind: type[Any], prog: str) -> NoReturn:
    """Show the options of a command, and end.

    Args:
        kind: a dataclass; its docstring is the description, with an example.
        prog: the command's name, e.g. "srd evaluate".

    Raises:
        SystemExit: always, with code 0.
    """
    text = io.StringIO()
    with contextlib.redirect_stdout(text), contextlib.suppress(SystemExit):
        tyro.cli(_in_words(kind), args=["--help"], prog=prog, description=_ABOUT, config=TYRO)
    shown = text.getvalue().replace(_ABOUT, filled(kind.__doc__ or ""))  # tyro would join the lines of a description
    Output().text("\n".join(line.rstrip() for line in shown.rstrip().split("\n")))
    raise SystemExit(0)


class Option(NamedTuple):
    """A field of a dataclass as an option of a command."""

    field: dataclasses.Field[Any]
    spelt: str
    """As words of a command line spell it, such as "--learning-rate"."""
    hint: Any
    """Its type."""
    about: tuple[Any, ...]
    """Annotations of the type."""


def options_of(kind: type[Any]) -> Iterator[Option]:
    """The fields of a dataclass; an option has the field's name, unless what its type is annotated with gives one."""
    plain, annotated = get_type_hints(kind), get_type_hints(kind, include_extras=True)
    for field in dataclasses.fields(kind):
        about = getattr(annotated[field.name], "__metadata__", ())
        given = [one.name for one in about if getattr(one, "name", None)]
        spelt = "--" + (given or [field.name.rstrip("_")])[0].replace("_", "-")
        yield Option(field, spelt, plain[field.name], about)


def field_helps(kind: type[Any]) -> dict[str, str]:
    """The docstring under each field, those of base classes included; tyro would keep some of the line breaks."""
    import docstring_parser

    helps: dict[str, str] = {}
    for base in reversed(kind.__mro__[:-1]):
        for param in docstring_parser.parse_from_object(base).params:
            helps[param.arg_name] = " ".join((param.description or "").split())
    return helps


def _in_words(kind: type[object]) -> type[object]:
    """The same options, as their help should show them: words for values, texts unwrapped, no empty defaults."""
    helps, made = field_helps(kind), list[tuple[str, object, object]]()
    for field, _, hint, about in options_of(kind):
        empty = field.default is None or field.default is False or field.default in ((), "")
        said = "(required)" if field.default is dataclasses.MISSING else "" if empty else None
        named = any(getattr(one, "metavar", None) for one in about)
        metavar = None if named else _metavar(hint, field.default)
        look = tyro.conf.arg(help=helps.get(field.name), help_behavior_hint=said, metavar=metavar)
        shown_as: object = Annotated[hint, *about, look]
        made.append((field.name, shown_as, dataclasses.field(default=field.default)))
    return dataclasses.make_dataclass(kind.__name__, made, bases=(kind,), kw_only=True, frozen=True)


def _metavar(hint: object, default: object) -> str | None:
    """The word for an option's value: N, NUMBER, NAME or its choices; None for a switch.

    "None" is a choice only where it is not the default: whoever wants the default leaves the option out.
    """
    kinds = list(get_args(hint)) if get_origin(hint) in (Union, UnionType) else [hint]
    words: list[str] = []
    for kind in kinds:
        if get_origin(kind) is Literal:
            words += [str(word) for word in get_args(kind)]
        elif kind is type(None):
            words += [] if default is None else ["None"]
        elif kind in _VALUES:
            words.append(_VALUES[kind])
        elif get_origin(kind) is tuple and set(get_args(kind)) <= _VALUES.keys():
            words.append(" ".join(_VALUES[one] for one in get_args(kind)))
        else:
            return None
    return "|".join(sorted(words, key=lambda word: word == "None"))
