"""Input and output of commands: a dataclass of its options, whose docstrings are the help, and two streams.

Results go to standard output, everything else (progress, notices, errors) to standard error.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import inspect
import io
import itertools
import json as json_module
import operator
import os
import shutil
import sys
import textwrap
import unicodedata
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from types import UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    NoReturn,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

import tyro

from srd_gym.checks import check_integer, unknown
from srd_gym.core.own import notation
from srd_gym.reading import shown_text
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
Advance = Callable[..., None]
"""Tells a progress bar that this many more units are done."""
_VALUES = {int: "N", float: "NUMBER", str: "NAME", Path: "FILE"}
_LONGEST = 1_900
"""Characters of an error or a notice."""
_UNFOLDED = 100_000
"""Characters in a line of a file or a pipe."""
_WIDEST = 100
"""Characters in a line of prose, however wide the terminal."""
_ABOUT = "[description]"
"""Place of a command's description in the help that tyro makes."""
_BETWEEN = 3
"""Characters between two columns."""


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
    read = functools.partial(tyro.cli, args=args, prog=prog, config=(tyro.conf.FlagCreatePairsOff,))
    if {"-h", "--help"}.isdisjoint(args):
        options: Options = read(kind)
    else:
        text = io.StringIO()
        try:
            with contextlib.redirect_stdout(text):
                options = read(_with_helps(kind), description=_ABOUT)
        finally:  # tyro would join the lines of a description
            shown = text.getvalue().replace(_ABOUT, filled(kind.__doc__ or ""))
            Output().text("\n".join(line.rstrip() for line in shown.rstrip().split("\n")))
    check_outputs(options, reads)
    if hasattr(options, "seed"):
        check_integer("--seed", options.seed, 0, 2**63 - 1)  # numpy would refuse it after the topics were read
    return options


def described(kind: type[Any]) -> Iterator[tuple[dataclasses.Field[Any], Any, tuple[Any, ...]]]:
    """The fields of a dataclass, each with its type and what that is annotated with."""
    plain, annotated = get_type_hints(kind), get_type_hints(kind, include_extras=True)
    for entry in dataclasses.fields(kind):
        yield entry, plain[entry.name], getattr(annotated[entry.name], "__metadata__", ())


def option_of(name: str, about: Sequence[Any]) -> str:
    """The option of a field, such as "--learning-rate": its name, unless what its type is annotated with gives one."""
    given: list[str] = [one.name for one in about if getattr(one, "name", None)]
    return "--" + (given or [name.rstrip("_")])[0].replace("_", "-")


def _check_options(kind: type[Any], args: Sequence[str], prog: str) -> None:
    """Refuse an option that a command does not have, and say which may be meant; tyro knows no abbreviations.

    Raises:
        ValueError: near names are suggested.
    """
    names, lists, seen = {"--help"}, set[str](), set[str]()
    for entry, hint, about in described(kind):
        option = option_of(entry.name, about)
        if get_origin(hint) in (tuple, Sequence):
            lists.add(option)
        names |= {option, f"--no-{entry.name}".replace("_", "-")}
        names |= {alias for one in about for alias in getattr(one, "aliases", None) or ()}
    for word in itertools.takewhile(lambda word: word != "--", args):
        option = word.partition("=")[0].rstrip("_").replace("_", "-")
        if word.startswith("--") and option not in names and not option.startswith("--tyro-"):
            options = [name for name in names if name != "--help" and not name.startswith("--no-")]
            raise unknown(f"option of {prog}:", option, options, f"More: {prog} --help")
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
    hints, helps = get_type_hints(type(config)), _field_helps(type(config))
    made: list[tuple[str, Any, Any]] = []
    objects: dict[str, str] = {}
    for entry in dataclasses.fields(config):
        if entry.name in own or (only is not None and entry.name not in only):
            continue
        field, text = _in_words(hints[entry.name]), helps.get(entry.name, "")
        default = getattr(config, entry.name)
        if hasattr(default, "bind"):
            objects[entry.name] = default = notation(default)
        if entry.name in tuned:
            field, default, text = field | None, None, f"{text} Chosen on the validation topics unless given."
        # A Python name may end in an underscore to dodge a keyword (lambda_); an option need not.
        option = tyro.conf.arg(name=entry.name.rstrip("_").replace("_", "-"), help=text.replace("`", ""))
        made.append((entry.name, Annotated[field, option], dataclasses.field(default=default)))
    both = dataclasses.make_dataclass(kind.__name__, made, bases=(kind,), kw_only=True, frozen=True)
    both.__doc__ = kind.__doc__
    options: Any = parsed(both, list(map(_as_options_are_spelt, args)), prog, reads=reads)
    values = {name: getattr(options, name) for name, *_ in made}
    given = {name: value for name, value in values.items() if value is not None or name not in tuned}
    return options, {name: value for name, value in given.items() if value != objects.get(name, object())}


def _as_options_are_spelt(word: str) -> str:
    """A word of a command line; an option that is written as Python spells it (--lambda_) without the underscore."""
    flag, equals, value = word.partition("=")
    return flag.rstrip("_") + equals + value if flag.startswith("--") else word


def _in_words(hint: Any) -> Any:
    """The type that a command line has for a field's: measures, rewards and strategies are text there."""
    if get_origin(hint) not in (Union, UnionType):
        return hint
    return functools.reduce(operator.or_, [kind for kind in get_args(hint) if not hasattr(kind, "bind")])


def _with_helps(kind: type[Options]) -> type[Options]:
    """The same options, as their help should show them: words for values, texts unwrapped, no empty defaults."""
    helps = _field_helps(kind)
    made: list[tuple[str, Any, Any]] = []
    for entry, hint, about in described(kind):
        empty = entry.default is None or entry.default is False or entry.default in ((), "")
        said = "(required)" if entry.default is dataclasses.MISSING else "" if empty else None
        look: dict[str, Any] = {"help": helps.get(entry.name), "help_behavior_hint": said}
        if not any(getattr(one, "metavar", None) for one in about):
            look["metavar"] = _metavar(hint, entry.default)
        shown_as: Any = Annotated[hint, *about, tyro.conf.arg(**look)]
        made.append((entry.name, shown_as, dataclasses.field(default=entry.default)))
    return dataclasses.make_dataclass(kind.__name__, made, bases=(kind,), kw_only=True, frozen=True)


def _metavar(hint: Any, default: Any) -> str | None:
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


def _field_helps(config_class: type[Any]) -> dict[str, str]:
    """The docstring under each field, those of base classes included."""
    import docstring_parser

    helps: dict[str, str] = {}
    for base in reversed(config_class.__mro__[:-1]):
        for param in docstring_parser.parse_from_object(base).params:
            helps[param.arg_name] = " ".join((param.description or "").split())
    return helps


class Output:
    """The two streams of a command.

    Args:
        json: results are JSON for programs; progress bars are left out.
    """

    def __init__(self, *, json: bool = False) -> None:
        self.json = json

    def text(self, text: str) -> None:
        """Print plain text to standard output."""
        sys.stdout.write(text + "\n")
        sys.stdout.flush()

    def data(self, value: Any) -> None:
        """Print a value as JSON to standard output; NaN and infinity are errors, never written."""
        self.text(json_module.dumps(value, indent=2, allow_nan=False))

    def notice(self, text: str) -> None:
        """Tell the user something on standard error."""
        sys.stderr.write(visible(shown_text(text, _LONGEST)) + "\n")
        sys.stderr.flush()

    def outcome(self, values: Mapping[str, Any], text: str) -> None:
        """Tell what was written: as JSON with --json, else as a notice."""
        if self.json:
            self.data(values)
        else:
            self.notice(text)

    def error(self, text: str) -> None:
        """Print one `error: ...` line to standard error, if it is still there (a terminal may have been closed)."""
        with contextlib.suppress(OSError):
            line = " ".join(shown_text(text, _LONGEST).split("\n"))
            sys.stderr.write(f"error: {visible(line)}\n")
            sys.stderr.flush()

    def table(
        self,
        title: str,
        columns: Sequence[str],
        rows: Sequence[Sequence[str]],
        caption: str = "",
        *,
        texts: int = 1,
        elsewhere: str = "--json",
    ) -> None:
        """Print a table for people.

        Where a terminal is too narrow, the last columns of numbers are left out until names and numbers stay whole, and
        a line below names them. A file or a pipe has no width: nothing is left out there.

        Args:
            title: what the table shows.
            columns: the heads.
            rows: the cells, as text; kept as data (no markup is interpreted).
            caption: a note below the table.
            texts: how many columns, from the left, hold text; the others hold numbers.
            elsewhere: the option that shows all columns.
        """
        from rich import box
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text

        console = Console(file=sys.stdout, width=None if sys.stdout.isatty() else _UNFOLDED, highlight=False)
        heads = [visible(column) for column in columns]
        cells = [[visible(cell) for cell in row] for row in rows]
        widths, fixed = _fitting(heads, cells, console.width, texts)
        table = Table(title=Text(visible(title)), box=box.SIMPLE_HEAD, title_justify="left")
        for index, (head, width) in enumerate(zip(heads, widths, strict=False)):
            justify: Literal["left", "right"] = "left" if index < texts else "right"
            table.add_column(Text(head), justify=justify, overflow="fold", width=width if fixed else None)
        for row in cells:
            table.add_row(*map(Text, row[: len(widths)]))
        console.print(table)
        if missing := ", ".join(heads[len(widths) :]):
            console.print(Text(f"Left out at this width: {missing}. To see them: {elsewhere} or a wider terminal."))
        if caption:
            console.print(Text(visible(caption)))

    @contextlib.contextmanager
    def progress(self, description: str, total: int | None = None) -> Iterator[Advance]:
        """A progress bar, with rate and time left, on standard error while the block runs.

        Nothing is shown where that is no terminal, or with --json.

        Args:
            description: what is being done.
            total: units to do, or None where that is unknown.

        Yields:
            A function to call with the number of units just done, and where it changes with the description.
        """
        if self.json or not sys.stderr.isatty():
            yield lambda _units, _text=description: None
            return
        from rich import progress
        from rich.console import Console
        from rich.text import Text

        class Rate(progress.ProgressColumn):
            """Units per second."""

            def render(self, task: progress.Task) -> Text:
                speed = task.finished_speed or task.speed
                return Text("" if speed is None else f"{speed:,.3g}/s")

        columns = (
            progress.TextColumn("{task.description}", markup=False),
            progress.BarColumn(),
            progress.MofNCompleteColumn(),
            Rate(),
            progress.TimeElapsedColumn(),
            progress.TimeRemainingColumn(),
        )
        with progress.Progress(*columns, console=Console(file=sys.stderr), transient=True) as bar:
            task = bar.add_task(visible(description), total=total)
            yield lambda units, text=description: bar.update(task, advance=units, description=visible(text))


def _fitting(
    heads: Sequence[str], cells: Sequence[Sequence[str]], available: int, texts: int
) -> tuple[list[int], bool]:
    """Widths of the first columns, as many as fit with every cell and every word of a head in one line.

    Returns:
        The widths of at least the texts and one column of numbers; and whether they are to be kept, which is so where
        they fit but whole heads do not.
    """
    from rich.cells import cell_len

    columns = zip(heads, zip(*cells, strict=True) if cells else [()] * len(heads), strict=True)
    widths = [max(map(cell_len, [*head.split(), *column]), default=0) for head, column in columns]
    while len(widths) > texts + 1 and 1 + sum(widths) + _BETWEEN * len(widths) > available:
        widths.pop()
    needed = 1 + _BETWEEN * len(widths)
    whole = needed + sum(max(width, cell_len(head)) for width, head in zip(widths, heads, strict=False))
    return widths, needed + sum(widths) <= available < whole


def visible(text: str) -> str:
    """The text with control characters (but line ends) written as escapes: data must not steer a terminal."""
    return "".join(
        one if one == "\n" or not unicodedata.category(one).startswith("C") else ascii(one)[1:-1] for one in text
    )
