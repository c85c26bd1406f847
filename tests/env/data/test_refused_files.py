from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest
from small_topics import refused
from sound_files import READERS, XML, write

pytestmark = pytest.mark.filterwarnings("ignore::srd_gym.data.DataNotice")

PLAIN = "".join(f"1 {number} d 1\n" for number in range(30_000))
"""So many lines that a fault behind them lies in a later block."""
ENTITY = "declares an entity or refers to another file, which is refused"
BRACE = r"expected \"id\": \[numbers\], or the closing brace and nothing behind it, got"
INTEGER = "expected an integer judgment from -128 to 127"
SCORE = "expected a finite number as score"
SUBTOPICS = r"expected a list of subtopic ids \(text\)"
RESULTS = r"expected 4 tab-separated fields .* got"
FOLD_LINE = r"expected a line like fold1: \[2, 7, 10\], got"

REFUSED: dict[tuple[str, str], list[tuple[str | bytes, str]]] = {
    ("qrels", "qrels"): [
        ("1 1 a 0\n1 1 b\n", r":2: expected 4 fields 'topic subtopic document judgment', got 3: '1 1 b'"),
        ("1 1 a 0 1\n", ":1: expected 4 fields .* got 5"),
        ("1 1 a yes\n", f":1: {INTEGER}, got 'yes'"),
        ("1 1 a 1.0\n", f":1: {INTEGER}"),
        ("1 1 a 1_0\n", f":1: {INTEGER}"),
        ("1 1 a 200\n", f":1: {INTEGER}, got '200'"),
        ("1 1 a 1\n1 2 a 1\n1 1 a 0\n", ":3: document 'a' is judged twice for subtopic '1' of topic '1'"),
        ("\n \n", "holds only blank lines"),
        ("", "is empty; expected at least one line"),
        (f"{PLAIN}1 1 e\n1 1 f 1\n", ":30001: expected 4 fields"),
        (f"{PLAIN}1 1 e high\n", ":30001: expected an integer judgment"),
        (f"{PLAIN}1 7 d 1\n", ":30001: document 'd' is judged twice"),
        (PLAIN.encode() + b"1 1 \xff 1\n", ", after line 30000: not UTF-8 text"),
    ],
    ("run", "run"): [
        ("1 Q0 a 1 2.0\n", ":1: expected 6 fields 'topic Q0 document rank score tag', got 5: '1 Q0 a 1 2.0'"),
        ("1 Q0 a 1 2.0 x\n1 Q0 b 2 high x\n", f":2: {SCORE}, got 'high'"),
        ("1 Q0 a 1 nan x\n", f":1: {SCORE}, got 'nan'"),
        ("1 Q0 a 1 inf x\n", f":1: {SCORE}"),
        ("1 Q0 a 1 1_0 x\n", f":1: {SCORE}"),
        ("1 Q0 a 1 2 x\n2 Q0 a 1 2 x\n1 Q0 a 2 1 x\n", ":3: document 'a' is duplicated for query '1'"),
        ("1 Q0 \x1b[31m b 1 2.0 x\n", r"got 7: '1 Q0 \\x1b\[31m b"),
    ],
    ("topics-xml", "topics.xml"): [
        ('<!DOCTYPE a [<!ENTITY b "bb"><!ENTITY c "&b;&b;">]><a><query>&c;</query></a>', ENTITY),
        ('<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]><a><query>&b;</query></a>', ENTITY),
        ('<!DOCTYPE a [<!ENTITY % b "x">]><a/>', "declares an entity"),
        ('<?xml version="1.0" encoding="no-such"?><a/>', "unknown encoding"),
        ('<?xml version="1.0" encoding="shift_jis"?><a/>', "multi-byte encodings are not supported"),
        (b"\xff\xfe", "not well-formed XML"),
        ("<a><topic></a>", "not well-formed XML"),
        ("<a><b/></a>", r"no <topic number=\.\.\.> in <a>"),
        ("<a><topic><query>x</query></topic></a>", "a topic has no number"),
        ('<a><topic number="1"/></a>', "topic '1' has no <query>"),
        (XML.replace(b'subtopic number="2"', b'subtopic number="1"'), "topic '1' has subtopic '1' twice"),
        ('<a><topic number="1"><query/></topic><topic number="1"><query/></topic></a>', "topic '1' is duplicated"),
    ],
    ("queries", "q.tsv"): [
        ("spider bites\n", r"q.tsv:1: expected id<TAB>text, id:text, .* or Web Track XML; got 'spider bites'"),
        ("+3 lynx\n", r"q.tsv:3: expected id<TAB>text, as the first line has it; got '3 lynx'"),
        ("+3\tlynx\tcat\n", ":3: expected id<TAB>text"),
        ("+\tlynx\n", ":3: expected id<TAB>text"),
        ("+\n1\tagain\n", ":4: topic '1' is duplicated; keep one of them"),
        ("251:spider bites\n252\n", ":2: expected id:text, as the first line has it; got '252'"),
        ('{"_id": "1", "text": "a"}\n{"_id": "2"}\n', ":2: expected one of the keys text, query, title; got _id"),
        ('{"_id": 1.5, "text": "a"}\n', ":1: expected text under '_id', got 1.5"),
        ('{"_id": "1", "text": " "}\n', ":1: expected text under 'text', got ' '"),
        ('{"_id": "1", "text": "a"}\n2\tb\n', ":2: not JSON"),
        ('{"_id": "1", "text": "a"}\n3\n', r":2: expected a JSON object \{...\}, got '3'"),
        (" \n\n", "holds only blank lines"),
        (b"1\t\xff\n", "not UTF-8 text"),
    ],
    ("queries", "q.txt"): [
        ("+<top><num>302<title>x", r"q.txt:8: expected </top> at the end of this <top>, got none"),
        ("+<top><num>302</top>", r":8: expected <title> with a text in this <top>, got '<num>302'"),
        ("+<top><num>301<title>x</top>", ":8: topic '301' is duplicated"),
        ("<html></html>", r"no <topic number=\.\.\.> in <html>"),
    ],
    ("queries", "s.tsv"): [
        ("car and cat\n", r"s.tsv:1: expected query<TAB>subtopic<TAB>text, .*; got 'car and cat'"),
        ("+1\t2\tcars\n", r"s.tsv:3: subtopic '2' of query '1' is duplicated"),
        ("+1\t2\tcars\tmore\n", ":3: expected query<TAB>text"),
        ('{"query_id": "1", "subtopics": ["a", 2]}\n', ":1: expected a list of texts, got 2"),
        ('{"query_id": "1", "_id": "a"}\n', ":1: expected one of the keys text, subtopic; got query_id, _id"),
    ],
    ("ambient", "topics.txt"): [
        ("+ \tnameless", r"topics\.txt:4: topic '' .* has no id"),
        ("+1\tagain", r"topics\.txt:4: topic '1' is duplicated"),
        ("+11", r"topics\.txt:4: expected 2 tab-separated fields \(ID, description\), got 1: '11'"),
    ],
    ("ambient", "subTopics.txt"): [("+1.1\tagain", r"subTopics\.txt:5: id '1\.1' is duplicated")],
    ("ambient", "results.txt"): [
        ("+7.1\tu\tt\ts", r"results\.txt:6: id '7\.1' must be \"topic\.number\" with a topic of topics"),
        ("+1.x\tu\tt\ts", r"results\.txt:6: id '1\.x' must end in a number from 1, got 'x'"),
        (f"+1.{'9' * 5_000}\tu\tt\ts", r"results\.txt:6: id .* must end in a number from 1"),
        ("+1.3", rf"results\.txt:6: {RESULTS} 1"),
        ("+1.3\tu\tt\ts\tmore", rf"results\.txt:6: {RESULTS} 5"),
    ],
    ("ambient", "STRel.txt"): [
        ("+1.3\t1.1", r"STRel\.txt:5: subtopic '1\.3' is not in subTopics\.txt"),
        ("1.1\t1.10\n", r"STRel\.txt:1: expected the header subTopicID, resultID, got '1\.1\\t1\.10'"),
    ],
    ("rl4srd", "query_doc.json"): [
        ('{"9": {"c": ["1"]}}', r"1 topics, '10' among them, are in only one of query_doc\.json"),
        ('{"9": {"c": "1"}}', f"topic '9', document 'c': {SUBTOPICS}"),
        ('{"9": {"c": [1]}}', f"topic '9', document 'c': {SUBTOPICS}"),
        ('{"9": {}}', r"topic '9': expected \{document: \[subtopics\]\} with at least one document"),
        ('{"9": {"c": [], "c": []}}', "key 'c' is duplicated in one object"),
        ("[1]", r"expected a JSON object \{\.\.\.\}, got a list"),
        ('{"9"', r"query_doc\.json: not JSON"),
        ("[" * 100_000, "nested too deeply"),
        ('{"a":' * 100_000, "nested too deeply"),
    ],
    ("rl4srd", "query_permutation.json"): [
        ('{"9": ["c"]}', r"topic '9': expected \{\"permutation\": \[document ids"),
        ('{"9": {"permutation": ["c", "c"]}}', "topic '9': a document is duplicated"),
    ],
    ("folds", "folds"): [
        ("fold1: [1]\nfold2: 2\n", f"folds:2: {FOLD_LINE} 'fold2: 2'"),
        ("fold1: [1]\nfold1: [2]\n", "folds:2: fold1 is duplicated"),
        ("fold1: [1]\nfold2: [2, '1']\n", "folds:2: query id '1' is duplicated"),
        ("fold1: [1, 1]\n", "folds:1: query id '1' is duplicated"),
        ("fold1: [1,,2]\n", "folds:1: fold1 is empty, or lacks an id between two commas"),
        ("fold1: [1]\nfold2: []\n", "fold2 is empty"),
        ("[[1], [2]]", "folds:1: expected a line like fold1"),
        ("# nothing\n", "holds no fold"),
    ],
    ("tsv", "v.tsv"): [
        ("a\t1\t2\nb\t1\n", r":2: 1 numbers, but 2 before \(id 'b'"),
        ("a\t1\t2\nb\t1\tnan\n", r":2: NaN, infinity or a number beyond float32.* \(id 'b'"),
        ("a\t1\t1e60\n", r":1: NaN, infinity or a number beyond float32.* \(id 'a'"),
        ("a\t1\tx\n", ":1: expected numbers after the id: .*'x'"),
        ("a\t1_0\n", ":1: expected numbers after the id"),
        ("a\t\n", r":1: expected a list of numbers \(id 'a'"),
        ("a 1 2\n", ":1: expected an id, a tab and numbers, got 'a 1 2'"),
        ("a\t1\nb\t2\na\t3\n", r":3: an id is duplicated.* \(id 'a'"),
        ("", "is empty"),
        ('{"a": [1], "b": [2', r"entry 2: expected \"id\": \[numbers\], .*, got '\"b\": \[2'; was the file cut off"),
        ('{"a": [1], "b": [1, 2]}', r"entry 2: 2 numbers, but 1 before \(id 'b'"),
        ('{"a": [1], "a": [1]}', r"entry 2: an id is duplicated.* \(id 'a'"),
        ('{"a": [NaN]}', r"entry 1: NaN, infinity.* \(id 'a'"),
        ('{"a": ["x"]}', r"entry 1: expected \"id\": \[numbers\], got .*neither text nor true"),
        *((f'{{"b": [1], "a": [{odd}, 2]}}', r"entry 2: expected \"id\": \[numbers\], got .*neither text nor true")
          for odd in ('"1"', "true", "false", "null")),
        ('{"a": []}', r"entry 1: expected a list of numbers \(id 'a'"),
        ('{"a": 1}', r"entry 1: expected \"id\": \[numbers\], .* got .{\"a\": 1}"),
        ("{1: [1]}", r"entry 1: expected \"id\": \[numbers\]"),
        ('{"a": [1] "b": [1]}', f"entry 2: {BRACE}"),
        ('{"a": [1]{"b": [1]}', f"entry 2: {BRACE}"),
        ('{"a": [1]} more', f"entry 2: {BRACE} '}} more'"),
        ("{", r"entry 1: expected \"id\""),
        ('{"a\\x": [1]}', r"entry 1: expected \"id\".*Invalid .escape"),
        (pickle.dumps({"a": [1.0]}), "is a pickle, which can run code when read and is refused; save the vectors as"),
    ],
    ("parquet-topics", "t.parquet"): [
        ("", "is empty"),
        ("query_id,doc_ids\n", "not a whole Parquet file .*; make one with `srd data build`, or see"),
        (pickle.dumps({"a": 1}), "not a whole Parquet file"),
        ("PAR1 and then nothing of the kind", "not a whole Parquet file"),
    ],
    ("texts", "corpus.jsonl"): [
        ('{"_id": "x"', "corpus.jsonl:1: not JSON .*expected one object per line"),
        ("[" * 100_000, "corpus.jsonl:1: not JSON"),
        ("[1]", r"corpus.jsonl:1: expected a JSON object \{...\}, got '\[1\]'"),
        ('{"_id": 7, "text": "x"}', "corpus.jsonl:1: expected text under '_id', got '7'"),
        ('{"_id": "", "text": "x"}', "expected text under '_id'"),
        ('{"_id": "a", "title": 5, "text": "x"}', "corpus.jsonl:1: expected text under 'title', got '5'"),
    ],
    ("texts", "queries.jsonl"): [('{"_id": "q"}', "queries.jsonl:1: no 'text', which holds text; the keys are _id")],
    ("texts", "subtopics.jsonl"): [('{"_id": "s", "text": "x"}', "subtopics.jsonl:1: no 'query_id'")],
    ("texts", "diversity.qrels"): [("q1 animal cat", "diversity.qrels:1")],
}  # fmt: skip
"""By form and file: what it holds (behind a "+": a line that it holds besides), and what the error says."""


@pytest.mark.parametrize(("form", "name", "content", "message"), [
    pytest.param(*where, *row, id=f"{where[1]}-{number}")
    for where, rows in REFUSED.items()
    for number, row in enumerate(rows)
])  # fmt: skip
def test_a_file_that_is_wrong_is_named(form: str, name: str, content: Any, message: str, tmp_path: Path) -> None:
    sound, read = READERS[form]
    path = write(tmp_path, sound) / name
    if isinstance(content, str):
        content = (path.read_text() + content[1:] + "\n" if content.startswith("+") else content).encode()
    path.write_bytes(content)
    with pytest.raises(ValueError, match=f"(?s){tmp_path}.*{message}") as caught:
        read(tmp_path)
    assert type(caught.value) is ValueError


@pytest.mark.parametrize("form", READERS)
def test_a_file_or_folder_that_is_not_there_is_named(form: str, tmp_path: Path) -> None:
    refused(lambda: READERS[form][1](tmp_path / "absent"), str(tmp_path / "absent"), FileNotFoundError)
