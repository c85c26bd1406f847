"""Cells run in several processes, killed and broken ones among them."""

from __future__ import annotations

import dataclasses
import json
import multiprocessing
import os
import pickle
import signal
import socket
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from made_results import TINY, recipe, recipe_file, timeless
from run_srd import Srd

from srd_agents.own_code import import_own
from srd_gym.data.parquet import write_topics
from srd_gym.data.synthetic import generate
from srd_gym.installing import how_to_install
from srd_gym.interrupts import Stopped, stopped_by_signals
from srd_train.experiment.benchmark import FailedCellsError, run_benchmark
from srd_train.experiment.cells import tasks
from srd_train.experiment.engines import _check_reachable, _named, _run, processes, shielded
from srd_train.experiment.recipe import RankerEntry, load_recipe

LEARNER = 'ranker = "listmle"\nseeds = [0, 1]\nconfig = { epochs = 3 }'  # without torch, which takes seconds to import
DYING = """
import os
import signal

import numpy as np


class Dying:
    "Kills its process when it first ranks."

    def rank(self, topic, k):
        return self.rank_batch([topic], k)[0]

    def rank_batch(self, topics, k):
        try:
            open({killed!r}, "x").close()
        except FileExistsError:
            pass
        else:
            os.kill(os.getpid(), signal.SIGKILL)
        return [np.arange(min(k, topic.n_candidates)) for topic in topics]
"""
WHOLE = 'source = "synthetic:tiny:15:0"\nfolds = 3'


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return recipe_file(tmp_path_factory.mktemp("recipe"), "random", LEARNER, "mmr", topics=WHOLE)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory, file: Path) -> tuple[Path, list[dict[str, Any]]]:
    out = tmp_path_factory.mktemp("whole")
    return out, run_benchmark(load_recipe(str(file)), out)


def written(out: Path) -> dict[str, Any]:
    """All that a folder of results holds, by file, but what changes from run to run."""
    cells = {path.name: timeless(json.loads(path.read_text())) for path in (out / "cells").iterdir()}
    return cells | {path.name: path.read_text() for path in (out / "runs").iterdir()}


def test_processes_come_to_the_same(finished: tuple[Path, list[dict[str, Any]]], file: Path, tmp_path: Path) -> None:
    whole, expected = finished
    records = run_benchmark(load_recipe(str(file)), tmp_path, engine=processes(2))
    assert [record["cell"] for record in records] == [record["cell"] for record in expected]
    assert written(tmp_path) == written(whole)
    assert not multiprocessing.active_children()


def test_a_killed_process_loses_its_cell_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    killed = tmp_path / "killed"
    (tmp_path / "dying.py").write_text(DYING.format(killed=str(killed)))
    monkeypatch.syspath_prepend(tmp_path)
    import_own(["dying:Dying"], trust=True)
    many = recipe("random", RankerEntry(ranker="dying:Dying", seeds=(0,)), seeds=tuple(range(10)))
    out = tmp_path / "out"
    with pytest.raises(FailedCellsError, match="WorkerDiedError: the process that ran it ended by SIGKILL") as caught:
        run_benchmark(many, out, engine=processes(2), trust=True)
    (failed,) = caught.value.failed
    assert len(caught.value.records) == 3 * 11 - 1
    assert json.loads((out / "failed" / f"{failed['cell']}.json").read_text()) == failed
    run_benchmark(many, out, trust=True)
    run_benchmark(many, tmp_path / "whole", trust=True)
    assert written(out) == written(tmp_path / "whole")
    assert not list((out / "failed").iterdir())


def test_a_signal_waits_for_the_end_of_what_is_shielded_though_another_thread_takes_it() -> None:
    def signalled() -> None:
        with stopped_by_signals(), shielded():
            os.kill(os.getpid(), signal.SIGTERM)
            for _ in range(100):
                time.sleep(0.001)
            done.set()

    ended, done = threading.Event(), threading.Event()
    thread = threading.Thread(target=ended.wait)
    thread.start()
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    with pytest.raises(Stopped):
        signalled()
    ended.set()
    thread.join()
    assert done.is_set()
    assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == mask


def test_a_process_that_dies_between_two_cells_is_replaced(tmp_path: Path) -> None:
    killed: list[object] = []

    def kill_it(*_: object) -> None:
        if not killed:
            killed.extend(multiprocessing.active_children())
            managers = [thread for thread in threading.enumerate() if "ExecutorManager" in type(thread).__name__]
            killed[0].kill()
            for manager in managers:  # each ends once it has seen that its process died
                manager.join(30)

    records = run_benchmark(recipe("random", seeds=(0, 1)), tmp_path, engine=processes(1), report=kill_it)
    assert len(killed) == 1
    assert len(records) == 6


def test_processes_read_files_themselves(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    write_topics(path, generate("tiny", n_topics=30, seed=0))
    entry = dataclasses.replace(TINY, source=str(path))
    of_file = recipe("random", "mmr", topics=(entry,))
    sent = [len(pickle.dumps(_named(task))) for task in tasks(of_file)]
    assert max(sent) < 2_000 < len(pickle.dumps(next(tasks(of_file)).topics))
    run_benchmark(of_file, tmp_path / "one")
    run_benchmark(of_file, tmp_path / "two", engine=processes(2))
    assert written(tmp_path / "two") == written(tmp_path / "one")

    task = next(tasks(of_file))
    write_topics(path, generate("tiny", n_topics=30, seed=1))
    (result,) = _run(task.cells, _named(task), None)
    assert "has changed since the benchmark began" in str(result.record)
    path.unlink()
    (result,) = _run(task.cells, _named(task), None)
    assert "t.parquet" in str(result.record)


def test_an_address_at_which_nothing_answers_is_refused() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        for address in ("", "auto", "local", f"127.0.0.1:{port}", f"ray://127.0.0.1:{port}"):
            _check_reachable(address)
    begun = time.monotonic()
    for address in (f"127.0.0.1:{port}", f"ray://127.0.0.1:{port}", "127.0.0.1:99999", "nowhere.invalid:6379"):
        with pytest.raises(ConnectionError, match=f"nothing answers at RAY_ADDRESS={address}"):
            _check_reachable(address)
    assert time.monotonic() - begun < 30


def test_an_id_that_no_run_can_carry_fails_its_cells(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    topics = generate("tiny", n_topics=9, seed=0)
    spaced = (dataclasses.replace(topic, doc_ids=tuple(f"a {name}" for name in topic.doc_ids)) for topic in topics)
    write_topics(path, topics.replace(spaced))
    with pytest.raises(FailedCellsError, match="white space"):
        run_benchmark(recipe("random", topics=(dataclasses.replace(TINY, source=str(path)),)), tmp_path / "out")
    assert not (tmp_path / "out" / "cells").exists()


def test_a_folder_of_another_version_is_refused(srd: Srd, tmp_path: Path) -> None:
    file = recipe_file(tmp_path, "random")
    srd.works("benchmark", file, "--out", tmp_path)
    path = min((tmp_path / "cells").iterdir())
    path.write_text(json.dumps(json.loads(path.read_text()) | {"schema_version": 99}))
    message = srd.fails("benchmark", file, "--out", tmp_path)
    assert "written by another version (schema 99, expected 2)" in message
    assert "--fresh" in message
    srd.works("benchmark", file, "--out", tmp_path, "--fresh")


def test_wrong_uses_are_explained(srd: Srd, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = ("benchmark", file, "--out", tmp_path)
    assert "jobs must be at least 1, got 0" in srd.fails(*words, "--jobs", "0")
    assert "--jobs is for processes of this machine" in srd.fails(*words, "--jobs", "2", "--engine", "ray")
    monkeypatch.setitem(sys.modules, "ray", None)
    assert how_to_install("ray") in srd.fails(*words, "--engine", "ray")
