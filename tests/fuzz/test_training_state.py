"""Checkpoints whose loop or history no training run writes are refused where they are read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from noisy_linear import NoisyLinear, NoisyLinearConfig

from srd_agents.fitting import STATE_FILE
from srd_agents.storage import read_tree, write_tree
from srd_gym.data import generate

TOPICS = generate("tiny", n_topics=6, seed=0)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("run")
    NoisyLinear(NoisyLinearConfig(epochs=2)).fit(TOPICS[:4], TOPICS[4:], out=out)
    return out


def history(**fields: Any) -> Callable[[Any], object]:
    return lambda state: state["loop"]["history"].update(fields)


def record(**fields: Any) -> Callable[[Any], object]:
    return lambda state: state["loop"]["history"]["records"][1].update(fields)


CHANGES: list[tuple[Callable[[Any], object], str]] = [
    (lambda state: state["loop"].update(history=None), "not one that `fit` wrote"),
    (history(more=1), "unknown option of .*: the history: 'more'"),
    (history(records={}), "records must be a list"),
    (history(records=[1]), "entry 1 of records must be a table"),
    (history(records=[{}]), "record 1: 'epoch'"),
    (history(best_epoch="two"), "best_epoch must be a whole number"),
    (history(best_validation="high"), "best_validation must be a number"),
    (history(best_validation=None), "the history and the best weights do not go together"),
    (history(excluded=[1]), "entry 1 of excluded must be text"),
    (record(epoch=-1), "record 2: epoch must be at least 0, got -1"),
    (record(topics=None), "record 2: topics must be a whole number"),
    (record(seconds="1"), "record 2: seconds must be a number"),
    (record(loss=[1.0]), "record 2: loss must be a number"),
    (lambda state: state.pop("best"), "the history and the best weights do not go together"),
    (lambda state: state["loop"].update(position=4), "position must be at most 3, got 4"),
    (lambda state: state.update(order=np.arange(4.0)), "the order of topics is no order of 4 topics"),
]


@pytest.mark.parametrize(("change", "message"), CHANGES)
def test_a_checkpoint_that_no_run_wrote_is_refused(
    change: Callable[[Any], object], message: str, folder: Path, tmp_path: Path
) -> None:
    state = read_tree(folder / STATE_FILE, "state")
    change(state)
    write_tree(tmp_path / STATE_FILE, state)
    with pytest.raises(ValueError, match=message) as caught:
        NoisyLinear(NoisyLinearConfig(epochs=3)).fit(TOPICS[:4], TOPICS[4:], out=tmp_path, resume=True)
    assert type(caught.value) is ValueError
    assert str(tmp_path / STATE_FILE) in str(caught.value)


def test_the_checkpoint_itself_is_resumed(folder: Path, tmp_path: Path) -> None:
    write_tree(tmp_path / STATE_FILE, read_tree(folder / STATE_FILE, "state"))
    found = NoisyLinear(NoisyLinearConfig(epochs=3)).fit(TOPICS[:4], TOPICS[4:], out=tmp_path, resume=True)
    assert [entry["epoch"] for entry in found.records] == [0, 1, 2, 3]
