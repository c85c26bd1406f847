"""The study that counts the files a call enters."""

from __future__ import annotations

from pathlib import Path

import pytest

from studies import ways


def test_functions_that_run_are_counted_and_modules_that_are_imported_are_not(tmp_path: Path) -> None:
    trace = ways.Trace()
    with trace.recorded():
        list(ways.PACKAGES)
    assert trace.entered == {}
    call = ways.environment(tmp_path)
    with trace.recorded():
        call()
    assert "SelectionEnv.step" in trace.entered["srd_gym/envs/selection.py"]
    assert "load_topics" in trace.entered["srd_gym/data/__init__.py"]
    assert not any(name.startswith("<") for names in trace.entered.values() for name in names)


@pytest.mark.parametrize("name", ways.WAYS)
def test_every_way_can_be_traced(name: str) -> None:
    found = ways.entered(name)
    assert {file.split("/")[0] for file in found} <= set(ways.PACKAGES)
    assert len(found) > 1
