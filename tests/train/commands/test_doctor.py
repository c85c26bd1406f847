"""`srd doctor` says what is there and what is not, and plays an episode."""

from __future__ import annotations

from importlib import metadata
from typing import Any

import pytest
from run_srd import Srd

from srd_gym import installing
from srd_train.commands import doctor


def test_it_says_what_is_there(srd: Srd, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SRD_DATA_DIR", raising=False)
    found = srd.works("doctor", "--json").json
    assert found["works"] is True
    assert found["srd-gym"].startswith(metadata.version("srd-gym"))
    assert f"numpy {metadata.version('numpy')}" in found["libraries"]
    assert found["data"].startswith("SRD_DATA_DIR is unset")
    assert "cli" in found["extras"].split(", ")
    text = srd.works("doctor").out
    assert [line.split()[0] for line in text.splitlines()] == [name.strip() for name in found if name != "works"]
    assert max(map(len, text.splitlines())) < 200, "short enough to paste"


def test_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    real = doctor._version
    monkeypatch.setattr(doctor, "_version", lambda name: None if name == "jinja2" else real(name))
    assert doctor.needed("report") == ["jinja2"]
    assert {"torch", "pyarrow", "tyro"} <= set(doctor.needed("train")), "with the extras that it is made of"
    found = doctor.extras()
    assert found["  report"] == f"lacks jinja2: {installing.how_to_install('report')}"
    assert "report" not in found["extras"]
    assert "cli" in found["extras"]


def test_the_command_to_install_is_true(monkeypatch: pytest.MonkeyPatch) -> None:
    class Installed:
        def __init__(self, direct: str | None) -> None:
            self.direct = direct

        def read_text(self, name: str) -> str | None:
            return self.direct if name == "direct_url.json" else None

    for direct, said in (
        ('{"dir_info": {"editable": true}, "url": "file:///x"}', "pip install '.[text]' in the clone"),
        ('{"archive_info": {}, "url": "file:///x.whl"}', "pip install 'srd-gym[text]'"),
        (None, "pip install 'srd-gym[text]'"),
    ):
        monkeypatch.setattr(metadata, "distribution", lambda _, direct=direct: Installed(direct))
        assert installing.how_to_install("text") == said


def test_a_broken_environment_is_told(srd: Srd, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise RuntimeError("no such environment")

    monkeypatch.setattr("gymnasium.make", broken)
    done = srd("doctor")
    assert done.code == 1
    assert "failed: RuntimeError: no such environment" in done.out
