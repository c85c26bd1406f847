"""scikit-learn: its own checks of estimators, its habits, and the end of a pipeline that begins with texts."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.decomposition import TruncatedSVD
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics.pairwise import cosine_distances
from sklearn.neighbors import NearestNeighbors
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator
from small_topics import refused

from srd_agents import diversify
from srd_agents.integrations.sklearn import DiverseNeighbors
from srd_agents.pipeline.arguments import Knobs

DOCUMENTS = np.random.default_rng(0).normal(size=(30, 5)).astype(np.float32)
QUERIES = np.random.default_rng(1).normal(size=(4, 5)).astype(np.float32)


@pytest.mark.parametrize("options", [{}, {"diversity": 0.5}])
def test_scikit_learns_checks_pass(options: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # skipped checks of array types that are not installed
        check_estimator(DiverseNeighbors(3, **options))


def test_parameters_are_read_set_and_cloned() -> None:
    made = DiverseNeighbors(3, n_candidates=20, diversity=0.0, ranker="dpp")
    given = {"n_neighbors": 3, "n_candidates": 20, "diversity": 0.0, "ranker": "dpp"}
    assert made.get_params() == {**given, **Knobs().knobs()}
    assert clone(made).get_params() == made.get_params()
    fitted = made.fit(DOCUMENTS)
    expected = fitted.predict(QUERIES)
    assert made.set_params(diversity=1.0).fit(DOCUMENTS).predict(QUERIES).tolist() != expected.tolist()


def test_no_diversity_is_scikit_learns_own_search() -> None:
    own = NearestNeighbors(n_neighbors=6, metric="cosine").fit(DOCUMENTS).kneighbors(QUERIES)
    for options in ({"diversity": 0}, {}, {"diversity": 0.0, "ranker": "msd"}):
        distances, places = DiverseNeighbors(6, n_candidates=10, **options).fit(DOCUMENTS).kneighbors(QUERIES)
        np.testing.assert_array_equal(places, own[1])
        np.testing.assert_allclose(distances, own[0], atol=1e-6)


def test_equally_near_documents_stand_in_their_order_whatever_their_lengths() -> None:
    generator = np.random.default_rng(0)
    bags = (generator.random((60, 12)) < 0.3).astype(float)
    wanted = DiverseNeighbors(10, near_duplicates=None).fit(bags).predict(bags[:5] + bags[5:10])
    for _ in range(20):
        scaled = bags * generator.uniform(1e-3, 1e3, size=(60, 1))
        found = DiverseNeighbors(10, near_duplicates=None).fit(scaled).predict(bags[:5] + bags[5:10])
        assert found.tolist() == wanted.tolist()


def test_no_more_candidates_are_looked_at_than_asked_for() -> None:
    near = NearestNeighbors(n_neighbors=8, metric="cosine").fit(DOCUMENTS).kneighbors(QUERIES)[1]
    found = DiverseNeighbors(3, n_candidates=8, diversity=1.0).fit(DOCUMENTS).predict(QUERIES)
    assert all(set(shown) <= set(among) for shown, among in zip(found.tolist(), near.tolist(), strict=True))
    assert DiverseNeighbors(3, n_candidates=1).fit(DOCUMENTS).predict(QUERIES).shape == (4, 3)
    assert DiverseNeighbors(50).fit(DOCUMENTS).kneighbors(QUERIES, n_neighbors=40)[1].shape == (4, 30)


def test_groups_budgets_and_what_was_shown() -> None:
    groups, costs = np.arange(30) % 3, np.ones(30)
    search = DiverseNeighbors(8, n_candidates=30, diversity=0.4, max_per_group=2, budget=7.0, fill=True)
    seen: Any = [[0, 1], None, [5], []]
    distances, rows, filled = search.fit(DOCUMENTS, groups=groups, costs=costs).kneighbors(
        QUERIES, already_shown=seen, return_filled=True
    )
    for row, query in enumerate(QUERIES):
        cosines = DOCUMENTS @ query / np.linalg.norm(DOCUMENTS, axis=1) / np.linalg.norm(query)
        limits: dict[str, Any] = {"groups": groups, "max_per_group": 2, "costs": costs, "budget": 7.0, "fill": True}
        wanted = diversify(
            query,
            DOCUMENTS,
            8,
            "mmr",
            scores=cosines,
            diversity=0.4,
            **limits,
            already_shown=np.array(seen[row] or [], int),
        )
        assert rows[row].tolist() == [*wanted.indices, -1]
        assert filled[row].tolist() == [*wanted.filled, False]
        assert wanted.filled.any()
    assert np.isinf(distances[:, -1]).all()
    assert np.isfinite(distances[:, :-1]).all()
    refused(lambda: search.fit(DOCUMENTS), "groups and max_per_group belong together")
    refused(lambda: search.fit(DOCUMENTS, groups=groups[1:], costs=costs), r"^groups have shape \(29,\)")
    lost: dict[str, Any] = {"groups": [1, "1", None] * 10, "costs": [1.0, None, 2.0] * 10}
    with pytest.warns(UserWarning, match="without a group, .*: 10; .*without a cost, .*: 10; strict=True"):
        assert clone(search).fit(DOCUMENTS, **lost).costs_.max() == 2
    strict = clone(search).set_params(strict=True)
    refused(lambda: strict.fit(DOCUMENTS, **lost), "^groups must hold ids of one", TypeError)
    refused(lambda: search.fit(DOCUMENTS, groups=groups, costs=-costs), "^costs must be at least 0, got -1.0")
    refused(lambda: search.predict(QUERIES, already_shown=[None]), "expected already_shown of 4 queries")


def test_what_was_shown_counts_wherever_it_is_and_takes_no_candidates_place() -> None:
    groups = np.arange(30) % 3
    search = DiverseNeighbors(4, n_candidates=5, max_per_group=2).fit(DOCUMENTS, groups=groups)
    near = NearestNeighbors(n_neighbors=30, metric="cosine").fit(DOCUMENTS).kneighbors(QUERIES)[1]
    for row, order in enumerate(near):
        seen = [order[0], *[place for place in order[20:] if groups[place] == groups[order[1]]][:2]]
        fresh = [place for place in order if place not in seen][:5]
        allowed = [place for place in fresh if groups[place] != groups[order[1]]]
        counts, wanted = {groups[order[0]]: 1}, []
        for place in allowed:
            if counts.get(groups[place], 0) < 2:
                counts[groups[place]] = counts.get(groups[place], 0) + 1
                wanted.append(place)
        rows = search.predict(QUERIES[row, None], already_shown=[seen])[0]
        assert [place for place in rows if place >= 0] == wanted[:4]


def test_an_answer_is_what_was_shown_of_the_next() -> None:
    search = DiverseNeighbors(8, n_candidates=9, diversity=0.4).fit(DOCUMENTS)
    pages = [search.predict(QUERIES)]
    for _ in range(3):
        pages.append(search.predict(QUERIES, already_shown=np.hstack(pages)))
    assert (np.sort(np.hstack(pages), axis=1) == [-1, -1, *range(30)]).all()
    assert search.predict(QUERIES, already_shown=np.hstack(pages)).tolist() == [[-1] * 8] * 4


def test_value_per_cost_and_the_kind_of_relevance() -> None:
    costs = np.random.default_rng(2).integers(1, 9, size=30)
    cosines = QUERIES @ DOCUMENTS.T / np.linalg.norm(DOCUMENTS, axis=1) / np.linalg.norm(QUERIES, axis=1)[:, None]
    worth: dict[str, Any] = {"budget": 12.0, "per_cost": True}
    search = DiverseNeighbors(5, n_candidates=30, **worth).fit(DOCUMENTS, costs=costs)
    scaled = DiverseNeighbors(5, n_candidates=30, diversity=0.4, relevance="minmax").fit(DOCUMENTS)
    lists = search.predict(QUERIES).tolist(), scaled.predict(QUERIES).tolist()
    for row, (query, near) in enumerate(zip(QUERIES, cosines, strict=True)):
        wanted = diversify(query, DOCUMENTS, 5, scores=near, costs=costs, **worth).indices.tolist()
        assert [place for place in lists[0][row] if place >= 0] == wanted
        wanted = diversify(query, DOCUMENTS, 5, "mmr", near, diversity=0.4, relevance="minmax").indices.tolist()
        assert lists[1][row] == wanted
    plain = DiverseNeighbors(5, n_candidates=30, diversity=0.4).fit(DOCUMENTS).predict(QUERIES)
    assert plain.tolist() != lists[1], "the kind of relevance matters here"
    refused(lambda: DiverseNeighbors(per_cost=True).fit(DOCUMENTS), "per_cost divides by costs")
    refused(lambda: DiverseNeighbors(relevance="minmx").fit(DOCUMENTS), "Did you mean minmax")


def test_a_pipeline_that_begins_with_texts() -> None:
    texts = ["jaguar cat river", "jaguar cat river", "jaguar car engine", "python snake", "python code"]
    search = make_pipeline(TfidfVectorizer(), TruncatedSVD(4, random_state=0), DiverseNeighbors(2, diversity=0.6))
    shown = search.fit(texts).predict(["jaguar river"])
    assert [texts[i] for i in shown[0]] == ["jaguar cat river", "jaguar car engine"]


@pytest.mark.parametrize(("options", "error", "message"), [
    ({"n_neighbors": 0}, ValueError, "n_neighbors must be at least 1, got 0"),
    ({"n_candidates": 2.5}, TypeError, "n_candidates must be a whole number, got 2.5"),
    ({"diversity": "much"}, TypeError, "diversity must be a number, got 'much'"),
])  # fmt: skip
def test_bad_options_are_named_by_fit(options: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        DiverseNeighbors(**options).fit(DOCUMENTS)


def test_bad_queries_are_named() -> None:
    refused(lambda: DiverseNeighbors().predict(QUERIES), "not fitted", NotFittedError)
    fitted = DiverseNeighbors(3).fit(DOCUMENTS)
    refused(lambda: fitted.predict(QUERIES[:, :4]), "X has 4 features")
    refused(lambda: fitted.predict(QUERIES * np.nan), "NaN")
    seen: Any
    for seen, error, message in (
        ([999], ValueError, "already_shown names row 999"),
        ([-2], ValueError, "already_shown names row -2"),
        ([0.5], TypeError, "already_shown must hold whole numbers"),
        ([True], TypeError, "already_shown must hold whole numbers"),
        (["d1"], TypeError, "already_shown must hold whole numbers"),
    ):
        refused(lambda: fitted.predict(QUERIES, already_shown=[None, seen, None, None]), message, error)  # noqa: B023
    refused(
        lambda: fitted.predict(QUERIES, subtopics=[None, ["a"], None, None]), "subtopics must hold numbers", TypeError
    )
    refused(lambda: fitted.kneighbors(QUERIES, n_neighbors=0), "n_neighbors must be at least 1, got 0")


def test_pinned_rows_stand_in_their_places_and_kinds_of_groups_have_limits_of_their_own() -> None:
    kinds = {"site": [i % 3 for i in range(len(DOCUMENTS))], "brand": [None, *["b"] * (len(DOCUMENTS) - 1)]}
    search = DiverseNeighbors(4, n_candidates=20, max_per_group={"site": 2}, min_per_group={"site": {1: 2}})
    with pytest.warns(UserWarning, match="^documents without a group"):
        search.fit(DOCUMENTS, groups=kinds)
    farthest = int(cosine_distances(QUERIES[:1], DOCUMENTS).argmax())
    places = search.predict(QUERIES, pinned=[[None, farthest], *[None] * (len(QUERIES) - 1)])
    assert places[0, 1] == farthest
    assert all(max(np.bincount(row % 3)) <= 2 and (row % 3 == 1).sum() == 2 for row in places)
    refused(lambda: search.predict(QUERIES[:1], pinned=[[5]], already_shown=[[5]]), "query 0: pinned must name none of")
    refused(lambda: search.predict(QUERIES[:1], pinned=[[99]]), "pinned names row 99, where fit was given")
