"""The records of cells as files hold them, checked where they are read."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar

from srd_agents.training.options import check_type
from srd_agents.training.progress import History
from srd_gym.checks import check_integer
from srd_gym.measures import Normalizer, parse_measure

Record = Mapping[str, Any]
Item = TypeVar("Item")
Key = TypeVar("Key")

SCHEMA_VERSION = 2
"""Version of a cell's JSON line; rises when its keys change their meaning."""


_CELL: dict[Any, tuple[str, ...]] = {
    str: ("cell", "ranker", "fitted_as", "select_by", "run"),
    Normalizer: ("normalizer",),
    int: ("fold", "seed", "depth"),
    float: ("fit_cpu_seconds", "rank_cpu_seconds"),
    bool: ("reads_judgments",),
    dict[str, object]: ("topic_set",),
    dict[str, str]: ("versions",),
    dict[str, float]: ("measures",),
    dict[str, dict[str, float]]: ("per_topic",),
    str | None: ("commit",),
    int | None: ("environment_episodes", "environment_steps"),
    float | None: ("validation",),
    dict[str, object] | None: ("view", "history"),
}
"""Keys that a record has at least, by type."""
_TOPIC_SET: dict[Any, tuple[str, ...]] = {
    str: ("name", "full_name", "fingerprint"),
    list[str]: ("marks",),
    int: ("test",),
}


def grouped(items: Iterable[Item], key: Callable[[Item], Key]) -> dict[Key, list[Item]]:
    """The items by their keys, in their order."""
    groups: dict[Key, list[Item]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups


def run_digest(rankings: Mapping[str, Sequence[str]]) -> str:
    """The digest of a run that its record names: the first 16 digits of SHA-256.

    Args:
        rankings: document ids by query id, best first; empty ones do not count, as a file of a run has none.
    """
    content = json.dumps({query_id: list(ids) for query_id, ids in rankings.items() if ids}, sort_keys=True)
    return hashlib.sha256(content.encode()).hexdigest()[:16]


class OtherVersionError(ValueError):
    """A record that another version of this package wrote."""


def read_record(path: Path) -> dict[str, object]:
    """The record in a file; one of a failed cell holds `error`, and is not checked.

    Raises:
        OtherVersionError: the message names both versions.
        OSError: the file cannot be read.
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
    if not record.get("error"):
        try:
            _check(record)
        except (TypeError, ValueError) as error:
            raise ValueError(f"no record of a cell: {error}") from error
    return record


def _check(record: dict[str, Any]) -> None:
    """Refuse what no table or page could be made of; a history gets the fields that it lacks."""
    _check_keys(record, _CELL)
    _check_keys(record["topic_set"], _TOPIC_SET)
    check_integer("test", record["topic_set"]["test"], 1)
    check_integer("depth", record["depth"], 1)
    if record["history"] is not None:
        record["history"] |= asdict(History.of(record["history"], "its history"))
    if not record["per_topic"]:
        raise ValueError("it scores nothing")
    for name in record["measures"]:
        parse_measure(name)
    for query_id, scores in record["per_topic"].items():
        if scores.keys() != record["measures"].keys():
            raise ValueError(
                f"topic {query_id!r}: expected scores of {', '.join(record['measures'])} and of nothing else"
            )


def _check_keys(values: Mapping[str, object], expected: Mapping[object, Sequence[str]]) -> None:
    """Refuse a table that lacks keys, or holds values of other types than these keys have."""
    for kind, keys in expected.items():
        for key in keys:
            if key not in values:
                raise ValueError(f"{key} is missing")
            check_type(key, values[key], kind)
