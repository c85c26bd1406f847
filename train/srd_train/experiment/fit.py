"""Splitting a topic set and fitting any ranker on its parts.

Learners learn, heuristics have their parameters chosen on the validation topics. Nobody looks at the test topics here,
nor does a vectoriser that is fitted on texts.
"""

from __future__ import annotations

import functools
import itertools
import re
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from srd_agents.registry import RANKERS, RankerSpec
from srd_agents.training.learner import Learner
from srd_agents.training.loop import Validation
from srd_agents.training.options import as_values
from srd_agents.training.progress import OnProgress, Progress
from srd_gym.data.lsa import LsaVectorizer
from srd_gym.data.splits import read_folds
from srd_gym.protocols import Ranker
from srd_gym.showing import short_repr
from srd_gym.topic import TopicSet

VALIDATION_SHARE = 0.2
"""Of the topics, where no fold is named."""

Values = dict[str, Any]
"""Option -> value."""


@dataclass(frozen=True, kw_only=True)
class Split:
    """A topic set split into parts that share no query."""

    __repr__ = short_repr

    train: TopicSet
    """What a learner learns from."""
    validation: TopicSet
    """What models and parameters are chosen on."""
    test: TopicSet | None
    """Not looked at until everything is chosen; None where the split has no test part."""
    description: Mapping[str, Any]
    """How it was split, as JSON values."""
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


def topics_seen(advance: Callable[[int], None]) -> OnProgress:
    """Feeds a progress bar with the topics seen, of one training or of several in turn.

    Args:
        advance: called with the number of topics seen since the last call.
    """
    done = 0

    def on_progress(progress: Progress) -> None:
        nonlocal done
        now = progress.epoch * progress.topics + progress.topics_done
        advance(now - done if now >= done else now)  # fewer: the next training begins
        done = now

    return on_progress


@functools.cache
def commit() -> str | None:
    """The commit of the checkout this package runs from, "+changes" where files differ; None outside a checkout."""
    folder = Path(__file__).resolve().parent

    def git(*words: str) -> str:
        done = subprocess.run(
            ["git", "-C", str(folder), *words], capture_output=True, text=True, check=True, timeout=20
        )
        return done.stdout.strip()

    try:
        # An installed copy may lie inside some other project's checkout: only a checkout that tracks this file counts.
        git("ls-files", "--error-unmatch", Path(__file__).name)
        return git("describe", "--always", "--exclude=*", "--abbrev=40", "--dirty=+changes")
    except (OSError, subprocess.SubprocessError):
        return None


def _hold_out(topics: TopicSet, seed: int) -> Split:
    """The last fifth of a shuffle for validation, no test part."""
    held = round(len(topics) * VALIDATION_SHARE)
    if held < 1 or held >= len(topics):
        raise ValueError(f"expected at least 3 topics to train and validate on, got {len(topics)}")
    order = np.random.default_rng(seed).permutation(len(topics))
    parts = [topics.replace(topics[int(i)] for i in sorted(part)) for part in (order[held:], order[:held])]
    how = {"validation_share": VALIDATION_SHARE, "seed": seed}
    return Split(train=parts[0], validation=parts[1], test=None, description=how)
