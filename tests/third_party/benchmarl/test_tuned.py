"""The tuned settings of BenchMARL in docs/third_party/ train, if only for a moment."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from markdown_code import THIRD_PARTY


def test_curves_of_benchmarl(tmp_path: Path) -> None:
    options = ["--steps", "1600", "--every", "1600", "--seeds", "0", "--out", "curves"]
    subprocess.run([sys.executable, THIRD_PARTY / "tuned_benchmarl.py", *options], cwd=tmp_path, check=True)
    for name in ("MAPPO", "QMIX", "VDN"):
        found = json.loads((tmp_path / "curves" / f"BenchMARL-{name}.json").read_text())
        assert found["lists"] == 160
        assert len(found["curves"][0]) == 1
