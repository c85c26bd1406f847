"""The check that a GPU runs, rehearsed on the CPU."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from studies import device
from studies.device import SECTIONS, Check, main, run


def test_every_section_gives_figures_within_a_minute() -> None:
    lines: list[dict[str, Any]] = []
    began = time.process_time()
    assert run(Check("cpu", time.monotonic() + 600, 0.01), lines.append)
    assert time.process_time() - began < 60  # 14 s, of the processor: other work does not count
    assert {line["section"] for line in lines} == {section.__name__ for section in SECTIONS}
    assert not [line for line in lines if "error" in line or "left_out" in line]
    rates = [line[name] for line in lines for name in line if name.endswith("per_second")]
    assert min(rates) > 0
    assert len({line["learner"] for line in lines if line["section"] == "learning"}) == 2


def test_what_fails_is_told_and_the_rest_is_measured(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    def broken(check: Check) -> device.Lines:
        yield {"holds": True}
        raise RuntimeError("no room")

    def false(check: Check) -> device.Lines:
        yield {"holds": False}

    monkeypatch.setattr(device, "SECTIONS", (broken, device.parity))
    assert main(["60", "--device", "cpu"]) == 1
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert lines[1] == {"section": "broken", "error": "RuntimeError: no room"}
    assert lines[-1]["section"] == "parity"
    monkeypatch.setattr(device, "SECTIONS", (false,))
    assert main(["60", "--device", "cpu"]) == 1
    assert main(["0", "--device", "cpu"]) == 0
    assert "no time" in capsys.readouterr().out
