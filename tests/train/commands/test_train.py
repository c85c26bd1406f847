from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from run_srd import Srd

from srd_agents.mdp_div.agent import MdpDivBatched
from srd_agents.registry import make_ranker
from srd_agents.training.learner import Learner
from srd_agents.training.machine import torch_threads
from srd_agents.training.validation import Validation
from srd_gym.data import parquet
from srd_gym.data.lsa import LsaVectorizer
from srd_gym.data.parquet import read_topics, write_topics
from srd_gym.data.synthetic import generate
from srd_gym.trec_files import read_run
from srd_train.commands.console import Output
from srd_train.experiment.lock import locked
from srd_train.experiment.selection import ResolvedRanker
from srd_train.experiment.split import split_topics

QUICK = ("--epochs", "3", "--patience", "0")


def fold_ids(path: Path, index: int, seed: int = 0) -> set[str]:
    return set(read_topics(path).folds(5, seed)[index - 1].test.query_ids)


@pytest.mark.parametrize("ranker", ["mdp-div", "mmr"])
def test_a_trained_folder_ranks_its_test_topics(srd: Srd, tiny_file: Path, tmp_path: Path, ranker: str) -> None:
    model, run = tmp_path / "model", tmp_path / "run"
    quick = () if ranker == "mmr" else QUICK
    result = srd.works("train", ranker, "--topics", tiny_file, "--fold", "2/5", "--out", model, "--json", *quick).json
    assert result["ranker"] == ranker
    assert result["split"] == {"fold": 2, "folds": 5, "fold_seed": 0}
    done = srd.works("rank", model, "--topics", tiny_file, "--k", "4", "--out", run)
    assert "test fold" in done.err
    rankings = read_run(run).rankings
    assert set(rankings) == fold_ids(tiny_file, 2)
    assert {len(ranking) for ranking in rankings.values()} == {4}
    srd.works("rank", model, "--topics", tiny_file, "--all", "--out", run)
    assert len(read_run(run).rankings) == 30
    # Without a fold a fifth validates, and everything is ranked.
    srd.works("train", ranker, "--topics", tiny_file, "--out", tmp_path / "whole", *quick)
    srd.works("rank", tmp_path / "whole", "--topics", tiny_file, "--out", run)
    assert len(read_run(run).rankings) == 30


def test_folds_from_a_file(srd: Srd, tiny_file: Path, tmp_path: Path) -> None:
    folds = tmp_path / "folds.yml"
    folds.write_text("fold1: [tiny-0-0, tiny-0-1]\nfold2: [tiny-0-2, tiny-0-3]\nfold3: [tiny-0-4]\n")
    words = ("train", "mmr", "--topics", tiny_file, "--folds", folds)
    srd.works(*words, "--fold", "3", "--out", tmp_path / "model")
    srd.works("rank", tmp_path / "model", "--topics", tiny_file, "--out", tmp_path / "run")
    assert set(read_run(tmp_path / "run").rankings) == {"tiny-0-4"}
    assert "there is no fold 4; expected 1 to 3" in srd.fails(*words, "--fold", "4", "--out", tmp_path / "x")
    for wrong in ("1/3", "\N{ARABIC-INDIC DIGIT ONE}"):
        assert "expected a number" in srd.fails(*words, "--fold", wrong, "--out", tmp_path / "x")
    assert "say which with --fold I" in srd.fails(*words, "--out", tmp_path / "x")


@pytest.mark.parametrize("fold", ["0/5", "6/5", "1", "a/b", "1/2", "1/99", "-1/5"])
def test_a_fold_that_does_not_exist_is_an_error(srd: Srd, tiny_file: Path, tmp_path: Path, fold: str) -> None:
    srd.fails("train", "mmr", "--topics", tiny_file, f"--fold={fold}", "--out", tmp_path / "x")
    assert not (tmp_path / "x").exists()


def test_mmr_takes_the_lambda_that_is_best_on_validation(srd: Srd, tiny_file: Path, tmp_path: Path) -> None:
    result = srd.works("train", "mmr", "--topics", tiny_file, "--fold", "1/5", "--out", tmp_path / "a", "--json").json
    judge = Validation(read_topics(tiny_file).folds(5, 0)[0].validation, "alpha_nDCG@10")
    scores = [judge.mean(make_ranker("mmr", lambda_=tenths / 10)) for tenths in range(11)]
    assert result["chosen"] == {"lambda_": scores.index(max(scores)) / 10}
    assert result["validation"] == max(scores)
    fixed = srd.works(
        "train", "mmr", "--topics", tiny_file, "--fold", "1/5", "--lambda", "0.25", "--out", tmp_path / "b", "--json"
    ).json
    assert fixed["config"]["lambda_"] == 0.25
    assert fixed["chosen"] == {}


def test_what_was_not_learned_is_said(srd: Srd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = ("train", "listmle", "--topics", "synthetic:tiny:30", *QUICK, "--out")
    assert "nothing" not in srd.works(*words, tmp_path / "learned").err
    values = iter((0.9, 0.5, 0.5, 0.5))
    monkeypatch.setattr(Learner, "validated", lambda *_: next(values))
    done = srd.works(*words, tmp_path / "not")
    assert re.search("no epoch beat the initial weights.*learned nothing\n", done.err)
    assert re.search(r"best epoch +0 of 3", done.out)
    assert "is better than this model" not in done.err
    monkeypatch.setattr(ResolvedRanker, "choices", [{"lambda_": 1.0}])
    done = srd.works("train", "mmr", "--topics", "synthetic:tiny:30", "--out", tmp_path / "mmr")
    assert "nothing is diversified" in done.err


def test_what_does_harm_is_said(srd: Srd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each validation shows the order to exceed; a model that ends below it is a notice, a learner or not."""
    topics = generate("tiny", n_topics=30, seed=0)
    shuffled = topics.replace(replace(topic, retrieval_scores=None) for topic in topics)
    write_topics(tmp_path / "shuffled.parquet", shuffled)
    validation = split_topics(topics).validation
    judge = Validation(validation, "alpha_nDCG@10")
    initial = judge.mean(make_ranker("retrieval-order"))
    assert judge.baseline == ("initial ranking", initial)
    order, chance = Validation(split_topics(shuffled).validation, "alpha_nDCG@10").baseline
    draws = [judge.mean(make_ranker("random", seed=seed)) for seed in range(10)]
    assert order == "random order"
    assert chance == pytest.approx(np.mean(draws), abs=0.05)
    monkeypatch.setattr(Learner, "validated", lambda *_: 0.3797)
    for source, order, value in (("synthetic:tiny:30", "initial ranking", initial),
                                 (tmp_path / "shuffled.parquet", "random order", chance)):  # fmt: skip
        words = ("train", "listmle", "--topics", source, *QUICK, "--out", tmp_path / order)
        done = srd.works(*words)
        assert (
            f"the {order} of the validation topics is better than this model ({value:.4f}, it has 0.3797)" in done.err
        )
        assert re.search(rf"alpha_nDCG@10 of the {order} +{value:.4f}", done.out)
    told = srd.works(*words[:-1], tmp_path / "json", "--json").json
    assert told["baseline"] == {"random order": chance}
    assert {line["validation/random_order"] for line in told["history"]["records"]} == {chance}
    worst = srd.works("train", "mmr", "--topics", "synthetic:tiny:30", "--lambda", "0", "--out", tmp_path / "mmr")
    assert "alpha_nDCG@10 of the initial ranking" in worst.out


def test_the_bar_shows_the_order_to_exceed(srd: Srd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    bar = contextlib.nullcontext(lambda _units, text="": told.append(text))
    monkeypatch.setattr(Output, "progress", lambda *_: bar)
    srd.works("train", "listmle", "--topics", "synthetic:tiny:30", *QUICK, "--out", tmp_path / "model")
    said = [text for text in told if text]
    assert said
    assert all(re.fullmatch(r"train listmle: 0\.\d{4} \(initial ranking 0\.\d{4}\)", text) for text in said)


def weights_of(folder: Path) -> bytes:
    return (folder / "model.safetensors").read_bytes()


def interrupted(*_: object) -> None:
    raise KeyboardInterrupt


def stop_at(update: int, stop: Callable[[], None], patch: pytest.MonkeyPatch) -> Iterator[int]:
    """From here on training is stopped before this update; what counts the updates."""
    learn, calls = MdpDivBatched._update, count(1)

    def stopped(self: MdpDivBatched, batch: Any) -> Any:
        if next(calls) == update:
            stop()
        return learn(self, batch)

    patch.setattr(MdpDivBatched, "_update", stopped)
    return calls


def test_an_interrupted_run_resumes_to_the_same_weights(
    srd: Srd, texts_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ("train", "mdp-div-batched", "--topics", texts_file, "--vectors", "lsa", "--width", "6", *QUICK)
    srd.works(*words, "--out", tmp_path / "whole")
    with monkeypatch.context() as patch:
        stop_at(2, interrupted, patch)
        done = srd(*words, "--out", tmp_path / "broken")
    assert done.code == 130
    again = f"the same command with --resume goes on from the checkpoint in {tmp_path / 'broken'}"
    assert done.err == f"error: interrupted; {again}\n"
    early = srd.works("rank", tmp_path / "broken", "--topics", texts_file, "--out", tmp_path / "run")
    assert "training has not ended" in early.err
    wider = ("--width", "7", "--out", tmp_path / "broken", "--resume")
    assert "--width was 6, now 7" in srd.fails(*words[: -len(QUICK) - 2], *QUICK, *wider)
    srd.works(*words, "--out", tmp_path / "broken", "--resume")
    assert weights_of(tmp_path / "broken") == weights_of(tmp_path / "whole")


def test_nothing_is_promised_without_a_checkpoint(srd: Srd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Learner, "prepare", interrupted)
    done = srd("train", "mdp-div", "--topics", "synthetic:tiny:12", "--out", tmp_path)
    assert done.code == 130
    assert done.err == "error: interrupted; there is no checkpoint yet, and the same command begins anew\n"


def test_lsa_sees_training_texts_and_travels_with_the_model(srd: Srd, texts_file: Path, tmp_path: Path) -> None:
    model = tmp_path / "model"
    words = ("train", "mdp-div", "--topics", texts_file, "--out", model, "--fold", "1/5")
    assert "vectors" in srd.fails(*words, *QUICK)
    srd.works(*words, "--vectors", "lsa", "--width", "6", *QUICK)
    training = read_topics(texts_file).folds(5, 0)[0].train
    expected = LsaVectorizer(6).fit_topics(training).transform(["river bank"])
    np.testing.assert_array_equal(LsaVectorizer.load(model / "vectorizer").transform(["river bank"]), expected)
    srd.works("rank", model, "--topics", texts_file, "--out", tmp_path / "run")
    assert len(read_run(tmp_path / "run").rankings) == 2
    assert json.loads((model / "config.json").read_text())["metadata"]["topic_set"]["marks"] == []


def test_what_cannot_be_begun_or_resumed_says_why(srd: Srd, tiny_file: Path, tmp_path: Path) -> None:
    def words(fold: str = "1/5") -> tuple[Any, ...]:
        return ("train", "mdp-div", "--topics", tiny_file, "--fold", fold, "--out", tmp_path / "m", *QUICK)

    assert "no training to resume" in srd.fails(*words(), "--resume")
    with locked(tmp_path / "m"):
        assert f"another run is writing to {tmp_path / 'm'}" in srd.fails(*words())
    srd.works(*words())
    before = weights_of(tmp_path / "m")
    assert "already holds a training run" in srd.fails(*words())
    assert weights_of(tmp_path / "m") == before
    assert "hidden_size was 5, now 3" in srd.fails(*words(), "--resume", "--hidden-size", "3")
    assert "belongs to another run: training topics' fingerprint was" in srd.fails(*words("2/5"), "--resume")
    assert "not a learner" in srd.fails("train", "mmr", "--topics", tiny_file, "--out", tmp_path / "m", "--resume")


def test_a_training_does_not_go_on_with_another_model_to_prune_by(srd: Srd, tiny_file: Path, tmp_path: Path) -> None:
    words = ("train", "mdp-div", "--topics", tiny_file, "--pruning", f"ranker:0.9:reset:{tmp_path / 'pruner'}")

    def run(*more: object) -> tuple[object, ...]:
        return (*words, "--out", tmp_path / "m", *QUICK[2:], *more)

    def pruner(folder: str, seed: int) -> None:
        srd.works("train", "r-ltr", "--topics", tiny_file, "--out", tmp_path / folder, "--epochs", 1, "--seed", seed)

    pruner("pruner", 0)
    srd.works(*run("--epochs", 1))
    srd.works(*run("--epochs", 2, "--resume"))
    (tmp_path / "pruner").rename(tmp_path / "first")
    pruner("pruner", 1)
    assert "belongs to another run: content of files was {" in srd.fails(*run("--epochs", 3, "--resume"))
    shutil.rmtree(tmp_path / "pruner")
    (tmp_path / "first").rename(tmp_path / "pruner")
    srd.works(*run("--epochs", 3, "--resume"))


def test_what_cannot_be_trained_says_why(srd: Srd, tiny_file: Path, tmp_path: Path) -> None:
    out = ("--out", tmp_path / "m")
    assert "nothing to train" in srd.fails("train", "random", "--topics", tiny_file, *out)
    assert "Did you mean mdp-div" in srd.fails("train", "mdpdiv", "--topics", tiny_file, *out)
    assert "name the ranker first" in srd.fails("train", "--topics", tiny_file, *out)
    assert "no file at" in srd.fails("train", "mmr", "--topics", tmp_path / "none.parquet", *out)
    assert "lambda_ must be" in srd.fails("train", "mmr", "--topics", tiny_file, "--lambda", "2", *out)
    assert "no document texts" in srd.fails("train", "mdp-div", "--topics", tiny_file, "--vectors", "lsa", *out)
    topics = generate("tiny", n_topics=12, seed=0)
    write_topics(tmp_path / "t.parquet", topics.replace(replace(topic, judgments=None) for topic in topics))
    assert "has no judgments" in srd.fails("train", "mdp-div", "--topics", tmp_path / "t.parquet", *out)


def test_threads_are_limited_only_where_torch_is_in_use(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    with torch_threads(1):
        assert "torch" not in sys.modules
    with pytest.raises(ValueError, match="threads must be at least 1, got 0"), torch_threads(0):
        pass


def gone(*_: object) -> None:
    """Writing to a terminal that was closed."""
    raise OSError(5, "Input/output error")


@pytest.mark.parametrize(("update", "number"), [(2, signal.SIGINT), (5, signal.SIGHUP)])
def test_a_signal_within_an_epoch_of_vectors_on_disk(
    update: int, number: signal.Signals, srd: Srd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A hangup comes with a terminal that takes no words any more."""
    monkeypatch.setattr(parquet, "_GROUP_ROWS", 8)
    file, words = tmp_path / "topics.parquet", ["train", "mdp-div-batched", "--batch-topics", "8", *QUICK]
    write_topics(file, generate("tiny", n_topics=40, seed=0))
    srd.works(*words, "--topics", file, "--out", tmp_path / "in-memory")
    monkeypatch.setattr(parquet, "IN_MEMORY", 0)

    def stop() -> None:
        if number == signal.SIGHUP:
            patch.setattr(sys.stderr, "write", gone)
        os.kill(os.getpid(), number)

    with monkeypatch.context() as patch:
        calls = stop_at(update, stop, patch)
        done = srd(*words, "--topics", file, "--out", tmp_path / "broken")
    assert (done.code, next(calls)) == (128 + number, update + 1)
    assert "go into a temporary file" in done.err
    assert ("--resume goes on" in done.err) == (number == signal.SIGINT)
    srd.works(*words, "--topics", file, "--out", tmp_path / "broken", "--resume")
    assert weights_of(tmp_path / "broken") == weights_of(tmp_path / "in-memory")


def test_an_abbreviated_or_misspelt_option_is_suggested(srd: Srd, tiny_file: Path, tmp_path: Path) -> None:
    words = ("--topics", tiny_file, "--out", tmp_path / "model")
    said = srd.fails("train", "reinforce", *words, "--lr", "0.1")
    assert said.startswith("unknown option of srd train reinforce: '--lr'. Did you mean --learning-rate or --lr-")
    assert "Did you mean --lambda?" in srd.fails("train", "mmr", *words, "--lamda=0.1")
    assert "Did you mean --qrels?" in srd.fails("evaluate", "--qrel", "x")


@pytest.mark.parametrize("name", ["mmr", "r-ltr"])
def test_topics_without_vectors_are_sent_to_vectors_of_the_training_topics(
    srd: Srd, texts_file: Path, tmp_path: Path, name: str
) -> None:
    words = ("train", name, "--topics", texts_file, "--out", tmp_path / "model")
    said = srd.fails(*words)
    assert f"'texts' has no document vectors, which ranker {name!r} needs; `srd train {name} --vectors lsa" in said
    assert "srd data build" not in said
    srd.works(*words, "--vectors", "lsa", "--width", "4", *(() if name == "mmr" else ("--epochs", "1")))


def test_a_long_error_is_cut(srd: Srd, tmp_path: Path) -> None:
    assert len(srd.fails("train", "x" * 5_000)) < 2_000
    assert len(srd.fails("train", "mmr", "--topics", "x" * 5_000, "--out", tmp_path / "model")) < 2_000
