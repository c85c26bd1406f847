"""What the user has made, named "module:NAME": only with trust, and judged as all others are."""

from __future__ import annotations

import importlib
import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import gymnasium as gym
import numpy as np
import own_parts
import pytest
import torch
from made_results import recipe_file
from run_srd import Srd
from small_topics import random_topics, refused

from srd_agents.registry import RANKERS, load_ranker
from srd_agents.training.validation import Validation
from srd_gym.core import own
from srd_gym.data import load_topics
from srd_gym.measures import MEASURES, catalogue, evaluate

CODE = f"""{Path(own_parts.__file__).read_text(encoding="utf-8")}

class Last:
    shift, most = 0, 99
    def rank(self, topic, k):
        return np.arange(topic.n_candidates)[::-1][: min(k, self.most)] + self.shift
    def rank_batch(self, topics, k):
        return [self.rank(topic, k) for topic in topics]

class Few(Last):
    most = 2

class Foreign(Last):
    shift = 1000

class Twice(Last):
    def rank(self, topic, k):
        return np.zeros(k, dtype=int)
"""
LEARNER = """
import numpy as np
import torch
from torch import nn
from srd_agents.training.torch_learner import NetworkLearner

class Mean(NetworkLearner):
    def _build(self, vector_width):
        self._network = nn.Linear(vector_width, 1)
    def _prepare(self, topics, seed):
        torch.manual_seed(seed)
        self._build(self.vector_width)
    def _update(self, batch):
        with torch.no_grad():
            self._network.bias += 1
        return {"seen": float(len(batch))}
    def _training_state(self):
        return {}
    def _restore_training(self, state):
        pass
    def _rank_batch(self, topics, k):
        return [np.arange(topic.n_candidates)[:k] for topic in topics]
"""

POLICY = """
import numpy as np
import torch
from torch import nn
from srd_agents.acting import PolicyRanker

class Scores(nn.Module):
    "A policy of somebody's own: it knows no more of this project than its observations."

    def __init__(self, width):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(2 * width, 8), nn.Tanh(), nn.Linear(8, 1))

    def predict(self, observation, state=None, episode_start=None, deterministic=False, action_masks=None):
        seen = {name: torch.as_tensor(observation[name]) for name in ("query", "documents")}
        query = seen["query"][..., None, :].expand_as(seen["documents"])
        with torch.no_grad():
            scores = self.layers(torch.cat([seen["documents"], query], -1)).squeeze(-1)
        return scores.masked_fill(~torch.as_tensor(action_masks), -torch.inf).argmax(-1).numpy(), state

class Mine(PolicyRanker):
    def __init__(self):
        policy = Scores(8)
        policy.load_state_dict(torch.load("policy.pt", weights_only=True))
        super().__init__(policy, horizon=5)
"""


@pytest.fixture(autouse=True)
def _own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, code in (("own_code", CODE), ("own_learner", LEARNER), ("own_policy", POLICY)):
        (tmp_path / f"{name}.py").write_text(code)
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(RANKERS, "built_in", dict(RANKERS.built_in))
    monkeypatch.setattr(own, "_OWN", {})
    for names in (MEASURES, catalogue._FOLDED):
        for name in [name for name in names if ":" in name]:
            monkeypatch.delitem(names, name)


def recipe(folder: Path, *rankers: str) -> Path:
    path = recipe_file(folder, *rankers, "mmr")
    path.write_text(path.read_text().replace('["alpha_nDCG@5"]', '["own_code:Early@5", "alpha_nDCG@5"]'))
    return path


@pytest.mark.parametrize("jobs", [1, 2])
def test_bad_rankings_fail_their_cell_by_name_and_the_others_go_on(srd: Srd, tmp_path: Path, jobs: int) -> None:
    bad = {"Few": "ranked 2 documents of topic", "Foreign": "does not have", "Twice": "twice"}
    path = recipe(tmp_path, "own_code:Last", *(f"own_code:{name}" for name in bad))
    done = srd("benchmark", path, "--out", "out", "--trust", "--jobs", jobs, "--json")
    assert done.code == 1
    assert "own_code:Few, fold 1, seed 0: FAILED, ValueError: " in done.err
    assert "3 of 5 cells failed" in done.err
    assert all("Traceback" in record["error"]["traceback"] for record in done.json["failed"])
    rows = done.json["tables"][0]["rows"]
    assert [row["ranker"] for row in rows] == ["own_code:Last", "mmr"]
    assert next(iter(rows[0]["means"])) == "own_code:Early@5"
    problems = srd.works("report", "out", "--trust", "--json").json["problems"]
    reasons = "".join(problem["why"] for problem in problems if problem["kind"] == "failed")
    for name, message in bad.items():
        assert re.search(f"ranker 'own_code:{name}'.*{message}", reasons)


def test_code_that_has_changed_makes_other_runs(srd: Srd, tmp_path: Path) -> None:
    reward = 'ranker = "qmix"\nconfig = { epochs = 1, reward = "alpha_nDCG@5 + own_code:Early@5" }'
    words = ("benchmark", recipe_file(tmp_path, "own_code:Last", reward, "mmr"), "--out", "out", "--trust")
    assert "finished before" not in srd.works(*words).err
    assert "3 of 3 runs were finished before (" in srd.works(*words).err
    (tmp_path / "own_code.py").write_text(CODE.replace("shift, most = 0, 99", "shift, most = 0, 98"))
    assert "1 of 3 runs were finished before (" in srd.works(*words).err
    (tmp_path / "own_code.py").write_text(CODE)
    assert "3 of 3 runs were finished before (" in srd.works(*words).err


def test_in_python_it_needs_no_name(tmp_path: Path) -> None:
    sys.path.insert(0, str(tmp_path))
    own, topics = importlib.import_module("own_code").Early(cutoff=5), random_topics(1)
    validation = Validation(topics, own)
    rankings = [np.arange(topic.n_candidates)[::-1] for topic in topics]
    scores = evaluate(topics, dict(zip(topics.query_ids, rankings, strict=True)), [own]).per_topic
    assert validation.name == "early@5"
    assert validation.score(rankings).tolist() == pytest.approx([row["early@5"] for row in scores.values()])


def test_ones_own_learner_is_trained_and_its_folder_ranks(srd: Srd, tmp_path: Path) -> None:
    train = ("train", "own_learner:Mean", "--topics", "synthetic:tiny:20", "--out", "model", "--epochs", "2")
    measure = ("--validation-measure", "own_code:Early@5")
    rank = ("rank", "model", "--topics", "synthetic:tiny:20", "--out", "run", "--all")
    refusal = "is code, which would run: give the command --trust"
    assert refusal in srd.fails(*train)
    assert refusal in srd.fails("train", "listmle", *train[2:], *measure)
    assert refusal in srd.fails("train", "mmr", *train[2:6], "--select-by", "own_code:Early@5")
    srd.works(*train, *measure, "--trust")
    assert json.loads(Path("model/config.json").read_text())["ranker"] == "own_learner:Mean"
    del RANKERS.built_in["own_learner:Mean"]  # as in another process
    assert refusal in srd.fails(*rank)
    srd.works(*rank, "--trust")
    assert "has nothing to train" in srd.fails("train", "own_code:Last", *train[2:6], "--trust")


REFUSAL = "is code, which would run: give the command --trust"
PAID = ("--reward", "own_code:Gains(factor=0.5)", "--pruning", "knn:0.1+own_code:First(keep=8)")


def test_a_reward_and_a_pruning_strategy_train_resume_and_are_not_needed_to_rank(
    srd: Srd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    train = ("train", "reinforce", "--topics", "synthetic:tiny:20", "--out", "model")
    assert REFUSAL in srd.fails(*train, *PAID)
    assert "own_code" not in sys.modules
    srd.works(*train, *PAID, "--epochs", 1, "--trust")
    config = json.loads(Path("model/config.json").read_text())["config"]
    assert (config["reward"], config["pruning"]) == (PAID[1], PAID[3])
    assert "reward was 'own_code:Gains(factor=0.5)', now 'alpha_nDCG'" in srd.fails(*train, "--resume")
    monkeypatch.setattr(own, "_OWN", {})  # as in another process
    assert REFUSAL in srd.fails(*train, *PAID, "--resume")
    srd.works(*train, *PAID, "--epochs", 2, "--resume", "--trust")
    monkeypatch.setattr(own, "_OWN", {})
    Path("own_code.py").unlink()
    srd.works("rank", "model", "--topics", "synthetic:tiny:20", "--out", "run", "--all")


def test_what_prunes_rankings_is_imported_with_trust_alone(srd: Srd, monkeypatch: pytest.MonkeyPatch) -> None:
    pruned = ("--pruning", PAID[3], "--prune-ranking")
    srd.works("train", "mdp-div", "--topics", "synthetic:tiny:20", "--out", "model", *pruned, "--epochs", 1, "--trust")
    monkeypatch.setattr(own, "_OWN", {})
    rank = ("rank", "model", "--topics", "synthetic:tiny:20", "--out", "run", "--all")
    assert REFUSAL in srd.fails(*rank)
    srd.works(*rank, "--trust")


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_recipe_pays_and_prunes_by_ones_own_classes(srd: Srd, tmp_path: Path, jobs: int) -> None:
    grid = 'grid = { reward = ["own_code:Gains", "own_code:Gains(factor=2)"] }'
    early = '"own_code:Early@5"'
    rows = [
        f'ranker = "reinforce"\nconfig = {{ epochs = 1, reward = "own_code:Gains", pruning = "{PAID[3]}" }}',
        f'ranker = "mdp-div"\nname = "chosen"\nconfig = {{ epochs = 1 }}\n{grid}',
        'ranker = "qmix"\nconfig = { epochs = 1, reward = "alpha_nDCG@5 + own_code:Early@5" }',
        f'ranker = "mdp-div"\nconfig = {{ epochs = 1, reward = {early}, validation_measure = {early} }}',
    ]
    path = recipe_file(tmp_path, *rows, "mmr")
    assert REFUSAL in srd.fails("benchmark", path)
    done = srd.works("benchmark", path, "--out", "out", "--trust", "--jobs", jobs, "--json")
    assert done.json["failed"] == []
    names = [row["ranker"] for row in done.json["tables"][0]["rows"]]
    assert names == ["reinforce", "chosen", "qmix", "mdp-div", "mmr"]


def test_a_spec_may_bring_objects_as_options(srd: Srd, monkeypatch: pytest.MonkeyPatch) -> None:
    options = {"reward": own_parts.Gains("ERR_IA"), "epochs": 1}
    monkeypatch.setitem(RANKERS.built_in, "paid", replace(RANKERS["mdp-div"], name="paid", options=options))
    assert "own_parts:Gains(of=" in srd("train", "paid", "--help").out
    for reward, told in ((), "own_parts:Gains(of='ERR_IA')"), (("--reward", "StRecall"), "StRecall"):
        srd.works("train", "paid", "--topics", "synthetic:tiny:20", "--out", told, *reward)
        assert json.loads(Path(told, "config.json").read_text())["config"]["reward"] == told


def test_nothing_runs_without_trust(srd: Srd, tmp_path: Path) -> None:
    path = recipe(tmp_path, "own_code:Last")
    qrels, run = tmp_path / "q", tmp_path / "r"
    qrels.write_text("1 1 a 1\n")
    run.write_text("1 Q0 a 1 1 t\n")
    rank = ("rank", "own_code:Last", "--topics", "synthetic:tiny:3", "--out", "run")
    evaluate = ("evaluate", "--qrels", qrels, "--run", run, "--measures", "own_code:Early@5")
    compare = ("compare", run, tmp_path / "s", "--qrels", qrels, "--measures", "own_code:Early@5")
    (tmp_path / "s").write_text(run.read_text())
    (tmp_path / "recipe.json").write_text('{"rankers": [{"ranker": "own_code:Last"}]}')
    oracle = ("rank", "oracle", "--measure", "own_code:Early@5", *rank[2:])
    for words in (("benchmark", path), ("report", tmp_path), rank, oracle, evaluate, compare):
        assert "is code, which would run: give the command --trust" in srd.fails(*words)
    refused(lambda: load_ranker("own_code:Last"), "unknown ranker 'own_code:Last'")
    assert "own_code" not in sys.modules
    for words in (rank, oracle):
        srd.works(*words, "--trust")
    assert srd.works(*evaluate, "--trust", "--json").json["measures"] == {"own_code:Early@5": 1.0}
    assert srd.works(*compare, "--trust", "--json").json["runs"]["s"]["means"] == {"own_code:Early@5": 1.0}


def test_no_file_here_is_taken_for_an_installed_library(tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text("raise SystemExit('the wrong torch')\n")
    found = "from importlib.util import find_spec\nopen('origin', 'w').write(find_spec('torch').origin)\n"
    (tmp_path / "own_code.py").write_text(CODE + found)
    words = ["rank", "own_code:Last", "--topics", "synthetic:tiny:3", "--out", "run", "--trust"]
    # With -P, Python leaves the folder out of its path, as it does for an installed command.
    done = subprocess.run([sys.executable, "-P", "-m", "srd_train", *words], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert not Path("origin").read_text().startswith(str(tmp_path))


@pytest.mark.parametrize(("name", "message"), [
    ("own_code:Lst", "the module has no 'Lst'"),
    ("own_code:np", "expected the class"),
    ("own_cod:Last", "own_cod:Last: no module 'own_cod' in "),
    ("own_code:Last.shift", "expected the class of a Measure, of a ranker .*, of a reward .* or of a pruning strategy"),
])  # fmt: skip
def test_what_is_neither_is_refused(srd: Srd, name: str, message: str) -> None:
    assert re.search(message, srd.fails("rank", name, "--topics", "synthetic:tiny:3", "--out", "run", "--trust"))


def test_the_row_of_a_policy_is_what_acting_in_the_environment_pays(srd: Srd, tmp_path: Path) -> None:
    sys.path.insert(0, str(tmp_path))
    own_policy = importlib.import_module("own_policy")
    torch.manual_seed(0)
    policy = own_policy.Scores(8)  # of random weights
    torch.save(policy.state_dict(), "policy.pt")
    path = recipe_file(tmp_path, "own_policy:Mine", "mmr")
    (table,) = srd.works("benchmark", path, "--out", "out", "--trust", "--json").json["tables"]
    value = next(row["means"]["alpha_nDCG@5"] for row in table["rows"] if row["ranker"] == "own_policy:Mine")
    topics = load_topics("synthetic:tiny:12:0")
    env = gym.make("srd_gym:SRD-v0", topics=topics, reward="alpha_nDCG@5", horizon=5, on_invalid="raise")
    returns = []
    for query_id in topics.folds(5, seed=0)[0].test.query_ids:
        (observation, info), ended = env.reset(options={"query_id": query_id}), False
        while not ended:
            action, _ = policy.predict(observation, action_masks=env.unwrapped.action_masks())
            observation, _, ended, _, info = env.step(action)
        returns.append(info["return"])
    assert value == pytest.approx(np.mean(returns))
