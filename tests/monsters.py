"""Arguments that no message may quote whole."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from srd_gym.data import generate
from srd_gym.topic import Topic

LONGEST, LONGEST_REPR = 2_000, 500
LONG = "x" * 30_000
TOPICS = generate("tiny", n_topics=300, seed=0)
MONSTERS: dict[str, Any] = {
    "a long text": LONG,
    "a list of topics": list(TOPICS),
    "a set of topics": TOPICS,
    "numbers": list(range(20_000)),
    "texts": [LONG, *map(str, range(50))],
    "an array": np.arange(100_000),
    "a matrix of NaN": np.full((300, 300), np.nan),
    "a table": {str(i): LONG for i in range(100)},
    "a whole number of 5,000 digits": 10**5_000,
    "bytes": b"x" * 30_000,
    "an object that says much of itself": type("Loud", (), {"__repr__": lambda self: LONG})(),
    "a class": Topic,
}
NUMPY: dict[str, Any] = {
    "texts": np.array(["a", "bb"]),
    "a text": np.str_("a"),
    "a number": np.float64(2.5),
    "a half": np.float16(1.5),
    "NaN": np.float64("nan"),
    "a small number": np.int16(-3),
    "a count": np.uint8(2),
    "a truth": np.bool_(True),
    "bytes": np.array([b"a"]),
    "objects": np.array([None, "a"], object),
    "complex": np.array([1j]),
    "dates": np.array(["2020-01-01"], "M8[D]"),
    "halves": np.array([1.5, 2.5], np.float16),
    "whole numbers": np.array([3, 3], np.int16),
    "a list": [np.float64(1.5), np.int16(7)],
    "a list of texts": [np.str_("x")],
    "a dictionary": {np.str_("x"): np.float64(1)},
    "a set": {np.int16(1)},
    "a number in no list": np.array(3.5),
    "numbers as text": np.array([["1", "2"]]),
    "a cube": np.zeros((2, 2, 2, 2), np.float16),
    "no text": np.empty(0, "U3"),
}
"""Arguments whose types numpy has its own names for."""
_NUMPYS = re.compile(
    r"np\.(?!stack)|numpy|[<>|=][USOVMmifu]\d|ndarray|(?<!mask_)dtype|(?<!to)array\(|"
    r"\b(str_|bool_|object_|bytes_|float16|float64|u?int16|uint8|int64|complex128|datetime64)\b"
)
_PYTHONS = re.compile("not iterable|has no len|unhashable|indices must be|valid indices|PathLike object|path should be")
"""What Python says by itself of things that are no list, no text, no index or no path."""


def numpys_names_in(call: Callable[[], object]) -> str:
    """The message of a call, or a notice of it, that names a type of numpy; "" where none does."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        said = [said_by(call)]
    # Gymnasium shows all arguments behind an error of ours.
    said = [
        text.partition(" was raised from the environment")[0] for text in (*said, *(str(each.message) for each in told))
    ]
    return next((text for text in said if _NUMPYS.search(text) and not _PYTHONS.search(text)), "")


def said_by(call: Callable[[], object]) -> str:
    """The message of a call that refuses its arguments."""
    try:
        call()
    except Exception as error:
        return str(error)
    return ""
