"""What may be shown, and how diverse it is to be: laws of `diversity`, near copies, groups, budgets and pages."""

from __future__ import annotations

import enum
import os
import warnings
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_topics import Own, refused

from srd_agents import diversify, make_ranker
from srd_agents.heuristic import coverage
from srd_agents.pipeline.capabilities import rankers_with
from srd_gym.data import load_ambient
from srd_gym.topic import Topic

NAN = float("nan")
NotATime = type("NaTType", (), {})
"""What pandas calls a missing time."""
STEPS = (0.0, 0.25, 0.5, 0.75, 1.0)
EXPLICIT = ("xquad", "pm2", "vrisker")
TAKE_DIVERSITY = rankers_with("with_diversity")


def backwards(topic: Topic, k: int) -> Any:
    return np.arange(topic.n_candidates)[::-1][:k]


class Scorer(Own):
    """A ranker that is asked for scores at each step."""

    def score(self, topic: Topic, selected: Any, allowed: Any) -> Any:
        assert not allowed[selected].any()
        return np.arange(topic.n_candidates, dtype=float)


RANKED = [None, *TAKE_DIVERSITY, "retrieval-order", Own(backwards), Scorer(backwards)]


def case(seed: int, n: int = 12) -> dict[str, Any]:
    """Documents with copies among them, scores with ties, in no order."""
    generator = np.random.default_rng(seed)
    documents = generator.normal(size=(n, 4))
    documents[generator.integers(n, size=n // 3)] = documents[0] * 2
    scores = generator.integers(5, size=n).astype(float)
    return {"query_vector": generator.normal(size=4), "doc_vectors": documents, "scores": scores}


def asked(seed: int, ranker: Any) -> dict[str, Any]:
    named = ranker in EXPLICIT or (ranker == "safe" and seed % 2)
    return {**case(seed), "ranker": ranker, "subtopics": np.eye(4)[:3] if named else None}


def copies_of(documents: Any, earlier: Any) -> Any:
    units = documents / np.linalg.norm(documents, axis=1, keepdims=True)
    return (units @ units[earlier].T >= 0.9999).any(axis=1)


@pytest.mark.parametrize("ranker", TAKE_DIVERSITY)
@given(seed=st.integers(0, 2**32 - 1), k=st.integers(1, 14))
def test_zero_is_the_order_of_relevance_copies_included(ranker: str, seed: int, k: int) -> None:
    given = asked(seed, ranker)
    found = diversify(**given, k=k, diversity=0).indices
    assert found.tolist() == np.argsort(-given["scores"], kind="stable")[:k].tolist()
    documents, query = given["doc_vectors"], given["query_vector"]
    cosines = documents @ query / np.linalg.norm(documents, axis=1) / np.linalg.norm(query)
    by_cosine = diversify(**{**given, "scores": None}, k=k, diversity=0.0).indices
    np.testing.assert_allclose(cosines[by_cosine], np.sort(cosines)[::-1][:k], atol=1e-6)


@pytest.mark.parametrize("ranker", ["pm2", "relational-pretrained", "safe"])
def test_without_scores_and_query_candidates_stand_as_they_came(ranker: str) -> None:
    given = {**asked(1, ranker), "scores": None, "query_vector": None}
    assert diversify(**given, k=12, diversity=0).indices.tolist() == list(range(12))
    if ranker != "pm2":
        assert diversify(**given, k=12, diversity=0.5).indices.tolist() != list(range(12))


def test_mmr_with_lambda_one_less_and_safe_as_mmr() -> None:
    given = asked(0, "mmr")
    wanted = diversify(
        **{**given, "ranker": make_ranker("mmr", lambda_=0.25, relevance="matched")}, k=9
    ).indices.tolist()
    for ranker in ("mmr", "safe", make_ranker("mmr", lambda_=0.9), None):
        assert diversify(**{**given, "ranker": ranker}, k=9, diversity=0.75).indices.tolist() == wanted


def test_rankers_that_take_no_diversity_name_those_that_do() -> None:
    for ranker in ("random", Own(backwards)):
        with pytest.raises(ValueError, match=r"does not: leave diversity out, or take one that does: mmr, .*safe"):
            diversify(**{**case(0), "ranker": ranker}, k=3, diversity=0.5)
    refused(lambda: diversify(**case(0), k=3, diversity=float("nan")), "diversity must be between 0 and 1")
    refused(lambda: diversify(**case(0), k=3, diversity="much"), "diversity", TypeError)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "ranker", RANKED, ids=lambda ranker: ranker if isinstance(ranker, str) else type(ranker).__name__
)
@given(seed=st.integers(0, 2**32 - 1), k=st.integers(1, 14), data=st.data())
def test_limits_hold(ranker: Any, seed: int, k: int, data: st.DataObject) -> None:
    given = asked(seed, ranker)
    documents, n = given["doc_vectors"], len(given["doc_vectors"])
    diversity = data.draw(st.sampled_from([None, 0.3, 1.0])) if ranker is None or ranker in TAKE_DIVERSITY else None
    groups = data.draw(st.none() | st.lists(st.sampled_from("abc"), min_size=n, max_size=n))
    costs = data.draw(st.none() | st.lists(st.sampled_from([0.0, 0.1, 1.0, 3.5]), min_size=n, max_size=n))
    shown = data.draw(st.lists(st.integers(0, n - 1), max_size=5, unique=True))
    most, budget = data.draw(st.integers(1, 3)), data.draw(st.sampled_from([0.3, 2.0, 5.0])) + min(costs or [0])
    limits = {"groups": groups, "max_per_group": groups and most, "costs": costs, "budget": costs and budget}
    found = diversify(**given, k=k, diversity=diversity, **limits, already_shown=shown).indices.tolist()
    assert len(set(found)) == len(found) <= k
    assert not set(found) & set(shown)
    counts = {group: sum(groups[i] == group for i in (*shown, *found)) for group in "abc"} if groups else {}
    assert all(sum(groups[i] == group for i in found) == 0 or count <= most for group, count in counts.items())
    spent = round(sum(costs[i] for i in found), 9) if costs else 0.0  # as sums of tenths are meant
    assert spent <= budget
    left = [i for i in range(n) if i not in (*shown, *found)]
    if len(found) < k:  # only because nothing else fits
        assert all(
            (groups and counts[groups[i]] >= most) or (costs and round(spent + costs[i], 9) > budget) for i in left
        )
    if not groups and not costs and len(found):  # copies come last, those of documents shown before among them
        late = [bool(copies_of(documents, [*shown, *found[:r]])[i]) for r, i in enumerate(found)]
        assert late == sorted(late)


@pytest.mark.parametrize("per_cost", [False, True])
@pytest.mark.parametrize(("costs", "budget", "fit"), [
    ([0.1] * 12, 0.3, 3),
    (np.full(12, 0.1, np.float32), 1.0, 10),
    ([0.1 + 0.2] * 12, 0.3, 1),
    ([0.35] * 12, np.float32(0.7), 2),
    ([1_000_001] * 12, 2_000_001, 1),
])  # fmt: skip
def test_costs_that_sum_to_the_budget_fit_it(per_cost: bool, costs: Any, budget: float, fit: int) -> None:
    found = diversify(**case(0), k=12, costs=costs, budget=budget, per_cost=per_cost)
    assert len(found.indices) == fit


class Column:
    """As a column of a data frame: numpy reads it as objects."""

    def __init__(self, *values: Any) -> None:
        self.values = values

    def __len__(self) -> int:
        return len(self.values)

    def __iter__(self) -> Any:
        return iter(self.values)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.array(self.values, dtype or object)


def test_columns_of_objects_are_read_as_what_they_hold() -> None:
    given: dict[str, Any] = {"doc_vectors": np.eye(4), "k": 4, "max_per_group": 1}
    found = diversify(None, **given, scores=Column(4.0, 3, 2.5, 1), groups=Column("a", "b", "a", "c"))
    assert found.indices.tolist() == [0, 1, 3]


Site = enum.Enum("Site", {"ONE": "a", "OTHER": "b", "LAST": "c"}, type=str)
"""Text, whose name numpy would cut to its length."""


@pytest.mark.parametrize("groups", [
    Column(1, 2, 1, 3),
    [Site.ONE, Site.OTHER, Site.ONE, Site.LAST],
    (np.str_("a"), "b", "a", "c"),
    [np.int64(1), 2, 1, np.uint8(3)],
    [-1, 2**63, -1, 2**63 + 1],
    np.array(["a", "b", "a", "c"], np.dtypes.StringDType()),
    np.array(["a", "a\0", "a", "b"], object),
])  # fmt: skip
def test_a_group_is_the_same_in_any_container(groups: Any) -> None:
    found = diversify(None, np.eye(4), 4, scores=[4, 3, 2, 1], groups=groups, max_per_group=1)
    assert found.indices.tolist() == [0, 1, 3]
    assert found.explain().groups == 3


@pytest.mark.parametrize(("limits", "indices", "filled"), [
    ({"groups": "xyxxy", "max_per_group": 1}, [0, 4, 2, 3, 1], [0, 0, 1, 1, 1]),  # a copy of what is shown comes last
    ({"groups": "xyxxy", "max_per_group": 2}, [0, 2, 4, 1, 3], [0, 0, 0, 0, 1]),  # copies within the cap come first
    ({"groups": "xyxxy", "max_per_group": 1, "already_shown": [0]}, [4, 2, 3, 1], [0, 1, 1, 1]),
    ({"groups": "xyxxy", "max_per_group": 1, "costs": [1, 1, 3, 1, 1], "budget": 3}, [0, 4, 3], [0, 0, 1]),
])  # fmt: skip
def test_fill_takes_the_best_above_the_cap_and_marks_them(limits: Any, indices: Any, filled: Any) -> None:
    documents, scores = [[1, 0, 0], [1, 0, 0.01], [0, 1, 0], [0, 0, 1], [0.6, 0.8, 0]], [5, 4, 3, 2, 1]
    given: dict[str, Any] = {"k": 5, "scores": scores, "fill": True} | limits
    given["groups"] = list(given["groups"])
    found = diversify(None, documents, **given)
    assert (found.indices.tolist(), found.filled.tolist()) == (indices, [bool(each) for each in filled])
    capped = diversify(None, documents, **given | {"fill": False})
    assert capped.indices.tolist() == found.indices[~found.filled].tolist()
    assert not capped.filled.any()


@pytest.mark.parametrize("per_cost", [False, True])
def test_fill_in_a_batch(per_cost: bool) -> None:
    """Groups of 9 and 3 at most 3 each leave 6 of 12; of 4 documents in one group, 3."""
    one, other = case(2), {name: value[:4] for name, value in case(4).items()}
    limits: dict[str, Any] = {"max_per_group": 3, "budget": 11.5, "per_cost": per_cost, "fill": True}
    groups, costs = [list("aaab" * 3), ["a"] * 4], [[1.0] * 12, [1.0] * 4]
    found = diversify(
        [one["query_vector"], other["query_vector"]],
        [one["doc_vectors"], other["doc_vectors"]],
        12,
        scores=[one["scores"], other["scores"]],
        groups=groups,
        costs=costs,
        **limits,
    )
    assert found.filled.tolist() == [[False] * 6 + [True] * 5, [False] * 3 + [True] + [False] * 7]
    for row, topic in enumerate((one, other)):
        alone = diversify(**topic, k=12, groups=groups[row], costs=costs[row], **limits)
        assert found.topics()[row].indices.tolist() == alone.indices.tolist()
        assert found.topics()[row].filled.tolist() == alone.filled.tolist()


@pytest.mark.parametrize("ranker", TAKE_DIVERSITY)
def test_page_after_page_shows_everything_once(ranker: str) -> None:
    given, pages = asked(3, ranker), list[int]()
    # Copies that `safe` moves to the end have had seats of PM-2; on pages they are passed over, and have none.
    given["near_duplicates"] = None if ranker == "safe" else 0.9999
    for _ in range(4):
        pages += diversify(**given, k=3, already_shown=pages).indices.tolist()
    assert pages == diversify(**given, k=12).indices.tolist()
    assert diversify(**given, k=3, already_shown=pages).indices.tolist() == []


@pytest.mark.parametrize("ranker", [None, *EXPLICIT])
@given(seed=st.integers(0, 2**32 - 1))
def test_what_was_shown_has_covered_its_subtopics(ranker: str | None, seed: int) -> None:
    """Of two subtopics with two alike documents each, the next one shown is of the other."""
    documents = np.eye(3)[[0, 0, 1, 1]] + np.random.default_rng(seed).normal(scale=0.05, size=(4, 3))
    for shown in range(4):
        found = diversify(
            None, documents, 3, ranker, [1] * 4, subtopics=np.eye(3)[:2], already_shown=[shown], near_duplicates=None
        )
        assert found.indices[0] // 2 != shown // 2


def test_a_budget_below_every_cost_is_told() -> None:
    with pytest.warns(UserWarning, match=r"^no document fits a budget of 1.0, the cheapest costs 2.0"):
        found = diversify(**case(0), k=3, costs=[2] * 12, budget=1.0)
    assert found.indices.tolist() == found.scores.tolist() == []
    with pytest.warns(UserWarning, match=r"^topic '1': no document fits a budget of 1.0"):
        diversify(None, [np.eye(2)] * 2, 1, costs=[[1, 1], [2, 2]], budget=1.0)


LOST = (None, NAN, np.float32("nan"), NotATime())


@pytest.mark.parametrize("lost", LOST)
def test_a_missing_score_ranks_last_a_missing_group_is_its_own_and_a_missing_cost_is_the_largest(lost: Any) -> None:
    documents = np.eye(6)
    with pytest.warns(UserWarning, match="^documents without a score, which come last: 2; strict=True") as told:
        assert diversify(None, documents, 6, scores=[lost, 2, 1, 3, lost, 1]).indices.tolist() == [3, 1, 2, 5, 0, 4]
    assert len(told) == 1
    scores = [6, 5, 4, 3, 2, 1]
    groups = ["a", lost, "a", lost, 7, UUID(int=7)]
    with pytest.warns(UserWarning, match="^documents without a group, which are groups of their own: 2; strict"):
        found = diversify(None, documents, 6, scores=scores, groups=groups, max_per_group=1)
    assert found.indices.tolist() == [0, 1, 3, 4, 5]
    assert found.note.endswith("documents without a group, which are groups of their own: 2")
    with pytest.warns(UserWarning, match="^documents without a cost, which count as the largest: 1; strict"):
        found = diversify(None, documents, 6, scores=scores, costs=[1, lost, 5, 1, 1, 1], budget=4)
    assert found.indices.tolist() == [0, 3, 4, 5]
    with pytest.warns(
        UserWarning, match="score, .*: 3; .*cost, .*: 2; .*group, .*: 1; strict"
    ) as told:  # of all topics
        batch = diversify(
            None, [documents, documents], 2, scores=[[lost, 1, 1, 1, 1, 1], [lost, lost, 1, 1, 1, 1]],
            groups=[["a"] * 6, [lost, *"bcdef"]], max_per_group=1, costs=[[lost, lost, 1, 1, 1, 1], [1] * 6], budget=2,
        )  # fmt: skip
    assert len(told) == 1
    assert [each.note.count("documents without") for each in batch.topics()] == [2, 2]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert (
            diversify(None, documents, 6, scores=[lost] * 6).indices.tolist()
            == diversify(None, documents, 6).indices.tolist()
        )


@pytest.mark.parametrize("given", [
    {"scores": [1, None]}, {"scores": [1, NAN]}, {"groups": ["a", None], "max_per_group": 1},
    {"groups": ["a", 1], "max_per_group": 1}, {"groups": [UUID(int=1), UUID(int=2)], "max_per_group": 1},
    {"costs": [1, None], "budget": 1},
])  # fmt: skip
def test_strict_refuses_what_is_missing(given: dict[str, Any]) -> None:
    with pytest.raises((TypeError, ValueError), match=r"must hold|holds NaN"):
        diversify(None, np.eye(2), 2, **given, strict=True)


STRICT = {"max_per_group": 1, "strict": True}


@pytest.mark.parametrize(("arguments", "error", "message"), [
    ({"groups": ["a"], "max_per_group": 1}, ValueError, r"groups have shape \(1,\)"),
    ({"groups": ["a"] * 12}, ValueError, "groups and max_per_group belong together"),
    (STRICT | {"groups": [1, "1"] * 6}, TypeError, "one kind, .*got 1 beside text"),
    ({"groups": [["a"]] * 12, "max_per_group": 1}, TypeError, r"groups must hold ids, .*got \['a'\]"),
    ({"costs": [None] * 12, "budget": 1}, ValueError, "no document has a cost"),
    ({"costs": [1, None] * 6, "budget": 1, "strict": True}, TypeError, "costs must hold numbers, got None"),
    ({"costs": [1] * 11 + [-1], "budget": 1}, ValueError, r"at least 0, got -1.0 \(document 11\)"),
    ({"costs": [float("inf")] * 12, "budget": 1}, ValueError, "costs holds NaN or infinity"),
    ({"costs": [1] * 12, "budget": -1}, ValueError, "budget must be finite and at least 0"),
    ({"fill": True}, ValueError, "fill=True fills up .*: give groups and"),
    ({"groups": ["a"] * 12, "max_per_group": 1, "fill": 3}, TypeError, "fill must be True or False, got 3"),
    ({"already_shown": [12]}, ValueError, "shown names document 12"),
    ({"already_shown": [0, -1]}, ValueError, "shown names document -1"),
    ({"already_shown": [[0]]}, ValueError, r"shown have shape \(1, 1\)"),
    ({"already_shown": [0.0]}, TypeError, "shown must hold whole numbers"),
])  # fmt: skip
def test_bad_input_is_named(arguments: dict[str, Any], error: type[Exception], message: str) -> None:
    refused(lambda: diversify(**case(0), k=3, **arguments), message, error)


def odd_vectors(data: st.DataObject, rows: int, width: int) -> Any:
    """Of any type that holds numbers; some of them zero, or all the same."""
    generator = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    dtype = data.draw(st.sampled_from([np.float16, np.float32, np.float64, np.int8]))
    values = (generator.normal(size=(rows, width)) * 3).astype(dtype)
    values[data.draw(st.integers(0, rows)) :] = data.draw(st.sampled_from([0, 1]))
    return values


@given(n=st.integers(1, 10), s=st.integers(1, 14), width=st.integers(1, 5), k=st.integers(1, 12), data=st.data())
@settings(max_examples=150)
def test_subtopics_may_be_few_or_many_zero_or_all_the_same(n: int, s: int, width: int, k: int, data: Any) -> None:
    query = odd_vectors(data, 1, width)[0] if data.draw(st.booleans()) else None
    given: dict[str, Any] = {"doc_vectors": odd_vectors(data, n, width), "subtopics": odd_vectors(data, s, width)}
    given["scores"] = data.draw(st.none() | st.lists(st.integers(0, 3), min_size=n, max_size=n))
    for diversity in (None, 0.0, 0.5, 1.0):
        found = diversify(query, k=k, **given, diversity=diversity).indices.tolist()
        assert len(set(found)) == len(found) == min(k, n)


@pytest.mark.data
@pytest.mark.skipif("SRD_DATA_DIR" not in os.environ, reason="SRD_DATA_DIR names no folder of data sets")
@pytest.mark.parametrize("scored", [True, False])
@pytest.mark.parametrize("ranker", [name for name in TAKE_DIVERSITY if name not in EXPLICIT])
def test_more_diversity_shows_documents_that_are_less_alike(ranker: str, scored: bool) -> None:
    folder = Path(os.environ["SRD_DATA_DIR"]) / "ambient"
    topics = load_ambient(folder, vectors=folder / "minilm-384.npz")
    given: dict[str, Any] = {
        "query_vector": [topic.query_vector for topic in topics],
        "doc_vectors": [topic.doc_vectors for topic in topics],
        "scores": [topic.retrieval_scores for topic in topics] if scored else None,
    }
    alike = []
    for diversity in STEPS:
        shown = diversify(**given, k=10, ranker=ranker, diversity=diversity).indices
        units = [documents[row] for documents, row in zip(given["doc_vectors"], shown, strict=True)]
        units = [rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in units]
        alike.append(np.mean([(rows @ rows.T)[np.triu_indices(10, 1)].mean() for rows in units]))
        assert diversity == 0 or max((rows @ rows.T)[np.triu_indices(10, 1)].max() for rows in units) < 0.9999
    assert (np.diff(alike) <= 0.005).all(), alike
    assert alike[-1] < alike[0] - 0.1


@pytest.mark.parametrize("ranker", ["cover", "facility-location"])
@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=15)
def test_rankers_by_coverage_choose_lazily_within_limits_what_they_choose_otherwise(ranker: str, seed: int) -> None:
    limits = {"groups": list("aabbc" * 8), "max_per_group": 3, "already_shown": [1, 7], "fill": True}
    found = []
    for least in (0, 1 << 40):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(coverage, "LAZY_FROM", least)
            found.append(diversify(**case(seed, 40), k=20, ranker=ranker, **limits).indices.tolist())
    assert found[0] == found[1]
