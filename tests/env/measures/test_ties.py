"""Runs full of equal scores, and ranks that contradict them: the order of the tool that each option names."""

from __future__ import annotations

import csv
import gzip
import json
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest
from small_topics import refused

from srd_gym.data import as_run, read_qrels, read_run
from srd_gym.measures import evaluate_run
from srd_gym.trec_files import Run

GOLDEN = Path(__file__).parents[2] / "golden" / "ndeval-ties.json"
"""A part of what a compiled `ndeval.c` prints, by default and with -traditional; the file names tool and command."""
NAMES = {"alpha-DCG": "alpha_DCG", "alpha-nDCG": "alpha_nDCG", "ERR-IA": "ERR_IA", "nERR-IA": "nERR_IA",
         "strec": "StRecall", "P-IA": "P_IA", "NRBP": "NRBP", "nNRBP": "nNRBP", "MAP-IA": "MAP_IA"}  # fmt: skip


def ours(name: str) -> str:
    """Our notation of a column."""
    measure, at, cutoff = name.partition("@")
    return NAMES[measure] + at + cutoff


def hold(data_dir: Path, folder: Path, runs: dict[str, list[str]], rows: Iterable[dict[str, str]]) -> int:
    """Compare every row with ours; the number of rows."""
    qrels = {year: read_qrels(data_dir / "trec-web" / f"{year}.diversity.qrels.gz") for year in
             {tag[4:8] for tag in runs}}  # fmt: skip
    measures = [ours(name) for name in next(iter(rows)) if name not in ("mode", "year", "runid", "topic")]
    found = {}
    for tag, lines in runs.items():
        path = folder / tag
        path.write_text("\n".join(lines) + "\n")
        with pytest.warns(UserWarning, match=r"the order is not that of the ranks.*trec_eval and ndeval -traditional"):
            by_score = read_run(path)
        for mode, run in (("traditional", by_score), ("rank", read_run(path, order="rank"))):
            found[mode, tag] = evaluate_run(qrels[tag[4:8]], run, measures).per_topic
    rows = list(rows)
    for row in rows:
        values = found[row["mode"], row["runid"]][row["topic"]]
        theirs = [float(value) for name, value in row.items() if name not in ("mode", "year", "runid", "topic")]
        np.testing.assert_allclose([values[name] for name in measures], theirs, rtol=0, atol=5.001e-7, err_msg=str(row))
    return len(rows)


@pytest.mark.data
def test_runs_of_ties_score_as_in_the_golden_file(data_dir: Path, tmp_path: Path) -> None:
    golden = json.loads(GOLDEN.read_text(encoding="utf-8"))
    rows = [dict(zip(golden["columns"], row, strict=True)) for row in golden["rows"]]
    assert hold(data_dir, tmp_path, golden["runs"], rows) == 96


@pytest.mark.data
def test_all_runs_of_ties_score_as_ndeval_prints_them_in_both_modes(data_dir: Path, tmp_path: Path) -> None:
    folder = data_dir / "ndeval-ties"
    if not folder.is_dir():
        pytest.skip("the folder ndeval-ties is not among the real files")
    runs: dict[str, list[str]] = {}
    with gzip.open(folder / "runs.txt.gz", "rt") as stream:
        for line in stream:
            runs.setdefault(line.split()[-1], []).append(line.rstrip("\n"))
    with gzip.open(folder / "ndeval.csv.gz", "rt") as stream:
        rows = [row for row in csv.DictReader(stream) if row["topic"] != "amean"]
    assert (len(runs), hold(data_dir, tmp_path, runs, rows)) == (60, 720)


QRELS = "1 1 b 1\n1 1 a 0\n1 2 a 0\n"


@pytest.mark.parametrize(("order", "value"), [("score", 0.7262), ("rank", 0.7262), ("pyndeval", 0.3631)])
def test_two_documents_of_one_score(tmp_path: Path, order: str, value: float) -> None:
    (tmp_path / "qrels").write_text(QRELS)
    (tmp_path / "run").write_text("1 Q0 b 1 1 t\n1 Q0 a 2 1 t\n")
    run = read_run(tmp_path / "run", order=order)  # type: ignore[arg-type]
    assert evaluate_run(read_qrels(tmp_path / "qrels"), run, "ERR_IA@5").measures["ERR_IA@5"] == pytest.approx(
        value, abs=5e-5
    )


@pytest.mark.parametrize("seed", range(20))
def test_pyndeval_is_the_tool_that_puts_the_smaller_id_first(seed: int, tmp_path: Path) -> None:
    pyndeval = pytest.importorskip("pyndeval", reason="pyndeval is not installed")
    rng = np.random.default_rng(seed)
    ids = [f"{prefix}{number}" for number in range(12) for prefix in ("D", "d", "é", "\U0001f600")]
    judged = [("1", str(s), d, int(rng.integers(0, 2))) for s in range(1, 4) for d in ids]
    ranked = [("1", d, float(rng.integers(0, 3))) for d in rng.permutation(ids).tolist()]
    (tmp_path / "qrels").write_text("".join(f"{q} {s} {d} {j}\n" for q, s, d, j in judged), encoding="utf-8")
    lines = [f"{q} Q0 {d} {rank} {score} t\n" for rank, (q, d, score) in enumerate(ranked)]
    (tmp_path / "run").write_text("".join(lines), encoding="utf-8")
    names = {"alpha_nDCG@10": "alpha-nDCG@10", "ERR_IA@5": "ERR-IA@5", "NRBP": "NRBP", "StRecall@5": "strec@5"}
    theirs = pyndeval.ndeval(judged, ranked, list(names.values()))["1"]
    for run in (_in_order(tmp_path / "run"), as_run(_records(ranked), order="pyndeval")):
        found = evaluate_run(read_qrels(tmp_path / "qrels"), run, list(names)).per_topic["1"]
        assert [found[name] for name in names] == pytest.approx([theirs[name] for name in names.values()], abs=1e-12)


def _in_order(path: Path) -> Run:
    with pytest.warns(UserWarning, match="pyndeval does"):
        return read_run(path, order="pyndeval")


class _Frame:
    def __init__(self, columns: dict[str, list[object]]) -> None:
        self._columns, self.columns = columns, list(columns)

    def __getitem__(self, name: str) -> list[object]:
        return self._columns[name]


def _records(ranked: list[tuple[str, str, float]], **more: list[object]) -> _Frame:
    columns = zip(*ranked, strict=True)
    return _Frame(dict(zip(("query_id", "doc_id", "score"), map(list, columns), strict=True), **more))


def test_ranks_of_a_frame_are_compared_as_those_of_a_file() -> None:
    frame = _records([("1", "b", 1.0), ("1", "a", 1.0), ("1", "c", 1.0)], rank=[0, 1, 2])
    with pytest.warns(UserWarning, match=r"for 1 of 1 queries the order is not that of the ranks \(1\)"):
        assert as_run(frame).rankings["1"] == ("c", "b", "a")
    assert as_run(frame, order="rank").rankings["1"] == ("b", "a", "c")
    refused(lambda: as_run(_records([("1", "b", 1.0)]), order="rank"), "ranks of query '1' are missing")
    refused(lambda: as_run(_records([("1", "b", 1.0)], rank=[float("nan")]), order="rank"), "not distinct numbers")
