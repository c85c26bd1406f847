"""Rankers that learn the subtopics which recur."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from small_topics import refused

from srd_agents.heuristic.stepwise import greedily
from srd_agents.registry import load_ranker, make_ranker
from srd_agents.subtopics.agent import PredictedSubtopics, _seen
from srd_agents.subtopics.features import FEATURES, judged_as, list_features, recurring_subtopics, unit_rows
from srd_agents.subtopics.network import SubtopicNetwork
from srd_gym.measures import evaluate
from srd_gym.topic import Topic, TopicSet

NAMES = ("cause", "sign", "cure", "risk", "test")


def made(count: int, seed: int, names: tuple[str, ...] = NAMES, sizes: tuple[int, ...] = (14,)) -> TopicSet:
    """Topics whose relevant documents point to the query, and each to the direction of its one subtopic."""
    rng = np.random.default_rng(seed)
    directions = np.random.default_rng(99).normal(size=(len(names), 16))
    topics = []
    for number in range(count):
        n, query = sizes[number % len(sizes)], rng.normal(size=16)
        subtopic, relevant = rng.integers(len(names), size=n), rng.random(n) < 0.4
        subtopic[rng.random(n) < 0.4] = 0  # one subtopic is crowded
        vectors = 0.7 * rng.normal(size=(n, 16)) + relevant[:, None] * query + directions[subtopic]
        judgments = np.zeros((n, len(names)), np.int8)
        judgments[np.arange(n), subtopic] = relevant
        if not relevant.any():
            judgments[0, 0] = 1
        scores = vectors @ query + 12 * rng.normal(size=n)
        order = np.argsort(-scores)
        topics.append(
            Topic(
                query_id=f"{seed}-{number}",
                query_vector=query,
                doc_ids=tuple(f"d{i}" for i in range(n)),
                doc_vectors=vectors[order],
                retrieval_scores=scores[order],
                subtopic_ids=names,
                judgments=judgments[order],
            )
        )
    return TopicSet(topics, name="made")


TRAIN, VALIDATION = made(60, 1, sizes=(14, 9)), made(30, 2)


def fitted(name: str = "reinforce-subtopics", **options: Any) -> PredictedSubtopics:
    few: dict[str, Any] = {"epochs": 2, "first_epochs": 3, "rollouts": 4, "hidden_size": 8}
    ranker: Any = make_ranker(name, **(few | options if name.startswith("reinforce") else options))
    ranker.fit(TRAIN, VALIDATION, seed=1)
    return ranker


def value(ranker: Any, topics: TopicSet = VALIDATION) -> float:
    rankings = dict(zip(topics.query_ids, ranker.rank_batch(topics, 10), strict=True))
    return evaluate(topics, rankings, ["alpha_nDCG@5"]).measures["alpha_nDCG@5"]


def test_each_part_adds_to_the_one_before() -> None:
    relevance, classifier = value(fitted("relevance")), value(fitted("subtopic-classifier"))
    policy = value(fitted(rollouts=8, epochs=8, first_epochs=12))
    assert value(make_ranker("retrieval-order")) + 0.02 < relevance < classifier - 0.02
    assert classifier < policy + 0.01
    assert policy > value(make_ranker("mmr")) + 0.1


@pytest.mark.parametrize("diversity", ["mmr", "dpp"])
def test_a_heuristic_diversifies_learned_relevance(diversity: str, tmp_path: Path) -> None:
    ranker: Any = fitted("relevance-mmr", diversity=diversity, epochs=3)
    assert value(ranker) > value(fitted("relevance", epochs=3)) + 0.01
    weight = round(1 - ranker._network.coverage.sigmoid().item(), 6)
    assert 0 < weight < 1
    for topic in VALIDATION[:3]:
        with torch.no_grad():
            relevant = ranker._network.predict(_seen([topic])).relevant[0].numpy()
        order = np.argsort(-relevant, kind="stable")
        ordered = replace(topic.take(order), retrieval_scores=relevant[order])
        heuristic = make_ranker(diversity, lambda_=weight, relevance="minmax")
        np.testing.assert_array_equal(ranker.rank(topic, 9), order[heuristic.rank(ordered, 9)])
        np.testing.assert_array_equal(ranker.rank(topic, 9), greedily(ranker.progress(topic), topic.n_candidates, 9))
    ranker.save(tmp_path)
    loaded: Any = load_ranker(tmp_path)
    np.testing.assert_array_equal(loaded.rank(VALIDATION[0], 9), ranker.rank(VALIDATION[0], 9))


@pytest.mark.parametrize("hidden_size", [0, 5])
def test_the_score_is_that_of_xquad_on_what_is_predicted(hidden_size: int) -> None:
    network = SubtopicNetwork(16, 3, hidden_size)
    network.initialise(torch.Generator().manual_seed(0))
    seen = _seen(made(2, 3)[:2])
    with torch.no_grad():
        predicted = network.predict(seen)
        ranked = network.begin(predicted, 2)
        documents = torch.tensor([[3, 5], [0, 7]])
        logits = network.logits(predicted, network.add(predicted, ranked, documents))
    covers, relevant = predicted.covers.numpy(), predicted.relevant.numpy()
    np.testing.assert_allclose(covers, relevant[..., None] / (1 + np.exp(-predicted.subtopics.numpy())), rtol=1e-5)
    for topic in range(2):
        for rollout, document in enumerate(documents[topic]):
            uncovered = 1 - 0.5 * covers[topic, document]
            wanted = 8 * (0.2 * relevant[topic] + 0.8 * covers[topic] @ uncovered)
            np.testing.assert_allclose(logits[topic, rollout], wanted, rtol=1e-4)  # the part beside it begins at 0


@pytest.mark.parametrize(
    "options", [{"pruning": "knn:0.3"}, {"reward": "Clicks"}, {"reward": "ERR_IA@3", "horizon": 4}]
)
def test_it_learns_from_pruned_episodes_users_and_other_measures(options: dict[str, Any]) -> None:
    learner = fitted(judgments_coef=0.0, **options)
    assert learner.history is not None
    last = learner.history.records[-1]
    assert last["steps"] > 0
    assert np.isfinite([last["return"], last["loss"]]).all()


def test_clicks_teach_what_judgments_do() -> None:
    """With users for every subtopic it sees most of what is relevant in the ranks shown, and nothing below."""
    taught = fitted("click-classifier", lists=1800, clusters=5)
    assert value(taught) > value(make_ranker("retrieval-order")) + 0.05
    few: Any = fitted("click-classifier", lists=2400, shown=5)
    clicked, shown = few._logged(TRAIN, np.random.default_rng(3))
    assert shown.sum(axis=1).tolist() == [5] * len(TRAIN)
    relevant = np.zeros_like(clicked)
    for row, topic in zip(relevant, TRAIN, strict=True):
        row[:5] = topic.judgments[:5].any(axis=1)
    assert not (clicked & ~relevant).any()
    assert clicked.sum() > 0.5 * relevant.sum()


def test_clicks_need_no_pool_nor_texts_of_subtopics() -> None:
    """Real topics have them, and the clusters of clicks have neither."""
    whole = [
        replace(topic, pool_ids=topic.doc_ids, pool=topic.judgments, subtopic_texts=topic.subtopic_ids)
        for topic in TRAIN
    ]
    bare, full = make_ranker("click-classifier", epochs=1), make_ranker("click-classifier", epochs=1)
    bare.fit(TRAIN, seed=0)
    full.fit(TopicSet(whole, name="made"), seed=0)
    assert all(np.array_equal(bare._weights()[name], weights) for name, weights in full._weights().items())


def test_clicks_need_users_who_click() -> None:
    refused(lambda: fitted("click-classifier", users="alpha_nDCG@10"), "users")
    refused(lambda: fitted("reinforce-clicks", reward="alpha_nDCG@10"), "users")
    refused(lambda: fitted("click-classifier", users="Clicks(attraction=0.0)"), "nobody clicked in")


def test_a_model_is_loaded_whatever_its_metadata(tmp_path: Path) -> None:
    ranker = fitted(epochs=1)
    ranker.metadata = {"note": "mine"}
    ranker.save(tmp_path)
    loaded = load_ranker(tmp_path)
    assert [loaded.rank(topic, 5).tolist() for topic in VALIDATION] == [
        r.tolist() for r in ranker.rank_batch(VALIDATION, 5)
    ]


def test_where_no_id_recurs_relevance_is_learned() -> None:
    own = TRAIN.replace(
        replace(topic, subtopic_ids=tuple(f"{topic.query_id}-{name}" for name in NAMES)) for topic in TRAIN
    )
    ranker: Any = make_ranker("subtopic-classifier", epochs=2)
    with pytest.warns(UserWarning, match="no subtopic id has relevant documents in two training topics"):
        ranker.fit(own, VALIDATION, seed=0)
    assert ranker.metadata["subtopics"] == []
    assert value(ranker) > value(make_ranker("retrieval-order"))


def test_ids_recur_with_a_relevant_document_in_two_topics() -> None:
    first, second, third = made(3, 5)
    second = replace(second, judgments=second.judgments * np.array([1, 1, 0, 0, 0], np.int8))  # type: ignore[operator]
    third = replace(third, subtopic_ids=("a", "b", "c", "d", "cure"))
    wanted = sorted({"cause", "sign"} & set(recurring_subtopics([first, second])))
    assert recurring_subtopics([first, second, third]) == sorted({*wanted, *recurring_subtopics([first, third])})
    labels = judged_as(third, ["cure", "sign"])
    assert labels[:, 0].tolist() == (np.asarray(third.judgments)[:, 4] > 0).tolist()
    assert not labels[:, 1].any()
    assert labels[:, 2].tolist() == (np.asarray(third.judgments) > 0).any(axis=1).tolist()


@pytest.mark.parametrize("n", [1, 3, 40])
@pytest.mark.parametrize("lacks", [(), ("retrieval_scores",), ("query_vector",), ("retrieval_scores", "query_vector")])
def test_features_are_finite_and_by_hand(n: int, lacks: tuple[str, ...]) -> None:
    topic = replace(made(1, 6, sizes=(n,))[0], **dict.fromkeys(lacks))
    units = unit_rows(topic.require_vectors("a test"))
    features = dict(zip(FEATURES, list_features(topic, units).T, strict=True))
    assert all(np.isfinite(column).all() for column in features.values())
    cosines = units @ units.T
    others = np.sort(np.where(np.eye(n), -np.inf, cosines))[:, ::-1][:, : max(1, min(5, n - 1))]
    np.testing.assert_allclose(features["likeness to all"], cosines.mean(1), atol=1e-5)
    np.testing.assert_allclose(features["likeness to the nearest 5"], 0 if n == 1 else others.mean(1), atol=1e-5)
    order = np.argsort(-features["cosine"], kind="stable")
    if "retrieval_scores" not in lacks:
        order = np.arange(n)
    np.testing.assert_allclose(features["reciprocal rank"][order], 1 / (1 + np.arange(n)))
