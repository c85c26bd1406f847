"""Vectors by id, from files: TSV, JSON, .npy, .npz and Parquet.

================  =====================================================================================
file              holds
================  =====================================================================================
TSV (or gzip)     a line per vector: id, a tab, then numbers separated by tabs or spaces
JSON (or gzip)    an object {id: [numbers], ...}, read as a stream: it may be far larger than memory
`X.npy`           an [n, F] array; the ids are in `X.ids`, one per line
`X.npz`           arrays `ids` [n] and `vectors` [n, F]; or, for several kinds at once,
                  `document_ids`, `document_vectors`, `query_ids`, ..., `subtopic_vectors`
Parquet           columns `id` (string) and `vector` (list of numbers)
================  =====================================================================================

The file's first bytes tell the format. No pickle is ever read.
"""

from __future__ import annotations

import io
import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Literal

import numpy as np

from srd_gym.checks import rows_of_column
from srd_gym.data.arrow import pa
from srd_gym.data.folders import with_optional_gz
from srd_gym.data.parquet import opened_parquet, read_rows
from srd_gym.dtypes import AnyArray
from srd_gym.files import PathLike
from srd_gym.reading import (
    first_bytes,
    numbered_lines,
    open_binary,
    open_npz,
    plain_float,
    reading,
    refuse_pickle,
    shown,
    shown_text,
    with_type,
)
from srd_gym.topic import FloatArray

Part = Literal["document", "query", "subtopic"]
Entries = Iterator[tuple[str, str, AnyArray]]
"""Place in the file (for errors), id and numbers of each vector."""

_WHAT = "vectors"
_ROWS = 2**12
_ADVICE = "save the vectors as .npz (arrays ids and vectors), TSV or Parquet"
_CHUNK = 2**20
_LONGEST = 2**24
"""Characters of one entry of JSON: what is longer is no such file, and is not read to its end to find out."""
_ENTRY = re.compile(
    r'(?P<mark>[{,])\s*(?P<id>"[^"\\]*+(?:\\.[^"\\]*+)*+")\s*:\s*\[(?P<numbers>[^\]]*+)\]\s*', re.DOTALL | re.ASCII
)


class VectorTable:
    """Vectors by id.

    Args:
        ids: n ids, each once.
        vectors: [n, F] finite numbers, kept as float32.
        source: where they come from, for errors.
        places: where in the source each stands, such as ":7"; its row (from 0) unless given.
        encoder: what made them, where that is known; of a file its name.

    Raises:
        ValueError: counts that do not match, an id twice, NaN or infinity; the message names the place.
    """

    def __init__(
        self,
        ids: Sequence[str],
        vectors: AnyArray,
        *,
        source: str,
        places: Sequence[str] | None = None,
        encoder: str | None = None,
    ) -> None:
        self.ids = tuple(ids)
        self.source = source
        self.encoder = encoder
        given = np.asarray(rows_of_column(vectors))
        if given.ndim != 2 or given.dtype.kind not in "fiub":
            raise ValueError(f"{_WHAT}: {source}: expected a matrix of numbers [n, F], got {with_type(given)}")
        if len(given) != len(self.ids):
            raise ValueError(f"{_WHAT}: {source}: {len(self.ids)} ids but {len(given)} vectors; expected one id each")
        with np.errstate(over="ignore"):
            self.vectors: FloatArray = np.ascontiguousarray(given, dtype=np.float32)
        finite = np.isfinite(self.vectors).all(axis=1)
        if not finite.all():
            row = int(np.argmin(finite))
            fault = "NaN, infinity or a number beyond float32; expected finite numbers"
        elif len(self._index) < len(self.ids):
            row = next(i for i, name in enumerate(self.ids) if self._index[name] != i)
            fault = "an id is duplicated; keep one of them"
        else:
            return
        place = f", row {row}" if places is None else places[row]
        raise ValueError(f"{_WHAT}: {source}{place}: {fault} (id {shown(self.ids[row])})")

    @cached_property
    def _index(self) -> dict[str, int]:
        return {name: row for row, name in reversed(list(enumerate(self.ids)))}

    @property
    def width(self) -> int:
        """F."""
        return int(self.vectors.shape[1])

    def __len__(self) -> int:
        return len(self.ids)

    def __contains__(self, name: object) -> bool:
        return name in self._index

    def __repr__(self) -> str:
        return f"VectorTable({len(self)} vectors of width {self.width} from {shown_text(self.source)})"

    def rows(self, ids: Sequence[str]) -> FloatArray:
        """The vectors of these ids, in their order.

        Returns:
            [len(ids), F] float32, a copy.

        Raises:
            ValueError: an id that is not there.
        """
        absent = next((name for name in ids if name not in self._index), None)
        if absent is not None:
            raise ValueError(f"{_WHAT}: {self.source} has no vector for id {shown(absent)}")
        return self.vectors[[self._index[name] for name in ids]]


def numbered_ids(ids: Iterable[str]) -> list[str]:
    """The ids, each once: of one that comes several times the second is "id~2", and so on."""
    names: dict[str, None] = {}
    counts: Counter[str] = Counter()
    for own_id in ids:
        name = own_id
        while name in names:
            counts[own_id] += 1
            name = f"{own_id}~{counts[own_id] + 1}"
        names[name] = None
    return list(names)


def read_vectors(
    path: PathLike, *, part: Part = "document", only: Collection[str] | None = None, number_twice: bool = False
) -> VectorTable:
    """Read vectors from a TSV, JSON, .npy, .npz or Parquet file (see the module's table).

    Args:
        path: the file.
        part: which arrays of an .npz to take where it holds several kinds; without such names, `ids` and `vectors`.
        only: keep the vectors of these ids only: a file larger than memory can be read for a small set.
        number_twice: ids of an .npz that come several times are those of `numbered_ids`.

    Raises:
        FileNotFoundError: no such file.
        ValueError: another format, a pickle, a malformed line, NaN or infinity, vectors of different widths, or an id
            twice; the message gives the file and the line, entry or row.
    """
    source = str(path)
    refuse_pickle(path, _WHAT, _ADVICE)
    start = first_bytes(path, _WHAT)
    wanted = None if only is None else frozenset(only)
    if start[:6] == b"\x93NUMPY":
        return _from_npy(path, wanted)
    if start[:4] == b"PK\x03\x04":
        with open_npz(path, _WHAT, _ADVICE) as arrays:
            names = _npz_names(arrays, path, part)
            ids = _ids_of(arrays[names[0]], source)
            return _kept(numbered_ids(ids) if number_twice else ids, arrays[names[1]], wanted, source)
    if start[:4] == b"PAR1":
        return _table_of(path, _parquet_entries(path, wanted))
    with open_binary(path, _WHAT) as stream:
        text = stream.read(64).lstrip(b"\xef\xbb\xbf \t\r\n")
    entries = _json_entries if text.startswith(b"{") else _tsv_entries
    return _table_of(path, entries(path, wanted))


def read_vector_parts(path: PathLike, *, number_twice: bool = False) -> dict[Part, VectorTable]:
    """All kinds of vectors that a file holds: an .npz may hold several, any other file holds documents' vectors.

    Args:
        path: the file.
        number_twice: as for `read_vectors`; in an .npz.

    Raises:
        FileNotFoundError, ValueError: as `read_vectors`.
    """
    return {part: read_vectors(path, part=part, number_twice=number_twice) for part in parts_of(path)}


def parts_of(path: PathLike) -> list[Part]:
    """The kinds of vectors that a file holds, documents first.

    Raises:
        FileNotFoundError, ValueError: as `read_vectors`.
    """
    parts: list[Part] = ["document"]
    if first_bytes(path, _WHAT)[:4] == b"PK\x03\x04":
        others: tuple[Part, ...] = ("query", "subtopic")
        with open_npz(path, _WHAT, _ADVICE) as arrays:
            parts += [part for part in others if f"{part}_ids" in arrays]
    return parts


def embed_texts(model: PathLike, texts: Sequence[str]) -> FloatArray:
    """Vectors of texts from a sentence-transformers model.

    Args:
        model: the model's name, or the folder that holds it.
        texts: n texts.

    Returns:
        [n, F] float32, each row of length 1.

    Raises:
        ImportError: sentence-transformers is not installed.
    """
    encoder = _text_model(str(model))
    vectors = encoder.encode(
        list(texts), batch_size=64, convert_to_numpy=True, normalize_embeddings=True, show_progress_bar=False
    )
    return np.ascontiguousarray(vectors, dtype=np.float32)


@lru_cache(maxsize=1)
def _text_model(name: str) -> Any:
    """The sentence-transformers model, loaded once for the many calls that a topic set takes."""
    try:
        from sentence_transformers import SentenceTransformer
    except ImportError as error:
        raise ImportError(
            "vectors from a text model need the package sentence-transformers, which is not installed: "
            "pip install sentence-transformers; or use --vectors lsa, which needs scikit-learn only"
        ) from error
    return SentenceTransformer(name)


def _kept(ids: Sequence[str], vectors: AnyArray, wanted: frozenset[str] | None, source: str) -> VectorTable:
    """A table of the wanted rows."""
    if wanted is not None and vectors.ndim == 2 and len(ids) == len(vectors):
        rows = [row for row, name in enumerate(ids) if name in wanted]
        ids, vectors = [ids[row] for row in rows], vectors[rows]
    return VectorTable(ids, vectors, source=source, encoder=Path(source).name)


def _table_of(path: PathLike, entries: Entries) -> VectorTable:
    """The table of entries that are read one by one."""
    places: list[str] = []
    names: list[str] = []
    rows: list[FloatArray] = []
    for place, name, row in entries:
        if row.ndim != 1 or not row.size or (rows and row.size != rows[0].size):
            few = rows and row.ndim == 1
            fault = f"{row.size} numbers, but {rows[0].size} before" if few else "expected a list of numbers"
            raise ValueError(f"{_WHAT}: {path}{place}: {fault} (id {shown(name)})")
        places.append(place)
        names.append(name)
        with np.errstate(over="ignore"):
            rows.append(row.astype(np.float32))
    vectors = np.stack(rows) if rows else np.empty((0, 0), dtype=np.float32)
    return VectorTable(names, vectors, source=str(path), places=places, encoder=Path(path).name)


def _tsv_entries(path: PathLike, wanted: frozenset[str] | None) -> Entries:
    """Lines "id<TAB>number number ..."."""
    for number, line in numbered_lines(path, _WHAT):
        name, tab, rest = line.partition("\t")
        if line.strip() and not (tab and name):
            raise ValueError(f"{_WHAT}: {path}:{number}: expected an id, a tab and numbers, got {shown(line)}")
        if not line.strip() or (wanted is not None and name not in wanted):
            continue
        try:
            yield f":{number}", name, np.array([plain_float(field) for field in rest.split()])
        except ValueError as error:
            raise ValueError(f"{_WHAT}: {path}:{number}: expected numbers after the id: {error}") from error


def _json_entries(path: PathLike, wanted: frozenset[str] | None) -> Entries:
    """The object {"id": [numbers], ...}, about a megabyte of which is held at a time."""
    with open_binary(path, _WHAT, "JSON") as raw:
        stream = io.TextIOWrapper(raw, encoding="utf-8-sig")
        text, at, number, mark = "", 0, 0, "{"
        while True:
            entry = _ENTRY.match(text, at)
            if entry is None:
                chunk = stream.read(_CHUNK) if len(text) - at <= _LONGEST else ""
                text, at = (text[at:] + chunk).lstrip(), 0
                if chunk:
                    continue
            if entry is None or entry["mark"] != mark:
                break
            number, mark, at = number + 1, ",", entry.end()
            try:
                name = str(json.loads(entry["id"]))
                if wanted is None or name in wanted:
                    if any(mark in entry["numbers"] for mark in ('"', "l", "r")):  # text, null, false, true
                        raise ValueError("numbers are neither text nor true, false or null")
                    yield f", entry {number}", name, np.array(json.loads(f"[{entry['numbers']}]"), np.float64)
            except (ValueError, TypeError, OverflowError, RecursionError) as error:
                raise ValueError(
                    f'{_WHAT}: {path}, entry {number}: expected "id": [numbers], got {shown(entry[0][1:])}: {error}'
                ) from error
        if not re.fullmatch(r"(\{\s*)?\}\s*" if mark == "{" else r"\}\s*", text[at:]):
            raise ValueError(
                f'{_WHAT}: {path}, entry {number + 1}: expected "id": [numbers], or the closing brace and nothing '
                f"behind it, got {shown(text[at:].lstrip(', '))}; was the file cut off?"
            )


def _from_npy(path: PathLike, wanted: frozenset[str] | None) -> VectorTable:
    """An array file and its ids."""
    beside = with_optional_gz(Path(path).parent, f"{Path(path).stem}.ids")
    if beside is None:
        raise ValueError(f"{_WHAT}: {path} needs its ids, one per line, in {Path(path).with_suffix('.ids')}")
    names = [line for _, line in numbered_lines(beside, "ids of vectors")]
    with reading(path, _WHAT, "a whole .npy file of plain numbers", _ADVICE):
        vectors = np.load(path, mmap_mode=None if wanted is None else "r", allow_pickle=False)  # some rows are copied
        return _kept(names, vectors, wanted, str(path))


def _npz_names(arrays: Any, path: PathLike, part: Part) -> tuple[str, str]:
    """Names of the arrays that hold ids and vectors of one kind."""
    for names in ((f"{part}_ids", f"{part}_vectors"), ("ids", "vectors")):
        if all(name in arrays for name in names):
            return names
    raise ValueError(
        f"{_WHAT}: {path}: expected arrays ids and vectors (or {part}_ids and {part}_vectors), got "
        f"{', '.join(arrays) or 'none'}"
    )


def _ids_of(array: AnyArray, source: str) -> list[str]:
    """Ids as text; integers are spelt out, numbers with a point are refused (1.1 and 1.10 would become one)."""
    if array.ndim != 1 or array.dtype.kind not in "USiu":
        raise ValueError(f"{_WHAT}: {source}: ids must be a list of text, got {with_type(array)}")
    values = np.char.decode(array, "utf-8") if array.dtype.kind == "S" else array.astype(str)
    names: list[str] = values.tolist()
    return names


def _parquet_entries(path: PathLike, wanted: frozenset[str] | None) -> Entries:
    """Columns id and vector, read by row group."""
    table = {pa.field("id", pa.string(), False): None, pa.field("vector", pa.list_(pa.float32()), False): None}
    with opened_parquet(path, _WHAT, [field.name for field in table], _ADVICE) as (file, place):
        for first, columns in read_rows(file, place, table, _ROWS):
            for row, (name, vector) in enumerate(zip(*columns.values(), strict=True), start=first):
                if wanted is None or name in wanted:
                    yield f", row {row}", name, vector
