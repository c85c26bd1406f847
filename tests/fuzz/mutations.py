"""Seeded damage to bytes and to JSON values: what bad disks, downloads, tools or people leave behind."""

from __future__ import annotations

import copy
import gzip
import json
import random
from collections.abc import Callable, Sequence
from typing import Any

WORDS: tuple[bytes, ...] = (
    b"", b"\0", b"\n", b"\r\n", b"\t", b" ", b",", b"\\", b'"', b"'", b"{", b"}", b"[", b"]", b"<", b">", b":", b"#",
    b"-1", b"0", b"1", b"1_0", b"007", b"128", b"-129", b"1e999", b"-1e38", b"nan", b"NaN", b"Infinity", b"null",
    b"true", b"2147483648", b"9223372036854775808", b"99999999999999999999999", b"9" * 5000, b"[" * 3000,
    b'{"a":' * 3000,
    b"\xff\xfe", b"\xef\xbb\xbf", b"\x80", b"\xed\xa0\x80", "\u0661\u0662".encode(), "\u2028".encode(), b"\\ud800",
    b"\x1f\x8b", b"PK\x03\x04", b"PAR1", b"\x93NUMPY", b"\x80\x04", b"\xff\xff\xff\xff", b"\x7f\xff\xff\xff",
)  # fmt: skip
"""What parsers stumble over."""

ODD_VALUES: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2**31, 2**63, 2**64, 10**400, 0.5, -0.0, 1e308, float("nan"), float("inf"), "", "x",
    "\0", "\ud800", "1_0", "/", "..", [], {}, [[]], [None], {"": None}, [1, "a"], {"a": {"b": []}}, "9" * 5000,
)  # fmt: skip
"""What stands where something else is expected."""


def mutated(data: bytes, rng: random.Random, words: Sequence[bytes] = WORDS) -> bytes:
    """The bytes with one to six changes."""
    for _ in range(rng.choice((1, 1, 1, 2, 3, 6))):
        data = rng.choice(_CHANGES)(data, rng, words)
    return data


def _flip(data: bytes, rng: random.Random, words: Sequence[bytes]) -> bytes:
    if not data:
        return b"\0"
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 4, 16))):
        changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def _piece(data: bytes, rng: random.Random, words: Sequence[bytes]) -> bytes:
    """Something else, nothing or copies in place of a piece, which may be empty or go to the end."""
    first, last = sorted((rng.randint(0, len(data)), rng.randint(0, len(data))))
    last = rng.choice((first, min(first + 4, len(data)), last, len(data)))
    piece = data[first:last]
    return data[:first] + rng.choice((b"", rng.choice(words), rng.choice(words), piece * 2, piece * 20)) + data[last:]


def _fields(data: bytes, rng: random.Random, words: Sequence[bytes]) -> bytes:
    """Another line or field, or something else, in place of one."""
    separator = rng.choice((b"\n", b"\n", b" ", b"\t", b",", b'"'))
    fields = data.split(separator)
    i, j = rng.randrange(len(fields)), rng.randrange(len(fields))
    fields[i] = rng.choice((fields[j], b"", fields[i] + fields[j], rng.choice(words), rng.choice(words)))
    return separator.join(fields)


def _zipped(data: bytes, rng: random.Random, words: Sequence[bytes]) -> bytes:
    zipped = gzip.compress(data, mtime=0)
    return rng.choice((zipped, _flip(zipped, rng, words), _piece(zipped, rng, words)))


_CHANGES: tuple[Callable[[bytes, random.Random, Sequence[bytes]], bytes], ...] = (
    _flip, _flip, _piece, _piece, _piece, _fields, _fields, _fields, _zipped,
)  # fmt: skip


def mutated_value(value: Any, rng: random.Random) -> Any:
    """A JSON value with one to three nodes replaced, removed, renamed or doubled."""
    changed = copy.deepcopy(value)
    for _ in range(rng.choice((1, 1, 2, 3))):
        nodes = [node for node in _nodes(changed) if node]
        if not nodes:
            return rng.choice(ODD_VALUES)
        _change(rng.choice(nodes), rng)
    return rng.choice(ODD_VALUES) if rng.random() < 0.02 else changed


def _nodes(value: Any) -> list[Any]:
    """The objects and lists in a value, itself included."""
    if not isinstance(value, dict | list):
        return []
    children = list(value.values()) if isinstance(value, dict) else value
    return [value, *(node for child in children[:50] for node in _nodes(child))]


def _change(node: Any, rng: random.Random) -> None:
    """Change one entry of an object or a list."""
    key = rng.choice(list(node)) if isinstance(node, dict) else rng.randrange(len(node))
    kind = rng.randrange(5)
    if kind == 0:
        del node[key]
    elif kind == 1 and isinstance(node, dict):
        node[rng.choice(("", "x", "0", str(key).upper(), f"{key} "))] = node.pop(key)
    elif kind == 1:
        node.append(copy.deepcopy(node[key]))
    elif kind == 2:
        node[key] = [node[key]]
    else:
        node[key] = copy.deepcopy(rng.choice(ODD_VALUES))


def mutated_json(data: bytes, rng: random.Random) -> bytes:
    """A JSON text: its value changed, or its bytes, or one of its keys written twice."""
    kind = rng.random()
    if kind < 0.4:
        return mutated(data, rng)
    text = json.dumps(mutated_value(json.loads(data), rng))
    if kind < 0.5:
        text = text.replace("{", '{"x": 1, "x": 2, ', 1)
    return text.encode()
