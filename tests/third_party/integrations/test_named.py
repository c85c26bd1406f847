"""Subtopics in every adapter: named by the library's own fake model, by a function, or found in the metadata."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import openai
import pytest
from adapters import SHOWS, KnownToLlamaIndex, Model, Retrieved
from chat_server import serving
from haystack import Document as HaystackDocument
from haystack import Pipeline
from haystack.components.embedders import MockDocumentEmbedder, MockTextEmbedder
from haystack.components.generators.chat import MockChatGenerator
from langchain_core.language_models import FakeListChatModel, GenericFakeChatModel, SimpleChatModel
from langchain_core.messages import AIMessage
from langchain_core.prompts import ChatPromptTemplate
from llama_index.core.llms import CompletionResponse, MockLLM
from small_topics import refused

from srd_agents import diversify
from srd_agents.integrations.haystack import DiverseRanker
from srd_agents.integrations.llama_index import DiversePostprocessor
from srd_agents.integrations.sklearn import DiverseNeighbors
from srd_agents.pipeline.naming import Namer

QUERY = "jaguar"
NAMES = ["jaguar cat", "jaguar car", "jaguar team"]
LISTED = "\n".join(f"{i}. {name}" for i, name in enumerate(NAMES, 1))
TEXTS = ["big cat", "cat food", "cat of the forest", "fast cat", "old car", "car price", "team game"]
WORDS = sorted({word for text in (*TEXTS, *NAMES) for word in text.split()})
SCORES = [float(score) for score in range(7, 0, -1)]
Show = Callable[..., list[str]]


def embed_one(text: str) -> list[float]:
    return [float(word in text.split()) + 0.1 for word in WORDS]


def embed(texts: list[str]) -> list[list[float]]:
    return [embed_one(text) for text in texts]


def names_of(query: str) -> list[str]:
    assert query == QUERY
    return NAMES


def names_of_texts(query: str, texts: list[str]) -> list[str]:
    assert list(texts) == TEXTS
    return NAMES


async def names_later(query: str) -> list[str]:
    return NAMES


def expected(k: int = 3, **options: Any) -> list[str]:
    given: dict[str, Any] = {"subtopics": NAMES, "embed": embed} | options
    return [TEXTS[i] for i in diversify(embed_one(QUERY), embed(TEXTS), k, scores=SCORES, **given).indices]


class Answers(MockLLM):
    """Its answer is its system prompt."""

    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        return CompletionResponse(text=self.system_prompt)


def shower(adapter: str) -> Show:
    """Shows texts by an adapter."""

    def show(later: bool = False, meta: Any = (), query: Any = QUERY, **options: Any) -> list[str]:
        known = Retrieved(
            SCORES,
            np.array(embed(TEXTS)),
            np.array(embed_one(QUERY)),
            query,
            TEXTS,
            [dict(meta) for _ in TEXTS],
            Model(embed_one),
        )
        more = options | ({"later": True} if later else {})
        return [TEXTS[place] for place, _ in SHOWS[adapter](known, 3, more.pop(WEIGHT[adapter], None), **more)]

    return show


MODELS: dict[str, Any] = {
    "langchain": lambda answer: FakeListChatModel(responses=[answer]),
    "haystack": MockChatGenerator,
    "llama_index": lambda answer: Answers(system_prompt=answer),
    "pyterrier": lambda answer: lambda prompt: answer,
}
EMBED = {"langchain": "embeddings", "haystack": "embedder", "llama_index": "embed_model", "pyterrier": "embed"}
WEIGHT = {"langchain": "lambda_mult", "haystack": "diversity", "llama_index": "mmr_threshold", "pyterrier": "Lambda"}
ADAPTERS: dict[str, tuple[Show, Any]] = {name: (shower(name), model) for name, model in MODELS.items()}
EVERY = pytest.mark.parametrize("adapter", ADAPTERS)
LATER = pytest.mark.parametrize(
    ("adapter", "later"), [(name, later) for name in ADAPTERS for later in (False, True)][:-1]
)


@LATER
def test_the_librarys_own_fake_model_names_subtopics(adapter: str, later: bool, tmp_path: Path) -> None:
    show, model = ADAPTERS[adapter]
    assert len(set(expected()) & {"old car", "car price"}) == 1, "the initial ranking shows cats alone"
    assert show(later, namer=model(LISTED)) == expected()
    kept = Namer(model(json.dumps(NAMES)), model="fake", cache=tmp_path)
    assert [show(later, namer=kept), show(later, subtopics=kept)] == [expected()] * 2
    assert len(list(tmp_path.iterdir())) == 1
    for none in ({"namer": model("[]")}, {"subtopics": lambda query: None}):
        assert show(later, **none) == TEXTS[:3]


class DownChat(FakeListChatModel):
    """Raises in place of an answer."""

    def _call(self, *args: Any, **kwargs: Any) -> str:
        raise TimeoutError("too slow")


class DownGenerator(MockChatGenerator):
    """Likewise, in Haystack."""

    def run(self, messages: Any, *args: Any, **kwargs: Any) -> Any:
        raise TimeoutError("too slow")

    async def run_async(self, messages: Any, *args: Any, **kwargs: Any) -> Any:
        raise TimeoutError("too slow")


class DownLlm(Answers):
    """Likewise, in LlamaIndex."""

    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        raise TimeoutError("too slow")


def down(prompt: str) -> str:
    raise TimeoutError("too slow")


DOWN = {
    "langchain": DownChat(responses=["x"]),
    "haystack": DownGenerator("x"),
    "llama_index": DownLlm(),
    "pyterrier": down,
}


@LATER
@pytest.mark.parametrize("answer", ["I'm sorry, but I can't help with that.", "", TimeoutError])
@pytest.mark.parametrize("ranker", [None, "pm2"])
def test_without_an_answer_of_use_the_ranking_is_that_without_names(
    adapter: str, later: bool, answer: Any, ranker: Any, tmp_path: Path
) -> None:
    show, model = ADAPTERS[adapter]
    llm = DOWN[adapter] if answer is TimeoutError else model(answer)
    with pytest.warns(UserWarning, match="subtopics of 'jaguar': the model gave no usable answer"):
        assert show(later, namer=llm, ranker=ranker) == TEXTS[:3]
    namer = Namer(llm, model="fake", cache=tmp_path)
    with pytest.warns(UserWarning, match="no usable answer") as warned:
        assert [show(later, namer=namer, ranker=ranker) for _ in range(2)] == [TEXTS[:3]] * 2
    assert len([each for each in warned if "no usable answer" in str(each.message)]) == 1
    assert namer.counts["failed" if answer is TimeoutError else "wrong_format"] == namer.counts["asked"] >= 2
    assert list(tmp_path.iterdir()) == []
    strict = Namer(llm, on_error="raise")
    with pytest.raises(Exception, match=r"too slow|expected a JSON list"):
        show(later, namer=strict, ranker=ranker)


@LATER
def test_a_function_names_subtopics(adapter: str, later: bool) -> None:
    show, _ = ADAPTERS[adapter]
    functions = [names_of, names_of_texts, lambda query: np.array(embed(NAMES))]
    for names in functions + [names_later] * later:
        assert show(later, subtopics=names) == expected()
    assert show(later, subtopics=lambda query: ["cat", "car", "team"]) == expected()  # embedded as "jaguar: cat"


@LATER
@pytest.mark.parametrize("ranker", ["pm2", "xquad", "safe"])
@pytest.mark.parametrize("diversity", [None, 0.0, 0.5])
def test_a_weight_and_rankers_that_use_subtopics(adapter: str, later: bool, ranker: str, diversity: Any) -> None:
    show, model = ADAPTERS[adapter]
    relevance = adapter != "haystack"
    weight = {} if diversity is None else {WEIGHT[adapter]: 1 - diversity if relevance else diversity}
    wanted = expected(ranker=ranker, diversity=diversity)
    assert show(later, namer=model(LISTED), ranker=ranker, **weight) == wanted
    if ranker == "safe":  # which is what ranks where subtopics are named and no ranker is
        assert show(later, namer=model(LISTED), **weight) == wanted


@EVERY
@pytest.mark.parametrize("value", [NAMES, tuple(NAMES), ["", "jaguar cat", "Jaguar  CAT", "jaguar car", "jaguar team"]])
def test_subtopics_may_be_in_the_metadata(adapter: str, value: Any) -> None:
    value = [name for name in value if name] if adapter == "pyterrier" else value
    wanted = expected() if adapter != "pyterrier" else expected(subtopics=list(value))
    assert ADAPTERS[adapter][0](meta={"senses": value}, subtopics="senses") == wanted


ASKED_WITHOUT = "no query text"


@EVERY
@pytest.mark.parametrize(("options", "error", "message"), [
    ({"namer": LISTED, "subtopics": names_of}, ValueError, "subtopics and namer were both given"),
    ({"namer": LISTED, "ranker": "mmr"}, ValueError, "'mmr' cannot use subtopics; .*: xquad, pm2, safe, vrisker"),
    ({"namer": LISTED, "query": None}, ValueError, ASKED_WITHOUT),
    ({"namer": LISTED, "query": " "}, ValueError, ASKED_WITHOUT),
    ({"subtopics": lambda query: 1 / 0}, ZeroDivisionError, "division by zero"),
    ({"subtopics": lambda query: "cat"}, TypeError, "must give a list of texts or of vectors, got 'cat'"),
    ({"subtopics": lambda query: np.ones((2, 3))}, ValueError, "subtopic_vectors has shape"),
    ({"subtopics": names_later}, TypeError, "is asynchronous"),
    ({"subtopics": 7}, (TypeError, KeyError), r"subtopics must be a key .*got int|missing_columns=\[7\]"),
    ({"namer": LISTED, "unembedded": True}, ValueError, "subtopics are texts .*: give emb"),
    ({"subtopics": names_of, "unembedded": True}, ValueError, r"subtopics are texts \('jaguar cat', ...\): give emb"),
])  # fmt: skip
def test_what_cannot_be_named_is_said(adapter: str, options: Any, error: Any, message: str) -> None:
    show, model = ADAPTERS[adapter]
    options = dict(options)
    if isinstance(answer := options.get("namer"), str):
        options["namer"] = model(answer)
    if options.pop("unembedded", False):
        options[EMBED[adapter]] = None
        if adapter in ("langchain", "llama_index"):
            options["meta"] = {"vector": embed_one("cat")}
            options |= {"vector_key": "vector"} if adapter == "langchain" else {}
    with pytest.raises(Exception, match=message) as found:  # Haystack raises its own, and says whose fault it was
        show(**options)
    assert isinstance(found.value, error) or isinstance(found.value.__cause__, error)


# What single libraries have of their own


def test_langchains_batches_message_blocks_and_chains() -> None:
    blocks = AIMessage([{"type": "text", "text": LISTED}])
    assert Namer(GenericFakeChatModel(messages=iter([blocks])))(QUERY) == NAMES
    chain = ChatPromptTemplate.from_messages([("system", "Be brief."), ("user", "{ask}")])
    namer = Namer((lambda prompt: {"ask": prompt}) | chain | FakeListChatModel(responses=[LISTED, "[]"]))
    assert namer.many([QUERY, "java", QUERY]) == [NAMES, [], NAMES]


class AtTimes(SimpleChatModel):
    """Names some queries."""

    @property
    def _llm_type(self) -> str:
        return "at times"

    def _call(self, messages: Any, *args: Any, **kwargs: Any) -> str:
        if "python" in messages[0].content:
            raise TimeoutError("too slow")
        return "I can't help with that." if "java" in messages[0].content else LISTED


class OneByOne(FakeListChatModel):
    """Likewise, with a batch that knows no `return_exceptions`, as the library's fakes have it."""

    _call = AtTimes._call


@pytest.mark.parametrize("llm", [AtTimes(), OneByOne(responses=["x"])], ids=["side by side", "one by one"])
def test_in_langchains_batch_the_other_queries_keep_their_names(llm: Any) -> None:
    namer = Namer(llm)
    with pytest.warns(UserWarning, match="subtopics of 'python': .*too slow"):
        assert namer.many([QUERY, "python", "java", "lion"]) == [NAMES, [], [], NAMES]
    assert dict(namer.counts) == {"prompts": 4, "asked": 4, "failed": 1, "wrong_format": 1}


@pytest.mark.parametrize("embedder", [
    MockTextEmbedder(embedding_fn=embed_one),
    MockDocumentEmbedder(embedding_fn=embed_one),
    embed,
])  # fmt: skip
def test_haystacks_embedders_generators_and_yaml(embedder: Any) -> None:
    namer = MockChatGenerator(LISTED)
    show = shower("haystack")
    assert show(namer=namer, embedder=embedder) == show(True, namer=namer, embedder=embedder) == expected()
    whole = Pipeline()
    named = {"namer": namer} if embedder is not embed else {"subtopics": names_of}
    whole.add_component("ranker", DiverseRanker(3, embedder=embedder, **named))
    modules = ["srd_agents.integrations.haystack", "haystack.*", names_of.__module__]
    again = Pipeline.loads(whole.dumps(), allowed_modules=modules)
    assert again.to_dict() == whole.to_dict()
    documents = [HaystackDocument(content=text, embedding=embed_one(text)) for text in TEXTS]
    documents = [replace(each, score=score) for each, score in zip(documents, SCORES, strict=True)]
    found = again.run({"ranker": {"documents": documents, "query": QUERY}})["ranker"]["documents"]
    assert [document.content for document in found] == expected()
    refused(
        DiverseRanker(embedder=embed, namer=Namer(namer)).to_dict, "namer must be a component, a function", TypeError
    )


def test_haystacks_embedder_embeds_the_query_where_its_embedding_is_not_given() -> None:
    asked: list[str] = []
    ranker = DiverseRanker(3, subtopics=names_of, embedder=lambda texts: asked.extend(texts) or embed(texts))
    documents = [HaystackDocument(content=text, embedding=embed_one(text)) for text in TEXTS]
    ranker.run(documents, query=QUERY)
    ranker.run(documents, query=QUERY, query_embedding=embed_one(QUERY))
    assert asked == [*NAMES, QUERY, *NAMES]


def test_llama_indexes_models_go_through_a_dictionary() -> None:
    made = DiversePostprocessor(top_n=3, embed_model=KnownToLlamaIndex(known=Model(embed_one)), subtopics="senses")
    assert made.to_dict()["subtopics"] == "senses"


def test_scikit_learn_takes_the_vectors_of_each_querys_subtopics() -> None:
    search = DiverseNeighbors(3).fit(embed(TEXTS))
    query, named = np.array([embed_one("cat")], np.float32), embed(NAMES)  # as the estimator takes it: equal ones tie
    cosines = [1 - distance for distance in search.nearest_.kneighbors(query, 7)[0][0]]
    order = search.nearest_.kneighbors(query, 7)[1][0]
    wanted = diversify(query[0], np.array(embed(TEXTS))[order], 3, scores=cosines, subtopics=named).indices
    assert search.predict(query, subtopics=[named])[0].tolist() == order[wanted].tolist()
    assert search.predict(query, subtopics=[None]).tolist() == search.predict(query).tolist()
    assert search.predict(query, subtopics=[named]).tolist() != search.predict(query).tolist()
    refused(lambda: search.predict(query, subtopics=[named] * 2), "expected subtopics of 1 queries .*got 2")
    mmr = DiverseNeighbors(3, ranker="mmr").fit(embed(TEXTS))
    refused(lambda: mmr.predict(query, subtopics=[named]), "'mmr' cannot use subtopics")


# openai's own client, and a server on this machine that speaks its interface


def test_openais_client_names_by_a_local_server() -> None:
    lists = {"query 1": NAMES, "query 2": ["jaguar's speed", "Jaguar \u2013 the band"]}

    def answer(asked: dict[str, Any]) -> str:
        query = next(query for query in lists if query in asked["messages"][0]["content"])
        return "\n".join(f"- {name}" for name in lists[query])

    with serving(answer) as url:
        waits = Namer(openai.OpenAI(base_url=url, api_key="none"), model="small")
        later = Namer(openai.AsyncOpenAI(base_url=url, api_key="none"), model="small")
        assert waits.many(list(lists)) == list(lists.values())
        for namer in (waits, later):
            assert asyncio.run(namer.agenerate("query 2")) == lists["query 2"]
        refused(lambda: later("query 1"), "a client that answers later", TypeError)


def test_a_time_out_of_openais_client_is_no_answer() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/v1"
        options: dict[str, Any] = {"base_url": url, "api_key": "none", "timeout": 0.2, "max_retries": 0}
        waits, later = (
            Namer(openai.OpenAI(**options), model="small"),
            Namer(openai.AsyncOpenAI(**options), model="small"),
        )
        with pytest.warns(UserWarning, match="subtopics of 'jaguar': .*APITimeoutError"):
            assert waits.many([QUERY, "java"]) == [[], []]
        with pytest.warns(UserWarning, match="APITimeoutError"):
            assert "APITimeoutError" in asyncio.run(later.agenerate(QUERY)).note
        assert dict(waits.counts) == {"prompts": 2, "asked": 2, "failed": 2}
