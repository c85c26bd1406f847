"""The study of a learned choice: what it learns from, and that it learns, on topics and figures made here."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from studies import learned_choice as study
from studies.pretrain.wide import wide_topics

WITH, WITHOUT = study.PARTS


def made(collection: str, seed: int) -> study.Cell:
    """Figures of 80 topics: `dpp 0.7` gains where the first feature is high, and loses elsewhere."""
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(80, len(WITH.columns)))
    order = rng.uniform(0.3, 0.5, size=80)
    gains = {"dpp 0.7": np.sign(features[:, 0]) * 0.1}
    return study.Cell(
        collection=collection,
        space="MiniLM",
        stage="BM25",
        query_ids=tuple(map(str, range(80))),
        features=features,
        scores={name: order + gains.get(name, 0.0) for name in study.RANKERS},
    )


def test_it_learns_when_to_leave_the_order() -> None:
    cells = [replace(made(name, 0), space=space) for name in study.COLLECTIONS for space in study.SPACES]
    choices = ("order", "dpp 0.7")
    chosen = study.learned(cells[:6], choices)(cells[6])
    assert np.mean(chosen == (cells[6].features[:, 0] > 0)) > 0.9
    scores, _, worst = study.held_out(WITH, cells, choices, None)["wordnet"]
    assert scores.shape == (80, 4)
    assert 0.02 < worst < 0.06
    worse = [replace(c, scores={**c.scores, "dpp 0.7": c.scores["order"] - 0.1}) for c in cells[:6]]
    assert not study.learned(worse, choices)(worse[0]).any(), "what stays best is kept"
    line = next(line for line in study.lines(WITH, cells) if line[0] == "order, dpp 0.7")
    _, less_order, worst_gain, less_cautious, _ = line
    assert 0.02 < float(worst_gain) <= round(worst, 3)
    assert less_order.startswith(f"{less_cautious} [+0.0"), "cautious ranks as the order here"
    assert study.table(WITH, [line]).splitlines()[2].startswith(f"| order, dpp 0.7 | {less_order} | {worst_gain} |")


def test_cells() -> None:
    topics = wide_topics(6, seed=3)
    whole = topics.replace(t for t in topics if t.query_vector is not None and t.retrieval_scores is not None)
    given = study.cell(WITH, "perspectives", "LSA", "web", whole)
    assert set(given.scores) == set(study.RANKERS)
    assert np.isfinite(given.features).all()
    without = study.cell(WITHOUT, "perspectives", "LSA", "BM25", study.shuffled(topics))
    assert "blend" not in without.scores
    assert without.features.shape == (6, len(WITHOUT.columns))


def test_other_first_stages_of_the_same_candidates() -> None:
    topics = wide_topics(12, seed=1)
    found = topics.replace(topic for topic in topics if topic.query_vector is not None)
    relevant = study.staged(lambda stage, depth: found, "wordnet", "all relevant")
    assert all((np.asarray(topic.judgments) > 0).any(axis=1).all() for topic in relevant)
    for stage in ("noisy", "web"):
        again = study.staged(lambda stage, depth: found, "wordnet", stage)
        assert [sorted(topic.doc_ids) for topic in again] == [sorted(topic.doc_ids) for topic in found]
    assert study.staged(lambda stage, depth: found, "wordnet", "cosine") is None
