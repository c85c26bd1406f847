"""What learners learn stays what it was before the code was rearranged (`make guard` also compares two benchmarks)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

MAKE = Path(__file__).parent / "golden" / "before" / "make.py"


def test_every_learner_has_the_weights_it_had() -> None:
    for library in ("torch", "sb3_contrib"):
        pytest.importorskip(library, reason=f"the learners compared need {library}")
    # In a process of its own: bits depend on the number of threads, which other tests may have set.
    done = subprocess.run([sys.executable, str(MAKE), "check", "weights"], capture_output=True, text=True, check=False)
    if done.returncode and "note: stored with" in done.stdout:
        pytest.skip("the weights are of another machine or of other versions, which alone change bits:\n" + done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr
