"""Published sets: AMBIENT, MDP-DIV's files, DU-DIV and fold lists; no order of theirs gives the labels away."""

from __future__ import annotations

import gzip
import importlib.util
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from small_topics import refused

from srd_gym.data.ambient import load_ambient
from srd_gym.data.du_div import load_du_div
from srd_gym.data.labels import label_free_order
from srd_gym.data.rl4srd import load_rl4srd
from srd_gym.data.splits import read_folds
from srd_gym.data.streams import DataNotice
from srd_gym.data.trec import read_qrels
from srd_gym.topic import Topic, TopicSet

# AMBIENT


@pytest.fixture
def ambient(tmp_path: Path) -> Path:
    (tmp_path / "topics.txt").write_text("ID\tdescription\n1\tAida\n10\tB-52\n")
    (tmp_path / "subTopics.txt").write_text("ID\tdescription\n1.1\topera\n1.10\tcruise ship\n10.1\tbomber\n")
    (tmp_path / "results.txt").write_text(
        "ID\turl\ttitle\tsnippet\n1.10\tu\tten\tlast\n1.1\tu\tone <b>\tfirst \x07\n1.2\tu\ttwo\t\n10.1\tu\tB\tplane\n"
    )
    (tmp_path / "STRel.txt").write_text("subTopicID\tresultID\n1.1\t1.10\n1.10\t1.1\n1.1\t1.1\n")
    return tmp_path


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


@pytest.mark.parametrize(
    ("name", "line", "message"),
    [
        ("topics.txt", "1\tagain", r"topics\.txt:4: topic '1' comes twice"),
        ("topics.txt", "11", r"topics\.txt:4: expected 2 tab-separated fields \(ID, description\), got 1: '11'"),
        ("subTopics.txt", "1.1\tagain", r"subTopics\.txt:5: id '1\.1' comes twice"),
        ("results.txt", "7.1\tu\tt\ts", r"results\.txt:6: id '7\.1' must be \"topic\.number\" with a topic of topics"),
        ("results.txt", "1.x\tu\tt\ts", r"results\.txt:6: id '1\.x' must end in a number from 1, got 'x'"),
        ("results.txt", "1.3", r"results\.txt:6: expected 4 tab-separated fields .* got 1"),
        ("results.txt", "1.3\tu\tt\ts\tmore", r"results\.txt:6: expected 4 tab-separated fields .* got 5"),
        ("STRel.txt", "1.3\t1.1", r"STRel\.txt:5: subtopic '1\.3' is not in subTopics\.txt"),
    ],
)
def test_bad_lines_name_file_and_line(ambient: Path, name: str, line: str, message: str) -> None:
    path = ambient / name
    path.write_text(path.read_text() + line + "\n")
    refused(lambda: load_ambient(ambient), message)


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


def test_a_file_may_have_columns_of_its_own(ambient: Path) -> None:
    path, plain = ambient / "subTopics.txt", load_ambient(ambient)
    head, *lines = path.read_text().splitlines()
    path.write_text("\n".join([f"mine\t{head}", *(f"x\t{line}" for line in lines)]))
    assert load_ambient(ambient).fingerprint == plain.fingerprint
    path.write_text(f"mine\t{head}\n{lines[0]}\n")
    refused(lambda: load_ambient(ambient), r"subTopics\.txt:2: expected 3 tab-separated fields")


def test_results_may_lack_title_and_snippet(ambient: Path) -> None:
    path = ambient / "results.txt"
    path.write_text(path.read_text() + "10.2\tu\tonly a title\n10.3\tu\n")
    assert load_ambient(ambient)[1].doc_texts == ("B plane", "only a title ", " ")


def test_relations_with_results_of_other_topics_are_left_out_and_counted(ambient: Path) -> None:
    path = ambient / "STRel.txt"
    plain = load_ambient(ambient)
    path.write_text(path.read_text() + "1.1\t10.1\n1.1\t1.99\n")
    with pytest.warns(DataNotice, match=r"2 relations point at no result of their topic .*'10\.1'.*of topic '1'"):
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


def test_a_missing_header_or_file_is_told(ambient: Path) -> None:
    (ambient / "STRel.txt").write_text("1.1\t1.10\n")
    with pytest.raises(ValueError, match=r"STRel\.txt:1: expected the header subTopicID, resultID, got '1\.1\\t1\.10'"):
        load_ambient(ambient)
    (ambient / "STRel.txt").unlink()
    refused(lambda: load_ambient(ambient), r"no file at .*STRel\.txt", FileNotFoundError)
    refused(lambda: load_ambient(ambient / "topics.txt"), r"topics\.txt is a file; expected the folder")
    refused(lambda: load_ambient(ambient / "absent"), "no folder at", FileNotFoundError)


def test_a_topic_without_results_is_left_out(ambient: Path) -> None:
    path = ambient / "topics.txt"
    path.write_text(path.read_text() + "11\tCamel\n")
    with pytest.warns(DataNotice, match="1 topics have no result and are left out: 11"):
        assert load_ambient(ambient).query_ids == ("1", "10")


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


# candidates without a retrieval order


def alpha_dcg(judgments: NDArray[Any], k: int = 10, alpha: float = 0.5) -> float:
    """alpha-DCG@k of the rows in their order, written out plainly."""
    covered = np.zeros(judgments.shape[1])
    total = 0.0
    for rank, row in enumerate(judgments[:k] >= 1, start=1):
        total += float((row * (1 - alpha) ** covered).sum() / np.log2(1 + rank))
        covered += row
    return total


def advantage(topics: TopicSet, order: Callable[[Topic], Any]) -> tuple[float, float]:
    """How much an order gains over a random one: mean over topics of (value - mean of 20 shuffles) and its error."""
    rng = np.random.default_rng(0)
    differences = []
    for topic in topics:
        shuffles = [alpha_dcg(rng.permutation(topic.judgments)) for _ in range(20)]
        differences.append(alpha_dcg(topic.judgments[order(topic)]) - np.mean(shuffles))
    return float(np.mean(differences)), float(np.std(differences) / np.sqrt(len(differences)))


def test_the_shuffle_depends_on_ids_alone() -> None:
    ids = [f"d{i}" for i in range(30)]
    order = label_free_order("q", ids)
    assert sorted(order) == sorted(ids)
    assert order != tuple(ids)
    mixed = random.Random(1).sample(ids, len(ids))
    assert label_free_order("q", mixed) == order
    assert label_free_order("r", ids) != order
    fewer = label_free_order("q", ids[:20])
    assert fewer == tuple(d for d in order if d in fewer), "other documents do not matter"
    assert label_free_order("1", ["a", "b", "c", "d"]) == ("d", "a", "c", "b"), "for ever"


@pytest.fixture
def mdp_div(tmp_path: Path) -> Path:
    labels = {"10": {"a": ["2", "10"], "b": [], "x": ["1"]}, "9": {"c": ["1"], "d": ["1"]}}
    candidates = {"9": {"alphaDCG": 1, "permutation": ["c", "d"]}, "10": {"permutation": ["a", "b", "e"]}}
    (tmp_path / "query_doc.json").write_text(json.dumps(labels))
    (tmp_path / "query_permutation.json.gz").write_bytes(gzip.compress(json.dumps(candidates).encode()))
    (tmp_path / "query_representation.dat").write_text(json.dumps({"9": [1, 2], "10": [3, 4], "11": [5, 6]}))
    return tmp_path


def test_mdp_div_files_make_topics(mdp_div: Path) -> None:
    topics = load_rl4srd(mdp_div)
    assert topics.query_ids == ("9", "10")
    topic = topics[1]
    assert set(topic.doc_ids) == {"a", "b", "e"}
    assert topic.subtopic_ids == ("1", "2", "10")
    judged = dict(zip(topic.doc_ids, topic.judgments.tolist(), strict=True))
    assert judged == {"a": [0, 1, 1], "b": [0, 0, 0], "e": [0, 0, 0]}
    assert topic.query_vector.tolist() == [3, 4]
    assert (topic.retrieval_scores, topic.pool, topic.doc_vectors) == (None, None, None)


def test_mdp_div_document_vectors_are_found_or_given(mdp_div: Path, tmp_path: Path) -> None:
    vectors = {d: [i, i] for i, d in enumerate("abcdefgh")}
    (tmp_path / "elsewhere.json").write_text(json.dumps(vectors))
    given = load_rl4srd(mdp_div, documents=tmp_path / "elsewhere.json")
    (mdp_div / "doc_representation.dat.gz").write_bytes(gzip.compress(json.dumps(vectors).encode()))
    found = load_rl4srd(mdp_div)
    for topics in (given, found):
        rows = dict(zip(topics[1].doc_ids, topics[1].doc_vectors.tolist(), strict=True))
        assert rows == {"a": [0, 0], "b": [1, 1], "e": [4, 4]}
    (mdp_div / "doc_representation.dat.gz").write_bytes(gzip.compress(b'{"a": [1, 2], "c": [1, 2]}'))
    refused(lambda: load_rl4srd(mdp_div), r"no vector for 3 of 5 documents")
    with pytest.warns(DataNotice, match=r"no vector for 3 of 5 documents"):
        assert [t.doc_ids for t in load_rl4srd(mdp_div, missing="drop")] == [("c",), ("a",)]


def test_official_qrels_give_judgments_and_pool(mdp_div: Path, tmp_path: Path) -> None:
    (tmp_path / "qrels").write_text("9 1 c 1\n9 2 p 1\n10 1 e 3\n10 1 a -2\n")
    topics = load_rl4srd(mdp_div, qrels=tmp_path / "qrels")
    assert topics.has_pool
    assert topics[0].pool_ids == ("c", "p")
    judged = dict(zip(topics[1].doc_ids, topics[1].judgments.tolist(), strict=True))
    assert judged == {"a": [-2], "b": [0], "e": [3]}
    (tmp_path / "qrels").write_text("9 1 c 1\n")
    with pytest.raises(ValueError, match=r"no judgment of topic '10'; give the files of all years"):
        load_rl4srd(mdp_div, qrels=tmp_path / "qrels")


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("query_doc.json", '{"9": {"c": ["1"]}}', r"1 topics, '10' among them, are in only one of query_doc\.json"),
        ("query_doc.json", '{"9": {"c": "1"}}', r"topic '9', document 'c': expected a list of subtopic ids \(text\)"),
        ("query_doc.json", '{"9": {"c": [1]}}', r"topic '9', document 'c': expected a list of subtopic ids \(text\)"),
        ("query_doc.json", '{"9": {}}', r"topic '9': expected \{document: \[subtopics\]\} with at least one document"),
        ("query_doc.json", '{"9": {"c": [], "c": []}}', r"key 'c' comes twice in one object"),
        ("query_doc.json", "[1]", r"expected a JSON object \{\.\.\.\}, got a list"),
        ("query_doc.json", '{"9"', r"query_doc\.json: not JSON"),
        ("query_permutation.json", '{"9": ["c"]}', r"topic '9': expected \{\"permutation\": \[document ids"),
        ("query_permutation.json", '{"9": {"permutation": ["c", "c"]}}', r"topic '9': a document comes twice"),
    ],
)
def test_bad_files_of_mdp_div_say_what_is_wrong(mdp_div: Path, name: str, text: str, message: str) -> None:
    (mdp_div / name).write_text(text)
    refused(lambda: load_rl4srd(mdp_div), message)


def test_missing_files_of_mdp_div_and_du_div(tmp_path: Path) -> None:
    refused(lambda: load_rl4srd(tmp_path), r"no query_doc\.json or query_doc\.json\.gz in", FileNotFoundError)
    refused(lambda: load_du_div(tmp_path), r"no query_doc_subtopics_doc15_2\.json or .*\.gz in", FileNotFoundError)


@pytest.mark.data
def test_the_real_mdp_div_files(data_dir: Path) -> None:
    topics = load_rl4srd(data_dir / "rl4srd")
    assert len(topics) == 198
    sizes = [t.n_candidates for t in topics]
    assert (min(sizes), max(sizes)) == (65, 419)
    assert all(t.query_vector is not None and t.query_vector.shape == (100,) for t in topics)
    assert not topics.has_retrieval_order
    shares = [(t.judgments >= 1).any(axis=1).mean() for t in topics if t.judgments is not None]
    assert np.mean(shares) == pytest.approx(0.35, abs=0.005)
    assert len(topics.trainable()) == 197


@pytest.mark.data
def test_the_real_labels_agree_with_the_qrels(data_dir: Path) -> None:
    qrels = sorted((data_dir / "trec-web").glob("*.qrels.gz"))
    judged = read_qrels(qrels).topics
    plain, official = load_rl4srd(data_dir / "rl4srd"), load_rl4srd(data_dir / "rl4srd", qrels=qrels)
    assert official.has_pool
    for one, other in zip(plain, official, strict=True):
        assert one.doc_ids == other.doc_ids
        assert (other.pool_ids, other.subtopic_ids) == (judged[one.query_id].doc_ids, judged[one.query_id].subtopic_ids)
        pairs = [{(t.doc_ids[i], t.subtopic_ids[s]) for i, s in np.argwhere(t.judgments >= 1)} for t in (one, other)]
        assert pairs[0] == pairs[1]


@pytest.mark.data
def test_position_gives_nothing_away_in_mdp_div(data_dir: Path) -> None:
    topics = load_rl4srd(data_dir / "rl4srd")
    gain, error = advantage(topics, lambda topic: np.arange(topic.n_candidates))
    assert abs(gain) < 3 * error, "a ranker that scores all alike does as well as chance"
    leaked = json.loads(gzip.decompress((data_dir / "rl4srd" / "query_permutation.json.gz").read_bytes()))
    gain, error = advantage(
        topics, lambda topic: [topic.doc_ids.index(d) for d in leaked[topic.query_id]["permutation"]]
    )
    assert gain > 30 * error, "the file's own order would do far better"


@pytest.mark.data
def test_position_gives_nothing_away_in_du_div(data_dir: Path) -> None:
    topics = load_du_div(data_dir / "du-div")[:600]
    gain, error = advantage(topics, lambda topic: np.arange(topic.n_candidates))
    assert abs(gain) < 3 * error
    leaked = json.loads(gzip.decompress((data_dir / "du-div" / "query_doc_subtopics_doc15_2.json.gz").read_bytes()))
    gain, error = advantage(topics, lambda topic: [topic.doc_ids.index(d) for d in leaked[topic.query_id]])
    assert gain > 5 * error, "the label file's order would do better"


@pytest.mark.data
def test_the_real_du_div(data_dir: Path) -> None:
    topics = load_du_div(data_dir / "du-div")
    assert len(topics) == 4473
    assert {t.n_candidates for t in topics} == {15}
    assert {s for t in topics for s in t.subtopic_ids} == {str(i) for i in range(1, 26)}
    assert np.median([t.n_subtopics for t in topics]) == 10
    assert (topics.has_retrieval_order, topics.has_pool, topics.vector_width) == (False, False, None)


def test_du_div_takes_vectors_where_there_are_some(tmp_path: Path) -> None:
    (tmp_path / "query_doc_subtopics_doc15_2.json").write_text('{"2": {"2_1": ["12", "3"], "2_0": []}}')
    (tmp_path / "d.tsv").write_text("2_0\t0\t1\n2_1\t1\t0\n")
    (tmp_path / "q.json").write_text('{"2": [5, 6]}')
    topic = load_du_div(tmp_path, documents=tmp_path / "d.tsv", query_vectors=tmp_path / "q.json")[0]
    assert topic.subtopic_ids == ("3", "12")
    rows = dict(zip(topic.doc_ids, topic.doc_vectors.tolist(), strict=True))
    assert rows == {"2_0": [0, 1], "2_1": [1, 0]}
    assert topic.query_vector.tolist() == [5, 6]


# fold lists


@pytest.mark.parametrize(
    "text",
    [
        "# test sets\nfold1: [2, '07', x-1]\n\nfold2: [\"3\"]  # two\nfold3:[5]\n",
        '[[2, "07", "x-1"], ["3"], [5]]',
        '{"a": ["2", "07", "x-1"],\n "b": [3], "c": [5]}',
    ],
)
def test_folds_are_read(tmp_path: Path, text: str) -> None:
    (tmp_path / "folds").write_text(text)
    assert read_folds(tmp_path / "folds") == [["2", "07", "x-1"], ["3"], ["5"]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("fold1: [1]\nfold2: 2\n", r"folds:2: expected a line like fold1: \[2, 7, 10\], got 'fold2: 2'"),
        ("fold1: [1]\nfold1: [2]\n", r"folds:2: fold1 comes twice"),
        ("fold1: [1,,2]\n", r"folds:1: fold1 misses an id between commas"),
        ("fold1: [1]\nfold2: []\n", r"fold2 is empty"),
        ("fold1: [1]\nfold2: [1]\n", r"query id '1' is in fold1 and in fold2"),
        ("[[1], [1]]", r"query id '1' is in fold 1 and in fold 2"),
        ("[1, 2]", r"fold 1: expected a list of query ids"),
        ("[[1.5]]", r"fold 1: expected a list of query ids"),
        ("[[1]", r"not JSON"),
        ("[]", r"holds no fold"),
        ("# nothing\n", r"holds no fold"),
    ],
)
def test_bad_folds_are_named(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "folds").write_text(text)
    refused(lambda: read_folds(tmp_path / "folds"), message)


@pytest.mark.data
def test_the_published_folds_meet_the_published_topics(data_dir: Path) -> None:
    topics = load_rl4srd(data_dir / "rl4srd")
    folds = topics.folds_from(read_folds(data_dir / "rl4srd" / "m2div-test-folds.yml"))
    assert [len(fold.test) for fold in folds] == [40, 40, 39, 38, 39]
    for fold in folds:
        assert {"149", "168"} <= set(fold.train.query_ids)
        parts = [set(part.query_ids) for part in (fold.train, fold.validation, fold.test)]
        assert sum(map(len, parts)) == len(set.union(*parts)) == 198
