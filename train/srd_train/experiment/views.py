"""Ways to rank with one fit: a trained ranker that takes other options of ranking serves several rows of a benchmark.

Which options those are, a ranker's config class says in `RANKING_OPTIONS`; the ranker itself gives its twin with
`ranking_with(**options)`, which shares the weights.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

from srd_agents.registry import RANKERS
from srd_gym.names import unknown
from srd_gym.protocols import Ranker
from srd_train.experiment.recipe import RankerEntry, View


@runtime_checkable
class RanksInWays(Protocol):
    """A ranker with options of ranking."""

    def ranking_with(self, **options: Any) -> Ranker:
        """The same ranker, with what it has learned and these options of ranking."""


def check_views(entry: RankerEntry) -> None:
    """Refuse views that the ranker cannot take, before anything is trained.

    Raises:
        ValueError: a ranker without options of ranking, an option that training depends on, or a value out of range.
    """
    spec = RANKERS.find(entry.ranker)
    known: tuple[str, ...] = getattr(spec.config_class, "RANKING_OPTIONS", ())
    for view in entry.views:
        if not known:
            raise ValueError(
                f"ranker {entry.ranker!r} has one way to rank, so it takes no views; give {view.name!r} an entry of "
                "its own under [[rankers]]"
            )
        for option in view.config:
            if option not in known:
                hint = "An option of training needs an entry of its own."
                raise unknown(f"option of ranking in view {view.name!r} of {entry.name!r}:", option, known, hint)
        spec.configure(**{**entry.config, **view.config})


def seen_through(ranker: Ranker, view: View | None) -> Ranker:
    """The ranker, ranking as the view says; None: as it was trained.

    Raises:
        TypeError: a ranker that names options of ranking, but does not take them.
    """
    if view is None:
        return ranker
    if not isinstance(ranker, RanksInWays):
        raise TypeError(f"{type(ranker).__name__} has options of ranking, but no method ranking_with(**options)")
    return ranker.ranking_with(**view.config)


def config_seen(config: Mapping[str, Any], view: View | None) -> dict[str, Any]:
    """All options that a row was ranked with."""
    return {**config, **({} if view is None else view.config)}
