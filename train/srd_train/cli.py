"""The command `srd`: finds the command that the words name, runs it, and turns errors into one line and an exit code.

Exit codes: 0 done, 1 done with a finding (or the reader of the output went away), 2 wrong use or wrong input,
128 + n stopped by signal n (Ctrl-C: 130).
"""

from __future__ import annotations

import contextlib
import importlib
import os
import signal
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from srd_gym.checks import check_option
from srd_gym.interrupts import number_of, stopped_by_signals
from srd_train.commands.console import Output
from srd_train.commands.help import overview
from srd_train.commands.options import parsed

USER_ERRORS = (ValueError, TypeError, OSError, ImportError, FloatingPointError, MemoryError)
"""Errors that a user can put right, reported as one line. Anything else is our mistake and keeps its traceback."""


@dataclass(frozen=True)
class Leaf:
    """A command; its module is imported only when it runs."""

    module: str
    summary: str
    command: str = "parse"
    """In the module: a dataclass of options with `execute(output) -> exit code`, or a function (args, prog) -> such."""


@dataclass(frozen=True)
class Group:
    """Words that lead to commands."""

    summary: str
    commands: Mapping[str, Leaf | Group]


def _leaf(module: str, summary: str, command: str = "parse") -> Leaf:
    """A command of `srd`."""
    return Leaf(f"srd_train.commands.{module}", summary, command)


_BUILD = {
    "ambient": _leaf("data.build", "a folder in the four-file format of AMBIENT", "Ambient"),
    "texts": _leaf("data.build", "a folder of texts; BM25 or embeddings find candidates", "Texts"),
    "ir-datasets": _leaf("data.build", "a dataset of the library ir_datasets", "IrDatasets"),
    "nuggets": _leaf("data.build", "nugget judgments: TREC RAG, FreshStack, CRUX", "Nuggets"),
    "rl4srd": _leaf("data.build", "MDP-DIV's four published files", "Rl4srd"),
    "du-div": _leaf("data.build", "the DU-DIV label file", "DuDiv"),
    "synthetic": _leaf("data.build", "generated topics: tiny, web or serp", "Synthetic"),
    "trec": _leaf("data.build", "TREC diversity qrels, run and topics", "Trec"),
}
_DATA: dict[str, Leaf | Group] = {
    "build": Group("Make a topic file (Parquet) from a data set.", _BUILD),
    "describe": _leaf("data.look", "Show the statistics of a topic file.", "Describe"),
    "head": _leaf("data.look", "Show the first topics of a topic file.", "Head"),
    "log": _leaf("data.log", "Log a ranker's lists and the clicks of simulated users.", "LogData"),
    "minari": _leaf("data.minari", "Save a ranker's episodes for offline RL (Minari).", "MinariData"),
    "qrels": _leaf("data.qrels", "Write the labels of a topic file as TREC qrels.", "Qrels"),
}

TREE = Group(
    "Search result diversification: train rankers, rank, and score with the measures of ndeval.",
    {
        "data": Group("Make topic files, look into them, and log simulated clicks.", _DATA),
        "train": _leaf("train", "Train a ranker on a topic file."),
        "rank": _leaf("rank", "Rank topics into a TREC run, or answer JSON lines."),
        "mcp": _leaf("mcp", "Serve a tool for assistants (Model Context Protocol).", "Mcp"),
        "evaluate": _leaf("evaluate", "Score a TREC run by diversity qrels or a topic file.", "Evaluate"),
        "compare": _leaf("compare", "Compare TREC runs, with intervals and tests.", "Compare"),
        "audit": _leaf("audit", "Audit result lists: crowding, what diversifying changes, advice.", "AuditLists"),
        "ope": _leaf("ope", "Estimate rankers' clicks from the log of another one.", "Ope"),
        "experiment": _leaf("experiment", "Compare rankers on a run of yours, from plain files.", "Experiment"),
        "benchmark": _leaf("benchmark", "Train and compare rankers by a configuration file."),
        "report": _leaf("report", "Write a benchmark's results as an HTML page and tables.", "Report"),
        "doctor": _leaf("doctor", "Say what is installed, whether it works, and what to install.", "Doctor"),
    },
)

_UNREAD = 141
"""Exit code where the reader went away: that of SIGPIPE, where there are signals."""

_EPILOGUE = """Examples:
  srd benchmark smoke        (trains and compares rankers; one to four minutes)
  srd evaluate --qrels web.qrels.gz --run my.run --measures ERR_IA@10 NRBP
  srd compare bm25.run mine.run --qrels web.qrels.gz
  srd data build synthetic serp --out topics.parquet
  srd train reinforce --topics topics.parquet --fold 1/5 --out model
  srd rank model --topics topics.parquet --k 10 --out model.run
  srd evaluate --topics topics.parquet --run model.run --ranked-topics-only

Every command takes --help, and --debug, which shows the traceback of an error. Exit codes: 0, 2 (an error), 130
(interrupted), 141 (nobody reads what is printed, as behind head).
srd --version prints the version."""


def main(argv: Sequence[str] | None = None, tree: Group = TREE, prog: str = "srd") -> int:
    """Run one command line.

    Args:
        argv: the words after `prog`; those of the process by default.
        tree: the commands.
        prog: what the command line begins with.

    Returns:
        The exit code.
    """
    args = list(sys.argv[1:] if argv is None else argv)
    debug = "--debug" in args
    args = [word for word in args if word != "--debug"]
    output = Output(json="--json" in args)
    try:
        with stopped_by_signals(), _notices(output):
            return _run(args, output, tree, prog)
    except SystemExit as stop:  # tyro has printed its help or its complaint, or rich found that nobody reads
        if isinstance(stop.__context__, BrokenPipeError):
            return _UNREAD
        return stop.code if isinstance(stop.code, int) else 2
    except KeyboardInterrupt as stop:
        return _stopped(stop, output)
    except BrokenPipeError:
        # The reader went away (`srd ... | head`): end quietly, also at interpreter shutdown.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _UNREAD
    except Exception as error:
        if (behind := _stop_behind(error)) is not None:
            return _stopped(behind, output)
        if debug or not isinstance(error, USER_ERRORS):
            raise
        output.error(_message(error))
        return 2


@contextlib.contextmanager
def _notices(output: Output) -> Iterator[None]:
    """Show what the packages warn of as one-line notices, each once."""
    told: set[str] = set()

    def tell(message: Warning | str, *_: object) -> None:
        if str(message) not in told:  # a benchmark comes by the same topics many times
            told.add(str(message))
            output.notice(f"notice: {message}")

    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = tell  # type: ignore[assignment]  # what else it is called with says where, not what
        yield


def _stopped(stop: KeyboardInterrupt, output: Output) -> int:
    """Say that a signal ended the command, and what its notes advise; the exit code that shells give to it."""
    number = number_of(stop)
    how = "interrupted" if number == signal.SIGINT else f"stopped by {signal.Signals(number).name}"
    notes: list[str] = getattr(stop, "__notes__", ["nothing is left half written"])
    output.error(f"{how}; {notes[0]}")
    return 128 + number


def _stop_behind(error: BaseException | None) -> KeyboardInterrupt | None:
    """The stop that an error came after: nothing can be shown on a closed terminal, and libraries wrap interrupts."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__context__
    return error


def _message(error: BaseException) -> str:
    """The message of an error: its text, with the file where the system names one."""
    if isinstance(error, OSError) and error.strerror:
        where = f": {error.filename}" if error.filename else ""
        return f"{error.strerror}{where}"
    if isinstance(error, MemoryError):
        return f"this takes more memory than there is ({str(error) or 'MemoryError'}); ask for less"
    return str(error) or type(error).__name__


def _run(args: list[str], output: Output, tree: Group, prog: str) -> int:
    """Walk the words down the tree and run the command found."""
    if args[:1] == ["--version"]:
        from importlib.metadata import version

        output.text(f"srd {version('srd-gym')}")
        return 0
    node: Leaf | Group = tree
    while isinstance(node, Group):
        if not args or args[0] in ("-h", "--help"):
            summaries = {name: child.summary for name, child in node.commands.items()}
            last = _EPILOGUE if node is TREE else f"Details: {prog} {next(iter(summaries))} --help"
            overview(f"{prog} COMMAND ...", node.summary, "Commands:", summaries, last, code=0 if args else 2)
        word = args.pop(0)
        check_option("command", f"{prog} {word}", [f"{prog} {name}" for name in node.commands])
        node = node.commands[word]
        prog = f"{prog} {word}"
    kind: Any = getattr(importlib.import_module(node.module), node.command)
    command = parsed(kind, args, prog) if isinstance(kind, type) else kind(args, prog)
    status: int = command.execute(output)
    return status
