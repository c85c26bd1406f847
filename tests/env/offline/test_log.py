from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.testing import assert_array_equal
from small_topics import Own, bare_topic, random_topics, refused, small_topic

from srd_gym import Clicks, TopicSet
from srd_gym.offline import EpsilonPolicy, logged_parts, read_log, write_log
from srd_gym.offline import log as log_module

TOPICS = random_topics(2, 6)
BACKWARDS = Own(lambda topic, k: np.arange(topic.n_candidates)[::-1][:k])
HEADER = {"epsilon": 0.4, "top_n": None, "seed": 3}


def parts(episodes: int = 50, topics: TopicSet = TOPICS, ranker: Own = BACKWARDS) -> Any:
    how: dict[str, Any] = {"depth": 4, "episodes": episodes, "seed": 3}
    return logged_parts(ranker, topics, Clicks(noise=0.3), EpsilonPolicy(0.4), **how)


def stop(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


@pytest.fixture
def logged(tmp_path: Path) -> Path:
    write_log(tmp_path / "log.parquet", parts(), HEADER, lambda _: None)
    return tmp_path / "log.parquet"


def test_a_log_is_read_back_and_begins_alike_whatever_follows(logged: Path) -> None:
    log, made = read_log(logged, TOPICS), next(parts())()
    for name in ("topic_index", "shown", "propensities", "slot_propensities", "clicks", "orders", "policy"):
        assert_array_equal(getattr(log, name), getattr(made, name), err_msg=name)
    assert log.header == HEADER
    assert log.clicks.any()
    ranking = pq.read_table(logged)["ranking_propensity"].to_numpy()
    assert_array_equal(ranking, made.propensities.prod(axis=1))
    few, more = next(parts(10))(), next(parts(50))()
    assert_array_equal(few.topic_index, more.topic_index[:10])


def test_an_interrupted_log_goes_on_to_the_same_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_module, "PART", 20)
    whole, again = tmp_path / "whole.parquet", tmp_path / "again.parquet"
    told: list[float] = []
    assert write_log(whole, parts(), HEADER, told.append)
    assert told == [20, 20, 10]

    def stops() -> Any:
        for number, part in enumerate(parts()):
            if number == 2:
                raise KeyboardInterrupt
            yield part

    with pytest.raises(KeyboardInterrupt):
        write_log(again, stops(), HEADER, told.append)
    assert not again.exists()
    refused(lambda: write_log(again, parts(), HEADER | {"seed": 4}, told.append), "another log: seed was 3, now 4")
    assert write_log(again, parts(), HEADER, told.append)
    assert again.read_bytes() == whole.read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["again.parquet", "whole.parquet"]
    assert not write_log(again, parts(), HEADER, told.append)
    refused(lambda: write_log(again, parts(), HEADER | {"epsilon": 0.1}, told.append), "epsilon was 0.4, now 0.1")
    refused(lambda: write_log(again, parts(), {"epsilon": 0.4}, told.append), "seed was 3, now None")


def test_parts_go_where_a_log_was_whole_when_it_was_killed(tmp_path: Path) -> None:
    out, waiting = tmp_path / "log.parquet", tmp_path / "log.parquet.parts"
    with pytest.raises(KeyboardInterrupt):
        write_log(out, parts(), HEADER, stop)
    shutil.copytree(waiting, tmp_path / "kept")
    write_log(out, parts(), HEADER, lambda _: None)
    (tmp_path / "kept").rename(waiting)
    assert not write_log(out, parts(), HEADER, lambda _: None)
    assert [path.name for path in tmp_path.iterdir()] == ["log.parquet"]


def test_parts_of_two_orders_never_mix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_module, "PART", 20)
    out, forwards = tmp_path / "log.parquet", Own(lambda topic, k: np.arange(min(k, topic.n_candidates)))
    with pytest.raises(KeyboardInterrupt):
        write_log(out, parts(), HEADER, stop)
    refused(lambda: write_log(out, parts(ranker=forwards), HEADER, lambda _: None), "was the model trained again")
    write_log(out, parts(), HEADER, lambda _: None)
    refused(lambda: write_log(out, parts(ranker=forwards), HEADER, lambda _: None), "replace it with --force")


def test_only_parts_of_a_log_go_and_none_go_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_module, "PART", 20)
    out, waiting = tmp_path / "log.parquet", tmp_path / "log.parquet.parts"
    waiting.mkdir()
    for name in ("notes.txt", "mine.parquet"):
        (waiting / name).write_text("mine")
    assert write_log(out, parts(), HEADER, lambda _: None)
    assert sorted(path.name for path in waiting.iterdir()) == ["mine.parquet", "notes.txt"]
    other, link = tmp_path / "elsewhere", tmp_path / "other.parquet.parts"
    other.mkdir()
    link.symlink_to(other)
    refused(lambda: write_log(tmp_path / "other.parquet", parts(), HEADER, lambda _: None), "parts is a link")
    assert not list(other.iterdir())


def test_a_log_of_another_header_is_replaced_where_that_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_module, "PART", 20)
    whole, out, shorter = tmp_path / "whole.parquet", tmp_path / "log.parquet", HEADER | {"episodes": 30}

    def stops() -> Any:
        yield from list(parts())[:2]
        raise KeyboardInterrupt

    write_log(whole, parts(30), shorter, lambda _: None)
    with pytest.raises(KeyboardInterrupt):
        write_log(out, stops(), HEADER, lambda _: None)
    assert write_log(out, parts(30), shorter, lambda _: None, force=True)
    assert not write_log(out, parts(30), shorter, lambda _: None, force=True), "there is nothing to replace"
    assert write_log(out, parts(), HEADER, lambda _: None, force=True)
    assert write_log(out, parts(30), shorter, lambda _: None, force=True)
    assert out.read_bytes() == whole.read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["log.parquet", "whole.parquet"]
    pq.write_table(pa.table({"mine": [1]}), out)
    refused(lambda: write_log(out, parts(), HEADER, lambda _: None, force=True), "lacks the column")


def changed(logged: Path, name: str, value: Any, kind: pa.DataType | None = None) -> None:
    """The second row of a column is another, and the whole column of another type where one is given."""
    table = pq.read_table(logged)
    column = table[name].to_pylist()
    if kind is not None:
        column = [value(row) for row in column]
    else:
        column[1] = value(column[1])
    array = pa.array(column, kind or table.schema.field(name).type)
    pq.write_table(table.set_column(table.schema.get_field_index(name), name, array), logged)


@pytest.mark.parametrize(("name", "value", "message"), [
    ("propensities", lambda row: [0.0, *row[1:]], r"row 2: propensities: .*got 0 \(entry 1\)"),
    ("propensities", lambda row: [1.5, *row[1:]], "row 2: propensities: .*got 1.5"),
    ("propensities", lambda row: [None, *row[1:]], "row 2: propensities: .*null"),
    ("slot_propensities", lambda row: [float("nan"), *row[1:]], "row 2: slot_propensities: .*got nan"),
    ("query_id", lambda _: "unknown", "topic 'unknown' is not in 'random'"),
    ("query_id", lambda _: None, "row 2: query_id: .*null"),
    ("shown", lambda row: ["elsewhere", *row[1:]], "has no document 'elsewhere'"),
    ("shown", lambda row: [row[0]] * len(row), "row 2: a document is shown at two ranks"),
    ("shown", lambda _: None, "row 2: shown: .*null"),
    ("clicks", lambda row: [*row, True], "are shown, but the other columns have"),
    ("clicks", lambda row: [None, *row[1:]], "row 2: clicks: .*null"),
])  # fmt: skip
def test_a_log_that_cannot_be_is_refused(logged: Path, name: str, value: Any, message: str) -> None:
    changed(logged, name, value)
    refused(lambda: read_log(logged, TOPICS), f"log\\.parquet, .*{message}")


@pytest.mark.parametrize("kind", [pa.bool_(), pa.int8(), pa.float64()], ids=str)
def test_clicks_are_true_and_false_or_1_and_0(kind: pa.DataType, logged: Path) -> None:
    expected = read_log(logged, TOPICS).clicks
    changed(logged, "clicks", lambda row: np.array(row, kind.to_pandas_dtype()).tolist(), pa.list_(kind))
    assert_array_equal(read_log(logged, TOPICS).clicks, expected)


@pytest.mark.parametrize("odd", ["0", "1", "no", 0.3, -1, 2, float("nan")], ids=str)
def test_nothing_else_is_a_click(odd: Any, logged: Path) -> None:
    clicked = str if isinstance(odd, str) else float
    kind = pa.list_(pa.string() if isinstance(odd, str) else pa.float64())
    changed(logged, "clicks", lambda row: [odd, *map(clicked, row[1:])], kind)
    message = "column 'clicks' has type" if isinstance(odd, str) else "row 1: clicks: expected true or false"
    refused(lambda: read_log(logged, TOPICS), message)


@pytest.mark.parametrize(("name", "kind"), [
    ("propensities", pa.list_(pa.string())), ("query_id", pa.list_(pa.string())),
    ("shown", pa.list_(pa.bool_())), ("clicks", pa.int64()),
])  # fmt: skip
def test_a_column_of_another_type_is_refused(name: str, kind: pa.DataType, logged: Path) -> None:
    odd = {"propensities": lambda row: list(map(str, row)), "query_id": lambda row: [row],
           "shown": lambda row: [True] * len(row), "clicks": len}[name]  # fmt: skip
    changed(logged, name, odd, kind)
    refused(lambda: read_log(logged, TOPICS), f"log.parquet, row 1: column '{name}' has type")


def order_of(change: Any) -> Any:
    """Metadata in which the order of the first topic is another."""

    def changed(header: dict[str, Any], orders: dict[str, Any]) -> Any:
        first = next(iter(orders))
        return header, {**orders, first: change(orders[first])}

    return changed


@pytest.mark.parametrize("change", [
    lambda header, orders: ({}, orders),
    lambda header, orders: ([], orders),
    lambda header, orders: ("x" * 9, orders),
    lambda header, orders: (header, []),
    lambda header, orders: ({**header, "epsilon": 2}, orders),
    lambda header, orders: ({**header, "epsilon": "0.1"}, orders),
    lambda header, orders: ({**header, "epsilon": float("nan")}, orders),
    lambda header, orders: ({**header, "top_n": -1}, orders),
    lambda header, orders: ({**header, "top_n": 1}, orders),
    lambda header, orders: (header, dict(list(orders.items())[1:])),
    order_of(lambda order: order[:2]),
    order_of(lambda order: [*order, 0]),
    order_of(lambda order: [0] * len(order)),
    order_of(lambda order: [99, *order[1:]]),
    order_of(lambda order: ["a"] * len(order)),
    order_of(lambda order: None),
])  # fmt: skip
def test_damaged_metadata_is_told_in_one_line_with_the_file(change: Any, logged: Path) -> None:
    table = pq.read_table(logged)
    there = [json.loads(table.schema.metadata[key]) for key in (log_module._KEY, log_module._ORDERS)]
    said = {
        key: json.dumps(value) for key, value in zip((log_module._KEY, log_module._ORDERS), change(*there), strict=True)
    }
    pq.write_table(table.replace_schema_metadata(said), logged)
    with pytest.raises(ValueError, match=r"^log of episodes: .*log\.parquet[:,] metadata ") as caught:
        read_log(logged, TOPICS)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("raw", [b"{", b"\xff\xfe", b"[" * 100_000, b'{"a": 1, "a": 2}'])
def test_metadata_that_is_no_json_is_told(raw: bytes, logged: Path) -> None:
    pq.write_table(pq.read_table(logged).replace_schema_metadata({log_module._KEY: raw}), logged)
    refused(lambda: read_log(logged, TOPICS), r"'srd_gym\.log': not a whole Parquet file")


def test_files_that_are_no_logs_and_topics_without_judgments_are_refused(logged: Path, tmp_path: Path) -> None:
    table = pq.read_table(logged)
    pq.write_table(table.drop_columns(["propensities"]), tmp_path / "bare.parquet")
    refused(lambda: read_log(tmp_path / "bare.parquet", TOPICS), "lacks the column propensities")
    nothing = {name: pa.array([[]], table.schema.field(name).type) for name in ("shown", "propensities", "clicks")}
    for episodes in (table.slice(0, 0), pa.table({"query_id": [TOPICS[0].query_id], **nothing})):
        pq.write_table(episodes, tmp_path / "empty.parquet")
        refused(lambda: read_log(tmp_path / "empty.parquet", TOPICS), "holds no episode")
    logged.write_bytes(logged.read_bytes()[:-200])
    refused(lambda: read_log(logged, TOPICS), "not a whole Parquet file")
    refused(lambda: read_log(tmp_path / "none.parquet", TOPICS), "none.parquet", FileNotFoundError)
    topics = TopicSet([small_topic(), bare_topic(2, "bare")], name="half")
    refused(lambda: next(parts(1, topics)), "topic 'bare' has no judgments")
