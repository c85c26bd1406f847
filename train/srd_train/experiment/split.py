"""Topic sets split into parts that share no query, and vectors that are fitted on the training part alone.

Shapes: N candidates, S subtopics.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Self

import numpy as np

from srd_agents.training.options import Config, at_least
from srd_gym.checks import check_option
from srd_gym.data.lsa import LsaVectorizer
from srd_gym.data.splits import read_folds
from srd_gym.showing import short_repr
from srd_gym.topic import Topic, TopicSet
from srd_train.experiment.twins import Groups, parts_of_groups, tell_twins

ONE_SPLIT = 3
"""Shares of one split: to train on, to validate on, to test on."""
VALIDATION_SHARE = 0.2
"""Share of the topics that validates where no fold is named."""


@dataclass(frozen=True)
class Published:
    """Published folds, read from their file."""

    name: str
    """File name."""
    test_sets: tuple[tuple[str, ...], ...]
    """Query ids of each fold's test topics."""

    @classmethod
    def read(cls, path: Path) -> Self:
        """The folds of a file.

        Raises:
            ValueError: it cannot be read.
        """
        return cls(path.name, tuple(map(tuple, read_folds(path))))


@dataclass(frozen=True, kw_only=True)
class Split:
    """A topic set split into parts that share no query."""

    __repr__ = short_repr

    train: TopicSet
    """Topics that a learner learns from."""
    validation: TopicSet
    """Topics that models and parameters are chosen on."""
    test: TopicSet | None
    """Not looked at until everything is chosen; None where the split has no test part."""
    description: Mapping[str, Any]
    """Description of the split, as JSON values."""
    vectorizer: LsaVectorizer | None = None
    """Fitted on the texts of `train`, and already applied to all parts."""


@dataclass(frozen=True, kw_only=True)
class Parts(Config):
    """Changes of a split: one split by shares instead of folds, queries that stay together, and less of its parts."""

    shares: tuple[float, ...] = ()
    """One split by query instead of folds: shares to train on, to validate on and to test on, such as 70, 10, 20."""
    twins: str | None = None
    """A file of query vectors below SRD_DATA_DIR. Queries with a cosine above 0.9 are twins: they stay in one fold, and
    documents that are relevant to a twin alone are left out of the candidates. None: twins are not looked for."""
    together: str = ""
    """Queries whose ids are the same up to this text, such as "/", stay in one fold. Empty: each for itself."""
    train_queries: Annotated[int | None, at_least(1)] = None
    """Queries to train on, drawn at random (the same in a fold; those of a smaller number are among those of a larger
    one); None: all."""
    validation_queries: Annotated[int | None, at_least(1)] = None
    """Queries to validate on, drawn likewise; None: all."""
    train_subtopics: tuple[str, ...] = ()
    """Subtopics of training and validation topics; none named: all. What is relevant to others only is left out."""
    test_subtopics: tuple[str, ...] = ()
    """Subtopics of test topics; none named: all."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.shares and (len(self.shares) != ONE_SPLIT or not all(share > 0 for share in self.shares)):
            raise ValueError(
                "shares must be three positive numbers (to train on, to validate on, to test on), such as 70, 10, 20; "
                f"got {list(self.shares)}"
            )


def in_parts(topics: TopicSet, parts: Parts, fold: str, folds: Published | None = None, groups: Groups = ()) -> Split:
    """A fold, or the one split by shares, with what the parts keep.

    Args:
        topics: the whole set.
        parts: the changes.
        fold: as of `split_topics`; "1/1" is the split by shares.
        folds: as of `split_topics`.
        groups: query ids that folds keep together; none: each query for itself.

    Raises:
        ValueError: as of `split_topics`, more queries to train on than there are, or a subtopic that no topic has.
    """
    every = {name for topic in topics for name in topic.subtopic_ids}
    for name in (*parts.train_subtopics, *parts.test_subtopics):
        check_option(f"subtopic of {topics.name!r}:", name, every)
    if parts.shares:
        split = _by_shares(topics, parts.shares)
    else:
        split = split_topics(topics, fold=fold, folds=folds, groups=groups)
    how, train, validation, test = dict(split.description), split.train, split.validation, split.test
    if parts.twins or parts.together:
        how["twins" if parts.twins else "ids"] = "together"
    seed = split.description.get("fold", 1) - 1  # each fold draws its own
    if parts.train_queries is not None:
        train = _drawn(train, parts.train_queries, seed, "train on")
        how["train_queries"] = parts.train_queries
    if parts.validation_queries is not None:
        validation = _drawn(validation, parts.validation_queries, seed, "validate on")
        how["validation_queries"] = parts.validation_queries
    if parts.train_subtopics:
        train, validation = (with_subtopics(part, parts.train_subtopics) for part in (train, validation))
        how["train_subtopics"] = list(parts.train_subtopics)
    if parts.test_subtopics and test is not None:
        test = with_subtopics(test, parts.test_subtopics)
        how["test_subtopics"] = list(parts.test_subtopics)
    return replace(split, train=train, validation=validation, test=test, description=how)


def _drawn(topics: TopicSet, number: int, seed: int, what_for: str) -> TopicSet:
    """This many topics, in the order of the set; those of a smaller number are among those of a larger one."""
    if number > len(topics):
        raise ValueError(f"expected at most {len(topics)} queries to {what_for}, got {number}")
    first = np.random.default_rng(seed).permutation(len(topics))[:number]
    return topics.replace(topics[int(i)] for i in sorted(first))


def with_subtopics(topics: TopicSet, names: Collection[str]) -> TopicSet:
    """The topics with these subtopics alone.

    Candidates that are relevant to others only go, so that no learner is taught that they are irrelevant. So do topics
    that have none of these subtopics, or no candidate left.

    Args:
        topics: any set.
        names: ids of subtopics.
    """
    own = (_with_subtopics(topic, names) for topic in topics if not set(names).isdisjoint(topic.subtopic_ids))
    return topics.replace(topic for topic in own if topic is not None)


def _with_subtopics(topic: Topic, names: Collection[str]) -> Topic | None:
    """One topic, which has some of them; None where no candidate is left."""
    keep = [column for column, name in enumerate(topic.subtopic_ids) if name in names]
    if topic.judgments is not None:
        relevant = topic.judgments >= 1  # [N, S]
        left = np.flatnonzero(relevant[:, keep].any(axis=1) | ~relevant.any(axis=1))
        if not left.size:
            return None
        topic = topic.take(left)
    cut: dict[str, Any] = {
        name: None if (array := getattr(topic, name)) is None else array[..., keep]
        for name in ("judgments", "pool", "subtopic_weights", "subtopic_scores")
    }
    vectors, texts = topic.subtopic_vectors, topic.subtopic_texts
    return replace(
        topic,
        subtopic_ids=tuple(topic.subtopic_ids[column] for column in keep),
        subtopic_texts=None if texts is None else tuple(texts[column] for column in keep),
        subtopic_vectors=None if vectors is None else vectors[keep],
        **cut,
    )


def _by_shares(topics: TopicSet, shares: Sequence[float]) -> Split:
    """One split of a shuffle (always the same), each part in the order of the set."""
    ends = np.rint(np.cumsum(shares) / np.sum(shares) * len(topics)).astype(int)
    parts = np.split(np.random.default_rng(0).permutation(len(topics)), ends[:-1])
    if not all(len(part) for part in parts):
        raise ValueError(f"shares {list(shares)} leave a part of the {len(topics)} topics empty; use other shares")
    train, validation, test = (topics.replace(topics[int(i)] for i in sorted(part)) for part in parts)
    return Split(train=train, validation=validation, test=test, description={"shares": list(shares), "seed": 0})


def split_topics(
    topics: TopicSet,
    *,
    fold: str | None = None,
    folds: Path | Published | None = None,
    groups: Groups = (),
    seed: int = 0,
) -> Split:
    """Split a topic set.

    Args:
        topics: the whole set.
        fold: "I/N", or "I" with a file of folds; None holds out a share for validation.
        folds: published test sets, or their file.
        groups: query ids that "I/N" keeps together, all of the set; none: each query for itself.
        seed: of the shuffle that holds out the validation share.

    Raises:
        ValueError: a fold that does not exist, or too few topics.
    """
    if fold is None:
        if folds is not None:
            raise ValueError("--folds names a file of test sets: say which with --fold I")
        return _hold_out(topics, seed)
    numbers = re.fullmatch("([0-9]+)" if folds is not None else "([0-9]+)/([0-9]+)", fold)
    if numbers is None:
        of = folds.name if isinstance(folds, Published) else folds
        wanted = "two numbers, such as --fold 1/5" if folds is None else f"a number, such as --fold 1 (of {of})"
        raise ValueError(f"--fold {fold!r}: expected {wanted}")
    index = int(numbers[1])
    how: dict[str, Any]
    if folds is not None:
        published = Published.read(folds) if isinstance(folds, Path) else folds
        parts, how = topics.folds_from(published.test_sets), {"folds_file": published.name}
    elif groups:
        parts, how = topics.folds_from(parts_of_groups(groups, int(numbers[2]))), {"fold_seed": 0}
    else:
        parts, how = topics.folds(int(numbers[2]), seed=0), {"fold_seed": 0}
    if not 1 <= index <= len(parts):
        raise ValueError(f"there is no fold {index}; expected 1 to {len(parts)}")
    part = parts[index - 1]
    for name in ("train", "validation", "test"):
        if not len(getattr(part, name)):
            raise ValueError(f"fold {index} of {part.count}: the {name} part has no topics; use fewer folds")
    tell_twins(part.train, part.test)
    how = {"fold": index, "folds": part.count, **how}
    return Split(train=part.train, validation=part.validation, test=part.test, description=how)


def with_lsa(split: Split, width: int, vectorizer: LsaVectorizer | None = None) -> Split:
    """The split with vectors made of its texts; the vectoriser sees the training texts only (inductive).

    Args:
        split: topics with texts; vectors they may have are replaced.
        width: F, at most what the training texts allow.
        vectorizer: a fitted one, when a training run is resumed.

    Raises:
        ValueError: a fitted vectoriser of another width.
    """
    if vectorizer is not None and vectorizer.width != width:
        raise ValueError(f"--width was {vectorizer.width}, now {width}: resume with what the training began with")
    if vectorizer is None:
        vectorizer = LsaVectorizer(width).fit_topics(split.train)
    return replace(
        split,
        train=vectorizer.apply(split.train),
        validation=vectorizer.apply(split.validation),
        test=None if split.test is None else vectorizer.apply(split.test),
        vectorizer=vectorizer,
    )


def _hold_out(topics: TopicSet, seed: int) -> Split:
    """The last fifth of a shuffle for validation, no test part."""
    size = round(len(topics) * VALIDATION_SHARE)
    if size < 1 or size >= len(topics):
        raise ValueError(f"expected at least 3 topics to train and validate on, got {len(topics)}")
    order = np.random.default_rng(seed).permutation(len(topics))
    parts = [topics.replace(topics[int(i)] for i in sorted(part)) for part in (order[size:], order[:size])]
    how = {"validation_share": VALIDATION_SHARE, "seed": seed}
    return Split(train=parts[0], validation=parts[1], test=None, description=how)
