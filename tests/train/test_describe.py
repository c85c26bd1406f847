import json
from pathlib import Path

import numpy as np
import pytest

from srd_gym.data.synthetic import generate
from srd_gym.topic import Topic, TopicSet
from srd_train.describe import markdown, statistics, statistics_table
from srd_train.pages import with_parts, write_page


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


def test_tables_are_written_between_their_marks_and_nowhere_else() -> None:
    page = "before\n<!-- t: begin -->\nold\n<!-- t: end -->\nafter\n"
    table = markdown(("", "a"), [["row", "1"]])
    assert with_parts(page, {"t": table}) == (
        "before\n<!-- t: begin -->\n|  | a |\n| --- | ---: |\n| row | 1 |\n<!-- t: end -->\nafter\n"
    )
    assert with_parts(with_parts(page, {"t": table}), {"t": table}) == with_parts(page, {"t": table})
    with pytest.raises(ValueError, match="the page has no marks <!-- u: begin -->"):
        with_parts(page, {"u": table})


def test_a_page_with_marks_keeps_its_text_and_one_without_is_written_whole(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    write_page(page, "smoke", "| table |", "# Whole\n\n| table |")
    assert page.read_text() == "# Whole\n\n| table |\n"
    page.write_text("Mine.\n<!-- smoke: begin -->\nold\n<!-- smoke: end -->\nMine too.\n")
    write_page(page, "smoke", "| new |", "# Whole")
    assert page.read_text() == "Mine.\n<!-- smoke: begin -->\n| new |\n<!-- smoke: end -->\nMine too.\n"
