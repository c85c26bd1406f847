from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from made_results import run_small
from run_srd import Feed, Srd, feed_to

from srd_gym.data import load_topics
from srd_gym.data.parquet import write_topics
from srd_gym.data.synthetic import generate
from srd_gym.topic import TopicSet
from studies.__main__ import TREE


@pytest.fixture
def srd(capsys: pytest.CaptureFixture[str]) -> Srd:
    """Runs the command in this process."""
    return Srd(capsys)


@pytest.fixture
def feed(monkeypatch: pytest.MonkeyPatch) -> Feed:
    """Puts bytes into standard input."""
    return feed_to(monkeypatch)


@pytest.fixture
def study(capsys: pytest.CaptureFixture[str]) -> Srd:
    """Runs a study in this process."""
    return Srd(capsys, TREE)


@pytest.fixture(scope="session")
def small_run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The results of a benchmark of seconds, and its recipe; to read from."""
    return run_small(tmp_path_factory.mktemp("small"))


@pytest.fixture(scope="session")
def tiny_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A topic file of 30 tiny topics."""
    path = tmp_path_factory.mktemp("topics") / "tiny.parquet"
    write_topics(path, generate("tiny", n_topics=30, seed=0))
    return path


@pytest.fixture(scope="session")
def texts_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A topic file of ten queries with texts, without vectors."""
    path = tmp_path_factory.mktemp("texts") / "texts.parquet"
    bare = {"doc_vectors": None, "query_vector": None, "subtopic_vectors": None}
    write_topics(path, TopicSet([replace(topic, **bare) for topic in load_topics("words")[:10]], name="texts"))
    return path
