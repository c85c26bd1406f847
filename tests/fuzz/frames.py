"""Data frames of results, as PyTerrier hands them on; only where pandas is installed (it is no dependency of ours)."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import pandas as pd
from fuzz.damage import ODD_VALUES

from srd_agents.pipeline.frames import FrameRanker

Case = Callable[[], object]

_CELLS = (*ODD_VALUES, np.nan, pd.NA, pd.NaT, np.float32(2), np.zeros(2), np.zeros((2, 2)), [1.0], (1, 2, 3), {1}, b"x",
          object(), 1j, np.array(["a", "b"]), np.array([None, 1]), pd.Timestamp(0))  # fmt: skip


def frames(rng: random.Random) -> Case:
    """A frame of results, some cells, columns or labels of which are something else."""
    rows = rng.randrange(6)
    frame = pd.DataFrame(
        {
            "qid": [f"q{i // 3}" for i in range(rows)],
            "docno": [f"d{i}" for i in range(rows)],
            "score": [float(-i) for i in range(rows)],
            "query": ["x"] * rows,
            "doc_vec": [np.array([1.0, i]) for i in range(rows)],
            "query_vec": [np.array([1.0, 1.0]) for _ in range(rows)],
        }
    )
    for _ in range(rng.choice((1, 1, 2, 3))):
        frame = _changed(frame, rng)
    k = rng.choice((None, None, 1, 2, 100))
    names = {"doc_vectors": "doc_vec", "query_vectors": rng.choice(("query_vec", None, "query"))}
    return lambda: FrameRanker(rng.choice((None, "mmr", "relational-pretrained")), k, **names).transform(frame)


def _changed(frame: pd.DataFrame, rng: random.Random) -> pd.DataFrame:
    if not len(frame.columns):
        return frame
    index, kind = rng.randrange(len(frame.columns)), rng.randrange(9)
    columns = [frame.iloc[:, i].astype(object) for i in range(len(frame.columns))]
    if kind <= 3 and len(frame):
        cells = columns[index].tolist()
        cells[rng.randrange(len(cells))] = rng.choice(_CELLS)
        values = pd.Series([None] * len(cells), index=frame.index, dtype=object)
        values.array[:] = np.array([*cells, None], dtype=object)[:-1]
        columns[index] = values
        return pd.concat(columns, axis=1, keys=list(frame.columns))
    if kind == 4:
        return frame.iloc[:, [i for i in range(len(frame.columns)) if i != index]]
    if kind == 5:
        return pd.concat([frame, frame.iloc[:, [index]]], axis=1)
    if kind == 6 and len(frame):
        return frame.iloc[[rng.randrange(len(frame)) for _ in range(len(frame))]]
    if kind == 7:
        renamed = list(frame.columns)
        renamed[index] = rng.choice(("qid", "score", "rank", "", 0, None))
        return frame.set_axis(renamed, axis=1)
    return frame.set_axis(pd.Index([0] * len(frame)), axis=0) if rng.random() < 0.5 else frame.astype(object)
