"""Publishers' files become the plain format: small ones of their forms, made here."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from small_topics import refused

from srd_gym.data import load_texts
from studies import publishers as study


def csv_files(folder: Path, part: str, motion: str, label: int) -> None:
    """A part with one motion, which counts from 0."""
    folder.mkdir(exist_ok=True)
    for name, text in (
        (
            "arguments",
            f'arg_id,argument,topic,stance\narg_0_0,"{part}, first",{motion},1\narg_0_1,{part} 2,{motion},1\n',
        ),
        ("key_points", f"key_point_id,key_point,topic,stance\nkp_0_0,point of {part},{motion},1\n"),
        ("labels", f"arg_id,key_point_id,label\narg_0_0,kp_0_0,{label}\narg_0_1,kp_0_0,0\n"),
    ):
        (folder / f"{name}_{part}.csv").write_text(text, encoding="utf-8")


def test_ids_of_parts_that_count_alike_are_told_apart(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    csv_files(tmp_path / "kpm_data", "train", "Ban it", 1)
    csv_files(tmp_path / "kpm_data", "dev", "Allow it", 0)
    csv_files(tmp_path / "test_data", "test", "Pay for it", 1)
    assert study.main(["key-points", str(tmp_path), str(tmp_path / "out")]) == 0
    assert "3 queries, 6 documents, 3 subtopics, 4 judged 0, 2 judged 1" in capsys.readouterr().out
    topics = load_texts(tmp_path / "out", retrieve="none")
    assert topics.query_ids == ("1", "2", "3")
    assert [topic.query_text for topic in topics] == ["Ban it", "Allow it", "Pay for it"]
    assert topics[2].subtopic_texts == ("point of test",)
    relevant = [topic.doc_texts[i] for topic in topics for i in np.flatnonzero(topic.judgments.any(axis=1))]
    assert relevant == ["train, first", "test, first"]
    first = (tmp_path / "out" / "corpus.jsonl.gz").read_bytes()
    study.main(["key-points", str(tmp_path), str(tmp_path / "out")])
    assert (tmp_path / "out" / "corpus.jsonl.gz").read_bytes() == first


def test_clusters_of_sentences(tmp_path: Path) -> None:
    pool = [{"pId": i, "text": text} for i, text in ((1, "yes"), (2, "indeed"), (3, "no"), (7, "yes"))]
    claims = [{"cId": 9, "text": "so?", "perspectives": [{"pids": [2, 7]}, {"pids": [3]}]}]
    (tmp_path / "perspective_pool_v1.0.json").write_text(json.dumps(pool))
    (tmp_path / "perspectrum_with_answers_v1.0.json").write_text(json.dumps(claims))
    plain = study.perspectives(tmp_path)
    assert plain.documents == {"p1": "yes", "p2": "indeed", "p3": "no"}
    assert plain.subtopics == {("9", "1"): "indeed", ("9", "2"): "no"}
    assert set(plain.judgments) == {("9", "1", "p2"), ("9", "1", "p1"), ("9", "2", "p3")}


def test_sentences_of_senses(tmp_path: Path) -> None:
    folder = tmp_path / "pitcher"
    folder.mkdir()
    (folder / "classes_map.txt").write_text('{"0": "pitcher_pitcher", "1": "pitcher_(container)"}')
    (folder / "train.data.txt").write_text("".join(f"1\ta pitcher threw {i} .\n" for i in range(250)))
    (folder / "train.gold.txt").write_text("0\n" * 250)
    (folder / "test.data.txt").write_text("1\ta pitcher of milk .\n")
    (folder / "test.gold.txt").write_text("1")
    plain = study.word_senses(tmp_path)
    assert plain.subtopics == {("pitcher", "0"): "pitcher pitcher", ("pitcher", "1"): "pitcher (container)"}
    assert plain.counts["documents"] == 201
    assert plain.documents["pitcher-200"] == "a pitcher of milk ."
    assert plain.documents == study.word_senses(tmp_path).documents
    (folder / "test.gold.txt").write_text("1\n1\n")
    refused(lambda: study.word_senses(tmp_path), "1 sentences and 2 senses in test")


def test_what_is_missing_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert study.main(["keypoints", "a", "b"]) == 2
    assert "key-points|perspectives|word-senses SOURCE OUT" in capsys.readouterr().err
    refused(lambda: study.key_points(tmp_path), r"no arguments_train\.csv at or below", FileNotFoundError)
    (tmp_path / "arguments_train.csv").write_text("id,text\n")
    refused(lambda: study.key_points(tmp_path), "the columns arg_id, argument, topic")
