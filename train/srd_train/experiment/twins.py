"""Twins: queries that ask for the same in other words, such as "Huntington disease" and "Huntington's Disease".

A learner that trains on one twin has seen the other's answers. And a document that was judged for one twin alone counts
as wrong for the other.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from srd_gym.data.notices import tell
from srd_gym.data.vectors import read_vectors
from srd_gym.topic import Topic, TopicSet
from srd_train.experiment.records import grouped

Groups = tuple[tuple[str, ...], ...]
"""Query ids in groups: twins, and twins of twins, together; most are alone."""
NEAR = 0.9
"""Queries whose vectors have a cosine above it are twins."""
_ROWS = 4_096
"""Queries whose cosines with all others are in memory together."""


def near_pairs(one: NDArray[np.floating], other: NDArray[np.floating]) -> NDArray[np.int64]:
    """Pairs of rows with a cosine above `NEAR`.

    Args:
        one: [Q, F] vectors; rows of zeros are near nothing.
        other: [R, F] vectors.

    Returns:
        [P, 2] row numbers, rising.
    """
    ends = _units(other).T
    found = [np.empty((0, 2), np.int64)]
    for start in range(0, len(one), _ROWS):
        rows, columns = np.nonzero(_units(one[start : start + _ROWS]) @ ends > NEAR)
        found.append(np.stack([rows + start, columns], axis=1))
    return np.concatenate(found)


@lru_cache(maxsize=2)
def twins_of(query_ids: tuple[str, ...], path: Path) -> Groups:
    """The queries in groups, the groups by their first query.

    Args:
        query_ids: the queries; one without a vector has no twin.
        path: vectors of queries, as of `read_vectors`.

    Raises:
        FileNotFoundError, ValueError: as of `read_vectors`, or no query has a vector.
    """
    table = read_vectors(path, part="query", only=query_ids)
    known = [query_id for query_id in query_ids if query_id in table]
    if not known:
        raise ValueError(f"{path} has vectors of none of the {len(query_ids)} queries; name a file of their vectors")
    vectors = table.rows(known)
    ends = near_pairs(vectors, vectors)
    linked = coo_array((np.ones(len(ends)), ends.T), shape=(len(known), len(known)))
    label = dict(zip(known, connected_components(linked, directed=False)[1].tolist(), strict=True))
    groups = grouped(query_ids, lambda query_id: label.get(query_id, query_id))
    return tuple(map(tuple, groups.values()))


def alike(query_ids: tuple[str, ...], end: str) -> Groups:
    """The queries in groups, those together whose ids are the same up to a text; an id without it is alone.

    Args:
        query_ids: the queries.
        end: the text.
    """
    return tuple(map(tuple, grouped(query_ids, lambda query_id: query_id.partition(end)[0]).values()))


def without_documents_of_twins(topics: TopicSet, groups: Groups) -> TopicSet:
    """The topics without candidates that are relevant to a twin alone: nobody judged them for this query.

    A notice counts the queries with twins.

    Args:
        topics: any set.
        groups: of `twins_of`.
    """
    several = [group for group in groups if len(group) > 1]
    tell(topics.name, "queries have twins, to whom their relevant documents are left", sum(several, ()))
    relevant = {name: _relevant(topics[name]) for group in several for name in group}
    others = {name: set[str]().union(*(relevant[one] for one in group)) for group in several for name in group}

    def apart(topic: Topic) -> Topic:
        foreign = others.get(topic.query_id, set()) - relevant.get(topic.query_id, set())
        return topic.take([number for number, name in enumerate(topic.doc_ids) if name not in foreign])

    return topics.replace(apart(topic) if topic.query_id in others else topic for topic in topics)


def parts_of_groups(groups: Groups, n: int, seed: int = 0) -> list[list[str]]:
    """Query ids in n parts of about the same size, the groups whole.

    Args:
        groups: of `twins_of`.
        n: number of parts.
        seed: of the shuffle of the groups.
    """
    total, dealt = sum(map(len, groups)), 0
    parts: list[list[str]] = [[] for _ in range(n)]
    for number in np.random.default_rng(seed).permutation(len(groups)):
        parts[dealt * n // total] += groups[number]
        dealt += len(groups[number])
    return parts


def tell_twins(train: TopicSet, test: TopicSet) -> None:
    """A notice of test queries with a twin among the training queries, by their own vectors, where they have some."""
    sides = [[topic for topic in part if topic.query_vector is not None] for part in (test, train)]
    if all(sides) and not train.simulated:
        one, other = (np.stack([topic.query_vector for topic in side]) for side in sides)  # type: ignore[misc]
        names = [sides[0][row].query_id for row in np.unique(near_pairs(one, other)[:, 0])]
        what = f"of {len(test)} test queries have a twin in training (cosine above {NEAR}); `twins` keeps them together"
        tell(train.name, what, names)


def _relevant(topic: Topic) -> set[str]:
    """Ids of the documents that cover something, of the pool where there is one."""
    names = set[str]()
    for ids, table in ((topic.doc_ids, topic.judgments), (topic.pool_ids, topic.pool)):
        if ids is not None and table is not None:
            names.update(ids[row] for row in np.flatnonzero((table >= 1).any(axis=1)))
    return names


def _units(vectors: NDArray[np.floating]) -> NDArray[np.float64]:
    """Rows of length 1; zeros stay."""
    rows = np.asarray(vectors, dtype=np.float64)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(lengths > 0, lengths, 1)
