"""A language model that rates one document at a time: relevance, or how far it speaks of each subtopic."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from srd_agents.llm.answers import parse_rating
from srd_agents.llm.asking import LanguageModelRanker, Question, filled
from srd_agents.llm.config import PointwiseConfig
from srd_gym.dtypes import IntArray
from srd_gym.reading import shown
from srd_gym.topic import FloatArray, Topic

_BODY = """\
Someone typed this into a search engine: {query}
{subtopic}The passage: {passage}
"""
PROMPTS: Mapping[str, str] = {
    "0-5": f"{_BODY}How far does the passage answer that? 5: completely. 0: not at all. "
    "Answer with one digit from 0 to 5, and nothing else.",
    "yes-no": f"{_BODY}Does the passage answer that? Answer yes or no, and nothing else.",
}
"""The prompts by scale; {query}, {passage} and, where there is one, {subtopic} are filled in."""
_SUBTOPIC = "They want to know this of it: {}\n"


class Pointwise(LanguageModelRanker[PointwiseConfig]):
    """Documents in the order of a model's ratings: one prompt a document, ties to the earlier candidate.

    The score is the grade (LANCER's 0 to 5, Ju et al., ECIR 2026) or yes = 1 and no = 0; a function as the client may
    answer with a number itself, such as P(yes) / (P(yes) + P(no)) of the model's probabilities. A document whose answer
    is neither ("wrong_format" in `counts`) is not rated, and stands at the mean of those rated.

    It rates, and diversifies nothing: `ratings` are scores for any ranker, `subtopic_scores` tell xQuAD, PM-2 and
    `safe` what each document says of each subtopic.

    Args:
        config: the client, and the scale.
    """

    name = "llm-pointwise"
    parts = ("query", "passage")

    def __init__(self, config: PointwiseConfig | None = None) -> None:
        super().__init__(config or PointwiseConfig())

    @property
    def prompt(self) -> str:
        """The prompt, with parts in braces."""
        return self.config.prompt or PROMPTS[self.config.scale]

    def ratings(self, query: str, texts: Sequence[str]) -> FloatArray:
        """Rate how far each of N texts answers the query: [N] float32; NaN: not rated."""
        return self._rated([(query, "", text) for text in texts])

    def subtopic_scores(self, query: str, texts: Sequence[str], subtopics: Sequence[str]) -> FloatArray:
        """Rate how far each of N texts covers each of S subtopics: [N, S] float32; NaN: not rated.

        Raises:
            ValueError: a prompt of your own without {subtopic}.
        """
        if "{subtopic}" not in self.prompt:
            raise ValueError("prompt must hold {subtopic} to rate subtopics")
        asked = [(query, _SUBTOPIC.format(subtopic), text) for text in texts for subtopic in subtopics]
        return self._rated(asked).reshape(len(texts), len(subtopics))

    def _rated(self, asked: Sequence[tuple[str, str, str]]) -> FloatArray:
        """Ratings of (query, line of the subtopic, text)."""
        read = partial(parse_rating, scale=self.config.scale)
        questions = []
        for query, line, text in asked:
            prompt = filled(self.prompt, query=self.cut(query), subtopic=line, passage=self.cut(text))
            questions.append(Question(prompt, read, f"query {shown(query)}"))
        answers = self.asker.ask(questions)
        ratings = np.array([np.nan if isinstance(each, Exception) else each for each in answers], np.float32)
        self.counts["ok"] += int(np.count_nonzero(~np.isnan(ratings)))
        return ratings

    def _rank_batch(self, topics: Sequence[Topic], k: int) -> list[IntArray]:
        asked: list[Any] = [(topic.query_text, "", text) for topic in topics for text in topic.doc_texts or ()]
        ends = np.cumsum([topic.n_candidates for topic in topics])[:-1]
        rankings = []
        for ratings in np.split(self._rated(asked), ends):
            known = ratings[~np.isnan(ratings)]
            ratings[np.isnan(ratings)] = known.mean() if len(known) else 0.0
            rankings.append(np.argsort(-ratings, kind="stable")[:k])
        return rankings
