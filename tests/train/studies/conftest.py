from __future__ import annotations

import pytest
from run_srd import Srd

from studies.__main__ import TREE


@pytest.fixture
def study(capsys: pytest.CaptureFixture[str]) -> Srd:
    """Runs a study in this process."""
    return Srd(capsys, TREE)
