"""AMBIENT, and files in its format as they come."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest
from small_topics import refused
from sound_files import AMBIENT, write

from srd_gym.data.ambient import load_ambient
from srd_gym.data.labels import label_free_order
from srd_gym.data.streams import DataNotice


@pytest.fixture
def ambient(tmp_path: Path) -> Path:
    return write(tmp_path, AMBIENT)


def test_four_files_make_topics(ambient: Path) -> None:
    topics = load_ambient(ambient)
    assert topics.query_ids == ("1", "10")
    first = topics[0]
    assert first.doc_ids == ("1.1", "1.2", "1.10"), "in the order of the search engine's ranks"
    assert first.doc_texts == ("one <b> first \x07", "two ", "ten last"), "kept as data"
    assert first.subtopic_ids == ("1.1", "1.10")
    assert first.subtopic_texts == ("opera", "cruise ship")
    np.testing.assert_array_equal(first.judgments, [[1, 1], [0, 0], [1, 0]])
    np.testing.assert_allclose(first.retrieval_scores, [1, 1 / 2, 1 / 10])
    assert first.pool is None
    assert not topics[1].trainable


def test_files_are_read_as_they_come(ambient: Path) -> None:
    plain = load_ambient(ambient)
    (ambient / "topics.txt").rename(ambient / "Topics.TXT")
    for name, head in (
        ("Topics.TXT", "topicId\tQuery"),
        ("subTopics.txt", " id\tDescription "),
        ("results.txt", "Title\tURL\tSNIPPET\tid"),
        ("STRel.txt", "subtopic_id\tdocID"),
    ):
        lines = (ambient / name).read_text().splitlines()[1:]
        if name == "results.txt":
            lines = ["\t".join([fields[i] for i in (2, 1, 3, 0)]) for fields in (line.split("\t") for line in lines)]
        elif name == "STRel.txt":
            lines = [line.replace("\t", " \t ") + "\t\t" for line in lines]
        (ambient / name).write_text("\r\n".join([head, "", *lines, "  "]) + "\r\n")
    assert load_ambient(ambient).fingerprint == plain.fingerprint


def test_a_file_may_have_more_columns_and_results_and_topics_less(ambient: Path) -> None:
    path, plain = ambient / "subTopics.txt", load_ambient(ambient)
    head, *lines = path.read_text().splitlines()
    path.write_text("\n".join([f"mine\t{head}", *(f"x\t{line}" for line in lines)]))
    assert load_ambient(ambient).fingerprint == plain.fingerprint
    for name, more in (("results.txt", "10.2\tu\tonly a title\n10.3\tu\n"), ("topics.txt", "11\tCamel\n")):
        with (ambient / name).open("a") as file:
            file.write(more)
    with pytest.warns(DataNotice, match="1 topics have no result and are left out: '11'"):
        topics = load_ambient(ambient)
    assert topics.query_ids == ("1", "10")
    assert topics[1].doc_texts == ("B plane", "only a title ", " ")
    path.write_text(f"mine\t{head}\n{lines[0]}\n")
    refused(lambda: load_ambient(ambient), r"subTopics\.txt:2: expected 3 tab-separated fields")


def test_relations_with_results_of_other_topics_are_left_out_and_counted(ambient: Path) -> None:
    path = ambient / "STRel.txt"
    plain = load_ambient(ambient)
    path.write_text(path.read_text() + "1.1\t10.1\n1.1\t1.99\n")
    with pytest.warns(DataNotice, match=r"2 relations point at no result of their topic .*'10\.1 of topic 1'"):
        assert load_ambient(ambient).fingerprint == plain.fingerprint
    refused(
        lambda: load_ambient(ambient, strict=True),
        r"STRel\.txt:5: result '10\.1' is not in results\.txt as a result of topic '1'",
    )


def test_candidates_may_stand_in_another_order(ambient: Path, tmp_path: Path) -> None:
    shuffled = load_ambient(ambient, order="none")[0]
    assert sorted(shuffled.doc_ids) == ["1.1", "1.10", "1.2"]
    assert shuffled.retrieval_scores is None
    assert shuffled.doc_ids == label_free_order("1", shuffled.doc_ids)
    lengths = dict(zip(load_ambient(ambient)[0].doc_ids, [2, 0, 1], strict=True))
    assert dict(zip(shuffled.doc_ids, shuffled.judgments.sum(axis=1), strict=True)) == lengths
    vectors = tmp_path / "v.npz"
    ids = np.array(["1.1", "1.2", "1.10", "10.1"])
    given = {"document_ids": ids, "document_vectors": np.array([[0, 1], [1, 0], [1, 1], [1, 0]])}
    np.savez(vectors, **given, query_ids=np.array(["1", "10"]), query_vectors=np.array([[1, 0], [1, 0]]))
    by_cosine = load_ambient(ambient, vectors=vectors, order="cosine")[0]
    assert by_cosine.doc_ids == ("1.2", "1.10", "1.1")
    np.testing.assert_allclose(by_cosine.retrieval_scores, [1, 0.5**0.5, 0], atol=1e-6)
    np.savez(vectors, **given)
    refused(lambda: load_ambient(ambient, vectors=vectors, order="cosine"), "topic '1' has no query vector")
    refused(lambda: load_ambient(ambient, order="cosine"), "an order by cosine needs vectors")
    refused(lambda: load_ambient(ambient, order="rank"), "unknown order 'rank'")  # type: ignore[arg-type]


@pytest.mark.skipif(importlib.util.find_spec("bm25s") is None, reason="bm25s is not installed")
def test_candidates_may_stand_in_the_order_of_bm25(ambient: Path) -> None:
    path = ambient / "results.txt"
    path.write_text(path.read_text().replace("two", "Aida by Aida").replace("last", "last of Aida and much more"))
    topics = load_ambient(ambient, order="bm25")
    assert topics[0].doc_ids == ("1.2", "1.10", "1.1")
    assert topics[0].retrieval_scores[2] == 0
    assert topics[1].retrieval_scores.tolist() == [0], "no result has a word of the query"


def test_a_missing_file_is_told(ambient: Path) -> None:
    (ambient / "STRel.txt").unlink()
    refused(lambda: load_ambient(ambient), r"no file at .*STRel\.txt", FileNotFoundError)
    refused(lambda: load_ambient(ambient / "topics.txt"), r"topics\.txt is a file; expected the folder")


@pytest.mark.data
def test_the_real_ambient(data_dir: Path) -> None:
    topics = load_ambient(data_dir / "ambient", vectors=data_dir / "ambient" / "minilm-384.npz")
    assert len(topics) == 44
    assert {t.n_candidates for t in topics} == {100}
    assert sum(t.n_subtopics for t in topics) == 790
    assert sum(int(t.judgments.sum()) for t in topics if t.judgments is not None) == 2257
    assert topics.vector_width == 384
    assert all(t.query_vector is not None and t.subtopic_vectors is not None for t in topics)
    assert topics[0].doc_ids[8:11] == ("1.9", "1.10", "1.11")
    relevant = np.array([(t.judgments >= 1).any(axis=1) for t in topics if t.judgments is not None])
    assert relevant.sum(axis=1).mean() == pytest.approx(50.5, abs=0.5)
