"""Queries that ask for the same: found, kept in one part, and not held against each other."""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path

import numpy as np
import pytest
from made_results import TINY, recipe
from numpy.typing import NDArray
from small_topics import refused, small_topic

from srd_gym.data.notices import DataNotice
from srd_gym.topic import TopicSet
from srd_train.experiment.cells import tasks
from srd_train.experiment.recipe import RankerEntry
from srd_train.experiment.sources import TopicsEntry, groups_in
from srd_train.experiment.split import Parts, in_parts
from srd_train.experiment.twins import alike, near_pairs, parts_of_groups, twins_of, without_documents_of_twins

GROUPS = (("a", "c", "d"), ("b",), ("e",), *((f"q{number}",) for number in range(15)))


def at(*degrees: float) -> NDArray[np.float64]:
    """Vectors of these directions, each of another length."""
    angles = np.deg2rad(degrees)
    return np.stack([np.cos(angles), np.sin(angles)], axis=1) * np.arange(1, len(degrees) + 1)[:, None]


def test_twins_of_twins_are_one_group_and_who_has_no_vector_is_alone(tmp_path: Path) -> None:
    vectors = np.concatenate([at(0, 90, 20, 40), np.zeros((1, 2))])
    np.savez(tmp_path / "v.npz", query_ids=np.array(["a", "b", "c", "d", "zero"]), query_vectors=vectors)
    groups = twins_of(("zero", "d", "b", "e", "c", "a"), tmp_path / "v.npz")
    assert groups == (("zero",), ("d", "c", "a"), ("b",), ("e",))
    refused(lambda: twins_of(("f", "g"), tmp_path / "v.npz"), "has vectors of none of the 2 queries")


@pytest.mark.parametrize("rows", [1, 3, 4_096])
def test_near_pairs_are_those_of_all_cosines(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("srd_train.experiment.twins._ROWS", rows)
    one, other = (np.random.default_rng(seed).normal(size=(7, 2)) for seed in (0, 1))
    cosines = [[a @ b / np.linalg.norm(a) / np.linalg.norm(b) for b in other] for a in one]
    assert near_pairs(one, other).tolist() == np.argwhere(np.array(cosines) > 0.9).tolist() != []


def test_what_answers_a_twin_alone_is_no_candidate() -> None:
    first = small_topic([[1, 0], [0, 0], [0, 0], [0, 2]], "a")
    second = small_topic([[1, 0], [0, 1], [0, 0], [0, 0]], "c")
    third = small_topic([[0, 0], [0, 0], [1, 0], [0, 0]], "b")
    topics = TopicSet([first, second, third], name="three")
    with pytest.warns(DataNotice, match=r"three: 2 queries have twins"):
        apart = without_documents_of_twins(topics, (("a", "c"), ("b",)))
    assert [topic.doc_ids for topic in apart] == [("a", "c", "d"), ("a", "b", "c"), ("a", "b", "c", "d")]


@pytest.mark.parametrize("n", [3, 5])
def test_parts_hold_each_query_once_and_groups_whole(n: int) -> None:
    parts = parts_of_groups(GROUPS, n)
    assert sorted(chain(*parts)) == sorted(chain(*GROUPS))
    assert sum({"a", "c", "d"} <= set(part) for part in parts) == 1
    sizes = [len(part) for part in parts]
    assert max(sizes) - min(sizes) <= 3
    assert parts == parts_of_groups(GROUPS, n) != parts_of_groups(GROUPS, n, seed=1)


def test_folds_keep_twins_together_and_each_draws_its_training_queries() -> None:
    names = [name for group in GROUPS for name in group]
    topics = TopicSet([small_topic(query_id=name) for name in names], name="set")
    splits = [
        in_parts(topics, Parts(together="twins", train_queries=6), f"{fold}/3", groups=GROUPS) for fold in range(1, 4)
    ]
    tests = [set(split.test.query_ids) for split in splits if split.test is not None]
    assert sorted(chain(*tests)) == sorted(names)
    assert sum({"a", "c", "d"} <= test for test in tests) == 1
    assert len({split.train.query_ids for split in splits}) == 3
    assert all(len(split.train) == 6 for split in splits)


def test_folds_keep_queries_of_like_ids_together() -> None:
    names = ("list/1", "other", "list/2", "b/1", "b/2", "c", "d", "list/3")
    assert alike(names, "/") == (("list/1", "list/2", "list/3"), ("other",), ("b/1", "b/2"), ("c",), ("d",))
    topics = TopicSet([small_topic(query_id=name) for name in names], name="set")
    entry = TopicsEntry(name="x", source="words", together="/", folds=3)
    for fold in range(1, 4):
        split = in_parts(topics, entry.parts, f"{fold}/3", groups=groups_in(entry, topics))
        assert split.test is not None
        for group in alike(names, "/"):
            inside = [set(group) & set(part.query_ids) for part in (split.test, split.train, split.validation)]
            assert max(map(len, inside)) == len(group)
        assert split.description["ids"] == "together"


def test_a_twin_across_the_split_is_told() -> None:
    vectors = np.eye(9)
    vectors[8] = vectors[0]
    topics = TopicSet(
        [small_topic(query_id=str(i), doc_vectors=np.eye(2, 9), query_vector=vectors[i]) for i in range(9)], name="set"
    )
    seen = []
    for fold in range(1, 4):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            split = in_parts(topics, Parts(), f"{fold}/3")
        parts = [{"0", "8"} & set(() if part is None else part.query_ids) for part in (split.test, split.train)]
        told = any("set: 1 of 3 test queries have a twin in training" in str(one.message) for one in caught)
        assert told == all(parts)
        seen.append(told)
    assert set(seen) == {True, False}


def test_each_fold_takes_its_own_seed() -> None:
    entry = TopicsEntry(name="tiny", source=TINY.source, folds=3, one_seed_a_fold=True)
    made = recipe("mmr", RankerEntry(ranker="random", seeds=(7, 8)), topics=(entry,), seeds=(4, 5, 6))
    places = [(task.cells[0].row, task.cells[0].fold, task.cells[0].seed) for task in tasks(made)]
    mmr = [("mmr", fold, seed) for fold, seed in ((1, 4), (2, 5), (3, 6))]
    assert places == mmr + [("random", fold, 7) for fold in (1, 2, 3)]
    assert made.cells == len(places)


def test_twins_need_folds_that_are_drawn() -> None:
    entry = partial(TopicsEntry, name="x", source="words")
    refused(lambda: entry(twins="v.npz", shares=(5, 2, 3)), "leave out twins, or shares and folds_file")
    refused(lambda: entry(one_seed_a_fold=True, shares=(5, 2, 3)), "shares make one split")
    refused(lambda: entry(one_seed_a_fold=True, average="all"), "leave out one_seed_a_fold, or average")
    refused(lambda: entry(together="/", shares=(5, 2, 3)), "drawn by ids alone")
    refused(lambda: entry(together="/", twins="v.npz"), "drawn by ids alone")


def test_a_learner_needs_a_seed_for_each_fold() -> None:
    entry = TopicsEntry(name="tiny", source=TINY.source, folds=3, one_seed_a_fold=True)
    rows = (RankerEntry(ranker="r-ltr"),)
    refused(lambda: recipe("mmr", *rows, topics=(entry,), seeds=(4, 5)), "'r-ltr' has 2 seeds for 3 folds")
    assert recipe("mmr", *rows, topics=(replace(entry, rankers=("mmr",)),), seeds=(4,)).seeds == (4,)
    assert recipe("mmr", *rows, topics=(entry,), seeds=(4, 5, 6)).seeds == (4, 5, 6)
