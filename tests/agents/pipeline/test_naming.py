"""Subtopics named by a language model or any function: what is asked, read and refused."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from chat_server import asking, client_with
from namers import DOCUMENTS, LISTED, NAMES, QUERY, RAISES, TEXTS, DownError, Llm, Nameless, embed, show
from small_topics import refused

from srd_agents import diversify, make_ranker
from srd_agents.llm.answers import tidied
from srd_agents.pipeline.naming import PROMPT, Namer, about, named_later, wants_texts
from srd_agents.pipeline.safe import Safe

# Answers


@pytest.mark.parametrize(("answer", "names"), [
    ("  big   cat \r\n\r\ncar", ["big cat", "car"]),
    ('["big cat", "", " ", "Big  Cat", "car", "CAR "]', ["big cat", "car"]),
    ('["Straße", "STRASSE", "жаба"]', ["Straße", "жаба"]),
])  # fmt: skip
def test_names_are_tidied_and_each_comes_once(answer: str, names: list[str]) -> None:
    assert Namer(Llm(answer))(QUERY) == names


# Prompts


def test_the_prompt_holds_the_query_the_limit_and_the_first_texts_only_where_asked() -> None:
    llm = Llm(LISTED)
    assert Namer(llm)("what is {limit}?") == NAMES
    assert llm.prompts[0].splitlines()[0].endswith("search engine: what is {limit}?")
    assert "up to 10 different" in llm.prompts[0]
    Namer(llm, max_subtopics=5)(QUERY, ["about {query}"])
    assert "document" not in llm.prompts[1]
    Namer(llm, n_docs=2)(QUERY, ["about\n{query}", "x" * 999, "third"])
    assert f"- about {{query}}\n- {'x' * 200}...\nName up to" in llm.prompts[2]
    assert "third" not in llm.prompts[2]
    Namer(llm, prompt="Senses of {query}?")(QUERY)
    assert llm.prompts[3] == "Senses of jaguar?"
    assert "{query}" in PROMPT


def test_no_more_names_than_the_limit_come_back_the_first_ones() -> None:
    many = json.dumps([f"jaguar {i}" for i in range(500)])
    assert Namer(Llm(many))(QUERY) == [f"jaguar {i}" for i in range(10)]
    assert Namer(Llm(many), max_subtopics=3)(QUERY) == ["jaguar 0", "jaguar 1", "jaguar 2"]


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


# Answers of no use


NO_USE = [
    RAISES, TimeoutError("too slow"), TimeoutError(), "", None, 7, "I'm sorry, but I can't help with that.", b"[]",
    "Jaguar may mean the big cat, the car or the system.", ["big cat"],
]  # fmt: skip


@pytest.mark.parametrize("answer", NO_USE, ids=repr)
def test_without_an_answer_of_use_the_ranking_is_kept_and_says_so(answer: Any, tmp_path: Path) -> None:
    namer = Namer(Llm(answer), model="one", cache=tmp_path / "cache")
    asked: dict[str, Any] = {"query_text": QUERY, "embed": embed, "scores": range(6, 0, -1), "subtopics": namer}
    with pytest.warns(UserWarning, match="subtopics of 'jaguar': the model gave no usable answer") as warned:
        results = [diversify(None, DOCUMENTS, 6, **asked) for _ in range(3)]
    assert len(warned) == 1
    for found in results:
        assert found.indices.tolist() == show(None)
        assert "a model named no subtopics (" in found.note
        assert "by the named subtopics" not in found.note
        assert "\n" not in found.note
    assert namer(QUERY) == asyncio.run(namer.agenerate(QUERY)) == []
    assert "a model named no subtopics (" in asyncio.run(namer.agenerate(QUERY)).note
    kind = "failed" if isinstance(answer, Exception) else "wrong_format"
    assert dict(namer.counts) == {"prompts": 6, "asked": 6, kind: 6}
    assert not (tmp_path / "cache").exists()


@pytest.mark.parametrize("ranker", ["safe", "xquad", "pm2"])
@pytest.mark.parametrize("by", ["one by one", "side by side"])
def test_in_a_batch_the_other_queries_keep_their_names(ranker: str, by: str) -> None:
    class Batches(Nameless):
        def batch(self, prompts: list[str], return_exceptions: bool) -> list[Any]:
            assert return_exceptions
            return [answers(prompt) for prompt in prompts]

    def answers(prompt: str) -> Any:
        if "python" in prompt:
            return DownError("rate limit") if by == "side by side" else down()
        return "I can't help." if "java" in prompt else LISTED

    def down() -> Any:
        raise DownError("rate limit")

    llm = answers if by == "one by one" else Batches()
    queries = ["jaguar", "python", "jaguar", "java", "lion"]
    asked: dict[str, Any] = {"query_text": queries, "embed": embed, "scores": [range(6, 0, -1)] * 5, "ranker": ranker}
    namer = Namer(llm)
    with pytest.warns(UserWarning, match="subtopics of 'python': .*rate limit") as warned:
        found = diversify(None, [DOCUMENTS] * 5, 6, **asked, subtopics=namer)
    assert len(warned) == 1
    wanted = [NAMES, None, NAMES, None, NAMES]
    lists = [
        show(names, ranker=ranker if names else "safe", query_text=query)
        for names, query in zip(wanted, queries, strict=True)
    ]
    assert found.indices.tolist() == lists
    assert [("named no subtopics" in note) for note in found.notes] == [False, True, False, True, False]
    assert dict(namer.counts) == {"prompts": 5, "asked": 4, "failed": 1, "wrong_format": 1}


def test_a_note_of_words_and_one_of_names_stand_together() -> None:
    pytest.importorskip("sklearn")
    with pytest.warns(UserWarning, match="no usable answer"):
        found = diversify(texts=TEXTS, query_text=QUERY, k=3, subtopics=Namer(Llm("")))
    assert "a model named no subtopics" in found.note
    assert "words" in found.note


@pytest.mark.parametrize("answer", NO_USE, ids=repr)
def test_errors_are_raised_where_that_is_asked_for(answer: Any) -> None:
    kind = type(answer) if isinstance(answer, Exception) else ValueError if isinstance(answer, str) else TypeError
    namer = Namer(Llm(answer), on_error="raise")
    for call in (lambda: namer(QUERY), lambda: show(namer), lambda: asyncio.run(namer.agenerate(QUERY))):
        vars(answer).clear() if isinstance(answer, Exception) else None
        with pytest.raises(kind) as error:
            call()
        assert error.value.__notes__ == ["while a model was asked for subtopics of 'jaguar'"]


def test_an_interrupt_is_no_answer() -> None:
    class Stopped(Llm):
        def __call__(self, prompt: str) -> Any:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        show(Namer(Stopped()))


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
        for ranker in (None, "safe", "xquad", "pm2", "vrisker"):
            assert show(names, ranker=ranker) == show(None)


@pytest.mark.parametrize("ranker", ["xquad", "pm2", "vrisker", make_ranker("safe", near_duplicates=None)])
def test_a_query_without_subtopics_is_ranked_by_safe_however_that_is_said(ranker: Any) -> None:
    batch: dict[str, Any] = {"scores": [[6, 5, 4, 3, 2, None]] * 4, "query_text": list("abcd")}
    some, safe = embed(NAMES), ranker if isinstance(ranker, Safe) else "safe"
    named, unnamed = (
        diversify(None, DOCUMENTS, 6, by, scores=range(6, 0, -1), subtopics=vectors).indices.tolist()
        for by, vectors in ((ranker, some), (safe, None))
    )
    assert named != unnamed
    for subtopics in ([some, None, [], some], {"a": some, "b": None, "c": [], "d": some}.get):
        with pytest.warns(UserWarning, match="without a score") as told:
            found = diversify(None, [DOCUMENTS] * 4, 6, ranker, subtopics=subtopics, **batch)
        assert found.indices.tolist() == [named, unnamed, unnamed, named]
        assert [each.filename for each in told] == [__file__], "one warning for the call, at the call"
    assert show([], ranker=ranker) == show(lambda query: None, ranker=ranker) == unnamed


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
    show(Namer(llm, n_docs=1), texts=TEXTS)
    show(Namer(llm), texts=TEXTS)
    assert ["document 0" in prompt for prompt in llm.prompts] == [True, False]
    assert [wants_texts(names) for names in (both, Asks(), str, Namer(llm), Namer(llm, n_docs=1))] == [
        True, True, False, False, True,
    ]  # fmt: skip
    refused(lambda: show(both), "needs the documents' texts; give texts=")
    batch: dict[str, Any] = {"query_text": ["a", "b"], "texts": [TEXTS, None], "embed": embed}
    refused(
        lambda: diversify(None, [DOCUMENTS] * 2, 6, subtopics=both, **batch),
        "topic '1': the function that names",
    )


async def names_later(query: str) -> Any:
    return NAMES


async def asks_later(prompt: str) -> str:
    return LISTED


def test_functions_for_asynchronous_code() -> None:
    for names in (names_later, lambda query: NAMES, Namer(Llm(LISTED)), Namer(asks_later)):
        assert asyncio.run(named_later(names, QUERY, None, "0")) == NAMES
    refused(lambda: show(names_later), "of 'jaguar' is asynchronous; await it", TypeError)
    refused(lambda: show(Namer(asks_later)), r"answers later .*await Namer\.agenerate", TypeError)


@pytest.mark.parametrize(("subtopics", "changes", "error", "message"), [
    (Namer(Llm(""), on_error="raise"), {}, ValueError, "expected a JSON list .*answered ''"),
    (Namer(Llm(None), on_error="raise"), {}, TypeError, "a model must answer with text, got None"),
    (lambda query: "cat, car", {}, TypeError, "list of texts .*got 'cat, car'; .*Namer"),
    (lambda query: ["cat", 7], {}, TypeError, r"list of texts .*got \['cat', 7\]"),
    (lambda query: np.ones((2, 3)), {}, ValueError, r"subtopic_vectors has shape \(2, 3\)"),
    (lambda query: NAMES, {"query_text": None}, ValueError, "^this query has no query text"),
    (lambda query: NAMES, {"query_text": "  "}, ValueError, "has no query text"),
    (lambda query: NAMES, {"query_text": 7}, TypeError, r"query_text must be text, got 7 \(int\)"),
    (lambda query: NAMES, {"embed": None}, ValueError, "subtopics are texts .*: give embed="),
    (Namer(Llm(RAISES)), {"embed": None}, ValueError, "that a model names: give embed="),
    (Namer(Llm(RAISES)), {"ranker": "mmr"}, ValueError, "'mmr' cannot use subtopics"),
    (lambda query: NAMES, {"subtopic_scores": np.ones((6, 2))}, ValueError, r"shape \(6, 2\), expected \(6, 3\)"),
    (lambda query: NAMES, {"subtopic_scores": np.ones(6)}, ValueError, r"scores have shape \(6,\)"),
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


def test_errors_of_a_function_say_of_which_query_they_are_and_stay_as_they_are() -> None:
    with pytest.raises(DownError) as error:
        show(Llm(RAISES))
    assert "while the subtopics of 'jaguar' were named" in error.value.__notes__
    del RAISES.__notes__


@pytest.mark.parametrize(("options", "error", "message"), [
    ({"max_subtopics": 0}, ValueError, "max_subtopics must be at least 1"),
    ({"n_docs": -1}, ValueError, "n_docs must be at least 0"),
    ({"prompt": "List subtopics."}, ValueError, "prompt must hold {query}"),
    ({"prompt": "{query}?", "n_docs": 3}, ValueError, "prompt must hold {texts}"),
    ({"on_error": "skip"}, ValueError, "unknown on_error 'skip'.*order, raise"),
    ({"cache": 7}, TypeError, "cache must be a folder or a mapping"),
    ({"llm": 7}, TypeError, "llm must be a LangChain chat model"),
    ({"llm": client_with(print)}, ValueError, "one of many models: give model="),
])  # fmt: skip
def test_odd_options_are_named(options: Any, error: type[Exception], message: str) -> None:
    refused(lambda: Namer(**({"llm": Llm(LISTED)} | options)), message, error)


# The interface of openai's client, which local servers speak


def test_either_client_of_a_local_server_names() -> None:
    asked: list[Any] = []

    def answer(question: Any) -> str:
        asked.append(question)
        return LISTED

    with asking(answer) as create:

        async def create_later(**asked: Any) -> Any:
            return await asyncio.to_thread(create, **asked)

        waits, later = (Namer(client_with(method), model="small") for method in (create, create_later))
        assert waits.many([QUERY, "java"]) == [NAMES] * 2
        assert asyncio.run(waits.agenerate(QUERY)) == asyncio.run(later.agenerate(QUERY)) == NAMES
        refused(lambda: later(QUERY), "a client that answers later", TypeError)
    assert {(question["model"], question["messages"][0]["role"]) for question in asked} == {("small", "user")}


def test_texts_may_be_an_array() -> None:
    namer = Namer(lambda prompt: '["cat"]', n_docs=1)
    assert namer.many(["jaguar"], [np.array(["a text", "another"])]) == [["cat"]]  # type: ignore[list-item]
    assert asyncio.run(named_later(namer, "jaguar", np.array(["a text", "another"]), "q")) == ["cat"]
