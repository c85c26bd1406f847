from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from own_parts import Early, First, Gains
from small_topics import random_topics, refused

from srd_gym.core import SelectionCore, own
from srd_gym.core.own import UnknownClassError, add_own, made_of, notation
from srd_gym.measures import parse_measure
from srd_gym.pruning import KNN, ByRanker, Chain, parse_pruning, pruning_from


@pytest.fixture(autouse=True)
def _known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own, "_OWN", {})
    add_own("own_parts:Gains", Gains)
    add_own("own_parts:First", First)


@dataclass
class Weighed:
    """A reward with arguments of all kinds, which binds to nothing."""

    weights: Any = None
    table: Any = None
    other: Any = None
    name: str = "weighed"

    def bind(self, topics: Any, horizon: int) -> Any:
        return None


WEIGHED = f"{__name__}:Weighed"


@pytest.mark.parametrize(("value", "text"), [
    (parse_measure("alpha-ndcg@10"), "alpha_nDCG@10"),
    (Early(cutoff=5), "own_parts:Early@5"),
    (Early(patience=0.5), "own_parts:Early(patience=0.5)"),
    (KNN(0.3), "knn:0.3"),
    (ByRanker("mmr", 0.5), "ranker:0.5:reset:mmr"),
    (Gains(), "own_parts:Gains"),
    (Gains("ERR_IA", factor=0.5), "own_parts:Gains(of='ERR_IA', factor=0.5)"),
    (First(12), "own_parts:First(keep=12)"),
    (Chain((KNN(k=3), First(12))), "knn:3+own_parts:First(keep=12)"),
    (Weighed(np.array([1, 0.5]), {"a": (1, None)}), f"{WEIGHED}(weights=[1.0, 0.5], table={{'a': [1, None]}})"),
    (Weighed(np.zeros(200), KNN(k=3), object()),
     f"{WEIGHED}(weights='numpy:ndarray', table='knn:3', other='builtins:object')"),
])  # fmt: skip
def test_an_object_is_told_by_its_class_and_what_differs_from_the_defaults(value: Any, text: str) -> None:
    assert notation(value) == text


@pytest.mark.parametrize("value", [KNN(0.1, metric="cosine"), ByRanker("mmr", 7, when="step"), First(2), Gains("NRBP")])
def test_what_is_told_is_read_back(value: Any) -> None:
    read, texts = made_of if isinstance(value, Gains) else parse_pruning, [notation(value)]
    assert type(read(texts[0])) is type(value)
    if not isinstance(value, Gains):
        texts.append(notation(Chain((KNN(0.3), value, First(4)))))
    assert [notation(read(text)) for text in texts] == texts


@pytest.mark.parametrize(("text", "message", "error"), [
    ("gone:Reward", "'gone:Reward' names code", UnknownClassError),
    ("own_parts:First", "'keep'; write arguments as in", ValueError),
    ("own_parts:First(3)", "its arguments have no names", ValueError),
    ("own_parts:First(keep=open('x'))", "own_parts:First.*malformed node", ValueError),
    ("own_parts:First(keep=)", "own_parts:First.*write arguments", ValueError),
    ("own_parts:First(keep=1) + (2)", "own_parts:First.*write arguments", ValueError),
])  # fmt: skip
def test_text_that_cannot_be_made_is_refused(text: str, message: str, error: type[Exception]) -> None:
    refused(lambda: made_of(text), message, error)
    refused(lambda: parse_pruning(f"knn:0.1+{text}"), message, error)


@pytest.mark.parametrize("text", ["alpha_nDCG@10", "knn:0.3", "ERR_IA(alpha=0.9)@5", "", "a:1"])
def test_other_text_is_left_to_others(text: str) -> None:
    assert made_of(text) is None


def test_simulators_take_the_text_of_a_known_class() -> None:
    topics = random_topics(3)
    cores = [
        SelectionCore(topics, reward=reward, pruning=pruning_from(pruning), horizon=3)
        for reward, pruning in ((Gains(factor=2), First(4)), ("own_parts:Gains(factor=2)", "own_parts:First(keep=4)"))
    ]
    for core in cores:
        core.reset(np.arange(len(topics)))
        core.step(core.allowed.argmax(axis=1))
    assert cores[0].reward_name == cores[1].reward_name == "gains"
    assert cores[0].snapshot() == cores[1].snapshot()
    refused(lambda: SelectionCore(topics, reward="gone:Reward"), "names code that is not known here")


def test_parts_that_bind_to_nothing_are_named() -> None:
    topics, forgetful = random_topics(0, count=3, n=4), Weighed()
    message = "expected a function of a SelectionStep"
    refused(lambda: SelectionCore(topics, reward=forgetful), message, TypeError)
    message = "expected an object with at_reset"
    refused(lambda: SelectionCore(topics, pruning=forgetful), message, TypeError)
