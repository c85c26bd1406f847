"""The study of the safe default: what is left out chooses nothing, and what its rankers and changes of topics do."""

from __future__ import annotations

import numpy as np

from srd_agents import make_ranker
from studies import safe_default as study
from studies.pretrain.wide import wide_topics

TOPICS = wide_topics(12, seed=1)
WHOLE = TOPICS.replace(t for t in TOPICS if t.query_vector is not None and t.retrieval_scores is not None)


def test_what_is_left_out_chooses_nothing() -> None:
    keys = [(name, kind) for name in ("a", "b", "c") for kind in ("MiniLM", "LSA")]
    figures = {"base": 0.5, "good": 0.6, "bad": 0.4}
    table = {name: {key: np.full(5, value) for key in keys} for name, value in figures.items()}
    table["bad"]["a", "MiniLM"] = np.full(5, 1.0)  # only where it is measured
    table["good"]["a", "MiniLM"] = np.full(5, 0.0)
    picked = study.left_out(table, ["base", "good", "bad"], ["base"])
    assert picked["a", "MiniLM"] == picked["a", "LSA"] == picked["b", "MiniLM"] == "good"
    assert picked["b", "LSA"] == "bad"


def test_a_correction_is_the_order_where_scores_and_cosines_disagree() -> None:
    order = make_ranker("retrieval-order").rank_batch(WHOLE, 10)
    kept = study.Corrected(0.5, 2.0).rank_batch(WHOLE, 10)
    assert [ranking.tolist() for ranking in kept] == [ranking.tolist() for ranking in order]
    moved = study.Corrected(0.5).rank_batch(WHOLE, 10)
    assert any(a.tolist() != b.tolist() for a, b in zip(moved, order, strict=True))


def test_changes_of_topics() -> None:
    for change, has_scores in ((study.shuffled, False), (study.scored, True), (study.noisy, True)):
        changed = change(WHOLE)
        assert [sorted(topic.doc_ids) for topic in changed] == [sorted(topic.doc_ids) for topic in WHOLE]
        assert all((topic.retrieval_scores is not None) == has_scores for topic in changed)
    assert [t.doc_ids for t in study.scored(WHOLE)] == [t.doc_ids for t in WHOLE]


def test_tables() -> None:
    found = [((name, kind), WHOLE) for name in ("a", "b", "c") for kind in ("MiniLM", "LSA")]
    lines = study.without_scores(found, choose=True).splitlines()
    assert lines[0].split(" | ")[-2:] == ["relational-pretrained", "left out |"]
    assert len(lines) == 2 + len(found) + 1
    assert len(study.duplicates(found).splitlines()) == 2 + len(found)
    assert study.with_scores(found).count("chosen on the others") == 2
