"""`srd mcp`, asked by the client of the protocol's own SDK over standard input and output."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import numpy as np
import pytest
from mcp import ClientSession, StdioServerParameters, stdio_client
from mcp.types import CallToolResult

from srd_agents import diversify
from srd_train.commands.mcp import ARGUMENTS, TOOL, diversify_results

T = TypeVar("T")
WORDS = [sys.executable, "-c", "import sys; from srd_train.__main__ import main; sys.exit(main())", "mcp"]
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
TEXTS = [
    "Jaguar, the big cat of the rain forest",
    "Jaguar, the big cat of the rain forest!",
    "The jaguar, a big cat, swims",
    "Used Jaguar cars and their prices",
    "Mac OS X Jaguar, the operating system",
]
SCORES = [5, 4, 3, 2, 1]
VECTORS = np.random.default_rng(0).normal(size=(5, 8)).round(3).tolist()


def asked(work: Callable[[ClientSession], Awaitable[T]]) -> T:
    """What a client comes to that talks to a server of its own; nothing may take a minute."""

    async def session() -> T:
        server = StdioServerParameters(command=WORDS[0], args=WORDS[1:], env=ENVIRONMENT)
        async with stdio_client(server) as streams, ClientSession(*streams) as client:
            await client.initialize()
            return await work(client)

    return asyncio.run(asyncio.wait_for(session(), 60))


def call(*arguments: dict[str, Any]) -> list[CallToolResult]:
    async def work(client: ClientSession) -> list[CallToolResult]:
        return [await client.call_tool(TOOL, each) for each in arguments]

    return asked(work)


def test_the_one_tool_says_what_it_takes() -> None:
    async def work(client: ClientSession) -> Any:
        return await client.list_tools()

    (tool,) = asked(work).tools
    assert tool.name == TOOL
    assert tool.input_schema["properties"] == ARGUMENTS
    assert not tool.input_schema["additionalProperties"]


def test_lists_may_be_json_text() -> None:
    senses = {"cars": 1, "operating system": 9}
    asked: dict[str, Any] = {"texts": TEXTS, "query_text": "jaguar", "scores": SCORES, "subtopics": senses, "k": 3}
    ratings = [[1, None], [1, 0], [0, 1], [None, 1], [0, 0]]
    rated: dict[str, Any] = {"doc_vectors": VECTORS, "query_vector": VECTORS[0], "subtopic_scores": ratings}
    rated |= {"groups": ["a", "a", "b", "b", "c"], "max_per_group": 1, "already_shown": [2]}
    for arguments in (asked, rated):
        as_text = {
            name: json.dumps(value) if isinstance(value, list | dict) else value for name, value in arguments.items()
        }
        assert diversify_results(as_text) == diversify_results(arguments)
    assert diversify_results(asked)[0] == 4, "the sense that weighs most comes first"


BAD: list[tuple[dict[str, Any], str]] = [
    ({}, "give texts or doc_vectors"),
    ({"text": TEXTS}, "Did you mean texts"),
    ({"texts": "jaguar"}, "must be a list of texts"),
    ({"texts": '["a", "b'}, "must be a list of texts"),
    ({"texts": [["a cat"], ["a dog"]]}, "texts must be text, got ['a cat'] (list) at position 0"),
    ({"texts": TEXTS, "query_vector": [1]}, "belongs to doc_vectors"),
    ({"texts": TEXTS, "query_text": 7}, "query_text must be text"),
    ({"texts": TEXTS, "scores": [1, float("nan"), 3, 4, 5]}, "must hold numbers"),  # the client writes null for NaN
    ({"texts": TEXTS, "subtopics": "cars"}, "got one text"),
    ({"texts": TEXTS, "already_shown": [9]}, "names document 9"),
    ({"texts": TEXTS, "k": "three"}, "k must be a whole number"),
    ({"doc_vectors": [[1, 0], [1]]}, "rows of one length, got 2 numbers in row 0 and 1 in row 1"),
    ({"doc_vectors": "AAAA"}, "doc_vectors must be [N, F]"),
    ({"doc_vectors": [VECTORS]}, "must be embeddings, one a result of one query"),
    ({"doc_vectors": [[1e39, 1]]}, "float32 cannot represent"),
]


def test_bad_arguments_are_told_plainly_and_the_next_call_is_answered() -> None:
    *found, last = call(*(arguments for arguments, _ in BAD), {"texts": TEXTS, "scores": SCORES, "k": 2})
    for answer, (arguments, said) in zip(found, BAD, strict=True):
        (content,) = answer.content
        assert answer.is_error, arguments
        assert said in content.text, arguments  # type: ignore[union-attr]
        assert "topic '0'" not in content.text  # type: ignore[union-attr]
        assert "got np." not in content.text  # type: ignore[union-attr]
    assert last.structured_content == {"indices": [0, 2]}


def test_another_tool_is_refused() -> None:
    async def work(client: ClientSession) -> CallToolResult:
        return await client.call_tool("diversify_result", {})

    found = asked(work)
    assert found.is_error
    assert f"Did you mean {TOOL}" in found.content[0].text  # type: ignore[union-attr]


def test_calls_of_one_client_may_overlap() -> None:
    many = [{"doc_vectors": np.random.default_rng(seed).normal(size=(50, 16)).tolist(), "k": 5} for seed in range(64)]

    async def work(client: ClientSession) -> list[CallToolResult]:
        return await asyncio.gather(*(client.call_tool(TOOL, each) for each in many))

    expected = [diversify(None, each["doc_vectors"], 5).indices.tolist() for each in many]
    assert [found.structured_content["indices"] for found in asked(work)] == expected


def started() -> subprocess.Popen[str]:
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(WORDS, env=ENVIRONMENT, text=True, **pipes)


def initialize() -> str:
    about = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": about}) + "\n"


def test_lines_that_are_no_messages_hang_nothing_and_its_end_ends_it() -> None:
    tool = {"name": TOOL, "arguments": {"texts": TEXTS, "scores": [5, 4, 3, 2, 1]}}
    with_nan = json.dumps({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": tool}).replace("[5,", "[NaN,")
    ready = json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}) + "\n"
    last = json.dumps({"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": tool})
    with started() as process:
        assert process.stdin
        assert process.stdout
        process.stdin.write(initialize() + ready + "no JSON\n{}\n[\n" + with_nan + "\n" + last + "\n")
        process.stdin.flush()
        answers: dict[int, Any] = {}
        while 3 not in answers:
            line = process.stdout.readline()
            assert line, "the server ended"
            answer = json.loads(line)
            answers[answer.get("id")] = answer
        assert answers[3]["result"]["structuredContent"]["indices"][0] == 0
        assert "result" not in answers.get(2, {}) or answers[2]["result"]["isError"], "NaN is no score"
        process.stdin.write(last[:60])  # a client that goes away in the middle of a message
        process.stdin.close()
        assert process.wait(20) == 0


HALVES = [
    r'{"texts": ["a \ud83d cat", "a dog", "a car \ude00"], "scores": [3, 2, 1]}',
    r'{"texts": ["a cat", "a dog"], "query_text": "\uD83D"}',
    r'{"te\ud83dxts": ["a cat", "a dog"]}',
    r'{"doc_vectors": [[1, 0], [0, 1]], "relevance": "\ud83d"}',
    r'{"texts": ["a whole \ud83d\ude00", "a dog"], "scores": [1, 2]}',
]
"""Arguments with halves of characters, as of a text that was cut, and one with a whole one."""


def test_halves_of_characters_are_answered() -> None:
    with started() as process:
        assert process.stdin
        assert process.stdout
        process.stdin.write(initialize() + json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}) + "\n")
        for number, arguments in enumerate(HALVES, start=2):
            params = f'{{"name": "{TOOL}", "arguments": {arguments}}}'
            process.stdin.write(f'{{"jsonrpc": "2.0", "id": {number}, "method": "tools/call", "params": {params}}}\n')
        process.stdin.flush()
        told = [json.loads(process.stdout.readline()) for _ in range(len(HALVES) + 1)]
        answers = {answer["id"]: answer["result"] for answer in told}
        assert [answers[number]["isError"] for number in range(2, 7)] == [False, False, True, True, False]
        assert answers[6]["structuredContent"] == {"indices": [1, 0]}
        assert "Did you mean texts" in answers[4]["content"][0]["text"]
        process.stdin.close()
        assert process.wait(20) == 0


def test_what_calls_import_is_imported_before_the_first() -> None:
    code = "import sys; from srd_train.__main__ import main; main(); print('sklearn' in sys.modules, file=sys.stderr)"
    run = [sys.executable, "-c", code, "mcp"]
    done = subprocess.run(run, env=ENVIRONMENT, input="", capture_output=True, text=True, timeout=60, check=True)
    assert (done.stdout, done.stderr) == ("", "True\n")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_it_at_once(number: signal.Signals) -> None:
    with started() as process:
        assert process.stdin
        assert process.stdout
        process.stdin.write(initialize())
        process.stdin.flush()
        assert process.stdout.readline()
        process.send_signal(number)
        assert process.wait(20) == -number
