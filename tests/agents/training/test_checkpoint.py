from __future__ import annotations

import copy
import pickle
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from small_topics import refused

torch = pytest.importorskip("torch", reason='learners need torch: pip install "srd-gym[agents]"')

from srd_agents.registry import make_ranker  # noqa: E402
from srd_agents.training import checkpoint  # noqa: E402 - only where torch is there
from srd_agents.training.files import read_arrays, read_tree, write_arrays, write_tree  # noqa: E402
from srd_gym.data import generate  # noqa: E402


def network(width: int = 3, seed: int = 0) -> Any:
    made = torch.nn.Sequential(torch.nn.Linear(width, 4), torch.nn.BatchNorm1d(4), torch.nn.Linear(4, 1))
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.copy_(torch.rand(parameter.shape, generator=generator))
    return made


def test_arrays_are_copies_and_loading_keeps_the_tensors() -> None:
    net = network()
    arrays = checkpoint.module_arrays(net)
    first = next(iter(net.parameters()))
    with torch.no_grad():
        first.zero_()
    assert arrays["0.weight"].any()
    checkpoint.load_module(net, arrays)
    assert next(iter(net.parameters())) is first
    assert bool(first.any())


def state_of_adam() -> dict[str, Any]:
    net = network()
    optimizer = torch.optim.Adam(net.parameters(), fused=True)
    net(torch.ones(5, 3)).square().mean().backward()
    optimizer.step()
    return copy.deepcopy(checkpoint.optimizer_tree(optimizer))


def test_a_changed_training_state_is_refused_on_resume(tmp_path: Path) -> None:
    topics = generate("tiny", n_topics=6, seed=0)
    make_ranker("reinforce", epochs=1).fit(topics, out=tmp_path)
    resume = partial(make_ranker("reinforce", epochs=2).fit, topics, out=tmp_path, resume=True)
    path = tmp_path / "state.safetensors"
    arrays, about = read_arrays(path, "state")
    name = next(iter(arrays))
    for changed, header in (
        ({**arrays, name: arrays[name] + 1}, about),
        ({**arrays, name: arrays[name].astype(np.float64)}, about),
        ({**arrays, name: arrays[name].ravel()[:-1]}, about),
        ({key: array for key, array in arrays.items() if key != name}, about),
        (arrays, about | {"values": about["values"].replace("1", "2", 1)}),
    ):
        write_arrays(path, changed, header)
        refused(resume, "is damaged, or not a training state")
    write_arrays(path, arrays, about)
    resume()


def test_an_optimizer_has_the_options_of_the_config_and_is_not_one_of_other_parameters() -> None:
    net, tree = network(), state_of_adam()
    optimizer = torch.optim.Adam(net.parameters(), lr=0.5)
    checkpoint.load_optimizer(optimizer, tree | {"groups": [{"lr": 9.0, "params": [5, 4, 3, 2, 1, 0]}]})
    assert optimizer.param_groups[0]["lr"] == 0.5
    tree["parameters"][0].reverse()
    refused(lambda: checkpoint.load_optimizer(optimizer, tree), "belongs to other parameters")


def test_damage_is_refused() -> None:
    arrays = checkpoint.module_arrays(network())
    without = {key: value for key, value in arrays.items() if key != "0.weight"}
    for damaged_, message in (
        (without, r"0\.weight has shape None"),
        ({**arrays, "extra": np.zeros(1)}, r"extra has shape \(1,\), expected None"),
        ({**arrays, "2.bias": arrays["2.bias"] * np.nan}, r"2\.bias holds NaN or infinity"),
        (
            checkpoint.module_arrays(network(5)),
            "weight has shape .*another vector width",
        ),
    ):
        refused(lambda given=damaged_: checkpoint.load_module(network(), given, "model"), message)


class Bomb:
    """Says so if it is ever unpickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        return (pytest.fail, ("a pickle was opened",))


def test_pickles_are_refused_unopened(tmp_path: Path) -> None:
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        (tmp_path / "p").write_bytes(pickle.dumps(Bomb(), protocol=protocol))
        refused(lambda: read_arrays(tmp_path / "p", "model"), "is a pickle, which can run code")
    torch.save({"w": torch.zeros(2)}, tmp_path / "t")
    refused(lambda: read_arrays(tmp_path / "t", "model"), "not a whole safetensors file")
    (tmp_path / "old").write_bytes(pickle.dumps(Bomb(), protocol=0))
    refused(lambda: read_arrays(tmp_path / "old", "model"), "not a whole safetensors file")
    (tmp_path / "empty").touch()
    refused(lambda: read_arrays(tmp_path / "empty", "model"), "is empty")


def test_no_header_length_is_taken_for_a_pickle(tmp_path: Path) -> None:
    # The first bytes of a safetensors file are its header's length: 0x80 and "PK" come up among them.
    starts = set()
    for length in (*range(0, 400, 8), *range(0x4B50 - 200, 0x4B50, 8)):
        write_arrays(tmp_path / "f", {"x": np.arange(3)}, {"text": "x" * length})
        arrays, metadata = read_arrays(tmp_path / "f", "model")
        assert len(metadata["text"]) == length
        assert arrays["x"].tolist() == [0, 1, 2]
        whole = (tmp_path / "f").read_bytes()
        starts.add(whole[:1] if whole[:1] == b"\x80" else whole[:2])
        (tmp_path / "f").write_bytes(whole[:-1])
        refused(lambda: read_arrays(tmp_path / "f", "model"), "not a whole safetensors file")
    assert {b"\x80", b"PK"} <= starts


def test_trees_keep_shapes_dtypes_and_values_or_are_refused(tmp_path: Path) -> None:
    tree = {
        "a": {"scalar": np.array(3, dtype=np.float32), "empty": np.zeros((0, 4)), "flags": np.array([True, False])},
        "transposed": np.arange(6, dtype=np.int64).reshape(2, 3).T,
        "values": {"big": 2**100, "exact": 0.1 + 0.2, "none": None, "list": [1, "two"], "number": np.float64(0.1)},
        "nothing": {},
    }
    write_tree(tmp_path / "t", tree)
    back = read_tree(tmp_path / "t", "state")
    assert back["values"] == tree["values"]
    assert back["nothing"] == {}
    for name in ("scalar", "empty", "flags"):
        wanted = tree["a"][name]
        assert back["a"][name].dtype == wanted.dtype
        assert back["a"][name].shape == wanted.shape
    np.testing.assert_array_equal(back["transposed"], tree["transposed"])
    refused(lambda: write_tree(tmp_path / "t", {"a": float("nan")}), "not JSON compliant")
    write_arrays(tmp_path / "t", {"x": np.zeros(1)}, {})
    refused(lambda: read_tree(tmp_path / "t", "state"), "not a training state of this version")
    assert [path.name for path in tmp_path.iterdir()] == ["t"]
