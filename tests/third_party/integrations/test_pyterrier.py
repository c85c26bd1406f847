"""PyTerrier: in pipelines, experiments and grid searches, without Java."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyterrier as pt
import pytest
from ir_measures import StRecall, alpha_nDCG
from small_topics import refused

from srd_agents import make_ranker
from srd_agents.integrations.pyterrier import DiverseReranker
from srd_agents.pipeline.frames import FrameRanker
from srd_gym.data import load_ambient
from srd_gym.measures import evaluate, evaluate_run, to_ir_measures
from srd_gym.topic import TopicSet

QUERIES = pd.DataFrame({"qid": ["q1", "q2"], "query": ["jaguar", "java"]})


def frame() -> pd.DataFrame:
    rows = [(qid, query, f"d{i}", 10.0 - i) for qid, query in QUERIES.itertuples(index=False) for i in range(8)]
    made = pd.DataFrame(rows, columns=["qid", "query", "docno", "score"])
    made["rank"] = made.groupby("qid").cumcount()
    made["doc_vec"] = list(np.random.default_rng(1).normal(size=(16, 4)))
    made["query_vec"] = list(np.random.default_rng(2).normal(size=(2, 4)).repeat(8, axis=0))
    return made


FIRST = pt.Transformer.from_df(frame())
QRELS = pd.DataFrame(
    [(qid, f"d{i}", int((i + s) % 3 == 0), str(s)) for qid in ("q1", "q2") for i in range(8) for s in range(2)],
    columns=["qid", "docno", "label", "iteration"],
)


@pytest.mark.parametrize("ranker", [None, "mmr", "relational-pretrained"])
def test_it_ranks_as_frames_are_ranked(ranker: Any) -> None:
    found = (FIRST >> DiverseReranker(ranker, 3, query_vectors="query_vec")).transform(QUERIES)
    expected = FrameRanker(ranker, 3).transform(FIRST.transform(QUERIES))
    pd.testing.assert_frame_equal(found, expected)


@pytest.mark.parametrize("scores", [1.7e9 + np.arange(5), 2**60 + np.arange(5), 1e300 * np.arange(5)])
def test_scores_are_sorted_as_the_frame_holds_them(scores: Any) -> None:
    five = frame()[:5].assign(score=pd.Series(scores))
    assert FrameRanker(diversity=0)(five)["docno"].tolist() == ["d4", "d3", "d2", "d1", "d0"]


def test_a_grid_search_sets_the_weight() -> None:
    diverse = DiverseReranker()
    grid = {diverse: {"Lambda": [1.0, 0.5, 0.0], "k": [2, 8]}}
    table = pt.GridScan(FIRST >> diverse, grid, QUERIES, QRELS, [alpha_nDCG @ 5])
    weights = [
        pt.Experiment([FIRST >> DiverseReranker(k=8, Lambda=weight)], QUERIES, QRELS, [alpha_nDCG @ 5])
        for weight in (1.0, 0.5, 0.0)
    ]
    found = table[table.filter(like="k").iloc[:, 0] == 8]["alpha_nDCG@5"].tolist()
    assert found == [one["alpha_nDCG@5"][0] for one in weights]
    assert not pt.java.started()
    assert len(set(found)) > 1


@pytest.mark.filterwarnings("ignore:There are shared pipeline components:UserWarning")
def test_an_experiment_takes_the_measures_of_this_package() -> None:
    names = ["alpha_nDCG@5", "Dsharp_nDCG@5", "NRBP", "nDCG@5"]
    pipelines = [FIRST, FIRST >> DiverseReranker(k=5, Lambda=0.3), pt.Transformer.from_df(frame().iloc[:8])]
    measures = [alpha_nDCG @ 3, *map(to_ir_measures, names)]
    table = pt.Experiment(pipelines, QUERIES, QRELS, measures, names=["first", "mmr", "half"]).set_index("name")
    for name, pipeline in zip(["first", "mmr"], pipelines, strict=False):
        values = table.loc[name, names].to_dict()
        assert values == pytest.approx(evaluate_run(QRELS, pipeline.transform(QUERIES), names).measures, abs=1e-12)
    assert table.loc["half", "NRBP"] == table.loc["first", "NRBP"] / 2, "both queries have the same list"
    assert table.loc["first", "NRBP"] != table.loc["mmr", "NRBP"]


def test_pipelines_can_be_inspected() -> None:
    diverse = DiverseReranker("mmr", 5, Lambda=0.5)
    columns = ["qid", "query", "docno", "score", "rank", "doc_vec"]
    assert pt.inspect.transformer_inputs(diverse) == [["qid", "docno", "doc_vec"]]
    assert pt.inspect.transformer_outputs(diverse, columns) == columns
    assert {each.name for each in pt.inspect.transformer_attributes(diverse)} >= {"ranker", "k", "Lambda"}
    assert str(FIRST >> diverse).endswith(" >> DiverseReranker('mmr', k=5, Lambda=0.5))")


def test_vectors_are_columns_that_pyterrier_makes() -> None:
    known = dict(zip(frame()["docno"], frame()["doc_vec"], strict=False))
    plain = pt.Transformer.from_df(frame().drop(columns=["doc_vec", "query_vec"]))
    with_vectors = plain >> pt.apply.doc_vec(lambda row: known[row["docno"]])
    assert len((with_vectors >> DiverseReranker(k=3, Lambda=0.5)).transform(QUERIES)) == 6


@pytest.mark.parametrize("missing", [["doc_vec"], ["qid", "docno"]])
def test_missing_columns_are_named_as_pyterrier_names_them(missing: list[str]) -> None:
    with pytest.raises(pt.validate.InputValidationError, match=re.escape(f"missing_columns={missing}")):
        DiverseReranker().transform(frame().drop(columns=missing))


def test_a_document_is_shown_once_and_what_a_row_lacks_ends_nothing() -> None:
    one, two = frame().assign(site="a", tokens=1.0, seen=False), frame().assign(site=None, tokens=np.nan, seen=None)
    two["score"], two["doc_vec"] = two["score"] + 0.5, None
    both = pd.concat([one, two], ignore_index=True)
    plain, limits = DiverseReranker(), {"group_key": "site", "max_per_group": 8, "cost_key": "tokens", "budget": 8}
    for reranker in (plain, DiverseReranker(**limits, shown_key="seen"), DiverseReranker(Lambda=0.5)):
        wanted = reranker.transform(one)
        found = reranker.transform(both)
        assert found[["qid", "docno", "rank"]].equals(wanted[["qid", "docno", "rank"]])
        assert found["tokens"].isna().all(), "the row of the best score is shown"
    lost = one.assign(score=one["score"].where(one["docno"] != "d0"), site=one["site"].where(one["docno"] != "d1"))
    with pytest.warns(UserWarning, match="a score, which come last: 2; .*a group, which are groups of their own: 2"):
        shown = DiverseReranker(group_key="site", max_per_group=3).transform(lost)
    assert shown[shown["qid"] == "q1"]["docno"].tolist() == ["d1", "d2", "d3", "d4"]
    refused(lambda: DiverseReranker(strict=True).transform(lost), "scores holds NaN", ValueError)


@pytest.mark.data
def test_an_experiment_gives_the_figures_that_this_package_gives(data_dir: Path) -> None:
    ambient = load_ambient(data_dir / "ambient", vectors=data_dir / "ambient" / "minilm-384.npz")
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
    rankers = {name: make_ranker(name) for name in ("retrieval-order", "dpp")}
    rankers["mmr"] = make_ranker("mmr", relevance="matched")
    ambient = TopicSet([replace(topic, query_vector=None) for topic in ambient], name="ambient")
    pipelines = [first, first >> DiverseReranker("dpp"), first >> DiverseReranker(Lambda=0.5)]
    measures = [alpha_nDCG @ 10, StRecall @ 10]
    table = pt.Experiment(pipelines, queries, qrels, measures, names=list(rankers), plan="tree").set_index("name")
    for name, ranker in rankers.items():
        rankings = dict(zip(ambient.query_ids, ranker.rank_batch(ambient, 100), strict=True))
        ours = evaluate(ambient, rankings, ["alpha_nDCG@10", "StRecall@10"]).measures
        assert table.loc[name].to_dict() == pytest.approx(dict(ours), abs=1e-12)
