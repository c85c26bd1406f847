"""Subtopics of a query, named by a language model or by any function of the query's text."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from typing import Any

import numpy as np

from srd_agents.llm.answers import parse_names, tidied
from srd_agents.llm.asking import SHOWN, Asker, Cache, OnError, Question, check_prompt, filled, reason
from srd_gym.checks import check_integer
from srd_gym.reading import shown, shown_text, with_type

PROMPT = """\
Someone typed this into a search engine: {query}
{texts}Name up to {limit} different things that they may want to find: meanings of the words, or sides of the subject. \
The most likely ones come first. Use at most ten words for each, and name the subject in it.
Answer with a JSON list of texts, and nothing else."""
"""The prompt of `Namer`; {query}, {limit} and {texts} are filled in."""

Names = Callable[..., Any]
"""A function that gives a query's subtopics (texts, or vectors [S, F]) from its text, and the candidates' texts if it
has a parameter `texts` (an attribute `wants_texts`, True or False, goes before that)."""

_SHORT = 4
"""Words of a query up to which names are embedded with it."""


class Named(list[str]):
    """Names of a query's subtopics, none where a model gave none."""

    note: str = ""
    """Why there are none, where the model failed."""


class Namer:
    """Asks a language model for the subtopics of a query; where there is a cache, once.

    `diversify(..., subtopics=Namer(llm), query_text="jaguar", embed=model.encode)` ranks by what it names.

    Args:
        llm: a LangChain chat model, a Haystack chat generator, a LlamaIndex LLM, a client with the interface of
            openai's (`chat.completions.create`), or a function that answers a prompt with text. Retries and time limits
            are the client's.
        model: the name of the model that an openai client asks; of others what tells it from other models in the cache.
        max_subtopics: most names; further ones are left out.
        prompt: in place of `PROMPT`; {query} stands for the query, {limit} for `max_subtopics`, {texts} for texts of
            candidates.
        cache: a folder, which is made, or a mapping from text to text; None asks every time. What is kept belongs to
            the model's name and the whole prompt; a model without a name of its own then needs `model`.
        n_docs: so many of the candidates' texts, cut to their beginnings, are shown to the model; 0 shows none. Names
            that are made from the results found leave out what was not found.
        on_error: what happens where the client raises (a time-out, say), or an answer is no list of names (a refusal).
            "order": the query has no subtopics, so that its ranking is that without; `Named.note` and the note of a
            result say why, the first time warns, nothing is kept. "raise": it is raised.

    Attributes:
        counts: "prompts", "asked" (not in the cache), "failed" (the client raised), "wrong_format" (no list of names).

    Raises:
        TypeError: nothing that can be asked, or an option of another type.
        ValueError: an openai client without model, max_subtopics below 1, a prompt without {query}, another word as
            on_error, or a cache for a model without a name.
    """

    def __init__(
        self,
        llm: object,
        *,
        model: str | None = None,
        max_subtopics: int = 10,
        prompt: str = PROMPT,
        cache: Cache | None = None,
        n_docs: int = 0,
        on_error: OnError = "order",
    ) -> None:
        check_integer("max_subtopics", max_subtopics, 1)
        check_integer("n_docs", n_docs, 0)
        check_prompt("prompt", prompt, "query", *(["texts"] if n_docs else []))
        self.max_subtopics, self.prompt, self.n_docs = max_subtopics, prompt, n_docs
        self._asker = Asker(llm, model, cache, on_error)
        self.counts = self._asker.counts

    @property
    def wants_texts(self) -> bool:
        """Whether it shows candidates' texts to the model."""
        return self.n_docs > 0

    def __call__(self, query: str, texts: Sequence[str] = ()) -> Named:
        """The subtopics of a query, most likely first, each once: [at most max_subtopics].

        Args:
            query: its text.
            texts: of the candidates, in their order; looked at where `n_docs` says so.

        Raises:
            ValueError: a damaged cache, or with on_error="raise" an answer that is no list of names; the message shows
                it.
            Exception: with on_error="raise", what the client raised.
        """
        return self.many([query], [texts])[0]

    def many(self, queries: Sequence[str], texts: Sequence[Sequence[str] | None] | None = None) -> list[Named]:
        """The subtopics of each query; what the cache lacks is asked for together, equal prompts once.

        Args:
            queries: B texts.
            texts: of each query's candidates, or None.

        Raises:
            ValueError, Exception: as above.
        """
        given = [None] * len(queries) if texts is None else texts
        asked = [
            self._question(query, () if some is None else some) for query, some in zip(queries, given, strict=True)
        ]
        return [self._named(names) for names in self._asker.ask(asked)]

    async def agenerate(self, query: str, texts: Sequence[str] = ()) -> Named:
        """`__call__` for asynchronous code: it waits for the model without holding up anything else.

        Raises:
            ValueError, Exception: as above.
        """
        names = await self._asker.agenerate(self._question(query, texts))
        return self._named(names)

    def _question(self, query: str, texts: Sequence[str]) -> Question[list[str]]:
        """The subtopics of a query."""
        some = "".join(f"- {shown_text(' '.join(text.split()), SHOWN)}\n" for text in texts[: self.n_docs])
        found = f"It found:\n{some}" if some else ""
        prompt = filled(self.prompt, query=query, limit=str(self.max_subtopics), texts=found)
        return Question(prompt, parse_names, f"subtopics of {shown(query)}")

    def _named(self, names: list[str] | Exception) -> Named:
        """The names, or none with the reason."""
        if not isinstance(names, Exception):
            return Named(names[: self.max_subtopics])
        named = Named()
        named.note = f"a model named no subtopics ({reason(names)})"
        return named


@contextmanager
def _naming(query: str) -> Iterator[None]:
    """Errors say of which query they are; they stay what the function raised, so that callers can tell them apart."""
    try:
        yield
    except Exception as error:
        error.add_note(f"while the subtopics of {query!r} were named")
        raise


def about(query: str | None, name: str) -> str:
    """The name as it is to be embedded: "query: name" where it holds none of the words of a short query.

    "treatment" is near to any document about some treatment; what is compared must be about the query, too. A query of
    more than four words, such as a sentence, would outweigh the names and make them alike.

    Raises:
        TypeError: the query is not text.
    """
    if not isinstance(query, str | None):
        raise TypeError(f"query_text must be text, got {with_type(query)}")
    asked, folded = (query or "").casefold().strip(), name.casefold()
    words = re.findall(r"\w+", asked)
    long = [word for word in words if len(word) > 3]
    shared = any(word in folded for word in long) if long else bool({*words} & {*re.findall(r"\w+", folded)})
    return f"{query}: {name}" if 0 < len(words) <= _SHORT and not shared and asked not in folded else name


def wants_texts(names: Names) -> bool:
    """Whether a function that names subtopics asks for the candidates' texts."""
    said = getattr(names, "wants_texts", None)
    if isinstance(said, bool):
        return said
    try:
        return "texts" in inspect.signature(names).parameters
    except ValueError:  # built in, without a signature
        return False


def named_by(
    names: Names, queries: Sequence[Any], texts: Sequence[Any], query_ids: Sequence[str] | None = None
) -> list[object]:
    """The subtopics of B queries, by a function; a `Namer` is asked for all of them together.

    Args:
        names: the function.
        queries: B texts.
        texts: B sequences of N texts, or None where they are not known.
        query_ids: what errors call the queries; None: by their place.

    Returns:
        A list of texts or vectors [S, F] per query; an empty `Named` where there are none.

    Raises:
        TypeError: a query or an answer of another type.
        ValueError: a query without text, no texts where they are asked for, or what a `Namer` raises.
        Exception: what the function raises, with a note that names the query.
    """
    ids = query_ids or [str(place) for place in range(len(queries))]
    for query_id, query, some in zip(ids, queries, texts, strict=True):
        _check_asked(names, query_id, query, some)
    if isinstance(names, Namer):
        return list(names.many(queries, texts))
    return [_checked(_called(names, query, some), query) for query, some in zip(queries, texts, strict=True)]


async def named_later(names: Names, query: Any, texts: Any, query_id: str) -> Any:
    """`named_by` of one query for asynchronous code; the function may be asynchronous, too.

    Raises:
        TypeError, ValueError, Exception: as `named_by`.
    """
    import asyncio  # here, as it is slow to import

    _check_asked(names, query_id, query, texts)
    if isinstance(names, Namer):
        return await names.agenerate(query, () if texts is None else texts)
    answer = await asyncio.to_thread(_called, names, query, texts)
    with _naming(query):
        return _checked(await answer if inspect.isawaitable(answer) else answer, query)


def _check_asked(names: Names, query_id: str, query: object, texts: object) -> None:
    """Refuse a query that cannot be named."""
    if not isinstance(query, str | None):
        raise TypeError(f"topic {query_id!r}: query_text must be text, got {with_type(query)}")
    if query is None or not query.strip():
        raise ValueError(
            f"topic {query_id!r} has no query text (query_text=), which a function that names subtopics needs; give "
            "it, or the subtopics themselves"
        )
    if texts is None and wants_texts(names):
        raise ValueError(
            f"topic {query_id!r}: the function that names its subtopics needs the documents' texts; "
            "give texts= (diversify_hits: text=), one per document"
        )


def _called(names: Names, query: str, texts: Sequence[str]) -> Any:
    with _naming(query):
        return names(query, texts=texts) if wants_texts(names) else names(query)


def _checked(answer: Any, query: str) -> Any:
    """Names from a function: texts tidied, vectors as they are."""
    if inspect.iscoroutine(answer):
        answer.close()
        raise TypeError(
            f"the function that names the subtopics of {query!r} is asynchronous; await it, and pass its result"
        )
    if answer is None or isinstance(answer, Named):
        return Named() if answer is None else answer
    texts = [isinstance(each, str) for each in answer] if isinstance(answer, Sequence | np.ndarray) else []
    if isinstance(answer, str | Mapping | Set) or not hasattr(answer, "__len__") or (any(texts) and not all(texts)):
        raise TypeError(
            f"what names the subtopics of {query!r} must give a list of texts or of vectors, got "
            f"{shown_text(repr(answer), SHOWN)}; srd_agents.pipeline.naming.Namer asks a model for such a list"
        )
    return Named(tidied(answer)) if any(texts) or not len(answer) else answer


def as_names(names: object) -> Names:
    """Make a `Namer` of an adapter's `namer`: a `Namer` as it is, a model as one of its own.

    Raises:
        TypeError, ValueError: as `Namer`.
    """
    return names if isinstance(names, Namer) else Namer(names)
