"""Every door takes every argument of a ranking, and ranks by it as `diversify` does."""

from __future__ import annotations

import inspect
import json
import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from doors import CASES, PYTHON_ONLY, K, N

from srd_agents import diversify
from srd_agents.frames import FrameRanker
from srd_agents.integrations.ranking import Adapter
from srd_agents.pipeline.arguments import ARGUMENTS, KNOBS
from srd_agents.pipeline.given import Given
from srd_agents.pipeline.request import RankingRequest
from srd_train.commands.mcp import ARGUMENTS as OF_THE_TOOL
from srd_train.commands.mcp import diversify_results
from srd_train.serving.json_lines import OPTIONAL, rank_lines
from srd_train.serving.models import load_model


def by_line(case: dict[str, Any]) -> list[int]:
    """Positions in the answer of `srd rank`."""
    words = {"scores": "retrieval_scores", "texts": "doc_texts"}
    answers: list[str] = []
    line = {"query_id": 1, "doc_ids": list(range(N))} | {words.get(name, name): value for name, value in case.items()}
    rank_lines(load_model("safe"), [json.dumps({"near_duplicates": 0.9999} | line)], answers.append, K)
    ranking: list[int] = json.loads(answers[0])["ranking"]
    return ranking


def by_tool(case: dict[str, Any]) -> list[int]:
    """Positions in the answer of `srd mcp`."""
    return diversify_results({"k": K} | case)


@pytest.mark.parametrize("door", [by_line, by_tool])
@pytest.mark.parametrize("name", CASES)
def test_every_door_ranks_as_diversify(name: str, door: Any) -> None:
    pytest.importorskip("sklearn")
    case = CASES[name]
    assert door(case) == diversify(**{"k": K} | case).indices.tolist()


@pytest.mark.parametrize("name", CASES)
def test_every_argument_decides_something(name: str) -> None:
    """So that a door that overlooks one would rank otherwise."""
    if name in ("doc_vectors", "similarity", "texts", "groups", "costs", "subtopics"):
        return
    if name in ("max_per_group", "min_per_group", "budget"):  # groups and costs do not go without
        return
    case = {"k": K} | CASES[name]
    without = {each: value for each, value in case.items() if each != name}
    assert diversify(**case).indices.tolist() != diversify(**without).indices.tolist()


def test_every_door_declares_every_argument() -> None:
    assert set(inspect.signature(diversify).parameters) == set(ARGUMENTS)
    assert set(CASES) | set(PYTHON_ONLY) == set(ARGUMENTS)
    words = {"scores": "retrieval_scores", "texts": "doc_texts"}
    assert set(OPTIONAL) == {words.get(name, name) for name in CASES}
    assert set(OF_THE_TOOL) == set(CASES)
    of_topics = {"doc_texts" if name == "texts" else name for name, each in ARGUMENTS.items() if each.shape}
    assert of_topics <= set(Given._fields)
    for door in (RankingRequest, Adapter, FrameRanker):
        assert set(KNOBS) <= {each.name for each in fields(door)}
    defaults = {each.name: each.default for each in fields(RankingRequest)}
    assert {name: defaults[name] for name in (*KNOBS, "diversity")} == {
        name: inspect.signature(diversify).parameters[name].default for name in (*KNOBS, "diversity")
    }


def test_the_docstring_says_the_shape_of_every_argument() -> None:
    rows = [line.split("|")[1:-1] for line in inspect.getdoc(diversify).splitlines() if line.startswith("| ")]  # type: ignore[union-attr]
    one = {name: cell for names, cell, _ in rows for name in re.findall(r"\w+", names)}
    explained = re.findall(r"^    (\w+): ", inspect.getdoc(diversify), re.MULTILINE)  # type: ignore[arg-type]
    assert [name for name in ARGUMENTS if name not in explained] == []
    assert [(name, each.shape) for name, each in ARGUMENTS.items() if each.shape not in one.get(name, "")] == []


@pytest.mark.parametrize(("page", "names"), [("your_data.md", OPTIONAL), ("third_party/service.md", OF_THE_TOOL)])
def test_the_pages_list_every_argument_but_knobs(page: str, names: Any) -> None:
    """Knobs have one name everywhere, which the docstring of `diversify` explains."""
    text = (Path(__file__).parents[3] / "docs" / page).read_text(encoding="utf-8")
    told = {name for line in text.splitlines() if line.startswith("|") for name in re.findall(r"`(\w+)`", line)}
    assert set(names) - {*KNOBS} <= told
