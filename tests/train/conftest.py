from __future__ import annotations

from pathlib import Path

import pytest
from made_results import run_small
from run_srd import Srd

from srd_gym.data.ambient import load_ambient
from srd_gym.data.parquet import write_topics
from srd_gym.data.synthetic import generate
from studies.__main__ import TREE


@pytest.fixture
def srd(capsys: pytest.CaptureFixture[str]) -> Srd:
    """Runs the command in this process."""
    return Srd(capsys)


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
def ambient_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ten made-up queries in AMBIENT's four files, with texts and no vectors."""
    folder = tmp_path_factory.mktemp("ambient")
    topics, subtopics, results, relations = ["ID\tdescription"], ["ID\tdescription"], ["ID\turl\ttitle\tsnippet"], []
    words = ["bank", "river", "money", "music", "planet", "car", "animal", "city", "code", "food"]
    for query in range(1, 11):
        topics.append(f"{query}\tquery {words[query - 1]}")
        for s in range(1, 4):
            subtopics.append(f"{query}.{s}\tabout {words[(query + s) % 10]}")
        for d in range(1, 9):
            word = words[(query + d) % 10]
            results.append(f"{query}.{d}\thttp://x/{query}/{d}\t{word} page\tall about {word} and {words[d]}")
            relations.append(f"{query}.{(d % 3) + 1}\t{query}.{d}")
    files = {
        "topics.txt": topics,
        "subTopics.txt": subtopics,
        "results.txt": results,
        "STRel.txt": ["subTopicID\tresultID", *relations],
    }
    for name, lines in files.items():
        (folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


@pytest.fixture(scope="session")
def texts_file(ambient_folder: Path) -> Path:
    """A topic file of texts without vectors."""
    path = ambient_folder / "texts.parquet"
    write_topics(path, load_ambient(ambient_folder))
    return path
