"""Prompts to the language models that users have, told apart by their methods; no library is imported unasked.

Retries, time limits and rates are those of the client.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple

TAKEN = (
    "a LangChain chat model, a Haystack chat generator, a LlamaIndex LLM, a client with the interface of openai's "
    "(chat.completions.create) and model=, a function that answers a prompt (text) with text, or the path of a model "
    "for transformers"
)
"""The models that can be asked."""


class Client(NamedTuple):
    """One model, ready to be asked. An answer is text or a number, or the error that the model raised in its place."""

    name: str | None
    """Name that tells it from other models in a cache; None where it has none."""
    many: Callable[[list[str]], Iterable[object]]
    """The answers to prompts, side by side where the library does that, else one by one as they are taken."""
    later: Callable[[str], Awaitable[object]]
    """The answer to a prompt for asynchronous code; in a thread where the library has nothing of its own."""


def client_of(llm: Any, model: str | None = None) -> Client:
    """The model behind one interface.

    Args:
        llm: one of `TAKEN`.
        model: the name of the model that an openai client asks; of others what to call it in a cache.

    Raises:
        TypeError: nothing that can be asked.
        ValueError: an openai client without a model's name.
    """
    if isinstance(llm, str | os.PathLike):
        from srd_agents.llm.local import LocalModel

        llm = LocalModel(llm)
    completions = getattr(getattr(llm, "chat", None), "completions", None)
    if callable(create := getattr(completions, "create", None)):
        if model is None:
            raise ValueError(f"{type(llm).__name__} asks one of many models: give model=, its name")
        return _client(
            model,
            lambda prompt: create(model=model, messages=[{"role": "user", "content": prompt}]),
            text_of=lambda answer: answer.choices[0].message.content,
        )
    name = model or _name_of(llm)
    if callable(getattr(llm, "invoke", None)) and callable(batch := getattr(llm, "batch", None)):
        side_by_side = partial(batch, return_exceptions=True)
        return _client(name, llm.invoke, getattr(llm, "ainvoke", None), _of_content, side_by_side)
    if callable(getattr(llm, "complete", None)) and callable(getattr(llm, "acomplete", None)):
        return _client(name, llm.complete, llm.acomplete, lambda answer: answer.text)
    if callable(run := getattr(llm, "run", None)) and "messages" in inspect.signature(run).parameters:
        return _haystack(llm, name)
    if callable(llm) and not isinstance(llm, type):
        return _client(name, llm)
    raise TypeError(f"llm must be {TAKEN}; got {type(llm).__name__}")


def _name_of(llm: object) -> str | None:
    """The model's own name. A function or a chain has none: two of them, or one that was changed, look alike."""
    about = getattr(llm, "metadata", None)
    for holder, attribute in ((llm, "model_name"), (llm, "model"), (llm, "model_id"), (about, "model_name")):
        if isinstance(name := getattr(holder, attribute, None), str) and name not in ("", "unknown"):
            return name
    return None


def _client(
    name: str | None,
    ask: Callable[[str], object],
    later: Callable[[str], Awaitable[object]] | None = None,
    text_of: Callable[[Any], object] = lambda answer: answer,
    batch: Callable[[list[str]], Iterable[object]] | None = None,
) -> Client:
    """A model, from what asks it (which may be asynchronous) and what takes the text out of its answers."""

    def plain(answer: object) -> object:
        return answer if isinstance(answer, Exception) else _tried(text_of, answer)

    def one(prompt: str) -> object:
        answer = _tried(ask, prompt)
        if inspect.isawaitable(answer):
            if inspect.iscoroutine(answer):
                answer.close()
            raise TypeError(
                "a client that answers later (it is asynchronous): await Namer.agenerate, or give one that waits"
            )
        return plain(answer)

    def many(prompts: list[str]) -> Iterable[object]:
        if batch is not None and len(prompts) > 1:
            with suppress(Exception):  # where it fails, they are asked one by one
                return map(plain, batch(prompts))
        return map(one, prompts)

    async def awaited(prompt: str) -> object:
        import asyncio  # here, as it is slow to import

        try:
            answer = await (later(prompt) if later is not None else asyncio.to_thread(ask, prompt))
            return plain(await answer if inspect.isawaitable(answer) else answer)
        except Exception as error:
            return error

    return Client(name, many, awaited)


def _tried(call: Callable[[Any], object], value: object) -> object:
    """The result of a call, or the error that it raises."""
    try:
        return call(value)
    except Exception as error:
        return error


def _of_content(answer: object) -> object:
    """The text of LangChain's chat models, or of a chain that ends with one."""
    content = getattr(answer, "content", answer)
    if not isinstance(content, list):
        return content
    return "".join(part if isinstance(part, str) else part.get("text") or "" for part in content)


def _haystack(llm: Any, name: str | None) -> Client:
    def messages(prompt: str) -> list[Any]:
        from haystack.dataclasses import ChatMessage

        return [ChatMessage.from_user(prompt)]

    def ask(prompt: str) -> object:
        if hasattr(llm, "warm_up"):
            llm.warm_up()
        return llm.run(messages=messages(prompt))

    async def later(prompt: str) -> object:
        import asyncio

        if hasattr(llm, "warm_up_async"):
            await llm.warm_up_async()
        elif hasattr(llm, "warm_up"):
            await asyncio.to_thread(llm.warm_up)
        return await llm.run_async(messages=messages(prompt))

    return _client(
        name,
        ask,
        later if hasattr(llm, "run_async") else None,
        lambda answer: answer["replies"][0].text if answer["replies"] else None,
    )
