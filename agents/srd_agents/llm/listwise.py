"""A language model that orders windows of the list, from the tail to the head."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from srd_agents.llm.answers import parse_permutation
from srd_agents.llm.asking import LanguageModelRanker, Question, filled
from srd_agents.llm.config import ListwiseConfig
from srd_gym.dtypes import IntArray
from srd_gym.reading import shown
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


class Listwise(LanguageModelRanker[ListwiseConfig]):
    """RankGPT (Sun et al., EMNLP 2023): the model permutes a window that slides from the list's tail to its head.

    With windows of w documents and steps of s, window i holds ranks max(0, N - w - i s) to N - i s. The model's answer
    replaces these ranks, and the next window begins with the best of them: about (N - w) / s + 1 prompts per topic and
    pass. Candidates stand as retrieved at first, else in the topic set's fixed shuffle; one that the model leaves out
    keeps its place behind those that it names.

    `counts` has, beside what all share: "wrong_format" (more than a ranking, or none: the window keeps its order),
    "repeated", "outside" (no such passage) and "missing" numbers. `srd_agents.llm.answers.parse_permutation` has the
    grammar of answers.

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
                    (topic, order[slice(*own[turn])])  # a view
                    for topic, order, own in zip(topics, orders, each, strict=True)
                    if turn < len(own)
                ]
                answers = self.asker.ask([self._question(topic, window) for topic, window in now])
                for (_, window), answer in zip(now, answers, strict=True):
                    if not isinstance(answer, Exception):
                        places, flaws = answer
                        self.counts.update(flaws if flaws else ["ok"])
                        window[:] = window[places]
        return [order[:k].astype(np.int64) for order in orders]

    def _question(self, topic: Topic, window: IntArray) -> Question[tuple[IntArray, Counter[str]]]:
        """The order of a window."""
        texts: Any = topic.doc_texts
        passages = [f"[{number}] {self.cut(texts[document])}" for number, document in enumerate(window, start=1)]
        prompt = filled(
            self.prompt,
            query=self.cut(topic.query_text or ""),
            count=str(len(window)),
            passages="\n".join(passages),
            aim=AIMS[self.config.aim],
        )
        return Question(prompt, partial(parse_permutation, count=len(window)), f"topic {shown(topic.query_id)}")


def windows(count: int, size: int, step: int) -> Iterator[tuple[int, int]]:
    """First and last + 1 of each window of a list, tail first; the last one begins at 0. A single document has none."""
    end = count
    while count > 1:
        start = max(0, end - size)
        yield start, end
        if start == 0:
            return
        end -= step
