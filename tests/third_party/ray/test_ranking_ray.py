"""`srd rank --engine ray` on a real Ray of this machine."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from made_results import bare_file

from srd_gym.data.parquet import write_topics
from srd_gym.data.synthetic import generate
from srd_gym.trec_files import read_run
from srd_train.cli import main

pytestmark = pytest.mark.usefixtures("cluster")


@pytest.fixture
def parts(tmp_path: Path) -> Path:
    """A folder of three files."""
    topics = generate("tiny", n_topics=210, seed=0)
    for i in range(3):
        write_topics(tmp_path / "parts" / f"part-{i}.parquet", topics[70 * i : 70 * i + 70])
    return tmp_path / "parts"


def test_ray_data_writes_the_same_run(parts: Path, tmp_path: Path) -> None:
    words = ["rank", "mmr", "--lambda", "0.3", "--k", "4", "--topics", str(parts), "--out"]
    assert main([*words, str(tmp_path / "here")]) == 0
    assert main([*words, str(tmp_path / "there"), "--engine", "ray"]) == 0
    assert (tmp_path / "there").read_text() == (tmp_path / "here").read_text()


def test_a_model_ranks_its_test_fold(parts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    first = parts / "part-0.parquet"
    assert main(["train", "mdp-div", "--topics", str(first), "--fold", "1/5", "--epochs", "1", "--out", "model"]) == 0
    words = ["rank", "model", "--topics", str(parts / "*.parquet"), "--out"]
    assert main([*words, "here"]) == 0
    assert main([*words, "there", "--engine", "ray"]) == 0
    assert Path("there").read_text() == Path("here").read_text()
    assert len(read_run("there").rankings) == 14


def test_what_ray_cannot_rank_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bare = bare_file(tmp_path / "bare.parquet", 3)
    for topics, said in (
        (bare, "ranking on Ray: .*vectors"),
        ("synthetic:tiny:3", "ranks Parquet files, not synthetic"),
    ):
        assert main(["rank", "mmr", "--topics", str(topics), "--out", str(tmp_path / "run"), "--engine", "ray"]) == 2
        assert re.search(f"error: .*{said}", capsys.readouterr().err)
    assert not (tmp_path / "run").exists()
