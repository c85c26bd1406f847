from __future__ import annotations

import gzip
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from run_srd import Feed, Srd
from small_topics import alone, bare_topic

from srd_gym.data import generate, write_run, write_topics

QRELS = "1 1 a 1\n1 2 b 1\n1 1 c 0\n2 1 x 1\n2 2 x -2\n3 1 z 1\n"
RUN = "1 Q0 a 1 3 t\n1 Q0 c 2 2 t\n1 Q0 b 3 1 t\n2 Q0 y 1 2 t\n2 Q0 x 2 1 t\n"


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    qrels, run = tmp_path / "qrels.txt", tmp_path / "run.txt"
    qrels.write_text(QRELS)
    run.write_text(RUN)
    return qrels, run


def test_json_has_the_shape_of_the_contract(srd: Srd, files: tuple[Path, Path]) -> None:
    qrels, run = files
    words = ("evaluate", "--qrels", qrels, "--run", run, "--measures", "StRecall@2", "P_IA@1")
    found = srd.works(*words, "--json", "--per-topic").json
    scores = {"1": (0.5, 0.5), "2": (1.0, 0.0), "3": (0.0, 0.0)}
    per_topic = {query_id: {"StRecall@2": recall, "P_IA@1": first} for query_id, (recall, first) in scores.items()}
    means = {"StRecall@2": pytest.approx(1.5 / 3), "P_IA@1": pytest.approx(0.5 / 3)}
    assert found == {"measures": means, "per_topic": per_topic, "topics": 3, "missing": 1}


def test_ranked_topics_only_leaves_missing_topics_out_of_the_mean(srd: Srd, files: tuple[Path, Path]) -> None:
    qrels, run = files
    words = ("evaluate", "--qrels", qrels, "--run", run, "--measures", "StRecall@2", "--json", "--ranked-topics-only")
    assert srd.works(*words).json == {"measures": {"StRecall@2": 0.75}, "topics": 3, "missing": 1}


def test_names_are_as_typed_and_the_table_shows_them(srd: Srd, files: tuple[Path, Path]) -> None:
    qrels, run = files
    name = "alpha_nDCG(alpha=0.50)@2"
    words = ("evaluate", "--qrels", qrels, "--run", run, "--measures", name, "alpha_nDCG@2")
    measures = srd.works(*words, "--json").json["measures"]
    assert list(measures) == [name, "alpha_nDCG@2"]
    assert measures[name] == measures["alpha_nDCG@2"]
    shown = srd.works(*words, "--per-topic").out
    assert name in shown
    assert "3 judged topics, 1 missing" in shown


def test_a_run_that_was_cut_above_a_measure_is_said(srd: Srd, files: tuple[Path, Path], tmp_path: Path) -> None:
    qrels, run = files
    words = ("evaluate", "--qrels", qrels, "--measures", "StRecall@5", "alpha_nDCG@2", "NRBP", "--json", "--run")
    firsts = {line.split()[0]: line for line in reversed(run.read_text().splitlines())}
    short = tmp_path / "short.run"
    short.write_text("\n".join(firsts.values()))
    said = srd.works(*words, f"mine={short}").err
    assert "mine: every ranking ends at rank 1, above the cutoff of StRecall@5, alpha_nDCG@2" in said
    assert "above the cutoff" not in srd.works(*words, run).err


def test_several_files_are_parts_of_one_run(srd: Srd, files: tuple[Path, Path], tmp_path: Path) -> None:
    qrels, run = files
    parts = [tmp_path / "part1", tmp_path / "part2.gz"]
    lines = RUN.splitlines(keepends=True)
    parts[0].write_text("".join(line for line in lines if line.startswith("1")))
    with gzip.open(parts[1], "wt") as stream:
        stream.write("".join(line for line in lines if line.startswith("2")))
    whole = srd.works("evaluate", "--qrels", qrels, "--run", run, "--json").json
    assert srd.works("evaluate", "--qrels", qrels, "--run", *parts, "--json").json == whole
    parts[0].write_text(parts[0].read_text().rstrip("\n"))  # joined by cat, its last line would run into the next
    named = ("--run", f"mine={parts[0]},{parts[1]}")
    assert srd.works("evaluate", "--qrels", qrels, *named, "--json").json == {"run": "mine", **whole}
    assert "Scores of mine" in srd.works("evaluate", "--qrels", qrels, "--run", f"mine={parts[0]}", parts[1]).out
    message = srd.fails("evaluate", "--qrels", qrels, "--run", f"a={run}", f"b={parts[0]}")
    assert message == "--run is one run, but has the names a, b; to compare runs: srd compare"
    message = srd.fails("evaluate", "--qrels", qrels, "--run", run, parts[0])
    assert "query '1' is in both" in message
    assert message.endswith("to compare runs: srd compare")


def test_standard_input_is_a_file(srd: Srd, files: tuple[Path, Path], feed: Feed) -> None:
    qrels, run = files
    whole = srd.works("evaluate", "--qrels", qrels, "--run", run, "--json").json
    for text in (RUN.encode(), gzip.compress(RUN.encode())):
        feed(text)
        assert srd.works("evaluate", "--qrels", qrels, "--run", "piped=-", "--json").json == {"run": "piped", **whole}
    feed(QRELS.encode())
    assert srd.works("evaluate", "--qrels", "-", "--run", run, "--json").json == whole
    for text, said in ((b"1 Q0 a\n", "run: standard input:1: expected 6 fields"), (b"", "standard input is empty")):
        feed(text)
        assert said in srd.fails("evaluate", "--qrels", qrels, "--run", "-")
    assert "is given twice; it can be read once" in srd.fails("evaluate", "--qrels", "-", "--run", "-")
    feed(None)
    assert (
        srd.fails("evaluate", "--qrels", qrels, "--run", "-") == "standard input is closed; give a file in place of -"
    )


@pytest.mark.parametrize("measures", [(), ("--measures", "alpha_nDCG(normalizer='candidates')@5", "StRecall@5")])
def test_a_topic_file_stands_for_its_qrels(srd: Srd, tmp_path: Path, measures: tuple[str, ...]) -> None:
    words = ("--run", tmp_path / "mmr.run", "--per-topic")
    srd.works("rank", "mmr", "--topics", "words", "--out", tmp_path / "mmr.run")
    srd.works("data", "qrels", "words", "--out", tmp_path / "words.qrels")
    by_topics = srd.works("evaluate", "--topics", "words", *words, *measures)
    assert "40 judged topics, 0 missing" in by_topics.out
    assert "ideal of the candidates" in by_topics.out
    if not measures:
        by_qrels = srd.works("evaluate", "--qrels", tmp_path / "words.qrels", *words)
        assert by_topics.out == by_qrels.out.replace("ideal of the pool", "ideal of the candidates")


def test_what_scores_a_run_is_named_once(srd: Srd, files: tuple[Path, Path]) -> None:
    qrels, run = files
    said = "a run is scored by --qrels FILE or by --topics FILE; expected one of the two, got"
    assert srd.fails("evaluate", "--run", run) == f"{said} neither"
    assert srd.fails("evaluate", "--run", run, "--qrels", qrels, "--topics", "words") == f"{said} both"
    assert "Did you mean" in srd.fails("evaluate", "--run", run, "--topics", "synthetic:serpp")


def test_it_starts_without_what_it_does_not_need(files: tuple[Path, Path]) -> None:
    qrels, run = files
    program = (
        "import sys\nfrom srd_train.cli import main\n"
        f"code = main(['evaluate', '--qrels', {str(qrels)!r}, '--run', {str(run)!r}])\n"
        "needless = {'torch', 'scipy', 'pyarrow', 'srd_agents', 'typeguard', 'asyncio'}\n"
        "sys.exit(str(found) if (found := needless & sys.modules.keys()) else code)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


def test_topics_that_no_ranking_scores_on_are_counted_once(srd: Srd, files: tuple[Path, Path]) -> None:
    qrels, run = files
    told = srd.works("evaluate", "--qrels", qrels, "--run", run, "--measures", "P_IA@1", "P_IA(rel=2)@1").err
    expected = (
        "notice: qrels: 3 of 3 judged topics have no judgment of at least 2 (the largest is 1), so that every ranking"
    )
    assert told.startswith(expected)
    assert told.count("\n") == 1


def test_crowding_needs_topics_and_no_labels(srd: Srd, tmp_path: Path) -> None:
    texts = ["the big cat of the forest", "the big cat of the forest", "an old car"]
    topics, run, sites = tmp_path / "t.parquet", tmp_path / "t.run", tmp_path / "sites"
    write_topics(topics, alone(bare_topic(3, doc_texts=texts)))
    run.write_text("1 Q0 a 1 3 t\n1 Q0 b 2 2 t\n1 Q0 c 3 1 t\n")
    sites.write_text("a\tx.org\nb\tx.org\nc\ty.org\n")
    words = ("evaluate", "--topics", topics, "--run", run, "--measures", "duplicates@3", "Vendi@2", "sources@3")
    found = srd.works(*words, "--sources", sites, "--json").json
    assert found["measures"] == {"duplicates@3": 1.0, "Vendi@2": pytest.approx(1.0), "sources@3": 2.0}
    assert "1 topics, 0 missing; means over all topics" in srd.works(*words, "--sources", sites).out
    assert "sources@3 needs the source of each document" in srd.fails(*words)
    sites.write_text("a\tx.org\na\ty.org\n")
    assert "sites:2: expected document<TAB>source" in srd.fails(*words, "--sources", sites)
    qrels = tmp_path / "qrels"
    qrels.write_text(QRELS)
    assert "give topics (--topics FILE)" in srd.fails("evaluate", "--qrels", qrels, "--run", run, "--measures", "ILS@3")


def test_runs_are_scored_and_judgments_written_without_a_look_at_vectors(srd: Srd, tmp_path: Path) -> None:
    """The vectors of this file cannot be read at all."""
    topics, run = tmp_path / "t.parquet", tmp_path / "t.run"
    whole = generate("tiny", n_topics=3, seed=0)
    write_topics(topics, whole)
    table = pq.read_table(topics)
    place = table.schema.get_field_index("doc_vectors")
    pq.write_table(table.set_column(place, "doc_vectors", pa.array([[1.0]] * 3)), topics)
    write_run(run, {topic.query_id: topic.doc_ids[:3] for topic in whole}, tag="t")
    words = ("evaluate", "--topics", topics, "--run", run, "--measures")
    assert srd.works(*words, "StRecall@3", "--json").json["topics"] == 3
    assert srd.works("data", "qrels", topics, "--out", tmp_path / "qrels")
    assert "doc_vectors holds 1 numbers" in srd.fails(*words, "ILS@3")
