"""Stored scores are those of runs: every attack on a score, a run or a digest is found, if the file itself is sound."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from made_results import TINY, recipe
from small_topics import refused

from srd_train.experiment.benchmark import run_benchmark
from srd_train.experiment.recipe import RankerEntry, Recipe
from srd_train.experiment.records import run_digest
from srd_train.report.results import KEPT_RUNS, read_scores, with_runs, write_scores
from studies.results.run import DOCS
from studies.results.runs import record_faults, scored_again
from studies.results.stored import Stored

Records = list[dict[str, Any]]
MADE = recipe(
    "mmr",
    RankerEntry(ranker="random", seeds=(0, 1)),
    RankerEntry(ranker="listmle", config={"epochs": 1}),
    seeds=(0,),
    topics=(replace(TINY, run_folds=(1, 2)),),
    name="smoke",
)


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The scores of a small benchmark, with the runs of its learner."""
    folder = tmp_path_factory.mktemp("made")
    write_scores(folder / "smoke.parquet", with_runs(run_benchmark(MADE, folder / "out"), folder / "out"))
    return folder


@pytest.fixture(autouse=True)
def kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    """The check ranks again where the processor's kind is that of the pages."""
    monkeypatch.setenv("OPENBLAS_CORETYPE", "HASWELL")


def faults(folder: Path, monkeypatch: pytest.MonkeyPatch | None = None, made_of: Recipe = MADE) -> list[str]:
    """Faults in a folder of scores, of our recipe or of the package's."""
    if monkeypatch is not None:
        monkeypatch.setattr("studies.results.stored.load_recipe", lambda _: made_of)
    stored = Stored(folder)
    told: list[str] = []
    found = [*record_faults(stored), *scored_again(stored, told.append)]
    assert told
    return found


def forged(source: Path, folder: Path, attack: Callable[[dict[str, Any]], object], row: str) -> Path:
    """A copy of the scores, a cell of a row attacked, one with a run if there is one; the file's checksum is right."""
    records = read_scores(source)
    own = [record for record in records if record["ranker"] == row]
    attack((kept(own) or own)[0])
    write_scores(folder / source.name, records)
    return folder


def kept(records: Records) -> Records:
    """Those with runs."""
    return [record for record in records if record["rankings"]]


def raised(record: dict[str, Any]) -> None:
    """Add 0.03 to a score."""
    scores = next(iter(record["per_topic"].values()))
    scores[next(iter(scores))] += 0.03


def swapped(record: dict[str, Any]) -> None:
    """Turn a kept ranking around."""
    for ranking in record["rankings"].values():
        ranking.reverse()


def rebound(record: dict[str, Any]) -> None:
    """Another run, and its digest."""
    swapped(record)
    record["run_digest"] = run_digest(record["rankings"])


def stranger(record: dict[str, Any]) -> None:
    """A document that no topic has."""
    next(iter(record["rankings"].values()))[0] = "nobody's"
    record["run_digest"] = run_digest(record["rankings"])


def test_sound_scores_have_digests_and_a_few_runs(sound: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    records = read_scores(sound / "smoke.parquet")
    assert {record["ranker"] for record in kept(records)} == {"listmle"}
    assert all(record["run_digest"] for record in records)
    assert all(run_digest(record["rankings"]) == record["run_digest"] for record in kept(records))
    assert faults(sound, monkeypatch) == []
    write_scores(sound / "out" / "again.parquet", records)
    assert (sound / "out" / "again.parquet").read_bytes() == (sound / "smoke.parquet").read_bytes()


@pytest.mark.parametrize(("attack", "row", "said"), [
    (raised, "listmle", "smoke: tiny, listmle, fold 1, seed 0: alpha_nDCG@5 "),
    (raised, "mmr", "smoke: tiny, mmr, fold 1, seed 0: alpha_nDCG@5 "),
    (raised, "random", "smoke: tiny, random, fold 1, seed 0: alpha_nDCG@5 "),
    (swapped, "listmle", "its run has digest"),
    (rebound, "listmle", "topics differ)"),
    (lambda record: record.update(run_digest="0" * 16), "listmle", "its record names 0000000000000000"),
    (lambda record: record.update(run_digest=None), "listmle", "its record names None"),
    (lambda record: record.update(rankings=None), "listmle", "smoke keeps 1 runs of trained rows; expected 2"),
    (lambda record: record.update(seed=7), "mmr", "tiny, mmr, 1, 7: its recipe has no such run"),
    (lambda record: record.update(fold=2), "mmr", "stored 2 times"),
    (lambda record: record["per_topic"].popitem(), "mmr", "scores of 4 topics, tested 5"),
    (lambda record: record["topic_set"].update(fingerprint="1" * 16), "mmr", "these are other topics"),
], ids=["kept score", "untrained score", "random score", "run", "run with its digest", "digest", "no digest", "no run",
        "seed", "twice", "topics", "other topics"])  # fmt: skip
def test_attacks_are_found(
    sound: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, attack: Any, row: str, said: str
) -> None:
    found = "\n".join(faults(forged(sound / "smoke.parquet", tmp_path, attack, row), monkeypatch))
    assert said in found


def test_a_document_that_no_topic_has_is_refused(sound: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    forged(sound / "smoke.parquet", tmp_path, stranger, "listmle")
    refused(lambda: faults(tmp_path, monkeypatch), "nobody's.*, which the topics have not")


def test_an_edit_of_the_file_is_found_where_it_is_read(sound: Path, tmp_path: Path) -> None:
    table = pq.read_table(sound / "smoke.parquet")
    values = table["alpha_nDCG@5"].to_numpy().copy()
    values[0] += 0.03
    place = table.column_names.index("alpha_nDCG@5")
    pq.write_table(table.set_column(place, "alpha_nDCG@5", pa.array(values)), tmp_path / "smoke.parquet")
    refused(lambda: read_scores(tmp_path / "smoke.parquet"), "was changed since it was written")


def test_scores_without_digests_are_counted(sound: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    records = [{**record, "run_digest": None, "rankings": None} for record in read_scores(sound / "smoke.parquet")]
    records[0]["cell"] = "of former options"
    write_scores(tmp_path / "smoke.parquet", records)
    monkeypatch.setattr("studies.results.stored.load_recipe", lambda _: MADE)
    told: list[str] = []
    assert list(scored_again(Stored(tmp_path), told.append)) == []
    counts = "8 records are older than digests, 1 of other options than their recipe's"
    assert told == [f"smoke: 6 runs ranked again and 0 kept ones scored again, of 8; {counts}"]


def test_topics_that_are_not_here_are_told(sound: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SRD_DATA_DIR", raising=False)
    ours = replace(MADE, topics=(replace(TINY, source="ambient", folds=3, run_folds=()),))
    monkeypatch.setattr("studies.results.stored.load_recipe", lambda _: ours)
    told: list[str] = []
    assert list(scored_again(Stored(sound), told.append)) == []
    assert "smoke, tiny: not scored again: " in told[0]
    assert "SRD_DATA_DIR is unset" in told[0]
    monkeypatch.setenv("OPENBLAS_CORETYPE", "SKYLAKEX")
    assert list(scored_again(Stored(sound), told.append)) == []
    assert told[-1] == "no row was ranked again: the scores are of OPENBLAS_CORETYPE=HASWELL"


def test_at_most_ten_runs_are_kept_and_the_names_of_cells_draw_them(sound: Path, tmp_path: Path) -> None:
    (one, *_) = kept(read_scores(sound / "smoke.parquet"))
    records = [{**one, "cell": f"cell {number}"} for number in range(30)]
    drawn = [{record["cell"] for record in kept(with_runs(each, tmp_path))} for each in (records, records[::-1])]
    assert len(drawn[0]) == KEPT_RUNS
    assert drawn[0] == drawn[1]
    assert not kept(with_runs([{**one, "rankings": None} for one in records], tmp_path)), "no run is there"
    assert not kept(with_runs([{**one, "history": None} for one in records], tmp_path)), "they rank again"


def test_a_run_that_was_changed_is_not_kept(sound: Path, tmp_path: Path) -> None:
    (one, *_) = kept(read_scores(sound / "smoke.parquet"))
    refused(lambda: with_runs([{**one, "run_digest": "0" * 16}], tmp_path), "is not the run that its record names")


@pytest.mark.parametrize("row", ["mmr", "reinforce-subtopics"])
def test_attacks_on_a_page_are_found(tmp_path: Path, row: str) -> None:
    forged(DOCS / "results" / "smoke.parquet", tmp_path, raised, row)
    assert any(f"smoke: serp, {row}, fold 1" in fault for fault in faults(tmp_path))
