"""Subtopics named by a language model: which answers a cache keeps, reads and refuses."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from namers import LISTED, NAMES, QUERY, RAISES, DownError, Llm, Nameless, embed, show
from small_topics import refused

from srd_agents.pipeline.naming import Namer


@pytest.mark.parametrize("kind", [dict, "folder"])
def test_each_prompt_of_each_model_is_asked_once(kind: Any, tmp_path: Path) -> None:
    cache: Any = {} if kind is dict else tmp_path / "a" / "b"
    llm = Llm(LISTED, '["another"]', '["a third"]', '["a fourth"]')
    kept: dict[str, Any] = {"model": "one", "cache": cache}
    assert [Namer(llm, **kept)(QUERY) for _ in range(3)] == [NAMES] * 3
    assert len(llm.prompts) == 1
    assert asyncio.run(Namer(llm, **kept).agenerate(QUERY)) == NAMES
    assert Namer(llm, **kept, max_subtopics=2)(QUERY) == ["another"]
    assert Namer(llm, **kept)("python") == ["a third"]
    assert Namer(llm, **kept | {"model": "two"})(QUERY) == ["a fourth"]
    assert asyncio.run(Namer(llm, **kept).agenerate("java")) == NAMES
    assert len(llm.prompts) == 5
    texts = list(cache.values()) if kind is dict else [path.read_text() for path in cache.iterdir()]
    about = sorted(json.loads(text)["about"].rpartition(" ")[2] for text in texts)
    assert about == ["'jaguar'", "'jaguar'", "'jaguar'", "'java'", "'python'"]


def test_an_answer_of_another_model_or_prompt_is_not_read(tmp_path: Path) -> None:
    """A cache file that was moved or edited is not used: the model is asked again."""
    llm = Llm(LISTED, '["another"]')
    namer = Namer(llm, model="one", cache=tmp_path)
    assert namer(QUERY) == NAMES
    (path,) = tmp_path.iterdir()
    content = path.read_text()
    for changed in ({"model": "two"}, {"key": "0" * 64}, {"answer": "I'm sorry."}, {"answer": None}):
        path.write_text(json.dumps(json.loads(content) | changed))
        llm.prompts = [""]
        assert namer(QUERY) == ["another"]
        assert len(llm.prompts) == 2
    assert namer(QUERY) == ["another"]
    assert len(llm.prompts) == 2


@pytest.mark.parametrize("llm", [Llm(LISTED), lambda prompt: LISTED, embed, Nameless()])
def test_a_model_without_a_name_needs_one_for_a_cache(llm: Any, tmp_path: Path) -> None:
    for cache in ({}, tmp_path):
        refused(lambda cache=cache: Namer(llm, cache=cache), "by the model's name.*give model=")
    assert Namer(llm, cache=tmp_path, model="one")
    llm = Nameless()
    llm.model = "unknown"  # what LlamaIndex calls a model that it does not know
    refused(lambda: Namer(llm, cache={}), "give model=")
    llm.model = "small"
    assert Namer(llm, cache={})(QUERY) == NAMES


@pytest.mark.parametrize("damage", [
    b"", b"[]", b"null", b'{"subtopics": "jaguar"}', b'{"subtopics": ["jaguar"]}', b'{"key": ', b"\xff\xfe\x00",
    b'{"a": "\xe9"}',
    b"[" * 100_000, b'{"answer": ' + b"[" * 100_000,
])  # fmt: skip
def test_a_damaged_cache_is_named_in_one_line(damage: bytes, tmp_path: Path) -> None:
    for on_error in ("order", "raise"):
        namer = Namer(Llm(LISTED), model="one", cache=tmp_path, on_error=on_error)
        namer(QUERY)
        (path,) = tmp_path.iterdir()
        path.write_bytes(damage)
        with pytest.raises(ValueError, match="remove it, and the model is asked again") as error:
            show(namer)
        assert type(error.value) is ValueError
        assert str(path) in str(error.value)
        assert "\n" not in str(error.value)
        path.unlink()
    cache = {}
    namer = Namer(Llm(LISTED), model="one", cache=cache)
    namer(QUERY)
    (key,) = cache
    cache[key] = damage
    refused(lambda: namer(QUERY), f"{key}: not (an answer|UTF-8 text)")


def test_what_was_answered_is_kept_though_a_later_query_fails_and_the_limit_is_not_part_of_it() -> None:
    cache: dict[str, str] = {}
    llm = Llm(LISTED, RAISES)
    kept: dict[str, Any] = {"model": "one", "cache": cache}
    strict = Namer(llm, **kept, on_error="raise")
    refused(lambda: strict.many(["jaguar", "java"]), "the model is down", DownError)
    assert [json.loads(text)["about"] for text in cache.values()] == ["subtopics of 'jaguar'"]
    plain = {"prompt": "{query}?", **kept}
    assert Namer(Llm(LISTED), max_subtopics=1, **plain)(QUERY) == NAMES[:1]
    assert Namer(Llm(RAISES), **plain)(QUERY) == NAMES
