"""The folds of a recipe's topic set: who stands in which, as its entry and the files that it names say."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from srd_gym.topic import TopicSet
from srd_train.experiment.sources import TopicsEntry, folds_path, groups_in
from srd_train.experiment.split import Parts, Published, Split, in_parts, with_lsa
from srd_train.experiment.twins import Groups


class Cut(NamedTuple):
    """Content of the files that say how a topic set is cut: a node that has none of these files is sent it."""

    folds: Published | None
    """The published folds, where the entry names their file."""
    groups: Groups
    """Queries that folds keep together."""


def cut_of(topics: TopicSet, entry: TopicsEntry) -> Cut:
    """The content of the files that an entry names, as far as it cuts the topics.

    Raises:
        ValueError, FileNotFoundError: one cannot be read, or is missing; or it has another number of folds than the
            entry, which names none of them.
    """
    file = folds_path(entry)
    folds = None if file is None else Published.read(file)
    if folds is not None and not entry.run_folds and len(folds.test_sets) != entry.folds:
        count = len(folds.test_sets)
        raise ValueError(
            f"folds is {entry.folds}, and {file} has {count} folds; set folds = {count} (at least 3), or list the "
            "folds to run as run_folds"
        )
    return Cut(folds, groups_in(entry, topics))


def fold_of(
    topics: TopicSet, entry: TopicsEntry, number: int, lsa_width: int | None = None, cut: Cut | None = None
) -> Split:
    """A fold of an entry's topics, by its number.

    Args:
        topics: those of the entry.
        entry: which.
        number: of the fold, from 1.
        lsa_width: F of vectors that are fitted on the training texts; None: the topics' own vectors.
        cut: what `cut_of` gives; None: it is read.
    """
    folds, groups = cut_of(topics, entry) if cut is None else cut
    fold = f"{number}/{entry.folds}" if folds is None else str(number)
    return _split(topics, entry.parts, fold, folds, groups, lsa_width)


@lru_cache(maxsize=5)
def _split(
    topics: TopicSet, parts: Parts, fold: str, folds: Published | None, groups: Groups, lsa_width: int | None
) -> Split:
    """The fold. Kept for the next rows: fitting LSA takes longer than most of them."""
    split = in_parts(topics, parts, fold, folds, groups)
    return split if lsa_width is None else with_lsa(split, lsa_width)
