"""Measures of relevance: every value is that of ir_measures, on the ad-hoc view of diversity judgments."""

from __future__ import annotations

import gzip
import math
import shutil
import sys
import warnings
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from small_topics import judged_topic, refused

from srd_gym.data import read_qrels, read_run
from srd_gym.measures import evaluate, evaluate_run, parse_measure, to_ir_measures
from srd_gym.measures.ad_hoc import AD_HOC, AdHoc
from srd_gym.topic import TopicSet

NAMES = (
    "nDCG@10",
    "nDCG",
    "AP",
    "AP(rel=2)@20",
    "P@5",
    "R@100",
    "RR",
    "RR@10",
    "Rprec",
    "Bpref",
    "IPrec(recall=0.5)",
    "Success@1",
    "Judged@10",
)
QRELS: dict[str, Any] = {"1": {"a": {"x": 2, "y": -2, "z": 0}, "b": {"x": 0, "y": -2, "v": 1}}, "2": {"a": {"x": 1}}}


def test_notation_is_that_of_ir_measures() -> None:
    assert [str(parse_measure(name)) for name in NAMES] == list(NAMES)
    assert str(parse_measure("ndcg@10")) == "nDCG@10"
    assert [str(parse_measure(name)) for name in ("MAP", "mrr", "Recall@5")] == ["AP", "RR", "R@5"]
    assert str(parse_measure("AP_IA")) == "MAP_IA", "its name for what is computed here"
    assert str(parse_measure("nDCG(dcg='log2',gains={1:5})@3")) == "nDCG(dcg='log2',gains={1:5})@3"
    refused(lambda: parse_measure("nDCF@10"), "Did you mean nDCG")
    refused(lambda: parse_measure("P@0"), "cutoff")
    assert {name.partition("@")[0].partition("(")[0] for name in NAMES} == set(AD_HOC), "all that is offered is checked"


def test_it_is_no_reward_and_needs_its_library(monkeypatch: pytest.MonkeyPatch) -> None:
    topic = judged_topic(4, 0, 3, 2)
    refused(
        lambda: parse_measure("nDCG@3").bind([], 3),
        "'nDCG@3' is of relevance",
    )
    monkeypatch.setitem(sys.modules, "ir_measures", None)
    advice = "'P@2' is computed by ir_measures"
    refused(lambda: evaluate([topic], {topic.query_id: [0]}, ["P@2"]), advice, ImportError)
    refused(lambda: to_ir_measures("alpha_nDCG@2"), r"not installed: pip install .*\[ir\]", ImportError)
    refused(lambda: to_ir_measures("ILS@2"), "ILS@2 needs the documents' vectors")


def test_what_the_library_refuses_is_said() -> None:
    pytest.importorskip("ir_measures")
    for name in ("P", "P(x=1)@3", "nDCG(gains=)@3"):
        refused(lambda name=name: evaluate_run(QRELS, {"1": ["x"]}, [name]), "ir_measures refuses it")
    refused(lambda: evaluate_run(QRELS, {"1": ["x"]}, ["RR(judged_only=True)@3"]), "ir_measures cannot compute it")


def test_diversity_and_relevance_come_in_the_order_they_were_asked_for() -> None:
    library = pytest.importorskip("ir_measures")
    run = {"1": ["w", "x", "y"], "9": ["x"]}
    asked = ["P@2", "alpha_nDCG@5", "nDCG@5", library.AP, library.alpha_nDCG(alpha=0.25) @ 3, "Judged@3"]
    found = evaluate_run(QRELS, run, asked)
    assert list(found.measures) == ["P@2", "alpha_nDCG@5", "nDCG@5", "AP", "alpha_nDCG(alpha=0.25)@3", "Judged@3"]
    assert [*found.per_topic["1"]] == [*found.measures]
    assert found.per_topic["1"]["P@2"] == 0.5, "the highest grade of a document counts, and at least 0"
    assert found.per_topic["1"]["Judged@3"] == 2 / 3
    assert set(found.per_topic["2"].values()) == {0.0}, "a missing ranking"
    assert evaluate_run(QRELS, run, library.P @ 2).measures == {"P@2": 0.25}
    assert found.unjudged == ("9",)


@pytest.mark.filterwarnings("ignore:qrels")
@pytest.mark.parametrize("name", ["P(judged_only=True)@2", "nDCG(judged_only=True)@2", "R(judged_only=True)@2"])
def test_documents_that_are_not_judged_are_skipped_whatever_is_asked_beside(name: str) -> None:
    library = pytest.importorskip("ir_measures")
    ranking, grades = ["v", "w", "y", "x", "z"], {"x": 2, "y": 0, "z": 1}
    scores = {doc_id: -float(rank) for rank, doc_id in enumerate(ranking)}
    (expected,) = library.calc_aggregate([library.parse_measure(name)], {"1": grades}, {"1": scores}).values()
    assert expected > 0
    qrels = {"1": {"a": {"x": 2, "y": 0}, "b": {"z": 1}}}
    for names in ([name], [name, "P@1"], [name, "AP"]):
        assert evaluate_run(qrels, {"1": ranking}, names).measures[name] == expected


@pytest.mark.filterwarnings("ignore:qrels")
def test_gains_of_one_measure_are_not_those_of_another() -> None:
    pytest.importorskip("ir_measures")
    names = ["nDCG@2", *(f"nDCG(gains={{1:{gain}}})@2" for gain in range(2, 10))]
    found = evaluate_run({"1": {"a": {"x": 1}, "b": {"y": 3}}}, {"1": ["x", "y"]}, names).measures
    second = 1 / math.log2(3)
    for gain, value in enumerate(found.values(), start=1):
        assert value == pytest.approx((gain + 3 * second) / (max(gain, 3) + min(gain, 3) * second)), gain


@pytest.mark.filterwarnings("ignore:qrels")
def test_the_exponential_gain_is_computed_whatever_the_ids_are() -> None:
    pytest.importorskip("ir_measures")
    if shutil.which("perl") is None:
        pytest.skip("gdeval needs perl")
    qrels = {"first query": {"a": {"x y": 2}, "b": {"z": 1, "unjudged0": 0}}}
    found = evaluate_run(qrels, {"first query": ["v w", "x y"]}, ["nDCG(dcg='exp-log2')@2"])
    expected = (3 / math.log(3)) / (3 / math.log(2) + 1 / math.log(3))
    assert [*found.measures.values()] == pytest.approx([expected], abs=1e-5)
    message = "it takes grades up to 4, and the highest is 5"
    refused(lambda: evaluate_run({"1": {"a": {"x": 5}}}, {"1": ["x"]}, ["nDCG(dcg='exp-log2')@2"]), message)


def test_topics_score_as_their_files_do() -> None:
    pytest.importorskip("ir_measures")
    topics = TopicSet([judged_topic(8, seed, 3, 2, query_id=str(seed)) for seed in range(5)], name="five")
    rankings = {topic.query_id: np.random.default_rng(i).permutation(8) for i, topic in enumerate(topics)}
    run = {topic.query_id: [topic.doc_ids[i] for i in rankings[topic.query_id]] for topic in topics}
    by_index, by_id = evaluate(topics, rankings, NAMES), evaluate_run(topics, run, NAMES)
    assert by_index.per_topic == by_id.per_topic
    relevant = [int((topics[0].judgments[i] >= 1).any()) for i in rankings["0"][:5]]
    assert by_index.per_topic["0"]["P@5"] == sum(relevant) / 5
    later = evaluate(topics[:1], {"0": [-1, *rankings["0"][:4]]}, ["P@5"])
    assert later.per_topic["0"]["P@5"] == sum(relevant[:4]) / 5, "an empty rank stays one"


@pytest.mark.data
def test_twenty_runs_score_as_by_ir_measures(data_dir: Path, tmp_path: Path) -> None:
    """Four runs of Indri and sixteen full of ties: equal to the last bit, ties as trec_eval has them."""
    library = pytest.importorskip("ir_measures")
    runs: defaultdict[str, list[str]] = defaultdict(list)
    for line in gzip.decompress((data_dir / "ndeval-ties" / "runs.txt.gz").read_bytes()).decode().splitlines():
        if (tag := line.split()[5]).rpartition("-")[2] in ("0", "1", "2", "3"):
            runs[tag].append(line)
    for year in ("2009", "2010", "2011", "2012"):
        text = gzip.decompress((data_dir / "trec-web" / f"{year}.indri.run.gz").read_bytes()).decode()
        runs[f"indri{year}"] = text.splitlines()
    assert len(runs) == 20
    measures = {library.parse_measure(name): name for name in NAMES}
    for tag, lines in runs.items():
        year = next(year for year in ("2009", "2010", "2011", "2012") if year in tag)
        file = data_dir / "trec-web" / f"{year}.diversity.qrels.gz"
        view: defaultdict[str, dict[str, int]] = defaultdict(dict)
        for query_id, _, doc_id, grade in map(str.split, gzip.decompress(file.read_bytes()).decode().splitlines()):
            view[query_id][doc_id] = max(view[query_id].get(doc_id, 0), int(grade))
        scored: defaultdict[str, dict[str, float]] = defaultdict(dict)
        for query_id, _, doc_id, _, score, _ in map(str.split, lines):
            scored[query_id][doc_id] = float(score)
        (tmp_path / "run").write_text("\n".join(lines) + "\n")
        with warnings.catch_warnings(action="ignore"):
            ours = evaluate_run(read_qrels(file), read_run(tmp_path / "run"), NAMES).per_topic
        # Two of the library's own (not of trec_eval's code) break ties by rising id, others by falling id, as here.
        tied = {q for q, own in scored.items() if len(set(own.values())) < len(own)}
        for query_id, known, value in library.iter_calc(list(measures), view, scored):
            if query_id not in tied or str(known) not in ("Judged@10", "RR@10"):
                assert ours[query_id][measures[known]] == value, (tag, query_id, known)


def test_a_frozen_measure_is_a_key() -> None:
    assert parse_measure("P@5") == AdHoc(title="P", cutoff=5)
    assert len({parse_measure("P@5"), parse_measure("precision@5"), parse_measure("P@6")}) == 2
