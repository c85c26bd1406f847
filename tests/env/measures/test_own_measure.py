from __future__ import annotations

import copy
import importlib
import pickle
import re
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from small_topics import random_topics, refused

from srd_gym import TopicSet, scoring_v0
from srd_gym.core import SelectionCore
from srd_gym.measures import Measure, Term, catalogue, evaluate, parse_measure

PAGE = Path(__file__).resolve().parents[3] / "docs" / "extending.md"
TOPICS = TopicSet([replace(topic, subtopic_weights=None) for topic in random_topics(3, n=6)], name="own")


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The class `Early` of the page, from its own file; what a test registers is forgotten."""
    code = re.search(r"^cat > early\.py << 'PYTHON'\n(.*?)^PYTHON$", PAGE.read_text(encoding="utf-8"), re.M | re.S)
    assert code is not None
    (tmp_path / "early.py").write_text(code[1])
    monkeypatch.syspath_prepend(tmp_path)
    for names in ("MEASURES", "_FOLDED"):
        monkeypatch.setattr(catalogue, names, dict(getattr(catalogue, names)))
    yield importlib.import_module("early").Early
    del sys.modules["early"]


def value_of(ranking: Any, topic: int, cutoff: int) -> float:
    """The page's sentence: the share of subtopics covered, each discounted by the rank of its first document."""
    judgments = TOPICS[topic].judgments >= 1
    first = [np.flatnonzero(judgments[list(ranking), s])[:1] for s in np.flatnonzero(judgments.any(axis=0))]
    return sum(0.8 ** int(rank[0]) for rank in first if len(rank) and rank[0] < cutoff) / max(1, len(first))


def test_it_is_a_value(own: Any) -> None:
    one = own(cutoff=10)
    assert (str(one), repr(one)) == ("Early@10", "Early(cutoff=10, rel=1, normalizer=None)")
    assert one == own() @ 10 == own().at(10) == one.plain() == copy.deepcopy(one) == pickle.loads(pickle.dumps(one))
    assert len({one, own(cutoff=10), own(cutoff=5), own(cutoff=10, rel=2), parse_measure("StRecall@10")}) == 4
    assert parse_measure(one, normalizer="candidates") == own(cutoff=10, normalizer="candidates")
    refused(lambda: own(cutoff=0), "Early: cutoff must be at least 1, got 0")


@pytest.mark.parametrize("registered", [False, True])
def test_it_scores_rewards_and_is_told(own: Any, registered: bool) -> None:
    what, name, short = own(cutoff=10), "Early@10", own(cutoff=2)
    if registered:
        catalogue.add_measure("early:Early", own)
        what, name = parse_measure("early:Early@10"), "early:Early@10"
    ranking = {topic.query_id: np.arange(6) for topic in TOPICS}
    result = evaluate(TOPICS, ranking, [what, short, "StRecall@10"])
    assert list(result.measures) == [name, "Early@2", "StRecall@10"]
    for index, scores in enumerate(result.per_topic.values()):
        for key, cutoff in ((name, 10), ("Early@2", 2)):
            assert scores[key] == pytest.approx(value_of(range(6), index, cutoff))

    env = gym.make("SRD-v0", topics=TOPICS, reward=what, measures=(short, "StRecall@10"))
    _, info = env.reset(seed=0)
    paid, ended = 0.0, False
    while not ended:
        _, reward, ended, _, info = env.step(info["action_mask"].argmax())
        paid += float(reward)
    assert list(info["measures"]) == [name, "Early@2", "StRecall@10"]
    assert [info["measures"][name], result.per_topic[info["query_id"]][name]] == pytest.approx([paid] * 2)

    joint = scoring_v0.parallel_env(topics=TOPICS, reward=what, measures=(short,), n_scores=6)
    joint.reset(options={"query_id": info["query_id"]})
    _, rewards, *_ = joint.step({f"doc_{i}": 5 - i for i in range(6)})
    assert list(joint.measures) == [name, "Early@2"]
    assert list(rewards.values()) == pytest.approx([paid] * 6)


def test_registering_names_it_and_changes_no_class(own: Any) -> None:
    class Late(own):  # type: ignore[misc]  # of a class that only the page has
        pass

    before = {kind: dict(vars(kind)) for kind in (own, Late, Measure)}
    for name, kind in (("one", own), ("Two", own), ("late", Late), ("one", own)):
        catalogue.add_measure(name, kind)
    assert {kind: dict(vars(kind)) for kind in before} == before
    named = [parse_measure(f"{name}@10") for name in ("one", "T-w_o", "late")]
    assert [*map(str, named), str(own(cutoff=10)), str(Late())] == ["one@10", "Two@10", "late@10", "Early@10", "Late"]
    assert named[0] == named[1] == own(cutoff=10)
    assert named[2] == Late(cutoff=10) != own(cutoff=10)
    assert [type(each) for each in named] == [own, own, Late]
    for each in (
        named[0] @ 5,
        replace(named[0], cutoff=5),
        parse_measure("one").at(5),
        pickle.loads(pickle.dumps(named[0])),
    ):
        assert str(each) == f"one@{each.cutoff}"
    # Equal measures share what they are bound to; each environment says the name that it was given.
    names = [SelectionCore(TOPICS, reward=what).reward_name for what in (*named[:2], own(cutoff=10))]
    assert names == ["one@10", "Two@10", "Early@10"]


def test_parameters_are_fields(own: Any) -> None:
    @dataclass(frozen=True, kw_only=True)
    class Patient(own):  # type: ignore[misc]  # of a class that only the page has
        patience: float = 0.8

    catalogue.add_measure("Patient", Patient)
    assert str(Patient(patience=0.5, cutoff=3)) == "Patient(patience=0.5)@3"
    assert parse_measure("patient(patience=0.5)@3") == Patient(patience=0.5, cutoff=3)
    refused(lambda: parse_measure("Patient(known_as=x)"), "unknown parameter of Patient: 'known_as'")


@pytest.mark.parametrize(("name", "kind", "error", "message"), [
    ("alpha-ndcg", None, ValueError, r"\.AlphaNDCG already; choose another"),
    ("s-recall", None, ValueError, r"is the name of .*\.StRecall already"),
    ("two words", None, ValueError, "has no spaces, brackets or '@'"),
    ("early@10", None, ValueError, "no spaces, brackets or '@'"),
    ("early", Measure, TypeError, "that has `_terms`, got <class"),
    ("early", "StRecall", TypeError, "that has `_terms`, got 'StRecall'"),
    ("early", parse_measure("StRecall"), TypeError, "got StRecall"),
])  # fmt: skip
def test_names_and_classes_that_cannot_be_registered(
    own: Any, name: str, kind: Any, error: type[Exception], message: str
) -> None:
    before = dict(catalogue.MEASURES)
    refused(lambda: catalogue.add_measure(name, own if kind is None else kind), message, error)
    assert before == catalogue.MEASURES


@pytest.mark.parametrize(("changed", "message"), [
    ({"discounts": [1.0] * 3}, r"discounts: expected .* shape \(3,\)"),
    ({"novelty": [1.0] * 4}, r"novelty: expected .* shape \(4,\)"),
    ({"weights": [[np.nan] * TOPICS.max_subtopics] * 5}, r"weights: .* got nan at \(0, 0\)"),
    ({"discounts": ["a"] * 4}, "discounts: .* got .'a', 'a'"),
])  # fmt: skip
def test_terms_that_cannot_be_summed_are_refused(changed: dict[str, Any], message: str) -> None:
    class Odd(Measure):
        def _terms(self, statistics: Any, depth: int) -> tuple[Term, ...]:
            right = {"discounts": np.ones(depth), "novelty": np.ones(depth + 1), "weights": statistics.weights}
            return (Term(**(right | {key: np.array(value) for key, value in changed.items()})),)

    refused(lambda: SelectionCore(TOPICS, reward=Odd(), horizon=4), message)
