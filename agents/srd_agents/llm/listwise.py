"""A language model that orders windows of the list, from the tail to the head."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from srd_agents.llm.asking import LanguageModelRanker, said
from srd_agents.llm.config import ListwiseConfig
from srd_gym.dtypes import IntArray
from srd_gym.topic import Topic

PROMPT = """\
Rank {count} passages for someone who typed this into a search engine: {query}
{passages}
The query again: {query}
{aim} Answer with the numbers of all {count} passages, best first, as in [2] > [1], and nothing else."""
"""The prompt; {query}, {count}, {passages} and {aim} are filled in."""
AIMS = {
    "relevance": "The passages that answer it best come first.",
    "diversity": "The first passages should answer it and cover as many of its meanings and sides as can be.",
}
"""Aim of the prompt."""

_NUMBERS = re.compile(r"\[?\s*\d{1,6}\s*\]?(?:(?:\s*[>,]\s*|\s+)\[?\s*\d{1,6}\s*\]?)*\.?")
_CHAIN = re.compile(r"\[\d{1,6}\](?:\s*[>,]?\s*\[\d{1,6}\])+")


class Listwise(LanguageModelRanker[ListwiseConfig]):
    """RankGPT (Sun et al., EMNLP 2023): the model permutes a window that slides from the list's tail to its head.

    With windows of w documents and steps of s, window i holds ranks max(0, N - w - i s) to N - i s. The model's answer
    replaces these ranks, and the next window begins with the best of them: about (N - w) / s + 1 prompts per topic and
    pass. Candidates stand as retrieved at first, else in the topic set's fixed shuffle; one that the model leaves out
    keeps its place behind those that it names.

    `counts` has, beside what all share: "wrong_format" (more than a list of numbers), "repeated", "outside" (no such
    passage) and "missing" numbers.

    Differs from the paper: one message in place of a conversation; the window never leaves the list, as in rank_llm
    (the paper's code asks nothing for fewer than w documents and passes over the first ones of others); numbers in
    prose are no ranking; the prompt asks for diversity unless `aim` says otherwise.

    Args:
        config: the client, the window, and the aim.
    """

    name = "llm-listwise"
    parts = ("query", "passages")

    def __init__(self, config: ListwiseConfig | None = None) -> None:
        super().__init__(config or ListwiseConfig())

    @property
    def prompt(self) -> str:
        """The prompt, with parts in braces."""
        return self.config.prompt or PROMPT

    def _rank_batch(self, topics: Sequence[Topic], k: int) -> list[IntArray]:
        orders = [np.arange(topic.n_candidates) for topic in topics]
        each = [list(windows(len(order), self.config.window, self.config.step)) for order in orders]
        for _ in range(self.config.passes):
            for turn in range(max(map(len, each), default=0)):
                now = [
                    (topic, order, own[turn])
                    for topic, order, own in zip(topics, orders, each, strict=True)
                    if turn < len(own)
                ]
                answers = self.ask([self._prompt(topic, order[start:end]) for topic, order, (start, end) in now])
                for (_, order, (start, end)), answer in zip(now, answers, strict=True):
                    places, flaws = parse_permutation(answer, end - start)
                    self.counts.update(flaws if flaws else ["ok"])
                    order[start:end] = order[start:end][places]
        return [order[:k].astype(np.int64) for order in orders]

    def _prompt(self, topic: Topic, window: IntArray) -> str:
        """The prompt for a window."""
        texts: Any = topic.doc_texts
        passages = [f"[{number}] {self.cut(texts[document])}" for number, document in enumerate(window, start=1)]
        return self.filled(
            query=topic.query_text or "",
            count=str(len(window)),
            passages="\n".join(passages),
            aim=AIMS[self.config.aim],
        )


def windows(count: int, size: int, step: int) -> Iterator[tuple[int, int]]:
    """First and last + 1 of each window of a list, tail first; the last one begins at 0. A single document has none."""
    end = count
    while count > 1:
        start = max(0, end - size)
        yield start, end
        if start == 0:
            return
        end -= step


def parse_permutation(answer: Any, count: int) -> tuple[IntArray, Counter[str]]:
    """The order that a model gave to passages 1 to count, and what was wrong with its answer.

    An answer is numbers, in brackets or not, divided by ">", commas or spaces. In more text than that ("wrong_format")
    the longest chain of numbers in brackets counts, as numbers in prose mean other things; without one the order stays.

    Returns:
        ([count] int64 places from 0, numbers that lack last in their old order; how many of each flaw).

    Raises:
        TypeError: the answer is no text.
    """
    text, flaws = said(answer), Counter[str]()
    if not _NUMBERS.fullmatch(text):
        flaws["wrong_format"] = 1
        text = max(_CHAIN.findall(text), key=len, default="")
    numbers = [int(number) for number in re.findall(r"\d+", text)]
    inside = [number for number in numbers if 1 <= number <= count]
    once = list(dict.fromkeys(inside))
    missing = [number for number in range(1, count + 1) if number not in set(once)]
    flaws.update(outside=len(numbers) - len(inside), repeated=len(inside) - len(once), missing=len(missing))
    return np.array(once + missing, np.int64) - 1, +flaws
