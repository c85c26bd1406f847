"""Fitting any ranker on a split: learners learn, heuristics have their parameters chosen on the validation topics."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from srd_agents.config import as_values
from srd_agents.history import History, OnProgress
from srd_agents.learner import Learner
from srd_agents.registry import RANKERS, RankerSpec
from srd_agents.validation import Validation
from srd_gym.protocols import IntArray, Ranker
from srd_gym.topic import TopicSet
from srd_train.experiment.split import Split
from srd_train.experiment.threads import torch_threads
from srd_train.experiment.tuning import Trial, Values, choose, combinations

_RANK_CHUNK = 64


@dataclass(frozen=True, kw_only=True)
class Session:
    """How a training run runs: its seed, its folder, its limits."""

    seed: int = 0
    """Of weights, order and draws."""
    threads: int = 1
    """Of torch, while a learner trains."""
    time_budget: float | None = None
    """Seconds of training at most, for each configuration tried."""
    out: Path | None = None
    """Folder of checkpoints and model; None keeps all in memory."""
    resume: bool = False
    """Continue the run in `out`."""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    """Saved with the model."""
    trust: bool = False
    """Let a ranker run other people's code."""
    on_progress: OnProgress | None = None
    """Called while a learner trains."""
    on_trial: Callable[[Trial], None] | None = None
    """Called after each configuration tried."""


@dataclass(frozen=True, kw_only=True)
class Fitted:
    """A ranker ready to rank, and how it came about."""

    ranker: Ranker
    config: Values
    """All its options."""
    chosen: Values
    """Those that were chosen on the validation topics."""
    validation: float | None
    """The measure of the choice on the validation topics."""
    trials: list[dict[str, Any]]
    """Every configuration tried, with its score."""
    history: dict[str, Any] | None
    """A learner's history; its records also say how many episodes and steps were played by then."""
    environment_episodes: int | None
    """Rankings paid for while training; None where nothing was trained by episodes."""
    environment_steps: int | None
    """Steps of these episodes: a document selected each, or one for a whole list scored at once."""


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
    session: Session,
    *,
    grid: Mapping[str, Sequence[Any]] | None = None,
    select_by: str = "alpha_nDCG@10",
) -> Fitted:
    """Train a learner, or choose a heuristic's parameters; the test topics are not touched.

    Args:
        name: of the ranker in the registry.
        config: options that are fixed.
        split: its training and validation topics.
        session: seed, folder, limits.
        grid: option -> values to choose from by validation; None takes what the ranker itself names.
        select_by: the measure of the choice.

    Raises:
        ValueError: unknown names or options, or topics that cannot be learned from.
    """
    spec = RANKERS.find(name)
    candidates = combinations(grid_for(spec, config, grid or {}))
    fit = _fit_learner if spec.learns else _build
    if len(candidates) == 1:
        values = candidates[0]
        ranker, score = fit(spec, {**config, **values}, split, session)
        return _fitted(ranker, spec, {**config, **values}, Trial(values=values, score=score), split, [])
    if session.out is not None and spec.learns:
        raise ValueError("a grid of trained configurations has no single folder; use a benchmark recipe for it")

    # Only the best so far is kept: a grid of learners should not hold all their weights.
    kept: dict[str, tuple[float, Ranker]] = {}
    judge = Validation(split.validation, select_by)

    def score_of(values: Values) -> float:
        ranker, _ = fit(spec, {**config, **values}, split, session)
        score = judge.mean(ranker)
        if "best" not in kept or score > kept["best"][0]:
            kept["best"] = (score, ranker)
        return score

    best, trials = choose(candidates, score_of, session.on_trial)
    listed = [{"values": trial.values, "score": trial.score} for trial in trials]
    return _fitted(kept["best"][1], spec, {**config, **best.values}, best, split, listed)


def rank_all(
    ranker: Ranker, topics: TopicSet, k: int, advance: Callable[[int], None] | None = None
) -> dict[str, IntArray]:
    """The first k candidates of every topic, by query id.

    Args:
        ranker: what ranks.
        topics: what it ranks.
        k: documents a topic, at least 1.
        advance: told how many topics were just done.
    """
    rankings: dict[str, IntArray] = {}
    for start in range(0, len(topics), _RANK_CHUNK):
        chunk = topics[start : start + _RANK_CHUNK]
        rankings.update(zip(chunk.query_ids, ranker.rank_batch(chunk, k), strict=True))
        if advance is not None:
            advance(len(chunk))
    return rankings


def _fit_learner(
    spec: RankerSpec, config: Mapping[str, Any], split: Split, session: Session
) -> tuple[Ranker, float | None]:
    """A trained learner and its best validation value."""
    learner = spec.build(spec.configure(**config))
    if not isinstance(learner, Learner):
        raise TypeError(f"ranker {spec.name!r} says that it learns, but is no srd_agents.learner.Learner")
    learner.metadata = dict(session.metadata)
    with torch_threads(session.threads):
        history: History = learner.fit(
            split.train,
            split.validation,
            seed=session.seed,
            out=session.out,
            resume=session.resume,
            time_budget=session.time_budget,
            progress=session.on_progress,
        )
    return learner, history.best_validation


def _build(spec: RankerSpec, config: Mapping[str, Any], split: Split, session: Session) -> tuple[Ranker, float | None]:
    """A heuristic."""
    return spec.build(spec.configure(**config), seed=session.seed, trust=session.trust), None


def _fitted(
    ranker: Ranker, spec: RankerSpec, config: Values, best: Trial, split: Split, trials: list[dict[str, Any]]
) -> Fitted:
    """The result, with all options written out."""
    options = spec.configure(**config)
    history = None if not isinstance(ranker, Learner) or ranker.history is None else ranker.history.as_dict()
    if history is not None:
        history["records"] = _with_episodes(history["records"], options, split.train.trainable())
    last = history["records"][-1] if history and history["records"] else {}
    return Fitted(
        ranker=ranker,
        config=as_values(options),
        chosen=best.values,
        validation=best.score,
        trials=trials,
        history=history,
        environment_episodes=last.get("episodes"),
        environment_steps=last.get("steps"),
    )


def _with_episodes(records: Sequence[Mapping[str, Any]], options: Any, topics: TopicSet) -> list[dict[str, Any]]:
    """A learner's records with the episodes and steps played so far, from the topics seen and what it plays on each.

    The options say what is played: `horizon` documents selected one by one, or (`n_scores`) all scored at once.
    Learners that have neither play no episodes that could be counted.
    """
    if hasattr(options, "horizon"):
        sizes = [topic.n_candidates for topic in topics]
        length = sum(sizes if options.horizon is None else [min(options.horizon, size) for size in sizes]) / len(sizes)
    elif hasattr(options, "n_scores"):
        length = 1.0
    else:
        return [dict(record) for record in records]
    rollouts = int(getattr(options, "rollouts", 1))
    played = [int(record["topics"]) * rollouts for record in records]
    return [
        {**record, "episodes": count, "steps": round(count * length)}
        for record, count in zip(records, played, strict=True)
    ]
