"""Tables in terminals of any width."""

from __future__ import annotations

import io
import re
import sys
import time

import pytest
from made_results import record, table_of

from srd_train.commands.console import Output
from srd_train.commands.tables import print_table
from srd_train.report.markup import plain_cells
from srd_train.report.tables import ResultTable

NAMES = ("mmr", "retrieval-order", "mdp-div, 18,000 steps", "m2div, search 1,000", "oracle")
MEASURES = ("alpha_nDCG@10", "alpha_nDCG@5", "ERR_IA@10", "StRecall@10")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def table() -> ResultTable:
    records = [
        record(
            name,
            cell=f"{name} {seed}",
            seed=seed,
            measures=dict.fromkeys(MEASURES, 0.5),
            per_topic={f"q{i}": dict.fromkeys(MEASURES, 0.2 * i + 0.01 * len(name)) for i in range(3)},
            environment_episodes=None if name == "mmr" else 74_880,
            environment_steps=None if name == "mmr" else 748_800,
        )
        for name in NAMES
        for seed in (0, 1)
    ]
    return table_of(records)


def printed(table: ResultTable, stream: io.StringIO, monkeypatch: pytest.MonkeyPatch, width: int = 80) -> list[str]:
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stdout", stream)
    print_table(table, Output(), "The legend.")
    return re.sub(r"\x1b\[[0-9;]*m", "", stream.getvalue()).splitlines()


@pytest.mark.parametrize(
    ("width", "count"),
    [(60, 3), (80, 4), (100, 6), (140, 9)],
)
def test_a_narrow_terminal_leaves_columns_out_and_cuts_nothing(
    table: ResultTable, monkeypatch: pytest.MonkeyPatch, width: int, count: int
) -> None:
    lines = printed(table, Terminal(), monkeypatch, width)
    assert max(map(len, lines)) <= width
    start = next(i for i, line in enumerate(lines) if line.startswith(" ──"))
    said = " ".join(" ".join(lines).split("Left out", 1)[1].split())
    heads, rows = plain_cells(table)
    for line, row in zip(lines[start + 1 :], rows, strict=False):
        assert line.split() == " ".join(row[:count]).split()
    names = ", ".join(heads[count:])
    assert f"at this width: {names}. To see them: --markdown FILE, --json or a wider terminal." in said
    assert lines[-1].endswith("The legend.")


@pytest.mark.parametrize("stream", [Terminal(), io.StringIO()])
def test_a_wide_terminal_and_a_file_show_all_columns(
    table: ResultTable, monkeypatch: pytest.MonkeyPatch, stream: io.StringIO
) -> None:
    lines = printed(table, stream, monkeypatch, 400 if stream.isatty() else 20)
    (heads,) = (line for line in lines if line.startswith("  ranker "))
    assert heads.split() == " ".join(plain_cells(table)[0]).split()
    assert not any("Left out" in line for line in lines)


def test_where_not_even_one_number_fits_lines_are_folded(table: ResultTable, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "".join("".join(printed(table, Terminal(), monkeypatch, 25)).split())
    assert "…" not in text
    assert max(map(len, printed(table, Terminal(), monkeypatch, 25))) <= 25


def test_texts_are_folded_and_no_number_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setattr(sys, "stdout", stream := Terminal())
    Output().table("Head", ["document", "text", "score"], [["d1", "many words " * 20, "0.12345"]], texts=2)
    assert stream.getvalue().count("words") == 20
    assert "0.12345" in stream.getvalue()


def test_a_terminal_sees_rate_and_time_left_and_nobody_else_anything(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = {}
    for stream in (Terminal(), io.StringIO()):
        monkeypatch.setenv("TERM", "xterm")
        monkeypatch.setattr(sys, "stderr", stream)
        with Output().progress("logging", 4) as advance:
            advance(1)
            time.sleep(0.15)
            advance(1)
            time.sleep(0.15)
        shown[stream.isatty()] = stream.getvalue()
    assert shown[False] == ""
    assert re.search(r"logging.*2/4.*/s.*0:00:0\d", shown[True])
