"""Vectors that stay on disk: the same topics, other memory."""

from __future__ import annotations

import mmap
import re
import sys
from contextlib import closing
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from srd_gym import files
from srd_gym.data import parquet
from srd_gym.data.parquet import count_row_groups, read_topics, write_topics
from srd_gym.data.streams import DataNotice
from srd_gym.data.synthetic import generate
from srd_gym.files import MappedFile, looked_at
from srd_gym.topic import TopicSet

TOPICS = generate("tiny", n_topics=40, seed=0)


@pytest.fixture
def groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file of four row groups."""
    monkeypatch.setattr(parquet, "_GROUP_ROWS", 10)
    path = tmp_path / "topics.parquet"
    write_topics(path, TOPICS)
    assert count_row_groups(path) == 4
    return path


def on_disk(path: Path, monkeypatch: pytest.MonkeyPatch) -> TopicSet:
    """The topics of a file, their vectors on disk however few they are."""
    monkeypatch.setattr(parquet, "IN_MEMORY", 0)
    monkeypatch.setattr(files, "_MAPPED", mmap.ALLOCATIONGRANULARITY)
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
    place = table.schema.get_field_index("doc_vectors")
    pq.write_table(table.set_column(place, "doc_vectors", table.column(place).cast(half)), groups)
    for topics in (read_topics(groups), on_disk(groups, monkeypatch)):
        for topic, given in zip(topics, TOPICS, strict=True):
            expected = given.require_vectors("test").astype(np.float16).astype(np.float32)
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


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_what_was_looked_at_is_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "AT_ONCE", 2**21)
    each = np.zeros(2**18, np.float32)  # 1 MiB
    with closing(MappedFile()) as file:
        rows = [row for row in file.moved([each] * 32) if row is not None]
    resident = []
    for row in rows:
        looked_at(row.nbytes)
        assert row.sum() == 0
        resident.append(_mapped_megabytes())
    assert max(resident) < min(resident) + 8
    for row in rows:
        row.sum()  # without saying so
    assert _mapped_megabytes() > min(resident) + 24


def _mapped_megabytes() -> float:
    """What the process holds of mapped files."""
    found = re.search(r"RssFile:\s+(\d+) kB", Path("/proc/self/status").read_text())
    assert found is not None
    return int(found[1]) / 1024
