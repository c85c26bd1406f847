from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from run_srd import Srd

import srd_train.commands.evaluate
from srd_agents.heuristic.trade_off import MMR
from srd_gym.installing import how_to_install
from srd_train.cli import TREE, Group, Leaf


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
    assert "mdp-div" not in words or all(one in shown for one in ("--learning-rate", "Learning rate eta")), (
        "a ranker's own"
    )
    assert not re.search(r"\(default: (None|False|\[\])?\)", shown), "an empty default says nothing"
    assert not re.search(r"--[\w-]+ (\{|INT\b|FLOAT\b|STR\b)", shown), "values are named by words"
    assert not [line for line in shown.splitlines() if len(line) > 80], "a terminal has 80 columns"


def test_help_has_whole_paragraphs(srd: Srd) -> None:
    lines = [line.strip("│ ") for line in srd.works("evaluate", "--help").out.splitlines()]
    begin = next(i for i, line in enumerate(lines) if line.startswith("--topics"))
    assert " ".join(lines[begin : begin + 5]).removeprefix("--topics FILE|NAME").lstrip() == (
        'In place of --qrels: a topic file (Parquet), "words", or "synthetic:PRESET[:TOPICS[:SEED]]". The ideal '
        "ranking is that of the pool where every judged topic has one, else that of the candidates."
    )


@pytest.mark.parametrize("words", [(), ("data",), ("data", "build")])
def test_a_group_lists_its_commands(srd: Srd, words: tuple[str, ...]) -> None:
    done = srd(*words)
    assert done.code == 2
    assert "Commands:" in done.out
    assert not [line for line in done.out.splitlines() if len(line) > 80], "a terminal has 80 columns"
    assert srd.works(*words, "--help").out == done.out


@pytest.mark.parametrize(
    ("words", "near"), [(["evaluatee"], "srd evaluate"), (["data", "bild"], "srd data build"), (["rnak"], "srd rank")]
)
def test_an_unknown_command_suggests_the_nearest(srd: Srd, words: list[str], near: str) -> None:
    assert f"Did you mean {near}" in srd.fails(*words)


def test_an_unknown_option_is_an_error_and_debug_lets_errors_through(srd: Srd) -> None:
    done = srd("evaluate", "--qrels", "a", "--run", "b", "--measure", "c")
    assert done.code == 2
    assert "--measure" in done.err
    with pytest.raises(ValueError, match="unknown command"):
        srd("--debug", "evaluatee")


def raising(error: BaseException) -> Any:
    def run(*_: object) -> int:
        raise error

    return run


def wrapped() -> Exception:
    """What some libraries make of Ctrl-C while they are imported."""
    error = RuntimeError("a library's own error")
    error.__context__ = KeyboardInterrupt()
    return error


@pytest.mark.parametrize(("error", "code", "said"), [
    (KeyboardInterrupt(), 130, "interrupted"),
    (wrapped(), 130, "error: interrupted; nothing is left half written"),
    (OSError(28, "No space left on device", "x.run"), 2, "No space left on device: x.run"),
    (ValueError("two\nlines"), 2, "error: two lines"),
    (ImportError("pip install it"), 2, "error: pip install it"),
    (FloatingPointError("diverged"), 2, "error: diverged"),
])  # fmt: skip
def test_exit_codes(srd: Srd, monkeypatch: pytest.MonkeyPatch, error: BaseException, code: int, said: str) -> None:
    monkeypatch.setattr(srd_train.commands.evaluate.Evaluate, "execute", raising(error))
    done = srd("evaluate", "--qrels", "a", "--run", "b")
    assert done.code == code
    assert said in done.err
    assert len(done.err.splitlines()) == 1


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such signals")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_commands_end_with_a_signals_code(srd: Srd, monkeypatch: pytest.MonkeyPatch, number: signal.Signals) -> None:
    def run(*_: object) -> int:
        os.kill(os.getpid(), number)
        time.sleep(10)
        return 0

    monkeypatch.setattr(srd_train.commands.evaluate.Evaluate, "execute", run)
    done = srd("evaluate", "--qrels", "a", "--run", "b")
    assert done.code == 128 + number
    said = "interrupted" if number == signal.SIGINT else f"stopped by {number.name}"
    assert done.err == f"error: {said}; nothing is left half written\n"


def test_our_own_mistakes_keep_their_traceback(srd: Srd, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(srd_train.commands.evaluate.Evaluate, "execute", raising(KeyError("bug")))
    with pytest.raises(KeyError):
        srd("evaluate", "--qrels", "a", "--run", "b")


def python(*words: str, **options: Any) -> tuple[int, str, str]:
    """Another process: its code, what it printed, and its errors."""
    done = subprocess.run([sys.executable, *words], capture_output=True, text=True, timeout=60, check=False, **options)
    return done.returncode, done.stdout, done.stderr


def test_a_broken_distribution_ends_no_command(tmp_path: Path) -> None:
    folder = tmp_path / "lost-1.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: lost\nVersion: 1\n")
    (folder / "entry_points.txt").write_text("[srd_gym.rankers]\nlost = nowhere:SPEC\n")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])}
    code, out, err = python("-m", "srd_train", "train", "--help", env=environment)
    assert code == 0
    assert "reinforce" in out
    assert err.count("distribution 'lost'") == 1
    rank = ("rank", "mmr", "--topics", "synthetic:tiny:3", "--out", str(tmp_path / "run"))
    assert python("-m", "srd_train", *rank, env=environment)[0] == 0


def test_a_reader_that_goes_away_is_no_error(tmp_path: Path) -> None:
    qrels, run = tmp_path / "q", tmp_path / "r"
    qrels.write_text("".join(f"{i} 1 d 1\n" for i in range(5_000)))
    run.write_text("0 Q0 d 1 1 t\n")
    command = [sys.executable, "-m", "srd_train", "evaluate", "--qrels", qrels, "--run", run]
    words = [*command, "--measures", "StRecall@1", "--per-topic"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.readline()
        process.stdout.close()
        error = process.stderr.read().decode()
        assert process.wait(timeout=60) == 141, "as `head` leaves any other command"
    assert "Traceback" not in error
    assert "error" not in error.lower()


@pytest.mark.parametrize("words", [
    "data build synthetic tiny",
    *(f"{ranker} --topics tiny" for ranker in ("train mmr", "train qmix", "rank random")),
])  # fmt: skip
def test_negative_seeds_are_refused_before_any_work(srd: Srd, words: str) -> None:
    assert srd.fails(*words.split(), "--out", "a", "--seed", "-1") == "--seed must be at least 0, got -1"


@pytest.mark.parametrize(("words", "message"), [
    ("mmr --threads 2", "ranker 'mmr' is not a learner and has no epochs; leave --threads out"),
    ("mmr --measures StRecall@5", "ranker 'mmr' is not a learner and has no epochs; leave --measures out"),
    ("relevance --select-by ERR-IA@5", "ranker 'relevance' is a learner: --validation-measure judges it; leave"),
])  # fmt: skip
def test_options_without_any_use_are_refused(srd: Srd, tmp_path: Path, words: str, message: str) -> None:
    said = srd.fails("train", *words.split(), "--topics", "none.parquet", "--out", tmp_path / "m")
    assert said.startswith(message)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("words", "message"), [
    (("--rollouts", 10**12), "ranker 'reinforce' needs more memory than there is (Unable to allocate"),
    (("--hidden-size", 10**12), "ranker 'reinforce' needs more memory than there is"),
    (("--seed", 2**70), "--seed must be at most 9,223,372,036,854,775,807, got 1180591620717411303424"),
    (("--threads", 10**12), "threads must be at most 32,767, got 1000000000000"),
    (("--device", "cuda:99"), "device must be one that torch has on this machine, got 'cuda:99'"),
])  # fmt: skip
def test_what_the_machine_lacks_is_told(srd: Srd, tmp_path: Path, words: tuple[object, ...], message: str) -> None:
    model = tmp_path / "a" / "m"
    early = words[0] == "--device"  # looked at before topics are, and before there is a folder or a lock
    topics = tmp_path / "none.parquet" if early else "synthetic:tiny:12"
    assert srd.fails("train", "reinforce", "--topics", topics, "--out", model, *words).startswith(message)
    assert not early or list(tmp_path.iterdir()) == []


def test_memory_that_runs_out_is_one_error(srd: Srd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def exhausted(*_: object) -> object:
        raise MemoryError

    monkeypatch.setattr(MMR, "rank_batch", exhausted)
    message = srd.fails("rank", "mmr", "--topics", "synthetic:tiny:5", "--out", tmp_path / "run")
    assert message == "this takes more memory than there is (MemoryError); ask for less"


@pytest.mark.parametrize("library", ["raise", "raise ImportError('numpy cannot be imported')", "pass"])
def test_an_interrupt_while_packages_are_imported_is_one_line_also_where_one_swallows_it(
    tmp_path: Path, library: str
) -> None:
    stop = "import os, signal, time\ntry:\n    os.kill(os.getpid(), signal.SIGINT)\n    time.sleep(30)\n"
    (tmp_path / "numpy.py").write_text(f"{stop}except KeyboardInterrupt:\n    {library}\n")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])}
    command = "from srd_train.__main__ import main; import sys; sys.exit(main())"
    done = python("-c", command, "--version", env=environment)
    assert done == (130, "", "error: interrupted; nothing was begun\n")


def test_an_interrupt_while_code_from_text_runs_ends_with_130(tmp_path: Path) -> None:
    stop = "exec('import os, signal, time; os.kill(os.getpid(), signal.SIGINT); time.sleep(30)')"
    (tmp_path / "pyarrow.py").write_text(stop)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])}
    done = python("-m", "srd_train", "data", "describe", "words", env=environment)
    assert done == (130, "", "error: interrupted; nothing is left half written\n")


def test_an_interrupt_while_a_run_is_awaited_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "qrels").write_text("1 1 a 1\n")
    begin = "from srd_train.__main__ import main; import sys; sys.stderr.write('ready\\n'); sys.exit(main())"
    words = [sys.executable, "-c", begin, "evaluate", "--qrels", tmp_path / "qrels", "--run", "-"]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr.readline() == "ready\n"
        time.sleep(2)
        process.send_signal(signal.SIGINT)
        error = process.stderr.read()
        assert process.wait(timeout=60) == 130
    assert error.startswith("error: interrupted; nothing ")
    assert error.count("\n") == 1


def test_without_the_extra_the_command_names_it() -> None:
    hidden = "import sys; sys.modules['tyro'] = None; from srd_train.__main__ import main; sys.exit(main())"
    said = f"error: the command srd needs tyro: {how_to_install('cli')}\n"
    assert python("-c", hidden, "--help") == (2, "", said)


def test_the_library_run_as_a_module_says_where_to_go() -> None:
    code, said, error = python("-m", "srd_gym")
    assert (code, error) == (0, "")
    assert "srd --help" in said
    assert "docs/index.md" in said


def test_the_package_runs_as_the_command() -> None:
    assert python("-m", "srd_train", "--version") == (0, f"srd {version('srd-gym')}\n", "")


@pytest.mark.parametrize(("word", "given", "threads"), [("mcp", None, "1"), ("rank", "3", "3"), ("data", None, "None")])
def test_commands_on_small_matrices_take_one_thread(word: str, given: str | None, threads: str) -> None:
    code = (
        "import os, sys; from srd_train.__main__ import main; main(); import numpy, threadpoolctl\n"
        "most = max(pool['num_threads'] for pool in threadpoolctl.threadpool_info())\n"
        "print(os.environ.get('OMP_NUM_THREADS'), most, file=sys.stderr)"
    )
    kept = {name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")}
    kept |= {} if given is None else {"OMP_NUM_THREADS": given}
    told, most = python("-c", code, word, env=kept, stdin=subprocess.DEVNULL)[2].split()[-2:]
    assert told == threads
    assert threads != "1" or most == "1"
