from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from run_srd import Srd

import srd_train.commands.evaluate
from srd_train.cli import TREE, Group, Leaf

LEARNER_HELP = ("train", "mdp-div", "--help")


def leaves(group: Group, words: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    for name, node in group.commands.items():
        if isinstance(node, Leaf):
            yield (*words, name)
        else:
            yield from leaves(node, (*words, name))


@pytest.mark.parametrize("words", [*leaves(TREE), ("train", "mdp-div"), ("train", "mmr"), ("rank", "mmr")])
def test_every_help_teaches_with_an_example(srd: Srd, words: tuple[str, ...]) -> None:
    shown = srd.works(*words, "--help").out
    assert "Example" in shown
    assert f"srd {' '.join(words[:2] if words[0] == 'data' else words[:1])}" in shown


@pytest.mark.parametrize("words", [(), ("data",), ("data", "build")])
def test_a_group_lists_its_commands(srd: Srd, words: tuple[str, ...]) -> None:
    done = srd(*words)
    assert done.code == 2
    assert "Commands:" in done.out
    assert srd.works(*words, "--help").out == done.out


@pytest.mark.parametrize(
    ("words", "near"), [(["evaluatee"], "srd evaluate"), (["data", "bild"], "srd data build"), (["rnak"], "srd rank")]
)
def test_an_unknown_command_suggests_the_nearest(srd: Srd, words: list[str], near: str) -> None:
    assert f"Did you mean {near}" in srd.fails(*words)


def test_help_of_a_ranker_shows_its_own_options(srd: Srd) -> None:
    shown = srd.works(*LEARNER_HELP).out
    for option in ("--topics", "--learning-rate", "--return-only", "--epochs", "Step size eta"):
        assert option in shown


def test_an_unknown_option_is_an_error(srd: Srd) -> None:
    done = srd("evaluate", "--qrels", "a", "--run", "b", "--measure", "c")
    assert done.code == 2
    assert "--measure" in done.err


def test_version(srd: Srd) -> None:
    assert srd.works("--version").out == f"srd {version('srd-gym')}\n"


def test_debug_lets_the_error_through(srd: Srd) -> None:
    with pytest.raises(ValueError, match="unknown command"):
        srd("--debug", "evaluatee")


def raising(error: BaseException) -> Any:
    def run(*_: object) -> int:
        raise error

    return run


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (ModuleNotFoundError("No module named 'tyro'", name="tyro"), 2, 'pip install "srd-gym[train]"'),
        (KeyboardInterrupt(), 130, "interrupted"),
        (OSError(28, "No space left on device", "x.run"), 2, "No space left on device: x.run"),
        (ValueError("two\nlines"), 2, "error: two lines"),
        (ImportError("pip install it"), 2, "error: pip install it"),
        (FloatingPointError("diverged"), 2, "error: diverged"),
    ],
)
def test_exit_codes(srd: Srd, monkeypatch: pytest.MonkeyPatch, error: BaseException, code: int, said: str) -> None:
    monkeypatch.setattr(srd_train.commands.evaluate.Evaluate, "execute", raising(error))
    done = srd("evaluate", "--qrels", "a", "--run", "b")
    assert done.code == code
    assert said in done.err
    assert len(done.err.splitlines()) == 1


def test_our_own_mistakes_keep_their_traceback(srd: Srd, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(srd_train.commands.evaluate.Evaluate, "execute", raising(KeyError("bug")))
    with pytest.raises(KeyError):
        srd("evaluate", "--qrels", "a", "--run", "b")


def test_a_reader_that_goes_away_is_no_error(tmp_path: Path) -> None:
    qrels, run = tmp_path / "q", tmp_path / "r"
    qrels.write_text("".join(f"{i} 1 d 1\n" for i in range(20_000)))
    run.write_text("0 Q0 d 1 1 t\n")
    command = [sys.executable, "-m", "srd_train.cli", "evaluate", "--qrels", qrels, "--run", run]
    words = [*command, "--measures", "StRecall@1", "--per-topic"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        error = process.stderr.read().decode()
        process.wait(timeout=60)
    assert "Traceback" not in error
    assert "error" not in error.lower()
