"""Stand-ins for models that name subtopics, and six documents that are ranked by the names."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from srd_agents import diversify

QUERY = "jaguar"
NAMES = ["jaguar big cat", "jaguar car", "jaguar operating system"]
SENSES = dict(zip(NAMES, np.eye(4), strict=False))
DOCUMENTS = np.eye(4)[[0, 0, 0, 1, 2, 3]] + 0.05 * np.random.default_rng(0).random((6, 4))
TEXTS = [f"document {i}" for i in range(6)]
LISTED = json.dumps(NAMES)


def embed(texts: list[str]) -> Any:
    """A model of three names; it knows nothing of others."""
    return [SENSES.get(text, np.full(4, 0.1)) for text in texts]


def show(subtopics: Any, **changes: Any) -> list[int]:
    given: dict[str, Any] = {"query_text": QUERY, "embed": embed, "scores": range(6, 0, -1), "subtopics": subtopics}
    return diversify(None, DOCUMENTS, 6, **(given | changes)).indices.tolist()


class DownError(RuntimeError):
    """A client's error."""


RAISES = DownError("the model is down")


class Llm:
    """Answers prompts, and remembers them."""

    def __init__(self, *answers: Any) -> None:
        self.answers, self.prompts = list(answers), []

    def __call__(self, prompt: str) -> Any:
        self.prompts.append(prompt)
        answer = self.answers[(len(self.prompts) - 1) % len(self.answers)]
        if isinstance(answer, Exception):
            raise answer
        return answer


class Nameless:
    """A LangChain chain: its steps have names, it has none."""

    def invoke(self, prompt: str) -> str:
        return LISTED

    def batch(self, prompts: list[str], return_exceptions: bool) -> list[str]:
        return [LISTED for _ in prompts]
