"""`srd data log` and `srd ope`: a log on disk, estimates of rankers from it, and what is refused."""

from __future__ import annotations

import contextlib
import json
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from run_srd import Srd
from small_topics import Own

from srd_gym import Clicks, load_topics
from srd_gym.offline import EpsilonPolicy, logged_parts, write_log
from srd_train.commands.console import Output
from srd_train.experiment.lock import locked

TOPICS = "synthetic:tiny:20"


@pytest.fixture
def log(srd: Srd, tmp_path: Path) -> Path:
    logged(srd, tmp_path / "logs.parquet")
    return tmp_path / "logs.parquet"


def logged(srd: Srd, out: Path, *more: Any) -> Any:
    words = ("data", "log", "mmr", "--topics", TOPICS, "--episodes", 600, "--epsilon", 0.4, "--k", 3, "--out", out)
    return srd.works(*words, "--json", *more).json


def ope(log: Path, *more: Any) -> tuple[Any, ...]:
    return ("ope", "--logs", log, "--topics", TOPICS, "--resamples", 50, *more)


def test_a_log_is_written_once_and_evaluated(srd: Srd, log: Path) -> None:
    again = logged(srd, log)
    assert (again["new"], again["users"], again["episodes"]) == (False, "Clicks", 600)
    done = srd.works(*ope(log, "--ranker", "mmr", "--ranker", "retrieval-order", "--json"))
    told = done.json
    assert [each["ranker"] for each in told["rankers"]] == ["mmr", "retrieval-order"]
    for ranker in told["rankers"]:
        estimates = {each["estimator"]: each for each in ranker["estimates"]}
        assert list(estimates) == ["ips", "snips", "item-position", "cascade-dr", "pseudo-inverse"]
        for each in estimates.values():
            assert (each["low"] is None) == (each["high"] is None) == (each["effective_sample_size"] < 100)
            assert each["low"] is None or each["low"] <= each["value"] <= each["high"]
    assert told["rankers"][0]["unsupported"] == 0
    assert told["rankers"][1]["estimates"][0]["low"] is None
    table = srd.works(*ope(log, "--ranker", "retrieval-order", "--estimators", "ips", "snips")).out
    assert re.search(r"snips +0\.\d+ +- +- +\d\d ", table)
    assert "cascade-dr" not in table
    assert "600 episodes" in table


def test_the_same_seed_logs_the_same_and_users_are_chosen(srd: Srd, log: Path, tmp_path: Path) -> None:
    logged(srd, tmp_path / "again.parquet")
    assert pq.read_table(log) == pq.read_table(tmp_path / "again.parquet")
    header = logged(srd, tmp_path / "dbn.parquet", "--users", "Clicks(model='dbn', patience=0.5)", "--top-n", 4)
    assert header["users"] == "Clicks(model='dbn', patience=0.5)"


def test_rankers_take_options(srd: Srd, log: Path, tmp_path: Path) -> None:
    header = logged(srd, tmp_path / "order.parquet", "--epsilon", 0)
    words = ("data", "log", "mmr(lambda_=1.0, relevance='rank')", "--topics", TOPICS, "--episodes", 600, "--k", 3)
    told = srd.works(*words, "--epsilon", 0, "--out", tmp_path / "options.parquet", "--json").json
    assert (header["ranker"], told["ranker"]) == ("mmr", "mmr(lambda_=1.0, relevance='rank')")
    own, order = (f"{name}.parquet" for name in ("options", "order"))
    assert pq.read_table(tmp_path / own)["shown"] != pq.read_table(tmp_path / order)["shown"]
    relevant = "mmr(lambda_=1.0, relevance='rank')"  # the initial ranking, by another name
    rankers = ("mmr", relevant, "retrieval-order")
    told = srd.works(*ope(log, *(word for name in rankers for word in ("--ranker", name)), "--json")).json
    first = [[each["value"] for each in ranker["estimates"]] for ranker in told["rankers"]]
    assert first[1] == first[2] != first[0]


def test_missing_support_is_told(srd: Srd, tmp_path: Path) -> None:
    logged(srd, tmp_path / "greedy.parquet", "--epsilon", 0)
    done = srd.works(*ope(tmp_path / "greedy.parquet", "--ranker", "random", "--ranker", "mmr"))
    assert "random: no support for 9" in done.err
    assert "random: fewer than 100 effective episodes: ips, snips" in done.err
    rows = [line.split() for line in done.out.splitlines() if ", " in line and "0." in line]
    assert {tuple(row[3:5]) for row in rows if row[0] == "random,"} == {("-", "-")}
    assert not any("-" in row for row in rows if row[0] == "mmr,")


def test_where_half_of_the_topics_have_no_support_there_is_no_interval(srd: Srd, tmp_path: Path) -> None:
    """Enough episodes count, and the value is that of half a ranker."""
    topics = load_topics(TOPICS)
    half = Own(lambda topic, k: np.arange(topic.n_candidates)[:: 1 if int(topic.query_id[-1]) % 2 else -1][:k])
    parts = logged_parts(half, topics, Clicks(), EpsilonPolicy(0.0), depth=2, episodes=600, seed=0)
    write_log(tmp_path / "half.parquet", parts, {"epsilon": 0.0, "top_n": None}, lambda _: None)
    told = srd.works(*ope(tmp_path / "half.parquet", "--ranker", "retrieval-order", "--json")).json["rankers"][0]
    assert told["unsupported"] == pytest.approx(0.5, abs=0.1)
    assert min(each["effective_sample_size"] for each in told["estimates"]) > 100
    assert {(each["low"], each["high"]) for each in told["estimates"]} == {(None, None)}


def test_an_interrupt_says_how_to_go_on(srd: Srd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out, advances = tmp_path / "l.parquet", []

    def stop(units: float) -> None:
        advances.append(units)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Output, "progress", lambda *_: contextlib.nullcontext(stop))
        done = srd("data", "log", "mmr", "--topics", TOPICS, "--episodes", 9000, "--k", 3, "--out", out)
    assert (done.code, advances, out.exists()) == (130, [4096], False)
    assert f"run the same command again: finished parts wait in {out}.parts" in done.err
    srd.works("data", "log", "mmr", "--topics", TOPICS, "--episodes", 9000, "--k", 3, "--out", out)
    assert [path.name for path in tmp_path.iterdir()] == ["l.parquet"]


def test_a_model_that_was_trained_again_is_another_log(
    srd: Srd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither a finished log nor one that was interrupted goes on by another model's order."""
    out, model, seeds = tmp_path / "log.parquet", tmp_path / "model", iter("01234")

    def train() -> None:
        shutil.rmtree(model, ignore_errors=True)
        srd.works("train", "r-ltr", "--topics", TOPICS, "--out", model, "--epochs", 1, "--seed", next(seeds))

    def stop(_: float) -> None:
        raise KeyboardInterrupt

    words = ("data", "log", model, "--topics", TOPICS, "--episodes", 5000, "--k", 3, "--out", out)
    train()
    with monkeypatch.context() as patch:
        patch.setattr(Output, "progress", lambda *_: contextlib.nullcontext(stop))
        assert srd(*words).code == 130
    train()
    assert "another log: its ranker gave another order (was the model trained again?)" in srd.fails(*words)
    assert not out.exists()
    assert srd.works(*words, "--force", "--json").json["new"]
    train()
    assert "replace it with --force" in srd.fails(*words)
    assert srd.works(*words, "--force", "--json").json["new"]
    assert not srd.works(*words, "--force", "--json").json["new"]
    srd.works(*words[:-1], tmp_path / "fresh.parquet")
    assert out.read_bytes() == (tmp_path / "fresh.parquet").read_bytes()


def test_a_log_is_written_by_one_command_at_a_time(srd: Srd, tmp_path: Path) -> None:
    out = tmp_path / "log.parquet"
    words = ("data", "log", "mmr", "--topics", TOPICS, "--episodes", 30, "--out", out)
    with locked(tmp_path / "log.parquet.parts"):
        assert f"another run is writing to {out}.parts; wait for its end" in srd.fails(*words)
    (tmp_path / "log.parquet.parts").mkdir()
    (tmp_path / "log.parquet.parts" / ".lock").touch()
    srd.works(*words)
    assert [path.name for path in tmp_path.iterdir()] == ["log.parquet"]


@pytest.mark.parametrize(("words", "message"), [
    (["--epsilon", 1.5], "epsilon must be between 0 and 1"),
    (["--users", "Click"], "--users must be Clicks or Clicks"),
    (["--users", "Clicks(model='casacde')"], "Did you mean cascade"),
    (["--seed", 5], "is another log: seed was 0, now 5"),
])  # fmt: skip
def test_logs_that_cannot_be_written_are_refused(srd: Srd, log: Path, words: list[Any], message: str) -> None:
    given = ("data", "log", "mmr", "--topics", TOPICS, "--episodes", 600, "--epsilon", 0.4, "--k", 3, "--out", log)
    assert message in srd.fails(*given, *words)


@pytest.mark.parametrize(("words", "message"), [
    (["--ranker", "mrm"], "Did you mean mmr"),
    (["--ranker", "mmr(lamda_=0.3)"], "Did you mean lambda_"),
    (["--ranker", "pretrained:serp-qmx"], "Did you mean pretrained:serp-qmix"),
    (["--ranker", "pretrained:serp-qmix"], "trained on document vectors of width 64"),
    (["--ranker", "mmr", "--estimators", "isp"], "Did you mean ips"),
    (["--ranker", "mmr", "--topics", "synthetic:tiny:20:1"], "is not in"),
])  # fmt: skip
def test_estimates_that_cannot_be_are_refused(srd: Srd, log: Path, words: list[Any], message: str) -> None:
    assert message in srd.fails(*ope(log, *words))


def test_a_log_of_one_s_own_needs_no_header(srd: Srd, log: Path, tmp_path: Path) -> None:
    table = pq.read_table(log).select(["query_id", "shown", "propensities", "clicks"]).replace_schema_metadata(None)
    pq.write_table(table, tmp_path / "own.parquet")
    told = srd.works(*ope(tmp_path / "own.parquet", "--ranker", "mmr", "--json")).out
    assert [each["estimator"] for each in json.loads(told)["rankers"][0]["estimates"]] == ["ips", "snips", "cascade-dr"]
