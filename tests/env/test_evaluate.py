"""Evaluation of whole sets: what counts, what is missing, and what an error says."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from small_topics import refused

from srd_gym.measures import Evaluation, evaluate, evaluate_run, measure
from srd_gym.topic import Topic, TopicSet
from srd_gym.trec_files import Qrels, Run, read_qrels, read_run

QRELS = """\
1 1 a 1
1 2 a 0
1 2 b 1
1 1 c -2
2 1 x 1
3 1 y 0
3 2 z -2
"""
RUN = """\
1 Q0 b 1 2.0 tag
1 Q0 elsewhere 2 1.5 tag
1 Q0 a 3 1.0 tag
3 Q0 y 1 1.0 tag
9 Q0 y 1 1.0 tag
"""


@pytest.fixture
def trec(tmp_path: Path) -> tuple[Qrels, Run]:
    (tmp_path / "qrels").write_text(QRELS)
    (tmp_path / "run").write_text(RUN)
    return read_qrels(tmp_path / "qrels"), read_run(tmp_path / "run")


def test_a_missing_ranking_counts_0_and_an_unjudged_one_nothing(trec: tuple[Qrels, Run]) -> None:
    found = evaluate_run(*trec, ["StRecall@1", "StRecall@3", "nNRBP"])
    assert (found.topics, found.missing, found.missing_topics, found.unjudged) == (3, 1, ("2",), ("9",))
    assert found.normalizer == "pool"
    assert list(found.per_topic) == ["1", "2", "3"]
    assert found.per_topic["1"]["StRecall@1"] == 0.5
    assert found.per_topic["1"]["StRecall@3"] == 1.0
    assert set(found.per_topic["2"].values()) == {0.0}
    # Topic 3 has no relevant document: 0, where the tool would divide 0 by 0 for nNRBP.
    assert set(found.per_topic["3"].values()) == {0.0}
    assert found.measures["StRecall@3"] == pytest.approx(1 / 3)
    assert found.mean(present_only=True)["StRecall@3"] == pytest.approx(1 / 2)


def test_measures_keep_the_names_they_were_asked_for(trec: tuple[Qrels, Run]) -> None:
    found = evaluate_run(*trec, ["strec@3", measure("alpha-ndcg@3")])
    assert list(found.measures) == ["strec@3", "alpha_nDCG@3"]
    assert list(evaluate_run(*trec, "P_IA@2").measures) == ["P_IA@2"]


def test_what_cannot_be_scored_is_refused(trec: tuple[Qrels, Run]) -> None:
    qrels, run = trec
    other = Run(rankings={"9": run.rankings["9"]}, scores={"9": run.scores["9"]})
    message = r"no query of the run is judged \(the run has '9', .* the qrels have '1'"
    refused(lambda: evaluate_run(qrels, other, ["P_IA@2"]), message)
    refused(lambda: evaluate_run(*trec, []), "no measure given")
    refused(lambda: evaluate_run(*trec, ["alpha_nDCG"]), "measure 'alpha_nDCG' has no cutoff; write alpha_nDCG@10")
    refused(lambda: evaluate_run(*trec, ["alpha_nDGC@5"]), "unknown measure 'alpha_nDGC'. Did you mean")
    candidates = ["alpha_nDCG(normalizer=candidates)@5"]
    refused(lambda: evaluate_run(*trec, candidates), "TREC files have no candidates")
    bare = Topic(query_id="q", doc_ids=("a",), subtopic_ids=("1",), judgments=[[1]])
    one = TopicSet([bare], name="bare")
    refused(lambda: evaluate(one, {"q": [0]}, ["StRecall@1"], "pool"), "topic 'q' has no pool")


def topics() -> TopicSet:
    judged = Topic(
        query_id="1",
        doc_ids=("b", "elsewhere", "a"),
        subtopic_ids=("1", "2"),
        judgments=[[0, 1], [0, 0], [1, 0]],
        pool=[[1, 0], [0, 1], [-2, 0], [1, 1]],
        pool_ids=("a", "b", "c", "never-retrieved"),
    )
    other = Topic(
        query_id="2",
        doc_ids=("x",),
        subtopic_ids=("1",),
        judgments=[[1]],
        pool=[[1]],
        pool_ids=("x",),
    )
    return TopicSet([judged, other, Topic(query_id="3", doc_ids=("u",))], name="three")


def scored(normalizer: str | None = None, name: str = "alpha_nDCG@2") -> Evaluation:
    return evaluate(topics().select(["1", "2"]), {"1": np.array([0, 2])}, [name], normalizer)


def test_the_ideal_is_the_pool_unless_candidates_are_asked_for() -> None:
    discount = 1 / np.log2(3)
    assert scored().normalizer == "pool"
    assert scored().per_topic["1"]["alpha_nDCG@2"] == pytest.approx((1 + discount) / (2 + discount / 2))
    assert scored("candidates").per_topic["1"]["alpha_nDCG@2"] == pytest.approx(1.0)
    own = "alpha_nDCG(normalizer=candidates)@2"
    assert scored(None, own).per_topic["1"][own] == pytest.approx(1.0)
    assert (scored().topics, scored().missing) == (2, 1)


def test_unlabelled_topics_are_not_judged() -> None:
    found = evaluate(topics(), {"2": [0], "3": [0]}, ["StRecall@1"], "candidates")
    assert list(found.per_topic) == ["1", "2"]
    assert found.unjudged == ("3",)
    assert found.measures == {"StRecall@1": 0.5}


def test_no_ranking_scores_0_and_an_empty_rank_is_a_document_that_covers_nothing() -> None:
    found = evaluate(topics(), {}, ["alpha_nDCG@2"], "candidates")
    assert (found.topics, found.missing, found.measures) == (2, 2, {"alpha_nDCG@2": 0.0})
    assert found.mean(present_only=True) == {"alpha_nDCG@2": 0.0}
    plain = "alpha_DCG(normalization=None)@2"
    found = evaluate(topics(), {"1": [-1, 0], "2": np.array([])}, [plain], "candidates")
    assert found.per_topic["1"] == {plain: pytest.approx(1 / np.log2(3))}
    assert found.missing == 0


@pytest.mark.parametrize(
    ("rankings", "message"),
    [
        ({"7": [0]}, "unknown query id"),
        ({"1": [3]}, "topic '1': candidate 3 does not exist; expected 0 to 2"),
        ({"1": [-2]}, "topic '1': candidate -2 does not exist"),
        ({"1": [0, 0]}, "topic '1': candidate 0 is ranked twice"),
        ({"1": [[0]]}, "topic '1': a ranking is a list of candidate indices"),
        ({"1": [0.5]}, "topic '1': a ranking is a list of candidate indices"),
    ],
)
def test_a_wrong_ranking_says_what_is_wrong(rankings: dict[str, list[int]], message: str) -> None:
    refused(lambda: evaluate(topics(), rankings, ["StRecall@1"]), message)
