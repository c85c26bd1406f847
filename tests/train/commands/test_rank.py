from __future__ import annotations

import re
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from run_srd import Srd

from srd_agents.registry import load_ranker, make_ranker
from srd_gym.data.parquet import read_topics, write_topics
from srd_gym.data.synthetic import generate
from srd_gym.run_metadata import read_run_metadata
from srd_gym.trec_files import read_run


def test_random_follows_its_seed(srd: Srd, tiny_file: Path, tmp_path: Path) -> None:
    runs = []
    for name, seed in (("a", 0), ("b", 0), ("c", 1)):
        srd.works("rank", "random", "--topics", tiny_file, "--out", tmp_path / name, "--seed", seed)
        runs.append((tmp_path / name).read_text())
    assert runs[0] == runs[1] != runs[2]


def test_trained_policies_rank_by_name(srd: Srd, tmp_path: Path) -> None:
    words = ("--topics", "synthetic:serp:5", "--k", "4", "--out", tmp_path / "run")
    srd.works("rank", "pretrained:serp-reinforce", *words)
    topics = generate("serp", n_topics=5)
    expected = load_ranker("pretrained:serp-reinforce").rank_batch(topics, 4)
    named = {topic.query_id: [topic.doc_ids[i] for i in row] for topic, row in zip(topics, expected, strict=True)}
    assert {query: list(ids) for query, ids in read_run(tmp_path / "run").rankings.items()} == named
    assert "Did you mean pretrained:serp-reinforce" in srd.fails("rank", "pretrained:serp-reinforc", *words)
    assert "pretrained:serp-qmix" in srd.works("rank", "--help").out


@pytest.mark.parametrize("words", [("mmr", "--lambda", "0.3"), ("oracle",), ("vrisker-judged",), ("safe",)])
def test_a_header_says_who_ranked_what_with_which_model(srd: Srd, tmp_path: Path, words: tuple[str, ...]) -> None:
    plain, run = tmp_path / "plain.run", tmp_path / "signed.run"
    ranked = ("rank", *words, "--topics", "synthetic:serp:3", "--k", "4")
    srd.works(*ranked, "--out", plain)
    srd.works(*ranked, "--out", run, "--actor", "Ada Lovelace")
    assert run.read_text().endswith(f"# ir_metadata.end\n{plain.read_text()}")
    found = read_run_metadata(run)
    assert (found["tag"], found["actor"]) == (words[0], {"name": "Ada Lovelace"})
    assert datetime.fromisoformat(found["date"]).tzinfo is not None
    (method,) = found["method"]["retrieval"]
    assert method["name"] == words[0]
    assert method["k"] == 4
    assert words[0] != "mmr" or method["lambda_"] == 0.3
    compared = ("compare", plain, run, "--topics", "synthetic:serp:3")
    assert srd.works(*compared, "--json").json["metadata"] == {"signed": found}
    assert (
        f"signed: tag: '{words[0]}'; actor: 'Ada Lovelace'; date: '{found['date']}'; method: ["
        in srd.works(*compared).err
    )
    assert "--actor is for the header of a run" in srd.fails("rank", words[0], "--actor", "Ada")


@pytest.fixture(scope="module")
def trained(tiny_file: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folders = {}
    topics = read_topics(tiny_file)
    for name, options in (("reinforce", {"rollouts": 2}), ("mcts", {"simulations": 2}), ("qmix", {})):
        learner: Any = make_ranker(name, epochs=1, **options)
        learner.fit(topics[:8], seed=0)
        folders[name] = tmp_path_factory.mktemp("trained") / name
        learner.save(folders[name])
    return folders


@pytest.mark.parametrize(("name", "words", "options"), [
    ("mcts", ("--rank-by", "value"), {"rank_by": "value"}),
    ("mcts", ("--rank_by", "search", "--rank-simulations", "60"), {"rank_by": "search", "rank_simulations": 60}),
])  # fmt: skip
def test_the_command_ranks_as_ranking_with(
    srd: Srd, trained: dict[str, Path], tiny_file: Path, tmp_path: Path, name: str, words: tuple[str, ...], options: Any
) -> None:
    srd.works("rank", trained[name], *words, "--topics", tiny_file, "--out", tmp_path / "run")
    ranker, topics = load_ranker(trained[name]).ranking_with(**options), read_topics(tiny_file)
    expected = {
        topic.query_id: tuple(topic.doc_ids[i] for i in ranking)
        for topic, ranking in zip(topics, ranker.rank_batch(topics, 10), strict=True)
    }
    assert read_run(tmp_path / "run").rankings == expected
    plain = load_ranker(trained[name]).rank_batch(topics, 10)
    assert not all(map(np.array_equal, plain, ranker.rank_batch(topics, 10)))


def test_a_rankers_options_of_ranking_are_in_its_help(srd: Srd, trained: dict[str, Path]) -> None:
    for word in (trained["mcts"], "mcts"):
        done = srd.works("rank", word, "--help").out
        assert "--rank-by policy|value|search" in done
        assert "--rank-simulations N" in done
        assert "--learning-rate" not in done


@pytest.mark.parametrize(("target", "option"), [
    ("qmix", "--rank-by"), ("mmr", "--rank-by"), ("reinforce", "--prune-ranking"),
])  # fmt: skip
def test_an_option_of_ranking_that_a_ranker_lacks_is_refused(
    srd: Srd, trained: dict[str, Path], tiny_file: Path, tmp_path: Path, target: str, option: str
) -> None:
    words = ("rank", trained.get(target, target), option, "x", "--topics", tiny_file, "--out", tmp_path / "run")
    assert re.search(f"unknown option of srd rank .*{target}.*: '{option}'", srd.fails(*words))


def test_wrong_uses_are_explained(srd: Srd, tiny_file: Path, tmp_path: Path) -> None:
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "config.json").write_text("{}")
    topics, out = ("--topics", tiny_file), ("--out", tmp_path / "r")
    for words, said in (
        (("mmr", *topics), "give both --topics FILE and --out FILE"),
        (("mmr", *out), "give both --topics FILE and --out FILE"),
        (("mmr", "lists.jsonl"), "JSON lines come on standard input: srd rank mmr < FILE"),
        (("mmr", "--run", "a.run", *out), "srd data build trec --run FILE"),
        (("mmr", "--diversity", "0.5"), "--lambda is 1 less diversity"),
        (("mdp-div", *topics, *out), "must be trained first"),
        (("mrr", *topics, *out), "unknown ranker 'mrr'. Did you mean mmr"),
        ((tmp_path / "bad", *topics, *out), "has schema version None"),
        (("mmr", "--engine", "ray"), "--engine ray needs --topics"),
        (("mmr", "--jobs", "2"), "--jobs needs --topics"),
        (("mmr", *topics, *out, "--jobs", "0"), "at least 1"),
        (("mmr", "--topics", "synthetic:tiny:3", *out, "--jobs", "2"), "--jobs ranks Parquet files, not synthetic"),
        (("mmr", *topics, *out, "--on-error", "skip"), "are for JSON lines"),
        *((("mmr", "--pass-through", key), f"'{key}' cannot be passed") for key in ("groups", "filled", "k")),
    ):
        assert said in srd.fails("rank", *words)


@pytest.mark.parametrize("ranker", ["mmr", "r-ltr"])
def test_vectors_of_another_encoder_than_those_of_training_are_told_in_one_line(
    srd: Srd, tmp_path: Path, ranker: str
) -> None:
    for seed, name in enumerate("abc"):
        topics = generate("tiny", n_topics=12, seed=seed)
        write_topics(tmp_path / f"{name}.parquet", topics.replace(topics, encoder=f"{name}.npz"))
    epochs = () if ranker == "mmr" else ("--epochs", "1")
    srd.works("train", ranker, "--topics", tmp_path / "a.parquet", "--out", tmp_path / "model", *epochs)
    words = ("rank", tmp_path / "model", "--out", tmp_path / "run", "--topics")
    assert "one encoder" not in srd.works(*words, tmp_path / "a.parquet").err
    for files in ("b.parquet", "[bc].parquet"):
        told = srd.works(*words, tmp_path / files).err
        assert told.count("notice: ") == 1
        assert "was trained on vectors of 'synthetic:tiny' (a.npz, simulated), and is to rank" in told
        assert "'synthetic:tiny' (b.npz, simulated); unless one encoder made both" in told


def test_a_model_that_makes_its_vectors_tells_nothing_of_encoders(srd: Srd, texts_file: Path, tmp_path: Path) -> None:
    words = ("--topics", texts_file, "--out")
    srd.works("train", "mmr", "--vectors", "lsa", "--width", "4", *words, tmp_path / "model")
    assert "encoder" not in srd.works("rank", tmp_path / "model", *words, tmp_path / "run").err


def test_a_run_of_the_training_topics_is_said_to_be_no_test(srd: Srd, tmp_path: Path) -> None:
    train = ("train", "mmr", "--topics", "words", "--out")
    srd.works(*train, tmp_path / "all")
    srd.works(*train, tmp_path / "fold", "--fold", "1/5")
    for model, more, told in (("all", (), True), ("fold", (), False), ("fold", ("--all",), True)):
        said = srd.works("rank", tmp_path / model, "--topics", "words", "--out", tmp_path / "a.run", *more).err
        assert ("was trained on topics of words" in said) == told
    said = srd.works("rank", tmp_path / "all", "--topics", "synthetic:tiny:40", "--out", tmp_path / "a.run").err
    assert "was trained on topics" not in said
    written = [
        srd.works("rank", "mmr", option, "0.3", "--topics", "words", "--out", tmp_path / f"{place}.run")
        and (tmp_path / f"{place}.run").read_text()
        for place, option in enumerate(("--lambda", "--lambda_"))
    ]
    assert written[0] == written[1]


def test_options_that_take_anything_take_text(srd: Srd, tmp_path: Path) -> None:
    said = srd.fails(
        "rank", "llm-listwise", "--topics", "words", "--llm", tmp_path / "none", "--out", tmp_path / "l.run"
    )
    assert "neither a folder nor a .gguf file" in said
