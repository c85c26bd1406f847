"""Seeded damage to bytes and JSON values, as disks, downloads, tools or people do it, and to files by their form."""

from __future__ import annotations

import copy
import gzip
import io
import json
import random
import struct
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from sound_files import VECTORS, XML

from srd_gym.data import generate

SMALL_TOPICS = generate("tiny", n_topics=6, seed=0)
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
    if not isinstance(value, dict | list):
        return []
    children = list(value.values()) if isinstance(value, dict) else value
    return [value, *(node for child in children[:50] for node in _nodes(child))]


def _change(node: Any, rng: random.Random) -> None:
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


# Files of each form are damaged with knowledge of the form

_XML_WORDS = (
    b'<!ENTITY a "bb">', b"&a;", b'<!ENTITY % p SYSTEM "/etc/passwd">',
    b'<!ATTLIST topic a CDATA "' + b"x" * 500 + b'">',
    b"<![CDATA[", b"]]>", b"<a>" * 5000, b"<!-- -->", b"&#0;", b"&#xD800;", b'encoding="utf-16"', b'encoding="idna"',
    b'encoding="utf-7"', b'encoding="no-such"', b'encoding="shift_jis"', b'encoding="base64"', b"<?xml ?>", b"</topic>",
    b'number=""', b'number="1"', b"<!DOCTYPE a SYSTEM 'http://x/'>", b"\0", b"xmlns:a='b'", b"<a:b/>",
)  # fmt: skip


def damage_xml(folder: Path, rng: random.Random) -> None:
    content = XML
    if rng.random() < 0.5:
        content = content.replace(b'encoding="utf-8"', rng.choice([w for w in _XML_WORDS if w.startswith(b"encoding")]))
    (folder / "topics.xml").write_bytes(mutated(content, rng, _XML_WORDS))


def damage_json(folder: Path, rng: random.Random) -> None:
    path = rng.choice([path for path in sorted(folder.iterdir()) if path.read_bytes()[:1] in (b"{", b"[")])
    path.write_bytes(mutated_json(path.read_bytes(), rng))


def damage_json_lines(folder: Path, rng: random.Random) -> None:
    path = rng.choice([path for path in sorted(folder.iterdir()) if path.read_bytes()[:1] == b"{"])
    lines = path.read_bytes().splitlines()
    place = rng.randrange(len(lines))
    lines[place] = mutated_json(lines[place], rng)
    path.write_bytes(b"\n".join(lines))


_DESCRS = ("'<f4'", "'<f8'", "'>i2'", "'|O'", "'<U3'", "'|V8'", "[('a', '<f4')]", "'<c8'", "'<M8[s]'", "'|b1'", "'<U0'",
           "'x'", "None", "('<f4', (2,))", "'<f4\\n'")  # fmt: skip
_SHAPES = ("(3, 2)", "(3,)", "()", "(2**40, 2)", "(4000000000, 1)", "(-1, 2)", "(3, 0)", "(0, 2)", "(3, 2, 1)",
           "[3, 2]",
           "3", "(True, 2)", "('a',)", "(99999999999999999999, 2)", "(3, 2", "(3, 2)(", "(1,)*40")  # fmt: skip


def _header(rng: random.Random, descr: str = "'<f4'", shape: str = "(3, 2)") -> bytes:
    if rng.random() < 0.6:
        descr = rng.choice(_DESCRS)
    if rng.random() < 0.8:
        shape = rng.choice(_SHAPES)
    order = rng.choice(("False", "True", "0", "None"))
    text = f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}".encode()
    if rng.random() < 0.2:
        text = mutated(text, rng)
    version = rng.choice(((1, 0), (1, 0), (2, 0), (3, 0), (9, 9)))
    size = struct.pack("<H" if version == (1, 0) else "<I", min(len(text), 65535))
    return b"\x93NUMPY" + bytes(version) + size + text


def damage_npy(folder: Path, rng: random.Random) -> None:
    (folder / "v.npy").write_bytes(_header(rng) + VECTORS.tobytes()[: rng.choice((24, 24, 20, 0))])


def damage_npz(folder: Path, rng: random.Random) -> None:
    """Damage one array of the archive, its header or its entry."""
    path = next(folder.glob("*.npz"))
    with zipfile.ZipFile(path) as archive:
        members = {info.filename: archive.read(info) for info in archive.infolist()}
    name = rng.choice(list(members))
    kind = rng.randrange(5)
    if kind == 0:
        members[name] = _header(rng) + members[name][-24:]
    elif kind == 1:
        members[name] = mutated(members[name], rng)
    elif kind == 2:
        members[rng.choice(("ids.npy", "x", "document_ids.npy", "../x"))] = members.pop(name)
    elif kind == 3:
        stream = io.BytesIO()
        arrays = (np.array("a"), np.array([1.5]), np.zeros((3, 2), "c8"), np.array(["a", "a", "b"]),
                  np.zeros(0),
                  np.array([b"\xff", b"a", b"b"]), np.array([[["x"]]]), np.array([None]),
                  np.full((3, 2), 1e308))  # fmt: skip
        np.save(stream, rng.choice(arrays))
        members[name] = stream.getvalue()
    else:
        members = dict(list(members.items())[: rng.randrange(len(members))])
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", rng.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2))) as out:
        for member, content in members.items():
            out.writestr(member, content)
    content = stream.getvalue()
    path.write_bytes(mutated(content, rng) if rng.random() < 0.2 else content)


def _odd_column(rows: int, rng: random.Random) -> pa.Array:
    numbers = [rng.choice((None, 1, 2)) for _ in range(rows)]
    lists = [[float(rng.choice((1, 1e300, float("nan")))) for _ in range(rng.randrange(4))] for _ in range(rows)]
    columns = (
        (numbers, (pa.int8(), pa.int64(), pa.float64(), pa.decimal128(5), pa.date32())),
        ([None] * rows, (pa.null(), pa.string(), pa.binary(), pa.list_(pa.list_(pa.int8())))),
        (lists, (pa.list_(pa.float64()), pa.large_list(pa.float16()), pa.list_(pa.float32()))),
        ([[["x"], []]] * rows, (None,)),
        ([{"a": 1}] * rows, (None,)),
        ([b"\xff\xfe"] * rows, (pa.binary(), pa.large_binary())),
    )
    values, kinds = rng.choice(columns)
    return pa.array(values, type=rng.choice(kinds))


def _damage_table(path: Path, rng: random.Random) -> None:
    """Change the type, name, number or values of some column, or what the file says of itself."""
    table = pq.read_table(path)
    names, columns = list(table.column_names), [column.combine_chunks() for column in table.columns]
    index, kind = rng.randrange(len(names)), rng.randrange(6)
    if kind == 0:
        names[index] = rng.choice((*names, "", "x", "Id"))
    elif kind == 1:
        del names[index], columns[index]
    elif kind == 2:
        column = columns[index]
        columns[index] = pa.array(mutated_value(column.to_pylist(), rng)[: len(column)] + [None] * 99, column.type)[
            : len(column)
        ]
    elif kind == 3:
        columns[index] = columns[index].take(pa.array([rng.randrange(table.num_rows) for _ in range(table.num_rows)]))
    else:
        columns[index] = _odd_column(table.num_rows, rng)
    changed = pa.Table.from_arrays(columns, names=names)
    if (about := table.schema.metadata) and rng.random() < 0.8:
        key = rng.choice(sorted(about))
        changed = changed.replace_schema_metadata({**about, key: mutated_json(about[key], rng)})
    pq.write_table(
        changed, path, compression=rng.choice(("none", "zstd", "snappy", "gzip")), row_group_size=rng.choice((1, 100))
    )


def damage_parquet(folder: Path, rng: random.Random) -> None:
    """`_damage_table`, or bytes of the footer, where random ones seldom fall."""
    path = next(folder.glob("*.parquet"))
    if rng.random() < 0.3:
        content = path.read_bytes()
        footer = int.from_bytes(content[-8:-4], "little") + 8
        path.write_bytes(content[:-footer] + mutated(content[-footer:-8], rng) + content[-8:])
        return
    try:
        _damage_table(path, rng)
    except (pa.ArrowException, TypeError, ValueError, OverflowError, UnicodeEncodeError):
        path.write_bytes(mutated(path.read_bytes(), rng))
