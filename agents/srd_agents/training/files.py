"""Files of trained rankers: safetensors for arrays and JSON for the rest, written whole or not at all.

Nothing here can execute what a file holds: pickles are recognised and refused. What torch adds (optimizers, generators,
modules) is in `srd_agents.training.checkpoint`.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Self

import numpy as np

from srd_agents.training.machine import versions
from srd_agents.training.options import config_from
from srd_gym.dtypes import AnyArray
from srd_gym.files import PathLike, written_atomically
from srd_gym.installing import how_to_install
from srd_gym.reading import existing_file, read_json_object, reading, refuse_pickle
from srd_gym.showing import short_repr

SCHEMA_VERSION = 2
"""Version of model folders; rises when older ones can no longer be read."""
MODEL_FILE, CONFIG_FILE = "model.safetensors", "config.json"
STATE_FILE = "state.safetensors"
"""File of a run's training state, beside the model."""
Arrays = dict[str, AnyArray]
Tree = dict[str, Any]
"""Nested dicts with text keys; the leaves are arrays or what JSON can hold."""
Weights = Mapping[str, AnyArray]
"""Name -> array."""


OURS = "srd_agents."
"""Every class of this package has a "module:Class" that begins so."""


def sources_of(value: object, *, code: bool) -> dict[str, str]:
    """Digests of files that options name: a file, the model in "ranker:KEEP:WHEN:FOLDER", the code of "module:NAME".

    Results of these options are gone on with only while the files are the same.

    Args:
        value: text, or lists and tables of it.
        code: whether code counts: the module's own file, once it is imported, and no other that it imports. That of
            this package does not: as of its rankers, the commit tells.

    Returns:
        Digest by what names it; empty where nothing does.
    """
    if isinstance(value, Mapping | list | tuple):
        inner = value.values() if isinstance(value, Mapping) else value
        return {name: digest for one in inner for name, digest in sources_of(one, code=code).items()}
    found = {}
    for part in map(str.strip, value.split("+") if isinstance(value, str) else ()):
        named = code and ":" in part and not part.startswith(OURS)
        module = sys.modules.get(part.partition(":")[0]) if named else None
        path = Path(getattr(module, "__file__", None) or part.split(":", 3)[-1])
        is_folder = part.startswith("ranker:") and path.is_dir()
        files = [path / MODEL_FILE, path / CONFIG_FILE] if is_folder else [path]
        content = b"".join(file.read_bytes() for file in files if file.is_file())
        if content:
            found[part] = hashlib.blake2b(content, digest_size=8).hexdigest()
    return found


def write_arrays(path: PathLike, arrays: Mapping[str, AnyArray], metadata: Mapping[str, str]) -> None:
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
    file = existing_file(path, what)
    safetensors, _ = _safetensors()
    with reading(path, what, "a whole safetensors file", "train again"):
        try:
            with safetensors.safe_open(file, framework="numpy") as opened:
                arrays = {name: opened.get_tensor(name) for name in opened.keys()}  # noqa: SIM118 - not a mapping
                return arrays, dict(opened.metadata() or {})
        except Exception:
            # Asked only now: a safetensors file may begin with the same bytes (its header's length).
            refuse_pickle(file, what, "expected a .safetensors file as `Learner.save` writes it")
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
    write_arrays(path, arrays, {"values": text, "digest": _digest(text, arrays)})


def read_tree(path: PathLike, what: str) -> Tree:
    """Read what `write_tree` wrote.

    Raises:
        FileNotFoundError: no such file.
        ValueError: a pickle, a damaged file, or a safetensors file of another kind.
    """
    arrays, metadata = read_arrays(path, what)
    text = metadata.get("values", "")
    if metadata.get("digest") != _digest(text, arrays):
        raise ValueError(f"{what}: {path} is damaged, or not a training state of this version; train it again")
    tree: Tree = json.loads(text)
    for name, array in arrays.items():
        *parents, leaf = name.split("/")
        node = tree
        for parent in parents:
            node = node.setdefault(parent, {})
        node[leaf] = array
    return tree


def _digest(text: str, arrays: Arrays) -> str:
    """A digest of the content of a training state: optimizers in C read arrays by sizes that nothing else checks."""
    digest = hashlib.blake2b(text.encode(), digest_size=16)
    for name, array in sorted(arrays.items()):
        digest.update(f"{name} {array.dtype} {array.shape}".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


def write_json(path: PathLike, content: Mapping[str, object]) -> None:
    """Write a JSON file for people to read, whole or not at all."""
    text = json.dumps(content, indent=2, allow_nan=False, ensure_ascii=False)
    with written_atomically(path) as temporary:
        temporary.write_text(text + "\n", encoding="utf-8")


@dataclass(kw_only=True)
class ModelInfo:
    """Content of a model folder's config.json."""

    __repr__ = short_repr

    schema_version: int = SCHEMA_VERSION
    """Version of the folder's form."""
    ranker: str
    """Name in the registry."""
    vector_width: int | None = None
    """F of the vectors it was trained on."""
    seed: int | None = None
    """Seed of its training."""
    config: dict[str, Any]
    """All options, as `as_values` gives them."""
    metadata: dict[str, Any]
    """Anything else that was recorded (fold, topic set, ...)."""
    versions: dict[str, Any] = field(default_factory=versions)
    """Versions of the packages that wrote it."""
    history: dict[str, Any] | None = None
    """`History` of its training, as plain values."""

    @classmethod
    def read(cls, folder: PathLike) -> Self:
        """The checked content of a folder's config.json.

        Raises:
            FileNotFoundError: not there.
            TypeError, ValueError: not a model's config.json, or of a newer schema.
        """
        path = Path(folder) / CONFIG_FILE
        content = read_json_object(path, "config of a trained ranker", "train again")
        if (version := content.get("schema_version")) != SCHEMA_VERSION:
            raise ValueError(
                f"{path} has schema version {version}, this version reads {SCHEMA_VERSION}; "
                "use the srd-gym version that wrote it, or train again"
            )
        return config_from(cls, {one.name: content[one.name] for one in fields(cls) if one.name in content}, str(path))

    def write(self, folder: PathLike) -> None:
        """Write config.json."""
        write_json(Path(folder) / CONFIG_FILE, asdict(self))

    @property
    def fingerprint(self) -> str:
        """A digest of what the weights depend on."""
        parts = (self.ranker, self.vector_width, self.seed, self.config)
        return hashlib.blake2b(json.dumps(parts, sort_keys=True).encode(), digest_size=16).hexdigest()


def check_like(arrays: Mapping[str, AnyArray], expected: Mapping[str, tuple[int, ...]], what: str) -> None:
    """Refuse arrays whose names or shapes are not the expected ones, or whose numbers are not finite.

    Args:
        arrays: what came.
        expected: name -> shape.
        what: where they came from, for the error.

    Raises:
        ValueError: missing, surplus or differently shaped arrays, NaN or infinity; the message names the first.
    """
    came = {name: array.shape for name, array in arrays.items()}
    for name in (*sorted(came.keys() ^ expected.keys()), *expected):
        if came.get(name) != expected.get(name):
            raise ValueError(
                f"{what}: {name} has shape {came.get(name)}, expected {expected.get(name)} (None: no such array); the "
                "file belongs to another ranker, another version, another vector width or another size of network"
            )
    for name, array in arrays.items():
        if np.issubdtype(array.dtype, np.floating) and not np.isfinite(array).all():
            raise ValueError(f"{what}: {name} holds NaN or infinity; train again, or go back to an earlier checkpoint")


def _split(tree: Mapping[str, object], prefix: str, arrays: Arrays) -> dict[str, object]:
    """Move the arrays of a tree into `arrays` (path -> array) and return the rest."""
    rest: dict[str, object] = {}
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
        raise ImportError(f"saving and loading models needs safetensors: {how_to_install('cli')}") from error
    return safetensors, save
