"""Judgments that measures need: an error where a topic has none, and a notice where all are too low."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Literal

from srd_gym.reading import few, shown
from srd_gym.topic import GradeArray, Topic


class NoJudgmentsError(ValueError):
    """A topic without judgments where they are needed."""


def judged(topic: Topic) -> GradeArray:
    """The judgments of a topic: [N, S] int8.

    Raises:
        NoJudgmentsError: the topic is not judged.
    """
    if topic.judgments is None:
        raise NoJudgmentsError(
            f"topic {shown(topic.query_id)} has no judgments, which a measure needs; give it judgments, or leave it out"
        )
    return topic.judgments


def tell_irrelevant(
    where: str,
    judged: Iterable[tuple[str, GradeArray]],
    levels: Iterable[int],
    what: Literal["candidate judged", "judgment of"] = "candidate judged",
) -> None:
    """Warn where no judgment of a topic reaches a relevance level: whatever ranks it, it scores 0.

    Args:
        where: what holds the topics, for the notice.
        judged: query ids and judgments.
        levels: relevance levels of the measures asked for.
        what: what the judgments are, for the notice: those of candidates or all.
    """
    largest = {query_id: int(judgments.max(initial=0)) for query_id, judgments in judged}
    for rel in sorted(set(levels)):
        lacking = [query_id for query_id, most in largest.items() if most < rel]
        if lacking:
            warnings.warn(
                f"{where}: {len(lacking):,} of {len(largest):,} judged topics have no {what} at least {rel} (the "
                f"largest is {max(largest[query_id] for query_id in lacking)}), so that every ranking of them scores "
                f"0: {few(lacking)}",
                stacklevel=3,
            )
