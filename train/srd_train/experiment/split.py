"""Topic sets split into parts that share no query, and vectors that are fitted on the training part alone."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from srd_gym.data.lsa import LsaVectorizer
from srd_gym.data.splits import read_folds
from srd_gym.showing import short_repr
from srd_gym.topic import TopicSet

VALIDATION_SHARE = 0.2
"""Share of the topics that validates where no fold is named."""


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


def split_topics(topics: TopicSet, *, fold: str | None = None, folds: Path | None = None, seed: int = 0) -> Split:
    """Split a topic set.

    Args:
        topics: the whole set.
        fold: "I/N", or "I" with a file of folds; None holds out a share for validation.
        folds: a file of published test sets.
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
        wanted = "two numbers, such as --fold 1/5" if folds is None else f"a number, such as --fold 1 (of {folds})"
        raise ValueError(f"--fold {fold!r}: expected {wanted}")
    index = int(numbers[1])
    how: dict[str, Any]
    if folds is not None:
        parts, how = topics.folds_from(read_folds(folds)), {"folds_file": folds.name}
    else:
        parts, how = topics.folds(int(numbers[2]), seed=0), {"fold_seed": 0}
    if not 1 <= index <= len(parts):
        raise ValueError(f"there is no fold {index}; expected 1 to {len(parts)}")
    part = parts[index - 1]
    for name in ("train", "validation", "test"):
        if not len(getattr(part, name)):
            raise ValueError(f"fold {index} of {part.count}: the {name} part has no topics; use fewer folds")
    how = {"fold": index, "folds": part.count, **how}
    return Split(train=part.train, validation=part.validation, test=part.test, description=how)


def with_lsa(split: Split, width: int, vectorizer: LsaVectorizer | None = None) -> Split:
    """The split with vectors made of its texts; the vectoriser sees the training texts only (inductive).

    Args:
        split: topics with texts; vectors they may have are replaced.
        width: F, at most what the training texts allow.
        vectorizer: a fitted one, when a training run is resumed.
    """
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
