from __future__ import annotations

import io
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from run_srd import Srd

from srd_agents.registry import load_ranker, make_ranker
from srd_gym.data.parquet import read_topics, write_topics
from srd_gym.data.synthetic import generate
from srd_gym.trec_files import read_run

LINE = {
    "query_id": "q",
    "doc_ids": ["a", "b", "c"],
    "doc_vectors": [[1, 0], [1, 0.1], [0, 1]],
    "query_vector": [1, 0.2],
}


@pytest.fixture
def feed(monkeypatch: pytest.MonkeyPatch) -> Any:
    def put(*lines: Any) -> None:
        texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
        monkeypatch.setattr("sys.stdin", io.StringIO("\n".join(texts) + "\n"))

    return put


def test_random_follows_its_seed(srd: Srd, tiny_file: Path, tmp_path: Path) -> None:
    runs = []
    for name, seed in (("a", 0), ("b", 0), ("c", 1)):
        srd.works("rank", "random", "--topics", tiny_file, "--out", tmp_path / name, "--seed", seed)
        runs.append((tmp_path / name).read_text())
    assert runs[0] == runs[1] != runs[2]


def test_json_lines_are_answered_line_by_line(srd: Srd, feed: Any) -> None:
    feed(LINE, "", {**LINE, "query_id": "r"})
    done = srd.works("rank", "mmr", "--lambda", "0.5", "--k", "2")
    answers = [json.loads(line) for line in done.out.splitlines()]
    assert [answer["query_id"] for answer in answers] == ["q", "r"]
    # b is nearest to the query; a repeats it.
    assert [answer["ranking"] for answer in answers] == [["b", "c"], ["b", "c"]]


def test_a_trained_model_answers_as_it_ranks_files(srd: Srd, feed: Any, tiny_file: Path, tmp_path: Path) -> None:
    model = tmp_path / "model"
    srd.works("train", "mdp-div", "--topics", tiny_file, "--out", model, "--epochs", "2")
    topics, lines = read_topics(tiny_file)[:3], []
    for topic in topics:
        vectors = {"query_vector": topic.query_vector.tolist(), "doc_vectors": topic.doc_vectors.tolist()}
        lines.append({"query_id": topic.query_id, "doc_ids": topic.doc_ids, **vectors})
    feed(*lines)
    done = srd.works("rank", model, "--k", "4")
    ranker = load_ranker(model)
    expected = [[topic.doc_ids[i] for i in ranker.rank(topic, 4)] for topic in topics]
    assert [json.loads(line)["ranking"] for line in done.out.splitlines()] == expected


def test_a_model_with_a_vectoriser_takes_texts(srd: Srd, feed: Any, texts_file: Path, tmp_path: Path) -> None:
    model = tmp_path / "model"
    words = ("train", "mdp-div", "--topics", texts_file, "--out", model, "--epochs", "2")
    srd.works(*words, "--vectors", "lsa", "--width", "5")
    feed({"query_id": "q", "query_text": "bank", "doc_ids": ["a", "b"], "doc_texts": ["river bank", "money"]})
    assert set(json.loads(srd.works("rank", model).out)["ranking"]) == {"a", "b"}
    feed(LINE)
    assert "line 1: " in srd.fails("rank", model)


def test_candidates_with_scores_are_put_into_retrieval_order(srd: Srd, feed: Any) -> None:
    feed({**LINE, "retrieval_scores": [0.1, 0.9, 0.5]})
    assert json.loads(srd.works("rank", "retrieval-order").out)["ranking"] == ["b", "c", "a"]


@pytest.mark.parametrize(("line", "expected"), [
    ("{", "not JSON"),
    ("[1]", "expected a JSON object"),
    ({"doc_ids": ["a"]}, "no query_id"),
    ({"query_id": "q"}, "no doc_ids"),
    ({**LINE, "doc_vector": []}, "Did you mean doc_vectors"),
    ({**LINE, "doc_vectors": [[1, 0], [1], [0, 1]]}, "vectors of one width"),
    ({**LINE, "doc_vectors": [[1, None], [1, 0], [0, 1]]}, "NaN or infinity"),
    ({**LINE, "doc_ids": [1, 2, 3]}, "must be text"),
    ({**LINE, "doc_ids": "abc"}, "expected a list"),
    ({"query_id": "q", "doc_ids": ["a"]}, "vectors"),
])  # fmt: skip
def test_a_bad_line_is_named_and_those_before_it_answered(srd: Srd, feed: Any, line: Any, expected: str) -> None:
    feed(LINE, line)
    done = srd("rank", "mmr")
    assert done.code == 2
    assert "error: line 2: " in done.err
    assert expected in done.err
    assert len(done.out.splitlines()) == 1


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


@pytest.mark.parametrize(("target", "shown"), [
    ("mcts", "--rank-by {policy,value,search}"), ("mcts", "--rank-simulations INT"),
])  # fmt: skip
def test_a_rankers_options_of_ranking_are_in_its_help(
    srd: Srd, trained: dict[str, Path], target: str, shown: str
) -> None:
    for word in (trained[target], target):
        done = srd.works("rank", word, "--help").out
        assert shown in done
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
        (("mmr", *topics, *out, "--k", "0"), "at least 1"),
        (("mdp-div", *topics, *out), "must be trained first"),
        (("mrr", *topics, *out), "unknown ranker 'mrr'. Did you mean mmr"),
        ((tmp_path, *topics, *out), "holds no trained ranker"),
        ((tmp_path / "bad", *topics, *out), "has schema version None"),
        (("mmr", "--engine", "ray"), "--engine ray needs --topics"),
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
    assert "notice" not in srd.works(*words, tmp_path / "a.parquet").err
    for files in ("b.parquet", "[bc].parquet"):
        told = srd.works(*words, tmp_path / files).err
        assert told.count("notice: ") == 1
        assert "was trained on vectors of 'synthetic:tiny' (a.npz, simulated), and is to rank" in told
        assert "'synthetic:tiny' (b.npz, simulated); unless one encoder made both" in told


def test_a_model_that_makes_its_vectors_tells_nothing_of_encoders(srd: Srd, texts_file: Path, tmp_path: Path) -> None:
    words = ("--topics", texts_file, "--out")
    srd.works("train", "mmr", "--vectors", "lsa", "--width", "4", *words, tmp_path / "model")
    assert "notice" not in srd.works("rank", tmp_path / "model", *words, tmp_path / "run").err
