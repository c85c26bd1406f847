"""One split by shares, fewer training queries, and subtopics held out of training."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from small_topics import alone, refused, small_topic

from srd_gym.data.synthetic import generate
from srd_train.experiment.cells import tasks
from srd_train.experiment.recipe import recipe_from
from srd_train.experiment.sources import TopicsEntry, load_entry
from srd_train.experiment.split import Parts, in_parts, with_subtopics

TOPICS = generate("tiny", n_topics=20, seed=0)


def ids(**parts: Any) -> tuple[tuple[str, ...], ...]:
    """The query ids of each part of the split by shares 5, 2, 3, with these changes."""
    split = in_parts(TOPICS, Parts(shares=(5, 2, 3), **parts), "1/1")
    assert split.test is not None
    return split.train.query_ids, split.validation.query_ids, split.test.query_ids


def test_shares_make_one_split_that_shares_no_query() -> None:
    parts = ids()
    assert [len(part) for part in parts] == [10, 4, 6]
    assert sorted(name for part in parts for name in part) == sorted(TOPICS.query_ids)
    assert parts == ids()


def test_fewer_training_queries_are_among_more_and_other_parts_stay() -> None:
    every, validation, test = ids()
    four, seven = (ids(train_queries=size) for size in (4, 7))
    assert (len(four[0]), len(seven[0])) == (4, 7)
    assert set(four[0]) < set(seven[0]) < set(every)
    assert four[1:] == seven[1:] == (validation, test)
    refused(lambda: ids(train_queries=11), "expected at most 10 queries to train")


@pytest.mark.parametrize(("shares", "message"), [
    ((70, 30), "shares must be three positive numbers"),
    ((70, 0, 30), "shares must be three positive numbers"),
    ((1000, 1, 1), "leave a part of the 20 topics empty"),
])  # fmt: skip
def test_shares_that_make_no_split_are_refused(shares: tuple[float, ...], message: str) -> None:
    refused(lambda: in_parts(TOPICS, Parts(shares=shares), "1/1"), message)


def test_a_held_out_subtopic_leaves_no_trace_in_training() -> None:
    judgments = [[1, 0], [0, 1], [0, 0], [1, 1]]
    topic = small_topic(judgments, subtopic_texts=("one", "two"), subtopic_vectors=np.eye(2), doc_vectors=np.eye(4, 2))
    (kept,) = with_subtopics(alone(topic), ("1",))
    assert kept.doc_ids == ("a", "c", "d")  # b is relevant to the other one alone: neither right nor wrong
    assert kept.judgments is not None
    assert kept.judgments.tolist() == [[1], [0], [1]]
    assert kept.subtopic_ids == ("1",)
    assert kept.subtopic_texts == ("one",)
    np.testing.assert_array_equal(kept.subtopic_vectors, [[1, 0]])
    refused(lambda: in_parts(TOPICS, Parts(train_subtopics=("other",)), "1/3"), "unknown subtopic of 'synthetic:tiny")
    elsewhere = small_topic([[1, 0]], "2", subtopic_ids=("9", "1"))
    assert len(with_subtopics(alone(elsewhere), ("1",))) == 0  # no candidate is left


def test_training_and_test_keep_their_own_subtopics() -> None:
    names = sorted({name for topic in TOPICS for name in topic.subtopic_ids})
    split = in_parts(TOPICS, Parts(shares=(5, 2, 3), train_subtopics=(names[0],), test_subtopics=(names[1],)), "1/1")
    parts = (split.train, split.validation, split.test or ())
    found = [{name for topic in part for name in topic.subtopic_ids} for part in parts]
    assert found == [{names[0]}, {names[0]}, {names[1]}]


def recipe(**options: Any) -> dict[str, Any]:
    """A recipe's tables: two rankers, and a topic set with these options."""
    entry = {"name": "t", "source": "synthetic:tiny:20:0", "shares": [5, 2, 3], **options}
    return {
        "title": "r",
        "reference": "random",
        "topics": [entry],
        "rankers": [{"ranker": "random"}, {"ranker": "dpp"}],
    }


def test_topic_sets_have_their_own_split_rows_and_epochs() -> None:
    rankers = [{"ranker": "random"}, {"ranker": "reinforce", "config": {"epochs": 3, "lr_decay_epochs": 0}}]
    changes: dict[str, Any] = {"train_queries": 4, "rankers": ["reinforce"], "epochs_factor": 2.5}
    few = recipe(**changes)["topics"][0] | {"name": "few"}
    made = recipe_from({**recipe(), "topics": [*recipe()["topics"], few], "rankers": rankers}, "r", "r.toml")
    first, second, third = [cell for task in tasks(made) for cell in task.cells]
    assert made.cells == 3
    assert [cell.row for cell in (first, second, third)] == ["random", "reinforce", "reinforce"]
    assert (second.fold, third.fold) == (1, 1)
    epochs = [[cell.options["config"][name] for name in ("epochs", "lr_decay_epochs")] for cell in (second, third)]
    assert epochs == [[3, 0], [8, 0]]
    assert second.id.rpartition(".")[2] != third.id.rpartition(".")[2]


def first_id(**changes: Any) -> str:
    made = recipe_from(recipe() | changes, "r", "r.toml")
    return next(cell.id for task in tasks(made) for cell in task.cells)


def test_a_cell_is_named_by_what_decides_its_result() -> None:
    topics, random = recipe()["topics"][0], {"ranker": "random"}
    named = "t.random.fold1.seed0.17417bcd2a"
    assert first_id() == named
    others = ({"published": {"random": 0.1}}, {"source": "synthetic:tiny:20:0", "average": "a"}, {"folds": 5})
    assert all(first_id(topics=[topics | other]) == named for other in others)
    assert first_id(rankers=[random | {"seeds": [0, 1], "needs": ["query"]}]) == named
    deciding = (
        {"shares": [5, 3, 2]},
        {"limit": 12},
        {"train_queries": 4},
        {"drop": ["query_vector"]},
        {"vectors": "lsa"},
    )
    ids = {first_id(topics=[topics | other]) for other in deciding}
    ids |= {first_id(rankers=[random | {"config": {"seed": 2}}]), first_id(depth=20), named}
    assert len(ids) == len(deciding) + 3


def test_what_no_topic_set_can_have_is_refused() -> None:
    for options, message in (
        ({"rankers": ["dppp"]}, "of topics 't': 'dppp'. Did you mean dpp"),
        ({"shares": [5, 2]}, "shares must be three positive numbers"),
        ({"run_folds": [1]}, "shares make one split"),
        ({"train_queries": 0}, "train_queries must be at least 1"),
    ):
        refused(lambda options=options: recipe_from(recipe(**options), "r", "r.toml"), message)  # type: ignore[misc]


@pytest.mark.data
def test_types_of_medical_questions_recur_across_the_parts(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SRD_DATA_DIR", str(data_dir))
    entry = TopicsEntry(name="m", source="texts/medical-questions", retrieve="none")
    topics = load_entry(entry)
    held_out = {"train": ("inheritance", "frequency", "complications"), "test": ("treatment", "symptoms", "stages")}
    parts = Parts(shares=(70, 10, 20), train_subtopics=held_out["train"], test_subtopics=held_out["test"])
    split, whole = in_parts(topics, parts, "1/1"), in_parts(topics, Parts(shares=(70, 10, 20)), "1/1")
    assert [len(part or ()) for part in (whole.train, whole.validation, whole.test)] == [1234, 176, 353]
    types = [{name for topic in part or () for name in topic.subtopic_ids} for part in (split.train, split.test)]
    assert "inheritance" in types[0]
    assert "treatment" in types[1]
    assert not types[0] & types[1]
    assert sum("treatment" in topic.subtopic_ids for topic in topics) > 1700
