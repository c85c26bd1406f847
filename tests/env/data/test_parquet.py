from __future__ import annotations

import mmap
import os
import re
import sys
import tracemalloc
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_topics import judged_topic, refused

from srd_gym.data import DataNotice, generate, iter_topics, load_topics, mapped, parquet, read_vectors
from srd_gym.data.parquet import GROWTH, count_row_groups, iter_query_ids, read_origin, read_topics, write_topics
from srd_gym.testing import _require_equal
from srd_gym.topic import TOPIC_FIELDS, Topic, TopicSet

words = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)


@st.composite
def topics(draw: st.DrawFn, query_id: str, width: int | None) -> Topic:
    """A topic with any combination of fields, odd texts included."""
    n, s, p, d = (draw(st.integers(low, 4)) for low in (1, 0, 0, 0))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    f = draw(st.integers(0, 3)) if width is None else width

    def maybe(value: Any) -> Any:
        return value if draw(st.booleans()) else None

    def floats(*shape: int) -> Any:
        return rng.normal(size=shape).astype(np.float32)

    def ids(count: int) -> tuple[str, ...]:
        return tuple(draw(st.lists(words, min_size=count, max_size=count, unique=True)))

    def texts(count: int) -> tuple[str, ...]:
        return tuple(draw(st.lists(words, min_size=count, max_size=count)))

    pool_ids = maybe(ids(p))
    return Topic(
        query_id=query_id,
        query_text=maybe(draw(words)),
        query_vector=maybe(floats(f)),
        doc_ids=ids(n),
        doc_texts=maybe(texts(n)),
        doc_vectors=None if width is None else floats(n, f),
        retrieval_scores=maybe(-np.sort(-floats(n))),
        subtopic_ids=ids(s),
        subtopic_texts=maybe(texts(s)),
        subtopic_vectors=maybe(floats(s, f)),
        subtopic_weights=maybe(np.abs(floats(s)) + 1),
        subtopic_scores=maybe(np.where(rng.random((n, s)) < 0.3, np.float32(np.nan), floats(n, s))),
        judgments=maybe(rng.integers(-128, 128, size=(n, s)).astype(np.int8)),
        pool=None if pool_ids is None else rng.integers(-2, 5, size=(p, s)).astype(np.int8),
        pool_ids=pool_ids,
        doc_features=maybe(floats(n, d)),
        feature_names=ids(d),
    )


@st.composite
def topic_sets(draw: st.DrawFn) -> TopicSet:
    width = draw(st.none() | st.integers(0, 3))
    names = draw(st.lists(words, max_size=4, unique=True))
    flags = {"simulated": draw(st.booleans()), "transductive": draw(st.booleans())}
    made = [draw(topics(name, width)) for name in names]
    return TopicSet(made, name=draw(words), encoder=draw(st.none() | words), **flags)


@given(topics=topic_sets())
def test_what_is_written_is_read_back_exactly(topics: TopicSet, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("round") / "set.parquet"
    write_topics(path, topics)
    again = read_topics(path)
    assert again.origin == read_origin(path) == topics.origin
    for one, other in zip(topics, again, strict=True):
        for name in TOPIC_FIELDS:
            _require_equal(getattr(other, name), getattr(one, name), name)


def test_other_tools_may_write_wider_types_and_nested_lists(tmp_path: Path) -> None:
    columns = {
        "query_id": pa.array(["7", "8"], pa.large_string()),
        "doc_ids": pa.array([["x", "y"], ["z"]], pa.large_list(pa.large_string())),
        "doc_vectors": pa.array([[[0.1, 2.0], [3.0, 4.0]], [[5.0, 6.0]]], pa.list_(pa.list_(pa.float64()))),
        "subtopic_ids": [["s"], ["s"]],
        "subtopic_scores": pa.array([[[1], [None]], None], pa.list_(pa.list_(pa.float64()))),
        "judgments": pa.array([[1, 0], None], pa.list_(pa.int64())),
    }
    path = tmp_path / "pandas.parquet"
    pq.write_table(pa.table(columns), path)
    read = read_topics(path)
    assert read.name == "pandas"
    np.testing.assert_array_equal(read[0].doc_vectors, np.float32([[0.1, 2], [3, 4]]))
    np.testing.assert_array_equal(read[1].doc_vectors, [[5, 6]])
    np.testing.assert_array_equal(read[0].judgments, [[1], [0]])
    np.testing.assert_array_equal(read[0].subtopic_scores, [[1], [np.nan]])
    assert read[1].judgments is read[1].subtopic_scores is None


@pytest.mark.parametrize(("column", "rows", "message"), [
    ("doc_vectors", [[1.0] * 4] * 3, "doc_vectors holds 3 x 4 numbers"),
    ("judgments", [[1, 0, 0, 1]], "judgments holds 1 x 4 numbers"),
    ("subtopic_scores", [[1.0, 2, 3, 4]], "subtopic_scores holds 1 x 4 numbers"),
    ("query_vector", [[1.0] * 3] * 2, r"query_vector has shape \(2, 3\)"),
])  # fmt: skip
@pytest.mark.parametrize("on_disk", [False, True])
@pytest.mark.filterwarnings("ignore::srd_gym.data.DataNotice")
def test_rows_of_lists_are_counted_and_not_their_numbers(
    column: str, rows: Any, message: str, on_disk: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    columns = {
        "query_id": ["7"], "doc_ids": [["x", "y"]], "doc_vectors": [[[1.0] * 6] * 2], "query_vector": [[[1.0] * 6]],
        "subtopic_ids": [["s", "t"]], "judgments": [[[1, 0], [0, 1]]],
    }  # fmt: skip
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table(columns), path)
    if on_disk:
        monkeypatch.setattr(parquet, "IN_MEMORY", 0)
    assert read_topics(path)[0].query_vector.shape == (6,)
    pq.write_table(pa.table(columns | {column: [rows]}), path)
    refused(lambda: read_topics(path), message)


def test_older_files_lack_the_column_of_scores_of_subtopics(tmp_path: Path) -> None:
    path = tmp_path / "older.parquet"
    write_topics(path, TOPICS)
    older = pq.read_table(path).drop_columns(["subtopic_scores"])
    pq.write_table(older, path)
    assert read_topics(path).fingerprint == TOPICS.fingerprint


def test_topics_are_iterated_in_constant_memory(tmp_path: Path) -> None:
    vectors = np.ones((200, 500), dtype=np.float32)
    path = tmp_path / "large.parquet"
    ids = tuple(map(str, range(200)))
    write_topics(path, (Topic(query_id=str(i), doc_ids=ids, doc_vectors=vectors) for i in range(400)))
    assert count_row_groups(path) > 4
    before = pa.total_allocated_bytes()
    tracemalloc.start()
    held = [pa.total_allocated_bytes() - before for _ in iter_topics(path)]
    python_most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(held) == 400
    assert max(held) + python_most < 100e6, "the whole set is 160 MB; two row groups are 64 MB"


def test_ids_and_parts_are_the_files(tmp_path: Path) -> None:
    written, path = generate("tiny", n_topics=150, seed=0), tmp_path / "t.parquet"
    write_topics(path, written)
    assert tuple(iter_query_ids(path)) == written.query_ids
    pq.write_table(pq.read_table(path), path, row_group_size=40)
    assert count_row_groups(path) == 4
    parts = [list(iter_topics(path, [group])) for group in range(4)]
    assert [len(part) for part in parts] == [40, 40, 40, 30]
    assert tuple(topic.query_id for part in parts for topic in part) == written.query_ids
    table = pq.read_table(path)
    doc_ids = table["doc_ids"].to_pylist()
    doc_ids[70] = ["a", "a"]
    pq.write_table(changed("doc_ids", doc_ids)(table), path, row_group_size=40)
    refused(lambda: list(iter_topics(path, [1])), "row 70: ")
    refused(lambda: read_topics(tmp_path), "is a folder")


def test_a_file_index_stays_small(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    vectors = np.ones((1, 2), dtype=np.float32)
    write_topics(path, (Topic(query_id=str(i), doc_ids=("a",), doc_vectors=vectors) for i in range(3000)), name="mine")
    assert read_topics(path).name == "mine"
    index = pq.read_metadata(path)
    assert index.num_row_groups == 3
    assert index.serialized_size < 10 * 3000


@pytest.fixture
def written(tmp_path: Path) -> Path:
    path = tmp_path / "set.parquet"
    topics = [judged_topic(3, width=2, subtopics=2, query_id=query_id) for query_id in ("1", "2")]
    write_topics(path, TopicSet(topics, name="set"))
    return path


def changed(name: str, values: Any, kind: pa.DataType = None) -> Any:
    column = pa.array(values, kind) if isinstance(values, list) else values
    return lambda table: table.set_column(table.schema.get_field_index(name), name, column)


def told(metadata: str) -> Any:
    return lambda table: table.replace_schema_metadata({"srd_gym": metadata})


GRADES, NUMBERS = pa.list_(pa.int8()), pa.list_(pa.float32())


@pytest.mark.parametrize(("change", "message"), [
    (lambda table: table.drop_columns(["doc_ids"]), "lacks the column doc_ids"),
    (lambda table: table.append_column("query_id", table["query_id"]), r"query_id.* exists 2 times in schema"),
    (lambda table: pa.concat_tables([table, table]), "is duplicated"),
    (told('{"schema_version": 2, "name": "x"}'), "schema version 2"),
    (told("[1]"), "metadata 'srd_gym': expected a JSON"),
    (told("{"), "metadata 'srd_gym': not a whole Parquet"),
    *((told(f'{{"schema_version": 1, {odd}}}'), "metadata 'srd_gym' must hold .*true or false") for odd in (
        '"simulated": "false"', '"simulated": 0', '"transductive": "no"', '"name": []', '"encoder": 5')),
    *((told(f'{{"schema_version": {odd}}}'), "must hold schema_version") for odd in ("true", "1.0", "-3", "null")),
    (changed("doc_vectors", ["x", "y"]), "column 'doc_vectors' has type string"),
    (changed("subtopic_scores", [[0] * 6, [1] * 5], NUMBERS), "subtopic_scores holds 5 numbers"),
    (changed("judgments", [[0] * 6, [1] * 5], GRADES), "judgments holds 5 numbers"),
    (changed("judgments", [[0] * 6, [1, None] * 3], GRADES), "a list holds a null"),
    (changed("judgments", [[0] * 6, [300] * 6]), "row 1: judgments: .*300"),
    (changed("query_id", [1.1, 1.2]), "column 'query_id' has type double"),
    (changed("query_id", ["1", None]), "row 1: query_id: .*null"),
    (changed("doc_ids", [[0.5, 1.5, 2.5]] * 2), "column 'doc_ids' has type"),
    (changed("doc_vectors", [[0.0] * 6, [np.nan] * 6], NUMBERS), "row 1: topic '2': doc_vectors holds NaN"),
])  # fmt: skip
def test_what_is_wrong_is_named(written: Path, change: Any, message: str) -> None:
    pq.write_table(change(pq.read_table(written)), written)
    refused(lambda: read_topics(written), f"set\\.parquet.*{message}")


def test_an_unknown_column_is_ignored_with_a_notice(written: Path) -> None:
    pq.write_table(pq.read_table(written).rename_columns({"doc_vectors": "doc_vector"}), written)
    with pytest.warns(DataNotice, match=r"column 'doc_vector' .* ignored"):
        assert read_topics(written).vector_width is None


def test_the_docstring_lists_every_column() -> None:
    for name in parquet.schema_of_topics().names:
        assert f"`{name}`" in parquet.__doc__
    assert set(parquet.schema_of_topics().names) - {"vector_width"} == set(TOPIC_FIELDS)


# Vectors that stay on disk: the same topics, other memory

TOPICS = generate("tiny", n_topics=40, seed=0)


@pytest.fixture
def groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(parquet, "_GROUP_ROWS", 10)
    path = tmp_path / "topics.parquet"
    write_topics(path, TOPICS)
    assert count_row_groups(path) == 4
    return path


def on_disk(path: Path, monkeypatch: pytest.MonkeyPatch) -> TopicSet:
    """The topics of a file, their vectors on disk however few they are."""
    monkeypatch.setattr(parquet, "IN_MEMORY", 0)
    monkeypatch.setattr(mapped, "CHUNK", mmap.ALLOCATIONGRANULARITY)
    with pytest.warns(DataNotice, match=r"of 0\.0 GB of topics go into a temporary file in .*TMPDIR names"):
        return read_topics(path)


def test_topics_are_the_same_wherever_their_vectors_are(groups: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert read_topics(groups).fingerprint == TOPICS.fingerprint
    topics = on_disk(groups, monkeypatch)
    groups.unlink()
    assert topics.fingerprint == TOPICS.fingerprint, "they outlive the file that they came from"
    with pytest.raises(ValueError, match="read-only"):
        topics[0].require_vectors("test")[0, 0] = 1


def test_vectors_of_half_precision(groups: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table, half = pq.read_table(groups), pa.list_(pa.float16())
    pq.write_table(changed("doc_vectors", table["doc_vectors"].cast(half))(table), groups)
    for topics in (read_topics(groups), on_disk(groups, monkeypatch)):
        for topic, before in zip(topics, TOPICS, strict=True):
            expected = before.require_vectors("test").astype(np.float16).astype(np.float32)
            np.testing.assert_array_equal(topic.require_vectors("test"), expected)


def test_a_damaged_row_group_is_named_before_anything_is_trained(groups: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pq.ParquetFile(groups) as file:
        names = [file.schema.column(place).path.split(".")[0] for place in range(len(file.schema))]
        column = file.metadata.row_group(2).column(names.index("doc_vectors"))
    data = bytearray(groups.read_bytes())
    middle = column.data_page_offset + column.total_compressed_size // 2
    data[middle : middle + 64] = bytes(64)
    groups.write_bytes(data)
    monkeypatch.setattr(parquet, "IN_MEMORY", 0)
    with pytest.warns(DataNotice), pytest.raises(ValueError, match=rf"topic set: {re.escape(str(groups))}.*row"):
        read_topics(groups)


MANY = 2**20


@pytest.mark.parametrize("rows", [2, 16])
def test_row_groups_that_declare_far_more_than_the_file_holds_are_refused_before_they_are_read(
    rows: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "v.parquet"
    vectors = [np.zeros(MANY // rows, np.float32)] * rows
    table = pa.table({"id": list(map(str, range(rows))), "vector": vectors})
    pq.write_table(table, path, compression="zstd", use_dictionary=False, row_group_size=rows // 2)
    before = pa.default_memory_pool().max_memory()
    with mock.patch.object(parquet, "_ALWAYS", MANY):
        refused(lambda: read_vectors(path), f"declare more than .* set {GROWTH} above")
    assert pa.default_memory_pool().max_memory() == before
    monkeypatch.setenv(GROWTH, str(MANY))
    assert read_vectors(path).vectors.size == MANY
    monkeypatch.setenv(GROWTH, "many")
    refused(lambda: read_vectors(path), f"{GROWTH}: expected a whole number")


def test_texts_that_come_often_are_read_and_subtopics_without_names_are_numbered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet, "_ALWAYS", MANY)
    path, ids = tmp_path / "t.parquet", [f"clueweb09-{i}" for i in range(500)]
    columns = {"query_id": list(map(str, range(40))), "doc_ids": [ids] * 40, "judgments": [[1, 0, 0] * 500] * 40}
    pq.write_table(pa.table(columns), path)
    topic = read_topics(path)[39]
    assert topic.doc_ids == tuple(ids)
    assert topic.subtopic_ids == ("1", "2", "3")
    assert topic.judgments.tolist() == [[1, 0, 0]] * 500


@pytest.mark.skipif(os.name == "nt" or sys.platform == "darwin", reason="the system's names are text")
def test_a_file_may_have_a_name_that_is_not_utf_8(tmp_path: Path) -> None:
    topics, path = generate("tiny", n_topics=3, seed=0), tmp_path / os.fsdecode(b"d\xe9j\xe0.parquet")
    write_topics(path, iter(topics))
    assert read_topics(path).fingerprint == topics.fingerprint
    assert read_topics(path).name == "d\ufffdj\ufffd"
    assert list(iter_query_ids(path)) == list(topics.query_ids)


@pytest.mark.parametrize("field", ["query_id", "doc_ids", "subtopic_ids", "query_text", "doc_texts", "name"])
def test_text_that_no_file_can_hold_is_named_with_the_file(field: str, tmp_path: Path) -> None:
    fields: dict[str, Any] = {"query_id": "1", "doc_ids": ("x", "y"), "name": "t"}
    fields[field] = "a\ud83d" if field in ("query_id", "query_text", "name") else ("a\ud83d", "b")
    name = fields.pop("name")
    topics = TopicSet([Topic(**fields)], name=name)
    message = re.escape(f"{str(tmp_path / 't.parquet')!r} cannot be written: ") + r".*a\\ud83d.* half a character"
    refused(lambda: write_topics(tmp_path / "t.parquet", topics), message)
    assert not list(tmp_path.iterdir())


def test_vectors_are_not_read_where_nobody_asks_for_them(tmp_path: Path) -> None:
    """A set of 100,000 topics holds 15 GB of vectors, and 1 GB of all the rest."""
    whole = generate("tiny", n_topics=4, seed=0)
    path = tmp_path / "t.parquet"
    write_topics(path, whole)
    found = load_topics(path, vectors=False)
    assert found.vector_width is None
    assert load_topics(path).vector_width == whole.vector_width, "sets with and without are not mixed up"
    for one, other in zip(found, whole, strict=True):
        bare = {name: getattr(one, name) for name in TOPIC_FIELDS if "vector" not in name}
        _require_equal(bare, {name: getattr(other, name) for name in bare}, "without vectors")
    table = pq.read_table(path)
    odd = table.set_column(table.schema.get_field_index("doc_vectors"), "doc_vectors", pa.array([[1.0]] * 4))
    pq.write_table(odd, path)
    refused(lambda: read_topics(path), "doc_vectors holds 1 numbers")
    assert len(read_topics(path, vectors=False)) == 4
