"""The study of the default ranker: its table, on a few topics made here."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from srd_gym.data import generate
from studies import default_ranker as study


def test_rows_and_their_table() -> None:
    rng = np.random.default_rng(0)
    made = study.without_subtopics(generate("tiny", n_topics=4))
    topics = made.replace(replace(topic, doc_vectors=rng.normal(size=topic.doc_vectors.shape)) for topic in made)
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
