"""LabelFree of lists against brute force, values worked out by hand, and bad input."""

from __future__ import annotations

import math
from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from small_topics import alone, bare_topic, small_topic

from srd_gym.measures import MEASURES, IdealPool, Measure, evaluate, evaluate_run, parse_measure
from srd_gym.measures.label_free import LABEL_FREE, NEAR_DUPLICATE, label_free_values
from srd_gym.topic import Topic, TopicSet

ALL = ("ILS@{}", "Vendi@{}", "duplicates(cosine=0.6)@{}", "sources@{}", "top_source@{}")


def scored(vectors: object, names: list[str], ranking: list[int] | None = None, **sources: str) -> list[float]:
    """Values of one list."""
    rows = np.asarray(vectors, np.float32)
    topic = bare_topic(len(rows), doc_vectors=rows)
    found = evaluate(alone(topic), {"1": range(len(rows)) if ranking is None else ranking}, names, sources=sources)
    return [found.per_topic["1"][name] for name in names]


def by_hand(vectors: np.ndarray, sources: list[object], k: int) -> list[float]:
    """`ALL` of a list, document by document."""
    rows = [row / (np.linalg.norm(row) or 1.0) for row in vectors[:k].astype(np.float64)]
    own = sources[:k]
    pairs = [float(one @ other) for one, other in combinations(rows, 2)]
    kernel = np.array([[1.0 if i == j else a @ b for j, b in enumerate(rows)] for i, a in enumerate(rows)])
    shares = [share for share in np.linalg.eigvalsh(kernel / len(rows)) if share > 1e-15]
    copies = sum(any(float(a @ rows[j]) >= 0.6 for j in range(i)) for i, a in enumerate(rows))
    top = max(Counter(own).values()) / len(own)
    vendi = math.exp(-sum(share * math.log(share) for share in shares))
    return [float(np.mean(pairs)) if pairs else 0.0, vendi, copies, len(set(own)), top]


def test_values_by_hand() -> None:
    two_alike = [[1, 0], [2, 0], [0, 3]]
    assert scored(two_alike, ["ILS@3", "duplicates@3", "ILS@2", "Vendi@2"]) == pytest.approx([1 / 3, 1, 1, 1])
    thirds = math.exp(-(2 / 3 * math.log(2 / 3) + 1 / 3 * math.log(1 / 3)))  # eigenvalues 2, 1 and 0 of three
    assert scored(two_alike, ["Vendi@3", "Vendi@99"]) == pytest.approx([thirds, thirds])
    sites = {"a": "x", "b": "x", "c": "y"}
    assert scored(two_alike, ["sources@3", "top_source@3", "sources@1"], **sites) == pytest.approx([2, 2 / 3, 1])
    assert scored(two_alike, ["sources@3", "top_source@3"], a="x") == pytest.approx([3, 1 / 3])  # others: their own
    assert scored([[1, 0], [0, 0], [0, 0]], ["ILS@3", "Vendi@3", "duplicates@3"]) == pytest.approx([0, 3, 0])


def test_all_equal_brute_force_on_random_lists_of_all_lengths() -> None:
    generator, topics, rankings, sources, hand = np.random.default_rng(0), [], {}, {}, {}
    for index in range(150):
        n = int(generator.integers(1, 13))
        vectors = generator.normal(size=(n, 4)).astype(np.float32) * 10.0 ** generator.integers(-3, 4)
        vectors[generator.random(n) < 0.1] = 0
        ids = tuple(f"{index}-{i}" for i in range(n))
        topics.append(Topic(query_id=str(index), doc_ids=ids, doc_vectors=vectors))
        ranking = generator.permutation(n)[: int(generator.integers(1, n + 1))]
        sources |= {doc_id: int(generator.integers(3)) for doc_id in ids if generator.random() < 0.8}
        own = [sources.get(ids[i], ids[i]) for i in ranking]
        rankings[str(index)] = np.insert(ranking, 0, -1) if index % 3 == 0 else ranking  # a rank left empty
        hand[str(index)] = [value for k in (1, 3, 10) for value in by_hand(vectors[ranking], own, k)]
    names = [name.format(k) for k in (1, 3, 10) for name in ALL]
    found = evaluate(TopicSet(topics, name="random"), rankings, names, sources=sources)
    for query_id, values in found.per_topic.items():
        assert list(values.values()) == pytest.approx(hand[query_id], abs=1e-6), query_id
    assert list(found.measures) == names


def test_score_and_moved_look_at_the_retrieval_order() -> None:
    topic = bare_topic(4, retrieval_scores=[9.0, 5.0, 5.0, 1.0])
    names = ["score@2", "moved@2", "moved@9"]
    for ranking, hand in (([0, 1, 2, 3], (0.75, 0, 0)), ([0, 2], (0.75, 1, 1)), ([3, 1, 0], (0.25, 1, 2))):
        assert list(evaluate(alone(topic), {"1": ranking}, names).measures.values()) == pytest.approx(list(hand))
    equal = bare_topic(2, retrieval_scores=[3.0, 3.0])
    assert evaluate(alone(equal), {"1": [1]}, names).measures == {"score@2": 1.0, "moved@2": 1.0, "moved@9": 1.0}
    with pytest.raises(ValueError, match="has no retrieval scores, which score@2 needs"):
        evaluate(alone(bare_topic(2)), {"1": [1]}, names)


def test_a_run_is_scored_by_labels_and_without_labels() -> None:
    vectors = np.eye(2, dtype=np.float32)
    topics = TopicSet([small_topic(doc_vectors=vectors), bare_topic(2, "2", doc_vectors=vectors)], name="two")
    run = {"1": ["b", "a"], "2": ["a"], "9": ["a"]}
    found = evaluate_run(topics, run, ["Vendi@2", "StRecall@1"])
    assert found.per_topic == {"1": {"Vendi@2": pytest.approx(2.0), "StRecall@1": 0.5}}
    assert found.unjudged == ("2", "9")
    found = evaluate_run(topics, {"2": ["a"], "9": ["a"]}, ["Vendi@2", "sources@2"], sources={"a": "s"})
    assert found.per_topic == {"1": dict.fromkeys(found.names, 0.0), "2": dict.fromkeys(found.names, 1.0)}
    assert (found.missing_topics, found.unjudged) == (("1",), ("9",))
    assert found.mean(ranked_topics_only=True) == {"Vendi@2": 1.0, "sources@2": 1.0}


def test_notation_and_direction() -> None:
    assert str(parse_measure("ils@5")) == "ILS@5"
    assert str(parse_measure("Top-Source@3")) == "top_source@3"
    assert str(parse_measure("duplicates(cosine=0.5)@3")) == "duplicates(cosine=0.5)@3"
    assert parse_measure("duplicates@3") == parse_measure(f"duplicates(cosine={NEAR_DUPLICATE})@3")
    lower = {name for name, kind in LABEL_FREE.items() if kind.lower_is_better}
    assert lower == {"ILS", "duplicates", "top_source", "moved"}
    assert not LABEL_FREE.keys() & MEASURES.keys()
    assert label_free_values([], [], {"ILS@5": LABEL_FREE["ILS"](cutoff=5)})["ILS@5"].shape == (0,)


def test_bad_input_is_refused() -> None:
    topics = alone(bare_topic(2, doc_vectors=np.eye(2, dtype=np.float32)))
    textual = alone(bare_topic(2, doc_texts=["a", "b"]))
    ranking = {"1": [0, 1]}
    with pytest.raises(ValueError, match="ILS@2 needs"):
        evaluate(textual, ranking, ["ILS@2"])
    assert evaluate(textual, ranking, ["sources@2"], sources={"a": "x"}).measures == {"sources@2": 2.0}
    with pytest.raises(ValueError, match="sources@2 needs the source of each document, got none"):
        evaluate(topics, ranking, ["ILS@2", "sources@2"])
    with pytest.raises(ValueError, match=r"sources name none of the ranked documents \(sources have 'z'"):
        evaluate(topics, ranking, ["sources@2"], sources={"z": 1})
    with pytest.raises(ValueError, match="which qrels lack; give topics"):
        evaluate_run({"1": {"s": {"a": 1}}}, {"1": ["a"]}, ["StRecall@1", "ILS@2"])
    with pytest.raises(ValueError, match="document 'q' of query '1' is not among the topic's candidates"):
        evaluate_run(topics, {"1": ["q"]}, ["ILS@2"])
    with pytest.raises(ValueError, match="no query of the run is among the topics"):
        evaluate_run(topics, {"7": ["a"]}, ["ILS@2"])
    with pytest.raises(ValueError, match="has no cutoff"):
        evaluate(topics, ranking, ["ILS"])
    with pytest.raises(ValueError, match="cosine must be above 0"):
        parse_measure("duplicates(cosine=0)@5")
    with pytest.raises(ValueError, match="leave out rel and normalizer"):
        parse_measure("ILS(rel=2)@5")
    with pytest.raises(ValueError, match="Did you mean"):
        parse_measure("Vendy@5")


@pytest.mark.parametrize("name", LABEL_FREE)
def test_none_can_be_a_reward(name: str) -> None:
    kind: Measure = parse_measure(f"{name}@3")
    with pytest.raises(ValueError, match="neither reward nor ideal"):
        kind.bind([IdealPool([[1]])], 3)
