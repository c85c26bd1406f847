"""`srd audit`: its figures and advice, by hand; every way lists come in; and bad input."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from run_srd import Feed, Srd

from srd_gym.data import generate, load_topics, write_qrels, write_run, write_topics
from srd_gym.topic import Topic, TopicSet
from srd_train.report.actions import ORDER, POOLS, Action, actions, bare, rankings
from srd_train.report.advice import Advice, measured, unmeasured
from srd_train.report.audit import audit
from srd_train.report.differences import Difference

UNIT = np.eye(4, dtype=np.float32)


def copied(n_topics: int = 3) -> TopicSet:
    """Topics whose second document is a copy of the first; d and e are alike, too."""
    rows = UNIT[[0, 0, 1, 2, 2]]
    return TopicSet(
        [
            Topic(
                query_id=str(i),
                doc_ids=tuple(f"{i}{letter}" for letter in "abcde"),
                doc_vectors=rows,
                query_vector=np.ones(4, np.float32),
                retrieval_scores=[5, 4, 3, 2, 1],
            )
            for i in range(n_topics)
        ],
        name="copied",
    )


def line(topic: Topic, **more: Any) -> str:
    """A topic as a line of JSON."""
    assert topic.doc_vectors is not None
    assert topic.retrieval_scores is not None
    parts = {"doc_vectors": topic.doc_vectors.tolist(), "retrieval_scores": topic.retrieval_scores.tolist()}
    return json.dumps({"query_id": topic.query_id, "doc_ids": list(topic.doc_ids), **parts, **more})


def test_figures_and_advice_without_judgments_by_hand() -> None:
    made = audit(copied(), k=2, pools=[3, 5])
    (table,) = made.tables
    assert table.measures == ("score@2", "moved@2", "ILS@2", "Vendi@2", "duplicates@2")
    means = {row.ranker: list(row.means.values()) for row in table.rows}
    assert means[ORDER] == pytest.approx([0.875, 0, 1, 1, 1])
    assert means["near-duplicates last, pool 3"] == pytest.approx([0.75, 1, 0, 2, 0])
    assert made.tried[0] == ORDER
    assert made.advice.action == "remove copies"
    assert made.advice.row == "near-duplicates last, pool 3"
    assert "of 2 documents 1.0 repeat an earlier one, then 0.0, for 0.125 of the mean score" in made.advice.sentence
    assert made.depths[5]["duplicates"] == pytest.approx((2, 2, 2))
    assert made.depths[5]["score at it"] == pytest.approx((0, 0, 0))
    assert sorted(made.depths) == [1, 5]
    assert made.markdown().startswith("**Remove copies")


def test_judged_topics_are_measured_and_others_left_out() -> None:
    topics = load_topics("words")
    blank = [replace(topic, judgments=None, pool=None, pool_ids=None) for topic in list(topics)[:3]]
    made = audit(TopicSet([*blank, *list(topics)[3:]], name="words"), pools=[20])
    assert made.tables[0].tested == 37
    assert [str(problem) for problem in made.problems] == ["words: 3 of 40 lists are not judged; left out"]
    assert made.advice.action == "MMR"
    assert "alpha_nDCG@10" in made.advice.sentence
    assert made.repeated == ["safe"]
    few = audit(TopicSet(list(topics)[:6], name="few"), pools=[20])
    assert few.advice.action == "keep the order"
    assert "on 6 judged lists, fewer than 20" in few.advice.sentence


def test_actions_keep_to_their_pool_and_see_no_labels() -> None:
    topics = [bare(topic) for topic in load_topics("words")[:9]]
    assert not any(topic.labelled or topic.n_subtopics for topic in topics)
    sources = {doc_id: i % 3 for topic in topics for i, doc_id in enumerate(topic.doc_ids)}
    for action in actions(sources):
        for pool in (10, 20):
            found = action.rank(topics, pool, 10, sources)
            assert all(len(set(ranking.tolist())) == 10 and ranking.max() < pool for ranking in found), action
    capped = Action(name="cap", by_source=True).rank(topics, 20, 10, sources)
    assert all(len({int(i) % 3 for i in ranking[:3]}) == 3 for ranking in capped)
    names = [name for name, _ in rankings(topics, 10, POOLS, None)]
    assert len(names) == len(set(names))
    assert names[0] == ORDER
    assert not any("100" in name for name in names)  # no list has more than 50: a pool of 100 is the same


@pytest.mark.parametrize(
    ("mean", "p_value", "lists", "action"),
    [
        (0.1, 0.01, 30, "MMR"),
        (0.1, 0.2, 30, "keep the order"),
        (-0.1, 0.01, 30, "keep the order"),
        (0.1, 0.01, 5, "keep the order"),
    ],
)
def test_only_a_significant_gain_on_lists_enough_leaves_the_order(
    mean: float, p_value: float, lists: int, action: str
) -> None:
    ends: dict[str, Any] = {"interval": (0.0, 0.2), "raw_p_value": p_value, "wins_ties_losses": (1, 0, 0)}
    gain = Difference(
        measure="m", ranker="MMR 0.1, pool 20", baseline=ORDER, mean=mean, p_value=p_value, family="", **ends
    )
    larger = replace(gain, ranker="safe", mean=mean + 0.1, p_value=0.2)
    assert measured([gain], lists).action == measured([larger, gain], lists).action == action
    assert measured([], lists).row == ORDER


def test_a_crowded_source_is_told_and_not_capped_without_judgments() -> None:
    means = {ORDER: {"duplicates@10": 0.0, "score@10": 1.0, "top_source@10": 0.7}}
    advice: Advice = unmeasured(means, 10, scored=True)
    assert advice.action == "keep the order"
    assert "One source has 70% of a page" in advice.sentence
    assert "without scores" in unmeasured(means, 10, scored=False).sentence


def test_lists_come_as_lines_topics_or_a_run(srd: Srd, feed: Feed, tmp_path: Path) -> None:
    topics, lists = copied(), tmp_path / "lists.jsonl"
    by_site = [["x", "x", "x", "y", None]] * 3
    lists.write_text(
        "\n".join(line(topic, groups=own, user=1, subtopics=["a"]) for topic, own in zip(topics, by_site, strict=True))
        + "\n"
    )
    words = ("--k", "2", "--pools", "5", "--json")
    done = srd.works("audit", lists, *words, "--per-topic")
    assert "keys that an audit does not read: user, subtopics" in done.err
    found = done.json
    assert found["advice"]["action"] == "remove copies"
    assert found["actions"][ORDER]["means"]["top_source@2"] == 1.0
    assert found["actions"]["one per source, pool 5"]["means"]["sources@2"] == 2.0
    assert found["per_topic"][ORDER]["0"]["duplicates@2"] == 1.0
    feed(lists.read_bytes())
    assert srd.works("audit", "-", *words).json["actions"] == found["actions"]
    file, sites, run = tmp_path / "t.parquet", tmp_path / "sites", tmp_path / "run"
    write_topics(file, topics)
    sites.write_text("".join(f"{doc}\t{site}\n" for t in topics for doc, site in zip(t.doc_ids, "xxxyz", strict=True)))
    assert srd.works("audit", file, "--sources", sites, *words).json["actions"] == found["actions"]
    write_run(run, {topic.query_id: (*topic.doc_ids[::-1], "q") for topic in list(topics)[:2]}, tag="t")
    turned = srd.works("audit", file, "--run", run, *words).json
    assert turned["lists"] == 2
    assert turned["depths"]["5"]["score at it"]["mean"] == 0.0
    assert turned["actions"][ORDER]["means"]["duplicates@2"] == 1.0  # d and e
    assert "1 documents are not among the candidates of '0'" in turned["problems"][0]
    write_run(run, {"0": ("q", "r"), "1": topics[1].doc_ids[::-1], "2": topics[2].doc_ids[::-1]}, tag="t")
    fewer = srd.works("audit", file, "--run", run, *words).json
    assert (fewer["lists"], fewer["actions"], fewer["depths"]) == (2, turned["actions"], turned["depths"])
    assert fewer["problems"] == ["run: 2 documents are not among the candidates of '0'; left out"]


def test_qrels_judge_lists_that_bring_no_judgments(srd: Srd, tmp_path: Path) -> None:
    judged = generate("serp", n_topics=25, seed=3)
    lists, qrels, topics = tmp_path / "lists.jsonl", tmp_path / "q.qrels", tmp_path / "t.parquet"
    lists.write_text("".join(line(topic, query_vector=topic.query_vector.tolist()) + "\n" for topic in judged))  # type: ignore[union-attr]
    write_qrels(qrels, judged)
    write_topics(topics, judged)
    words = ("--k", "5", "--pools", "15", "--json")
    found = srd.works("audit", lists, "--qrels", qrels, *words).json
    assert found["measures"][0] == "alpha_nDCG@5"
    of_file = srd.works("audit", topics, *words).json
    assert found["differences"] == of_file["differences"]
    write_qrels(qrels, judged.select(judged.query_ids[:22]))
    fewer = srd.works("audit", topics, "--qrels", qrels, *words).json
    assert fewer["lists"] == 22
    assert "3 of 25 lists are not judged" in fewer["problems"][0]
    write_qrels(qrels, generate("serp", n_topics=2, seed=4))
    assert "qrels judge none of the 25 lists" in srd.fails("audit", lists, "--qrels", qrels)


def test_texts_without_vectors_and_lists_without_scores(srd: Srd, tmp_path: Path) -> None:
    lists = tmp_path / "lists.jsonl"
    texts = ["the big cat of the forest", "the big cat of the forest", "an old car", "a car of the old days"]
    lists.write_text(json.dumps({"query_id": 1, "doc_ids": [1, 2, 3, 4], "doc_texts": texts}) + "\n")
    shown = srd.works("audit", lists, "--k", "2", "--pools", "4", "--per-topic").out
    assert "Each list as it is" in shown
    assert "Remove copies" in shown
    page, tables = tmp_path / "a.html", tmp_path / "a.md"
    srd.works("audit", lists, "--k", "2", "--pools", "4", "--out", page, "--markdown", tables)
    assert "the big cat of the forest" in page.read_text()
    assert "judged topics" not in page.read_text()
    assert '"subtopics":' not in page.read_text()
    assert tables.read_text().startswith("**Remove copies")
    cosine = replace(copied()[0], retrieval_scores=None, query_vector=UNIT[2])
    assert audit(TopicSet([cosine], name="one"), k=1, pools=[5]).topics[0].doc_ids[0] == "0d"  # type: ignore[index]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"query_id": 1}', "line 1: no doc_ids"),
        ('{"query_id": 1, "doc_ids": []}', "no list to audit"),
        ('{"query_id": 1, "doc_ids": ["a", "b"]}', "topic '1' has no document vectors"),
        (
            '{"query_id": 1, "doc_ids": ["a"], "doc_vectors": [[1]], "groups": ["x", "y"]}',
            "groups: expected a list of 1",
        ),
        ("[1]", "line 1: expected a JSON object"),
    ],
)
def test_bad_lines_are_refused(srd: Srd, tmp_path: Path, text: str, said: str) -> None:
    lists = tmp_path / "lists.jsonl"
    lists.write_text(text + "\n")
    assert said in srd.fails("audit", lists, "--k", "1", "--pools", "1")


def test_other_bad_input_is_refused(srd: Srd, tmp_path: Path) -> None:
    one, other = (
        line(topic, groups=groups) for topic, groups in zip([copied()[0]] * 2, ["xxxxx", "yyyyy"], strict=True)
    )
    lists = tmp_path / "lists.jsonl"
    lists.write_text(
        f"{one}\n{other}\n".replace('"xxxxx"', '["x","x","x","x","x"]').replace('"yyyyy"', '["y","y","y","y","y"]')
    )
    assert "document '0a' has the groups 'x' and 'y'" in srd.fails("audit", lists)
    assert "expected rising pools" in srd.fails("audit", "words", "--pools", "50", "20")
    assert "pools must be" in srd.fails("audit", "words", "--pools", "5")
    assert "no list to audit in 'words'; give a run" in srd.fails("audit", "words", "--run", empty_run(tmp_path))


def empty_run(folder: Path) -> Path:
    """A run of another query."""
    path = folder / "other.run"
    write_run(path, {"unknown": ["a"]}, tag="t")
    return path
