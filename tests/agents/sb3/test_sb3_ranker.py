from __future__ import annotations

import base64
import contextlib
import functools
import json
import pickle
import sys
import warnings
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from run_srd import Srd
from small_topics import refused

from srd_agents import RANKERS, diversify, load_ranker, make_ranker
from srd_agents.pipeline.frames import FrameRanker
from srd_agents.sb3.ranker import SB3Ranker
from srd_gym.data.synthetic import generate
from srd_gym.envs import SelectionEnv
from srd_gym.pruning import ByRanker
from srd_gym.testing import check_ranker
from srd_train.serving.models import write_heuristic

pytest.importorskip("stable_baselines3")
contrib = pytest.importorskip("sb3_contrib")

import sb3_models  # noqa: E402 - after the skip

TOPICS = generate("serp", n_topics=8, seed=3, candidates=(3, 9), width=8)
LARGE = generate("serp", n_topics=2, seed=5, candidates=(15, 15), width=8)


@functools.cache
def model_of(name: str, *, ours: bool, **arguments: Any) -> Any:
    """Untrained: ranking does not depend on how good the weights are. None of the tests changes it."""
    return sb3_models.model_of(name, SelectionEnv(TOPICS, **{"horizon": 4, **arguments}), ours=ours)


@pytest.mark.parametrize("ours", [True, False], ids=["ours", "stock"])
@pytest.mark.parametrize("name", list(sb3_models.OF))
def test_every_model_is_a_ranker(name: str, ours: bool) -> None:
    ranker = SB3Ranker(model_of(name, ours=ours))
    check_ranker(ranker, list(TOPICS), k=4)
    if ours:
        compact = SB3Ranker(model_of(name, ours=ours, observation="compact"))
        for each in (ranker, compact):  # of any number of candidates
            check_ranker(each, list(LARGE))


@pytest.mark.parametrize("observation", ["full", ("full", "progress")], ids=["full", "further"])
@pytest.mark.parametrize("ours", [True, False], ids=["ours", "stock"])
@pytest.mark.parametrize("name", ["MaskablePPO", "PPO", "DQN"])
def test_it_ranks_as_the_model_acts(name: str, ours: bool, observation: Any) -> None:
    model = model_of(name, ours=ours, observation=observation)
    ranker = SB3Ranker(model)
    env = SelectionEnv(TOPICS, horizon=4, observation=observation)
    for topic in TOPICS:
        seen, info = env.reset(options={"query_id": topic.query_id})
        ended = False
        while not ended:
            if name == "MaskablePPO":
                action, _ = model.predict(seen, deterministic=True, action_masks=env.action_masks())
            elif ours:
                action, _ = model.predict(seen, deterministic=True)
            else:  # blind to masks: what it likes best of what is allowed
                action = np.where(env.action_masks(), ranker._scores(seen), -np.inf).argmax()
            seen, _, ended, _, info = env.step(int(action))
        np.testing.assert_array_equal(ranker.rank(topic, 4), info["ranking"][info["ranking"] >= 0])


def test_our_policies_fit_into_a_folder_without_pickles(tmp_path: Path) -> None:
    model = model_of("DQN", ours=True)
    ranker = SB3Ranker(model)
    ranker.save(tmp_path, {"note": "mine"})
    assert sorted(path.name for path in tmp_path.iterdir()) == ["config.json", "model.safetensors"]
    content = json.loads((tmp_path / "config.json").read_text())
    origin = {"topic_set": TOPICS.origin}
    assert content["metadata"] == {**origin, "note": "mine", "algorithm": "DQN", "steps": 0}
    again = load_ranker(tmp_path)
    for topic in [*TOPICS, *LARGE]:
        np.testing.assert_array_equal(again.rank(topic, 10), ranker.rank(topic, 10))
    stock = SB3Ranker(model_of("PPO", ours=False))
    refused(lambda: stock.save(tmp_path), "this PPO has a stock one.*model.save")


def test_vectors_of_another_encoder_are_told(tmp_path: Path) -> None:
    ranker = SB3Ranker(model_of("PPO", ours=True))
    ranker.save(tmp_path)
    other = TOPICS.replace(TOPICS, encoder="mini.npz")
    for each in (ranker, load_ranker(tmp_path)):
        with warnings.catch_warnings(action="error"):
            each.rank_batch(TOPICS, 3)
        with pytest.warns(UserWarning, match=r"\(synthetic:serp .*and is to rank vectors of .*\(mini\.npz"):
            each.rank_batch(other, 3)


def test_a_folder_ranks_without_stable_baselines3(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    SB3Ranker(model_of("PPO", ours=True)).save(tmp_path)
    theirs = ("stable_baselines3", "sb3_contrib")
    for name in [name for name in sys.modules if name.startswith(("srd_agents.sb3", *theirs))]:
        monkeypatch.delitem(sys.modules, name)
    for name in theirs:
        monkeypatch.setitem(sys.modules, name, None)
    assert len(load_ranker(tmp_path).rank(TOPICS[0], 3)) == 3
    learner: Any = make_ranker("maskable-ppo", epochs=1)
    message = "training maskable-ppo needs sb3_contrib"
    refused(lambda: learner.fit(TOPICS), message, ImportError)


@pytest.mark.parametrize("ours", [True, False], ids=["ours", "stock"])
def test_a_zip_file_is_read_only_where_the_user_says_so(ours: bool, tmp_path: Path) -> None:
    model = model_of("MaskablePPO", ours=ours)
    path = tmp_path / "model.zip"
    model.save(path)
    expected = SB3Ranker(model).rank_batch(TOPICS, 4)
    refused(lambda: SB3Ranker.from_zip(path), "holds pickles.*trust=True")
    message = r"'MaskedPPO'\. Did you mean MaskablePPO"
    refused(lambda: SB3Ranker.from_zip(path, algorithm="MaskedPPO", trust=True), message)
    refused(lambda: SB3Ranker.from_zip(tmp_path / "none.zip", trust=True), "SB3 model: no file at", FileNotFoundError)
    row = make_ranker("sb3", path=str(path), trust=True)  # as a benchmark builds it
    check_ranker(row, list(TOPICS))
    for ranker in (SB3Ranker.from_zip(path, trust=True), row):
        for one, other in zip(ranker.rank_batch(TOPICS, 4), expected, strict=True):
            np.testing.assert_array_equal(one, other)


class Attack:
    """A zip file that runs code when SB3 reads it, and a model folder that names it and claims to be trusted."""

    def __init__(self, place: Path) -> None:
        self.ran = place / "the code ran"
        self.folder = place / "model"
        self.zip = self.folder / "model" / "weights.zip"
        self.zip.parent.mkdir(parents=True)
        honest = place / "honest.zip"
        model_of("PPO", ours=True).save(honest)
        with zipfile.ZipFile(honest) as source, zipfile.ZipFile(self.zip, "w") as target:
            for name in source.namelist():
                content = source.read(name)
                if name == "data":
                    data = json.loads(content)
                    payload = base64.b64encode(pickle.dumps(Payload(self.ran))).decode()
                    data["policy_class"] = {":type:": "x", ":serialized:": payload}
                    content = json.dumps(data).encode()
                target.writestr(name, content)

    def write_config(self, **config: Any) -> None:
        content = {"schema_version": 2, "ranker": "sb3", "vector_width": 8, "seed": None, "metadata": {}}
        config = {"path": str(self.zip), "algorithm": "PPO", **config}
        (self.folder / "config.json").write_text(json.dumps({**content, "config": config, "history": None}))


class Payload:
    """Leaves a file where it is unpickled."""

    def __init__(self, where: Path) -> None:
        self.where = where

    def __reduce__(self) -> tuple[Any, ...]:
        return (Path.touch, (self.where,))


@pytest.fixture
def attack(tmp_path: Path) -> Attack:
    made = Attack(tmp_path)
    made.write_config(trust=True)
    return made


def test_the_attack_is_real(attack: Attack) -> None:
    with contextlib.suppress(Exception):
        SB3Ranker.from_zip(attack.zip, algorithm="PPO", trust=True)
    assert attack.ran.exists()


@pytest.mark.parametrize("config", [{"trust": True}, {}], ids=["claims trust", "as written by hand"])
def test_no_model_folder_runs_code(attack: Attack, config: dict[str, Any]) -> None:
    attack.write_config(**config)
    for use in (load_ranker, FrameRanker, lambda folder: diversify(None, np.eye(8), 3, ranker=folder)):
        message = "run any code.*must not name it"
        refused(lambda use=use: use(attack.folder), message)
    assert not attack.ran.exists()


def test_no_pruning_description_runs_code(attack: Attack, tmp_path: Path) -> None:
    for named in (str(attack.folder), "sb3"):
        for when in ("reset", "step"):
            pruning = ByRanker(named, 0.5, when=when)
            refused(lambda given=pruning: SelectionEnv(TOPICS, pruning=given).reset(seed=0), "can run any code")
    named = tmp_path / "named"
    write_heuristic(named, RANKERS.find("mmr"), {}, 8, {})
    learner = make_ranker("mdp-div-batched", epochs=1, prune_ranking=True, pruning=f"ranker:0.5:reset:{named}")
    learner.fit(TOPICS)
    learner.save(tmp_path / "genuine")
    load_ranker(tmp_path / "genuine").rank(TOPICS[0], 3)
    named.rename(tmp_path / "away")
    attack.folder.rename(named)
    refused(lambda: load_ranker(tmp_path / "genuine").rank(TOPICS[0], 3), "'sb3', which can run any code")
    assert not attack.ran.exists()


def test_the_commands_run_code_only_when_told_to(
    attack: Attack, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    srd = Srd(capsys)
    rank = ("--topics", "synthetic:serp:6", "--out", tmp_path / "a.run")
    assert "names ranker 'sb3'" in srd.fails("rank", attack.folder, *rank)
    assert "names ranker 'sb3'" in srd.fails("rank", attack.folder, *rank, "--trust")
    assert "--trust for `srd rank`" in srd.fails("rank", "sb3", "--path", attack.zip, *rank)
    assert "trained elsewhere" in srd.fails("train", "sb3", "--path", attack.zip)
    recipe = tmp_path / "r.toml"
    row = f'[[rankers]]\nranker = "sb3"\nconfig = {{ path = "{attack.zip}", algorithm = "PPO" }}\n'
    recipe.write_text(f'title = "t"\nreference = "sb3"\n[[topics]]\nname = "s"\nsource = "synthetic:serp:9"\n{row}')
    refused = srd.fails("benchmark", recipe, "--out", tmp_path / "results")
    assert "row 'sb3' (ranker 'sb3') reads a file that can run any code in it; give the command --trust" in refused
    assert not attack.ran.exists()
    srd("benchmark", recipe, "--out", tmp_path / "results", "--trust")
    assert attack.ran.exists()


def test_models_that_cannot_rank() -> None:
    compact = model_of("PPO", ours=False, observation="compact")
    refused(lambda: SB3Ranker(compact), "has seen topics by their index only")
    ours, stock = (SB3Ranker(model_of("PPO", ours=each)) for each in (True, False))
    message = "at most 9 candidates .* has 15 of"
    refused(lambda: stock.rank(LARGE[0], 4), message)
    wide = generate("serp", n_topics=1, seed=0, candidates=(5, 5), width=16)[0]
    refused(lambda: ours.rank(wide, 4), "of width 8, but topic .* has 16")
    refused(lambda: stock.rank(wide, 4), "has 5 of width 16")
    env = SelectionEnv(TOPICS, horizon=4)
    with warnings.catch_warnings(action="ignore"):
        recurrent = contrib.RecurrentPPO("MultiInputLstmPolicy", env, n_steps=8, batch_size=8)
    refused(lambda: SB3Ranker(recurrent), "unknown SB3 algorithm 'RecurrentPPO'")
    message = "ranker 'sb3' needs the zip file"
    refused(lambda: make_ranker("sb3", trust=True).rank(TOPICS[0], 3), message)
    refused(lambda: make_ranker("sb3", path="model.zip"), "run any code in it.*trust=True")
