"""A language model that orders windows of the list, from the tail to the head."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np

from srd_agents.llm.answers import parse_permutation
from srd_agents.llm.asking import Asker, Question, check_prompt, cut, filled, texts_of
from srd_agents.llm.client import TAKEN
from srd_agents.llm.config import ListwiseConfig
from srd_gym.checks import check_integer
from srd_gym.dtypes import IntArray
from srd_gym.reading import shown
from srd_gym.showing import repr_of
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


class Listwise:
    """RankGPT (Sun et al., EMNLP 2023): the model permutes a window that slides from the list's tail to its head.

    With windows of w documents and steps of s, window i holds ranks max(0, N - w - i s) to N - i s. The model's answer
    replaces these ranks, and the next window begins with the best of them: about (N - w) / s + 1 prompts per topic and
    pass. Candidates stand as retrieved at first, else in the topic set's fixed shuffle; one that the model leaves out
    keeps its place behind those that it names.

    Topics need the query's text and the documents' texts. Prompts that do not depend on each other are asked together.
    Answers are read strictly (`srd_agents.llm.answers.parse_permutation` has their grammar): what is wrong with them is
    repaired and counted, never guessed. Where the client raises, or an answer is of no use, the window keeps its order,
    unless `on_error` is "raise".

    Differs from the paper: one message in place of a conversation; the window never leaves the list, as in rank_llm
    (the paper's code asks nothing for fewer than w documents and passes over the first ones of others); numbers in
    prose are no ranking; the prompt asks for diversity unless `aim` says otherwise.

    Args:
        config: the client, the window, and the aim.

    Attributes:
        counts: of all rankings so far, by what happened: "prompts", "asked" (not in the cache), "failed" (the client
            raised), "ok", "wrong_format" (more than a ranking, or none), and "repeated", "outside" (no such passage)
            and "missing" numbers.

    Raises:
        ValueError: no client, an openai client without a model's name, a prompt that lacks a part, or a cache for a
            model without a name.
        TypeError: a client or a cache that is none.
    """

    __repr__ = repr_of("config")

    name = "llm-listwise"

    def __init__(self, config: ListwiseConfig | None = None) -> None:
        self.config = config or ListwiseConfig()
        if self.config.llm is None:
            raise ValueError(
                f'ranker {self.name!r} asks a language model: give the client, make_ranker("{self.name}", '
                f"llm=client): {TAKEN}. Commands and recipes take a class of yours that gives it, "
                '"module:Class" with --trust'
            )
        self.prompt = self.config.prompt or PROMPT
        check_prompt("prompt", self.prompt, "query", "passages")
        self._asker = Asker(self.config.llm, self.config.model, self.config.cache, self.config.on_error)
        self.counts = self._asker.counts

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
            texts_of(topic, f"ranker {self.name!r} shows")
        orders = [np.arange(topic.n_candidates) for topic in topics]
        each = [list(windows(len(order), self.config.window, self.config.step)) for order in orders]
        for _ in range(self.config.passes):
            for turn in range(max(map(len, each), default=0)):
                now = [
                    (topic, order[slice(*own[turn])])  # a view
                    for topic, order, own in zip(topics, orders, each, strict=True)
                    if turn < len(own)
                ]
                answers = self._asker.ask([self._question(topic, window) for topic, window in now])
                for (_, window), answer in zip(now, answers, strict=True):
                    if not isinstance(answer, Exception):
                        places, flaws = answer
                        self.counts.update(flaws if flaws else ["ok"])
                        window[:] = window[places]
        return [order[:k].astype(np.int64) for order in orders]

    def _question(self, topic: Topic, window: IntArray) -> Question[tuple[IntArray, Counter[str]]]:
        """The order of a window."""
        query, texts = texts_of(topic, f"ranker {self.name!r} shows")
        passages = [
            f"[{number}] {cut(texts[document], self.config.words)}" for number, document in enumerate(window, start=1)
        ]
        prompt = filled(
            self.prompt,
            query=cut(query, self.config.words),
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
