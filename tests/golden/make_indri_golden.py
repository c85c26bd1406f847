"""Writes indri-ndeval.json: official scores of the TREC Web Track Indri runs, for machines without pyndeval.

Tool: pyndeval 0.0.8 (PyPI; wraps NIST's ndeval 4.5), on the files of SRD_DATA_DIR/trec-web.
Command: SRD_DATA_DIR=... python tests/golden/make_indri_golden.py

It reads the TREC files by itself, so that neither our readers nor our measures have a part in the scores.
"""

from __future__ import annotations

import gzip
import importlib.metadata
import json
import os
from pathlib import Path

YEARS = ("2009", "2010", "2011", "2012")
CUTOFFS = (1, 2, 3, 5, 10, 20)
AT_CUTOFF = {
    "alpha_DCG": "alpha-DCG",
    "alpha_nDCG": "alpha-nDCG",
    "ERR_IA": "ERR-IA",
    "nERR_IA": "nERR-IA",
    "StRecall": "strec",
    "P_IA": "P-IA",
}
WHOLE_LIST = {"NRBP": "NRBP", "nNRBP": "nNRBP", "MAP_IA": "MAP-IA"}
OFFICIAL = {f"{ours}@{k}": f"{theirs}@{k}" for ours, theirs in AT_CUTOFF.items() for k in CUTOFFS} | WHOLE_LIST


def fields(path: Path) -> list[list[str]]:
    """The fields of each line."""
    with gzip.open(path, "rt", encoding="utf-8") as stream:
        return [line.split() for line in stream]


def scores(folder: Path, year: str) -> dict[str, list[float]]:
    """Query id -> values in the order of `OFFICIAL`, rounded to 12 digits."""
    import pyndeval

    qrels = [(t, s, d, int(j)) for t, s, d, j in fields(folder / f"{year}.diversity.qrels.gz")]
    run = [(t, d, float(score)) for t, _, d, _, score, _ in fields(folder / f"{year}.indri.run.gz")]
    found = pyndeval.ndeval(qrels, run, list(OFFICIAL.values()))
    return {query_id: [round(row[name], 12) for name in OFFICIAL.values()] for query_id, row in found.items()}


def main() -> None:
    """Write the file beside this script, one topic a line."""
    folder = Path(os.environ["SRD_DATA_DIR"]) / "trec-web"
    head = {
        "tool": f"pyndeval {importlib.metadata.version('pyndeval')}",
        "command": "SRD_DATA_DIR=... python tests/golden/make_indri_golden.py",
        "measures": list(OFFICIAL),
    }
    years = []
    for year in YEARS:
        rows = (f"{json.dumps(query_id)}: {json.dumps(row)}" for query_id, row in scores(folder, year).items())
        years.append(json.dumps(year) + ": {\n" + ",\n".join(rows) + "\n}")
    text = json.dumps(head)[:-1] + ',\n"scores": {\n' + ",\n".join(years) + "\n}}\n"
    Path(__file__).with_name("indri-ndeval.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
