"""Topic sets on disk: Parquet, one row a topic, plain columns that any tool can read and write.

======================  =============  ==================================================================
column                  Parquet type   holds
======================  =============  ==================================================================
`query_id`              string         id of the topic (required)
`query_text`            string         the query as typed
`doc_ids`               list<string>   N candidate ids (required)
`doc_texts`             list<string>   N texts
`subtopic_ids`          list<string>   S ids
`subtopic_texts`        list<string>   S texts
`pool_ids`              list<string>   P ids of the judged documents
`feature_names`         list<string>   D names
`vector_width`          int32          F, the width of the topic's vectors
`query_vector`          list<float>    F numbers
`doc_vectors`           list<float>    N x F numbers, candidate by candidate
`subtopic_vectors`      list<float>    S x F numbers, subtopic by subtopic
`retrieval_scores`      list<float>    N numbers
`subtopic_weights`      list<float>    S numbers
`subtopic_scores`       list<float>    N x S numbers, candidate by candidate; NaN or null: not rated
`doc_features`          list<float>    N x D numbers, candidate by candidate
`judgments`             list<int8>     N x S grades, candidate by candidate
`pool`                  list<int8>     P x S grades, document by document
======================  =============  ==================================================================

Null means that the topic has no such thing, and so does an absent column, the two required ones apart. Wider number
types (`list<double>`, `list<int64>`), large lists and lists of lists are accepted where their values fit, and whole
numbers for ids; numbers given as text, and ids given as other numbers, are not. Without `vector_width`, F follows from
`doc_vectors`.

The file's key-value metadata holds, under `srd_gym`, a JSON object: `schema_version`, `name`, `simulated`,
`transductive`, and where it is known the `encoder` of the vectors. A file without it (written by another tool) is read
as version 1, named after the file, not marked.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Collection, Iterable, Iterator
from functools import cache
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np

from srd_gym.data.arrow import pa, pq
from srd_gym.data.columns import Law, Table, column_rows
from srd_gym.data.mapped import MappedFile
from srd_gym.data.notices import notice
from srd_gym.data.packed import PackedTopic
from srd_gym.files import PathLike, written_atomically
from srd_gym.reading import Place, existing_file, json_value, reading, shown
from srd_gym.topic import TOPIC_FIELDS, Topic, TopicSet
from srd_gym.topic_fields import ARRAYS, GRADES, TEXTS, VECTORS

SCHEMA_VERSION = 1
"""Rises when the meaning of a column changes; readers refuse files of a later version."""

IN_MEMORY = 2**30
"""Bytes of a set that is read whole up to which it is held in memory; arrays and document ids of a larger one stay on
disk."""

GROWTH = "SRD_MAX_GROWTH"
"""The environment variable that says how many times larger than a file its row groups may declare to be."""

_USUAL_GROWTH = 100
_ALWAYS = 2**28
"""Bytes that row groups may declare however small the file is: equal numbers take next to no space."""

_METADATA_KEY = b"srd_gym"
_HEADER = {"schema_version": int, "name": str, "simulated": bool, "transductive": bool, "encoder": str}
"""Keys of the metadata and their types; but for the version, each may be missing or null."""
_WHAT = "topic set"
_REQUIRED = ("query_id", "doc_ids")
_LAWS = {"subtopic_scores": Law(gaps=True)}


@cache
def schema_of_topics() -> pa.Schema:
    """The columns as written."""
    return pa.schema(
        [pa.field("query_id", pa.string(), nullable=False), pa.field("query_text", pa.string())]
        + [pa.field(name, pa.list_(pa.string()), nullable=name not in _REQUIRED) for name in TEXTS]
        + [pa.field("vector_width", pa.int32())]
        + [pa.field(name, pa.list_(pa.int8() if name in GRADES else pa.float32())) for name in ARRAYS]
    )


_GROUP_ROWS = 1024  # a file's index, which is read whole, grows with the number of its row groups
_GROUP_BYTES = 32 * 2**20
_READ_ROWS = 64
_ID_ROWS = 4096


def write_topics(
    path: PathLike,
    topics: Iterable[Topic],
    *,
    name: str | None = None,
    simulated: bool = False,
    transductive: bool = False,
) -> None:
    """Write topics, whole or not at all.

    Args:
        path: the Parquet file; an existing one is replaced once the new one is complete.
        topics: a set, whose name, flags and encoder travel in the metadata; or topics one by one, of which one row
            group (about 32 MB) is held in memory. That their ids differ and their widths agree is seen when the set is
            read.
        name: of topics that come one by one; the file's unless given.
        simulated: their vectors were drawn from the judgments.
        transductive: their vectors were fitted on texts of all folds.

    Raises:
        TypeError: something else than topics.
    """
    own = os.fsencode(Path(path).stem).decode(errors="replace")
    flags = {"name": own if name is None else name, "simulated": simulated, "transductive": transductive}
    if isinstance(topics, TopicSet):
        flags = {key: value for key, value in topics.flags.items() if value is not None}
    about = {"schema_version": SCHEMA_VERSION, **flags}
    # Ids and texts hardly repeat within a row group, so dictionaries only cost time; Zstandard shrinks them.
    # Nobody looks for topics by the range of their vectors, and every range makes the file's index larger.
    how: dict[str, object] = {"compression": "zstd", "use_dictionary": False, "write_statistics": ["query_id"]}
    with written_atomically(path) as temporary, opened_for_arrow(temporary, "wb") as target:
        schema = schema_of_topics().with_metadata({_METADATA_KEY: json.dumps(about, ensure_ascii=False).encode()})
        with pq.ParquetWriter(target, schema, **how) as writer:
            for group in _row_groups(topics):
                writer.write_batch(pa.RecordBatch.from_pylist([_row_of(topic) for topic in group], schema=schema))


def _row_groups(topics: Iterable[Topic]) -> Iterator[list[Topic]]:
    """The topics of each row group."""
    waiting: list[Topic] = []
    size = 0
    for topic in topics:
        if not isinstance(topic, Topic):
            raise TypeError(f"topics must be a TopicSet or Topics in a list, got an entry {shown(topic)}")
        waiting.append(topic)
        arrays = (getattr(topic, name) for name in ARRAYS)
        size += sum(array.nbytes for array in arrays if array is not None)
        if len(waiting) >= _GROUP_ROWS or size >= _GROUP_BYTES:
            yield waiting
            waiting, size = [], 0
    if waiting:
        yield waiting


def read_topics(path: PathLike, *, vectors: bool = True) -> TopicSet:
    """Read a whole topic set; most of one larger than `IN_MEMORY` goes into a temporary file, with a notice.

    Args:
        path: the Parquet file.
        vectors: False leaves out columns of vectors, which hold most of a file: judgments need none.

    Raises:
        FileNotFoundError: no such file.
        ValueError: not a Parquet file, a pickle, an empty file, a missing column, a column of another type, a schema
            version later than this package's, or a topic that does not hold together; the message names it.
    """
    with _opened(path) as (file, place):
        header = _header_of(file, place)
        size = sum(file.metadata.row_group(group).total_byte_size for group in range(file.num_row_groups))
    aside = None
    with reading(path, _WHAT, "one topic set", "write it again"):
        if vectors and size > IN_MEMORY:
            aside = MappedFile()
            notice(
                f"{_WHAT}: {path}: numbers and document ids of {size / 1e9:.1f} GB of topics go into a temporary "
                f"file in {aside.folder}, so that they need not fit into memory; TMPDIR names another folder"
            )
        return TopicSet(iter_topics(path, aside=aside, vectors=vectors), **header)


def iter_topics(
    path: PathLike, groups: Iterable[int] | None = None, *, aside: MappedFile | None = None, vectors: bool = True
) -> Iterator[Topic]:
    """The topics of a file one after the other, holding one row group (about 32 MB) in memory.

    Args:
        path: the Parquet file.
        groups: numbers of the row groups to read, from 0; None: all of them.
        aside: where arrays and ids of documents are moved to, so that topics that are kept do not hold them in memory.
        vectors: as of `read_topics`.

    Raises:
        FileNotFoundError, ValueError: as `read_topics`; a fault inside a row is raised when the row is reached.
    """
    with _opened(path) as (file, place):
        _header_of(file, place)
        table = _columns(file, path)
        if not vectors:
            table = {field: law for field, law in table.items() if field.name not in VECTORS}
        for row, columns in read_rows(file, place, table, _READ_ROWS, groups):
            yield from _topics_of(columns, place, row, aside)


def read_origin(path: PathLike) -> dict[str, object]:
    """`TopicSet.origin` of a file; its topics are not read.

    Raises:
        FileNotFoundError, ValueError: as `iter_topics`.
    """
    with _opened(path) as (file, place):
        return TopicSet([], **_header_of(file, place)).origin


def iter_query_ids(path: PathLike) -> Iterator[str]:
    """The query ids of a file in their order; nothing else of it is read.

    Raises:
        FileNotFoundError, ValueError: as `iter_topics`.
    """
    with _opened(path) as (file, place):
        _header_of(file, place)
        for _, columns in read_rows(file, place, {schema_of_topics().field("query_id"): None}, _ID_ROWS):
            yield from columns["query_id"]


def count_row_groups(path: PathLike) -> int:
    """Number of row groups of a file.

    Raises:
        FileNotFoundError, ValueError: as `iter_topics`.
    """
    with _opened(path) as (file, _):
        return int(file.num_row_groups)


def _opened(path: PathLike) -> contextlib.AbstractContextManager[tuple[pq.ParquetFile, Place]]:
    """The file, opened, or an error that says what it is instead."""
    remedy = "make one with `srd data build`, or see srd_gym.data.parquet"
    if str(path).endswith((".jsonl", ".ndjson", ".json")):
        remedy = "JSON lines are ranked from standard input: `srd rank mmr < FILE`"
    return opened_parquet(path, _WHAT, _REQUIRED, remedy)


def _header_of(file: pq.ParquetFile, place: Place) -> dict[str, Any]:
    """Name and flags of an opened file; refuses a later schema."""
    about = metadata_of(file, place, _METADATA_KEY)
    if about is None:
        return {"name": Path(place.path).stem}
    known = {key: value for key in _HEADER if (value := about.get(key)) is not None}
    odd = [key for key, value in known.items() if type(value) is not _HEADER[key]]
    if odd or (version := known.pop("schema_version", 0)) < 1:
        raise ValueError(
            f"{place}: metadata 'srd_gym' must hold schema_version (a whole number), name and encoder (text), "
            f"simulated and transductive (true or false), got {shown(about)}"
        )
    if version > SCHEMA_VERSION:
        raise ValueError(
            f"{place} has schema version {version}, but this srd_gym reads up to {SCHEMA_VERSION}; "
            "upgrade srd_gym, or write the file with this version"
        )
    return {"name": Path(place.path).stem} | known


def _columns(file: pq.ParquetFile, path: PathLike) -> Table:
    """The columns to read: ours that are there; of others a notice."""
    present = file.schema_arrow.names
    for name in present:
        if name not in schema_of_topics().names:
            notice(f"{_WHAT}: {path}: column {name!r} is not one of a topic set's and is ignored")
    return {field: _LAWS.get(field.name) for field in schema_of_topics() if field.name in present}


def _row_of(topic: Topic) -> dict[str, Any]:
    """The topic's entries by column; `vector_width` is F of whatever vectors it has."""
    values = {name: getattr(topic, name) for name in TOPIC_FIELDS}
    vectors = (topic.doc_vectors, topic.query_vector, topic.subtopic_vectors)
    width = next((int(v.shape[-1]) for v in vectors if v is not None), None)
    flat = {name: value.reshape(-1) for name, value in values.items() if isinstance(value, np.ndarray)}
    return values | flat | {"vector_width": width}


def _topics_of(
    columns: dict[str, list[object]], place: Place, first_row: int, aside: MappedFile | None
) -> Iterator[Topic]:
    """The topics in some rows."""
    for row, values in enumerate(zip(*columns.values(), strict=True), start=first_row):
        try:
            shaped = _shaped(dict(zip(columns, values, strict=True)))
            topic = Topic(**shaped) if aside is None else PackedTopic(**shaped)
        except (ValueError, TypeError) as error:
            place.at = f", row {row}"
            raise ValueError(f"{place}: {error}") from error
        if isinstance(topic, PackedTopic) and aside is not None:
            topic.pack(aside)
        yield topic


def _shaped(values: dict[str, Any]) -> dict[str, Any]:
    """Flat arrays of a row as matrices; what does not divide stays flat, and Topic's error names it."""
    width = values.pop("vector_width", None)
    if (query := values.get("query_vector")) is not None and query.shape[:-1] == (1,):
        values["query_vector"] = query[0]
    for name in ("subtopic_ids", "feature_names"):
        values[name] = values.get(name) or ()
    n, s = len(values.get("doc_ids") or ()), len(values["subtopic_ids"])
    if not s and n and values.get("judgments") is not None:
        s = values["judgments"].size // n  # the topic numbers them
    if width is None and n:
        vectors, query = values.get("doc_vectors"), values.get("query_vector")
        width = vectors.size // n if vectors is not None else 0 if query is None else query.size
    sizes = {"N": n, "S": s, "F": width or 0}
    sizes |= {"P": len(values.get("pool_ids") or ()), "D": len(values["feature_names"])}
    for name, axes in ARRAYS.items():
        array = values.get(name)
        if array is not None and len(axes) == 2:
            rows, columns = shape = (sizes[axes[0]], sizes[axes[1]])
            if array.size != rows * columns or (array.ndim > 1 and array.shape != shape):
                came = " x ".join(map(str, array.shape))
                raise ValueError(f"{name} holds {came} numbers, expected {rows} x {columns}")
            values[name] = array.reshape(shape)
    return values


def opened_for_arrow(path: Path, mode: str) -> pa.OSFile:
    """The file as Arrow reads ("rb") or writes ("wb") it, whose own functions take no name that is not UTF-8."""
    return pa.OSFile(os.fsencode(path), mode)


@contextlib.contextmanager
def opened_parquet(
    path: PathLike, what: str, required: Collection[str], advice: str
) -> Iterator[tuple[pq.ParquetFile, Place]]:
    """A Parquet file, read within the block: pages are unpacked late, and so are their faults found.

    Args:
        path: the file.
        what: what it should hold, for errors.
        required: names of columns that must be there.
        advice: what to do about a file that cannot be read.

    Yields:
        (the file, the place for errors).

    Raises:
        FileNotFoundError: no such file.
        ValueError: not a whole Parquet file, or a missing column.
    """
    file_path = existing_file(path, what)
    with (
        reading(path, what, "a whole Parquet file", advice) as place,
        opened_for_arrow(file_path, "rb") as source,
        pq.ParquetFile(source) as file,
    ):
        names = file.schema_arrow.names
        absent = [name for name in required if name not in names]
        if absent:
            raise ValueError(
                f"{what}: {path} lacks the column{'s' * (len(absent) > 1)} {', '.join(absent)}; it has "
                f"{', '.join(names) or 'none'}; {advice}"
            )
        yield file, place


def metadata_of(file: pq.ParquetFile, place: Place, key: bytes) -> dict[str, Any] | None:
    """The JSON object that a file's metadata holds under a key; None where it has no such key.

    Raises:
        ValueError: something else.
    """
    place.at = f", metadata {key.decode()!r}"
    raw = (file.schema_arrow.metadata or {}).get(key)
    value = None if raw is None else json_value(raw)
    if raw is not None and not isinstance(value, dict):
        raise ValueError(f"{place}: expected a JSON object, got {shown(value)}")
    place.at = ""
    return value


def read_rows(
    file: pq.ParquetFile, place: Place, table: Table, size: int, groups: Iterable[int] | None = None, begin: int = 0
) -> Iterator[tuple[int, dict[str, list[Any]]]]:
    """The columns of some rows at a time, as `column_rows` reads and checks them, with the number of the first row.

    Args:
        file: the file, opened.
        place: of the file; it is told which row is read.
        table: the columns, which are there.
        size: rows at once, at most.
        groups: numbers of row groups; None: all.
        begin: number of the file's first row.

    Raises:
        ValueError: the row groups say that they are far larger than the file; or a column as of `column_rows`.
    """
    declared, limit = 0, max(_ALWAYS, _growth() * Path(place.path).stat().st_size)
    # Not the columns' sizes: Arrow ends the process where a damaged footer has odd statistics of a column.
    about = [file.metadata.row_group(group) for group in range(file.num_row_groups)]
    starts = list(accumulate((group.num_rows for group in about), initial=begin))
    names = [field.name for field in table]
    for group in range(file.num_row_groups) if groups is None else groups:
        declared += about[group].total_byte_size
        if declared > limit:
            raise ValueError(
                f"its row groups declare more than {limit:,} bytes, far more than its size suggests; if it is meant, "
                f"set {GROWTH} above {_USUAL_GROWTH}"
            )
        row = starts[group]
        for batch in file.iter_batches(batch_size=size, row_groups=[group], columns=names):
            place.at = f", row {row}"
            yield row, {f.name: column_rows(batch.column(f.name), f, place, row, law) for f, law in table.items()}
            row += batch.num_rows


def _growth() -> int:
    """Largest ratio of the size that row groups declare to the size of their file."""
    text = os.environ.get(GROWTH, str(_USUAL_GROWTH))
    if not (text.isascii() and text.isdigit() and int(text) >= 1):
        raise ValueError(f"environment variable {GROWTH}: expected a whole number of at least 1, got {shown(text)}")
    return int(text)
