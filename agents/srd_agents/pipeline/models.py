"""Prompts to the language models that users have, told apart by their methods; no library is imported unasked.

Retries, time limits and rates are those of the client.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, NamedTuple

TAKEN = (
    "a LangChain chat model, a Haystack chat generator, a LlamaIndex LLM, a client with the interface of openai's "
    "(chat.completions.create) and model=, or a function that answers a prompt (text) with text"
)
"""The models that can be asked."""


class Asked(NamedTuple):
    """One model, ready to be asked."""

    name: str
    """Name that tells it from other models in a cache."""
    one: Callable[[str], Any]
    """The answer to a prompt."""
    later: Callable[[str], Awaitable[Any]]
    """The same for asynchronous code; in a thread where the library has nothing of its own."""
    many: Callable[[list[str]], Iterable[Any]]
    """The answers to several prompts, side by side where the library does that, else one by one as they are taken."""


def asked(llm: Any, model: str | None = None) -> Asked:
    """The model behind one interface.

    Args:
        llm: one of `TAKEN`.
        model: the name of the model that an openai client asks; of others what to call it in a cache.

    Raises:
        TypeError: nothing that can be asked.
        ValueError: an openai client without a model's name.
    """
    completions = getattr(getattr(llm, "chat", None), "completions", None)
    if callable(create := getattr(completions, "create", None)):
        if model is None:
            raise ValueError(f"{type(llm).__name__} asks one of many models: give model=, its name")
        return _asked(
            model,
            lambda prompt: create(model=model, messages=[{"role": "user", "content": prompt}]),
            text_of=lambda answer: answer.choices[0].message.content,
        )
    name = model or _name_of(llm)
    if callable(getattr(llm, "invoke", None)) and callable(getattr(llm, "batch", None)):
        return _asked(name, llm.invoke, getattr(llm, "ainvoke", None), _of_content, llm.batch)
    if callable(getattr(llm, "complete", None)) and callable(getattr(llm, "acomplete", None)):
        return _asked(name, llm.complete, llm.acomplete, lambda answer: answer.text)
    if callable(run := getattr(llm, "run", None)) and "messages" in inspect.signature(run).parameters:
        return _haystack(llm, name)
    if callable(llm) and not isinstance(llm, type):
        return _asked(name, llm)
    raise TypeError(f"llm must be {TAKEN}; got {type(llm).__name__}")


def _name_of(llm: Any) -> str:
    """The model's own name, else that of its class or function."""
    about = getattr(llm, "metadata", None)
    for holder, attribute in ((llm, "model_name"), (llm, "model"), (about, "model_name")):
        if isinstance(name := getattr(holder, attribute, None), str):
            return name
    return str(getattr(llm, "__qualname__", type(llm).__qualname__))


def _asked(
    name: str,
    ask: Callable[[str], Any],
    later: Callable[[str], Awaitable[Any]] | None = None,
    text_of: Callable[[Any], Any] = lambda answer: answer,
    batch: Callable[[list[str]], Iterable[Any]] | None = None,
) -> Asked:
    """A model, from what asks it (which may be asynchronous) and what takes the text out of its answers."""

    def one(prompt: str) -> Any:
        answer = ask(prompt)
        if inspect.isawaitable(answer):
            if inspect.iscoroutine(answer):
                answer.close()
            raise TypeError(
                f"{name} answers later (it is asynchronous): await Namer.later, or give a client that waits"
            )
        return text_of(answer)

    async def awaited(prompt: str) -> Any:
        import asyncio  # here, as it is slow to import

        answer = await (later(prompt) if later is not None else asyncio.to_thread(ask, prompt))
        return text_of(await answer if inspect.isawaitable(answer) else answer)

    return Asked(name, one, awaited, lambda prompts: map(text_of, batch(prompts)) if batch else map(one, prompts))


def _of_content(answer: Any) -> Any:
    """The text of LangChain's chat models, or of a chain that ends with one."""
    content = getattr(answer, "content", answer)
    if not isinstance(content, list):
        return content
    return "".join(part if isinstance(part, str) else part.get("text") or "" for part in content)


def _haystack(llm: Any, name: str) -> Asked:
    def messages(prompt: str) -> list[Any]:
        from haystack.dataclasses import ChatMessage

        return [ChatMessage.from_user(prompt)]

    def ask(prompt: str) -> Any:
        if hasattr(llm, "warm_up"):
            llm.warm_up()
        return llm.run(messages=messages(prompt))

    async def later(prompt: str) -> Any:
        import asyncio

        if hasattr(llm, "warm_up_async"):
            await llm.warm_up_async()
        elif hasattr(llm, "warm_up"):
            await asyncio.to_thread(llm.warm_up)
        return await llm.run_async(messages=messages(prompt))

    return _asked(
        name,
        ask,
        later if hasattr(llm, "run_async") else None,
        lambda answer: answer["replies"][0].text if answer["replies"] else None,
    )
