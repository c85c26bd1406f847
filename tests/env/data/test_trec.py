from __future__ import annotations

import gzip
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_topics import alone, bare_topic, refused, small_topic
from sound_files import TREC, write

from srd_gym import Topic, TopicSet
from srd_gym.data import DataNotice, as_qrels, load_trec, read_qrels, read_run, topic_qrels, write_qrels, write_run
from srd_gym.measures import evaluate_run


def put(path: Path, text: str) -> Path:
    path.write_bytes(text.encode())
    return path


# qrels


def test_qrels_are_read_as_the_official_tool_reads_them(tmp_path: Path) -> None:
    path = put(tmp_path / "q", "1 0 a 0\n1 10 b 2\n1 2 b -2\n1 2 c 1\n1 3 c 0\n2 0 a 1\n")
    qrels = read_qrels(path)
    assert list(qrels.topics) == ["1", "2"]
    first = qrels.topics["1"]
    assert first.doc_ids == ("a", "b", "c"), "a judged document is in the pool, relevant or not"
    assert first.subtopic_ids == ("2", "3", "10"), "nothing is relevant to subtopic 0, so it is no subtopic"
    np.testing.assert_array_equal(first.judgments, [[0, 0, 0], [-2, 0, 2], [1, 0, 0]])
    assert first.judgments.dtype == np.int8
    assert qrels.topics["2"].subtopic_ids == ("0",), "with a relevant document, subtopic 0 counts as any other"
    long = read_qrels(put(path, f"1 {'9' * 5_000} a 1\n1 2 a 1\n1 10 a 1\n")).topics["1"].subtopic_ids
    assert long == ("2", "10", "9" * 5_000), "numbers of thousands of digits are ids like others"


class Pair(NamedTuple):
    query_id: str
    subtopic_id: str
    doc_id: str
    relevance: int


AD_HOC = {
    "zeros": "1 0 a 1\n1 0 b 0\n2 0 b 0\n",
    "zeros of two digits": "1 00 a 1\n1 00 b 2\n",
    "rounds, as of TREC-COVID": "1 0.5 a 1\n1 1 b 0\n1 1.5 c 2\n2 0.5 a 1\n",
    "one value per document": "1 x a 1\n1 y b 1\n1 z c 0\n",
}


@pytest.mark.parametrize("kind", AD_HOC)
def test_qrels_of_an_ad_hoc_task_are_told_at_every_entrance(kind: str, tmp_path: Path) -> None:
    path = put(tmp_path / "adhoc", AD_HOC[kind])
    records = [Pair(q, s, d, int(j)) for q, s, d, j in map(str.split, AD_HOC[kind].splitlines())]
    nested: dict[str, dict[str, dict[str, int]]] = {}
    for q, s, d, j in records:
        nested.setdefault(q, {}).setdefault(s, {})[d] = j
    run = {"1": ["a", "b"]}
    for read in (
        lambda: read_qrels(path),
        lambda: as_qrels(path),
        lambda: as_qrels(records),
        lambda: as_qrels(nested),
        lambda: load_trec(run=run, qrels=path),
        lambda: evaluate_run(nested, run, "P_IA@1"),
        lambda: evaluate_run(path, run, "P_IA@1"),
    ):
        with pytest.warns(UserWarning, match="two subtopics: either .* no subtopics, .* or each document has one"):
            read()
    put(path, AD_HOC[kind] + "1 again a 0\n")
    with warnings.catch_warnings(action="error"):
        as_qrels(path)


def test_a_run_without_a_judged_document_is_told(tmp_path: Path) -> None:
    run = read_run(put(tmp_path / "run", "1 Q0 a 1 2 t\n1 Q0 b 2 1 t\n"))
    swapped = read_qrels(put(tmp_path / "swapped", "1 a 1 1\n1 b 2 1\n"))
    with pytest.warns(UserWarning, match=r"no ranked document is judged \(query '1': the run has a, the qrels 1\)"):
        assert evaluate_run(swapped, run, ["alpha_nDCG@5"]).mean() == {"alpha_nDCG@5": 0.0}
    with warnings.catch_warnings(action="error"):
        evaluate_run(read_qrels(put(tmp_path / "qrels", "1 1 a 0\n1 2 a 0\n1 2 z 1\n")), run, ["alpha_nDCG@5"])
        below = read_qrels(put(tmp_path / "below", "1 1 b 1\n1 2 b 1\n"))
        assert evaluate_run(below, run, ["StRecall@1"]).mean() == {"StRecall@1": 0.0}, "judged, at rank 2"


def test_several_and_packed_files_are_read_and_share_no_query(tmp_path: Path) -> None:
    one, two = put(tmp_path / "one", "1 1 a 1\n"), put(tmp_path / "two", "2 1 a 1\n")
    assert list(read_qrels([one, two]).topics) == ["1", "2"]
    again = put(tmp_path / "again", "3 1 b 1\n1 2 b 1\n")
    refused(lambda: read_qrels([one, two, again]), "query '1' is in both .*one and .*again")
    runs = [put(tmp_path / f"run{i}", f"{i % 2} Q0 d 1 1.0 x\n") for i in range(3)]
    refused(lambda: read_run(runs), "query '0' is in both .*run0 and .*run2")
    refused(lambda: read_run([]), "no file given")
    (tmp_path / "q.gz").write_bytes(gzip.compress(b"\xef\xbb\xbf1 1 a 1\r\n" + b"1 2 a 1\n"))
    assert read_qrels(tmp_path / "q.gz").topics["1"].subtopic_ids == ("1", "2")


# runs


def test_a_run_is_ordered_as_trec_eval_orders_it(tmp_path: Path) -> None:
    close = "2 Q0 a 1 1.00000000001 x\n2 Q0 b 2 1.00000000002 x\n"
    path = put(tmp_path / "r", "1 Q0 b 1 0.5 x\n1 Q0 a 9 0.5 x\n1 Q0 c 7 1e1 x\n1\tQ0\td\t0\t-2\tx\n" + close)
    run = read_run(path)
    assert run.rankings == {"1": ("c", "b", "a", "d"), "2": ("b", "a")}, "scores are compared in double precision"
    np.testing.assert_array_equal(run.scores["1"], [10, 0.5, 0.5, -2])
    odd = ["<script>", "\u00a0nbsp", "\x01\x1c", "a&b", "café", "=1+1"]
    run = read_run(put(tmp_path / "odd", "".join(f"1 Q0 {d} {i} {-i} x\n" for i, d in enumerate(odd))))
    assert run.rankings["1"] == tuple(odd), "ids are data"


ids = st.text(st.characters(exclude_categories=["Cc", "Cs", "Zs", "Zl", "Zp"]), min_size=1, max_size=8)


def test_a_run_is_written_as_its_rankings_come(tmp_path: Path) -> None:
    rankings = {str(i): [f"d{i}", "e"] for i in range(5)}
    write_run(tmp_path / "whole", rankings, "tag")
    write_run(tmp_path / "stream", ((query_id, doc_ids) for query_id, doc_ids in rankings.items()), "tag")
    assert (tmp_path / "stream").read_text() == (tmp_path / "whole").read_text()

    def broken() -> Iterator[tuple[str, list[str]]]:
        yield "1", ["a"]
        raise OSError("the reader went away")

    refused(lambda: write_run(tmp_path / "broken", broken(), "tag"), "went away", OSError)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["stream", "whole"]


@settings(max_examples=60)
@given(doc_ids=st.lists(ids, unique=True, min_size=1, max_size=12))
def test_a_written_run_keeps_its_order(tmp_path_factory: pytest.TempPathFactory, doc_ids: list[str]) -> None:
    path = tmp_path_factory.mktemp("run") / "r"
    write_run(path, {"q": doc_ids}, "tag")
    run = read_run(path)
    assert run.rankings == {"q": tuple(doc_ids)}
    assert (np.diff(run.scores["q"].astype(np.float32)) < 0).all(), "no tie is left, in single precision either"


@pytest.mark.parametrize(("rankings", "message"), [
    ({"1": {"a", "b"}}, r"a list, best first, got .*\(set\)"),
    ({"1": "ab"}, "a list, best first, got 'ab'"),
    ({"1": [7]}, r"document id must be text, got 7 \(int\)"),
])  # fmt: skip
def test_a_set_is_no_ranking(tmp_path: Path, rankings: Any, message: str) -> None:
    refused(lambda: write_run(tmp_path / "run", rankings, "x"), message, TypeError)


@pytest.mark.parametrize(("rankings", "tag", "message"), [
    ({"1": ["a b"]}, "x", r"document id 'a b' holds ' '.*rename it"),
    ({"1": ["a\x00"]}, "x", r"document id 'a\\x00' holds '\\x00'"),
    ({"1": ["a\u00a0b"]}, "x", r"document id"),
    ({"1": [""]}, "x", r"document id '' is empty"),
    ({"1\n2": ["a"]}, "x", r"query id '1\\n2' holds '\\n'"),
    ({"1": ["a"]}, "my tag", r"the tag 'my tag' holds ' '"),
    ({"1": ["a", "a"]}, "x", r"a document is duplicated for query '1'"),
])  # fmt: skip
def test_what_a_run_cannot_carry_is_refused(
    tmp_path: Path, rankings: dict[str, list[str]], tag: str, message: str
) -> None:
    path = put(tmp_path / "run", "old")
    refused(lambda: write_run(path, {"0": ["fine"], **rankings}, tag), message)
    assert [p.read_text() for p in tmp_path.iterdir()] == ["old"], "nothing half written, nothing left behind"


# qrels of topics


def test_topics_become_qrels_and_these_the_same_topics(files: dict[str, Path], tmp_path: Path) -> None:
    topics = load_trec(**files)
    write_qrels(tmp_path / "again", topics)
    again = load_trec(**{**files, "qrels": tmp_path / "again"})
    assert again.fingerprint == topics.fingerprint
    without_pool = small_topic([[1, 0], [-2, 3]])
    unjudged = bare_topic(2, "2")
    with pytest.warns(DataNotice, match="1 topics are not judged, and are left out: '2'"):
        write_qrels(tmp_path / "qrels", TopicSet([without_pool, unjudged], name="two"))
    assert (tmp_path / "qrels").read_text() == "1 1 a 1\n1 2 a 0\n1 1 b -2\n1 2 b 3\n"
    with pytest.warns(DataNotice, match="1 topics have subtopic weights, which qrels cannot carry"):
        write_qrels(tmp_path / "qrels", alone(small_topic(subtopic_weights=[1, 2])))
    nothing = alone(small_topic(np.zeros((2, 0), np.int8), subtopic_weights=[]))
    run = {"1": ["a", "b"]}
    scores = [evaluate_run(each, run, ["alpha_nDCG@5"]).per_topic for each in (topic_qrels(nothing), nothing)]
    assert scores == [{"1": {"alpha_nDCG@5": 0}}] * 2


@pytest.mark.parametrize(("topic", "message"), [
    (bare_topic(), "qrels: no topic of 'one' is judged"),
    (small_topic(query_id="a b"), "query id 'a b' holds ' '"),
    (small_topic(subtopic_ids=("", "2")), "topic '1': subtopic id '' is empty"),
    (small_topic(doc_ids=("a", "b\t")), r"document id 'b\\t' holds '\\t'"),
    (small_topic(pool=[[1, 0]], pool_ids=("a",)), "candidate 'b' is not judged"),
])  # fmt: skip
def test_what_qrels_cannot_carry_is_refused(tmp_path: Path, topic: Topic, message: str) -> None:
    path = put(tmp_path / "qrels", "old")
    refused(lambda: write_qrels(path, alone(topic)), message)
    assert [p.read_text() for p in tmp_path.iterdir()] == ["old"], "nothing half written, nothing left behind"


# topic sets


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    write(tmp_path, TREC)
    return {name: tmp_path / file for name, file in (("topics", "topics.xml"), ("run", "run"), ("qrels", "qrels"))}


def test_run_qrels_and_texts_meet_in_a_topic(files: dict[str, Path]) -> None:
    topic = load_trec(**files, name="mine")[0]
    assert topic.doc_ids == ("a", "b", "c")
    assert topic.retrieval_scores.tolist() == [3, 2, 1]
    assert topic.subtopic_ids == ("2", "1", "3"), "the XML's, then what only the qrels name"
    assert topic.subtopic_texts == ("the car", "the cat", "")
    assert topic.query_text == "jaguar <b>"
    np.testing.assert_array_equal(topic.judgments, [[-2, 0, 0], [0, 2, 0], [0, 0, 1]])
    assert topic.pool_ids == ("p", "b", "c", "a")
    np.testing.assert_array_equal(topic.pool, [[0, 0, 0], [0, 2, 0], [0, 0, 1], [-2, 0, 0]])


def test_a_topic_without_judgments_is_unlabelled(files: dict[str, Path]) -> None:
    put(files["run"], "1 Q0 a 1 3 x\n2 Q0 a 1 3 x\n")
    put(files["qrels"], "9 1 a 1\n2 1 a 1\n")
    put(files["topics"], "1\tjaguar\n2\tpuma\n")
    said = "1 topics have no candidates, as the run ranks nothing for them, and are left out: '9'"
    with pytest.warns(DataNotice, match=said):
        topics = load_trec(**files)
    assert topics[0].judgments is topics[0].pool is None
    assert (topics[0].labelled, topics[1].labelled) == (False, True)
    assert load_trec(run=files["run"])[0].n_subtopics == 0


def test_topics_of_another_run_are_counted_both_ways(files: dict[str, Path]) -> None:
    put(files["run"], "1 Q0 b 1 3 x\n07 Q0 a 1 3 x\n")
    put(files["topics"], "1\tjaguar\n7\tpuma\n8\tlynx\n")
    message = "1 of 2 queries of the run are in"
    refused(lambda: load_trec(**files), message)
    put(files["topics"], "8\tlynx\n1\tjaguar\n07\tpuma\n")
    with pytest.warns(DataNotice, match="1 topics have no candidates.*: '8'"):
        topics = load_trec(**files)
    assert {t.query_id: t.query_text for t in topics} == {"1": "jaguar", "07": "puma"}, "in any order"
    assert topics[0].subtopic_texts is None, "queries alone name none"


def test_qrels_of_another_collection_are_refused(files: dict[str, Path]) -> None:
    put(files["qrels"], "9 1 a 1\n")
    refused(
        lambda: load_trec(**files),
        "none of 1 judged queries .*the run '1'",
    )
    put(files["qrels"], "1 1 z 1\n1 2 z 0\n")
    refused(
        lambda: load_trec(**files),
        "no document that the run ranks is judged",
    )


def test_named_subtopics_come_beside_the_queries(files: dict[str, Path], tmp_path: Path) -> None:
    named = put(tmp_path / "named.jsonl", '{"query_id": 1, "subtopics": ["the animal", "the car"]}\n')
    topic = load_trec(**files, subtopics=named)[0]
    assert topic.subtopic_names == ("the animal", "the car", "1", "2", "3")
    assert topic.subtopic_ids == ("named-1", "named-2", "1", "2", "3"), "named ones take the place of the topics' own"
    assert topic.subtopic_texts == ("the animal", "the car", "", "", "")
    np.testing.assert_array_equal(topic.judgments, [[0, 0, 0, -2, 0], [0, 0, 2, 0, 0], [0, 0, 0, 0, 1]])
    put(named, "1\t3\tthe car\n2\t1\tother\n")
    with pytest.warns(DataNotice, match="1 queries of the subtopics are in no topics and are left out: '2'"):
        assert load_trec(**files, subtopics=named)[0].subtopic_texts == ("the car", "", "")
    put(named, "2\t1\tother\n")
    refused(
        lambda: load_trec(**files, subtopics=named),
        "none of 1 queries .*topics .*'2'",
    )
    refused(lambda: load_trec(run=files["run"], subtopics=named), "subtopics belong to queries: give topics")


def test_weights_stay_where_a_named_subtopic_is_not_judged(files: dict[str, Path], tmp_path: Path) -> None:
    qrels = read_qrels(files.pop("qrels")).weighted({"1": {"1": 0.75, "2": 0.5, "3": 0.25}})
    named = put(tmp_path / "named.tsv", "1\t3\tthe car\n1\t4\tthe band\n")
    with pytest.warns(DataNotice, match="1 topics name subtopics that are not judged, and so have the mean .*: '1'"):
        topics = load_trec(**files, qrels=qrels, subtopics=named)
    assert topics[0].subtopic_ids == ("3", "4", "1", "2")
    assert topics[0].subtopic_weights.tolist() == [0.25, 0.5, 0.75, 0.5]
    names = ["StRecall@2", "ERR_IA@2", "alpha_nDCG@2", "Dsharp_nDCG@2", "MAP_IA", "VRisk(beta=0.3)@2"]
    scored = evaluate_run(qrels, read_run(files["run"]), names).per_topic
    assert scored["1"]["StRecall@2"] == 0.75, "0.75 of 0.75 + 0.25; nothing is relevant to subtopic 2"
    assert evaluate_run(topics, read_run(files["run"]), names).per_topic == scored


def test_vectors_of_subtopics_come_with_those_of_documents(files: dict[str, Path], tmp_path: Path) -> None:
    named = put(tmp_path / "named.tsv", "1\t3\tthe car\n")
    arrays = {f"{part}_ids": ids for part, ids in (("document", list("abc")), ("query", ["1"]), ("subtopic", ["1\t3"]))}
    np.savez(
        tmp_path / "v.npz",
        **arrays,
        document_vectors=np.eye(3),
        query_vectors=[[1, 1, 0]],
        subtopic_vectors=[[0, 1, 1]],
    )
    topic = load_trec(**files, subtopics=named, vectors=tmp_path / "v.npz")[0]
    assert topic.query_vector.tolist() == [1, 1, 0]
    np.testing.assert_array_equal(topic.subtopic_vectors, [[0, 1, 1], [0, 0, 0], [0, 0, 0]])


def test_texts_come_from_a_corpus(files: dict[str, Path], tmp_path: Path) -> None:
    lines = '{"_id": "a", "title": "The car", "text": "is fast"}\n{"_id": "c", "text": "a cat"}\n'
    with pytest.warns(DataNotice, match="trec: 1 of 3 documents have no text, theirs is empty: 'b'"):
        topic = load_trec(**files, texts=put(tmp_path / "corpus.jsonl", lines))[0]
    assert topic.doc_texts == ("The car. is fast", "", "a cat")
    twice = put(tmp_path / "twice.jsonl", lines + '{"_id": "b", "text": "x"}\n{"_id": "c", "text": "a dog"}\n' * 2)
    said = "trec: 1 documents have several texts: the first stays, and may be another document's: 'c'"
    with pytest.warns(DataNotice, match=said):
        assert load_trec(**files, texts=twice)[0].doc_texts == ("The car. is fast", "x", "a cat")
    other = put(tmp_path / "other.jsonl", '{"_id": "z", "text": "z"}\n')
    message = "none of the 3 documents"
    refused(lambda: load_trec(**files, texts=other), message)


def test_documents_without_vectors_are_dropped_where_asked(files: dict[str, Path], tmp_path: Path) -> None:
    vectors = put(tmp_path / "v.tsv", "a\t1 0\nc\t0 1\nother\t1 1\n")
    queries = put(tmp_path / "q.tsv", "jaguar <b>\t0.5\t0.5\n")
    with pytest.warns(DataNotice, match=r"no vector for 1 of 3 documents.* left out, and with them 0 topics"):
        topic = load_trec(**files, vectors=vectors, query_vectors=queries, missing="drop")[0]
    assert topic.doc_ids == ("a", "c")
    np.testing.assert_array_equal(topic.doc_vectors, [[1, 0], [0, 1]])
    assert topic.query_vector.tolist() == [0.5, 0.5]
    assert "b" in topic.pool_ids, "leaving a candidate out does not change what was judged"


# the real files


def web(data_dir: Path) -> dict[str, Any]:
    kinds = {"qrels": "diversity.qrels.gz", "run": "indri.run.gz", "topics": "topics.xml"}
    return {name: sorted((data_dir / "trec-web").glob(f"*.{kind}")) for name, kind in kinds.items()}


@pytest.mark.data
def test_the_real_topics(data_dir: Path) -> None:
    topics = load_trec(**web(data_dir), name="trec-indri")
    assert [t.query_id for t in topics if not t.labelled] == ["95", "100"]
    assert topics.has_retrieval_order
    assert topics.has_pool
    sizes = [t.n_candidates for t in topics]
    assert (len(sizes), min(sizes), max(sizes), sum(sizes)) == (200, 7, 962, 61_721)
    assert topics[0].query_text == "obama family tree"
    texts = {(t.query_id, s): text for t in topics for s, text in zip(t.subtopic_ids, t.subtopic_texts, strict=True)}
    blank = [where for where, text in texts.items() if not text]
    assert blank == [("79", "5")], "every judged subtopic has a text; this one is empty in the file itself"
    shares = [(t.judgments >= 1).any(axis=1).mean() for t in topics if t.judgments is not None]
    assert np.mean(shares) == pytest.approx(0.133, abs=0.001)


@pytest.mark.data
def test_the_real_vectors_meet_thirteen_topics(data_dir: Path) -> None:
    folder = data_dir / "dssa-sample"
    vectors: Any = {"vectors": folder / "doc.emb.gz", "query_vectors": folder / "query.emb.gz"}
    with pytest.warns(DataNotice, match="187 topics that have no document left"):
        topics = load_trec(**web(data_dir), **vectors, missing="drop")
    assert len(topics) == 13
    assert topics.vector_width == 25
    assert len({doc_id for t in topics for doc_id in t.doc_ids}) == 605
    assert all(t.query_vector is not None and t.labelled for t in topics)
    assert [t.query_id for t in topics if not t.trainable] == ["6", "42", "120"], "no relevant document is left there"


def test_an_order_that_is_not_that_of_the_ranks_is_told_and_ranks_can_be_taken(tmp_path: Path) -> None:
    path = tmp_path / "a.run"
    path.write_text("1 Q0 a 1 0.2 t\n1 Q0 b 2 0.9 t\n1 Q0 c 3 0.1 t\n2 Q0 a 2 1 t\n2 Q0 b 1 1 t\n")
    with pytest.warns(UserWarning, match=r"a.run: for 1 of 2 queries the order is not that of the ranks \(1\)"):
        assert read_run(path).rankings == {"1": ("b", "a", "c"), "2": ("b", "a")}
    ranked = read_run(path, order="rank")
    assert ranked.rankings == {"1": ("a", "b", "c"), "2": ("b", "a")}
    assert ranked.scores["1"].tolist() == [3, 2, 1]
    path.write_text("1 Q0 a 1 0.2 t\n1 Q0 b 1 0.9 t\n")
    assert read_run(path).rankings == {"1": ("b", "a")}
    refused(lambda: read_run(path, order="rank"), "query '1' are not distinct numbers")
    path.write_text("1 Q0 a 2 nan t\n1 Q0 b 1 - t\n")
    assert read_run(path, order="rank").rankings == {"1": ("b", "a")}, "scores say nothing there"
    refused(lambda: read_run(path), "a.run:1: expected a finite number")


def test_comments_and_what_follows_the_tag_are_skipped(tmp_path: Path) -> None:
    head = "# a b c d e\n#1 Q0 x 1 1 t\n"
    plain = "1 Q0 a 1 0.5 t\n2 Q0 b 1 0.5 t\n"
    run = read_run(put(tmp_path / "run", head + plain + "# 1 Q0 x 1 1 t\n3 Q0 c 1 1 my tag of words\n"))
    assert run.rankings == {"1": ("a",), "2": ("b",), "3": ("c",)}
    qrels = read_qrels(put(tmp_path / "qrels", "# 1 a 1\n1 1 a 1\n1 2 a 0\n#1 1 b 1\n"))
    assert qrels.topics["1"].doc_ids == ("a",)
    spaced = put(tmp_path / "spaced", "1 Q0 my document 1 0.5 t\n")
    refused(lambda: read_run(spaced), "spaced:1: expected 6 fields")
    with pytest.warns(UserWarning, match=r"for 1 of 1 queries the ranks are words \(doc\)"):
        read_run(put(tmp_path / "untagged", "1 Q0 my doc 1 9.5\n1 Q0 his doc 2 8.5\n"))
    with warnings.catch_warnings(action="error"):
        read_run(put(tmp_path / "without", "1 Q0 a nan 2 t\n1 Q0 b nan 1 t\n"))
    refused(lambda: read_qrels(put(tmp_path / "long", "1 1 a 1 more\n")), "expected 4 fields")
    refused(lambda: write_run(tmp_path / "out", {"#1": ["a"]}, "t"), "query id '#1' begins with '#'")
    refused(lambda: write_run(tmp_path / "out", {"\ufeff1": ["a"]}, "t"), "query id .* begins with")
    refused(lambda: write_qrels(tmp_path / "out", alone(small_topic([[1]], "#1"))), "query id '#1' begins with '#'")
    assert not (tmp_path / "out").exists()
    refused(lambda: read_run(put(tmp_path / "none", "# nothing\n\n")), "holds only blank lines and comments")
