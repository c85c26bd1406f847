"""The records of cells as files hold them, checked where they are read."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from srd_gym.measures import measure

Record = Mapping[str, Any]
Expected = type | tuple[type, ...]

SCHEMA_VERSION = 2
"""Of a cell's JSON line; rises when its keys change their meaning."""

_NUMBER = (int, float)
_LARGEST = 1e15
_KEYS: dict[Expected, tuple[str, ...]] = {
    dict: ("topic_set", "config", "measures", "per_topic", "versions"),
    str: ("cell", "ranker", "normalizer", "fitted_as", "select_by", "run"),
    int: ("fold", "seed", "depth"),
    bool: ("reads_judgments",),
    _NUMBER: ("fit_cpu_seconds", "rank_cpu_seconds"),
    (dict, type(None)): ("view", "history"),
    (str, type(None)): ("commit",),
    (int, type(None)): ("environment_episodes", "environment_steps"),
    (*_NUMBER, type(None)): ("validation", "time_budget"),
}
"""What a record holds, by its type."""
_SET_KEYS: dict[Expected, tuple[str, ...]] = {
    str: ("name", "full_name", "fingerprint"),
    list: ("marks",),
    int: ("test",),
}


class OtherVersionError(ValueError):
    """A record that another version of this package wrote."""


def read_record(path: Path) -> dict[str, Any]:
    """The record in a file; one of a failed cell holds `error`, and is not checked.

    Raises:
        OtherVersionError: the message names both versions.
        ValueError: no record that can be used; the message says why.
    """
    try:
        record = json.loads(path.read_bytes().decode("utf-8", errors="replace"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"no JSON ({error}); is it cut off?") from error
    if not isinstance(record, dict):
        raise ValueError("no JSON object; expected the record of a cell")
    version = record.get("schema_version")
    if version != SCHEMA_VERSION:
        raise OtherVersionError(f"written by another version (schema {version!r}, expected {SCHEMA_VERSION})")
    wrong = None if record.get("error") else next(_faults(record), None)
    if wrong is not None:
        raise ValueError(wrong)
    return record


def _faults(record: Record) -> Iterator[str]:
    """What keeps a record from being used; only the first is sure, as it may be what others come of."""
    topic_set = record.get("topic_set")
    inner = topic_set if isinstance(topic_set, dict) else {}
    expected = [(record, key, kind) for kind, keys in _KEYS.items() for key in keys]
    expected += [(inner, key, kind) for kind, keys in _SET_KEYS.items() for key in keys]
    for values, key, kind in expected:
        if key not in values:
            yield f"no record of a cell: {key} is missing"
        elif not isinstance(values[key], kind):
            yield f"no record of a cell: {key} holds {type(values[key]).__name__}"
    if not all(isinstance(mark, str) for mark in inner["marks"]):
        yield "no record of a cell: marks holds what is no text"
    for values, key in ((record, "depth"), (inner, "test")):
        if values[key] < 1:
            yield f"no record of a cell: {key} is {values[key]}, expected at least 1"
    for key in ("fit_cpu_seconds", "rank_cpu_seconds"):
        if not _is_number(record[key]):
            yield f"no record of a cell: {key} is {record[key]}, expected a number from 0 up"
    yield from _faults_of_history(record["history"] or {"measure": "", "records": []})
    yield from _faults_of_scores(record)


def _faults_of_history(history: Mapping[str, Any]) -> Iterator[str]:
    """What keeps a learner's history from being drawn."""
    records = history.get("records")
    if not isinstance(history.get("measure"), str) or not isinstance(records, list):
        yield "its history has no measure or no records"
    for entry in records or ():
        numbers = [entry.get(key) for key in ("validation", "episodes", "seconds")] if isinstance(entry, dict) else [""]
        if not all(value is None or _is_number(value) for value in numbers) or "validation" not in entry:
            yield "its history has an entry without validation, or with a value that is no number from 0 up"


def _faults_of_scores(record: Record) -> Iterator[str]:
    """What is wrong with the scores of a record."""
    if not record["measures"] or not record["per_topic"]:
        yield "no record of a cell: it scores nothing"
    for name in record["measures"]:
        try:
            measure(name)
        except (ValueError, TypeError) as error:
            yield str(error)
    for where, values in (("", record["measures"]), *((f"topic {q!r}: ", v) for q, v in record["per_topic"].items())):
        if not isinstance(values, dict) or values.keys() != record["measures"].keys():
            yield f"{where}expected scores of {', '.join(record['measures'])} and of nothing else"
        for name, value in values.items():
            if not _is_number(value):
                yield f"{where}{name} is {value!r}, expected a number from 0 up"


def _is_number(value: object) -> bool:
    """Whether it is a number from 0 up that sums and plots can take: scores, counts and times are."""
    return isinstance(value, _NUMBER) and not isinstance(value, bool) and 0 <= value < _LARGEST
