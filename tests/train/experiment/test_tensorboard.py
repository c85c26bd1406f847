from __future__ import annotations

import sys
from pathlib import Path

import pytest
from run_srd import Srd

from srd_agents.training.progress import by_tag
from srd_gym.data import load_topics
from srd_train.experiment.tensorboard import event_log

pytest.importorskip("tensorboard")

QUICK = ("--patience", "0", "--fold", "1/5")


def scalars(folder: Path) -> dict[str, dict[int, float]]:
    """Tag -> step -> value, as TensorBoard reads them; a step that is duplicated is an error."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(str(folder), size_guidance={"scalars": 0})
    events.Reload()
    found = {}
    for tag in events.Tags()["scalars"]:
        steps = [event.step for event in events.Scalars(tag)]
        assert len(set(steps)) == len(steps)
        assert steps == sorted(steps)
        found[tag] = {event.step: event.value for event in events.Scalars(tag)}
    return found


def test_event_files_hold_the_history(srd: Srd, tiny_file: Path, tmp_path: Path) -> None:
    words = ("train", "mdp-div", "--topics", tiny_file, "--out", tmp_path / "m", "--epochs", "3", *QUICK)
    asked = ("--measures", "ERR_IA@5", "StRecall@2", "alpha_nDCG@10", "--tensorboard", tmp_path / "events", "--json")
    records = srd.works(*words, *asked).json["history"]["records"]
    found = scalars(tmp_path / "events")
    steps = sum(min(10, topic.n_candidates) for topic in load_topics(tiny_file).folds(5, seed=0)[0].train)
    assert found["time/epoch"] == {epoch * steps: float(epoch) for epoch in range(4)}
    for measure in ("alpha_nDCG@10", "ERR_IA@5", "StRecall@2"):
        assert list(found[f"validation/{measure}"]) == list(found["time/epoch"])
    for figure in ("return", "loss", "entropy", "learning_rate", "grad_norm", "evaluations"):
        assert list(found[f"train/{figure}"]) == list(found["time/epoch"])[1:]
    assert min(found["time/steps_per_second"].values()) > 0
    assert {tag.partition("/")[0] for tag in found} == {"validation", "train", "time"}
    written = {x: {tag: values[x] for tag, values in found.items() if x in values} for x in found["time/epoch"]}
    assert written == {x: pytest.approx(figures, rel=1e-6) for x, figures in by_tag(records, "alpha_nDCG@10")}


def test_a_resumed_run_goes_on_without_repeating_a_step(srd: Srd, tiny_file: Path, tmp_path: Path) -> None:
    def train(folder: str, epochs: int, *more: str) -> None:
        words = ("train", "mdp-div", "--topics", tiny_file, "--out", tmp_path / folder, "--epochs", epochs, *QUICK)
        srd.works(*words, "--tensorboard", tmp_path / f"{folder}-events", *more)

    train("whole", 4)
    train("parts", 2)
    train("parts", 4, "--resume")
    whole, parts = scalars(tmp_path / "whole-events"), scalars(tmp_path / "parts-events")
    assert len(list((tmp_path / "parts-events").iterdir())) == 2
    for clock in ("time/seconds", "time/cpu_seconds", "time/steps_per_second"):
        assert parts.pop(clock).keys() == whole.pop(clock).keys()
    assert parts == whole


def test_epochs_that_a_run_repeats_after_a_crash_are_written_once(tmp_path: Path) -> None:
    records = [{"topics": 18 * epoch, "epoch": epoch, "validation": 0.1 * epoch} for epoch in range(5)]
    with event_log(tmp_path) as log:
        log(records[:3], "NRBP")
    with event_log(tmp_path, resume=True) as log:  # from an older checkpoint
        log(records[:2], "NRBP")
        log(records, "NRBP")
    assert set(scalars(tmp_path)["validation/NRBP"]) == {0, 18, 36, 54, 72}


def test_folders_and_rankers_that_do_not_fit(srd: Srd, tiny_file: Path, tmp_path: Path) -> None:
    words = ("train", "mdp-div", "--topics", tiny_file, "--epochs", "1", *QUICK, "--tensorboard", tmp_path / "events")
    srd.works(*words, "--out", tmp_path / "a")
    before = scalars(tmp_path / "events")
    assert "already holds the events of a run" in srd.fails(*words, "--out", tmp_path / "b")
    assert scalars(tmp_path / "events") == before
    heuristic = ("train", "mmr", "--topics", tiny_file, "--out", tmp_path / "c", "--tensorboard", tmp_path / "d")
    assert "has no epochs; leave --tensorboard out" in srd.fails(*heuristic)


def test_without_tensorboard_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in [name for name in sys.modules if name.startswith(("tensorboard", "torch.utils.tensorboard"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "tensorboard", None)
    needed = r"--tensorboard needs tensorboard: pip install .*\[tensorboard\]"
    with pytest.raises(ImportError, match=needed), event_log(tmp_path):
        pass
