"""`srd experiment`: plain files of a user become a topic set, a recipe, a table and a page."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from run_srd import Srd

from srd_agents.pipeline.naming import Namer
from srd_gym.data import generate, load_topics, read_topics, write_qrels, write_run
from srd_gym.measures import evaluate_run
from srd_gym.topic import TopicSet

pytest.importorskip("jinja2")
pytest.importorskip("sklearn")


def lines(topics: TopicSet) -> Iterator[tuple[str, str]]:
    for topic in reversed(list(topics)):
        yield "queries.tsv", f"{topic.query_id}\t{topic.query_text}"
        for doc_id, text in zip(topic.doc_ids, topic.doc_texts or (), strict=True):
            yield "corpus.jsonl", json.dumps({"_id": doc_id, "text": text})
        for name, text in zip(topic.subtopic_ids, topic.subtopic_texts or (), strict=True):
            yield "subtopics.tsv", f"{topic.query_id}\t{name}\t{text}"


@pytest.fixture(scope="module")
def words(tmp_path_factory: pytest.TempPathFactory) -> list[object]:
    """The command on files of nine queries, in another order than the run's."""
    folder, topics = tmp_path_factory.mktemp("mine"), load_topics("words")[:9]
    write_run(folder / "my.run", {topic.query_id: topic.doc_ids for topic in topics}, "bm25")
    write_qrels(folder / "my.qrels", topics)
    for name, line in lines(topics):
        with (folder / name).open("a", encoding="utf-8") as stream:
            stream.write(line + "\n")
    options = {"run": "my.run", "qrels": "my.qrels", "topics": "queries.tsv", "corpus": "corpus.jsonl", "folds": 3}
    paths = (word for name, value in options.items() for word in (f"--{name}", folder / str(value)))
    return ["experiment", *(word if word != folder / "3" else 3 for word in paths)]


def named(words: list[object]) -> list[object]:
    """Beside the files: named subtopics."""
    return ["--subtopics", Path(str(words[2])).with_name("subtopics.tsv")]


def test_plain_files_become_a_table_a_page_and_a_recipe(srd: Srd, words: list[object], tmp_path: Path) -> None:
    out = tmp_path / "out"
    command = [*words, *named(words), "--rankers", "mmr,safe", "--out", out]
    shown = srd.works(*command)
    assert "my.run: 9 test topics, folds 1 to 3" in shown.out
    assert all(f"\n  {row} " in shown.out for row in ("retrieval-order", "mmr", "safe"))
    files = {"topics.parquet", "recipe.toml", "results", "table.md", "table.tex", "report.html"}
    assert {file.name for file in out.iterdir()} == files
    assert read_topics(out / "topics.parquet").query_ids == load_topics("words")[:9].query_ids
    again = srd.works("benchmark", out / "recipe.toml", "--out", out / "results")
    assert "9 of 9 runs were finished before" in again.err
    assert again.out.splitlines()[:8] == shown.out.splitlines()[:8]
    recipe = (out / "recipe.toml").read_text()
    assert 'vectors = "lsa"' in recipe
    (out / "recipe.toml").write_text(recipe.replace("folds = 3", "folds = 4"))
    assert "recipe.toml is there and differs from what this command writes" in srd.fails(*command)


def test_what_is_wrong_is_said_before_anything_runs(srd: Srd, words: list[object], tmp_path: Path) -> None:
    command = [*words, "--out", tmp_path / "out"]
    assert "Did you mean xquad" in srd.fails(*command, "--rankers", "xqad")
    assert "unknown measure" in srd.fails(*command, "--measures", "alpha@10")
    assert not (tmp_path / "out").exists()
    none = srd.fails(*command, "--rankers", "mmr,xquad")
    assert "xquad: expected named subtopics of every query, and 9 of 9 have none" in none
    vectors = tmp_path / "v.tsv"
    docs = {doc_id for topic in load_topics("words")[:9] for doc_id in topic.doc_ids}
    vectors.write_text("".join(f"{doc_id}\t1 2\n" for doc_id in docs))
    by_file = [*command, *named(words), "--vectors", vectors, "--rankers", "xquad"]
    assert "xquad: expected embeddings of every named subtopic, and 9 of 9 queries lack some" in srd.fails(*by_file)
    without = [word for word in command if word != "--corpus" and "corpus.jsonl" not in str(word)]
    assert "--vectors lsa are of texts: give --topics and --corpus" in srd.fails(*without)
    assert not (tmp_path / "out" / "results").exists()


def test_a_recipe_can_be_written_and_not_run(srd: Srd, words: list[object], tmp_path: Path) -> None:
    out = tmp_path / "out"
    run = Path(str(words[2]))
    other = run.with_name("other.run")
    other.write_text("".join(f"{t.query_id} Q0 {t.doc_ids[-1]} 1 1 x\n" for t in load_topics("words")[:9]))
    first_id = load_topics("words")[0].query_id
    judged = [line for line in Path(str(words[4])).read_text().splitlines() if not line.startswith(f"{first_id} ")]
    (tmp_path / "part.qrels").write_text("\n".join(judged) + "\n")
    fused = [*words[:3], other, "--qrels", tmp_path / "part.qrels", *words[5:], "--fuse", "rrf"]
    done = srd.works(*fused, "--rankers", "mmr,r-ltr", "--seeds", 2, "--write-only", "--out", out)
    assert f"notice: 1 queries of the run are not judged and are left out: {first_id}" in done.err
    recipe = (out / "recipe.toml").read_text()
    assert 'title = "Rankers on my.run, other.run (rrf)"' in recipe
    first = read_topics(out / "topics.parquet")[0]
    assert first.doc_ids[0] == load_topics("words")[1].doc_ids[-1], "both runs have it"
    assert {file.name for file in out.iterdir()} == {"topics.parquet", "recipe.toml"}
    assert "one_seed_a_fold" not in recipe
    assert recipe.count("seeds = [0]\n") == 2, "what does not learn has one seed"


def test_several_runs_without_texts_are_learned_from_and_compared_with(srd: Srd, tmp_path: Path) -> None:
    topics, generator = generate("serp", n_topics=12, seed=0), np.random.default_rng(0)
    for name in ("a", "b", "c"):
        orders = {topic.query_id: generator.permutation(topic.doc_ids).tolist() for topic in topics}
        write_run(tmp_path / f"{name}.run", orders, name)
    rows = (tmp_path / "c.run").read_text().splitlines(keepends=True)
    (tmp_path / "c.1.run").write_text("".join(rows[: 6 * topics[0].n_candidates]))
    (tmp_path / "c.2.run").write_text("".join(rows[6 * topics[0].n_candidates :]))
    write_qrels(tmp_path / "qrels", topics)
    ids = topics.query_ids
    (tmp_path / "folds").write_text("".join(f"fold{i + 1}: {json.dumps(ids[i::6])}\n" for i in range(6)))
    a, third = tmp_path / "a.run", f"third={tmp_path / 'c.1.run'},{tmp_path / 'c.2.run'}"
    measures = ("ILS@5", "alpha_nDCG@12", "MAP_IA")  # no option is chosen by the first; the last is of all 15 ranks
    ends = ("--qrels", tmp_path / "qrels", "--vectors", "runs", "--measures", *measures, "--out")
    out, command = tmp_path / "out", ["experiment", "--run", a, tmp_path / "b.run", third, *ends]
    assert "--vectors runs are ranks and scores of fused runs" in srd.fails(*command, out)
    twice = srd.fails("experiment", "--run", a, a, *ends, out, "--fuse", "rrf")
    assert "runs: 'a' is the name of two; name one of them: --run NAME=FILE" in twice
    options = ("--fuse", "rrf", "--folds-file", tmp_path / "folds", "--order", "rank")
    shown = srd.works(*command, out, *options, "--rankers", "mmr,r-ltr")
    recipe = (out / "recipe.toml").read_text()
    assert 'name = "third"\nconfig = { by = "third" }\n' in recipe
    assert 'select_by = "alpha_nDCG@12"\ndepth = 15 ' in recipe
    assert "12 test topics, folds 1 to 6" in shown.out
    (out / "topics.parquet").unlink()
    srd.works(*command, out, *options, "--rankers", "mmr,r-ltr", "--write-only")
    assert (out / "recipe.toml").read_text() == recipe
    assert f"folds_file = {json.dumps((tmp_path / 'folds').as_posix())}" in recipe
    assert all(f"\n  {row} " in shown.out for row in ("retrieval-order", "combsum", "combmnz", "a", "third", "r-ltr"))
    assert "simulated" not in (out / "table.md").read_text()
    whole = ("a", tmp_path / "a.run"), ("third", tmp_path / "c.run")
    for name, run in whole:
        of_run = evaluate_run(tmp_path / "qrels", run, measures[1:]).measures
        (row,) = (line for line in (out / "table.md").read_text().splitlines() if line.startswith(f"| {name} |"))
        assert all(f" {mean:.4f} " in row for mean in of_run.values()), "a row is the run itself"
    assert "xquad: expected named subtopics of every query" in srd.fails(
        *command, tmp_path / "other", *options, "--rankers", "xquad"
    )
    srd.works(*command, tmp_path / "few", *options, "--candidates", 5, "--write-only")
    assert "candidates = 5\n" in (tmp_path / "few" / "recipe.toml").read_text()


def test_a_language_model_names_subtopics_once(
    srd: Srd, words: list[object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def model(prompt: str) -> str:
        asked.append(prompt)
        return '["its first meaning", "a second"]'

    monkeypatch.setattr("srd_train.commands.experiment.Namer", lambda folder: Namer(model))
    out = tmp_path / "out"
    command = [*words, "--namer", tmp_path, "--rankers", "xquad", "--write-only", "--out", out]
    assert f"subtopics.jsonl: subtopics that {tmp_path} named" in srd.works(*command).err
    assert len(asked) == 9
    assert all(
        topic.subtopic_texts[:2] == ("its first meaning", "a second") for topic in read_topics(out / "topics.parquet")
    )
    file = out / "subtopics.jsonl"
    file.write_text(file.read_text().replace("a second", "another"))
    srd.works(*command)
    assert len(asked) == 9, "what was named is not asked for again"
    assert read_topics(out / "topics.parquet")[0].subtopic_texts[1] == "another"
    both = srd.fails(*command, *named(words))
    assert "--namer names subtopics of --topics: give these, and leave --subtopics out" in both
