import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from run_srd import Srd

from srd_gym.data.parquet import write_topics
from srd_gym.data.synthetic import generate
from srd_gym.measures import greedy_ideal
from srd_gym.topic import Topic, TopicSet
from srd_train.report.topic_statistics import statistics, statistics_table


def by_hand() -> TopicSet:
    first = Topic(
        query_id="a",
        doc_ids=("1", "2", "3", "4"),
        subtopic_ids=("x", "y", "z"),
        judgments=np.array([[1, 1, 0], [1, 0, 0], [0, 0, 0], [0, 0, 0]], dtype=np.int8),
    )
    second = Topic(query_id="b", doc_ids=("1", "2"), subtopic_ids=(), judgments=np.zeros((2, 0), dtype=np.int8))
    third = Topic(query_id="c", doc_ids=("1",))
    return TopicSet([first, second, third], name="by hand")


def test_statistics_are_those_counted_by_hand() -> None:
    found = statistics(by_hand())
    assert (found["topics"], found["judged"], found["without_relevant"]) == (3, 2, 1)
    assert found["candidates"] == {"min": 1, "median": 2, "max": 4}
    assert found["subtopics"] == {"min": 0, "mean": 1, "max": 2}
    assert found["relevant_share"] == pytest.approx((0.5 + 0) / 2)
    assert found["subtopics_per_relevant_document"] == pytest.approx(1.5)
    assert found["largest_subtopic_share"] == pytest.approx(0.5)
    assert found["redundancy"] == pytest.approx(0.5)
    assert found["values"]["oracle"] == pytest.approx(0.5)  # the topic without a relevant document scores 0
    assert 0 < found["values"]["random"] < 0.5
    assert found["values"]["retrieval order"] is None
    assert found["vector_width"] is None


def test_statistics_are_json_even_without_judgments() -> None:
    unjudged = TopicSet([Topic(query_id="c", doc_ids=("1",))], name="unjudged")
    found = statistics(unjudged)
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert found["relevant_share"] is None
    assert found["values"] == {"random": None, "retrieval order": None, "oracle": None}
    heads, rows = statistics_table([found])
    assert heads == ("", "unjudged")
    assert ["redundancy", "-"] in rows


def test_marks_and_retrieval_order_are_shown() -> None:
    found = statistics(generate("tiny", n_topics=5))
    assert found["marks"] == ["simulated"]
    assert found["values"]["oracle"] >= found["values"]["retrieval order"] > 0
    _, rows = statistics_table([found, statistics(by_hand())])
    assert ["vectors", "width 8, simulated", "none"] in rows


def ordered(topics: TopicSet, place: Callable[[Topic], NDArray[np.int64]]) -> TopicSet:
    """The topics with candidates and scores in an order."""
    falling = -np.arange(topics.max_candidates, dtype=np.float32)
    return topics.replace(replace(t.take(place(t)), retrieval_scores=falling[: t.n_candidates]) for t in topics)


def test_an_order_that_is_too_good_or_too_bad_is_told(srd: Srd, tmp_path: Path) -> None:
    topics = generate("web", n_topics=20, seed=0)
    assert statistics(topics)["odd_order"] is None
    ideal = ordered(topics, lambda t: greedy_ideal(t.judgments, ids=t.doc_ids, depth=t.n_candidates))
    assert "nearly the oracle's" in statistics(ideal)["odd_order"]
    upside_down = ordered(topics, lambda t: np.argsort(t.judgments.sum(axis=1), kind="stable"))
    assert "less than a random order's" in statistics(upside_down)["odd_order"]
    shuffled = ordered(topics, lambda t: np.random.default_rng(0).permutation(t.n_candidates))
    assert statistics(shuffled)["odd_order"] is None
    assert statistics(upside_down[:9])["odd_order"] is None, "too few topics to tell"
    write_topics(tmp_path / "odd.parquet", upside_down)
    done = srd.works("data", "describe", tmp_path / "odd.parquet")
    assert "notice: the retrieval order has" in done.err
    assert "judged topics" in done.out
    assert srd.works("data", "describe", tmp_path / "odd.parquet", "--json").json["topics"] == 20
