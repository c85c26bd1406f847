"""The page's table of arguments, held against the adapters."""

from __future__ import annotations

import inspect
import re
from typing import Any

import pytest
from markdown_code import THIRD_PARTY

from srd_agents.integrations.haystack import DiverseRanker
from srd_agents.integrations.langchain import DiverseCompressor
from srd_agents.integrations.llama_index import DiversePostprocessor
from srd_agents.integrations.pyterrier import DiverseReranker
from srd_agents.integrations.sklearn import DiverseNeighbors

PAGE = (THIRD_PARTY / "retrieval.md").read_text(encoding="utf-8")
TABLE = [line.split("|")[2:-1] for line in PAGE.splitlines() if line.startswith("| ")]


@pytest.mark.parametrize(("column", "arguments"), [
    (0, DiverseCompressor.model_fields),
    (1, inspect.signature(DiverseRanker.__init__).parameters),
    (2, set(DiversePostprocessor.model_fields) - {"callback_manager"}),
    (3, inspect.signature(DiverseReranker.__init__).parameters),
    (4, inspect.signature(DiverseNeighbors.__init__).parameters),
])  # fmt: skip
def test_the_table_names_every_argument(column: int, arguments: Any) -> None:
    named = {word for row in TABLE for word in re.findall(r"`([A-Za-z_]+)`", row[column])}
    assert set(arguments) - {"self"} <= named
