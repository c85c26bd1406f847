"""Subtopics of a query, named by a language model or by any function of the query's text."""

from __future__ import annotations

import hashlib
import inspect
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence, Set
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from srd_agents.pipeline.models import asked
from srd_gym.checks import check_integer
from srd_gym.files import PathLike, written_atomically
from srd_gym.reading import json_value, shown_text

PROMPT = """\
Someone typed this into a search engine: {query}
{texts}Name up to {limit} different things that they may want to find: meanings of the words, or sides of the subject. \
The most likely ones come first. Use at most ten words for each, and name the subject in it.
Answer with a JSON list of texts, and nothing else."""
"""The prompt of `Namer`; {query}, {limit} and {texts} are filled in."""

Names = Callable[..., Any]
"""A function that gives a query's subtopics (texts, or vectors [S, F]) from its text, and the candidates' texts if it
has a parameter `texts` (an attribute `wants_texts`, True or False, goes before that)."""

_SHOWN = 200
"""Characters of an answer, and of each candidate's text, that are shown to people and to models."""
_WORDS = 12
"""A line with more words is prose."""
_SHORT = 4
"""Words of a query up to which names are embedded with it."""
_FILLED = re.compile(r"\{(query|limit|texts)\}")
_THOUGHT = re.compile(r"^\s*<think>.*?</think>", re.S)
_FENCE = re.compile(r"^```\w*\n(.*?)\n?```$", re.S)
_MARK = re.compile(r"^(?:[-*+•‣\u2013\u2014]\s+|\(?\d{1,3}(?:[.):]\s+|[、\uff0e]\s*))")
_QUOTED = re.compile(r'^(\*\*|__|["“„«\'`])(.*?)(\*\*|__|["”“»\'`]),?$')


class Namer:
    """Asks a language model for the subtopics of a query; where there is a cache, once.

    `diversify(..., subtopics=Namer(llm), query_text="jaguar", embed=model.encode)` ranks by what it names.

    Args:
        llm: a LangChain chat model, a Haystack chat generator, a LlamaIndex LLM, a client with the interface of
            openai's (`chat.completions.create`), or a function that answers a prompt with text. Retries and time limits
            are the client's.
        model: the name of the model that an openai client asks; of others what tells it from other models in the cache.
        limit: most names; further ones are left out.
        prompt: in place of `PROMPT`; {query} stands for the query, {limit} for the limit, {texts} for what candidates
            say.
        cache: a folder, which is made, or a mapping from text to text; None asks every time. What is kept belongs to
            the model and the whole prompt.
        results: so many of the candidates' texts, cut to their beginnings, are shown to the model; 0 shows none. Names
            that are made from the results found leave out what was not found.

    Raises:
        TypeError: nothing that can be asked, or an option of another type.
        ValueError: an openai client without model, a limit below 1, or a prompt without {query}.
    """

    def __init__(
        self,
        llm: Any,
        *,
        model: str | None = None,
        limit: int = 10,
        prompt: str = PROMPT,
        cache: PathLike | MutableMapping[str, str] | None = None,
        results: int = 0,
    ) -> None:
        check_integer("limit", limit, 1)
        check_integer("results", results, 0)
        if "{query}" not in prompt or (results and "{texts}" not in prompt):
            wanted = "{query}" if "{query}" not in prompt else "{texts}, which results= fills"
            raise ValueError(f"prompt must hold {wanted}, got {shown_text(prompt, _SHOWN)!r}")
        self.limit, self.prompt, self.results = limit, prompt, results
        self._model = asked(llm, model)
        self._cache: Any = _Folder(Path(cache)) if isinstance(cache, str | os.PathLike) else cache
        if cache is not None and not (hasattr(self._cache, "get") and hasattr(self._cache, "__setitem__")):
            raise TypeError(f"cache must be a folder or a mapping from text to text, got {type(cache).__name__}")

    @property
    def wants_texts(self) -> bool:
        """Whether it shows candidates' texts to the model."""
        return self.results > 0

    def __call__(self, query: str, texts: Sequence[str] = ()) -> list[str]:
        """The subtopics of a query, most likely first, each once: [at most limit].

        Args:
            query: its text.
            texts: of the candidates, in their order; looked at where `results` says so.

        Raises:
            ValueError: an answer that is no list of names; the message shows it.
        """
        return self.many([query], [texts])[0]

    def many(self, queries: Sequence[str], texts: Sequence[Sequence[str] | None] | None = None) -> list[list[str]]:
        """The subtopics of each query; what the cache lacks is asked for together, equal prompts once.

        Args:
            queries: B texts.
            texts: of each query's candidates, or None.

        Raises:
            ValueError: as above.
        """
        given = [None] * len(queries) if texts is None else texts
        prompts = [self._filled(query, some or ()) for query, some in zip(queries, given, strict=True)]
        names_of = {prompt: self._kept(prompt) for prompt in prompts}
        query_of = dict(zip(prompts, queries, strict=True))
        missing = [prompt for prompt, names in names_of.items() if names is None]
        with _naming(*(query_of[prompt] for prompt in missing)):
            answers = self._model.many(missing) if len(missing) > 1 else map(self._model.one, missing)
            for prompt, answer in zip(missing, answers, strict=True):
                names_of[prompt] = self._keep(query_of[prompt], prompt, answer)
        return [list(names_of[prompt] or ()) for prompt in prompts]

    async def later(self, query: str, texts: Sequence[str] = ()) -> list[str]:
        """`__call__` for asynchronous code: it waits for the model without holding up anything else.

        Raises:
            ValueError: as above.
        """
        import asyncio

        prompt = self._filled(query, texts)
        names = await asyncio.to_thread(self._kept, prompt)
        if names is None:
            with _naming(query):
                answer = await self._model.later(prompt)
                names = await asyncio.to_thread(self._keep, query, prompt, answer)
        return names

    def _filled(self, query: str, texts: Sequence[str]) -> str:
        """The prompt for a query."""
        some = [f"- {shown_text(' '.join(text.split()), _SHOWN)}\n" for text in texts[: self.results]]
        parts = {"query": query, "limit": str(self.limit), "texts": "".join(["It found:\n", *some]) if some else ""}
        return _FILLED.sub(lambda match: parts[match[1]], self.prompt)

    def _key(self, prompt: str) -> str:
        return hashlib.sha256(json.dumps([self._model.name, prompt]).encode()).hexdigest()

    def _kept(self, prompt: str) -> list[str] | None:
        """The names in the cache, or None."""
        text = None if self._cache is None else self._cache.get(self._key(prompt))
        if text is None:
            return None
        try:
            content = json_value(text)
            names = content["subtopics"]
            if not all(isinstance(name, str) for name in names):
                raise TypeError("no list of texts")
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise ValueError(
                f"the cache holds no names at {self._key(prompt)!r}: {shown_text(str(text), _SHOWN)!r}; remove that"
            ) from error
        return list(names[: self.limit])

    def _keep(self, query: str, prompt: str, answer: Any) -> list[str]:
        """The names in an answer, put into the cache."""
        names = parse_names(answer)
        if self._cache is not None:
            content = {"model": self._model.name, "query": query, "subtopics": names}
            self._cache[self._key(prompt)] = json.dumps(content, ensure_ascii=False)
        return names[: self.limit]


class _Folder:
    """A cache of one small file a prompt."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def get(self, key: str) -> str | None:
        try:
            return (self.path / f"{key}.json").read_text(encoding="utf-8")
        except FileNotFoundError:
            return None

    def __setitem__(self, key: str, text: str) -> None:
        with written_atomically(self.path / f"{key}.json") as temporary:
            temporary.write_text(text, encoding="utf-8")


@contextmanager
def _naming(*queries: str) -> Iterator[None]:
    """Errors say of which queries they are; they stay what the client raised, so that callers can tell them apart."""
    try:
        yield
    except Exception as error:
        some = ", ".join(map(repr, queries[:3])) + ", ..." * (len(queries) > 3)
        error.add_note(f"while the subtopics of {some} were named")
        raise


def parse_names(answer: Any) -> list[str]:
    """The names in a model's answer, tidied: a JSON list, numbered or bulleted lines, or short lines.

    A fence around the whole, what the model thought before it (`<think>`), an object of one list, and a heading that
    ends in a colon are passed over. "[]" means that there are none.

    Raises:
        TypeError: no text.
        ValueError: anything else, prose among it; the message shows the answer.
    """
    if not isinstance(answer, str):
        raise TypeError(f"a model must answer with text, got {answer!r} ({type(answer).__name__})")
    text = _THOUGHT.sub("", answer).strip()
    fenced = _FENCE.match(text)
    text = fenced[1].strip() if fenced else text
    names = _of_json(text) if text[:1] in ("[", "{") else _of_lines(text.splitlines())
    if names is None or any(len(name) > _SHOWN for name in names):
        raise ValueError(
            "expected a JSON list of subtopics, numbered or bulleted lines, or one short name a line; the model "
            f"answered {shown_text(answer, _SHOWN)!r}"
        )
    return tidied(names)


def _of_json(text: str) -> list[str] | None:
    """The texts in a JSON list, or in the one list of an object."""
    try:
        value = json_value(text)
    except (ValueError, RecursionError):
        return None
    if isinstance(value, dict):
        (value,) = value.values() if len(value) == 1 else (None,)
    return value if isinstance(value, list) and all(isinstance(each, str) for each in value) else None


def _of_lines(lines: list[str]) -> list[str] | None:
    """The names on marked lines, or on two short lines or more."""
    lines = [line.strip() for line in lines if line.strip()]
    heading = len(lines) > 1 and lines[0].endswith(":") and not _MARK.match(lines[0])
    lines = lines[heading:]
    if lines and all(map(_MARK.match, lines)):
        return [_QUOTED.sub(r"\2", _MARK.sub("", line)) for line in lines]
    if len(lines) < 2 or any(map(_MARK.match, lines)) or any(map(_is_prose, lines)):
        return None
    return [_QUOTED.sub(r"\2", line) for line in lines]


def _is_prose(line: str) -> bool:
    """Whether a line is a sentence, or too long to be a name."""
    words = line.split()
    return len(words) > _WORDS or (len(words) > 3 and line.endswith((".", "!", ":", "。")))


def tidied(names: Sequence[str]) -> list[str]:
    """Names with single spaces, each once (whatever its case, as first written), without empty ones."""
    once: dict[str, str] = {}
    for name in (" ".join(name.split()) for name in names):
        if name:
            once.setdefault(name.casefold(), name)
    return list(once.values())


def about(query: str | None, name: str) -> str:
    """The name as it is to be embedded: "query: name" where it holds none of the words of a short query.

    "treatment" is near to any document about some treatment; what is compared must be about the query, too. A query of
    more than four words, such as a sentence, would outweigh the names and make them alike.

    Raises:
        TypeError: the query is not text.
    """
    if not isinstance(query, str | None):
        raise TypeError(f"query_text must be text, got {query!r} ({type(query).__name__})")
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
) -> list[Any]:
    """The subtopics of B queries, by a function; a `Namer` is asked for all of them together.

    Args:
        names: the function.
        queries: B texts.
        texts: B sequences of N texts, or None where they are not known.
        query_ids: what errors call the queries; None: by their place.

    Returns:
        Of each query a list of texts, vectors [S, F], or None.

    Raises:
        TypeError: a query or an answer of another type.
        ValueError: a query without text, no texts where they are asked for, or an answer that cannot be read.
        Exception: what the function raises, with a note that names the query.
    """
    ids = query_ids or [str(place) for place in range(len(queries))]
    for query_id, query, some in zip(ids, queries, texts, strict=True):
        _check_asked(names, query_id, query, some)
    if isinstance(names, Namer):
        return list(names.many(queries, texts))
    answers = []
    for query, some in zip(queries, texts, strict=True):
        answer = _called(names, query, some)
        if inspect.iscoroutine(answer):
            answer.close()
            raise TypeError(
                f"the function that names the subtopics of {query!r} is asynchronous; await it, and pass its result"
            )
        answers.append(_checked(answer, query))
    return answers


async def named_later(names: Names, query: Any, texts: Any, query_id: str) -> Any:
    """`named_by` of one query for asynchronous code; the function may be asynchronous, too.

    Raises:
        TypeError, ValueError, Exception: as `named_by`.
    """
    import asyncio  # here, as it is slow to import

    _check_asked(names, query_id, query, texts)
    if isinstance(names, Namer):
        return await names.later(query, texts or ())
    answer = await asyncio.to_thread(_called, names, query, texts)
    with _naming(query):
        return _checked(await answer if inspect.isawaitable(answer) else answer, query)


def _check_asked(names: Names, query_id: str, query: Any, texts: Any) -> None:
    """Refuse a query that cannot be named."""
    if not isinstance(query, str | None):
        raise TypeError(f"topic {query_id!r}: query_text must be text, got {query!r} ({type(query).__name__})")
    if query is None or not query.strip():
        raise ValueError(
            f"topic {query_id!r} has no query text (query_text=), which a function that names subtopics needs; give "
            "it, or the subtopics themselves"
        )
    if texts is None and wants_texts(names):
        raise ValueError(
            f"topic {query_id!r}: the function that names its subtopics needs the documents' texts; "
            "give texts=, one per document"
        )


def _called(names: Names, query: str, texts: Sequence[str]) -> Any:
    with _naming(query):
        return names(query, texts=texts) if wants_texts(names) else names(query)


def _checked(answer: Any, query: str) -> Any:
    """Names from a function: texts tidied, vectors as they are."""
    if answer is None:
        return None
    texts = [isinstance(each, str) for each in answer] if isinstance(answer, Sequence | np.ndarray) else []
    if isinstance(answer, str | Mapping | Set) or not hasattr(answer, "__len__") or (any(texts) and not all(texts)):
        raise TypeError(
            f"what names the subtopics of {query!r} must give a list of texts or of vectors, got "
            f"{shown_text(repr(answer), _SHOWN)}; srd_agents.pipeline.naming.Namer asks a model for such a list"
        )
    return tidied(list(answer)) if any(texts) else answer


def as_names(names: Any) -> Names:
    """Make a `Namer` of an adapter's `namer`: a `Namer` as it is, a model as one of its own.

    Raises:
        TypeError, ValueError: as `Namer`.
    """
    return names if isinstance(names, Namer) else Namer(names)
