"""Subtopics named by a language model or any function: what is asked, read, kept and refused."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from chat_server import asking, client_with
from small_topics import refused

from srd_agents import diversify
from srd_agents.pipeline.naming import PROMPT, Namer, about, named_later, parse_names, tidied, wants_texts

QUERY = "jaguar"
NAMES = ["jaguar big cat", "jaguar car", "jaguar operating system"]
SENSES = dict(zip(NAMES, np.eye(4), strict=False))
DOCUMENTS = np.eye(4)[[0, 0, 0, 1, 2, 3]] + 0.05 * np.random.default_rng(0).random((6, 4))
TEXTS = [f"document {i}" for i in range(6)]


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


# Answers

LISTED = json.dumps(NAMES)


@pytest.mark.parametrize(("answer", "names"), [
    (LISTED, NAMES),
    (f"\n```json\n{LISTED}\n```\n", NAMES),
    (f'<think>Cats? ["no"]</think>\n{LISTED}', NAMES),
    (json.dumps({"subtopics": NAMES}), NAMES),
    ("[]", []),
    ("1. big cat\n2. car\n\n10. system", ["big cat", "car", "system"]),
    ("1) big cat\n(2) car\n3: system", ["big cat", "car", "system"]),
    ("Here are the subtopics:\n\n- big cat\n- car", ["big cat", "car"]),
    ("- big cat", ["big cat"]),
    ("* **Big cat**\n* Apple Inc.", ["Big cat", "Apple Inc."]),
    ('"big cat",\n"car"', ["big cat", "car"]),
    ("big cat\ncar made by Jaguar Land Rover\nwhat does it cost to keep one?", None),
    ("  big   cat \r\n\r\ncar", ["big cat", "car"]),
    ('["big cat", "", " ", "Big  Cat", "car", "CAR "]', ["big cat", "car"]),
    ("1、美洲豹 动物\n2、捷豹 汽车", ["美洲豹 动物", "捷豹 汽车"]),
    ('["Straße", "STRASSE", "жаба"]', ["Straße", "жаба"]),
])  # fmt: skip
def test_lists_are_read(answer: str, names: list[str] | None) -> None:
    assert parse_names(answer) == (answer.splitlines() if names is None else names)


@pytest.mark.parametrize("answer", [
    "",
    "   \n",
    "I am sorry, but I cannot help with that.",
    "big cat",
    "Jaguar may mean the big cat, the car or the system.\nTell me more about what you want!",
    "The word has several meanings, which I list here one after the other for you\nbig cat",
    "1. big cat\nand then there is the car",
    "- big cat\n- car\n\nTell me if you need more.",
    '["big cat", 2]',
    '["big cat", ["car"]]',
    '{"names": ["big cat"], "more": []}',
    '["big cat", "car"',
    '["big cat"] and ["car"]',
    "- " + "cat " * 80,
    "[" * 100_000,
])  # fmt: skip
def test_anything_else_is_refused_and_shown(answer: str) -> None:
    with pytest.raises(ValueError, match="expected a JSON list of subtopics, numbered") as error:
        parse_names(answer)
    assert repr(answer)[:150] in str(error.value)
    assert len(str(error.value)) < 400


# Prompts


def test_the_prompt_holds_the_query_the_limit_and_the_first_texts_only_where_asked() -> None:
    llm = Llm(LISTED)
    assert Namer(llm)("what is {limit}?") == NAMES
    assert llm.prompts[0].splitlines()[0].endswith("search engine: what is {limit}?")
    assert "up to 10 different" in llm.prompts[0]
    Namer(llm, limit=5)(QUERY, ["about {query}"])
    assert "document" not in llm.prompts[1]
    Namer(llm, results=2)(QUERY, ["about\n{query}", "x" * 999, "third"])
    assert f"- about {{query}}\n- {'x' * 200}...\nName up to" in llm.prompts[2]
    assert "third" not in llm.prompts[2]
    Namer(llm, prompt="Senses of {query}?")(QUERY)
    assert llm.prompts[3] == "Senses of jaguar?"
    assert "{query}" in PROMPT


def test_no_more_names_than_the_limit_come_back_the_first_ones() -> None:
    many = json.dumps([f"jaguar {i}" for i in range(500)])
    assert Namer(Llm(many))(QUERY) == [f"jaguar {i}" for i in range(10)]
    assert Namer(Llm(many), limit=3)(QUERY) == ["jaguar 0", "jaguar 1", "jaguar 2"]


@pytest.mark.parametrize(("query", "name", "told"), [
    ("jaguar", "big cat", "jaguar: big cat"),
    ("jaguar", "Jaguars in the wild", "Jaguars in the wild"),
    ("Cushing syndrome", "treatment", "Cushing syndrome: treatment"),
    ("the game of go", "the board", "the game of go: the board"),
    ("the game of go", "rules of the game", "rules of the game"),
    ("B-52", "rock band", "B-52: rock band"),
    ("B-52", "B-52 cocktail", "B-52 cocktail"),
    ("美洲豹", "美洲豹汽车", "美洲豹汽车"),
    ("Assisted suicide should be a criminal offence", "slippery slope", "slippery slope"),
    (None, "big cat", "big cat"),
    ("?", "big cat", "big cat"),
])  # fmt: skip
def test_what_is_compared_is_about_the_query_and_the_name(query: str | None, name: str, told: str) -> None:
    assert about(query, name) == told


def test_names_without_the_querys_words_are_embedded_with_them() -> None:
    asked: list[str] = []

    def remembered(texts: list[str]) -> Any:
        asked.extend(texts)
        return embed(texts)

    show(lambda query: ["big cat", "jaguar car"], embed=remembered)
    show(["big cat"], embed=remembered)
    show(["big cat"], embed=remembered, query_text=None)
    assert asked == ["jaguar: big cat", "jaguar car", "jaguar: big cat", "big cat"]


# Caches


@pytest.mark.parametrize("kind", [dict, "folder"])
def test_each_prompt_of_each_model_is_asked_once(kind: Any, tmp_path: Path) -> None:
    cache: Any = {} if kind is dict else tmp_path / "a" / "b"
    llm = Llm(LISTED, '["another"]', '["a third"]', '["a fourth"]')
    assert [Namer(llm, cache=cache)(QUERY) for _ in range(3)] == [NAMES] * 3
    assert len(llm.prompts) == 1
    assert asyncio.run(Namer(llm, cache=cache).later(QUERY)) == NAMES
    assert Namer(llm, cache=cache, limit=2)(QUERY) == ["another"]
    assert Namer(llm, cache=cache)("python") == ["a third"]
    assert Namer(llm, cache=cache, model="another model")(QUERY) == ["a fourth"]
    assert asyncio.run(Namer(llm, cache=cache).later("java")) == NAMES
    assert len(llm.prompts) == 5
    texts = list(cache.values()) if kind is dict else [path.read_text() for path in cache.iterdir()]
    assert sorted(json.loads(text)["query"] for text in texts) == ["jaguar", "jaguar", "jaguar", "java", "python"]


def test_an_answer_that_is_refused_is_not_kept_and_a_broken_entry_is_named(tmp_path: Path) -> None:
    llm = Llm("no list", LISTED)
    namer = Namer(llm, cache=tmp_path)
    refused(lambda: namer(QUERY), "expected a JSON list")
    assert list(tmp_path.iterdir()) == []
    assert namer(QUERY) == NAMES
    (path,) = tmp_path.iterdir()
    for broken in ("", "[]", '{"subtopics": 3}', '{"subtopics": [3]}'):
        path.write_text(broken)
        refused(lambda: namer(QUERY), f"the cache holds no names at '{path.stem}'.*remove that")


def test_what_was_answered_is_kept_though_a_later_query_fails_and_the_limit_is_not_part_of_it() -> None:
    cache: dict[str, str] = {}
    llm = Llm(LISTED, RAISES)
    refused(lambda: Namer(llm, cache=cache).many(["jaguar", "java"]), "the model is down", DownError)
    assert [json.loads(text)["query"] for text in cache.values()] == ["jaguar"]
    plain = {"prompt": "{query}?", "cache": cache}
    assert Namer(Llm(LISTED), limit=1, **plain)(QUERY) == NAMES[:1]
    assert Namer(Llm(RAISES), **plain)(QUERY) == NAMES


def test_equal_queries_of_a_batch_are_asked_once() -> None:
    llm = Llm(LISTED)
    queries = ["jaguar", "java", "jaguar"]
    assert Namer(llm).many(queries) == [NAMES] * 3
    assert len(llm.prompts) == 2
    found = diversify(None, [DOCUMENTS] * 3, 6, subtopics=Namer(llm), query_text=queries, embed=embed)
    assert len(llm.prompts) == 4
    assert len(found.indices) == 3


# Functions


def test_a_function_names_what_a_list_would() -> None:
    listed = show(NAMES)
    assert listed != show(None)
    for names in (lambda query: NAMES, lambda query: tuple(NAMES), lambda query: embed(NAMES), Namer(Llm(LISTED))):
        assert show(names) == listed
    for vectors in (np.array(embed(NAMES)), np.array(NAMES)):
        assert show(lambda query, vectors=vectors: vectors) == listed


def test_without_names_nothing_changes() -> None:
    for names in (lambda query: [], lambda query: None, lambda query: ["", " "], Namer(Llm("[]"))):
        assert show(names) == show(None)


def test_the_documents_texts_go_to_those_who_ask_for_them() -> None:
    seen: list[Any] = []

    def both(query: str, texts: Any) -> Any:
        seen.append((query, list(texts)))
        return NAMES

    class Asks:
        wants_texts = True

        def __call__(self, query: str, **given: Any) -> Any:
            return both(query, **given)

    for names in (both, Asks()):
        assert show(names, texts=TEXTS) == show(NAMES)
    assert seen == [(QUERY, TEXTS)] * 2
    llm = Llm(LISTED)
    show(Namer(llm, results=1), texts=TEXTS)
    show(Namer(llm), texts=TEXTS)
    assert ["document 0" in prompt for prompt in llm.prompts] == [True, False]
    assert [wants_texts(names) for names in (both, Asks(), str, Namer(llm), Namer(llm, results=1))] == [
        True, True, False, False, True,
    ]  # fmt: skip
    refused(lambda: show(both), "the function that names its subtopics needs the documents' texts; give texts=")
    batch: dict[str, Any] = {"query_text": ["a", "b"], "texts": [TEXTS, None], "embed": embed}
    refused(
        lambda: diversify(None, [DOCUMENTS] * 2, 6, subtopics=both, **batch),
        "topic '1': the function that names its subtopics",
    )


async def names_later(query: str) -> Any:
    return NAMES


async def asks_later(prompt: str) -> str:
    return LISTED


def test_functions_for_asynchronous_code() -> None:
    for names in (names_later, lambda query: NAMES, Namer(Llm(LISTED)), Namer(asks_later)):
        assert asyncio.run(named_later(names, QUERY, None, "0")) == NAMES
    refused(lambda: show(names_later), "names the subtopics of 'jaguar' is asynchronous; await it", TypeError)
    refused(lambda: show(Namer(asks_later)), r"asks_later answers later .*await Namer\.later", TypeError)


@pytest.mark.parametrize(("subtopics", "changes", "error", "message"), [
    (Namer(Llm(RAISES)), {}, DownError, "the model is down"),
    (Llm(RAISES), {}, DownError, "the model is down"),
    (Namer(Llm("")), {}, ValueError, "expected a JSON list .*answered ''"),
    (Namer(Llm(None)), {}, TypeError, "a model must answer with text, got None"),
    (Namer(Llm("I would say the cat.")), {}, ValueError, "answered 'I would say the cat.'"),
    (lambda query: "cat, car", {}, TypeError, "must give a list of texts or of vectors, got 'cat, car'; .*Namer"),
    (lambda query: ["cat", 7], {}, TypeError, r"must give a list of texts or of vectors, got \['cat', 7\]"),
    (lambda query: {"cat": 1}, {}, TypeError, "must give a list of texts or of vectors, got {'cat': 1}"),
    (lambda query: 7, {}, TypeError, "must give a list of texts or of vectors, got 7"),
    (lambda query: np.ones((2, 3)), {}, ValueError, r"subtopic_vectors has shape \(2, 3\), expected \(2, 4\)"),
    (lambda query: NAMES, {"query_text": None}, ValueError, r"^this query has no query text \(query_text=\)"),
    (lambda query: NAMES, {"query_text": "  "}, ValueError, "has no query text"),
    (lambda query: NAMES, {"query_text": 7}, TypeError, r"query_text must be text, got 7 \(int\)"),
    (lambda query: NAMES, {"embed": None}, ValueError, r"subtopics are texts \('jaguar big cat', ...\): give embed="),
    (Namer(Llm(RAISES)), {"embed": None}, ValueError, "subtopics are texts that a model names: give embed="),
    (Namer(Llm(RAISES)), {"ranker": "mmr"}, ValueError, "'mmr' cannot use subtopics; .*: xquad, pm2, vrisker, safe"),
    (lambda query: NAMES, {"subtopic_scores": np.ones((6, 2))}, ValueError, r"shape \(6, 2\), expected \(6, 3\)"),
    (lambda query: NAMES, {"subtopic_scores": np.ones(6)}, ValueError, r"scores have shape \(6,\), expected \(6, S\)"),
])  # fmt: skip
def test_what_cannot_be_used_is_named(subtopics: Any, changes: Any, error: type[Exception], message: str) -> None:
    refused(lambda: show(subtopics, **changes), message, error)


@pytest.mark.parametrize("names", [
    [f"jaguar {i}" for i in range(500)],
    ["", "jaguar car", " "],
    ["jaguar car", "Jaguar  Car", "JAGUAR CAR"],
    ["ягуар автомобиль", "美洲豹"],
])  # fmt: skip
def test_odd_names_rank_all_documents(names: list[str]) -> None:
    for subtopics in (lambda query: names, Namer(Llm(json.dumps(names)))):
        assert sorted(show(subtopics)) == list(range(6))
    assert show(lambda query: names) == show(lambda query: tidied(names))


@pytest.mark.parametrize("scores", [
    np.ones((6, 3)),
    np.full((6, 3), np.nan),
    -np.eye(6)[:, :3],
    np.where(np.arange(6)[:, None] == 1, np.nan, np.eye(6)[:, :3]),
])  # fmt: skip
def test_odd_scores_of_names_rank_all_documents(scores: Any) -> None:
    for ranker in ("safe", "pm2", "xquad"):
        for lookup in (embed, None):
            shown = show(Namer(Llm(LISTED)), subtopic_scores=scores, ranker=ranker, embed=lookup)
            assert sorted(shown) == list(range(6))


def test_errors_say_of_which_query_they_are_and_stay_those_of_the_client() -> None:
    for raising in (Llm(RAISES), Namer(Llm(RAISES))):
        with pytest.raises(DownError) as error:
            show(raising)
        assert "while the subtopics of 'jaguar' were named" in error.value.__notes__
        RAISES.__notes__ = []
    with pytest.raises(DownError) as error:
        asyncio.run(Namer(Llm(RAISES)).later(QUERY))
    assert "while the subtopics of 'jaguar' were named" in error.value.__notes__


@pytest.mark.parametrize(("options", "error", "message"), [
    ({"limit": 0}, ValueError, "limit must be at least 1"),
    ({"limit": "10"}, TypeError, "limit must be a whole number"),
    ({"results": -1}, ValueError, "results must be at least 0"),
    ({"prompt": "List subtopics."}, ValueError, "prompt must hold {query}, got 'List subtopics.'"),
    ({"prompt": "{query}?", "results": 3}, ValueError, "prompt must hold {texts}, which results= fills"),
    ({"cache": 7}, TypeError, "cache must be a folder or a mapping from text to text, got int"),
    ({"llm": 7}, TypeError, "llm must be a LangChain chat model, .* got int"),
    ({"llm": dict}, TypeError, "llm must be"),
    ({"llm": client_with(print)}, ValueError, "SimpleNamespace asks one of many models: give model=, its name"),
])  # fmt: skip
def test_odd_options_are_named(options: Any, error: type[Exception], message: str) -> None:
    refused(lambda: Namer(**({"llm": Llm(LISTED)} | options)), message, error)


# The interface of openai's client, which local servers speak


def recorded() -> dict[str, list[str]]:
    """Lists that a large language model wrote for AMBIENT's queries, where they are; else one."""
    folder = os.environ.get("SRD_DATA_DIR")
    path = Path(folder or "", "named", "named-ambient.jsonl")
    if not folder or not path.exists():
        return {"1": NAMES}
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return {row["query_id"]: row["subtopics"] for row in rows}


RECORDED = recorded()


def answer(asked: dict[str, Any]) -> str:
    """The recorded list, each in another form that models use."""
    (message,) = asked["messages"]
    assert (asked["model"], message["role"]) == ("small", "user")
    query_id = message["content"].splitlines()[0].rpartition("query ")[2]
    names = RECORDED[query_id]
    return ("\n".join(f"{i}. {name}" for i, name in enumerate(names, 1)), json.dumps(names))[int(query_id) % 2]


@pytest.fixture
def clients() -> Iterator[Any]:
    """Two clients of a server on this machine: one waits for answers, one is asynchronous."""
    with asking(answer) as create:

        async def create_later(**asked: Any) -> Any:
            return await asyncio.to_thread(create, **asked)

        yield client_with(create), client_with(create_later)


def test_a_local_server_names_what_was_recorded(clients: Any, tmp_path: Path) -> None:
    waits, later = clients
    namer = Namer(waits, model="small", limit=20, cache=tmp_path)
    queries = [f"query {query_id}" for query_id in RECORDED]
    assert namer.many(queries) == list(RECORDED.values())
    assert len(list(tmp_path.iterdir())) == len(RECORDED)
    unkept = Namer(later, model="small", limit=20)
    for names in (namer, unkept):
        assert asyncio.run(names.later("query 1")) == RECORDED["1"]
    refused(lambda: unkept("query 1"), "small answers later", TypeError)
