"""Options of the ranker that asks a language model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from srd_agents.training.options import Config, Count


@dataclass(frozen=True, kw_only=True)
class ListwiseConfig(Config):
    """The listwise ranker."""

    llm: str | Any | None = None
    """The client, as `srd_agents.pipeline.naming.Namer` takes it: a LangChain chat model, a Haystack chat generator, a
    LlamaIndex LLM, a client with openai's interface, a function that answers a prompt with text, or the path of a model
    for transformers (`srd_agents.llm.local.LocalModel`)."""
    model: str | None = None
    """Name of the model that an openai client asks. For other clients it tells models apart in the cache."""
    cache: str | Any | None = None
    """Folder, or mapping from text to text, that keeps the answers; None: no cache. A function or a chain, which has no
    name of its own, then needs `model`."""
    on_error: Literal["order", "raise"] = "order"
    """Where the client raises or an answer is of no use: "order" keeps the order, with a warning for the first and a
    count of all, or "raise"."""
    prompt: str | None = None
    """Prompt in place of the ranker's own."""
    words: Count = 300
    """Largest number of words of a document in a prompt."""
    aim: Literal["diversity", "relevance"] = "diversity"
    """Aim of the prompt: as many meanings and sides as possible among the first results, or only relevance."""
    window: Count = 20
    """Number of documents that the model ranks at a time."""
    step: Count = 10
    """Number of ranks by which the window moves towards the head, at most `window`."""
    passes: Count = 1
    """Number of times that the window goes through the list. One pass settles about the first `step` ranks."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.step > self.window:
            raise ValueError(
                f"step must be at most window, or documents are passed over; got step {self.step}, window {self.window}"
            )
