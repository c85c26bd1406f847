from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from chat_server import asking, client_with
from small_topics import bare_topic, refused

from srd_agents import diversify, make_ranker
from srd_agents.llm.listwise import parse_permutation, windows
from srd_agents.llm.pointwise import parse_rating
from srd_agents.registry import import_own
from srd_gym.testing import check_ranker
from srd_gym.topic import Topic


def topic_of(worth: list[int], query_id: str = "q", **changes: Any) -> Topic:
    texts: dict[str, Any] = {"doc_texts": tuple(f"worth {value} {{query}} [9] > [1]" for value in worth)}
    ids = tuple(f"d{i}" for i in range(len(worth)))
    return bare_topic(0, query_id, doc_ids=ids, **({"query_text": f"query {query_id}"} | texts | changes))


def sorter(prompt: str) -> str:
    """A model that sorts perfectly what it is shown."""
    passages = re.findall(r"^\[(\d+)\] worth (\d+)", prompt, re.M)
    assert prompt.count("query q") == 2
    return " > ".join(f"[{number}]" for number, _ in sorted(passages, key=lambda each: -int(each[1])))


@pytest.mark.parametrize(("count", "expected"), [
    (0, []), (1, []), (2, [(0, 2)]), (20, [(0, 20)]), (25, [(5, 25), (0, 15)]), (30, [(10, 30), (0, 20)]),
    (100, [(start, start + 20) for start in range(80, -1, -10)]),
])  # fmt: skip
def test_windows_slide_from_tail_to_head_and_stay_inside(count: int, expected: list[tuple[int, int]]) -> None:
    assert list(windows(count, 20, 10)) == expected


@pytest.mark.parametrize(("answer", "order", "flaws"), [
    ("[2] > [3] > [1]", [1, 2, 0], {}),
    ("2 > 3 > 1.", [1, 2, 0], {}),
    ("[2, 3, 1]", [1, 2, 0], {}),
    ("[2]\n[3]\n[1]\n", [1, 2, 0], {}),
    ("<think>[1] > [2]? No.</think>\n[3] > [2] > [1]", [2, 1, 0], {}),
    ("```\n[3] > [2] > [1]\n```", [2, 1, 0], {}),
    ("[3] > [3] > [1] > [3]", [2, 0, 1], {"repeated": 2, "missing": 1}),
    ("[3] > [0] > [7] > [1]", [2, 0, 1], {"outside": 2, "missing": 1}),
    ("Here are the 3 passages, best first: [3] > [1]. Passage 2 is off.", [2, 0, 1], {"wrong_format": 1, "missing": 1}),
    ('{"rerank_list": "[2] > [1] > [3]"}', [1, 0, 2], {"wrong_format": 1}),
    ("I like 3 and 2.", [0, 1, 2], {"wrong_format": 1, "missing": 3}),
    ("", [0, 1, 2], {"wrong_format": 1, "missing": 3}),
    ("\u0662 > 1 > 3", [1, 0, 2], {}),  # a digit of another script
])  # fmt: skip
def test_permutations_are_read_strictly_repaired_and_counted(answer: str, order: list[int], flaws: Any) -> None:
    places, counted = parse_permutation(answer, 3)
    assert (places.tolist(), dict(counted)) == (order, flaws)


@pytest.mark.parametrize(("answer", "scale", "rating"), [
    ("4", "0-5", 4), ("Rating: 5/5", "0-5", 5), ("<think>5</think> 0.", "0-5", 0), ("[3]", "0-5", 3), (2, "0-5", 2),
    ("6", "0-5", None), ("4 or 5", "0-5", None), ("3.5", "0-5", None), ("none", "0-5", None), ("", "0-5", None),
    ("Yes.", "yes-no", 1), ("no", "yes-no", 0), ("**No**", "yes-no", 0), (0.25, "yes-no", 0.25),
    ("yes and no", "yes-no", None), ("not at all", "yes-no", None),
])  # fmt: skip
def test_ratings_are_read_strictly(answer: Any, scale: str, rating: float | None) -> None:
    assert parse_rating(answer, scale) == pytest.approx(float("nan") if rating is None else rating, nan_ok=True)


def test_one_pass_of_a_perfect_model_settles_the_first_ranks() -> None:
    worth = np.random.default_rng(0).permutation(100).tolist()
    ranker: Any = make_ranker("llm-listwise", llm=sorter)
    best = np.argsort(-np.array(worth))
    assert ranker.rank(topic_of(worth), 10).tolist() == best[:10].tolist()
    assert dict(ranker.counts) == {"prompts": 9, "asked": 9, "ok": 9}
    twice: Any = make_ranker("llm-listwise", llm=sorter, passes=2)
    assert twice.rank(topic_of(worth), 20).tolist() == best[:20].tolist()
    short = [topic_of([1, 3, 2], "q1"), topic_of(list(range(25)), "q2"), topic_of([7], "q3")]
    assert [each.tolist()[:3] for each in ranker.rank_batch(short, 5)] == [[1, 2, 0], [24, 23, 22], [0]]
    check_ranker(ranker, [*short, topic_of(worth)], k=4)


def test_an_answer_of_no_use_keeps_the_order_and_is_counted() -> None:
    ranker: Any = make_ranker("llm-listwise", llm=lambda prompt: "I cannot rank these 5 passages.")
    assert ranker.rank(topic_of([1, 2, 3, 4, 5]), 5).tolist() == [0, 1, 2, 3, 4]
    assert ranker.counts["wrong_format"] == 1
    assert ranker.counts["ok"] == 0


def rater(prompt: str) -> Any:
    (worth,) = re.findall(r"passage: worth (\d+)", prompt)
    side = re.findall(r"know this of it: side (\d+)", prompt)
    value = int(worth) if not side else 5 * (int(worth) % 2 == int(side[0]))
    return "no idea" if worth == "9" else str(value)


def test_ratings_rank_and_feed_other_rankers() -> None:
    ranker: Any = make_ranker("llm-pointwise", llm=rater)
    topics = [topic_of([1, 5, 9, 2, 5], "q1"), topic_of([3], "q2")]
    # The third is not rated: it stands at the mean of the others, 3.25.
    assert [each.tolist() for each in ranker.rank_batch(topics, 5)] == [[1, 4, 2, 3, 0], [0]]
    assert dict(ranker.counts) == {"prompts": 6, "asked": 5, "ok": 5, "wrong_format": 1}  # equal prompts once
    texts: Any = topics[0].doc_texts
    np.testing.assert_array_equal(ranker.ratings("q1", texts), np.float32([1, 5, np.nan, 2, 5]))
    scores = ranker.subtopic_scores("q1", texts, ["side 0", "side 1"])
    np.testing.assert_array_equal(scores, np.float32([[0, 5], [0, 5], [np.nan] * 2, [5, 0], [0, 5]]))
    given: Any = {"scores": [5, 4, 3, 2, 1], "subtopics": np.eye(2), "subtopic_scores": scores}
    assert sorted(diversify(None, np.eye(5)[:, :2] + 1, 2, "pm2", **given).indices.tolist()) == [0, 3]  # one of each


def test_the_cache_keeps_answers_of_a_model_and_a_prompt(tmp_path: Path) -> None:
    for cache in ({}, tmp_path / "answers"):
        first: Any = make_ranker("llm-listwise", llm=sorter, cache=cache)
        again: Any = make_ranker("llm-listwise", llm=lambda prompt: "never asked", model="sorter", cache=cache)
        order = first.rank(topic_of([1, 3, 2]), 3).tolist()
        assert again.rank(topic_of([1, 3, 2]), 3).tolist() == order == [1, 2, 0]
        assert (first.counts["asked"], again.counts["asked"]) == (1, 0)
        other: Any = make_ranker("llm-listwise", llm=lambda prompt: "[3] > [1] > [2]", model="other", cache=cache)
        assert other.rank(topic_of([1, 3, 2]), 3).tolist() == [2, 0, 1]
    next((tmp_path / "answers").iterdir()).write_text("{}")
    refused(lambda: [each.rank(topic_of([1, 3, 2]), 3) for each in (first, other)], "the cache holds no answer")


def test_a_server_ranks() -> None:
    with asking(lambda asked: sorter(asked["messages"][0]["content"]) if asked["model"] == "local" else None) as create:
        ranker = make_ranker("llm-listwise", llm=client_with(create), model="local")
        assert ranker.rank(topic_of([2, 9, 4]), 2).tolist() == [1, 2]
        silent = make_ranker("llm-listwise", llm=client_with(create), model="unknown")
        refused(lambda: silent.rank(topic_of([2, 9, 4]), 2), "a model must answer with text, got None", TypeError)


OWN = """
from srd_agents.llm.config import ListwiseConfig
from srd_agents.llm.listwise import Listwise

class Mine(Listwise):
    def __init__(self):
        super().__init__(ListwiseConfig(llm=lambda prompt: "[2] > [1]", window=2, step=1))
"""


def test_commands_and_recipes_take_a_class_that_brings_its_client(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "own_language_model.py").write_text(OWN)
    monkeypatch.syspath_prepend(tmp_path)
    import_own("own_language_model:Mine", trust=True)
    ranker = make_ranker("own_language_model:Mine")
    assert ranker.rank(topic_of([1, 2, 3, 4]), 4).tolist() == [3, 0, 1, 2]


def fails(prompt: str) -> str:
    raise TimeoutError("too slow")


@pytest.mark.parametrize("name", ["llm-listwise", "llm-pointwise"])
def test_bad_input_is_named(name: str) -> None:
    ranker = make_ranker(name, llm=sorter)
    refused(lambda: make_ranker(name), f'"{name}", llm=client\\).*LangChain.*--trust')
    refused(lambda: make_ranker(name, llm=3), "llm must be a LangChain chat model.*got int", TypeError)
    refused(lambda: make_ranker(name, llm=sorter, cache=3), "cache must be a folder or a mapping", TypeError)
    refused(lambda: make_ranker(name, llm=sorter, prompt="{passages} {passage}"), "prompt must hold {query}")
    refused(lambda: make_ranker("llm-listwise", llm=sorter, step=30), "step must be at most window")
    refused(lambda: ranker.rank(topic_of([1, 2], doc_texts=None), 1), "'q' has no documents' texts")
    refused(lambda: ranker.rank(topic_of([1, 2], query_text=" "), 1), "'q' has no query text")
    with pytest.raises(TimeoutError, match="too slow") as raised:
        make_ranker(name, llm=fails).rank(topic_of([1, 2]), 1)
    assert "topics q were ranked" in raised.value.__notes__[0]
    own: Any = make_ranker("llm-pointwise", llm=rater, prompt="{query} passage: {passage}")
    refused(lambda: own.subtopic_scores("q", ["worth 1"], ["side 1"]), "prompt must hold {subtopic}")
