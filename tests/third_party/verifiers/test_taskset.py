"""verifiers' own task set, scored by verifiers."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
import verifiers.v1 as vf
from markdown_code import ROOT, code_below
from verifiers.v1.trace import AgentInfo, TraceTask

from srd_agents.integrations.verifiers import CoverageConfig, CoverageTask, CoverageTaskset
from srd_agents.llm.prompts import ListPrompt
from srd_agents.llm.rewards import CoverageReward

REWARD = CoverageReward("words", "ERR_IA@3", prompt=ListPrompt(candidates=10, tokens=12))
CONFIG = CoverageConfig(measure="ERR_IA@3", candidates=10, tokens=12)


def scored(task: CoverageTask, reply: str) -> dict[str, float]:
    """The rewards that verifiers records for a reply."""
    trace = vf.Trace(
        task=TraceTask(type=type(task).__name__, data=task.data),
        agent=AgentInfo(config=vf.AgentConfig(model="none")),
        root_reply=reply,
    )
    asyncio.run(task.score(trace))
    return {name: reward.value for name, reward in trace.rewards.items() if reward is not None}


def test_tasks_are_topics_and_replies_are_worth_the_measure() -> None:
    tasks = list(CoverageTaskset(CONFIG))
    assert [task.data.query_id for task in tasks] == list(REWARD.topics.query_ids)
    for task in tasks[:10]:
        query = task.data.query_id
        assert task.data.prompt == REWARD.ask(query)
        for reply in ("[3] > [8] > [1]", "<think>[1] > [2]</think>8, 3", "[11] > [3]", "I would take 3", ""):
            assert scored(task, reply) == {"coverage": REWARD.score(query, reply)}


def test_views_of_verifiers_select_topics() -> None:
    (task,) = CoverageTaskset(CONFIG).include(names=["jaguar"])
    assert task.data.query_id == "jaguar"
    assert scored(task, "[3] > [8] > [1]")["coverage"] > 0.1
    assert len(list(CoverageTaskset(CONFIG).shuffle(seed=1).take(5))) == 5


def test_a_task_is_scored_in_another_process() -> None:
    task = next(iter(CoverageTaskset(CONFIG)))
    sent = type(task.data).model_validate_json(task.data.model_dump_json())
    assert scored(CoverageTask(sent), "[3] > [8]") == scored(task, "[3] > [8]")
    assert "judgments" not in task.data.model_dump_json()


def test_options_are_checked_when_tasks_are_made() -> None:
    with pytest.raises(ValueError, match="a measure with a cutoff"):
        list(CoverageTaskset(CoverageConfig(measure="alpha_nDCG")))
    with pytest.raises(ValueError, match="candidates must be at least 1"):
        list(CoverageTaskset(CoverageConfig(candidates=0)))


def test_the_code_of_the_page_makes_tasks() -> None:
    names: dict[str, Any] = {}
    exec(compile(code_below(ROOT / "docs" / "language_models.md", "verifiers"), "page", "exec"), names)
    assert len(list(names["tasks"])) == 40
