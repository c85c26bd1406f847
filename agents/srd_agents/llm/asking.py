"""A language model asked: its client, the cache of its answers, and answers of no use."""

from __future__ import annotations

import hashlib
import json
import os
import re
import warnings
from collections import Counter
from collections.abc import Callable, MutableMapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Generic, Literal, NamedTuple, TypeVar

from srd_agents.llm.client import client_of
from srd_gym.checks import check_option
from srd_gym.files import PathLike, written_atomically
from srd_gym.reading import reading, shown, shown_text
from srd_gym.topic import Topic

R = TypeVar("R")
OnError = Literal["order", "raise"]
"""The ranking goes on without an answer that is of no use, or its error is raised."""
Cache = PathLike | MutableMapping[str, str]
"""A folder, which is made, or a mapping from text to text."""

SHOWN = 200
"""Characters of prompts, answers and reasons that people are shown."""
_BRACKETS = str.maketrans("[]\uff3b\uff3d【】\u3014\u3015", "()()()()")
"""Square brackets are those of passages' numbers: documents and queries have none in prompts."""


class Question(NamedTuple, Generic[R]):
    """A prompt, and how its answer is read."""

    prompt: str
    read: Callable[[object], R]
    """The value of an answer, which is text or a number.

    Raises:
        TypeError, ValueError: it is of no use.
    """
    about: str
    """Subject, for messages and for people who look into the cache."""


class Asker:
    """Asks a language model; where there is a cache, each prompt once.

    An answer is kept if it is of use, under the model's name and the whole prompt: another model or prompt is asked
    anew. Where the client raises, or its answer is of no use, nothing is kept, and the error stands for the answer.

    Args:
        llm: as `srd_agents.llm.client.client_of` takes it, and so is the next.
        model: its name.
        cache: what keeps the answers; None asks every time.
        on_error: "order" goes on without that answer, and warns of the first; "raise" raises what the client raised,
            or a ValueError that shows the answer.

    Attributes:
        counts: "prompts", "asked" (not in the cache), "failed" (the client raised), "wrong_format" (of no use).

    Raises:
        TypeError: nothing that can be asked, or a cache that is none.
        ValueError: an openai client without model, another word as on_error, or a cache for a model without a name.
    """

    def __init__(self, llm: object, model: str | None, cache: Cache | None, on_error: OnError) -> None:
        self._client = client_of(llm, model)
        check_option("on_error", on_error, ("order", "raise"))
        self._cache: Any = _Folder(Path(cache)) if isinstance(cache, str | os.PathLike) else cache
        if cache is not None and not (hasattr(self._cache, "get") and hasattr(self._cache, "__setitem__")):
            raise TypeError(f"cache must be a folder or a mapping from text to text, got {type(cache).__name__}")
        if cache is not None and self._client.name is None:
            raise ValueError(
                f"a cache keeps answers by the model's name, which {type(llm).__name__} does not tell: give model=, a "
                "name that you change whenever the model behind it changes"
            )
        self._on_error, self._warned = on_error, False
        self.counts: Counter[str] = Counter()

    def ask(self, questions: Sequence[Question[R]]) -> list[R | Exception]:
        """The values of the answers, or their errors; equal prompts are asked once, those in the cache not at all.

        Raises:
            ValueError: a damaged cache; the message names the file.
            Exception: with on_error="raise", the first of those errors.
        """
        self.counts["prompts"] += len(questions)
        once = {question.prompt: question for question in questions}
        said: dict[str, R | Exception | None] = {prompt: self._kept(each) for prompt, each in once.items()}
        missing = [prompt for prompt, value in said.items() if value is None]
        self.counts["asked"] += len(missing)
        for prompt, answer in zip(missing, self._client.many(missing), strict=True):
            value = self._read(once[prompt], answer)
            said[prompt] = value
        return [said[question.prompt] for question in questions]  # type: ignore[misc]  # none is None by now

    async def agenerate(self, question: Question[R]) -> R | Exception:
        """`ask` of one question for asynchronous code."""
        import asyncio  # here, as it is slow to import

        self.counts["prompts"] += 1
        if (value := await asyncio.to_thread(self._kept, question)) is not None:
            return value
        self.counts["asked"] += 1
        answer = await self._client.later(question.prompt)
        if isinstance(answer, Exception):  # nothing to write, and a thread would raise a time-out as another one
            return self._read(question, answer)
        return await asyncio.to_thread(self._read, question, answer)

    def _read(self, question: Question[R], answer: object) -> R | Exception:
        """The value of an answer, which is then kept; or the error in its place."""
        try:
            if isinstance(answer, Exception):
                raise answer
            value = question.read(answer)
        except Exception as error:
            self.counts["failed" if error is answer else "wrong_format"] += 1
            if self._on_error == "raise":
                error.add_note(f"while a model was asked for {question.about}")
                raise
            if not self._warned:
                self._warned = True
                warnings.warn(
                    f"{question.about}: the model gave no usable answer ({reason(error)}); later failures are only "
                    'counted (counts), and on_error="raise" raises them',
                    stacklevel=2,
                )
            return error
        if self._cache is not None:
            key = self._key(question.prompt)
            entry = {"key": key, "model": self._client.name, "about": question.about, "answer": answer}
            self._cache[key] = json.dumps(entry, default=float)  # a number of numpy
        return value

    def _key(self, prompt: str) -> str:
        return hashlib.sha256(json.dumps({"model": self._client.name, "prompt": prompt}).encode()).hexdigest()

    def _kept(self, question: Question[R]) -> R | None:
        """The value of the answer in the cache; None where there is none of this model to this prompt."""
        if self._cache is None or (text := self._cache.get(key := self._key(question.prompt))) is None:
            return None
        place = self._cache.file(key) if isinstance(self._cache, _Folder) else key
        with reading(place, "cache of answers", "an answer that was kept", "remove it, and the model is asked again"):
            entry = json.loads(text)
            whose, answer = (entry["key"], entry["model"]), entry["answer"]
        with suppress(TypeError, ValueError):
            return question.read(answer) if whose == (key, self._client.name) else None
        return None


class _Folder:
    """A cache of one small file a prompt."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def file(self, key: str) -> Path:
        return self.path / f"{key}.json"

    def get(self, key: str) -> bytes | None:
        try:
            return self.file(key).read_bytes()
        except FileNotFoundError:
            return None

    def __setitem__(self, key: str, text: str) -> None:
        with written_atomically(self.file(key)) as temporary:
            temporary.write_text(text, encoding="utf-8")


def check_prompt(name: str, prompt: str, *parts: str) -> None:
    """Refuse a prompt that lacks one of the parts to fill in."""
    for part in parts:
        if f"{{{part}}}" not in prompt:
            raise ValueError(f"{name} must hold {{{part}}}, got {shown_text(prompt, SHOWN)!r}")


def texts_of(topic: Topic, who: str) -> tuple[str, Sequence[str]]:
    """The texts of a topic's query and of its documents, for who "shows" them to the model.

    Raises:
        ValueError: it lacks one of them.
    """
    query, documents = topic.query_text or "", topic.doc_texts
    if documents is None or not query.strip():
        what = "documents' texts" if documents is None else "query text"
        raise ValueError(
            f"topic {shown(topic.query_id)} has no {what}, which {who} to the model; give doc_texts and query_text"
        )
    return query, documents


def filled(prompt: str, **parts: str) -> str:
    """The prompt with these parts; braces in the parts stay as they are."""
    return re.sub(r"\{(\w+)\}", lambda match: parts.get(match[1], match[0]), prompt)


def cut(text: str, words: int) -> str:
    """The beginning of a text of others, in single spaces and without square brackets."""
    return " ".join(text.translate(_BRACKETS).split()[:words])


def reason(error: Exception) -> str:
    """An error in one short line."""
    return shown_text(" ".join(f"{type(error).__name__}: {error}".split()), SHOWN)
