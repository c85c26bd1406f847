"""Short lists drawn from each topic's candidates, as MA4DIV trains and tests on TREC.

Chen et al., "MA4DIV: Multi-Agent Reinforcement Learning for Search Result Diversification", WWW 2025, section 5.1: 198
topics become 6,232 lists of 30 documents, of which enough carry subtopics. A list is a topic of its own, with the id
"QUERY/NUMBER". Lists of one query belong into one fold: `reshaped_folds` sees to it.

Give topics their vectors first: vectors drawn or fitted list by list would differ between the lists of a query.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from srd_gym.names import check_integer
from srd_gym.protocols import IntArray
from srd_gym.topic import Fold, Topic, TopicSet

_SEPARATOR = "/"
_TRIES = 10
"""Draws per list asked for, before a topic with few different lists gets fewer."""


def reshape(
    topics: TopicSet, *, list_size: int = 30, lists: int = 32, min_relevant: int = 10, seed: int = 0
) -> TopicSet:
    """Draw lists of equal size from each topic's candidates.

    A list takes `min_relevant` of the candidates that cover a subtopic (all of them, where there are fewer) and fills
    up from all that is left, whatever it covers. Candidates keep their order; pool and subtopics stay the topic's,
    so with `normalizer="pool"` the ideal ranking is the topic's and not the list's.

    Differs from the paper, which does not say how lists were drawn: the numbers here are ours. 32 lists a topic give
    about as many as the paper has.

    Args:
        topics: judged topics.
        list_size: documents a list.
        lists: lists a topic; fewer, where there are no more different ones.
        min_relevant: documents of a list that cover a subtopic at least, at most `list_size`.
        seed: of the draws; a topic's lists do not depend on the topics beside it.

    Returns:
        The lists in the order of their topics. Topics without any relevant candidate are left out.

    Raises:
        TypeError: a number of the wrong kind.
        ValueError: a number out of range, unjudged topics, or topics with fewer than `list_size` candidates.
    """
    for name, value in (("list_size", list_size), ("lists", lists), ("min_relevant", min_relevant)):
        check_integer(name, value, 1)
    check_integer("seed", seed, 0)
    if min_relevant > list_size:
        raise ValueError(f"min_relevant must be at most list_size={list_size}, got {min_relevant}")
    for wrong, what in (
        ([t.query_id for t in topics if not t.labelled], "have no judgments"),
        ([t.query_id for t in topics if t.n_candidates < list_size], f"have fewer than {list_size} candidates"),
    ):
        if wrong:
            raise ValueError(
                f"topic set {topics.name!r}: {len(wrong)} topics {what} ({', '.join(wrong[:5])}"
                f"{', ...' if len(wrong) > 5 else ''}); leave them out with TopicSet.select, or draw shorter lists"
            )
    drawn = (
        replace(topic.take(chosen), query_id=f"{topic.query_id}{_SEPARATOR}{number}")
        for topic in topics.trainable()
        for number, chosen in enumerate(_draws(topic, list_size, lists, min_relevant, seed), start=1)
    )
    return topics.replace(drawn, name=f"{topics.name}, lists of {list_size}")


def origin(query_id: str) -> str:
    """The id of the topic that a list was drawn from: "12" for "12/3".

    Raises:
        ValueError: not the id of a list.
    """
    topic, separator, number = query_id.rpartition(_SEPARATOR)
    if not separator or not number.isdecimal():
        raise ValueError(f"{query_id!r} is not the id of a list; expected one like '12/3', as `reshape` makes them")
    return topic


def reshaped_folds(lists: TopicSet, folds: int | Sequence[Sequence[str]], seed: int = 0) -> tuple[Fold, ...]:
    """Folds of lists in which all lists of a query are on one side.

    Args:
        lists: as `reshape` draws them.
        folds: how many; or test sets as ids of the original topics (`srd_gym.data.splits.read_folds`). Lists of topics
            in none of them are always training; ids without lists (no relevant candidate) are passed over.
        seed: of the shuffle, where `folds` is a number.

    Returns:
        The folds; their parts hold whole topics.

    Raises:
        ValueError: fewer than 3 folds, fewer topics than folds, an id in two test sets, or a test set without lists.
    """
    members: dict[str, list[str]] = {}
    for query_id in lists.query_ids:
        members.setdefault(origin(query_id), []).append(query_id)
    if isinstance(folds, int):
        if not 3 <= folds <= len(members):
            raise ValueError(f"expected 3 to {len(members)} folds for lists of {len(members)} topics, got {folds}")
        order = np.random.default_rng(seed).permutation(len(members))
        names = list(members)
        folds = [[names[i] for i in sorted(part)] for part in np.array_split(order, folds)]
    test_sets = [[query_id for name in ids for query_id in members.get(name, ())] for ids in folds]
    empty = [number for number, ids in enumerate(test_sets, start=1) if not ids]
    if empty:
        raise ValueError(
            f"test set {empty[0]} holds no topic of {lists.name!r}; expected ids of the topics that were reshaped"
        )
    return lists.folds_from(test_sets)


def _draws(topic: Topic, list_size: int, lists: int, min_relevant: int, seed: int) -> Iterator[IntArray]:
    """Different sets of candidates, each in candidate order: [list_size] int64."""
    assert topic.judgments is not None  # noqa: S101 - checked by the caller; tells the type checker
    digest = hashlib.blake2b(f"{seed} {topic.query_id}".encode(), digest_size=16).digest()
    rng = np.random.default_rng(int.from_bytes(digest, "little"))
    relevant = np.flatnonzero((topic.judgments >= 1).any(axis=1))
    wanted = min(min_relevant, len(relevant))
    seen: set[bytes] = set()
    for _ in range(_TRIES * lists):
        first = rng.choice(relevant, size=wanted, replace=False)
        rest = np.setdiff1d(np.arange(topic.n_candidates), first)
        chosen = np.sort(np.concatenate([first, rng.choice(rest, size=list_size - wanted, replace=False)]))
        if chosen.tobytes() in seen:
            continue
        seen.add(chosen.tobytes())
        yield chosen.astype(np.int64)
        if len(seen) == lists:
            return
