"""Selection on validation topics: of a learner's weights, of a heuristic's parameters; test topics stay closed."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, Self, cast

from srd_agents.registry import RANKERS, RankerSpec
from srd_agents.training.learner import Learner
from srd_agents.training.options import as_values, check_type
from srd_agents.training.progress import History
from srd_agents.training.validation import Validation
from srd_gym.checks import check_integer, check_option
from srd_gym.protocols import Ranker
from srd_gym.showing import short_repr
from srd_train.experiment.split import Split

Values = dict[str, Any]
"""Option -> value."""


@dataclass(frozen=True, kw_only=True)
class ResolvedRanker:
    """A ranker with its options, all of them checked: what is fixed, and what is chosen among on validation topics.

    Raises:
        ValueError: an unknown option or one that is both fixed and in the grid, one without values to try, or a value
            out of range: mistakes show before hours of work.
    """

    __repr__ = short_repr

    spec: RankerSpec
    config: Mapping[str, Any]
    """Options that differ from the defaults."""
    grid: Mapping[str, Sequence[Any]]
    """Option -> values to choose from."""

    @classmethod
    def of(
        cls, name: str, config: Mapping[str, object] | None = None, grid: Mapping[str, Sequence[object]] | None = None
    ) -> Self:
        """The ranker of this name; without a grid, its own parameters that the config leaves open are chosen.

        Raises:
            ValueError: an unknown name, or as for any other.
        """
        spec = RANKERS.find(name)
        config = config or {}
        own = {option: values for option, values in spec.parameters_to_tune.items() if option not in config}
        return cls(spec=spec, config=config, grid=dict(grid or own))

    def __post_init__(self) -> None:
        if both := sorted(self.config.keys() & self.grid.keys()):
            raise ValueError(f"ranker {self.spec.name!r}: {', '.join(both)} is fixed and in the grid; keep one of them")
        for name, values in self.grid.items():
            if not values:
                raise ValueError(f"option {name!r} has no values to try; give at least one")
        for chosen in self.choices:
            self.configured(chosen)

    @property
    def choices(self) -> list[Values]:
        """All combinations of the grid's values, the last option varying fastest; an empty one without a grid."""
        return [dict(zip(self.grid, chosen, strict=True)) for chosen in itertools.product(*self.grid.values())]

    @cached_property
    def options(self) -> Values:
        """All that a fit depends on besides topics and seed: every option, defaults included, and the grid."""
        return {"config": as_values(self.configured({})), "grid": self.grid}

    def fixed(self, chosen: Mapping[str, object]) -> ResolvedRanker:
        """The ranker with these options, and nothing left to choose."""
        return ResolvedRanker(spec=self.spec, config={**self.config, **chosen}, grid={})

    def configured(self, chosen: Mapping[str, object]) -> Any:
        """The ranker's options, an instance of its dataclass, with what was chosen."""
        return self.spec.configure(**{**self.config, **chosen})


@dataclass(frozen=True, kw_only=True)
class Fitted:
    """A ranker ready to rank, and how it came about."""

    __repr__ = short_repr

    ranker: Ranker
    config: Values
    """All its options."""
    chosen: Values
    """Those that were chosen on the validation topics."""
    validation: float | None
    """The measure of the choice on the validation topics; a learner's own measure, or None, where there was none."""
    trials: list[Values]
    """Every configuration tried, with its score, where there was a choice."""
    history: dict[str, Any] | None
    """A learner's history."""


def fit_ranker(
    ranker: ResolvedRanker,
    split: Split,
    *,
    select_by: str = "alpha_nDCG@10",
    seed: int = 0,
    trust: bool = False,
    metadata: Mapping[str, Any] | None = None,
    **training: Any,
) -> Fitted:
    """Train a learner, or choose a heuristic's parameters; the test topics are not touched.

    Args:
        ranker: what to fit, and what to choose among; the first of equals is chosen.
        split: its training and validation topics.
        select_by: the measure of the choice.
        seed: for initialisation, shuffling and sampling.
        trust: let a ranker run other people's code.
        metadata: saved with a learner.
        training: for a learner, further arguments of `Learner.fit`.

    Raises:
        ValueError: topics that cannot be learned from, or a ranker that is not trusted.
    """
    choices = ranker.choices
    judge = Validation(split.validation, select_by) if len(choices) > 1 else None
    best: Fitted | None = None  # a grid of learners should not hold all their weights
    trials: list[Values] = []
    for values in choices:
        config, history, score = ranker.configured(values), None, None
        made = ranker.spec.build(config, seed=seed, trust=trust)
        if isinstance(made, Learner):
            made.metadata = dict(metadata or {})
            history = made.fit(split.train, split.validation, seed=seed, **training)
            score = history.best_validation
        elif ranker.spec.trainable:
            history = _played(cast(Any, made).fit(split.train, split.validation, seed=seed), len(split.train))
        if judge is not None:
            score = judge.mean(made)
            trials.append({"values": values, "score": score})
        if best is None or (score or 0.0) > (best.validation or 0.0):
            best = Fitted(
                ranker=made,
                config=as_values(config),
                chosen=values,
                validation=score,
                trials=trials,
                history=None if history is None else asdict(history),
            )
    return cast(Fitted, best)  # there is a choice, if of one


def _played(told: Mapping[str, object] | None, topics: int) -> History:
    """The history of a ranker that trains by itself: `fit` returns the episodes and steps it played, or nothing.

    Raises:
        TypeError, ValueError: it returns something else.
    """
    told = {} if told is None else told
    check_type("what fit returned", told, Mapping[str, object])
    for name, value in told.items():
        check_option("figure of what fit returned:", name, ("episodes", "steps"))
        check_integer(name, value, 0)
    return History(records=[{"epoch": 1, "topics": topics, "validation": None, **told}])
