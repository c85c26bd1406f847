"""load_topics: a set, a path or a generator's name."""

from __future__ import annotations

from pathlib import Path

import pytest
from small_topics import refused

from srd_gym.data import generate, load_topics, write_topics


def test_a_set_is_returned_as_it_is_and_a_path_is_read(tmp_path: Path) -> None:
    topics = generate("tiny", n_topics=3, seed=0)
    assert load_topics(topics) is topics
    write_topics(tmp_path / "t.parquet", topics)
    for path in (tmp_path / "t.parquet", str(tmp_path / "t.parquet")):
        read = load_topics(path)
        assert (read.query_ids, read.name, read.simulated) == (topics.query_ids, topics.name, True)


@pytest.mark.parametrize(("source", "count", "seed"), [("tiny", 1000, 0), ("tiny:7", 7, 0), ("tiny:7:3", 7, 3)])
def test_names_give_generated_topics(source: str, count: int, seed: int) -> None:
    topics = load_topics(f"synthetic:{source}")
    assert topics.query_ids == generate("tiny", n_topics=count, seed=seed).query_ids
    assert len(topics) == count
    assert topics.simulated


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("synthetic:tiny:x", r'expected "synthetic:PRESET\[:TOPICS\[:SEED\]\]" such as "synthetic:serp:200:1", got'),
        ("synthetic:tiny:1:2:3", r'expected "synthetic:PRESET'),
        ("synthetic:tiny:-1", r'expected "synthetic:PRESET'),
        ("synthetic:tinny", r"Did you mean tiny"),
    ],
)
def test_bad_names_say_what_was_expected(source: str, message: str) -> None:
    refused(lambda: load_topics(source), message)


def test_other_sources_say_what_to_do(tmp_path: Path) -> None:
    refused(lambda: load_topics(tmp_path), r"is a folder; make a Parquet file of it with `srd data build")
    with pytest.raises(FileNotFoundError, match=r'no file at absent\.parquet; give the path .* or "synthetic:serp"'):
        load_topics("absent.parquet")
    refused(lambda: load_topics(7), r"topics must be a TopicSet, .* got 7 \(int\)", TypeError)
    (tmp_path / "run").write_text("1 Q0 a 1 1 x\n")
    refused(lambda: load_topics(tmp_path / "run"), "not a whole Parquet file")
