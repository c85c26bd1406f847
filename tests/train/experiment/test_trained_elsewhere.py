"""Rankers that train by themselves, in a benchmark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from run_srd import Srd

from srd_agents.own_code import import_own
from srd_agents.registry import RANKERS
from srd_gym.dtypes import IntArray
from srd_gym.topic import Topic, TopicSet
from srd_train.experiment.benchmark import FailedCellsError, run_benchmark
from srd_train.experiment.recipe import load_recipe

RECIPE = """
title = "Trained elsewhere"
reference = "retrieval-order"
measures = ["alpha_nDCG@10"]
seeds = [3]

[[topics]]
name = "serp"
source = "synthetic:serp:20:0"
run_folds = [1]

[[rankers]]
ranker = "retrieval-order"

[[rankers]]
ranker = "{ranker}"
name = "theirs"
"""


class MeanDirection:
    """Ranks by the mean vector of relevant documents."""

    told: ClassVar[Any] = {"episodes": 12, "steps": 120}
    fitted: ClassVar[tuple[list[str], list[str], int] | None] = None

    def fit(self, train: TopicSet, validation: TopicSet, *, seed: int) -> Mapping[str, int] | None:
        type(self).fitted = [*train.query_ids], [*validation.query_ids], seed
        self.direction = np.mean(
            [topic.require_vectors("test")[topic.judgments.any(axis=1)].mean(axis=0) for topic in train], axis=0
        )
        return self.told

    def rank(self, topic: Topic, k: int) -> IntArray:
        return np.argsort(-(topic.require_vectors("test") @ self.direction), kind="stable")[:k]

    def rank_batch(self, topics: Sequence[Topic], k: int) -> list[IntArray]:
        return [self.rank(topic, k) for topic in topics]


class Silent(MeanDirection):
    """Tells nothing."""

    told: ClassVar[Any] = None


class Talkative(MeanDirection):
    """Tells what no table has."""

    told: ClassVar[Any] = {"reward": 3.0}


def run(kind: type[Any], tmp_path: Path) -> list[Mapping[str, Any]]:
    name = f"{kind.__module__}:{kind.__qualname__}"
    import_own(name, trust=True)
    path = tmp_path / "recipe.toml"
    path.write_text(RECIPE.format(ranker=name))
    return run_benchmark(load_recipe(str(path), trust=True), tmp_path / "out", trust=True)


@pytest.mark.parametrize(("kind", "played"), [(MeanDirection, (12, 120)), (Silent, (None, None))])
def test_a_class_with_fit_is_trained_on_the_fold_and_ranked(
    kind: type[MeanDirection], played: tuple[int | None, int | None], tmp_path: Path
) -> None:
    record = next(one for one in run(kind, tmp_path) if one["ranker"] == "theirs")
    assert kind.fitted is not None
    train, validation, seed = kind.fitted
    assert (len(train), len(validation), seed) == (12, 4, 3)
    assert not {*train, *validation} & record["per_topic"].keys()
    assert (record["environment_episodes"], record["environment_steps"]) == played


def test_what_fit_tells_beyond_episodes_and_steps_fails_its_cell_alone(tmp_path: Path) -> None:
    with pytest.raises(FailedCellsError, match="figure of what fit returned"):
        run(Talkative, tmp_path)


def test_no_folder_holds_it(srd: Srd, tmp_path: Path) -> None:
    name = f"{__name__}:MeanDirection"
    import_own(name, trust=True)
    assert RANKERS[name].trainable
    done = srd("train", name, "--topics", "synthetic:tiny:8", "--fold", "1/4", "--trust", "--out", tmp_path / "model")
    assert done.code == 2
    assert "no folder holds it" in done.err
    assert not (tmp_path / "model").exists()
