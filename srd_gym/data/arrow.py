"""Topics as Arrow columns, without a Python object per number."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from srd_gym.topic import Topic


def record_batch(topics: list[Topic], schema: pa.Schema) -> pa.RecordBatch:
    """Topics as the columns of a schema; its lists of numbers are arrays, flattened."""
    columns: list[pa.Array] = []
    for entry in schema:
        values: list[Any] = [_column_value(topic, entry.name) for topic in topics]
        if pa.types.is_list(entry.type) and not pa.types.is_string(entry.type.value_type):
            columns.append(_list_column(values, entry.type))
        else:
            columns.append(pa.array(values, type=entry.type))
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _column_value(topic: Topic, name: str) -> Any:
    """The topic's entry in a column; `vector_width` is F of whatever vectors it has."""
    if name != "vector_width":
        return getattr(topic, name)
    vectors = (topic.doc_vectors, topic.query_vector, topic.subtopic_vectors)
    return next((int(v.shape[-1]) for v in vectors if v is not None), None)


def _list_column(values: list[NDArray[Any] | None], kind: pa.DataType) -> pa.Array:
    """Arrays, flattened, as a list column."""
    lengths = [0 if value is None else value.size for value in values]
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    flat = [value.reshape(-1) for value in values if value is not None]
    numbers = np.concatenate(flat) if flat else np.empty(0, dtype=kind.value_type.to_pandas_dtype())
    missing = pa.array([value is None for value in values], type=pa.bool_())
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array(numbers, type=kind.value_type), type=kind, mask=missing)
