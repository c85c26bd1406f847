from __future__ import annotations

import gzip
import sys
import tracemalloc
import types
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from small_topics import alone, bare_topic, refused, small_topic
from sound_files import IDS, READERS, VECTORS, make_npz, write

from srd_gym import TopicSet
from srd_gym.data import (
    DataNotice,
    LsaVectorizer,
    VectorTable,
    attach_vectors,
    embed_texts,
    embed_topics,
    generate,
    load_topics,
    read_topics,
    read_vectors,
    write_topics,
)
from srd_gym.data.attach import attach_files
from srd_gym.data.simulate import simulate_vectors


@pytest.mark.parametrize("form", ["tsv", "json-vectors", "npy", "npz", "parquet-vectors"])
def test_every_format_gives_the_same_table(form: str, tmp_path: Path) -> None:
    (path,) = write(tmp_path, READERS[form][0]).glob("v.*[!s]")
    table = read_vectors(path)
    assert table.ids == IDS, "ids are text: 1.1 and 1.10 are two"
    assert table.vectors.dtype == np.float32
    np.testing.assert_array_equal(table.vectors, VECTORS)
    np.testing.assert_array_equal(table.rows(["a b", "1.1"]), VECTORS[[2, 0]])
    few = read_vectors(path, only={"1.10", "absent"})
    assert few.ids == ("1.10",)
    np.testing.assert_array_equal(few.vectors, VECTORS[[1]])
    refused(lambda: table.rows(["x"]), r"has no vector for id 'x'")


def test_bad_tables_pickles_and_files_of_another_form_are_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "lonely.npy", VECTORS)
    refused(lambda: read_vectors(tmp_path / "lonely.npy"), r"lonely\.npy needs its ids")
    np.savez(tmp_path / "x.npz", names=np.array(IDS), vectors=VECTORS)
    refused(lambda: read_vectors(tmp_path / "x.npz"), "expected arrays ids and vectors")
    np.savez(tmp_path / "y.npz", ids=np.array([1.1, 1.10, 2]), vectors=VECTORS)
    refused(lambda: read_vectors(tmp_path / "y.npz"), "ids must be a list of text")
    (tmp_path / "cut.npz").write_bytes((write(tmp_path, make_npz) / "v.npz").read_bytes()[:-30])
    refused(lambda: read_vectors(tmp_path / "cut.npz"), r"not a whole \.npz file")
    pq.write_table(pa.table({"id": ["a"], "vec": [[1.0]]}), tmp_path / "z.parquet")
    refused(lambda: read_vectors(tmp_path / "z.parquet"), "lacks the column vector")
    pq.write_table(pa.table({"id": ["a", "b"], "vector": [[1.0], [1.0, 2.0]]}), tmp_path / "w.parquet")
    refused(lambda: read_vectors(tmp_path / "w.parquet"), r"row 1: 2 numbers, but 1 before \(id 'b'")
    pq.write_table(pa.table({"id": ["a", "b"], "vector": [[[1.0, 2.0]], [[1.0], [2.0]]]}), tmp_path / "v.parquet")
    refused(lambda: read_vectors(tmp_path / "v.parquet"), "row 0: expected a list of numbers")
    objects = np.array([{"a": 1}], dtype=object)
    np.savez(tmp_path / "v.npz", ids=objects, vectors=np.ones((1, 1)))
    message = r"not a whole .* \(Object arrays"
    refused(lambda: read_vectors(tmp_path / "v.npz"), message)
    np.save(tmp_path / "v.npy", objects)
    (tmp_path / "v.ids").write_text("a\n")
    refused(lambda: read_vectors(tmp_path / "v.npy"), r"v\.npy: .*(Python objects|Object arrays)")
    message = r"f, row 1: NaN, infinity.* \(id 'b'"
    refused(lambda: VectorTable(["a", "b"], np.array([[1.0], [np.nan]]), source="f"), message)
    refused(lambda: VectorTable(["a", "b"], np.ones((3, 1)), source="f"), "2 ids but 3 vectors")
    message = r"expected a matrix of numbers \[n, F\]"
    refused(lambda: VectorTable(["a", "b", "c"], np.ones(3), source="f"), message)


# JSON objects as streams


@pytest.mark.parametrize("chunk", [1, 7, 2**20])
def test_json_vectors_are_streamed(tmp_path: Path, chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("srd_gym.data.vectors._CHUNK", chunk)
    path = tmp_path / "v.json.gz"
    text = ' {"1.1" : [1, 2.5e0],\n "q\\"u\\u00e9": [ -3 ,4 ] , "skip": ["not", "parsed"], "1.10":[0,0]}\n'
    path.write_bytes(gzip.compress(text.encode()))
    found = read_vectors(path, only={"1.1", 'q"ué', "1.10"})
    assert found.ids == ("1.1", 'q"ué', "1.10")
    assert found.vectors.tolist() == [[1, 2.5], [-3, 4], [0, 0]]
    path.write_text("{ }")
    assert len(read_vectors(path)) == 0


def test_a_large_json_file_is_read_in_little_memory(tmp_path: Path) -> None:
    numbers = ", ".join(["0.123456789"] * 1000)
    with (tmp_path / "large.json").open("w") as stream:
        stream.write("{" + ", ".join(f'"d{i}": [{numbers}]' for i in range(2000)) + "}")
    assert (tmp_path / "large.json").stat().st_size > 25e6
    tracemalloc.start()
    table = read_vectors(tmp_path / "large.json", only={"d7", "d1999"})
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert table.ids == ("d7", "d1999")
    assert most < 8e6


# vectors and topics


def two_topics() -> TopicSet:
    texts = {"query_text": "q one", "doc_texts": ("x", "y"), "subtopic_texts": ("first", "second")}
    topics = [small_topic(np.eye(2), **texts), bare_topic(1, "2", doc_ids=("c",), doc_texts=("z",))]
    return TopicSet(topics, name="two", simulated=True)


def table(*ids: str, width: int = 2, source: str = "file") -> VectorTable:
    return VectorTable(ids, np.arange(len(ids) * width).reshape(-1, width), source=source)


def test_vectors_meet_documents_queries_and_subtopics() -> None:
    queries, subtopics = table("2", "q one"), table("1.2", "first")
    first, second = attached = attach_vectors(two_topics(), table("c", "b", "a"), queries=queries, subtopics=subtopics)
    assert not attached.simulated
    np.testing.assert_array_equal(first.doc_vectors, [[4, 5], [2, 3]])
    np.testing.assert_array_equal(first.query_vector, [2, 3])
    np.testing.assert_array_equal(first.subtopic_vectors, [[2, 3], [0, 1]])
    np.testing.assert_array_equal(second.query_vector, [0, 1])


def test_topics_know_what_made_their_vectors(tmp_path: Path) -> None:
    (tmp_path / "minilm.tsv").write_text("a\t1 0\nb\t0 1\nc\t1 1\n")
    attached = attach_vectors(two_topics(), read_vectors(tmp_path / "minilm.tsv"))
    assert attached.encoder == "minilm.tsv"
    assert attach_vectors(attached, queries=table("2", "q one")).encoder == "minilm.tsv"
    for encoder in ("model:mini", None):
        assert embed_topics(attached, lambda texts: np.ones((len(texts), 2)), encoder=encoder).encoder == encoder
    assert simulate_vectors(two_topics()[:1]).encoder == "simulated: catalogue None, width 64, seed 0"


def test_sets_that_are_made_or_packaged_name_their_encoders(tmp_path: Path) -> None:
    made = generate("serp", n_topics=2)
    assert made.encoder == load_topics("synthetic:serp:3:7").encoder == "synthetic:serp"
    assert generate("serp", n_topics=2, width=8).encoder == "synthetic:serp {'width': 8}"
    assert load_topics("words").encoder == "lsa:words"
    write_topics(tmp_path / "made.parquet", made)
    assert read_topics(tmp_path / "made.parquet").encoder == "synthetic:serp"
    one, other = (simulate_vectors(two_topics()[:1], seed=seed).encoder for seed in (0, 1))
    assert None is not one != other is not None


def test_each_lsa_is_an_encoder_of_its_own() -> None:
    pytest.importorskip("sklearn")
    corpora = (["big cat", "fast car"], ["cold tea", "hot tea"])
    one, other = (LsaVectorizer(2).fit(texts).apply(two_topics()) for texts in corpora)
    assert one.encoder != other.encoder
    assert str(one.encoder).startswith("lsa-")


def test_missing_vectors_are_counted_and_named_or_dropped() -> None:
    message = "no vector for 2 of 3 documents"
    refused(lambda: attach_vectors(two_topics(), table("a"), queries=table("1", source="more")), message)
    said = r"no vector for 2 of 3 documents.*with them 1 topics that have no document left: '2'"
    with pytest.warns(DataNotice, match=said):
        attached = attach_vectors(two_topics(), table("a"), missing="drop")
    assert attached.query_ids == ("1",)
    assert attached[0].doc_ids == ("a",)
    np.testing.assert_array_equal(attached[0].judgments, [[1, 0]])
    foreign = "no vector for 3 of 3 documents"
    refused(lambda: attach_vectors(two_topics(), table("z"), missing="drop"), foreign)
    refused(lambda: attach_vectors(two_topics(), table("a"), missing="drops"), "Did you mean drop")


def test_widths_must_agree() -> None:
    documents = table("a", "b", "c")
    found = "vectors of different widths"
    refused(lambda: attach_vectors(two_topics(), documents, queries=table("1", width=3)), found)
    old = attach_vectors(two_topics(), queries=table("1", "2", width=3))
    refused(lambda: attach_vectors(old, documents), found)
    nothing = VectorTable((), np.empty((0, 0)), source="more")  # a file without any of the queries has no width
    with pytest.warns(DataNotice, match=r"no vector for 2 of 2 queries \('1', '2'; more\)"):
        attached = attach_vectors(two_topics(), documents, queries=nothing, missing="drop")
    assert attached[0].query_vector is None


def test_texts_are_embedded() -> None:
    def lengths(texts: Any) -> Any:
        return np.array([[len(text), 1] for text in texts], dtype=np.float32)

    first, second = embed_topics(two_topics(), lengths)
    np.testing.assert_array_equal(first.doc_vectors, [[1, 1], [1, 1]])
    np.testing.assert_array_equal(first.query_vector, [5, 1])
    np.testing.assert_array_equal(first.subtopic_vectors, [[5, 1], [6, 1]])
    assert second.query_vector is None
    assert second.subtopic_vectors is None
    refused(lambda: embed_topics(alone(bare_topic(), "bare"), lengths), "of 'bare' has no document texts")


def test_a_text_model_gives_float32_rows_or_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    refused(lambda: embed_texts("all-MiniLM-L6-v2", ["x"]), "pip install sentence-transformers", ImportError)

    class Model:
        loaded = 0

        def __init__(self, name: str) -> None:
            assert name == "folder"
            Model.loaded += 1

        def encode(self, texts: list[str], **settings: Any) -> Any:
            assert settings["normalize_embeddings"]
            return np.ones((len(texts), 4)) / 2

    module = types.ModuleType("sentence_transformers")
    module.SentenceTransformer = Model
    monkeypatch.setitem(sys.modules, "sentence_transformers", module)
    vectors = embed_texts(Path("folder"), ["a", "b"])
    embed_texts("folder", ["c"])
    assert Model.loaded == 1, "a model is loaded once, not once a topic"
    assert vectors.dtype == np.float32
    assert vectors.shape == (2, 4)


def test_subtopics_are_told_apart_whatever_their_ids() -> None:
    topics = [replace(small_topic(query_id=q), subtopic_ids=(s, "x")) for q, s in (("1", "2.3"), ("1.2", "3"))]
    table = VectorTable(["1\t2.3", "1.2\t3", "1\tx", "1.2\tx"], np.eye(4), source="s")
    found = attach_vectors(TopicSet(topics, name="two"), subtopics=table)
    assert [topic.subtopic_vectors[0].tolist() for topic in found] == [[1, 0, 0, 0], [0, 1, 0, 0]]


def test_a_table_does_not_change_with_its_file(tmp_path: Path) -> None:
    (tmp_path / "v.ids").write_text("a\nb\n")
    np.save(tmp_path / "v.npy", np.eye(2, dtype=np.float32))
    table = read_vectors(tmp_path / "v.npy")
    np.save(tmp_path / "v.npy", np.zeros((2, 2), np.float32))
    assert table.rows(["a", "b"]).tolist() == [[1, 0], [0, 1]]


def test_subtopics_without_a_text_have_the_vectors_that_a_file_gives(tmp_path: Path) -> None:
    topics = TopicSet([small_topic(query_id="q", subtopic_texts=("x", ""))], name="one")
    for ids in (["q.1", "q.2"], ["q\t1", "q\t2"]):
        arrays: Any = {"document_ids": ["a", "b"], "document_vectors": np.eye(2), "query_ids": ["q"]}
        arrays |= {"query_vectors": np.ones((1, 2)), "subtopic_ids": ids, "subtopic_vectors": [[1, 2], [3, 4]]}
        np.savez(tmp_path / "v.npz", **arrays)
        (topic,) = attach_files(topics, tmp_path / "v.npz", None, "error")
        assert topic.subtopic_vectors.tolist() == [[1, 2], [3, 4]]
