"""Minari data sets: read without this package, replayed with it."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import minari
import pytest
from run_srd import Srd
from small_topics import FirstRankOnly

from srd_agents.registry import make_ranker
from srd_gym import Clicks, parse_measure
from srd_gym.offline import EpsilonPolicy
from srd_gym.offline.minari_data import _own_folder, collect_minari
from srd_gym.pruning import KNN

READ = """
import sys
sys.modules["srd_gym"] = None  # as where it is not installed
import minari
data = minari.load_dataset("srd/tiny/mmr-v0")
print(data.total_episodes, [sorted(e.observations) for e in data][0], sum(e.rewards.sum() for e in data) > 0)
"""


@pytest.fixture
def srd(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Srd:
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    return Srd(capsys)


def collect(srd: Srd, *more: Any) -> Any:
    words = ("data", "minari", "mmr", "--topics", "synthetic:tiny", "--episodes", 5, "--epsilon", 0.3, "--id")
    return srd(*words, *(more or ["srd/tiny/mmr-v0"]))


@pytest.mark.parametrize("options", [[], ["--reward", "Clicks(model='dbn')", "--observation", "compact"]])
def test_a_recovered_environment_replays_the_rewards(srd: Srd, options: list[str]) -> None:
    assert collect(srd, "srd/tiny/mmr-v0", *options).code == 0
    data = minari.load_dataset("srd/tiny/mmr-v0")
    env: Any = data.recover_environment()
    for about, episode in zip(data.storage.get_episode_metadata(range(5)), data, strict=True):
        env.reset(seed=about["seed"])
        assert [env.step(action)[1] for action in episode.actions] == episode.rewards.tolist()


def test_it_is_read_where_this_package_is_not_installed(srd: Srd) -> None:
    collect(srd)
    done = subprocess.run([sys.executable, "-c", READ], capture_output=True, text=True, check=True)
    assert done.stdout.split()[0] == "5"
    assert done.stdout.split()[-1] == "True"


@pytest.mark.parametrize(("arguments", "message"), [
    (["srd/tiny/mmr"], "is not an id of a Minari data set"),
    (["a b"], "is not an id of a Minari data set"),
    (["srd/tiny/mmr-v0", "--episodes", 0], "episodes must be at least 1"),
    (["srd/tiny/mmr-v0", "--epsilon", 2], "epsilon must be between 0 and 1"),
    (["srd/tiny/mmr-v0", "--reward", "alpha_DGC"], "Did you mean alpha_DCG"),
])  # fmt: skip
def test_what_cannot_be_collected_is_refused(srd: Srd, tmp_path: Path, arguments: list[Any], message: str) -> None:
    done = collect(srd, *arguments)
    assert (done.code, message in done.err) == (2, True), done.err
    assert not list(tmp_path.glob("srd/tiny/*-v*"))


def test_a_data_set_is_never_overwritten(srd: Srd) -> None:
    collect(srd)
    assert "there is a data set srd/tiny/mmr-v0; choose another version" in collect(srd).err


def test_a_damaged_data_set_is_told_and_can_be_made_anew(srd: Srd, tmp_path: Path) -> None:
    collect(srd)
    file = next(tmp_path.glob("srd/tiny/mmr-v0/data/main_data.hdf5"))
    file.write_bytes(file.read_bytes()[:100])
    with pytest.raises(OSError, match="file"):
        list(minari.load_dataset("srd/tiny/mmr-v0"))
    assert "choose another version" in collect(srd).err
    minari.delete_dataset("srd/tiny/mmr-v0")
    assert collect(srd).code == 0


def collected(reward: Any = "alpha_DCG", **arguments: Any) -> Any:
    how: dict[str, Any] = {"topics": "synthetic:tiny", "episodes": 4, "policy": EpsilonPolicy(0.3), "horizon": 3}
    return collect_minari("srd/tiny/objects-v0", make_ranker("mmr"), reward=reward, **how, **arguments)


@pytest.mark.usefixtures("srd")
@pytest.mark.parametrize("arguments", [
    {"reward": Clicks(model="dbn", attraction=(0.1, 0.5, 0.9))},
    {"reward": parse_measure("alpha_nDCG@2"), "measures": (parse_measure("NRBP"), "StRecall")},
    {"pruning": KNN(0.3)},
])  # fmt: skip
def test_measures_users_and_pruning_survive_in_the_data_set(arguments: dict[str, Any]) -> None:
    made = collected(**arguments)
    env: Any = made.recover_environment()
    data = zip(made.storage.get_episode_metadata(range(4)), made, strict=True)
    for about, episode in data:
        env.reset(seed=about["seed"])
        assert [env.step(action)[1] for action in episode.actions] == episode.rewards.tolist()


@pytest.mark.usefixtures("srd")
@pytest.mark.parametrize(("arguments", "message"), [
    ({"reward": FirstRankOnly()}, "unknown measure"),
    ({"mask_dtype": bool}, "unknown mask_dtype"),
])  # fmt: skip
def test_what_no_data_set_can_hold_is_refused_before_anything_is_played(
    arguments: dict[str, Any], message: str, tmp_path: Path
) -> None:
    played: list[float] = []
    with pytest.raises(ValueError, match=message):
        collected(**arguments, told=played.append)
    assert not played
    assert not list(tmp_path.glob("srd/tiny/*"))


KILLED = """
import os, signal
from srd_agents import make_ranker
from srd_gym.offline import EpsilonPolicy
from srd_gym.offline.minari_data import collect_minari
stop = lambda _: os.kill(os.getpid(), signal.SIGKILL)
collect_minari("a-v0", make_ranker("mmr"), topics="synthetic:tiny", episodes=5, policy=EpsilonPolicy(0.1), told=stop)
"""


def test_what_a_kill_left_is_removed_by_the_next_and_what_another_plays_is_not(srd: Srd, tmp_path: Path) -> None:
    assert subprocess.run([sys.executable, "-c", KILLED], check=False).returncode == -signal.SIGKILL
    (left,) = tmp_path.glob(".srd_gym.*.episodes")
    assert list(left.iterdir())
    with _own_folder(tmp_path) as other:
        assert not left.exists()
        (other / "episodes").mkdir(parents=True)
        assert collect(srd).code == 0
        assert [path.name for path in other.iterdir()] == ["episodes"]
    assert [path.name for path in tmp_path.iterdir()] == ["srd"]
