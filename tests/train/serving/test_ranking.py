"""Topics ranked as they come: of many files, without holding them, and the same as all at once."""

from __future__ import annotations

import dataclasses
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from run_srd import Srd

from srd_agents.heuristic.trade_off import MMR
from srd_agents.registry import make_ranker
from srd_gym.data.parquet import write_topics
from srd_gym.data.synthetic import generate
from srd_gym.installing import how_to_install
from srd_gym.topic import Topic, TopicSet
from srd_gym.trec_files import read_run
from srd_train.serving.ranking import topic_stream


@pytest.fixture
def parts(tmp_path: Path) -> Path:
    """A folder of three files, and something else."""
    topics = generate("tiny", n_topics=30, seed=0)
    folder = tmp_path / "parts"
    for i in range(3):
        write_topics(folder / f"part-{i}.parquet", topics[10 * i : 10 * i + 10])
    (folder / "notes.txt").write_text("no topics")
    return folder


def test_a_folder_and_a_pattern_rank_as_one_file(srd: Srd, parts: Path, tiny_file: Path, tmp_path: Path) -> None:
    words = ("rank", "mmr", "--lambda", "0.3", "--k", "4")
    srd.works(*words, "--topics", tiny_file, "--out", tmp_path / "one")
    for name, source in (("folder", parts), ("pattern", parts / "part-*.parquet")):
        done = srd.works(*words, "--topics", source, "--out", tmp_path / name, "--json")
        assert done.json["topics"] == 30
        assert (tmp_path / name).read_text() == (tmp_path / "one").read_text()
    ranker = make_ranker("mmr", lambda_=0.3, relevance="matched")
    rankings = read_run(tmp_path / "one").rankings
    for topic in generate("tiny", n_topics=30, seed=0):
        assert rankings[topic.query_id] == tuple(topic.doc_ids[i] for i in ranker.rank(topic, 4))


def test_processes_write_the_run_of_one_and_name_what_is_wrong(srd: Srd, parts: Path, tmp_path: Path) -> None:
    words = ("rank", "mmr", "--k", "4", "--topics", parts)
    srd.works(*words, "--out", tmp_path / "one")
    srd.works(*words, "--out", tmp_path / "two", "--jobs", "2")
    assert (tmp_path / "two").read_bytes() == (tmp_path / "one").read_bytes()
    bare = Topic(query_id="bare", doc_ids=("a", "b"))
    write_topics(parts / "part-9.parquet", TopicSet([bare], name="bare"))
    assert "'bare' has no document vectors" in srd.fails(*words, "--out", tmp_path / "three", "--jobs", "2")
    assert not (tmp_path / "three").exists()


SLOW = """
import time


class Slow:
    def rank(self, topic, k):
        return self.rank_batch([topic], k)[0]

    def rank_batch(self, topics, k):
        open({begun!r}, "w").close()
        time.sleep(600)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_does_not_wait_for_what_processes_rank(
    number: signal.Signals, parts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = tmp_path / "begun"
    (tmp_path / "slow.py").write_text(SLOW.format(begun=str(begun)))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), *sys.path]))
    words = ["rank", "slow:Slow", "--trust", "--topics", str(parts), "--out", str(tmp_path / "run"), "--jobs", "2"]
    with subprocess.Popen([sys.executable, "-m", "srd_train", *words], stderr=subprocess.PIPE, text=True) as process:
        until = time.monotonic() + 120
        while not begun.exists() and time.monotonic() < until:
            time.sleep(0.02)
        process.send_signal(number)
        error = process.communicate(timeout=120)[1]
    how = "interrupted" if number == signal.SIGINT else "stopped by SIGTERM"
    assert (process.returncode, error) == (128 + number, f"error: {how}; nothing is left half written\n")


def test_patterns_may_be_relative(srd: Srd, parts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(parts)
    assert len(topic_stream("part-[01].parquet").query_ids()) == 20
    empty = tmp_path / "empty"
    empty.mkdir()
    words = ("rank", "mmr", "--out", tmp_path / "run", "--topics")
    assert "no file matches" in srd.fails(*words, empty)
    assert "no file matches" in srd.fails(*words, parts / "piece-*")
    assert "no file at" in srd.fails(*words, parts / "absent.parquet")


def test_a_model_ranks_its_test_fold_of_many_files(srd: Srd, parts: Path, tiny_file: Path, tmp_path: Path) -> None:
    model = tmp_path / "model"
    srd.works("train", "mmr", "--topics", tiny_file, "--fold", "1/5", "--out", model)
    done = srd.works("rank", model, "--topics", parts, "--out", tmp_path / "run")
    assert "6 topics of 30 (the model's test fold" in done.err
    assert len(read_run(tmp_path / "run").rankings) == 6
    (parts / "part-1.parquet").unlink()
    message = srd.fails("rank", model, "--topics", parts, "--out", tmp_path / "run")
    assert "are not in" in message
    assert "--all" in message
    srd.works("rank", model, "--topics", parts, "--out", tmp_path / "run", "--all")
    assert len(read_run(tmp_path / "run").rankings) == 20


def test_files_that_are_no_one_set_are_refused_first(srd: Srd, parts: Path, tmp_path: Path) -> None:
    words, last = ("rank", "random", "--topics", parts, "--out", tmp_path / "run"), parts / "part-9.parquet"
    last.write_bytes((parts / "part-1.parquet").read_bytes())
    assert "query id 'tiny-0-10' is duplicated" in srd.fails(*words)
    other = generate("tiny", n_topics=2, seed=1, width=9)
    write_topics(last, other.replace(dataclasses.replace(t, query_id=f"w{t.query_id}") for t in other))
    assert "one set has one width" in srd.fails(*words)
    assert [path.name for path in tmp_path.iterdir()] == ["parts"]


def test_ray_has_to_be_there(srd: Srd, tiny_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    words = ("rank", "mmr", "--engine", "ray", "--out", tmp_path / "run", "--topics")
    assert how_to_install("ray") in srd.fails(*words, tiny_file)


def test_a_run_repeats_no_document(srd: Srd, tiny_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MMR, "rank_batch", lambda _, topics, k: [np.zeros(k, np.int64) for _ in topics])
    run = tmp_path / "run"
    error = srd.fails("rank", "mmr", "--topics", tiny_file, "--out", run)
    assert "ranker 'mmr' ranks a document of topic 'tiny-0-0' twice" in error
    assert not run.exists()


# Not getrusage: what it tells of a new process begins with what its parent takes.
_STATUS = Path("/proc/self/status")
_PEAK = f"""
import re, sys
from srd_train.cli import main
code = main(["rank", "random", "--topics", sys.argv[1], "--out", sys.argv[2]])
print(code, re.search("VmHWM: *([0-9]+)", open("{_STATUS}").read().replace("\\t", " "))[1])
"""


@pytest.mark.skipif(not _STATUS.exists(), reason="the kernel does not tell a process's peak")
def test_memory_does_not_grow_with_the_topics(tmp_path: Path) -> None:
    """The larger file holds 256 MB of vectors, of which no more than a row group or two is in memory."""
    ids = tuple(f"d{i}" for i in range(50))
    vectors = np.random.default_rng(0).standard_normal((50, 640), dtype=np.float32)
    peaks = []
    for count in (500, 2000):
        path = tmp_path / f"{count}.parquet"
        write_topics(path, (Topic(query_id=f"q{i}", doc_ids=ids, doc_vectors=vectors) for i in range(count)))
        words = [sys.executable, "-c", _PEAK, str(path), str(tmp_path / f"{count}.run")]
        done = subprocess.run(words, check=True, capture_output=True, text=True, timeout=120)
        code, peak = done.stdout.split()[-2:]
        assert code == "0"
        peaks.append(int(peak))
    assert peaks[1] < 1.2 * peaks[0]
    assert len(read_run(tmp_path / "2000.run").rankings) == 2000
