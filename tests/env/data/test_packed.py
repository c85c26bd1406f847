"""Topics of sets larger than memory: the same topics, in less memory."""

from __future__ import annotations

import gc
import pickle
import tracemalloc
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from srd_gym.data import generate, mapped, packed, parquet
from srd_gym.data.notices import DataNotice
from srd_gym.data.packed import _SLOTS
from srd_gym.data.parquet import read_topics, write_topics
from srd_gym.measures import evaluate
from srd_gym.topic import TOPIC_FIELDS, Topic, TopicSet

IDS = ("d1", "é", "文書", " ", "")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "topics.parquet"


def on_disk(path: Path, monkeypatch: pytest.MonkeyPatch) -> TopicSet:
    """The topics of a file as of one that is larger than memory."""
    with monkeypatch.context() as small:
        small.setattr(parquet, "IN_MEMORY", 0)
        with pytest.warns(DataNotice, match="numbers and document ids of .* temporary"):
            return read_topics(path)


def odd(query_id: str, ids: tuple[str, ...], pool_ids: tuple[str, ...] | None) -> Topic:
    pool = None if pool_ids is None else np.ones((len(pool_ids), 2), np.int8)
    judgments = np.ones((len(ids), 2), np.int8)
    return Topic(query_id=query_id, doc_ids=ids, judgments=judgments, pool=pool, pool_ids=pool_ids)


@pytest.mark.parametrize("recent", [1, 256])
def test_ids_are_tuples_to_whoever_asks(recent: int, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packed, "_RECENT", recent)
    topics = [
        odd("1", IDS, IDS[::-1]),
        odd("2", ("a\0b", "c"), ("x\0", "y")),
        odd("3", ("a",), ()),
        odd("4", IDS, None),
    ]
    write_topics(path, topics)
    for topic, wanted in zip(on_disk(path, monkeypatch), topics, strict=True):
        for _ in range(2):
            assert isinstance(topic.doc_ids, tuple)
            assert (topic.doc_ids, topic.pool_ids) == (wanted.doc_ids, wanted.pool_ids)
            assert topic.n_candidates == len(wanted.doc_ids)
        copies = [pickle.loads(pickle.dumps(topic)), replace(topic, query_text="q"), topic.take(range(1))]
        assert [copy.doc_ids for copy in copies] == [wanted.doc_ids, wanted.doc_ids, wanted.doc_ids[:1]]
        assert {copy.pool_ids for copy in copies} == {wanted.pool_ids}
        with pytest.raises(AttributeError):
            topic.doc_ids = ()  # type: ignore[misc]


def test_everything_else_is_the_same(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    topics = generate("web", n_topics=300, seed=0, width=8, candidates=(5, 20))
    write_topics(path, topics)
    found = on_disk(path, monkeypatch)
    assert repr(found[7]) == repr(topics[7])
    assert found.fingerprint == topics.fingerprint
    for name in TOPIC_FIELDS:
        np.testing.assert_array_equal(getattr(found[299], name), getattr(topics[299], name))
    rankings = {topic.query_id: list(range(topic.n_candidates))[::-1] for topic in found}
    measures = ["alpha_nDCG@10", "StRecall@5"]
    assert evaluate(found, rankings, measures).mean() == evaluate(topics, rankings, measures).mean()


def test_a_chunk_is_mapped_while_it_is_used(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mapped, "CHUNK", 1 << 16)
    topics = generate("web", n_topics=60, seed=0, width=64, candidates=(20, 20))  # five kilobytes each
    write_topics(path, topics)
    found = on_disk(path, monkeypatch)
    gc.collect()
    stored = _SLOTS["doc_vectors"].__get__(found[0])
    file = stored._file
    assert len(file._mapped) <= 1
    for topic, wanted in zip(found, topics, strict=True):
        assert topic.doc_vectors is not None
        assert not topic.doc_vectors.flags.writeable
        np.testing.assert_array_equal(topic.doc_vectors, wanted.doc_vectors)
        assert len(file._mapped) == 1
    held = [topic.doc_vectors for topic in found]
    assert 5 < len(file._mapped) <= 8
    del held, topic
    gc.collect()
    assert len(file._mapped) == 1
    first = found[0].doc_vectors
    del found, file, stored
    gc.collect()
    np.testing.assert_array_equal(first, topics[0].doc_vectors)


def test_an_array_may_be_larger_than_a_chunk(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mapped, "CHUNK", 1 << 14)
    topics = generate("web", n_topics=3, seed=0, width=512, candidates=(20, 20))
    write_topics(path, topics)
    for topic, wanted in zip(on_disk(path, monkeypatch), topics, strict=True):
        np.testing.assert_array_equal(topic.doc_vectors, wanted.doc_vectors)


def test_a_topic_takes_little_memory(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bytes that each topic of 100 candidates adds; also once its ids were asked for."""
    write_topics(path, generate("web", n_topics=1_000, seed=0, width=8, candidates=(100, 100)))

    def bytes_of(read: TopicSet | None) -> float:
        for topic in read or ():
            assert len(topic.doc_ids) == 100
        return tracemalloc.get_traced_memory()[0]

    on_disk(path, monkeypatch)  # what is imported and made once
    tracemalloc.start()
    before = bytes_of(None)
    topics = on_disk(path, monkeypatch)
    read = bytes_of(None)
    asked = bytes_of(topics)
    held = read_topics(path)
    in_memory = bytes_of(None)
    tracemalloc.stop()
    assert len(topics) == len(held)
    assert (read - before) / 1_000 < 1_700
    assert asked - read < packed._RECENT * 10_000
    assert (in_memory - asked) / 1_000 > 6_000
