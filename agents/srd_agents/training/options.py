"""Options of rankers, and the files that keep them with what was learned.

Options are frozen keyword-only dataclasses, built from plain values with errors that help. Files are safetensors for
arrays and JSON for the rest, written whole or not at all; nothing here can execute what a file holds: pickles are
recognised and refused. What torch adds (optimizers, generators, modules) is in `srd_agents.training.checkpoint`.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import platform
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

from srd_gym.checks import check_integer, check_number, check_option, check_positive
from srd_gym.core.own import notation
from srd_gym.files import PathLike, written_atomically
from srd_gym.measures import Measure
from srd_gym.protocols import Pruning, Reward
from srd_gym.reading import existing_file, read_json_object, reading, refuse_pickle, shown, with_type
from srd_gym.showing import short_repr

C = TypeVar("C")

SCHEMA_VERSION = 2
"""Version of model folders; rises when older ones can no longer be read."""
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
"""Content of config.json beside the versions of the packages, and of which types."""

Arrays = dict[str, NDArray[Any]]
Tree = dict[str, Any]
"""Nested dicts with text keys; the leaves are arrays or what JSON can hold."""
Weights = Mapping[str, NDArray[Any]]
"""Name -> array."""

_EXPECTED: Mapping[Any, str] = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "text",
    tuple: "a list",
    list: "a list",
    dict: "a table",
    Mapping: "a table",
    Measure: "a measure",
    Reward: "a reward (an object with `name` and `bind`)",
    Pruning: "a pruning strategy (an object with `bind`)",
}
"""Names of types in errors."""
_PASSING: Mapping[Any, Any] = {float: (int, float), tuple: (tuple, list), Literal: str}
"""Values that pass for a type beside its own instances: whole numbers, lists, and text for a word."""
_hints = cache(get_type_hints)
"""The types of a dataclass's fields, without ranges; kept, as reading them takes longer than building it."""


def config_from(config_class: type[C], values: Mapping[str, Any], owner: str) -> C:
    """A configuration from field values.

    Args:
        config_class: a dataclass; its `__post_init__` checks ranges.
        values: field name -> value; what is left out keeps its default.
        owner: whose configuration it is, for the error ("ranker 'mmr'").

    Raises:
        TypeError, ValueError: as `check_fields`, or a value out of range.
    """
    check_fields(config_class, values, owner)
    return config_class(**values)


def check_fields(kind: Any, values: Mapping[str, Any], owner: str) -> None:
    """Refuse values that are not those of a dataclass's fields; arguments as of `config_from`.

    Raises:
        TypeError: a value of another type than its field's.
        ValueError: a name that is no field (the message suggests the nearest).
    """
    hints, names = _hints(kind), [field.name for field in dataclasses.fields(kind)]
    for name, value in values.items():
        check_option(f"option of {owner}:", name, names)
        try:
            check_type(name, value, hints[name])
        except (TypeError, ValueError) as error:
            raise type(error)(f"{owner}: {error}") from None


def as_values(config: Any) -> dict[str, Any]:
    """A configuration as a dict of what JSON gives back; `config_from` reads it.

    Tuples become lists, and measures, rewards and pruning strategies their text (`srd_gym.core.own.notation`).
    """
    values = {field.name: getattr(config, field.name) for field in dataclasses.fields(config)}
    return {
        name: notation(value) if hasattr(value, "bind") else list(value) if isinstance(value, tuple) else value
        for name, value in values.items()
    }


def sources_of(value: Any, *, code: bool) -> dict[str, str]:
    """Digests of files that options name: a file, the model in "ranker:KEEP:WHEN:FOLDER", the code of "module:NAME".

    Results of these options are gone on with only while the files are the same.

    Args:
        value: text, or lists and tables of it.
        code: whether code counts: the module's own file, once it is imported, and no other that it imports.

    Returns:
        Digest by what names it; empty where nothing does.
    """
    if isinstance(value, Mapping | list | tuple):
        inner = value.values() if isinstance(value, Mapping) else value
        return {name: digest for one in inner for name, digest in sources_of(one, code=code).items()}
    found = {}
    for part in map(str.strip, value.split("+") if isinstance(value, str) else ()):
        module = sys.modules.get(part.partition(":")[0]) if code and ":" in part else None
        path = Path(getattr(module, "__file__", None) or part.split(":", 3)[-1])
        is_folder = part.startswith("ranker:") and path.is_dir()
        files = [path / MODEL_FILE, path / CONFIG_FILE] if is_folder else [path]
        content = b"".join(file.read_bytes() for file in files if file.is_file())
        if content:
            found[part] = hashlib.blake2b(content, digest_size=8).hexdigest()
    return found


def check_type(name: str, value: object, hint: Any) -> None:
    """Refuse a value that is not of the type that a field is annotated with.

    Args:
        name: of the field, for the error.
        value: what came.
        hint: bool, int, float (whole numbers are numbers too), str, None, a `Literal`, a tuple of any length (of which
            files make lists), a list, a mapping with text for keys, another class, `Any`, or a union of these.

    Raises:
        TypeError: of another type; True and False are no numbers.
        ValueError: none of a `Literal`'s words (the message suggests the nearest), or no finite number.
    """
    plain = isinstance(hint, type)  # most are: what typing says of the others takes longer than their check
    kinds = get_args(hint) if not plain and get_origin(hint) in (Union, UnionType) else (hint,)
    if Any in kinds or (value is None and NoneType in kinds):
        return
    for kind in kinds:
        if _is_a(value, kind if plain else get_origin(kind) or kind):
            break
    else:
        expected = " or ".join(_called(kind, value) for kind in kinds if kind is not NoneType)
        advice = f"; make one: {value.__name__}(...)" if isinstance(value, type) else ""
        raise TypeError(f"{name} must be {expected}, got {with_type(value)}{advice}")
    inner = () if plain else get_args(kind)
    if isinstance(value, (int, float)) and not abs(value) <= sys.float_info.max:
        raise ValueError(f"{name} must be a finite number, got {value}")
    if get_origin(kind) is Literal:
        check_option(f"{name}:", str(value), inner)
    elif inner and isinstance(value, Mapping):
        for key, entry in value.items():
            check_type(f"{shown(key)} in {name}", entry, inner[1])
    elif inner and isinstance(value, (tuple, list)):
        for number, entry in enumerate(value, start=1):
            check_type(f"entry {number} of {name}", entry, inner[0])


def _is_a(value: object, kind: Any) -> bool:
    """Whether a value passes for one of a type."""
    if isinstance(value, type) or (isinstance(value, bool) and kind in (int, float)):
        return False  # a class has the methods that its objects have
    return isinstance(value, _PASSING.get(kind, kind))


def _called(hint: Any, value: object) -> str:
    """Name in an error of the type that a value should have."""
    kind = get_origin(hint) or hint
    if kind is Literal:
        return f"one of {', '.join(map(repr, get_args(hint)))}"
    example = f", as [{shown(value)}]" if kind is tuple and isinstance(value, str) else ""
    return f"{_EXPECTED.get(kind, kind.__name__)}{example}"


Count = Annotated[int, partial(check_integer, least=1)]
"""A whole number of at least 1."""
CountFromZero = Annotated[int, partial(check_integer, least=0)]
"""A whole number of at least 0."""
Positive = Annotated[float, check_positive]
"""A number above 0."""
NotNegative = Annotated[float, partial(check_number, least=0.0)]
"""A number of at least 0."""
Share = Annotated[float, partial(check_number, least=0.0, most=1.0)]
"""A number from 0 to 1."""
MeasureOption = str | Measure
"""A measure, or its notation."""
RewardOption = str | Measure | Reward
"""Reward: a measure, its notation, or a reward of the user's own (in text "module:NAME(argument=value)")."""
PruningOption = str | Pruning | None
"""A pruning strategy, or its notation; None: none."""


def at_least(low: int) -> Callable[[str, Any], None]:
    """The check of a field of whole numbers, one or several, if any; each of several comes once."""

    def check(name: str, value: Any) -> None:
        numbers = value if isinstance(value, tuple) else (value,)
        for number in numbers:
            if number is not None:
                check_integer(name, number, low)
            if numbers.count(number) > 1:
                raise ValueError(f"{name} holds {number} twice; keep one of them")

    return check


@dataclasses.dataclass(frozen=True, kw_only=True)
class Config:
    """The options of a ranker; as it is, of one that takes none.

    Raises:
        TypeError: no number where a field's annotation wants one.
        ValueError: a value out of the range of its annotation, or none of the words of a `Literal` (the message
            suggests the nearest).
    """

    def __init_subclass__(cls) -> None:
        cls.__repr__ = short_repr  # type: ignore[method-assign]  # before the dataclass makes one of all fields

    def __post_init__(self) -> None:
        kind: Any = type(self)
        for name, check in _checks(kind):
            check(name, getattr(self, name))


@cache
def _checks(config_class: type[Any]) -> list[tuple[str, Callable[[str, Any], None]]]:
    """The fields whose annotations say more than a type, and what each must pass."""
    checks: list[tuple[str, Callable[[str, Any], None]]] = []
    for name, hint in get_type_hints(config_class, include_extras=True).items():
        if get_origin(hint) is Literal:
            checks.append((name, partial(check_type, hint=hint)))
        elif get_origin(hint) is Annotated:
            checks += [(name, check) for check in hint.__metadata__]
    return checks


@contextlib.contextmanager
def enough_memory(name: str) -> Iterator[None]:
    """Say what to do where memory does not suffice: numpy has an error of its own for it, torch a text."""
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        reason = str(error).strip().split("\n")[0]
        if not isinstance(error, MemoryError) and not re.search("memory|overflow", reason):
            raise
        raise ValueError(
            f"ranker {name!r} needs more memory than there is ({reason or 'MemoryError'}); make "
            "options such as hidden_size, rollouts and replay_capacity smaller, or take fewer topics or shorter vectors"
        ) from error


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
        raise ValueError(f"{what}: {path} is damaged, or not a training state of this version; train anew")
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


def write_json(path: PathLike, content: Mapping[str, Any]) -> None:
    """Write a JSON file for people to read, whole or not at all."""
    text = json.dumps(content, indent=2, allow_nan=False, ensure_ascii=False)
    with written_atomically(path) as temporary:
        temporary.write_text(text + "\n", encoding="utf-8")


def model_config(
    ranker: str,
    config: Mapping[str, Any],
    vector_width: int | None,
    metadata: Mapping[str, Any],
    *,
    seed: int | None = None,
    history: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Content of a model folder's config.json, as `read_model_config` gives it back."""
    about = {"ranker": ranker, "vector_width": vector_width, "seed": seed, "config": config, "metadata": metadata}
    return {"schema_version": SCHEMA_VERSION, **about, "versions": versions(), "history": history}


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
        raise ImportError('saving and loading models needs safetensors: pip install "srd-gym[cli]"') from error
    return safetensors, save


@cache
def versions() -> dict[str, str]:
    """Versions of Python and of the packages that results depend on."""
    from importlib.metadata import PackageNotFoundError, version  # here, as it is slow to import

    numbers = {"python": platform.python_version()}
    for name in ("srd-gym", "numpy", "torch", "scikit-learn", "scipy", "gymnasium", "pyarrow"):
        with contextlib.suppress(PackageNotFoundError):
            numbers[name] = version(name)
    return numbers
