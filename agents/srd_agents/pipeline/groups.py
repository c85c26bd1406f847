"""Groups of documents, of one kind or of several (site and brand), and how many of each may and must be shown.

Shapes: N documents of a topic, G groups of a kind.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from srd_agents.pipeline.documents import Gaps, add_gaps
from srd_gym.checks import array_from, check_integer, check_option, is_missing
from srd_gym.dtypes import IntArray
from srd_gym.reading import shown as as_text

ANY = 2**31
"""Documents of a group where nothing says how many there may be."""


class _Alone:
    """The group of a document that has none."""


class Kind(NamedTuple):
    """Groups of one kind, such as sites."""

    of: IntArray
    """[N] the group of each document, by number."""
    most: IntArray
    """[G] documents that may be shown of each."""
    least: IntArray
    """[G] documents that must be."""
    names: Sequence[Any]
    """G ids."""

    def counts(self, documents: Any) -> IntArray:
        """[G] how many of these documents are of each group."""
        return np.bincount(self.of[documents], minlength=len(self.most))


def kinds_of(
    query_id: str, groups: Any, most: object, least: object, count: int, order: IntArray, gaps: Gaps
) -> tuple[Kind, ...]:
    """Groups of the candidates of a topic, with what may and must be shown of them.

    Args:
        query_id: of the topic, for errors.
        groups: [N] ids, or of each kind's name [N] ids.
        most: `max_per_group`: a number, {id: number}, or of each kind's name one of these.
        least: `min_per_group`: the same.
        count: N.
        order: [N] the document given that each candidate is.
        gaps: as of `group_ids`.

    Raises:
        TypeError: as `group_ids`.
        ValueError: no row of N, no kind of groups, a kind that groups lack, or more than two kinds with `least`.
    """
    several = isinstance(groups, Mapping)
    if several and (not groups or (least is not None and len(groups) > 2)):
        few = "one kind of groups" if not groups else "at most two kinds of groups with min_per_group"
        raise ValueError(f"topic {as_text(query_id)}: expected {few}, got {len(groups)}; give groups={{'site': [...]}}")
    for option, told in (("max_per_group", most), ("min_per_group", least)):
        for name, counts in told.items() if isinstance(told, Mapping) else ():
            if several:
                check_option(f"kind of groups in {option}", name, groups)
            elif isinstance(counts, Mapping):
                raise ValueError(
                    f"{option} names kinds of groups, got groups of one kind; give groups={{{as_text(name)}: ...}}"
                )
    made = []
    for name, row in groups.items() if several else [(None, groups)]:
        ids = group_ids(query_id, row, count, gaps)
        numbers: dict[object, int] = {}
        of = np.array([numbers.setdefault(ids[i], len(numbers)) for i in order.tolist()], np.int64)
        own_most, own_least = (_of_kind(told, name) for told in (most, least))
        if isinstance(own_least, Mapping):  # also of groups that no candidate is of
            same = {str(each): each for each in numbers}
            for each in own_least:
                numbers.setdefault(same.get(str(each), each), len(numbers))
        names = list(numbers)
        made.append(Kind(of, _counts(own_most, names, ANY), _counts(own_least, names, 0), names))
    return tuple(made)


def _of_kind(told: object, name: object) -> Any:
    """The part of an option for one kind of groups."""
    return told.get(name) if name is not None and isinstance(told, Mapping) else told


def _counts(told: Any, names: Sequence[Any], other: int) -> IntArray:
    """[G] what is told of each group; in JSON, keys are text."""
    if isinstance(told, Mapping):
        return np.array([told.get(each, told.get(str(each), other)) for each in names], np.int64)
    if told is None or other:
        return np.full(len(names), other if told is None else told)
    return np.array([told * (not isinstance(each, _Alone)) for each in names], np.int64)


def check_counts(option: str, told: object, depth: int = 0) -> None:
    """Refuse what is neither a number, {group: number} nor {kind of groups: one of these}; a group's own may be 0.

    Raises:
        TypeError: another type.
        ValueError: a number out of range.
    """
    if isinstance(told, Mapping) and depth < 2:
        for name, counts in told.items():
            check_counts(f"{option}[{as_text(name)}]", counts, depth + 1)
    else:
        check_integer(option, told, 0 if depth else 1)


def group_ids(query_id: str, groups: object, count: int, gaps: Gaps = None, what: str = "groups") -> list[Hashable]:
    """N ids that can be compared; a document without a group has one of its own.

    Args:
        query_id: of the topic, for errors.
        groups: a list, an array or a column of ids; None of a document that has none.
        count: N.
        gaps: takes note of documents without a group; None: all ids are text, or all whole numbers.
        what: the caller's word for them, for errors.

    Raises:
        TypeError: something that is no id (that cannot be hashed), or what `gaps` does not allow.
        ValueError: no row of N.
    """
    strict = gaps is None
    # Of a list numpy would make text of what stands beside text, and cut the members of enumerations.
    try:
        ids = list(groups) if isinstance(groups, list | tuple) else array_from(groups).tolist()
    except ValueError as error:
        raise ValueError(f"topic {as_text(query_id)}: {what} cannot be read as an array of ids: {error}") from error
    if not isinstance(ids, list) or len(ids) != count:
        shape = (len(ids),) if isinstance(ids, list) else ()
        raise ValueError(f"topic {as_text(query_id)}: {what} have shape {shape}, expected ({count},): one a document")
    text, absent = any(isinstance(each, str) for each in ids), 0
    for place, each in enumerate(ids):
        value = each.item() if hasattr(each, "item") and not np.ndim(each) else each
        if not isinstance(value, str if text else int):
            if strict or not isinstance(value, Hashable):
                raise TypeError(
                    f"topic {as_text(query_id)}: {what} must hold ids{' of one kind' * strict}, text or whole numbers, "
                    f"got {as_text(value)}{' beside text' * (strict and text)} (document {place}); give a document "
                    "without a group an id of its own"
                )
            if is_missing(value):
                value, absent = _Alone(), absent + 1
        ids[place] = str.__str__(value) if isinstance(value, str) else value
    add_gaps(gaps, "group, which are groups of their own", absent)
    return ids
