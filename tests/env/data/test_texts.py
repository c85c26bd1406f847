from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from small_topics import refused
from sound_files import AMBIENT, DOCUMENTS, TEXTS, write

from srd_gym.data import DataNotice, LsaVectorizer, load_ambient, load_texts
from srd_gym.data.label_files import label_free_order
from srd_gym.data.vectors import numbered_ids

pytestmark = pytest.mark.filterwarnings("ignore::srd_gym.data.DataNotice")

VECTORS = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [-1, -1, -1], [0.1, 0.9, 0]], dtype=np.float16)
needs_bm25s = pytest.mark.skipif(importlib.util.find_spec("bm25s") is None, reason="bm25s is not installed")


def collection(folder: Path, **files: list[str]) -> Path:
    """The files of a small collection; those given hold other lines, or are not there without any."""
    endings = {"qrels": "diversity.qrels"}
    other = {endings.get(name, f"{name}.jsonl"): "\n".join(lines) for name, lines in files.items()}
    return write(folder, {name: content for name, content in (TEXTS | other).items() if content})


def vectors(folder: Path, documents: Any = VECTORS) -> Path:
    np.savez(
        folder / "vectors.npz",
        document_ids=[own_id for own_id, *_ in DOCUMENTS][: len(documents)],
        document_vectors=documents,
        query_ids=["q1", "q2"],
        query_vectors=np.array([[0.2, 1, 0.1], [-1, -1, -1]], dtype=np.float16),
        subtopic_ids=["q1\tanimal", "q1\tvehicle", "q1\tsystem"],
        subtopic_vectors=VECTORS[:3],
    )
    return folder / "vectors.npz"


def test_the_nearest_documents_of_the_whole_corpus(tmp_path: Path) -> None:
    folder = collection(tmp_path / "mine")
    topics = load_texts(folder, vectors=vectors(folder), depth=4)
    assert (topics.name, topics.query_ids, topics.transductive) == ("mine", ("q1", "q2"), False)
    topic = topics[0]
    assert topic.doc_ids == ("car~2", "car", "cat", "os")
    assert topic.doc_texts[:2] == ("used jaguar cars and their prices", "Jaguar. a fast car")
    assert topic.query_text == "jaguar"
    assert topic.subtopic_ids == ("animal", "vehicle", "system")
    assert topic.subtopic_texts == ("animal", "vehicle", "")
    units = VECTORS.astype(np.float32)[[4, 1, 0, 2]]
    units /= np.linalg.norm(units, axis=1, keepdims=True)
    query = np.array([0.2, 1, 0.1]) / np.linalg.norm([0.2, 1, 0.1])
    np.testing.assert_allclose(topic.retrieval_scores, units @ query, atol=1e-3)
    np.testing.assert_array_equal(topic.judgments, [[0, 1, 0], [0, 1, 0], [1, 0, 0], [0, 0, 1]])
    assert topic.pool_ids == ("cat", "car", "car~2", "os", "tea")
    np.testing.assert_array_equal(topic.doc_vectors, VECTORS.astype(np.float32)[[4, 1, 0, 2]])
    np.testing.assert_array_equal(topic.subtopic_vectors, VECTORS[:3])
    assert topics[1].judgments is None


def test_what_is_odd_is_counted_and_named(tmp_path: Path) -> None:
    pytest.importorskip("sklearn", reason='LSA needs scikit-learn: pip install "srd-gym[text]"')
    documents = [json.dumps({"_id": "cat", "text": "a cat"}), json.dumps({"_id": "none", "title": " ", "text": " "})]
    documents += [json.dumps({"_id": "cat", "text": "another cat"}), ""]
    folder = collection(
        tmp_path / "odd",
        corpus=documents,
        queries=[json.dumps({"_id": q, "text": text}) for q, text in (("q1", "cat"), ("q3", "of"), ("q1", "dog"))],
        subtopics=[json.dumps({"query_id": "q1", "_id": "animal", "text": text}) for text in ("cats", "dogs")]
        + [json.dumps({"query_id": "q8", "_id": "animal", "text": ""})],
        qrels=["q1 animal cat 0", "q1 animal cat 1", "q1 animal dog 1", "q9 x cat 1"],
    )
    with pytest.warns(DataNotice) as told:
        topics = load_texts(folder, vectors=LsaVectorizer(2))
    texts = "\n".join(str(notice.message) for notice in told)
    for wanted in (
        "1 ids of corpus.jsonl stand for several texts each, which are kept as id, id~2, ...; a judgment of such an id "
        "counts for each, so give every text its own id: 'cat'",
        "1 documents have no text and are left out: 'none'",
        "1 queries come twice: the first of each stays: 'q1'",
        "1 subtopics come twice: the first of each stays: 'animal of q1'",
        "1 queries of subtopics.jsonl are unknown and are left out: 'q8'",
        "1 judged documents are not in corpus.jsonl: 'dog'",
        "1 judged queries are not in queries.jsonl and are left out: 'q9'",
        "1 queries have no candidates and are left out: 'q3'",
    ):
        assert f"odd: {wanted}" in texts
    assert topics.transductive
    (topic,) = topics
    assert sorted(topic.doc_ids) == ["cat", "cat~2"]
    np.testing.assert_array_equal(topic.judgments, [[1], [1]])
    assert topic.pool_ids == ("cat", "cat~2", "dog")
    assert numbered_ids(["a~2", "a", "a", "a~2"]) == ["a~2", "a", "a~3", "a~2~2"]


def test_without_a_first_stage_the_judged_documents_stand_in_a_shuffle(tmp_path: Path) -> None:
    folder = collection(tmp_path / "mine")
    (topic,) = load_texts(folder, retrieve="none")
    assert sorted(topic.doc_ids) == ["car", "car~2", "cat", "os", "tea"]
    assert topic.retrieval_scores is topic.doc_vectors is None
    assert topic.doc_ids == load_texts(folder, retrieve="none")[0].doc_ids != ("cat", "car", "car~2", "os", "tea")


@needs_bm25s
def test_bm25_finds_documents_with_a_word_of_the_query(tmp_path: Path) -> None:
    folder = collection(tmp_path / "mine")
    topics = load_texts(folder, retrieve="bm25")
    assert sorted(topics[0].doc_ids) == ["car", "car~2", "cat", "os"]
    assert topics[1].doc_ids == ("tea",)
    assert topics[0].doc_vectors is None
    assert (np.diff(topics[0].retrieval_scores) <= 0).all()
    assert load_texts(folder, retrieve="bm25", vectors=vectors(folder))[0].doc_vectors is not None


@needs_bm25s
def test_hybrid_finds_what_either_finds_and_fuses_the_ranks(tmp_path: Path) -> None:
    folder = collection(tmp_path / "mine")
    by = {how: load_texts(folder, vectors=vectors(folder), retrieve=how)[0] for how in ("cosine", "bm25", "hybrid")}
    assert set(by["hybrid"].doc_ids) == set(by["cosine"].doc_ids)
    fused = dict.fromkeys(by["hybrid"].doc_ids, 0.0)
    for how in ("cosine", "bm25"):
        for rank, doc_id in enumerate(by[how].doc_ids, start=1):
            fused[doc_id] += 1 / (60 + rank)
    np.testing.assert_allclose(by["hybrid"].retrieval_scores, [fused[name] for name in by["hybrid"].doc_ids], rtol=1e-6)


@needs_bm25s
def test_a_function_embeds_the_candidates_alone_where_the_first_stage_needs_no_vectors(tmp_path: Path) -> None:
    seen: list[str] = []
    told: list[int] = []

    def embed(texts: Sequence[str]) -> Any:
        seen.extend(texts)
        return np.array([[len(text), 1.0] for text in texts])

    folder = collection(tmp_path / "mine", subtopics=[], qrels=[])
    topics = load_texts(folder, vectors=embed, depth=2, advance=told.append)
    assert ([topic.n_candidates for topic in topics], told, topics.transductive) == ([2, 2], [1, 1], False)
    seen.clear()
    query = [json.dumps({"_id": "q2", "text": "milk"})]
    folder = collection(tmp_path / "mine", subtopics=[], queries=query, qrels=[])
    assert load_texts(folder, vectors=embed, retrieve="bm25")[0].doc_ids == ("tea",)
    assert seen == ["tea with milk", "milk"]


def test_an_id_that_looks_like_a_second_text_has_its_own_judgments(tmp_path: Path) -> None:
    documents = [json.dumps({"_id": name, "text": text}) for name, text in (("d1", "a"), ("d1", "b"), ("d1~2", "c"))]
    queries = [json.dumps({"_id": "q1", "text": "a b c"})]
    folder = collection(tmp_path / "mine", corpus=documents, queries=queries, subtopics=[], qrels=["q1 1 d1~2 1"])
    with pytest.warns(DataNotice):
        (topic,) = load_texts(folder, vectors=lambda texts: np.ones((len(texts), 1)), retrieve="cosine")
    texts = [text for text, row in zip(topic.doc_texts, topic.judgments, strict=True) if row.any()]
    assert texts == ["c"]


def test_a_run_gives_the_candidates(tmp_path: Path) -> None:
    folder = collection(tmp_path / "mine")
    run = {"q1": {"os": 2.0, "gone": 1.5, "cat": 1.0, "tea": 0.5}, "q9": {"cat": 1.0}}
    with pytest.warns(DataNotice, match="1 queries of the run are unknown and are left out: 'q9'"):
        topics = load_texts(folder, run=run, depth=2, vectors=vectors(folder))
    assert (topics.query_ids, topics[0].doc_ids, topics[0].retrieval_scores.tolist()) == (
        ("q1",),
        ("os", "cat"),
        [2, 1],
    )
    close = {"q1": {"os": 2e7 + 0.5, "cat": 2e7 + 0.25, "tea": 2e7}}
    topics = load_texts(folder, run=close, vectors=vectors(folder))
    assert topics[0].retrieval_scores.tolist() == [0.5, 0.25, 0], "float32 would make them equal"
    assert topics[0].query_vector is not None
    with pytest.warns(DataNotice, match="1 of 4 documents of the run are not in the corpus and are left out: 'gone'"):
        load_texts(folder, run=run)
    refused(lambda: load_texts(folder, run={"q9": ["cat"]}), "none of 1 queries of the run .*'q9'")
    refused(lambda: load_texts(folder, run={"q1": ["x"]}), "none of 1 documents of the run .*'x'")


def test_what_is_missing_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, unjudged = collection(tmp_path / "mine"), collection(tmp_path / "unjudged", qrels=[])
    foreign = collection(tmp_path / "foreign", qrels=["q1 s elsewhere 1"])
    refused(lambda: load_texts(folder), "cosine needs vectors: give a file")
    message = r"have no vector .*\(document 'car~2'\)"
    refused(lambda: load_texts(folder, vectors=vectors(folder, VECTORS[:4])), message)
    dropped = load_texts(folder, vectors=vectors(folder, VECTORS[:4]), missing="drop")
    assert dropped[0].doc_ids == ("car", "cat", "os", "tea")
    np.savez(folder / "vectors.npz", ids=np.array(["cat"]), vectors=VECTORS[:1])
    message = "has no vectors of queries"
    refused(lambda: load_texts(folder, vectors=folder / "vectors.npz"), message)
    refused(lambda: load_texts(unjudged, retrieve="none"), r"no judged query in its diversity\.qrels")
    refused(lambda: load_texts(foreign, retrieve="none"), "no query has candidates")
    message = r"no corpus\.jsonl or corpus\.jsonl\.gz"
    refused(lambda: load_texts(tmp_path, retrieve="none"), message, FileNotFoundError)
    refused(lambda: load_texts(folder, retrieve="bm52"), "unknown first stage 'bm52'")  # type: ignore[arg-type]
    refused(lambda: load_texts(folder, retrieve="none", depth=0), "depth")
    monkeypatch.setitem(sys.modules, "bm25s", None)
    message = r"needs bm25s, .*\[text\].*or take cosine"
    refused(lambda: load_texts(folder, retrieve="bm25"), message, ImportError)


# AMBIENT, and files in its format as they come


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
    other = {
        "Topics.TXT": "topicId\tQuery\n\n1\tAida\n10\tB-52\n  \n",
        "subTopics.txt": " id\tDescription \n1.1\topera\n1.10\tcruise ship\n10.1\tbomber\n",
        "results.txt": "Title\tURL\tSNIPPET\tid\n"
        "ten\tu\tlast\t1.10\none <b>\tu\tfirst \x07\t1.1\ntwo\tu\t\t1.2\nB\tu\tplane\t10.1\n",
        "STRel.txt": "subtopic_id\tdocID\n1.1 \t 1.10\t\t\n1.10 \t 1.1\t\t\n1.1 \t 1.1\t\t\n",
    }
    write(ambient, {name: content.replace("\n", "\r\n") for name, content in other.items()})
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
    refused(lambda: load_ambient(ambient), r"subTopics\.txt:2: expected 3")
    path.unlink()
    refused(lambda: load_ambient(ambient), r"no file at .*subTopics\.txt", FileNotFoundError)
    refused(lambda: load_ambient(ambient / "topics.txt"), r"topics\.txt is a file")


def test_relations_with_results_of_other_topics_are_left_out_and_counted(ambient: Path) -> None:
    path = ambient / "STRel.txt"
    plain = load_ambient(ambient)
    path.write_text(path.read_text() + "1.1\t10.1\n1.1\t1.99\n")
    with pytest.warns(DataNotice, match=r"2 relations point at no result of their topic .*'10\.1 of topic 1'"):
        assert load_ambient(ambient).fingerprint == plain.fingerprint
    message = r"result '10\.1' is not in results\.txt"
    refused(lambda: load_ambient(ambient, strict=True), message)


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


@needs_bm25s
def test_candidates_may_stand_in_the_order_of_bm25(ambient: Path) -> None:
    path = ambient / "results.txt"
    path.write_text(path.read_text().replace("two", "Aida by Aida").replace("last", "last of Aida and much more"))
    topics = load_ambient(ambient, order="bm25")
    assert topics[0].doc_ids == ("1.2", "1.10", "1.1")
    assert topics[0].retrieval_scores[2] == 0
    assert topics[1].retrieval_scores.tolist() == [0], "no result has a word of the query"


@pytest.mark.data
def test_the_real_ambient(data_dir: Path) -> None:
    topics = load_ambient(data_dir / "ambient", vectors=data_dir / "ambient" / "minilm-384.npz")
    assert [topic.n_candidates for topic in topics] == [100] * 44
    assert sum(t.n_subtopics for t in topics) == 790
    assert sum(int(t.judgments.sum()) for t in topics if t.judgments is not None) == 2257
    assert topics.vector_width == 384
    assert all(t.query_vector is not None and t.subtopic_vectors is not None for t in topics)
    assert topics[0].doc_ids[8:11] == ("1.9", "1.10", "1.11")
    relevant = np.array([(t.judgments >= 1).any(axis=1) for t in topics if t.judgments is not None])
    assert relevant.sum(axis=1).mean() == pytest.approx(50.5, abs=0.5)
