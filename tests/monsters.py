"""Arguments that no message may quote whole."""

from __future__ import annotations

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


def said_by(call: Callable[[], object]) -> str:
    """The message of a call that refuses its arguments."""
    try:
        call()
    except Exception as error:
        return str(error)
    return ""
