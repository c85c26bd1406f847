"""Capabilities beside `rank` and `rank_batch`; `diversify` and the adapters ask for them and inherit nothing.

| a ranker with | takes |
|---|---|
| `with_diversity(diversity)` | `diversity=` |
| `with_relevance(relevance)` | `relevance=` |
| `with_metric(metric)` | `metric=` and `similarity=` |
| `uses_subtopics = True` | `subtopics=` and `subtopic_scores=` (`query-expansion` refuses the scores) |
| `copies` and `with_copies(copies)` | `near_duplicates=`, and puts near-duplicates last itself |
| `progress(topic)` (`heuristic.stepwise.StepByStep`) or `score` (`SequentialScorer`) | limits, step by step |
| `weighs_cosines = True` | the query's vector for relevance where an adapter's documents have no scores |

Limits of a ranker that has none of these filter its whole ranking.
"""

from __future__ import annotations

from typing import Protocol, TypeGuard

from srd_agents.heuristic.config import KINDS
from srd_agents.registry import RANKERS
from srd_gym.checks import check_number, check_option, name_of
from srd_gym.protocols import Ranker
from srd_gym.reading import shown


def rankers_with(ability: str) -> list[str]:
    """Rankers of this package that have an ability of the table above, and need neither training nor judgments.

    Args:
        ability: name of the attribute, such as "with_diversity" or "uses_subtopics".
    """
    return [
        name
        for name, spec in RANKERS.built_in.items()
        if not (spec.trainable or "judgments" in spec.needs or ":" in name)
        and getattr(spec.ranker_class, ability, False)
    ]


def _takers(ability: str) -> str:
    return ", ".join(rankers_with(ability))


class PutsCopiesLast(Protocol):
    """A ranker that puts near-duplicates last itself."""

    @property
    def copies(self) -> float | None:
        """Cosine from which on a document is a near-duplicate; None: they come wherever they come."""

    def with_copies(self, copies: float | None) -> Ranker:
        """The ranker with this cosine."""


def puts_copies_last(ranker: object) -> TypeGuard[PutsCopiesLast]:
    """Whether the ranker puts near-duplicates last; faster than to ask for a protocol."""
    return hasattr(ranker, "copies") and hasattr(ranker, "with_copies")


def with_diversity(ranker: Ranker, diversity: float | None, option: str = "diversity") -> Ranker:
    """The ranker at this point between relevance only and difference only.

    0 is exactly the order of relevance: by the scores, without scores by the cosine of query and document, and without
    a query (for rankers that need none) as the candidates stand. Above 0: MMR, MSD, DPP, SSD and xQuAD with lambda =
    1 - diversity; PM-2 and the relational ranker blended with relevance; `safe` as what ranks the topic, MMR
    where that is the order of the scores.

    Args:
        ranker: one with `with_diversity`; its other options stay.
        diversity: from 0 to 1; None leaves the ranker as it is.
        option: what the caller calls it, for errors.

    Raises:
        TypeError: diversity is no number.
        ValueError: diversity outside [0, 1], or another ranker.
    """
    if diversity is None:
        return ranker
    check_number(option, diversity, 0.0, 1.0)
    lack = (
        f"{option} weighs relevance against difference, which ranker {shown(name_of(ranker))} does not: leave {option}"
    )
    return _made(ranker, "with_diversity", diversity, lack)


def with_relevance(ranker: Ranker, relevance: str | None) -> Ranker:
    """The ranker with this kind of relevance.

    Args:
        ranker: one with `with_relevance`; its other options stay.
        relevance: one of `srd_agents.heuristic.config.Relevance`; None leaves the ranker as it is.

    Raises:
        ValueError: an unknown kind (near names are suggested), or another ranker.
    """
    if relevance is None:
        return ranker
    check_option("relevance", relevance, KINDS)
    return _made(ranker, "with_relevance", relevance, f"ranker {shown(name_of(ranker))} takes no relevance=: leave it")


def with_metric(ranker: Ranker, metric: str, option: str = "metric") -> Ranker:
    """The ranker with this kind of similarity, "cosine", "dot", or "given" (a matrix in place of vectors).

    Args:
        ranker: one with `with_metric`; its other options stay.
        metric: one of `srd_agents.heuristic.config.Metric`.
        option: the argument that asks for it, for errors.

    Raises:
        ValueError: an unknown kind, or another ranker.
    """
    if option == "metric":
        check_option("metric", metric, ("cosine", "dot"))
    if metric == "cosine" and not hasattr(ranker, "with_metric"):
        return ranker
    return _made(ranker, "with_metric", metric, f"ranker {shown(name_of(ranker))} takes no {option}=: leave it")


def _made(ranker: Ranker, ability: str, value: float | str, lack: str) -> Ranker:
    """The ranker that an ability of the table above makes of a ranker.

    Raises:
        ValueError: it has no such ability, which `lack` says; the message names rankers that have it.
    """
    if not hasattr(ranker, ability):
        raise ValueError(f"{lack} out, or take one that does: {_takers(ability)} (your own: give it {ability})")
    made: Ranker = getattr(ranker, ability)(value)
    return made


def check_uses_subtopics(ranker: Ranker) -> None:
    """Refuse subtopics for a ranker that would not look at them.

    Raises:
        ValueError: it would not; the message names those that would.
    """
    if not getattr(ranker, "uses_subtopics", False):
        raise ValueError(
            f"ranker {shown(name_of(ranker))} cannot use subtopics; leave subtopics= and subtopic_scores= out, or take "
            f"one that can: {_takers('uses_subtopics')} (your own: set uses_subtopics = True)"
        )
