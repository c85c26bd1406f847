"""Every adapter on AMBIENT: real queries, results and vectors, ranked as `diversify` ranks them; and an experiment."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyterrier as pt
import pytest
from adapters import ADAPTERS, Adapter
from ir_measures import StRecall, alpha_nDCG

from srd_agents import diversify, make_ranker
from srd_agents.integrations.pyterrier import DiverseReranker
from srd_gym.data import load_ambient
from srd_gym.measures import evaluate
from srd_gym.topic import Topic, TopicSet


@pytest.fixture(scope="module")
def ambient(data_dir: Path) -> TopicSet:
    return load_ambient(data_dir / "ambient", vectors=data_dir / "ambient" / "minilm-384.npz")


def parts(topic: Topic) -> tuple[Any, Any, Any]:
    """Query, documents, and their cosines, which stand for a dense first stage."""
    assert topic.doc_vectors is not None
    assert topic.query_vector is not None
    lengths = np.linalg.norm(topic.doc_vectors, axis=1) * np.linalg.norm(topic.query_vector)
    return topic.query_vector, topic.doc_vectors, (topic.doc_vectors @ topic.query_vector / lengths).astype(np.float64)


@pytest.mark.data
@pytest.mark.parametrize(("adapter", "called"), ADAPTERS.values(), ids=ADAPTERS)
@pytest.mark.parametrize("diversity", [None, 0.0, 0.5, 1.0])
def test_real_results_are_ranked_as_diversify_ranks_them(
    ambient: TopicSet, adapter: Adapter, called: Any, diversity: float | None
) -> None:
    for topic in ambient[:3]:
        query, vectors, scores = parts(topic)
        # scikit-learn searches for itself, and the last bits of its cosines decide between copies: none here.
        kept = np.unique(scores.round(5), return_index=True)[1]
        vectors, scores = vectors[kept], scores[kept]
        ranker = None if diversity is None else make_ranker("mmr", lambda_=1 - diversity)
        expected = diversify(query, vectors, 10, ranker, scores=scores).indices.tolist()
        assert adapter(query, vectors, scores, 10, None if diversity is None else called(diversity)) == expected


@pytest.mark.data
def test_an_experiment_gives_the_figures_that_this_package_gives(ambient: TopicSet) -> None:
    rows = [
        (topic.query_id, docno, float(score), vector)
        for topic in ambient
        for docno, score, vector in zip(topic.doc_ids, topic.retrieval_scores, topic.doc_vectors, strict=True)
    ]
    first = pt.Transformer.from_df(pd.DataFrame(rows, columns=["qid", "docno", "score", "doc_vec"]))
    queries = pd.DataFrame({"qid": [t.query_id for t in ambient], "query": [t.query_text for t in ambient]})
    qrels = pd.DataFrame(
        [
            (topic.query_id, docno, int(label), subtopic)
            for topic in ambient
            for docno, labels in zip(topic.doc_ids, topic.judgments, strict=True)
            for subtopic, label in zip(topic.subtopic_ids, labels, strict=True)
        ],
        columns=["qid", "docno", "label", "iteration"],
    )
    rankers = {name: make_ranker(name) for name in ("retrieval-order", "mmr", "dpp")}
    pipelines = [first, first >> DiverseReranker(Lambda=0.5), first >> DiverseReranker("dpp")]
    table = pt.Experiment(
        pipelines, queries, qrels, [alpha_nDCG @ 10, StRecall @ 10], names=list(rankers), plan="tree"
    ).set_index("name")
    for name, ranker in rankers.items():
        rankings = {
            topic.query_id: ranking for topic, ranking in zip(ambient, ranker.rank_batch(ambient, 100), strict=True)
        }
        ours = evaluate(ambient, rankings, ["alpha_nDCG@10", "StRecall@10"]).measures
        assert table.loc[name].to_dict() == pytest.approx(dict(ours), abs=1e-12)
