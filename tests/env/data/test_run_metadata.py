"""Headers of runs in the form of ir_metadata."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_topics import refused

from srd_gym.data import read_run, write_run
from srd_gym.run_metadata import metadata_lines, read_run_metadata

TEXT = st.text(st.characters(max_codepoint=0xFFFF, exclude_categories=["Cs"]) | st.sampled_from("😀𐀀"))
JSON: Any = st.recursive(
    st.none() | st.booleans() | st.integers(-99, 99) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
)


WORDS = ("on", "off", "yes", "no", "true", "false", "null")
"""YAML reads these words as truth values or null; the format has no such key."""
KEYS = st.from_regex(r"[a-z][a-z -]{0,9}[a-z]", fullmatch=True).filter(lambda key: key not in WORDS)


@given(st.dictionaries(KEYS, JSON, min_size=1, max_size=4))
def test_a_header_is_read_as_it_was_written_and_is_yaml(metadata: dict[str, Any]) -> None:
    yaml = pytest.importorskip("yaml")
    lines = list(metadata_lines(metadata))
    assert all(line.isprintable() and line.startswith("# ") for line in lines)
    assert yaml.safe_load("\n".join(line[2:] for line in lines[1:-1])) == metadata


@pytest.mark.parametrize("key", ["a\nq Q0 z 1 99 t", "a: b", "-a", "#a", " a", "a ", ""])
def test_keys_that_would_be_read_as_something_else_are_refused(key: str) -> None:
    refused(lambda: list(metadata_lines({key: 1})), "cannot be read again")


def test_rankings_are_those_of_the_run_without_its_header(tmp_path: Path) -> None:
    metadata = {
        "tag": "t",
        "actor": {"name": "Ž\n# ir_metadata.end"},
        "method": {"retrieval": [{"name": "mmr", "k": 3}]},
    }
    rankings = {"1": ["b", "a"], "2": ["c"]}
    write_run(tmp_path / "with", rankings, "t", metadata)
    write_run(tmp_path / "without", rankings, "t")
    assert read_run_metadata(tmp_path / "with") == metadata
    assert read_run_metadata(tmp_path / "without") == {}
    assert read_run(tmp_path / "with").rankings == read_run(tmp_path / "without").rankings
    assert (tmp_path / "with").read_bytes().endswith((tmp_path / "without").read_bytes())
    refused(lambda: write_run(tmp_path / "with", {}, "t", {"tag": {1, 2}}), "set is not JSON serializable", TypeError)
    assert read_run_metadata(tmp_path / "with") == metadata, "the old file stays"


def test_headers_of_others_are_read_as_far_as_they_are_plain(tmp_path: Path) -> None:
    lines = [
        "# ir_metadata.start ",
        "# schema-version: 0.1 ",
        "# tag: run 1",
        "# actor:",
        "#   name: A. B.",
        "# fields:",
    ]
    lines += ["# - nlp", "#", "# ir_metadata.end", "1 Q0 a 1 0.5 t"]
    for text in ("\n".join(lines), "\r\n".join(lines)):
        (tmp_path / "a.run.gz").write_bytes(gzip.compress(text.encode()))
        found = read_run_metadata(tmp_path / "a.run.gz")
        assert found == {"schema-version": 0.1, "tag": "run 1", "actor": "name: A. B.", "fields": "- nlp"}
        assert read_run(tmp_path / "a.run.gz").rankings == {"1": ("a",)}
    (tmp_path / "open").write_text("# ir_metadata.start\n#  odd\n# tag: x\n1 Q0 a 1 0.5 t\n# tag: y\n")
    assert read_run_metadata(tmp_path / "open") == {"tag": "x"}
