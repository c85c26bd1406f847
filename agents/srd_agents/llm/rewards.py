"""Rewards for lists that language models answer with: a measure of coverage, verified on the judgments."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from srd_agents.llm.answers import parse_ranks
from srd_agents.llm.prompts import ListPrompt
from srd_gym.checks import check_number
from srd_gym.dtypes import IntArray, ScoreArray
from srd_gym.measures import IdealPool, Measure, Normalizer, default_normalizer, parse_measure
from srd_gym.reading import shown, with_type
from srd_gym.showing import repr_of
from srd_gym.sources import TopicSource, topics_from

Form = Literal["text", "chat", "tools"]
"""Prompts as text, as a message of the user, or as an empty message that an environment fills (`ListTools`)."""


class CoverageReward:
    """Verifiable reward of a language model's answer: a diversity measure of the list that it names.

    The reward is a function of the answer's text alone. Number i of the answer fills rank i; a malformed, repeated,
    out-of-range or missing number leaves its rank empty and adds nothing, and so do numbers behind the k-th; an answer
    without a ranking gets 0 (`srd_agents.llm.answers.parse_ranks` has the grammar). Of a list this is exactly the value
    that `srd_gym.measures.evaluate` gives. Called as TRL calls its `reward_funcs`; trl is not imported.

    Args:
        topics: judged topics, a path or a name; prompts need the texts of queries and documents.
        what: the diversity measure, with its cutoff k, such as "alpha_nDCG@5"; measures of relevance, such as nDCG, and
            measures without judgments are refused.
        prompt: form of the prompts, and how many candidates they hold: numbers beyond these are out of range.
        format_weight: reward for an answer that is k different numbers of candidates and nothing else; by default none.
        normalizer: ideal ranking of the measure, as of `evaluate`: "pool" or "candidates".

    Attributes:
        counts: flaws of all answers so far: "ok", "wrong_format", "outside", "repeated", "missing".

    Raises:
        ValueError: topics without judgments, a measure without a cutoff, one of which less is better, or one that is no
            diversity measure.
    """

    __repr__ = repr_of("measure", "topics")

    def __init__(
        self,
        topics: TopicSource,
        what: str | Measure = "alpha_nDCG@5",
        *,
        prompt: ListPrompt | None = None,
        format_weight: float = 0.0,
        normalizer: Normalizer | None = None,
    ) -> None:
        self.topics, self.prompt = topics_from(topics), prompt or ListPrompt()
        check_number("format_weight", format_weight, 0)
        self.measure, self.format_weight = parse_measure(what), format_weight
        if self.measure.cutoff is None or self.measure.lower_is_better:
            raise ValueError(
                "a reward needs a measure with a cutoff of which more is better, such as 'alpha_nDCG@5'; got "
                f"{self.measure}"
            )
        unjudged = [topic.query_id for topic in self.topics if not topic.labelled]
        if unjudged or not len(self.topics):
            which = f"topic {shown(unjudged[0])} has no judgments" if unjudged else "there are no topics"
            raise ValueError(f"{which}: a reward is verified on judgments; give judged topics")
        self.k, self.__name__ = self.measure.cutoff, str(self.measure)
        chosen = self.measure.normalizer or normalizer or default_normalizer(self.topics)
        references = [IdealPool.of(topic, chosen) for topic in self.topics]
        self._bound = self.measure.bind(references, self.k, self.topics.max_subtopics)
        self.counts: Counter[str] = Counter()

    def __call__(
        self,
        completions: Sequence[object],
        query_id: Sequence[str] | None = None,
        prompts: Sequence[object] | None = None,
        **columns: object,
    ) -> list[float]:
        """The reward of each completion.

        Args:
            completions: B answers: texts, or lists of messages, of which the last one counts.
            query_id: B ids of their topics: the column of `rows`.
            prompts: not looked at.
            **columns: not looked at.
        """
        if query_id is None:
            raise ValueError(
                "rewards need the column query_id, which says whose judgments count: CoverageReward.rows makes it"
            )
        ranks = np.full((len(completions), self.k), -1, np.int64)
        formatted = np.zeros(len(completions))
        for row, (answer, query) in enumerate(zip(completions, query_id, strict=True)):
            ranks[row], flaws = self.read(query, answer)
            formatted[row] = not flaws
        return (self.values(query_id, ranks) + self.format_weight * formatted).tolist()  # type: ignore[no-any-return]

    def score(self, query_id: str, answer: object) -> float:
        """The reward of one answer."""
        return self([answer], [query_id])[0]

    def read(self, query_id: str, answer: object) -> tuple[IntArray, Counter[str]]:
        """The ranks that an answer fills.

        Returns:
            ([k] int64 candidates, -1 where the rank is empty; how many of each flaw).
        """
        topic = self.topics[self.topics.position(query_id)]
        count = self.prompt.count(topic)
        ranks = np.full(self.k, -1, np.int64)
        wanted = min(self.k, count)
        ranks[:wanted], flaws = parse_ranks(_text(answer), count, wanted)
        self.counts.update(flaws or ["ok"])
        return ranks, flaws

    def values(self, query_ids: Sequence[str], ranks: ArrayLike) -> ScoreArray:
        """[B] float64, the measure of lists [B, L] of candidates, -1 where a rank is empty."""
        return self.gains(query_ids, ranks).sum(axis=1)  # type: ignore[no-any-return]

    def gains(self, query_ids: Sequence[str], ranks: ArrayLike) -> ScoreArray:
        """[B, L] float64, what each rank adds to the measure."""
        ranks = np.asarray(ranks, np.int64)
        topics = np.array([self.topics.position(query_id) for query_id in query_ids], np.int64)
        rows = np.zeros((*ranks.shape, self.topics.max_subtopics), np.int8)
        for row, topic, ranking in zip(rows, topics, ranks, strict=True):
            judgments = self.topics[int(topic)].judgments
            filled = np.flatnonzero(ranking >= 0)
            row[filled, : judgments.shape[1]] = judgments[ranking[filled]]  # type: ignore[union-attr, index]
        return self._bound.gains(rows, topics)

    def ask(self, query_id: str) -> str:
        """The prompt of a topic.

        Raises:
            ValueError: a topic without texts.
        """
        return self.prompt.text(self.topics[self.topics.position(query_id)], self.k)

    def rows(self, query_ids: Iterable[str] | None = None, form: Form = "text") -> list[dict[str, Any]]:
        """Rows {"prompt", "query_id"} for a trainer's data set, such as `datasets.Dataset.from_list(reward.rows())`.

        Args:
            query_ids: the topics; by default all.
            form: of the prompts.
        """
        made = []
        for query_id in self.topics.query_ids if query_ids is None else query_ids:
            text = "" if form == "tools" else self.ask(query_id)
            prompt = text if form == "text" else [{"role": "user", "content": text}]
            made.append({"prompt": prompt, "query_id": query_id})
        return made


def _text(answer: object) -> str:
    """The text of an answer, or of the last of its messages; none is an empty one."""
    if isinstance(answer, Sequence) and not isinstance(answer, str):
        answer = answer[-1] if answer else ""
    if isinstance(answer, dict):
        answer = answer.get("content")
    if isinstance(answer, list):
        answer = "".join(part.get("text") or "" for part in answer if isinstance(part, dict))
    if answer is None:
        return ""
    if not isinstance(answer, str):
        raise TypeError(f"an answer is text or a list of messages, got {with_type(answer)}")
    return answer
