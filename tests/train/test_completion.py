"""Completion in shells: what `srd` answers when one asks what may come next."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("argcomplete")


@pytest.mark.parametrize(
    ("line", "offered", "not_offered"),
    [
        ("srd da", {"data"}, {"train"}),
        ("srd data build ", {"ambient", "trec", "synthetic"}, {"describe"}),
        ("srd train re", {"reinforce", "relational"}, {"retrieval-order"}),
        ("srd rank re", {"retrieval-order", "relational-pretrained"}, {"reinforce"}),
        ("srd benchmark smo", {"smoke"}, {"ambient"}),
        ("srd train reinforce --le", {"--learning-rate"}, {"--fold"}),
        ("srd train mmr --l", {"--lambda"}, {"--learning-rate"}),
        ("srd train reinforce --parts ", {"both", "relations", "directions"}, {"reinforce"}),
        ("srd compare a.run b.run --q", {"--qrels"}, {"--out"}),
    ],
)
def test_a_shell_is_offered_what_may_come_next(
    line: str, offered: set[str], not_offered: set[str], tmp_path: Path
) -> None:
    answer = tmp_path / "answer"
    asked = {
        "_ARGCOMPLETE": "1",
        "_ARGCOMPLETE_STDOUT_FILENAME": str(answer),
        "COMP_LINE": line,
        "COMP_POINT": str(len(line)),
    }
    subprocess.run([sys.executable, "-m", "srd_train"], env=os.environ | asked, cwd=tmp_path, check=True)
    words = {word.strip() for word in answer.read_text(encoding="utf-8").split("\v")}
    assert offered <= words
    assert not words & not_offered
