"""Model and training files: safetensors for arrays, JSON for the rest, written whole or not at all.

Numpy only; what torch adds (optimizers, generators, modules) is in `srd_agents.networks.checkpoint`.
Nothing here can execute what a file holds: pickles are recognised and refused.
"""

from __future__ import annotations

import json
import platform
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from srd_agents.config import check_type
from srd_gym.files import PathLike, written_atomically
from srd_gym.reading import existing_file, json_value, read_json_object, reading, refuse_pickle

SCHEMA_VERSION = 2
"""Of model folders; rises when older ones can no longer be read."""
MODEL_FILE, CONFIG_FILE = "model.safetensors", "config.json"
_CONTENT: Mapping[str, Any] = {
    "schema_version": Any,
    "ranker": str,
    "vector_width": int | None,
    "seed": int | None,
    "config": dict[str, Any],
    "metadata": dict[str, Any],
    "history": dict[str, Any] | None,
}
"""What config.json holds beside the versions of the packages, and of which types."""

Arrays = dict[str, NDArray[Any]]
Tree = dict[str, Any]
"""Nested dicts with text keys; the leaves are arrays or what JSON can hold."""
Weights = Mapping[str, NDArray[Any]]
"""Name -> array."""


def write_arrays(path: PathLike, arrays: Mapping[str, NDArray[Any]], metadata: Mapping[str, str]) -> None:
    """Write a safetensors file; a reader sees the old file or the new one, never a part.

    Args:
        path: the file; its folder is created where missing.
        arrays: name -> array of any shape (numpy dtypes; bool allowed).
        metadata: text kept in the file's header.

    Raises:
        OSError: the disk is full or the place not writable; the old file stays.
    """
    _, save = _safetensors()
    # asarray, not ascontiguousarray: the latter turns a scalar into a vector.
    content = save({name: np.asarray(array, order="C") for name, array in arrays.items()}, metadata=dict(metadata))
    with written_atomically(path) as temporary:
        temporary.write_bytes(content)


def read_arrays(path: PathLike, what: str) -> tuple[Arrays, dict[str, str]]:
    """Read a safetensors file.

    Args:
        path: the file.
        what: what it should hold, for the errors.

    Returns:
        (name -> array, the header's metadata).

    Raises:
        FileNotFoundError: no such file.
        ValueError: a pickle (refused unread), or not a whole safetensors file.
    """
    found = existing_file(path, what)
    safetensors, _ = _safetensors()
    with reading(path, what, "a whole safetensors file", "train again"):
        try:
            with safetensors.safe_open(found, framework="numpy") as opened:
                arrays = {name: opened.get_tensor(name) for name in opened.keys()}  # noqa: SIM118 - not a mapping
                return arrays, dict(opened.metadata() or {})
        except Exception:
            # Asked only now: a safetensors file may begin with the same bytes (its header's length).
            refuse_pickle(found, what, "expected a .safetensors file as `Learner.save` writes it")
            raise


def write_tree(path: PathLike, tree: Tree) -> None:
    """Write nested dicts of arrays and JSON values as one safetensors file (the values stand in its header).

    One file rather than two, so that arrays and values always belong together, whenever the writing is cut off.

    Raises:
        ValueError: a value that JSON cannot hold (NaN included).
    """
    arrays: Arrays = {}
    values = _split(tree, "", arrays)
    text = json.dumps(values, allow_nan=False)
    write_arrays(path, arrays, {"values": text})


def read_tree(path: PathLike, what: str) -> Tree:
    """Read what `write_tree` wrote.

    Raises:
        FileNotFoundError: no such file.
        ValueError: a pickle, a broken file, or a safetensors file of another kind.
    """
    arrays, metadata = read_arrays(path, what)
    if "values" not in metadata:
        raise ValueError(f"{what}: {path} holds no training state (no 'values' in its header)")
    with reading(path, what, "a training state", "train again"):
        tree: Tree = json_value(metadata["values"])
        for name, array in arrays.items():
            *parents, leaf = name.split("/")
            node = tree
            for parent in parents:
                node = node.setdefault(parent, {})
            node[leaf] = array
        json.dumps(tree, allow_nan=False, default=lambda array: None)  # NaN could not be written again
    return tree


def write_json(path: PathLike, content: Mapping[str, Any]) -> None:
    """Write a JSON file for people to read, whole or not at all."""
    text = json.dumps(content, indent=2, allow_nan=False, ensure_ascii=False)
    with written_atomically(path) as temporary:
        temporary.write_text(text + "\n", encoding="utf-8")


def read_model_config(folder: PathLike) -> dict[str, Any]:
    """The checked content of a model folder's config.json.

    Raises:
        FileNotFoundError: not there.
        ValueError: not a model's config.json, or of a newer schema.
    """
    path = Path(folder) / CONFIG_FILE
    content = dict.fromkeys(_CONTENT) | read_json_object(path, "config of a trained ranker", "train again")
    if content["schema_version"] != SCHEMA_VERSION:
        raise ValueError(
            f"{path} has schema version {content['schema_version']}, this version reads {SCHEMA_VERSION}; "
            "use the srd-gym version that wrote it, or train again"
        )
    for key, hint in _CONTENT.items():
        check_type(f"{path}: {key}", content[key], hint)
    return content


def check_like(arrays: Mapping[str, NDArray[Any]], expected: Mapping[str, tuple[int, ...]], what: str) -> None:
    """Refuse arrays whose names or shapes are not the expected ones.

    Args:
        arrays: what came.
        expected: name -> shape.
        what: where they came from, for the error.

    Raises:
        ValueError: missing, surplus or differently shaped arrays; the message names the first.
    """
    came = {name: array.shape for name, array in arrays.items()}
    for name in (*sorted(came.keys() ^ expected.keys()), *expected):
        if came.get(name) != expected.get(name):
            raise ValueError(
                f"{what}: {name} has shape {came.get(name)}, expected {expected.get(name)} (None: no such array); the "
                "file belongs to another ranker, another version, another vector width or another size of network"
            )


def _split(tree: Mapping[str, Any], prefix: str, arrays: Arrays) -> dict[str, Any]:
    """Move the arrays of a tree into `arrays` (path -> array) and return the rest."""
    rest: dict[str, Any] = {}
    for key, value in tree.items():
        if isinstance(value, np.ndarray):
            arrays[prefix + key] = value
        elif isinstance(value, Mapping):
            rest[key] = _split(value, f"{prefix}{key}/", arrays)
        else:
            rest[key] = value.item() if isinstance(value, np.generic) else value
    return rest


def _safetensors() -> tuple[Any, Callable[..., bytes]]:
    """The package and its writer of numpy arrays, or an error that says how to install them."""
    try:
        import safetensors
        from safetensors.numpy import save
    except ImportError as error:
        raise ImportError('saving and loading models needs safetensors: pip install "srd-gym[agents]"') from error
    return safetensors, save


@cache
def versions() -> dict[str, str]:
    """Versions of Python and of the packages that results depend on."""
    found = {"python": platform.python_version()}
    for name in ("srd-gym", "numpy", "torch", "scikit-learn", "scipy", "gymnasium", "pyarrow"):
        with suppress(PackageNotFoundError):
            found[name] = version(name)
    return found
