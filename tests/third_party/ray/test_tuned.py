"""The tuned settings of RLlib in docs/third_party/ train, if only for a moment."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from markdown_code import THIRD_PARTY


def test_curve_of_rllib(tmp_path: Path) -> None:
    options = ["--steps", "1200", "--every", "600", "--out", "curves"]
    subprocess.run([sys.executable, THIRD_PARTY / "tuned_rllib.py", *options], cwd=tmp_path, check=True)
    assert len(json.loads((tmp_path / "curves" / "RLlib-PPO.json").read_text())["curves"][0]) == 3
