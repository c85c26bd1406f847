from __future__ import annotations

import tracemalloc
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from srd_agents.registry import make_ranker
from srd_agents.reinforce import topic_inputs as relational
from srd_gym.data import DataNotice, generate, parquet, read_topics, write_topics
from srd_gym.topic import TopicSet

pytest.importorskip("torch")

LEARNERS = ("mdp-div", "mdp-div-batched", "reinforce", "reinforce-subtopics", "relational", "qmix", "vdn", "iql")


def read(path: Path) -> TopicSet:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataNotice)
        return read_topics(path)


def trained(name: str, topics: TopicSet) -> Any:
    ranker: Any = make_ranker(name, epochs=2, **({} if name == "mdp-div" else {"batch_topics": 7}))
    ranker.fit(topics[6:], topics[:6], seed=3)
    return ranker


@pytest.mark.parametrize("name", LEARNERS)
def test_weights_are_the_same_wherever_the_vectors_are(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet, "_GROUP_ROWS", 8)
    topics = generate("web", n_topics=26, seed=0, width=9, candidates=(5, 30))
    write_topics(tmp_path / "topics.parquet", topics)
    loaded = trained(name, topics)._weights()
    monkeypatch.setattr(parquet, "IN_MEMORY", 0)
    monkeypatch.setattr(relational, "KEPT", 20_000)  # of a few topics
    streamed = trained(name, read(tmp_path / "topics.parquet"))._weights()
    assert streamed.keys() == loaded.keys()
    for key, array in loaded.items():
        np.testing.assert_array_equal(streamed[key], array, err_msg=key)


@pytest.mark.parametrize("name", ["relational", "qmix"])
def test_training_holds_the_vectors_of_a_few_topics_at_once(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    topics = generate("web", n_topics=80, seed=0, width=1000, candidates=(40, 40))
    vectors = sum(topic.require_vectors("test").nbytes for topic in topics)
    write_topics(tmp_path / "topics.parquet", topics)
    monkeypatch.setattr(parquet, "IN_MEMORY", 0)
    monkeypatch.setattr(relational, "KEPT", 0)
    monkeypatch.setattr(parquet, "_READ_ROWS", 4)
    options: dict[str, Any] = {"batch_size": 2, "replay_capacity": 100} if name == "qmix" else {}
    ranker: Any = make_ranker(name, epochs=1, batch_topics=2, **options)
    ranker.fit(topics[:2], seed=0)  # imports
    tracemalloc.start()
    try:
        on_disk = read(tmp_path / "topics.parquet")
        ranker.fit(on_disk, seed=0)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < vectors / 3
