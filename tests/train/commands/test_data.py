from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest
from run_srd import Srd
from sound_files import AMBIENT, write

from srd_gym.data.parquet import read_topics, write_topics
from srd_gym.topic import Topic, TopicSet

QRELS = "1 1 a 1\n1 2 b 1\n2 1 x 1\n"
RUN = "1 Q0 a 1 3 t\n1 Q0 c 2 2 t\n1 Q0 b 3 1 t\n2 Q0 x 1 2 t\n"
XML = """<?xml version="1.0"?>
<webtrack><topic number="1" type="faceted"><query>one</query><description>d</description>
<subtopic number="1" type="nav">first</subtopic><subtopic number="2" type="inf">second</subtopic></topic>
<topic number="2" type="faceted"><query>two</query><description>d</description>
<subtopic number="1" type="nav">only</subtopic></topic></webtrack>
"""


@pytest.fixture
def trec(tmp_path: Path) -> dict[str, Path]:
    texts = {"qrels": QRELS, "run": RUN, "topics": XML, "vectors": "a\t1 2\nb\t3 4\nx\t5 6\n"}
    paths = {name: tmp_path / f"{name}.txt" for name in texts}
    for name, text in texts.items():
        paths[name].write_text(text)
    return paths


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """The topic file that is built."""
    return tmp_path / "t.parquet"


def from_trec(trec: dict[str, Path], out: Path) -> list[object]:
    """The command of all these files."""
    options = [word for name, path in trec.items() for word in (f"--{name}", path)]
    return ["data", "build", "trec", *options, "--out", out]


def test_trec_files_with_vectors(srd: Srd, trec: dict[str, Path], out: Path) -> None:
    words = from_trec(trec, out)
    message = srd.fails(*words)
    assert "no vector for 1 of 4 documents" in message
    assert "'c'" in message
    assert "--missing drop" in message
    assert not out.exists()
    done = srd.works(*words, "--missing", "drop")
    assert "notice: " in done.err
    topics = read_topics(out)
    assert [topic.doc_ids for topic in topics] == [("a", "b"), ("x",)]
    assert topics[0].query_text == "one"
    assert topics.has_pool


def test_texts_by_a_first_stage(srd: Srd, out: Path, tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    texts = ["a cat swims", "a cat sleeps", "a fast car", "a car stands", ""]
    for name, entries in (("corpus", texts), ("queries", ["cat car", "ship"])):
        lines = [json.dumps({"_id": str(number), "text": text}) for number, text in enumerate(entries)]
        (folder / f"{name}.jsonl").write_text("\n".join(lines))
    (folder / "diversity.qrels").write_text("0 animal 0 1\n0 vehicle 2 1\n")
    words = ("data", "build", "texts", folder, "--out", out)
    assert "a first stage by cosine needs vectors" in srd.fails(*words)
    told = srd.works(*words, "--vectors", "lsa", "--width", "3", "--depth", "3").err
    assert "1 documents have no text and are left out: '4'" in told
    assert "1 queries have no candidates and are left out: '1'" in told
    topics = read_topics(out)
    assert topics.transductive
    assert (topics.vector_width, topics.max_candidates, topics.name) == (3, 3, "mine")
    srd.works(*words, "--retrieve", "none", "--vectors", "simulated")
    assert sorted(read_topics(out)[0].doc_ids) == ["0", "2"]


@pytest.mark.skipif(importlib.util.find_spec("bm25s") is None, reason="bm25s is not installed")
def test_orders_by_bm25(srd: Srd, out: Path, tmp_path: Path) -> None:
    words = ("data", "build", "ambient", write(tmp_path / "ambient", AMBIENT), "--out", out)
    srd.works(*words, "--order", "none", "--strict")
    assert not read_topics(out).has_retrieval_order
    srd.works(*words, "--order", "bm25")
    assert read_topics(out).has_retrieval_order


def test_a_run_gets_texts_from_a_corpus(srd: Srd, trec: dict[str, Path], out: Path) -> None:
    lines = [json.dumps({"_id": d, "text": f"text{d} word{i % 3} other"}) for i, d in enumerate("abcxyz")]
    corpus = out.with_name("corpus.jsonl")
    corpus.write_text("\n".join(lines))
    words = ("data", "build", "trec", "--run", trec["run"], "--texts", corpus, "--out", out)
    assert "none of them judged" in srd.works(*words, "--vectors", "lsa", "--width", "2").err
    assert (read_topics(out).marks, read_topics(out).vector_width) == (("transductive",), 2)


def test_simulated_and_transductive_vectors_are_marked(srd: Srd, out: Path, tmp_path: Path) -> None:
    words = ("data", "build", "ambient", write(tmp_path / "ambient", AMBIENT), "--out", out)
    assert "no vectors (texts wait for them)" in srd.works(*words).err
    assert read_topics(out).vector_width is None
    srd.works(*words, "--vectors", "lsa", "--width", "2")
    assert read_topics(out).marks == ("transductive",)
    assert read_topics(out).vector_width == 2
    assert "simulated" in srd.works(*words, "--vectors", "simulated", "--noise", "2").err
    assert "noise 2" in read_topics(out).name


def test_synthetic_topics_take_a_seed_noise_and_width(srd: Srd, out: Path) -> None:
    words = ("data", "build", "synthetic", "tiny", "--topics", "3", "--seed", "3", "--out", out)
    done = srd.works(*words, "--json").json
    assert (done["topics"], done["marks"]) == (3, ["simulated"])
    plain = read_topics(out)
    assert plain.query_ids[0] == "tiny-3-0"
    srd.works(*words, "--noise", "2")
    assert read_topics(out).name == "synthetic:tiny (noise 2)"
    assert (read_topics(out)[0].doc_vectors != plain[0].doc_vectors).any()
    assert (read_topics(out)[0].judgments == plain[0].judgments).all()
    srd.works(*words, "--width", "5")
    assert read_topics(out).vector_width == 5


@pytest.mark.parametrize(("words", "message"), [
    (("synthetic", "tiny", "--vectors", "lsa"), "leave out --vectors"),
    (("synthetic", "tinny"), "unknown synthetic preset 'tinny'. Did you mean tiny?"),
    (("ambient", "none", "--noise", "2"), "--noise is of vectors that are made: give --vectors simulated"),
    (("synthetic", "tiny", "--catalogue", "25"), "leave out --vectors and --catalogue"),
    (("ambient", "none", "--width", "5"), "give --vectors lsa or --vectors simulated with it, or leave it out"),
])  # fmt: skip
def test_an_option_without_a_use_is_an_error(srd: Srd, tmp_path: Path, words: tuple[str, ...], message: str) -> None:
    assert message in srd.fails("data", "build", *words, "--out", tmp_path / "t")
    assert not list(tmp_path.iterdir())


def test_head_shows_as_many_as_asked_and_odd_ids_as_data(srd: Srd, out: Path) -> None:
    odd = Topic(query_id="q\x1b[31m", doc_ids=("[red]a[/red]", "<b>"), doc_texts=("<script>", "x\x07y"))
    write_topics(out, TopicSet([odd], name="odd"))
    shown = srd.works("data", "head", out).out
    assert "\x1b" not in shown
    assert "\x07" not in shown
    for text in ("[red]a[/red]", "<b>", "<script>", "q\\x1b[31m", "x\\x07y"):
        assert text in shown
    assert srd.works("data", "head", out, "--json").json[0]["query_id"] == "q\x1b[31m"
    topics = srd.works("data", "head", "synthetic:tiny:9", "--topics", "2", "--documents", "3", "--json").json
    assert [(topic["query_id"], len(topic["documents"])) for topic in topics] == [("tiny-0-0", 3), ("tiny-0-1", 3)]
    assert "at least 1" in srd.fails("data", "head", out, "--topics", "0")


@pytest.mark.data
def test_real_vectors_end_to_end(srd: Srd, data_dir: Path, out: Path, tmp_path: Path) -> None:
    web, sample = data_dir / "trec-web", data_dir / "dssa-sample"
    qrels = sorted(web.glob("*.qrels.gz"))
    words = ["data", "build", "trec", "--qrels", *qrels, "--run", *sorted(web.glob("*.run.gz"))]
    words += ["--topics", *sorted(web.glob("*.xml")), "--vectors", sample / "doc.emb.gz", "--missing", "drop"]
    srd.works(*words, "--query-vectors", sample / "query.emb.gz", "--out", out)
    assert len(read_topics(out)) == 13
    srd.works("train", "mdp-div", "--topics", out, "--out", tmp_path / "m", "--epochs", "2")
    srd.works("rank", tmp_path / "m", "--topics", out, "--out", tmp_path / "run")
    scores = srd.works("evaluate", "--qrels", *qrels, "--run", tmp_path / "run", "--json", "--ranked-topics-only").json
    assert scores["missing"] == 198 - 13
    assert 0 < scores["measures"]["alpha_nDCG@10"] < 1
    assert json.loads((tmp_path / "m" / "config.json").read_text())["vector_width"] == 25
