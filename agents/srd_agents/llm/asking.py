"""Shared parts of rankers that ask a language model: the client, the cache of answers, and counts of what was wrong."""

from __future__ import annotations

import hashlib
import json
import os
import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

from srd_agents.llm.config import LanguageModelConfig
from srd_agents.pipeline.models import TAKEN, asked
from srd_agents.pipeline.naming import _Folder
from srd_gym.checks import check_integer
from srd_gym.dtypes import IntArray
from srd_gym.reading import shown, shown_text
from srd_gym.topic import Topic

C = TypeVar("C", bound=LanguageModelConfig)

SHOWN = 200
"""Characters of prompts and answers that errors show."""
_FILLED = re.compile(r"\{(\w+)\}")
_FENCE = re.compile(r"^```\w*\n(.*?)\n?```$", re.S)


class LanguageModelRanker(ABC, Generic[C]):
    """A ranker that asks a language model, by texts alone.

    Topics need the query's text and the documents' texts. Prompts that do not depend on each other are asked together.
    Answers are read strictly: what is wrong with them is repaired and counted, never guessed. What the client raises is
    passed on, with a note that names the topics.

    Args:
        config: the client, and how it is asked.

    Attributes:
        counts: of all rankings so far, by what happened: "prompts", "asked" (not in the cache), "ok", and the flaws.

    Raises:
        ValueError: no client, an openai client without a model's name, or a prompt that lacks a part.
        TypeError: a client or a cache that is none.
    """

    name: ClassVar[str]
    parts: ClassVar[tuple[str, ...]]
    """Fields that a prompt must hold, in braces."""

    def __init__(self, config: C) -> None:
        self.config = config
        if config.llm is None:
            raise ValueError(
                f'ranker {self.name!r} asks a language model: give the client, make_ranker("{self.name}", '
                f"llm=client): {TAKEN}. Commands and recipes take a class of yours that gives it, "
                '"module:Class" with --trust'
            )
        lacking = [part for part in self.parts if f"{{{part}}}" not in self.prompt]
        if lacking:
            raise ValueError(f"prompt must hold {{{lacking[0]}}}, got {shown_text(self.prompt, SHOWN)!r}")
        self._model = asked(config.llm, config.model)
        cache = config.cache
        self._cache: Any = _Folder(Path(cache)) if isinstance(cache, str | os.PathLike) else cache
        if cache is not None and not (hasattr(self._cache, "get") and hasattr(self._cache, "__setitem__")):
            raise TypeError(f"cache must be a folder or a mapping from text to text, got {type(cache).__name__}")
        self.counts: Counter[str] = Counter()

    @property
    @abstractmethod
    def prompt(self) -> str:
        """The prompt, with parts in braces."""

    @abstractmethod
    def _rank_batch(self, topics: Sequence[Topic], k: int) -> list[IntArray]:
        """`rank_batch` for topics that have texts."""

    def rank(self, topic: Topic, k: int) -> IntArray:
        """The first k documents: [min(k, N)] int64."""
        return self.rank_batch([topic], k)[0]

    def rank_batch(self, topics: Sequence[Topic], k: int) -> list[IntArray]:
        """`rank` of every topic; prompts of all topics are asked together.

        Raises:
            ValueError: a topic without the text of its query or of its documents.
        """
        check_integer("k", k, 1)
        for topic in topics:
            self._check_texts(topic)
        try:
            return self._rank_batch(topics, k)
        except Exception as error:
            error.add_note(f"while topics {', '.join(topic.query_id for topic in topics[:3])} were ranked by a model")
            raise

    def _check_texts(self, topic: Topic) -> None:
        """Refuse a topic that no prompt can be made of."""
        if topic.doc_texts is None or not (topic.query_text or "").strip():
            what = "documents' texts" if topic.doc_texts is None else "query text"
            raise ValueError(
                f"topic {shown(topic.query_id)} has no {what}, which ranker {self.name!r} shows to the model; give "
                "doc_texts and query_text"
            )

    def filled(self, **parts: str) -> str:
        """The prompt with these parts; braces in the parts stay as they are."""
        return _FILLED.sub(lambda match: parts.get(match[1], match[0]), self.prompt)

    def cut(self, text: str) -> str:
        """The beginning of a document, in single spaces."""
        return " ".join(text.split()[: self.config.words])

    def ask(self, prompts: Sequence[str]) -> list[Any]:
        """The model's answers, equal prompts asked once, those in the cache not at all."""
        self.counts["prompts"] += len(prompts)
        answers: dict[str, Any] = {prompt: self._kept(prompt) for prompt in prompts}
        missing = [prompt for prompt, answer in answers.items() if answer is None]
        self.counts["asked"] += len(missing)
        given = self._model.many(missing) if len(missing) > 1 else map(self._model.one, missing)
        for prompt, answer in zip(missing, given, strict=True):
            answers[prompt] = answer
            if self._cache is not None:
                self._cache[self._key(prompt)] = json.dumps({"model": self._model.name, "answer": answer})
        return [answers[prompt] for prompt in prompts]

    def _key(self, prompt: str) -> str:
        return hashlib.sha256(json.dumps([self._model.name, prompt]).encode()).hexdigest()

    def _kept(self, prompt: str) -> Any:
        """The answer in the cache, or None."""
        text = None if self._cache is None else self._cache.get(self._key(prompt))
        if text is None:
            return None
        try:
            content = json.loads(text)
        except ValueError:
            content = None
        if not isinstance(content, Mapping) or "answer" not in content:
            raise ValueError(f"the cache holds no answer at {self._key(prompt)!r}: {shown(text)}; remove that")
        return content["answer"]


def said(answer: Any) -> str:
    """Answer of a model, without its reasoning and without a code fence around it.

    Raises:
        TypeError: no text.
    """
    if not isinstance(answer, str):
        raise TypeError(f"a model must answer with text, got {shown(answer)} ({type(answer).__name__})")
    text = answer.rpartition("</think>")[2].strip()
    fenced = _FENCE.match(text)
    return fenced[1].strip() if fenced else text
