"""Public conformance check of learners: a learner is what its checker says. And the topics that it is checked on.

`check_learner` raises `srd_gym.testing.ConformanceError` with the law that is broken, else it returns nothing.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

from srd_agents.registry import load_ranker, make_ranker
from srd_agents.training.learner import Learner
from srd_agents.training.options import as_values
from srd_agents.training.validation import Validation
from srd_gym.checks import check_option
from srd_gym.dtypes import IntArray
from srd_gym.testing import ConformanceError, check_ranker
from srd_gym.topic import Topic, TopicSet

__all__ = ["check_learner"]

_DEFAULTS: Mapping[str, object] = {"epochs": 3, "checkpoint_seconds": 1e-9}
"""A checkpoint after every update: an interrupt then falls between any two."""


def ragged_topics() -> TopicSet:
    """Topics of 1 to 23 candidates with all that learners look at; the last has no query."""
    generator, made, words = np.random.default_rng(0), [], [f"word{i}" for i in range(200)]
    for index, n in enumerate((1, 2, 5, 9, 23, 12, 7, 11)):
        covered = np.maximum(generator.integers(0, 2, (n, 3)), np.eye(n, 3, dtype=np.int64))
        made.append(
            Topic(
                query_id=f"q{index}",
                query_vector=None if index == 7 else generator.normal(size=7).astype(np.float32),
                doc_ids=tuple(f"d{i}" for i in range(n)),
                doc_vectors=generator.normal(size=(n, 7)).astype(np.float32),
                doc_texts=tuple(" ".join(generator.choice(words, size=5 + i)) for i in range(n)),
                retrieval_scores=np.sort(generator.random(n).astype(np.float32))[::-1],
                subtopic_ids=("a", "b", "c"),
                judgments=covered,
            )
        )
    return TopicSet(made, name="ragged")


def toy_topics() -> TopicSet:
    """Four topics of six documents: the farther from the query, the better, which no initial weights know."""
    cosines = np.array([-0.9, -0.7, -0.5, 0.3, 0.6, 0.9])
    texts = ("good alpha beta", "good gamma", "good alpha", "", "", "")
    judgments = np.array([[1, 1, 0], [0, 0, 1], [1, 0, 0], [0, 0, 0], [0, 0, 0], [0, 0, 0]], dtype=np.int8)
    made = []
    for index in range(4):
        generator = np.random.default_rng([4, index])
        aside = generator.normal(size=(6, 7))
        aside *= np.sqrt(1 - cosines**2)[:, None] / np.linalg.norm(aside, axis=1, keepdims=True)
        order = generator.permutation(6)
        made.append(
            Topic(
                query_id=f"toy{index}",
                query_vector=np.eye(8)[0],
                doc_ids=tuple("abcdef"),
                doc_vectors=np.column_stack([cosines, aside])[order],
                doc_texts=tuple(texts[i] for i in order),
                subtopic_ids=("0", "1", "2"),
                judgments=judgments[order],
            )
        )
    return TopicSet(made, name="toy")


def check_learner(
    learner: str | Callable[..., Learner[Any]],
    topics: TopicSet | None = None,
    *,
    options: Mapping[str, object] | None = None,
    toy_options: Mapping[str, object] | None = None,
    threshold: float = 0.95,
    without: Collection[str] = (),
) -> None:
    """Check a learner against the laws of `srd_agents.training.learner.Learner`.

    Checked, each under a name that `without` takes:

    - "seed": the same seed gives bitwise the same weights, whatever was drawn elsewhere before; another seed others.
    - "resume": a run that is interrupted in the middle of updates and resumed ends bitwise as one in one go.
    - "folder": a loaded model has the name, options and history of the saved one, and ranks the same.
    - "ranking": what `srd_gym.testing.check_ranker` asks, also for more ranks than candidates; labels do not matter.
    - "permutation": where topics have no retrieval order, candidates may stand in any.
    - "refusals": unlabelled topics, topics without vectors or of another width, ranking before training.
    - "toy": it learns topics of six documents, of which the farthest from the query are the best.

    Args:
        learner: a name in the registry, or what makes an untrained learner of the options given by keyword.
        topics: some labelled topics with vectors to train and rank on; None makes some, of 1 to 23 candidates
            with queries, retrieval order and texts.
        options: of the learner; small ones make the check fast. Without any it trains for three epochs.
        toy_options: what is different for the toy topics, usually more epochs.
        threshold: the share of the ideal alpha_nDCG@5 that it must reach on the toy topics; a random order has 0.66.
        without: names of laws that do not hold for it and are not checked.

    Raises:
        ConformanceError: a law is broken.
        ValueError: an unknown law in `without`.
    """
    for law in without:
        check_option("law:", law, _LAWS)
    topics = ragged_topics() if topics is None else topics
    with tempfile.TemporaryDirectory() as folder:
        case = _Case(learner, options or {}, topics[:-2], topics[-2:], Path(folder), toy_options or {}, threshold)
        for law, check in _LAWS.items():
            if law not in without:
                check(case)


@dataclass(frozen=True)
class _Case:
    """Subject of a check, and its topics."""

    source: str | Callable[..., Learner[Any]]
    options: Mapping[str, Any]
    train: TopicSet
    others: TopicSet
    folder: Path
    toy_options: Mapping[str, object]
    threshold: float

    def new(self, **options: object) -> Learner[Any]:
        """An untrained learner."""
        make: Any = partial(make_ranker, self.source) if isinstance(self.source, str) else self.source
        made: Learner[Any] = make(**{**_DEFAULTS, **self.options, **options})
        return made

    @cached_property
    def trained(self) -> Learner[Any]:
        """One trained on the topics in one go, which all laws share."""
        made = self.new()
        made.fit(self.train)
        return made


def _check_seed(case: _Case) -> None:
    """The same seed, the same weights; another seed, other ones."""
    first, again, other = case.trained, case.new(), case.new()
    again.fit(case.train)  # a global generator that was drawn from stands elsewhere by now
    name = _first_difference(first, again)
    _require(name is None, f"the same seed gives another {name!r}: draw only from generators that _prepare makes")
    other.fit(case.train, seed=1)
    differs = _first_difference(first, other) is not None
    _require(differs, "seeds 0 and 1 give the same weights: draw random numbers from the seed")


def _check_resume(case: _Case) -> None:
    """Interrupted and resumed is never interrupted."""
    whole, killed, resumed, folder = case.new(), case.new(), case.new(), case.folder / "resumed"
    updates = _counted(whole)
    whole.fit(case.train, case.others)
    _counted(killed, most=updates[0] // 2)
    with suppress(KeyboardInterrupt):
        killed.fit(case.train, case.others, out=folder)
    history = resumed.fit(case.train, case.others, out=folder, resume=True)
    where = f"interrupted after {updates[0] // 2} of {updates[0]} updates and resumed"
    advice = "_training_state must hold all that _update changes besides the weights, _restore_training take it over"
    # What was chosen on validation may be the first weights: the figures of every epoch must agree too.
    _require(
        _timeless(history.records) == _timeless(whole.history.records if whole.history else []),
        f"{where}, its history differs from that of the run in one go: {advice}",
    )
    name = _first_difference(whole, resumed)
    _require(name is None, f"{where}, its {name!r} differs from that of the run in one go: {advice}")


def _check_folder(case: _Case) -> None:
    """Check that a loaded ranker equals the saved one."""
    trained = case.trained
    trained.metadata["note"] = "kept"
    trained.save(case.folder)
    loaded: Any = (
        load_ranker(case.folder) if isinstance(case.source, str) else type(trained).load(case.folder, trained.name)
    )
    for name in ("name", "config", "seed", "vector_width", "metadata", "history"):
        mine, theirs = getattr(trained, name), getattr(loaded, name)
        if name == "config":  # a reward of the user's own is loaded as text
            mine, theirs = as_values(mine), as_values(theirs)
        _require(mine == theirs, f"loaded, its {name} is {theirs!r}, not {mine!r}")
    weight = _first_difference(trained, loaded)
    _require(weight is None, f"loaded, its {weight!r} differs: _set_weights must take over what _weights gives")
    for topic in [*case.train, *case.others]:
        mine, theirs = (ranker.rank(topic, topic.n_candidates) for ranker in (trained, loaded))
        _require(np.array_equal(mine, theirs), f"topic {topic.query_id!r}: ranked {mine}, once loaded {theirs}")


def _check_ranking(case: _Case) -> None:
    """Rankings are whole, and depend on the topic alone."""
    topics = [*case.others, *case.train]
    check_ranker(case.trained, topics)
    for topic in topics:
        ranking = case.trained.rank(topic, topic.n_candidates)
        again = case.trained.rank(replace(topic, judgments=None), topic.n_candidates)
        _require(np.array_equal(ranking, again), f"topic {topic.query_id!r}: its ranking depends on its labels")


def _check_permutation(case: _Case) -> None:
    """Reordered candidates are ranked alike."""
    generator = np.random.default_rng(0)
    for topic in case.train.replace(replace(topic, retrieval_scores=None) for topic in case.train):
        order = generator.permutation(topic.n_candidates)
        mine = case.trained.rank(topic, topic.n_candidates)
        moved = order[case.trained.rank(topic.take(order), topic.n_candidates)]
        _require(
            np.array_equal(mine, moved),
            f"topic {topic.query_id!r}: ranked {mine}, with its candidates in another order {moved}; where their order "
            'is meant to matter, check without the law "permutation"',
        )


def _check_refusals(case: _Case) -> None:
    """Errors come early and name their cause."""
    train, first = case.train, case.train[0]
    unlabelled = train.replace([*train[1:], replace(first, judgments=None)])
    bare = train.replace(replace(topic, doc_vectors=None, query_vector=None) for topic in train)
    _refuses(lambda: case.new().fit(unlabelled), "training on unlabelled topics", "no judgments")
    _refuses(lambda: case.new().fit(train, unlabelled[-1:]), "validation on unlabelled topics", "no judgments")
    _refuses(lambda: case.new().fit(bare), "training without vectors", "no document vectors")
    _refuses(lambda: case.new().rank(first, 1), "ranking before training", "not trained")
    _refuses(lambda: case.trained.rank(bare[0], 1), "ranking without vectors", first.query_id)
    wide = np.ones((first.n_candidates, 1 + (first.vector_width or 0)), np.float32)
    try:
        check_ranker(case.trained, [replace(first, doc_vectors=wide, query_vector=None, subtopic_vectors=None)])
    except ValueError as refusal:
        _require("width" in str(refusal), f"vectors of another width are refused without saying so: {refusal}")


def _check_toy(case: _Case) -> None:
    """It learns."""
    toy, ranker = toy_topics(), case.new(**case.toy_options)
    ranker.fit(toy)
    reached = Validation(toy, "alpha_nDCG@5").mean(ranker)
    _require(
        reached >= case.threshold,
        f"it reaches {reached:.3f} of the ideal alpha_nDCG@5 on the toy topics, expected {case.threshold}: give it "
        "more epochs or a higher learning rate in toy_options, or see whether its loss falls",
    )


_LAWS: Mapping[str, Callable[[_Case], None]] = {
    "seed": _check_seed,
    "resume": _check_resume,
    "folder": _check_folder,
    "ranking": _check_ranking,
    "permutation": _check_permutation,
    "refusals": _check_refusals,
    "toy": _check_toy,
}


def _counted(learner: Learner[Any], most: float = math.inf) -> list[int]:
    """A cell that holds how many updates its training took; it is interrupted within the one that is too many."""
    update, done = learner._update, [0]

    def counted(batch: IntArray) -> Mapping[str, float]:
        figures = update(batch)
        done[0] += 1
        if done[0] > most:
            raise KeyboardInterrupt
        return figures

    learner._update = counted  # type: ignore[method-assign]
    return done


def _first_difference(one: Learner[Any], other: Learner[Any]) -> str | None:
    """The name of the first weight that differs in any bit."""
    mine, theirs = one._weights(), other._weights()
    for name in sorted(mine.keys() | theirs.keys()):
        if name not in mine or name not in theirs or mine[name].tobytes() != theirs[name].tobytes():
            return name
    return None


def _timeless(records: list[dict[str, object]]) -> list[dict[str, object]]:
    """Records without what differs from run to run."""
    return [{key: value for key, value in record.items() if "seconds" not in key} for record in records]


def _refuses(call: Callable[[], object], what: str, says: str) -> None:
    """Raise unless a call fails with a ValueError whose message holds these words."""
    came: object = None
    try:
        call()
    except Exception as error:
        if isinstance(error, ValueError) and says in str(error):
            return
        came = error
    raise ConformanceError(f"{what} must be refused with a ValueError that says {says!r}, got {came!r}")


def _require(holds: bool, law: str) -> None:
    """Raise unless a law holds."""
    if not holds:
        raise ConformanceError(law)
