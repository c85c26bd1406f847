"""The study of named subtopics: what is named, and its rows, on a few topics made here."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from srd_gym.data import generate
from studies import named as study


@pytest.mark.parametrize(("kind", "right", "wrong"), [("all", 1, 0), ("half wrong", 0.5, 0.5), ("wrong", 0, 1)])
def test_what_is_named(kind: str, right: float, wrong: float) -> None:
    topics = generate("tiny", n_topics=5, seed=0)
    lists = [np.asarray(topic.subtopic_vectors) for topic in topics]
    for own, told in zip(lists, study.told(topics, lists, kind), strict=True):
        known = {tuple(row) for row in own.tolist()}
        rows = [tuple(row) for row in np.asarray(told.subtopic_vectors).tolist()]
        assert len([row for row in rows if row in known]) == int(np.ceil(right * len(own)))
        assert len([row for row in rows if row not in known]) == int(np.ceil(wrong * len(own)))
        assert told.judgments is None


def test_a_row_for_each_list_and_one_for_none() -> None:
    topics = generate("tiny", n_topics=4, seed=0)
    lists = {study.JUDGES: [np.asarray(topic.subtopic_vectors) for topic in topics]}
    rows = list(study.rows_of(study.Case(title="made", topics=topics, lists=lists)))
    wanted = ["initial ranking", "no names", "judges", "judges, half wrong", "judges, wrong"]
    assert [row[0] for row in rows] == wanted
    for row in rows[2:]:
        less, first = float(row[-1].split(" ")[0]), float(rows[0][1])
        assert float(row[1].split(" ")[0]) - first == pytest.approx(less, abs=1.1e-3)


def test_texts_that_are_kept_are_not_embedded_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    vectors = np.eye(2, 3, dtype=np.float32)
    np.savez(tmp_path / "minilm.npz", texts=np.array(["cat", "car"]), vectors=vectors)
    monkeypatch.setenv("SRD_NAMED_CACHE", str(tmp_path))
    np.testing.assert_array_equal(study.minilm(["car", "cat", "car"]), vectors[[1, 0, 1]])
