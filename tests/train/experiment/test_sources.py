"""Topic sets of recipes that a first stage makes, and what they can do without."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from small_topics import refused

from srd_train.experiment.sources import TopicsEntry, load_entry


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where "texts/key-points" is a collection of two queries, one of which has a relevant document."""
    folder = tmp_path / "texts" / "key-points"
    folder.mkdir(parents=True)
    documents = {"a": "cats hunt", "b": "cats sleep", "c": "dogs bark", "d": "dogs eat"}
    queries, subtopics = {"q1": "cats", "q2": "dogs"}, {"s": "hunting", "t": "sleeping"}
    for name, texts in (("corpus", documents), ("queries", queries)):
        lines = [json.dumps({"_id": own_id, "text": text}) for own_id, text in texts.items()]
        (folder / f"{name}.jsonl").write_text("\n".join(lines), encoding="utf-8")
    lines = [json.dumps({"query_id": "q1", "_id": own_id, "text": text}) for own_id, text in subtopics.items()]
    (folder / "subtopics.jsonl").write_text("\n".join(lines), encoding="utf-8")
    (folder / "diversity.qrels").write_text("q1 s a 1\nq1 t b 1\nq1 t c 1\nq2 s a 0\n", encoding="utf-8")
    np.savez(
        folder / "vectors.npz",
        document_ids=np.array(list(documents)),
        document_vectors=np.array([[1, 0], [0.8, 0.2], [0, 1], [0.1, 0.9]]),
        query_ids=np.array(list(queries)),
        query_vectors=np.array([[1, 0], [0, 1]]),
        subtopic_ids=np.array(["q1\ts", "q1\tt"]),
        subtopic_vectors=np.eye(2),
    )
    monkeypatch.setenv("SRD_DATA_DIR", str(tmp_path))
    return tmp_path


def entry(**options: object) -> TopicsEntry:
    """A topic set of that collection, by the cosine of its vectors unless said otherwise."""
    given = {"vectors": "texts/key-points/vectors.npz", "retrieve": "cosine", **options}
    return TopicsEntry(name="t", source="texts/key-points", **given)  # type: ignore[arg-type]


def test_a_first_stage_makes_topics_of_a_collection(root: Path) -> None:
    first, second = load_entry(entry())
    assert first.doc_ids == ("a", "b", "d", "c")
    assert first.pool_ids == ("a", "b", "c")
    assert first.subtopic_vectors is not None
    assert not second.trainable
    (judged,) = [topic for topic in load_entry(entry(retrieve="none")) if topic.query_id == "q1"]
    assert sorted(judged.doc_ids) == ["a", "b", "c"]
    assert judged.retrieval_scores is None


def test_topics_can_do_without_subtopics_and_pool(root: Path) -> None:
    (topic,) = load_entry(entry(drop=("subtopics", "pool", "retrieval_scores")))
    assert topic.query_id == "q1", "q2 has no relevant candidate"
    assert topic.pool is topic.pool_ids is topic.subtopic_vectors is topic.subtopic_texts is None
    assert topic.retrieval_scores is None
    assert topic.judgments.sum() == 3


def test_missing_files_are_named(root: Path) -> None:
    ambient, other = TopicsEntry(name="a", source="ambient"), entry(vectors="texts/key-points/e5.npz")
    refused(lambda: load_entry(ambient), "no folder at .*ambient", FileNotFoundError)
    refused(lambda: load_entry(other), r"needs texts/key-points/e5\.npz", FileNotFoundError)
