from __future__ import annotations

import gzip
import random
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from markdown_code import ROOT
from small_topics import refused
from sound_files import DOC_VECTORS, DU_DIV, FOLDS, RL4SRD, write

from srd_gym.data import DataNotice, generate, load_topics, read_folds, read_qrels, write_topics
from srd_gym.data.label_files import label_free_order, load_du_div, load_rl4srd
from srd_gym.measures import IdealPool, parse_measure
from srd_gym.topic import TopicSet


@pytest.fixture(scope="module")
def rl4srd(data_dir: Path) -> TopicSet:
    return load_rl4srd(data_dir / "rl4srd")


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
    return write(tmp_path, RL4SRD)


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
    given = load_rl4srd(mdp_div, documents=write(tmp_path / "elsewhere", DOC_VECTORS) / "doc_representation.dat")
    vectors = DOC_VECTORS["doc_representation.dat"].encode()
    (mdp_div / "doc_representation.dat.gz").write_bytes(gzip.compress(vectors))
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
    assert topics[0].pool_ids == ("c", "p")
    judged = dict(zip(topics[1].doc_ids, topics[1].judgments.tolist(), strict=True))
    assert judged == {"a": [-2], "b": [0], "e": [3]}
    (tmp_path / "qrels").write_text("9 1 c 1\n")
    message = "no judgment of topic '10'"
    refused(lambda: load_rl4srd(mdp_div, qrels=tmp_path / "qrels"), message)


@pytest.mark.data
def test_the_real_mdp_div_files(rl4srd: TopicSet) -> None:
    sizes = [topic.n_candidates for topic in rl4srd]
    assert (len(sizes), min(sizes), max(sizes)) == (198, 65, 419)
    assert {topic.query_vector.shape for topic in rl4srd} == {(100,)}
    assert not rl4srd.has_retrieval_order
    assert np.mean([(topic.judgments >= 1).any(axis=1).mean() for topic in rl4srd]) == pytest.approx(0.35, abs=0.005)
    assert len(rl4srd.trainable()) == 197


@pytest.mark.data
def test_position_gives_nothing_away(data_dir: Path, rl4srd: TopicSet) -> None:
    """Who scores all alike does as well as chance; the files' own orders would gain 30 and 5 times the error."""
    rng = np.random.default_rng(0)
    for topics in (rl4srd, load_du_div(data_dir / "du-div")[:600]):
        gains = []
        for topic in topics:
            bound = parse_measure("alpha_DCG(normalization=None)@10").bind([IdealPool.of(topic, "candidates")], 10)
            orders = [np.arange(topic.n_candidates), *(rng.permutation(topic.n_candidates) for _ in range(20))]
            value, *shuffled = bound.values(np.stack([topic.judgments[rows[:10]] for rows in orders]), 0)
            gains.append(value - np.mean(shuffled))
        assert abs(np.mean(gains)) < 3 * np.std(gains) / np.sqrt(len(gains)), topics.name


@pytest.mark.data
def test_the_real_du_div(data_dir: Path) -> None:
    topics = load_du_div(data_dir / "du-div")
    assert [topic.n_candidates for topic in topics] == [15] * 4473
    assert {s for t in topics for s in t.subtopic_ids} == {str(i) for i in range(1, 26)}
    assert np.median([t.n_subtopics for t in topics]) == 10
    assert (topics.has_retrieval_order, topics.has_pool, topics.vector_width) == (False, False, None)


def test_du_div_takes_vectors_where_there_are_some(tmp_path: Path) -> None:
    write(tmp_path, DU_DIV | {"d.tsv": "2_0\t0\t1\n2_1\t1\t0\na\t1\t1\n"})
    topic = load_du_div(tmp_path, documents=tmp_path / "d.tsv")[0]
    assert topic.subtopic_ids == ("3", "12")
    rows = dict(zip(topic.doc_ids, topic.doc_vectors.tolist(), strict=True))
    assert rows == {"2_0": [0, 1], "2_1": [1, 0]}


# fold lists


def test_folds_are_read(tmp_path: Path) -> None:
    assert read_folds(write(tmp_path, FOLDS) / "folds") == [["2", "07", "x-1"], ["3"], ["5"]]


@pytest.mark.data
def test_the_published_folds_meet_the_published_topics(data_dir: Path, rl4srd: TopicSet) -> None:
    folds = rl4srd.folds_from(read_folds(data_dir / "rl4srd" / "m2div-test-folds.yml"))
    assert [len(fold.test) for fold in folds] == [40, 40, 39, 38, 39]
    for fold in folds:
        assert {"149", "168"} <= set(fold.train.query_ids)
        parts = [set(part.query_ids) for part in (fold.train, fold.validation, fold.test)]
        assert sum(map(len, parts)) == len(set.union(*parts)) == 198


# load_topics: a set, a path, a generator's name, or the collection to read that comes with the package


def test_a_set_is_returned_as_it_is_and_a_path_is_read(tmp_path: Path) -> None:
    topics = generate("tiny", n_topics=3, seed=0)
    assert load_topics(topics) is topics
    write_topics(tmp_path / "t.parquet", topics)
    for path in (tmp_path / "t.parquet", str(tmp_path / "t.parquet")):
        read = load_topics(path)
        assert (read.query_ids, read.name, read.simulated) == (topics.query_ids, topics.name, True)


@pytest.mark.parametrize(("source", "count", "seed"), [("tiny", 1000, 0), ("tiny:7", 7, 0), ("tiny:7:3", 7, 3)])
def test_names_give_generated_topics(source: str, count: int, seed: int) -> None:
    topics = load_topics(f"synthetic:{source}")
    assert topics.fingerprint == generate("tiny", n_topics=count, seed=seed).fingerprint


@pytest.mark.parametrize(("source", "error", "message"), [
    ("synthetic:tiny:x", ValueError, 'such as "synthetic:serp:200:1"'),
    ("synthetic:tiny:1:2:3", ValueError, 'expected "synthetic:PRESET'),
    ("synthetic:tiny:-1", ValueError, 'expected "synthetic:PRESET'),
    ("synthetic:tinny", ValueError, "Did you mean tiny"),
    ("absent.parquet", FileNotFoundError, r"no file at absent\.parquet"),
    (7, TypeError, "topics must be a TopicSet, .* got 7"),
    (ROOT, ValueError, "is a folder; make a Parquet file"),
    (ROOT / "README.md", ValueError, "not a whole Parquet file"),
])  # fmt: skip
def test_other_sources_say_what_was_expected(source: Any, error: type[Exception], message: str) -> None:
    refused(lambda: load_topics(source), message, error)


# The collection to read: judged, varied, and in an order like an engine's

COPY = 0.75


@pytest.fixture(scope="module")
def words() -> TopicSet:
    return load_topics("words")


def test_words_are_forty_judged_queries_with_results_in_an_order_like_an_engines(words: TopicSet) -> None:
    assert len(words) == 40
    assert (words.name, words.vector_width, words.marks) == ("words", 64, ("transductive",))
    assert load_topics("words") is words
    assert all(topic.query_text for topic in words)
    texts = [text for topic in words for text in topic.doc_texts]
    assert len({doc_id for topic in words for doc_id in topic.doc_ids}) == len(set(texts)) == len(texts)
    for text in texts:
        title, snippet = text.split("\n")
        assert 5 <= len(title) <= 90
        assert snippet.endswith((".", "!", "?")), snippet
    for topic in words:
        judgments, vectors = topic.judgments, topic.doc_vectors
        assert 30 <= topic.n_candidates <= 40
        assert 4 <= topic.n_subtopics <= 8
        assert judgments.sum(axis=0).min() >= 2, "every subtopic is covered"
        assert 5 <= (judgments.sum(axis=1) == 0).sum() <= topic.n_candidates // 3, "some results are off topic"
        assert (np.diff(topic.retrieval_scores) < 0).all()
        assert 3 <= judgments[:10].sum(axis=0).max() <= 9, "the engine shows popular subtopics first"
        first, second = np.nonzero(np.triu(vectors @ vectors.T > COPY, 1))
        assert (judgments[first] & judgments[second]).any(), "near copies say the same in other words"


def test_the_episode_on_the_page_is_what_is_rendered() -> None:
    env = gym.make("SRD-v0", topics="words", reward="alpha_nDCG@10", render_mode="ansi")
    _, info = env.reset(options={"query_id": "jaguar"})
    for _ in range(10):
        *_, info = env.step(int(info["action_mask"].argmax()))
    assert info["measures"] == {"alpha_nDCG@10": pytest.approx(info["return"], rel=1e-12)}
    assert f"```text\n{env.render()}\n```" in (ROOT / "docs" / "environments.md").read_text(encoding="utf-8")


@pytest.mark.data
def test_the_real_labels_agree_with_the_qrels(data_dir: Path, rl4srd: TopicSet) -> None:
    qrels = sorted((data_dir / "trec-web").glob("*.qrels.gz"))
    judged = read_qrels(qrels).topics
    official = load_rl4srd(data_dir / "rl4srd", qrels=qrels)
    assert official.has_pool
    for one, other in zip(rl4srd, official, strict=True):
        assert one.doc_ids == other.doc_ids
        assert (other.pool_ids, other.subtopic_ids) == (judged[one.query_id].doc_ids, judged[one.query_id].subtopic_ids)
        pairs = [{(t.doc_ids[i], t.subtopic_ids[s]) for i, s in np.argwhere(t.judgments >= 1)} for t in (one, other)]
        assert pairs[0] == pairs[1]
