"""Selection on validation topics: of a learner's weights, of a heuristic's parameters; test topics stay closed."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from srd_agents.registry import RANKERS, RankerSpec
from srd_agents.training.learner import Learner
from srd_agents.training.options import as_values
from srd_agents.training.validation import Validation
from srd_gym.protocols import Ranker
from srd_gym.showing import short_repr
from srd_train.experiment.split import Split

Values = dict[str, Any]
"""Option -> value."""


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


def combinations(grid: Mapping[str, Sequence[Any]]) -> list[Values]:
    """All combinations of a grid's values, the last option varying fastest; one empty combination for no grid.

    Raises:
        ValueError: an option without values.
    """
    for name, values in grid.items():
        if not values:
            raise ValueError(f"option {name!r} has no values to try; give at least one")
    return [dict(zip(grid, chosen, strict=True)) for chosen in itertools.product(*grid.values())]


def grid_for(spec: RankerSpec, config: Mapping[str, Any], grid: Mapping[str, Sequence[Any]]) -> dict[str, Any]:
    """What to choose among: the grid given, else the ranker's own parameters that the config leaves open.

    Raises:
        ValueError: an option both fixed and in the grid.
    """
    both = sorted(config.keys() & grid.keys())
    if both:
        raise ValueError(f"ranker {spec.name!r}: {', '.join(both)} is fixed and in the grid; keep one of them")
    if grid:
        return dict(grid)
    return {name: values for name, values in spec.parameters_to_tune.items() if name not in config}


def all_options(name: str, config: Mapping[str, Any], grid: Mapping[str, Sequence[Any]]) -> dict[str, Any]:
    """What a fit depends on besides topics and seed: every option, and the grid.

    Raises:
        ValueError: an unknown ranker or option, or a value out of range.
    """
    spec = RANKERS.find(name)
    chosen_among = grid_for(spec, config, grid)
    for values in combinations(chosen_among):
        spec.configure(**{**config, **values})  # a mistake in a recipe should show before hours of work
    return {"config": as_values(spec.configure(**config)), "grid": chosen_among}


def fit_ranker(
    name: str,
    config: Mapping[str, Any],
    split: Split,
    *,
    grid: Mapping[str, Sequence[Any]] | None = None,
    select_by: str = "alpha_nDCG@10",
    seed: int = 0,
    threads: int = 1,
    trust: bool = False,
    metadata: Mapping[str, Any] | None = None,
    **run: Any,
) -> Fitted:
    """Train a learner, or choose a heuristic's parameters; the test topics are not touched.

    Args:
        name: of the ranker in the registry.
        config: options that are fixed.
        split: its training and validation topics.
        grid: option -> values to choose from by validation, the first of equals; None takes what the ranker itself
            names.
        select_by: the measure of the choice.
        seed: of weights, order and draws.
        threads: of torch, while a learner trains.
        trust: let a ranker run other people's code.
        metadata: saved with a learner.
        **run: what else `Learner.fit` takes: `out`, `resume`, `time_budget`, `progress`, `measures`.

    Raises:
        ValueError: unknown names or options, or topics that cannot be learned from.
    """
    spec = RANKERS.find(name)
    candidates = combinations(grid_for(spec, config, grid or {}))
    judge = Validation(split.validation, select_by) if len(candidates) > 1 else None
    # Only the best so far is kept: a grid of learners should not hold all their weights.
    kept: list[Fitted] = []
    trials: list[Values] = []
    for values in candidates:
        options = spec.configure(**{**config, **values})
        ranker = spec.build(options, seed=seed, trust=trust)
        history = None
        if isinstance(ranker, Learner):
            ranker.metadata = dict(metadata or {})
            history = asdict(ranker.fit(split.train, split.validation, seed=seed, threads=threads, **run))
        score = None if history is None else history["best_validation"]
        if judge is not None:
            score = judge.mean(ranker)
            trials.append({"values": values, "score": score})
        if not kept or (score or 0.0) > (kept[0].validation or 0.0):
            made = as_values(options)
            kept = [Fitted(ranker=ranker, config=made, chosen=values, validation=score, trials=trials, history=history)]
    return kept[0]
