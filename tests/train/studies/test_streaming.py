from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from srd_gym.data.parquet import count_row_groups, read_topics
from studies.speed import streaming


def test_the_file_is_honest_and_training_on_it_is_watched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(streaming, "_GROUP", 8)
    path = tmp_path / "large.parquet"
    streaming.write_large(path, 20, candidates=5, width=4)
    topics = read_topics(path)
    assert (len(topics), topics.max_candidates, topics.vector_width, topics.marks) == (20, 5, 4, ("simulated",))
    assert count_row_groups(path) == 3
    vectors = np.concatenate([topic.require_vectors("test") for topic in topics])
    assert len(np.unique(vectors, axis=0)) == len(vectors)
    if sys.platform == "linux":
        assert streaming.main([str(path), "20", "mmr"]) == 0
        assert "without mapped files" in capsys.readouterr().out
        with pytest.raises(RuntimeError, match="ended with 2"):
            streaming.watched_training(path, "nobody")
    assert streaming.main([]) == 2
