from __future__ import annotations

import json
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
from golden.make_indri_golden import AT_CUTOFF, WHOLE_LIST
from small_topics import WIDTH, alone, bare_topic, random_topics, refused, small_topic

from srd_gym.data import write_qrels
from srd_gym.measures import (
    MEASURES,
    IdealPool,
    Normalizer,
    default_normalizer,
    evaluate,
    evaluate_run,
    parse_measure,
    references,
)
from srd_gym.topic import TopicSet
from srd_gym.trec_files import Qrels, Run, TopicQrels, read_qrels, read_run


@pytest.mark.parametrize("name", MEASURES)
def test_what_is_written_is_read_back_and_every_measure_says_what_it_is(name: str) -> None:
    for each in (
        parse_measure(name),
        parse_measure(name).at(7),
        parse_measure(name) @ 3,
        parse_measure(name, normalizer="candidates").plain(),
    ):
        assert parse_measure(str(each)) == each
        assert hash(parse_measure(str(each))) == hash(each)
    kind = MEASURES[name]
    assert kind.__doc__.startswith(name)
    assert "Parameters:" in kind.__doc__
    for field in fields(kind):
        if field.name not in ("cutoff", "known_as", "normalizer", "normalization"):
            assert field.name in kind.__doc__


@pytest.mark.parametrize(("typed", "written"), [
    ("alpha_nDCG(alpha=0.5)@10", "alpha_nDCG@10"),
    (" alpha-ndcg ( rel = 2, alpha=0.3 ) @ 10 ", "alpha_nDCG(rel=2, alpha=0.3)@10"),
    ("ERR_IA(normalization=none)@5", "ERR_IA(normalization=None)@5"),
    ("D-sharp-nDCG(normalizer=pool)@20", "Dsharp_nDCG(normalizer='pool')@20"),
    ("ALPHA_NDCG@5", "alpha_nDCG@5"),
    ("D#-nDCG@20", "Dsharp_nDCG@20"),
    ("S-recall@5", "StRecall@5"),
])  # fmt: skip
def test_spellings_are_understood_and_defaults_left_out(typed: str, written: str) -> None:
    assert str(parse_measure(typed)) == written


def test_an_explicit_cutoff_is_kept_a_missing_one_filled_and_arguments_replace_what_is_written() -> None:
    assert parse_measure("alpha_DCG@3").at(10).cutoff == 3
    assert parse_measure("alpha_DCG").at(10) == parse_measure("alpha_DCG@10")
    assert parse_measure(parse_measure("ERR_IA").plain()) == parse_measure("ERR_IA(normalization=none)")
    assert parse_measure("nNRBP", normalizer="candidates").normalizer == "candidates"


@pytest.mark.parametrize(("typed", "message"), [
    ("alpha_nDGC@10", r"'alpha_nDGC'\. Did you mean .*alpha_nDCG"),
    ("err-aa@10", r"'err-aa'\. Did you mean .*ERR_IA"),
    ("alpha_nDCG(alfa=0.3)@10", r"alpha_nDCG: 'alfa'\. Did you mean alpha"),
    ("StRecall(alpha=0.3)@10", r"unknown parameter of StRecall: 'alpha'"),
    ("alpha_nDCG(alpha=2)@10", r"alpha must be between 0 and 1, got 2"),
    ("alpha_nDCG(alpha=nan)@10", r"alpha must be a number, got 'nan'"),
    ("NRBP(beta=1)", r"beta must be below 1"),
    ("Dsharp_nDCG(gamma=-1)@5", r"gamma must be between 0 and 1, got -1"),
    ("alpha_DCG(normalization=chapelle)@5", "normalization of alpha_DCG: 'chapelle'"),
    ("nNRBP(normalizer=best)", "unknown normalizer of nNRBP: 'best'"),
    ("alpha_nDCG@0", r"cutoff must be at least 1, got 0"),
    ("alpha_nDCG@ten", "cannot read measure 'alpha_nDCG@ten'"),
    ("alpha_nDCG(rel=0)@5", r"rel must be at least 1, got 0"),
    ("alpha_nDCG(0.5)@5", "parameter=value, each once, got '0.5'"),
    ("alpha_nDCG(alpha=0.5, alpha=0.4)@5", r"each once, got 'alpha=0.4'"),
    ("alpha_nDCG(alpha=0.5@5", r"expected NAME@k or NAME\(parameter=value"),
    ("", r"cannot read measure ''"),
])  # fmt: skip
def test_a_slip_says_what_was_expected(typed: str, message: str) -> None:
    refused(lambda: parse_measure(typed), message)
    refused(lambda: parse_measure(10), "expected a measure or its notation", TypeError)


def test_numbers_of_numpy_are_written_as_numbers() -> None:
    made = replace(parse_measure("alpha_DCG"), alpha=np.float64(0.25), cutoff=np.int64(5))  # type: ignore[call-arg]
    assert str(made) == "alpha_DCG(alpha=0.25)@5" == str(parse_measure(str(made)))


def test_the_pool_is_the_default_where_every_topic_has_one() -> None:
    pool = {"pool": [[1], [0], [1]], "pool_ids": ("a", "b", "c")}
    pooled, bare = alone(small_topic([[1], [0]], **pool)), alone(small_topic([[1], [0]]))
    assert default_normalizer(pooled) == "pool"
    assert default_normalizer(bare) == "candidates"
    assert len(references(pooled)[0].pool) == 3
    assert len(references(pooled, "candidates")[0].pool) == 2
    empty = [*references(alone(bare_topic(2, subtopic_ids=("1",)))), IdealPool(np.zeros((0, 1), np.int8))]
    bound = parse_measure("alpha_nDCG@2").bind(empty, 2)
    assert bound.values(np.ones((2, 2, 1), bool), [0, 1]).tolist() == [0.0, 0.0]
    with pytest.raises(ValueError, match="read-only"):
        bound.terms[0].weights[0, 0] = 2.0


def test_binding_and_scoring_check_judgments_and_shapes() -> None:
    bound = parse_measure("alpha_nDCG").bind([IdealPool([[1, 0], [0, 1]])], 2)
    rows = IdealPool([[1, 0], [0, 1]]).pool
    refused(lambda: IdealPool([[1], [0]], ["a"]), "one id for each of 2 pool documents")
    refused(lambda: IdealPool([[1], [0]], None, [1.0, 2.0]), "one weight for each of 1 subtopics")
    whole = parse_measure("NRBP").bind([IdealPool(rows)], 2)
    message = "bound for 2 ranks, but lists have 3"
    refused(lambda: whole.values(rows[[0, 1, 1]][None], 0), message)
    refused(lambda: bound.values(rows, 0), r"expected judgments of shape \[B, L, S\]")
    refused(lambda: bound.values(rows[None, :, :1], 0), "judgments have 1 subtopics")
    refused(lambda: bound.values(rows[None], [0, 0]), "one topic index for each of 1 lists")
    message = "but topics have at most 2 candidates"
    refused(lambda: bound.score_rankings([[2]], rows[None], 0), message)
    message = "rankings hold candidate indices"
    refused(lambda: bound.score_rankings([[0.0]], rows[None], 0), message, TypeError)
    refused(lambda: IdealPool.of(small_topic(), "pool"), "has no pool .*normalizer='candidates'")
    refused(lambda: IdealPool.of(bare_topic(), "candidates"), "topic '1' has no judgments")


# Evaluation of whole sets

QRELS = "1 1 a 1\n1 2 a 0\n1 2 b 1\n1 1 c -2\n2 1 x 1\n3 1 y 0\n3 2 z -2\n"
RUN = "1 Q0 b 1 2.0 t\n1 Q0 elsewhere 2 1.5 t\n1 Q0 a 3 1.0 t\n3 Q0 y 1 1.0 t\n9 Q0 y 1 1.0 t\n"


@pytest.fixture
def trec(tmp_path: Path) -> tuple[Qrels, Run]:
    (tmp_path / "qrels").write_text(QRELS)
    (tmp_path / "run").write_text(RUN)
    return read_qrels(tmp_path / "qrels"), read_run(tmp_path / "run")


ALL = [str(parse_measure(name).at(5)) for name in MEASURES] + ["alpha_nDCG(alpha=0.3)@9", "alpha_nDCG(rel=2)@4"]


def pooled(topics: TopicSet, generator: np.random.Generator) -> TopicSet:
    """The topics with a pool of their candidates and some more documents, no weights, and one without subtopics."""
    found = []
    for topic in topics:
        more = generator.integers(-2, 3, (4, topic.n_subtopics))
        ids = (*topic.doc_ids, *(f"{topic.query_id}-more{i}" for i in range(4)))
        pool = np.concatenate([topic.judgments, more])
        order = generator.permutation(len(ids))[: generator.integers(1, len(ids) + 1)]
        judgments = np.where(np.isin(np.arange(topic.n_candidates), order)[:, None], topic.judgments, 0)
        pool_ids = tuple(ids[i] for i in order)
        changes = {"judgments": judgments, "pool": pool[order], "pool_ids": pool_ids, "subtopic_weights": None}
        found.append(replace(topic, **changes))
    nothing = {"pool": np.zeros((0, 0)), "pool_ids": (), "doc_vectors": np.zeros((2, WIDTH))}
    found.append(small_topic(np.zeros((2, 0)), "none", **nothing))
    return TopicSet(found, name="pooled")


def some_run(topics: TopicSet, generator: np.random.Generator) -> Run:
    rankings = {"elsewhere": ("a",)}
    for topic in topics[1:]:
        ids = [*dict.fromkeys(topic.doc_ids + (topic.pool_ids or ())), "unknown"]
        rankings[topic.query_id] = tuple(ids[i] for i in generator.permutation(len(ids)))
    return Run(rankings=rankings, scores={})


@pytest.mark.parametrize("by_pool", [True, False])
@pytest.mark.parametrize("seed", range(8))
def test_a_run_scores_by_topics_what_it_scores_by_their_qrels(seed: int, by_pool: bool, tmp_path: Path) -> None:
    generator = np.random.default_rng(seed)
    topics = pooled(random_topics(seed), generator)
    if not by_pool:  # one topic without a pool is enough
        topics = topics.replace(replace(t, pool=None, pool_ids=None) if t.query_id == "q2" else t for t in topics)
    run = some_run(topics, generator)
    write_qrels(tmp_path / "qrels", topics)
    ours, theirs = (evaluate_run(each, run, ALL) for each in (topics, read_qrels(tmp_path / "qrels")))
    assert ours.normalizer == ("pool" if by_pool else "candidates")
    assert ours.missing_topics == theirs.missing_topics == ("q0",)
    assert ours.unjudged == theirs.unjudged == ("elsewhere",)
    for query_id, scores in ours.per_topic.items():
        assert scores == pytest.approx(theirs.per_topic[query_id], rel=0, abs=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_a_run_scores_by_topics_as_the_candidates_that_it_ranks(seed: int) -> None:
    topics = random_topics(seed, unlabelled=True)
    assert any(topic.subtopic_weights is not None for topic in random_topics(0))
    rankings = {topic.query_id: np.random.default_rng(seed).permutation(topic.n_candidates) for topic in topics}
    run = Run(rankings={t.query_id: tuple(t.doc_ids[i] for i in rankings[t.query_id]) for t in topics}, scores={})
    assert evaluate_run(topics, run, ALL) == evaluate(topics, rankings, ALL)
    refused(lambda: evaluate_run(alone(bare_topic()), run, ALL), "no topic of 'one' is judged")
    refused(lambda: evaluate_run(alone(small_topic()), run, ALL), "the topics have '1', ...")


def test_a_missing_ranking_counts_0_and_an_unjudged_one_nothing(trec: tuple[Qrels, Run]) -> None:
    found = evaluate_run(*trec, ["StRecall@1", "StRecall@3", "nNRBP"])
    assert (found.topics, found.missing, found.missing_topics, found.unjudged) == (3, 1, ("2",), ("9",))
    assert found.normalizer == "pool"
    assert list(found.per_topic) == ["1", "2", "3"]
    assert [found.per_topic["1"][name] for name in ("StRecall@1", "StRecall@3")] == [0.5, 1.0]
    assert set(found.per_topic["2"].values()) == {0.0}
    # Topic 3 has no relevant document: 0, where the tool would divide 0 by 0 for nNRBP.
    assert set(found.per_topic["3"].values()) == {0.0}
    assert found.measures["StRecall@3"] == pytest.approx(1 / 3)
    assert found.mean(ranked_topics_only=True)["StRecall@3"] == pytest.approx(1 / 2)


def test_measures_keep_the_names_they_were_asked_for_and_what_cannot_be_scored_is_refused(
    trec: tuple[Qrels, Run],
) -> None:
    qrels, run = trec
    other = Run(rankings={"9": run.rankings["9"]}, scores={"9": run.scores["9"]})
    message = "no query of the run is judged"
    refused(lambda: evaluate_run(qrels, other, ["P_IA@2"]), message)
    refused(lambda: evaluate_run(*trec, []), "no measure given")
    refused(lambda: evaluate_run(*trec, ["alpha_nDCG"]), "has no cutoff; write alpha_nDCG@10")
    refused(lambda: evaluate_run(*trec, ["alpha_nDGC@5"]), "unknown measure 'alpha_nDGC'")
    candidates = ["alpha_nDCG(normalizer=candidates)@5"]
    refused(lambda: evaluate_run(*trec, candidates), "TREC files have no candidates")
    bare = alone(small_topic())
    refused(lambda: evaluate(bare, {"1": [0]}, ["StRecall@1"], "pool"), "topic '1' has no pool")
    found = evaluate_run(*trec, ["st-recall@3", parse_measure("alpha-ndcg@3")])
    assert list(found.measures) == ["st-recall@3", "alpha_nDCG@3"]
    assert list(evaluate_run(*trec, "P_IA@2").measures) == ["P_IA@2"]


def topics() -> TopicSet:
    pool = {"pool": [[1, 0], [0, 1], [-2, 0], [1, 1]], "pool_ids": ("a", "b", "c", "never-retrieved")}
    judged = small_topic([[0, 1], [0, 0], [1, 0]], doc_ids=("b", "elsewhere", "a"), **pool)
    other = small_topic([[1]], "2", pool=[[1]], pool_ids=("a",))
    return TopicSet([judged, other, bare_topic(1, "3")], name="three")


def test_the_ideal_is_the_pool_unless_candidates_are_asked_for() -> None:
    own, plain, discount = "alpha_nDCG(normalizer=candidates)@2", "alpha_nDCG@2", 1 / np.log2(3)
    found = evaluate(topics(), {"1": np.array([0, 2]), "3": [0]}, [plain, own])
    assert (found.normalizer, found.topics, found.missing) == ("pool", 2, 1)
    assert found.unjudged == ("3",), "an unlabelled topic is not judged"
    by_pool, by_candidates = (1 + discount) / (2 + discount / 2), 1.0
    assert found.per_topic["1"] == pytest.approx({plain: by_pool, own: by_candidates})
    found = evaluate(topics(), {"1": [0, 2]}, [plain], "candidates")
    assert found.per_topic["1"] == pytest.approx({plain: by_candidates})


def test_no_ranking_scores_0_and_an_empty_rank_is_a_document_that_covers_nothing() -> None:
    found = evaluate(topics(), {}, ["alpha_nDCG@2"], "candidates")
    assert (found.topics, found.missing, found.measures) == (2, 2, {"alpha_nDCG@2": 0.0})
    assert found.mean(ranked_topics_only=True) == {"alpha_nDCG@2": 0.0}
    plain = "alpha_DCG(normalization=None)@2"
    found = evaluate(topics(), {"1": [-1, 0], "2": np.array([])}, [plain], "candidates")
    assert found.per_topic["1"] == {plain: pytest.approx(1 / np.log2(3))}
    assert found.missing == 0


@pytest.mark.parametrize(("rankings", "message"), [
    ({"7": [0]}, "unknown query id"),
    ({"1": [3]}, "candidate 3 does not exist"),
    ({"1": [-2]}, "topic '1': candidate -2 does not exist"),
    ({"1": [0, 0]}, "topic '1': candidate 0 is ranked twice"),
    ({"1": [[0]]}, "a ranking is a list of candidate indices"),
    ({"1": [0.5]}, r"indices, got \[0.5\] \(list\)"),
    ({"1": {0, 1}}, r"indices, got \{0, 1\} \(set\)"),
])  # fmt: skip
def test_a_wrong_ranking_says_what_is_wrong(rankings: dict[str, list[int]], message: str) -> None:
    refused(lambda: evaluate(topics(), rankings, ["StRecall@1"]), message)


@pytest.mark.parametrize("rankings", [[np.array([0, 1])] * 2, np.zeros((2, 2), int), None, [[0]]])
def test_rankings_without_query_ids_are_told(rankings: Any) -> None:
    refused(lambda: evaluate(topics(), rankings, "StRecall@1"), "must be {query id: candidate indices}", TypeError)


# The official tool

GOLDEN = Path(__file__).parents[2] / "golden" / "indri-ndeval.json"
OFFICIAL = {f"{ours}@{k}": f"{theirs}@{k}" for ours, theirs in AT_CUTOFF.items() for k in range(1, 21)} | WHOLE_LIST


@pytest.mark.data
@pytest.mark.parametrize("year", ["2009", "2010", "2011", "2012"])
def test_indri_runs_score_as_in_the_golden_file(data_dir: Path, year: str) -> None:
    golden = json.loads(GOLDEN.read_text(encoding="utf-8"))
    assert golden["tool"] == "pyndeval 0.0.8"
    folder = data_dir / "trec-web"
    qrels = read_qrels(folder / f"{year}.diversity.qrels.gz")
    run = read_run(folder / f"{year}.indri.run.gz", order="pyndeval")
    found = evaluate_run(qrels, run, golden["measures"])
    expected = golden["scores"][year]
    assert len(expected) == found.topics - found.missing
    for query_id, row in expected.items():
        ours = [found.per_topic[query_id][name] for name in golden["measures"]]
        np.testing.assert_allclose(ours, row, rtol=0, atol=1e-11, err_msg=f"topic {query_id}")
    means = [found.mean(ranked_topics_only=True)[name] for name in golden["measures"]]
    np.testing.assert_allclose(means, np.mean(list(expected.values()), axis=0), rtol=0, atol=1e-11)


@pytest.mark.parametrize("seed", range(30))
def test_random_judgments_score_as_in_pyndeval_for_any_parameters(seed: int) -> None:
    pyndeval = pytest.importorskip("pyndeval", reason="pyndeval is not installed")
    rng = np.random.default_rng(seed)
    documents, subtopics = int(rng.integers(3, 30)), int(rng.integers(1, 12))
    alpha, beta, rel = float(rng.choice([0.1, 0.3, 0.5, 0.77])), float(rng.choice([0.2, 0.5, 0.9])), int(seed % 2 + 1)
    judgments = np.maximum(rng.integers(-6, 4, (documents, subtopics)), -2).astype(np.int8)
    judgments[0, 0] = 3
    ids = tuple(f"d{i}" for i in rng.permutation(documents))
    names = tuple(str(s) for s in range(1, subtopics + 1))
    ranking = tuple(rng.permutation([*ids, "other-1", "other-2"])[: int(rng.integers(1, documents + 3))].tolist())
    qrels = Qrels(topics={"q": TopicQrels(doc_ids=ids, subtopic_ids=names, judgments=judgments)})
    run = Run(rankings={"q": ranking}, scores={"q": -np.arange(float(len(ranking)))})

    parameters = {"alpha": alpha, "beta": beta, "rel": rel}

    def asked(name: str) -> Any:
        own = [field.name for field in fields(parse_measure(name))]
        return replace(parse_measure(name), **{key: value for key, value in parameters.items() if key in own})

    ours = evaluate_run(qrels, run, [asked(name) for name in OFFICIAL]).per_topic["q"]

    lines = [("q", s, d, int(judgments[i, j])) for i, d in enumerate(ids) for j, s in enumerate(names)]
    tool = pyndeval.RelevanceEvaluator(lines, list(OFFICIAL.values()), relevance_level=rel, alpha=alpha, beta=beta)
    theirs = tool.evaluate([("q", doc_id, -float(rank)) for rank, doc_id in enumerate(ranking)])["q"]
    np.testing.assert_allclose(list(ours.values()), [theirs[name] for name in OFFICIAL.values()], rtol=0, atol=1e-14)


@pytest.mark.parametrize("normalizer", get_args(Normalizer))
def test_weights_of_subtopics_count_with_every_ideal(normalizer: Normalizer) -> None:
    (topic, *_) = (topic for topic in random_topics(0) if topic.subtopic_weights is not None)
    pooled = replace(topic, pool=topic.judgments, pool_ids=topic.doc_ids)
    assert IdealPool.of(pooled, normalizer).weights.tolist() == topic.subtopic_weights.tolist()
