"""Completion of `srd` in bash, zsh and fish: the tree of commands as argparse knows it, for argcomplete."""

from __future__ import annotations

import importlib
import os
from argparse import ArgumentParser
from collections.abc import Sequence
from typing import Any, Literal, get_args, get_origin

from argcomplete import autocomplete
from argcomplete.completers import FilesCompleter

from srd_train.cli import TREE, Group, Leaf
from srd_train.commands.help import options_of


def complete() -> None:
    """Answer the shell that asks through the environment what may come next, and end the process."""
    parser = ArgumentParser(prog="srd")
    _fill(parser, TREE, os.environ.get("COMP_LINE", "").split())
    autocomplete(parser, always_complete_options=False)


def _fill(parser: ArgumentParser, node: Group | Leaf, words: Sequence[str]) -> None:
    """Add what may follow: the commands of a group, or the names and options of a command.

    Args:
        parser: to add them to.
        node: the group or the command.
        words: those typed so far; only the commands that they name are imported.
    """
    if isinstance(node, Group):
        commands = parser.add_subparsers()
        for name, child in node.commands.items():
            command = commands.add_parser(name, help=child.summary)
            if name in words:
                _fill(command, child, words)
        return
    module = importlib.import_module(node.module)
    name = node.module.rpartition(".")[2]
    options = getattr(module, name.capitalize() if node.command == "parse" else node.command)
    names = list(module.first_words()) if hasattr(module, "first_words") else []
    first: Any = parser.add_argument("words", nargs="*")
    first.completer = lambda prefix, **_: [*names, *FilesCompleter()(prefix)]
    _add_options(parser, options)
    for ranker in set(names) & set(words) if name in ("train", "rank") else ():
        from srd_agents.registry import RANKERS

        _add_options(parser, RANKERS.find(ranker).config_class)


def _add_options(parser: ArgumentParser, kind: type[Any]) -> None:
    """Add the fields of a dataclass, but for those that the parser has."""
    for field, spelt, hint, _ in options_of(kind):
        if spelt in parser._option_string_actions:
            continue
        words = [word for part in (hint, *get_args(hint)) if get_origin(part) is Literal for word in get_args(part)]
        if hint is bool:
            parser.add_argument(spelt, action="store_true")
        else:
            parser.add_argument(spelt, nargs="*" if field.default == () else None, choices=words or None)
