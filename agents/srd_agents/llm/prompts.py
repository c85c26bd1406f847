"""Prompts that ask a language model for a list: the query, numbered candidates, and the form of the answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from srd_agents.llm.asking import check_prompt, cut, filled, texts_of
from srd_gym.checks import check_integer
from srd_gym.reading import with_type
from srd_gym.topic import Topic

PROMPT = """\
Passages that were found for someone who typed this into a search engine: {query}
{passages}
The query again: {query}
Choose the {k} passages that answer it and together cover as many of its meanings and sides as can be, best first. \
Answer with their numbers in square brackets, ">" between them, and nothing else."""
"""The prompt; {query}, {passages} and {k} are filled in. No example of an answer, which models would repeat."""
EMPTY = "(no text)"
_LETTERS = 12
"""Letters of a word at most, on average."""


class Tokenizer(Protocol):
    """Tokenizers in the form of `transformers`."""

    def encode(self, text: str, *, add_special_tokens: bool = True) -> list[int]:
        """Token ids of a text."""

    def decode(self, token_ids: list[int]) -> Any:
        """Text of token ids."""


@dataclass(frozen=True, kw_only=True)
class ListPrompt:
    """Form of the prompts for a list.

    A prompt holds the first candidates of a topic: as retrieved, else in the topic set's fixed shuffle. Square brackets
    in queries and documents become round ones.

    Raises:
        ValueError: a number below 1, or a template that lacks a part.
        TypeError: a tokenizer that is none.
    """

    candidates: int = 20
    """Largest number of candidates in a prompt; further ones are left out."""
    tokens: int = 64
    """Largest number of tokens of a document or query; without a tokenizer, of words."""
    tokenizer: Tokenizer | None = None
    """Tokenizer that counts."""
    template: str = PROMPT
    """Prompt in place of the module's own."""

    def __post_init__(self) -> None:
        check_integer("candidates", self.candidates, 1)
        check_integer("tokens", self.tokens, 1)
        if self.tokenizer is not None and not (hasattr(self.tokenizer, "encode") and hasattr(self.tokenizer, "decode")):
            raise TypeError(
                f"tokenizer must have encode and decode, as those of transformers, got {with_type(self.tokenizer)}"
            )
        check_prompt("template", self.template, "query", "passages")

    def count(self, topic: Topic) -> int:
        """Number of candidates in the topic's prompt."""
        return min(self.candidates, topic.n_candidates)

    def text(self, topic: Topic, k: int) -> str:
        """The prompt for a list of k, of fewer where it holds fewer candidates.

        Raises:
            ValueError: a topic without the text of its query or of its documents.
        """
        query, texts = texts_of(topic, "prompts show")
        count = self.count(topic)
        passages = "\n".join(f"[{number}]: {self._cut(text)}" for number, text in enumerate(texts[:count], start=1))
        return filled(self.template, query=self._cut(query), passages=passages, k=str(min(k, count)))

    def _cut(self, text: str) -> str:
        """The beginning of a text."""
        text = cut(text, self.tokens)  # no tokenizer makes fewer tokens than words
        if self.tokenizer is None:
            return text[: _LETTERS * self.tokens] or EMPTY  # scripts without spaces
        tokens = self.tokenizer.encode(text, add_special_tokens=False)[: self.tokens]
        return str(self.tokenizer.decode(tokens)).strip() or EMPTY
