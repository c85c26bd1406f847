"""DPP whose relevance is estimated: when the query counts, and what else does."""

from __future__ import annotations

import numpy as np
import pytest

from srd_agents.heuristic.estimated import Estimated, EstimatedConfig
from srd_gym.testing import check_ranker
from srd_gym.topic import Topic


def topic_of(cosines: list[float], query: bool = True) -> Topic:
    """Candidates with these cosines with the query, else in directions of their own."""
    own = np.eye(len(cosines)) * np.sqrt(1 - np.square(cosines))[:, None]
    return Topic(
        query_id="q",
        doc_ids=tuple(map(str, range(len(cosines)))),
        query_vector=np.eye(len(cosines) + 1)[0] if query else None,
        doc_vectors=np.column_stack([cosines, own]),
    )


@pytest.mark.parametrize(
    ("cosines", "counts"),
    [
        ([0.9, 0.8] + [0.1] * 8, True),  # two stand out
        ([0.5] * 5 + [0.1] * 5, True),
        ([0.6] * 9 + [0.0], False),  # one stands out as unlike the query
        ([0.5] * 10, True),  # all alike: there is nothing to decide
    ],
)
def test_the_query_counts_where_documents_stand_out(cosines: list[float], counts: bool) -> None:
    topic = topic_of(cosines)
    assert ("near the query" in Estimated().explain(topic)) == counts
    always = Estimated(EstimatedConfig(skewness=-99.0)).rank(topic, 10).tolist()
    without = Estimated().rank(topic_of(cosines, query=False), 10).tolist()
    assert Estimated().rank(topic, 10).tolist() == (always if counts else without)


def test_documents_unlike_all_others_come_late() -> None:
    rng = np.random.default_rng(0)
    groups = np.repeat(np.eye(12)[:3], 10, axis=0) + 0.05 * rng.standard_normal((30, 12))
    documents = np.vstack([np.eye(12)[9:], groups])  # the first three are alone
    topic = Topic(query_id="q", doc_ids=tuple(map(str, range(33))), doc_vectors=documents)
    shown = Estimated(EstimatedConfig(dense=2.0)).rank(topic, 3)
    assert sorted(((shown - 3) // 10).tolist()) == [0, 1, 2]
    assert set(Estimated(EstimatedConfig(dense=0.0)).rank(topic, 6).tolist()) >= {0, 1, 2}


def test_it_is_a_ranker_whatever_the_number_of_candidates() -> None:
    rng = np.random.default_rng(1)
    sizes = (1, 2, 7, 7, 65, 130, 1003)
    check_ranker(
        Estimated(),
        [
            Topic(
                query_id=str(place),
                doc_ids=tuple(map(str, range(n))),
                query_vector=rng.standard_normal(5) if place % 2 else None,
                doc_vectors=rng.standard_normal((n, 5)),
            )
            for place, n in enumerate(sizes)
        ],
    )
