"""Running `srd`, and the studies, in the test's own process."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from srd_train.cli import TREE, Group, main

Feed = Callable[[bytes | None], None]
"""Puts bytes into standard input; None closes it."""


def feed_to(patch: pytest.MonkeyPatch) -> Feed:
    """What puts bytes into standard input, as a process has it."""

    def put(content: bytes | None) -> None:
        stream = None if content is None else io.TextIOWrapper(io.BytesIO(content), encoding="utf-8")
        patch.setattr(sys, "stdin", stream)

    return put


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Standard output as JSON."""
        return json.loads(self.out)


class Srd:
    """`srd(...)` runs a command line of a tree of commands and gives its exit code and streams."""

    def __init__(self, capsys: pytest.CaptureFixture[str], tree: Group = TREE) -> None:
        self._capsys = capsys
        self._tree = tree

    def __call__(self, *words: object) -> Done:
        """Run it."""
        self._capsys.readouterr()
        code = main([str(word) for word in words], self._tree)
        streams = self._capsys.readouterr()
        return Done(code, streams.out, streams.err)

    def works(self, *words: object) -> Done:
        """Run what must succeed."""
        done = self(*words)
        assert done.code == 0, done.err
        return done

    def fails(self, *words: object) -> str:
        """Run what must fail; its one error line, without the first word."""
        done = self(*words)
        assert done.code == 2, done
        assert done.err.count("error: ") == 1
        assert "Traceback" not in done.err
        return done.err.split("error: ", 1)[1].strip()
