"""No command writes over what it reads, nor twice to one file; what it may replace it does replace."""

from __future__ import annotations

import dataclasses
import importlib
import shutil
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from made_results import made_runs, recipe_file
from run_srd import Srd

from srd_gym.data import generate, write_topics
from srd_train.cli import TREE, Group
from srd_train.commands.outputs import WRITTEN
from studies.__main__ import TREE as STUDIES

READ = {"beside", "check", "folder", "folds", "folds_file", "logs", "model", "namer", "query_vectors", "results"}
READ |= {"sources", "tensorboard"}
"""Options that are paths and not in `WRITTEN`; into a folder of --tensorboard only new files are written."""


def kinds(group: Group) -> Iterator[type[Any]]:
    """The options of all commands."""
    for child in group.commands.values():
        if isinstance(child, Group):
            yield from kinds(child)
            continue
        module = importlib.import_module(child.module)
        found = getattr(module, child.command)
        yield found if isinstance(found, type) else getattr(module, child.module.rpartition(".")[2].capitalize())


def test_every_path_of_a_command_is_known_as_read_or_written() -> None:
    pytest.importorskip("torch")
    for kind in (*kinds(TREE), *kinds(STUDIES)):
        hints = typing.get_type_hints(kind)
        paths = {
            entry.name
            for entry in dataclasses.fields(kind)
            if Path in (hints[entry.name], *typing.get_args(hints[entry.name]))
        }
        assert paths <= READ | WRITTEN.keys(), kind


@pytest.fixture
def place(tmp_path: Path, small_run: tuple[Path, Path]) -> Path:
    """Files of all kinds that commands read."""
    made_runs(tmp_path)
    for seed, name in enumerate(("parts/a.parquet", "parts/b.parquet", "real/c.parquet", "t.parquet")):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        write_topics(tmp_path / name, generate("tiny", n_topics=6, seed=seed))
    (tmp_path / "parts" / "c.parquet").symlink_to(tmp_path / "real" / "c.parquet")
    (tmp_path / "link.csv").symlink_to(tmp_path / "third.run")
    (tmp_path / "link.parquet").symlink_to(tmp_path / "t.parquet")
    shutil.copytree(small_run[0], tmp_path / "results")
    recipe_file(tmp_path, "mmr")
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "queries.jsonl").write_text('{"_id": "1", "text": "bank"}\n')
    (tmp_path / "texts" / "corpus.jsonl").write_text(
        '{"_id": "a", "text": "river bank"}\n{"_id": "b", "text": "money bank"}\n'
    )
    (tmp_path / "texts" / "diversity.qrels").write_text("1 s a 1\n1 s b 0\n")
    return tmp_path


COMPARE = "compare first.run second.run --qrels some.qrels"


@pytest.mark.parametrize(("words", "said"), [
    ("rank mmr --topics parts --out parts/a.parquet", "--out parts/a.parquet exists in parts, which is read"),
    ("rank mmr --topics parts --out real/c.parquet", "exists in parts, which is read"),
    ("rank mmr --topics t.parquet --out link.parquet", "--out link.parquet is also read"),
    ("rank model --topics t.parquet --out model/config.json", "exists in model, which is read"),
    ("data build texts texts --retrieve none --out texts/corpus.jsonl", "exists in texts, which is read"),
    ("data log mmr --topics t.parquet --out t.parquet --force", "is also read"),
    (f"{COMPARE} --csv o --latex o", "--csv and --latex are both o; give each a file of its own"),
    (f"{COMPARE} --csv link.csv", "exists and does not end in .csv: was it to be read"),
    ("report results --csv results/report.html", "both"),
    ("report results --markdown results/recipe.json", "exists in results, which is read"),
    ("benchmark small.toml --markdown small.toml", "is also read"),
    ("benchmark small.toml --check t.parquet --scores t.parquet --force", "is also read"),
    ("benchmark small.toml --scores t.parquet --force", "t.parquet: not a file of"),
])  # fmt: skip
def test_what_is_read_or_of_another_kind_is_not_replaced(
    srd: Srd, place: Path, monkeypatch: pytest.MonkeyPatch, words: str, said: str
) -> None:
    monkeypatch.chdir(place)
    if "model" in words:
        srd.works("train", "mmr", "--topics", "t.parquet", "--out", "model")
    before = {path: path.read_bytes() for path in place.rglob("*") if path.is_file()}
    assert said in srd.fails(*words.split())
    assert {path: path.read_bytes() for path in place.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize("words", [
    "rank model --topics t.parquet --all --out model/mmr.run",
    "data build texts texts --retrieve none --out texts/topics.parquet",
    "data log model --topics t.parquet --episodes 20 --out model/log.parquet",
    "data qrels t.parquet --out my.qrels",
    f"{COMPARE} --csv o.csv --latex o.tex --markdown o.md --out o.html",
    "report results --out results/other.html --csv results/o.csv --latex results/o.tex --markdown results/o.md",
])  # fmt: skip
def test_what_a_command_has_written_it_writes_again(
    srd: Srd, place: Path, monkeypatch: pytest.MonkeyPatch, words: str
) -> None:
    monkeypatch.chdir(place)
    if "model" in words:
        srd.works("train", "mmr", "--topics", "t.parquet", "--out", "model")
    for _ in range(2):
        srd.works(*words.split())


def test_a_model_s_weights_without_a_config_are_kept(srd: Srd, place: Path) -> None:
    (place / "out").mkdir()
    (place / "out" / "model.safetensors").write_text("mine")
    words = ("train", "listmle", "--topics", place / "t.parquet", "--out", place / "out", "--epochs", 1)
    assert "already holds a training run (model.safetensors)" in srd.fails(*words)
    assert (place / "out" / "model.safetensors").read_text() == "mine"
