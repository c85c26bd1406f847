"""`srd mcp`: a tool for assistants, over the Model Context Protocol on standard input and output."""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
import sys
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any

from srd_agents import diversify
from srd_agents.pipeline.arguments import ARGUMENTS as SHARED
from srd_agents.pipeline.subtopics import texts_of
from srd_agents.pipeline.words import checked_texts
from srd_gym.checks import check_option
from srd_gym.installing import how_to_install
from srd_gym.interrupts import STOPS
from srd_gym.reading import json_value
from srd_train.commands.console import Output

TOOL = "diversify_results"
_ABOUT = """Re-rank search results so that the first ones are relevant and differ from one another.

Call it with what a search returned: `texts` (or `doc_vectors`), and the search's `scores`. Name `subtopics`, what the
query may mean or ask about: that helps most. Without subtopics and diversity, results with scores keep their order, and
near-duplicates come last."""


ARGUMENTS: dict[str, dict[str, Any]] = {
    name: {"description": each.about, **each.schema} for name, each in SHARED.items() if each.schema
}
"""Those of `diversify` that JSON can hold."""
_FIRST = {"texts": ["a text", "another one"], "subtopics": ["a sense"]}
"""A call that imports and makes ready what others need."""
_INDICES = {
    "type": "array",
    "items": {"type": "integer"},
    "description": "Positions of the chosen results, from 0, best first.",
}


def diversify_results(arguments: Mapping[str, Any]) -> list[int]:
    """Positions of the chosen results, best first.

    Args:
        arguments: some of `ARGUMENTS`; null is as if it were left out, and a list may be JSON text.

    Raises:
        ImportError, TypeError, ValueError: scikit-learn lacks, or what `srd_agents.diversify` refuses.
    """
    given = {name: value for name, value in arguments.items() if value is not None}
    for name, value in given.items():
        check_option(f"argument of {TOOL}:", name, ARGUMENTS)
        if "array" in ARGUMENTS[name]["type"] and isinstance(value, str):  # as some assistants write a list
            with contextlib.suppress(ValueError, RecursionError):
                given[name] = json_value(value)
    vectors = given.get("doc_vectors", given.get("similarity"))
    if "texts" not in given and vectors is None:
        raise ValueError(f"{TOOL} needs the results: give texts or doc_vectors, one a result")
    checked_texts(given.get("texts", ()))
    if not (given.get("texts") or vectors):
        return []
    if vectors is not None and "subtopic_scores" not in given and texts_of(given.get("subtopics")):
        raise ValueError(
            "beside doc_vectors, subtopics must be embeddings of the same model, or rated: subtopic_scores"
        )
    found = diversify(**given, strict=True)
    if found.indices.ndim > 1:
        raise ValueError("doc_vectors must be embeddings, one a result of one query: [[0.1, 0.2], [0.3, 0.4]]")
    return [int(place) for place in found.indices]


@dataclass(frozen=True, kw_only=True)
class Mcp:
    """Serve the tool diversify_results to an assistant, over the Model Context Protocol on standard input and output.

    Examples:
      srd mcp        (name this command in the assistant's settings)
    """

    def execute(self, output: Output) -> int:
        """Serve until standard input ends.

        Raises:
            ImportError: the package mcp is not installed.
        """
        try:
            import mcp.server.stdio  # noqa: F401 - whether it is there
        except ImportError as error:
            raise ImportError(f"srd mcp needs the package mcp: {how_to_install('mcp')}") from error
        for number in STOPS:  # a thread waits for a line, and nothing is half written
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, signal.SIG_DFL)
        asyncio.run(_serve())
        return 0


async def _lines() -> AsyncIterator[str]:
    """The lines of standard input, "?" for halves of characters: the protocol's library would not answer them."""
    while line := await asyncio.to_thread(sys.stdin.buffer.readline):
        if b"\\ud" in line.lower():
            with contextlib.suppress(ValueError, RecursionError):
                line = json.dumps(json.loads(line), ensure_ascii=False).encode(errors="replace")
        yield line.decode(errors="replace")


async def _serve() -> None:
    """Answer until standard input ends; a call is worked on in a thread, so that others are heard meanwhile."""
    from mcp import types
    from mcp.server.lowlevel import Server
    from mcp.server.stdio import stdio_server

    schema = {"type": "object", "properties": ARGUMENTS, "additionalProperties": False}
    result = {"type": "object", "properties": {"indices": _INDICES}, "required": ["indices"]}
    tool = types.Tool(name=TOOL, description=_ABOUT, input_schema=schema, output_schema=result)

    async def listed(*_: object) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[tool])

    async def called(_: object, call: types.CallToolRequestParams) -> types.CallToolResult:
        try:
            check_option("tool", call.name, [TOOL])
            found = {"indices": await asyncio.to_thread(diversify_results, call.arguments or {})}
        except (ImportError, TypeError, ValueError) as error:
            return types.CallToolResult(content=[types.TextContent(text=str(error))], is_error=True)
        return types.CallToolResult(content=[types.TextContent(text=str(found["indices"]))], structured_content=found)

    server = Server("srd", on_list_tools=listed, on_call_tool=called)
    async with stdio_server(_lines()) as (incoming, outgoing):
        asyncio.get_running_loop().run_in_executor(None, diversify_results, _FIRST)
        await server.run(incoming, outgoing, server.create_initialization_options())
