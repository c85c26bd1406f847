from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from noisy_linear import NoisyLinear, NoisyLinearConfig
from small_topics import refused

from srd_agents.training.options import as_values
from srd_agents.training.progress import History, Progress, by_tag
from srd_agents.training.validation import Validation
from srd_gym.data import generate
from srd_gym.dtypes import IntArray
from srd_gym.measures import evaluate

TOPICS = generate("tiny", n_topics=15, seed=0)
TRAIN, VALIDATION = TOPICS[:10], TOPICS[10:]
MEASURES = ("ERR_IA@3", "StRecall@2", "NRBP", "alpha-ndcg@10")


class Playing(NoisyLinear):
    """Says that it plays two episodes of a topic, of three steps each."""

    def _update(self, batch: IntArray) -> Mapping[str, float]:
        return {**super()._update(batch), "episodes": 2, "steps": 6}


def fitted(kind: type[NoisyLinear] = Playing, epochs: int = 3, **run: Any) -> tuple[NoisyLinear, History]:
    learner = kind(NoisyLinearConfig(epochs=epochs))
    return learner, learner.fit(TRAIN, VALIDATION, seed=3, **run)


def test_records_by_tag() -> None:
    start = dict.fromkeys(("epoch", "topics", "episodes", "steps"), 0)
    clock = {"cpu_seconds": 0.1, "validation": None, "loss": 2.0}
    records: list[dict[str, Any]] = [
        {**start, "seconds": 1.0, "validation": 0.5, "validation/NRBP": 0.25},
        {"epoch": 1, "topics": 4, "episodes": 8, "steps": 40, "seconds": 3.0, **clock},
        {"epoch": 1, "topics": 5, "episodes": 9, "steps": 45, "seconds": 3.0, "validation": 0.75, "partial": True},
    ]
    expected: list[tuple[int, dict[str, float]]] = [
        (0, {"validation/ERR_IA@5": 0.5, "validation/NRBP": 0.25, "time/epoch": 0, "time/topics": 0}),
        (40, {"time/epoch": 1, "time/topics": 4, "time/cpu_seconds": 0.1, "train/loss": 2.0}),
        (45, {"validation/ERR_IA@5": 0.75, "time/epoch": 1, "time/topics": 5}),
    ]
    for (_, figures), record in zip(expected, records, strict=True):
        figures |= {"time/episodes": record["episodes"], "time/seconds": record["seconds"]}
    expected[1][1]["time/steps_per_second"] = 20.0
    assert list(by_tag(records, "ERR_IA@5")) == expected
    assert list(by_tag(records, "ERR_IA@5", 2)) == expected[2:]
    where = {"epoch": 1, "epochs": 2, "topics_done": 0, "topics": 4}
    assert Progress(**where, records=records, measure="ERR_IA@5").latest() == expected[2]
    refused(Progress(**where, records=[]).latest, "no epoch has ended yet")
    without_episodes = [{"epoch": 1, "topics": 4, "seconds": 3.0, "episodes": 0, "steps": 0}, {"epoch": 2, "topics": 8}]
    assert [x for x, _ in by_tag(without_episodes, None)] == [4, 8]


@pytest.mark.parametrize(("kind", "per_topic"), [(Playing, (2, 6)), (NoisyLinear, (0, 0))])
def test_the_history_has_totals_of_what_was_played(kind: type[NoisyLinear], per_topic: tuple[int, int]) -> None:
    told: list[tuple[int, dict[str, float]]] = []
    _, history = fitted(kind, callback=lambda progress: told.append(progress.latest()))
    played = [(record["episodes"], record["steps"]) for record in history.records]
    assert played == [(record["topics"] * per_topic[0], record["topics"] * per_topic[1]) for record in history.records]
    assert told[-1] == list(by_tag(history.records, "alpha_nDCG@10"))[-1]
    assert told[-1][0] == (history.records[-1]["steps"] or history.records[-1]["topics"])


def test_more_measures_are_recorded_and_choose_nothing() -> None:
    learner, history = fitted(measures=MEASURES)
    alone, other = fitted()
    np.testing.assert_array_equal(learner.w, alone.w)
    assert history.best_epoch == other.best_epoch
    best = next(record for record in history.records if record["epoch"] == history.best_epoch)
    rankings = dict(zip(VALIDATION.query_ids, learner.rank_batch(list(VALIDATION), 12), strict=True))
    expected = evaluate(VALIDATION, rankings, ["alpha_nDCG@10", "ERR_IA@3", "StRecall@2", "NRBP"]).measures
    _, figures = next(by_tag([best], history.measure))
    assert figures.pop("validation/initial_ranking") == Validation(VALIDATION, "alpha_nDCG@10").baseline[1]
    found = {tag.removeprefix("validation/"): value for tag, value in figures.items() if tag.startswith("validation/")}
    assert found == pytest.approx(expected)
    assert History.of({**vars(history)}, "test") == history
    learner = NoisyLinear(NoisyLinearConfig())
    refused(lambda: learner.fit(TRAIN, measures=["NRBP"]), "no measures|pass validation=")
    refused(lambda: learner.fit(TRAIN, VALIDATION, measures=["NRPB"]), "unknown measure 'NRPB'.*NRBP")


class Wandb:
    """Weights & Biases as its documents describe it: numbers by name, at steps that never fall."""

    def __init__(self) -> None:
        self.logged: list[tuple[int, dict[str, float]]] = []

    def init(self, *, project: str, config: Mapping[str, Any]) -> Wandb:
        assert json.loads(json.dumps(config)) == config
        return self

    def log(self, figures: dict[str, float], *, step: int) -> None:
        assert type(step) is int
        assert step >= max((last for last, _ in self.logged), default=0)
        assert all(isinstance(name, str) and type(value) in (int, float) for name, value in figures.items())
        self.logged.append((step, figures))

    def finish(self) -> None:
        self.logged.append((-1, {}))


def test_a_logger_in_ten_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "wandb", Wandb())
    wandb: Any = importlib.import_module("wandb")
    learner = Playing(NoisyLinearConfig(epochs=3))
    run = wandb.init(project="srd", config=as_values(learner.config))

    def log(progress: Progress) -> None:
        if progress.topics_done == 0:  # an epoch has ended
            steps, figures = progress.latest()
            run.log(figures, step=steps)

    history = learner.fit(TRAIN, VALIDATION, seed=3, callback=log)
    run.finish()
    *logged, end = wandb.logged
    assert end == (-1, {})
    assert logged[-1] == list(by_tag(history.records, history.measure))[-1]
    assert {steps for steps, _ in logged} >= {60, 120, 180}
