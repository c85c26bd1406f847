"""The records of cells as files hold them, checked where they are read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypedDict, get_type_hints

from srd_agents.config import check_between, check_count, check_type
from srd_agents.history import History
from srd_gym.measures import measure

Record = Mapping[str, Any]

SCHEMA_VERSION = 2
"""Of a cell's JSON line; rises when its keys change their meaning."""


class _Cell(TypedDict):
    """What a record holds at least."""

    cell: str
    topic_set: dict[str, Any]
    ranker: str
    fitted_as: str
    view: dict[str, Any] | None
    reads_judgments: bool
    select_by: str
    validation: float | None
    fold: int
    seed: int
    depth: int
    normalizer: str
    measures: dict[str, float]
    per_topic: dict[str, dict[str, float]]
    history: dict[str, Any] | None
    environment_episodes: int | None
    environment_steps: int | None
    fit_cpu_seconds: float
    rank_cpu_seconds: float
    commit: str | None
    versions: dict[str, str]
    run: str


class _TopicSet(TypedDict):
    """What it says of the topic set."""

    name: str
    full_name: str
    fingerprint: str
    marks: list[str]
    test: int


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
    if not record.get("error"):
        try:
            _check(record)
        except (TypeError, ValueError) as error:
            raise ValueError(f"no record of a cell: {error}") from error
    return record


def _check(record: Record) -> None:
    """Refuse what no table or page could be made of."""
    _check_keys(record, _Cell)
    _check_keys(record["topic_set"], _TopicSet)
    check_count("depth", record["depth"])
    check_count("test", record["topic_set"]["test"])
    for key in ("fit_cpu_seconds", "rank_cpu_seconds"):
        check_between(key, record[key], 0)
    if record["history"] is not None:
        History.of(record["history"], "its history")
    if not record["per_topic"]:
        raise ValueError("it scores nothing")
    for name in record["measures"]:
        measure(name)
    for query_id, scores in record["per_topic"].items():
        if scores.keys() != record["measures"].keys():
            raise ValueError(
                f"topic {query_id!r}: expected scores of {', '.join(record['measures'])} and of nothing else"
            )


def _check_keys(values: Mapping[str, Any], expected: type) -> None:
    """Refuse a table that lacks keys, or holds values of other types than these keys have."""
    for key, kind in get_type_hints(expected).items():
        if key not in values:
            raise ValueError(f"{key} is missing")
        check_type(key, values[key], kind)
