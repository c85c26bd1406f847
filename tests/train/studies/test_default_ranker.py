"""The study of the default ranker: its reader and its table, on a small collection made here."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np

from srd_agents import make_ranker
from studies import default_ranker as study


def collection(folder: Path) -> Path:
    """Two queries with a relevant candidate, one without, 150 documents."""
    rng = np.random.default_rng(0)
    ids = np.array([f"d{i}" for i in range(150)])
    lines = [f"q{q} s{s} d{q * 10 + s} {s % 2}" for q in range(2) for s in range(4)] + ["q2 s0 elsewhere 1"]
    folder.mkdir()
    with gzip.open(folder / "diversity.qrels.gz", "wt", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
    vectors = rng.normal(size=(150, 3))
    # Near their documents, so that these are candidates.
    queries = np.stack([vectors[q * 10 : q * 10 + 4].sum(axis=0) for q in range(3)])
    np.savez(
        folder / "minilm-384.npz",
        document_ids=ids,
        document_vectors=vectors.astype(np.float16),
        query_ids=np.array(["q0", "q1", "q2"]),
        query_vectors=queries.astype(np.float16),
    )
    return folder


def test_a_collection_of_texts(tmp_path: Path) -> None:
    topics = study.load_texts(collection(tmp_path / "small"))
    assert topics.query_ids == ("q0", "q1")
    topic = topics[0]
    assert topic.n_candidates == study.DEPTH
    assert topic.subtopic_ids == ("s1", "s3")
    assert topic.judgments is not None
    assert set(np.flatnonzero(topic.judgments.any(axis=1))) <= {topic.doc_ids.index(d) for d in ("d1", "d3")}
    by_cosine = make_ranker("mmr", lambda_=1.0, relevance="cosine")
    np.testing.assert_array_equal(by_cosine.rank(topic, 10), np.arange(10))


def test_rows_and_their_table(tmp_path: Path) -> None:
    topics = study.load_texts(collection(tmp_path / "small"))
    without = study.shuffled(topics, seed=1)
    assert without[0].retrieval_scores is None
    assert sorted(without[0].doc_ids) == sorted(topics[0].doc_ids)
    assert without[0].doc_ids != topics[0].doc_ids
    rows = study.rows_with_scores(topics)
    np.testing.assert_array_equal(rows["cautious"], rows["the order as it came"])
    lines = study.table(rows).splitlines()
    assert lines[2].endswith("| - | - | - |")
    assert lines[3].startswith("| cautious |")
    assert lines[3].endswith("| +0.000 | [+0.000, +0.000] | 1.000 |")
