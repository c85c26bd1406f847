"""Networks larger than memory are refused before they are built, whatever asks for them."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from small_topics import refused

from srd_agents.learner import _fingerprint
from srd_agents.networks import size
from srd_agents.registry import RANKERS, load_ranker, make_ranker
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


@pytest.mark.parametrize(("name", "option"), ASKED)
def test_the_option_that_asks_for_too_much_is_named(name: str, option: str) -> None:
    options = {"init": "random"} if name == "relational" else {}
    began = time.monotonic()
    with pytest.raises(ValueError, match=f"'{name}' needs more memory than there is: .* {option} = {HUGE} smaller"):
        make_ranker(name, **options, **{option: HUGE}).check_size(8)
    assert time.monotonic() - began < 10


@pytest.mark.parametrize("name", NETWORKS)
def test_every_network_fits_and_stays_as_it_is(name: str) -> None:
    made = make_ranker(name)
    before = set(vars(made))
    made.check_size(64)
    assert set(vars(made)) == before


def test_vectors_too_long_for_memory_are_named() -> None:
    with pytest.raises(ValueError, match=r"vectors of width 1099511627776 takes over .* make the vectors shorter"):
        make_ranker("reinforce").check_size(HUGE)


def test_what_fits_is_counted_in_bytes_of_training(monkeypatch: pytest.MonkeyPatch) -> None:
    made = make_ranker("reinforce", hidden=100)
    monkeypatch.setattr(size, "_MOST_TENSORS", 10**12)
    made._build(100)
    needed = 4 * sum(array.nbytes for array in made._weights().values())
    monkeypatch.setattr(size, "_memory", lambda: needed)
    made.check_size(100)
    monkeypatch.setattr(size, "_memory", lambda: needed - 4)
    refused(lambda: made.check_size(100), "make hidden = 100 smaller")


def test_a_config_that_was_changed_is_refused_before_its_network_is_built(tmp_path: Path) -> None:
    made = make_ranker("reinforce", epochs=1)
    made.fit(generate("tiny", n_topics=3, seed=0), out=tmp_path)
    content = json.loads((tmp_path / "config.json").read_text())
    content["config"]["hidden"] = 10**6
    (tmp_path / "config.json").write_text(json.dumps(content))
    weights, _ = read_arrays(tmp_path / "model.safetensors", "model")
    write_arrays(tmp_path / "model.safetensors", weights, {"fingerprint": _fingerprint(content)})
    refused(lambda: load_ranker(tmp_path), r"needs more memory than there is: .* make hidden = 1000000 smaller")
