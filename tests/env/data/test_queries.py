"""Queries and named subtopics in the forms that people have them."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from small_topics import refused
from sound_files import TOP, XML

from srd_gym.data import read_queries, read_subtopics

QUERIES = {
    "TSV": "251\tspider  bites\n252\tjaguar: the car\n",
    "colon": "251:spider bites\n\n252: jaguar: the car\r\n",
    "BEIR": '{"_id": "251", "text": "spider bites", "metadata": {}}\n{"_id": "252", "text": "jaguar: the car"}\n',
    "MS MARCO": '{"query_id": 251, "query": "spider bites"}\n{"query_id": 252, "query": "jaguar: the car"}\n',
    "TREC": "<!-- 2026 -->\n<top>\n<num> Number: 251\n<title> Topic: spider\n bites\n<desc> Description: x\n</top>\n"
    "<TOP><NUM>252</NUM><TITLE>jaguar: the car</TITLE></TOP>\n",
    "Web Track": '<webtrack2012><topic number="251"><query>spider bites</query></topic>'
    '<topic number="252"><query>jaguar: the car</query></topic></webtrack2012>',
}


@pytest.mark.parametrize("form", QUERIES)
def test_the_content_tells_the_form_of_queries(form: str, tmp_path: Path) -> None:
    for name, content in (
        ("q", QUERIES[form].encode()),
        ("packed", gzip.compress(b"\xef\xbb\xbf" + QUERIES[form].encode())),
    ):
        (tmp_path / name).write_bytes(content)
        found = read_queries(tmp_path / name)
        assert {key: text.query_text for key, text in found.items()} == {
            "251": "spider bites",
            "252": "jaguar: the car",
        }


def test_parts_may_differ_in_form_and_share_no_query(tmp_path: Path) -> None:
    (tmp_path / "web.xml").write_bytes(XML)
    (tmp_path / "top").write_text(TOP)
    found = read_queries([tmp_path / "web.xml", tmp_path / "top"])
    assert list(found) == ["1", "301"]
    assert found["1"].subtopics == {"2": "the car", "1": "the cat"}
    (tmp_path / "again.tsv").write_text("301\tx\n")
    refused(
        lambda: read_queries([tmp_path / "top", tmp_path / "again.tsv"]), "topics: query '301' is in both .*top and"
    )
    (tmp_path / "wide.xml").write_bytes(XML.decode().replace("utf-8", "utf-16").encode("utf-16"))
    assert list(read_queries(tmp_path / "wide.xml")) == ["1"], "XML may declare another encoding"


@pytest.mark.parametrize("content", [
    "1\t2\tthe  car\n1\t1\tthe cat\n",
    '{"query_id": "1", "_id": "2", "text": "the car"}\n{"query_id": 1, "_id": 1, "text": "the cat"}\n',
    XML.decode(),
])  # fmt: skip
def test_subtopics_have_ids_of_judgments_where_they_are_written(content: str, tmp_path: Path) -> None:
    (tmp_path / "s").write_text(content)
    assert read_subtopics(tmp_path / "s") == {"1": {"2": "the car", "1": "the cat"}}


@pytest.mark.parametrize("content", [
    "1\tthe car\n1\tthe cat\n",
    "1:the car\n1:the cat\n",
    '{"query_id": "1", "subtopics": ["the car", "the cat"]}\n',
    '{"query_id": "1", "text": "the car"}\n{"query_id": "1", "text": "the cat"}\n',
])  # fmt: skip
def test_names_without_ids_are_no_subtopics_of_the_judgments(content: str, tmp_path: Path) -> None:
    (tmp_path / "s").write_text(content)
    assert read_subtopics(tmp_path / "s") == {"1": {"named-1": "the car", "named-2": "the cat"}}
