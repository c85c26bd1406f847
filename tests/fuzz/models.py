"""What this project writes itself, fuzzed: recipes, fitted vectors, weights, trained folders and checkpoints."""

from __future__ import annotations

import json
import random
from importlib.resources import files
from pathlib import Path

import numpy as np
from fuzz.damage import SMALL_TOPICS, damage_json, damage_npz, mutated_value

from srd_agents.pipeline.naming import Namer
from srd_agents.registry import make_ranker
from srd_gym.data import LsaVectorizer

_RECIPE = files("srd_train").joinpath("recipes", "simulated.toml").read_bytes()
RECIPE = {"r.toml": _RECIPE}


def make_lsa(folder: Path) -> None:
    LsaVectorizer(2).fit(["the jaguar is a car", "the jaguar is a cat", "an apple"]).save(folder)


def damage_lsa(folder: Path, rng: random.Random) -> None:
    rng.choice((damage_npz, damage_json))(folder, rng)


def read_answers(folder: Path) -> object:
    namer = Namer(lambda prompt: '["big cat", "car"]', model="one", cache=folder)
    names = namer("jaguar")
    assert names
    assert all(isinstance(name, str) and len(name) > 1 for name in names)
    return names


def make_answers(folder: Path) -> None:
    read_answers(folder)


def make_weights(folder: Path) -> None:
    (folder / "w.npz").write_bytes(files("srd_agents.relational").joinpath("pretrained.npz").read_bytes())


_TOML_VALUES = (b"1", b"-1", b"1.5", b"nan", b"true", b'""', b'"x"', b"[]", b"[[1]]", b"{}", b"{ a = 1 }", b'["a", 1]',
                b"1979-05-27", b"10_000", b"99999999999999999999", b"[{ a = 1 }]", b"'''x'''", b'"sweep"')  # fmt: skip


def damage_recipe(folder: Path, rng: random.Random) -> None:
    lines = _RECIPE.split(b"\n")
    for _ in range(rng.choice((1, 1, 2))):
        index = rng.choice([i for i, line in enumerate(lines) if b"=" in line])
        key, _, _ = lines[index].partition(b"=")
        lines[index] = key + b"= " + rng.choice(_TOML_VALUES)
    (folder / "r.toml").write_bytes(b"\n".join(lines))


def _fit(folder: Path, **options: bool) -> object:
    return make_ranker("mdp-div", epochs=1).fit(SMALL_TOPICS[:3], SMALL_TOPICS[3:], out=folder, **options)


def make_model(folder: Path) -> None:
    _fit(folder)
    (folder / "state.safetensors").unlink()


def make_state(folder: Path) -> None:
    _fit(folder)
    for name in ("config.json", "model.safetensors"):
        (folder / name).unlink()


def read_state(folder: Path) -> object:
    return _fit(folder, resume=True)


def damage_safetensors(folder: Path, rng: random.Random) -> None:
    path = next(folder.glob("*.safetensors"))
    content = path.read_bytes()
    size = int.from_bytes(content[:8], "little")
    header, body = json.loads(content[8 : 8 + size]), content[8 + size :]
    about = header.get("__metadata__", {})
    if "values" in about and rng.random() < 0.6:
        about["values"] = json.dumps(mutated_value(json.loads(about["values"]), rng))
    elif rng.random() < 0.3:
        names = [name for name in header if name != "__metadata__"]
        name = rng.choice(names)
        header[rng.choice((f"{name}/x", "identity/x", "loop", "learner/order/x", "", *names))] = header.pop(name)
    elif rng.random() < 0.5:
        name = rng.choice([name for name in header if name != "__metadata__"])
        entry = header[name]
        entry["dtype"] = rng.choice(("F32", "F16", "BF16", "I32", "U8", "BOOL", "F8_E4M3", "I64", "X"))
        entry["shape"] = rng.choice((entry["shape"][::-1], [1, *entry["shape"]], [int(np.prod(entry["shape"]))], []))
    else:
        header = mutated_value(header, rng)
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + body)
