"""Networks larger than memory are refused before they are built, whatever asks for them."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from srd_agents.learner import Learner, _fingerprint
from srd_agents.networks import size
from srd_agents.networks.learner import NetworkLearner
from srd_agents.registry import RANKERS, load_ranker
from srd_agents.storage import read_arrays, write_arrays
from srd_gym.data import generate

HUGE = 2**40
ASKED = [
    ("relational", "units"), ("mdp-div", "hidden"), ("mdp-div-ntn-e", "ntn_slices"), ("reinforce", "hidden"),
    ("mcts", "hidden"), ("m2div", "attention"), ("ntn-div", "slices"), ("daletor", "width"), ("mo4srd", "blocks"),
    ("qmix", "hidden"), ("ma4div", "mixing_width"), ("vdn", "layers"), ("iql", "attention_width"),
    ("maskable-ppo", "hidden"),
]  # fmt: skip
NETWORKS = [spec.name for spec in RANKERS.values() if spec.learns and not spec.foreign_code]


def learner(name: str, **options: Any) -> Learner[Any]:
    made = RANKERS.find(name).build(RANKERS.find(name).configure(**options))
    assert isinstance(made, Learner)
    return made


@pytest.mark.parametrize(("name", "option"), ASKED)
def test_the_option_that_asks_for_too_much_is_named(name: str, option: str) -> None:
    options = {"init": "random"} if name == "relational" else {}
    began = time.monotonic()
    with pytest.raises(ValueError, match=f"'{name}' needs more memory than there is: .* {option} = {HUGE} smaller"):
        learner(name, **options, **{option: HUGE}).check_size(8)
    assert time.monotonic() - began < 10


@pytest.mark.parametrize("name", NETWORKS)
def test_every_network_fits_and_stays_as_it_is(name: str) -> None:
    made = learner(name)
    before = set(vars(made))
    made.check_size(64)
    assert set(vars(made)) == before


def test_vectors_too_long_for_memory_are_named() -> None:
    with pytest.raises(ValueError, match=r"vectors of width 1099511627776 takes over .* make the vectors shorter"):
        learner("reinforce").check_size(HUGE)


def test_what_fits_is_counted_in_bytes_of_training(monkeypatch: pytest.MonkeyPatch) -> None:
    made = learner("reinforce", hidden=100)
    assert isinstance(made, NetworkLearner)
    monkeypatch.setattr(size, "_MOST_TENSORS", 10**12)
    made._build(100)
    needed = 4 * sum(array.nbytes for array in made._weights().values())
    monkeypatch.setattr(size, "_memory", lambda: needed)
    made.check_size(100)
    monkeypatch.setattr(size, "_memory", lambda: needed - 4)
    with pytest.raises(ValueError, match="make hidden = 100 smaller"):
        made.check_size(100)


def test_a_config_that_was_changed_is_refused_before_its_network_is_built(tmp_path: Path) -> None:
    made = learner("reinforce", epochs=1)
    made.fit(generate("tiny", n_topics=3, seed=0), out=tmp_path)
    content = json.loads((tmp_path / "config.json").read_text())
    content["config"]["hidden"] = 10**6
    (tmp_path / "config.json").write_text(json.dumps(content))
    weights, _ = read_arrays(tmp_path / "model.safetensors", "model")
    write_arrays(tmp_path / "model.safetensors", weights, {"fingerprint": _fingerprint(content)})
    with pytest.raises(ValueError, match=r"needs more memory than there is: .* make hidden = 1000000 smaller"):
        load_ranker(tmp_path)
