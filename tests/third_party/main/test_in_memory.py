"""Objects of pandas, ir_measures and ir_datasets score as files do."""

from __future__ import annotations

import gzip
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ir_datasets
import ir_measures
import pandas as pd
import pytest
from ir_datasets.datasets.base import Dataset
from ir_datasets.datasets.clueweb09 import TrecWebTrackQuery
from ir_datasets.formats import (
    BaseDocs,
    BaseQrels,
    BaseQueries,
    BaseScoredDocs,
    GenericDoc,
    GenericScoredDoc,
    TrecQrel,
    TrecSubQrel,
    TrecSubtopic,
)

from srd_gym.data import load_ir_datasets, load_trec, read_qrels, read_run, read_topics
from srd_gym.measures import evaluate_run
from srd_train.cli import main

MEASURES = ("alpha_nDCG@5", "ERR_IA@5", "StRecall@2", "NRBP")
QRELS = [("7", str(s), f"d{d}", int(d > 2 and (d + s) % 3 == 0)) for d in range(6) for s in (1, 2, 3)]
RUN = [("7", f"d{d}", float(-d)) for d in range(8)]
WEB = {year: f"clueweb09/en/trec-web-{year}/diversity" for year in (2009, 2010, 2011, 2012)}
WEB |= {year: f"clueweb12/trec-web-{year}/diversity" for year in (2013, 2014)}


class Docs(BaseDocs):
    def docs_iter(self) -> Iterator[GenericDoc]:
        return iter([GenericDoc(f"d{d}", f"text of {d}") for d in range(7)])

    def docs_cls(self) -> type[GenericDoc]:
        return GenericDoc

    def docs_store(self, *_: Any, **__: Any) -> Docs:
        return self

    def get_many(self, doc_ids: set[str]) -> dict[str, GenericDoc]:
        return {doc.doc_id: doc for doc in self.docs_iter() if doc.doc_id in doc_ids}


class Queries(BaseQueries):
    def queries_iter(self) -> Iterator[TrecWebTrackQuery]:
        subtopics = tuple(TrecSubtopic(str(s), f"side {s}", "inf") for s in (1, 2, 3))
        return iter([TrecWebTrackQuery("7", "jaguar", "", "ambiguous", subtopics)])

    def queries_cls(self) -> type[TrecWebTrackQuery]:
        return TrecWebTrackQuery


class Qrels(BaseQrels):
    def qrels_iter(self) -> Iterator[TrecSubQrel]:
        return iter([TrecSubQrel(q, d, g, s) for q, s, d, g in QRELS])

    def qrels_cls(self) -> type[TrecSubQrel]:
        return TrecSubQrel


class Scored(BaseScoredDocs):
    def scoreddocs_iter(self) -> Iterator[GenericScoredDoc]:
        return iter([GenericScoredDoc(*row) for row in RUN])


@pytest.fixture(scope="module", autouse=True)
def registered() -> None:
    if "srd-small" not in ir_datasets.registry:
        ir_datasets.registry.register("srd-small", Dataset(Docs(), Queries(), Qrels(), Scored()))
        ir_datasets.registry.register("srd-scored", Dataset(Docs(), Scored()))
        ir_datasets.registry.register("srd-judged", Dataset(Docs(), Qrels()))


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    qrels, run = tmp_path / "made.qrels", tmp_path / "made.run"
    qrels.write_text("".join(" ".join(map(str, row)) + "\n" for row in QRELS))
    run.write_text("".join(f"{q} Q0 {d} 1 {score} t\n" for q, d, score in RUN))
    return qrels, run


def test_objects_score_as_files_do(files: tuple[Path, Path]) -> None:
    expected = evaluate_run(read_qrels(files[0]), read_run(files[1]), MEASURES).per_topic
    assert 0 < expected["7"]["alpha_nDCG@5"] < 1
    scored = [ir_measures.ScoredDoc(*row) for row in RUN]
    columns = {"subtopic_id": [s for _, s, _, _ in QRELS], "doc_id": [d for _, _, d, _ in QRELS]}
    frame = pd.DataFrame({"query_id": [q for q, *_ in QRELS], **columns, "relevance": [g for *_, g in QRELS]})
    ranked = pd.DataFrame(RUN, columns=["qid", "docno", "score"]).sample(frac=1, random_state=0)
    for qrels, run in (
        ([ir_measures.Qrel(q, d, g, s) for q, s, d, g in QRELS], scored),
        (ir_measures.read_trec_qrels(str(files[0])), ir_measures.read_trec_run(str(files[1]))),
        (frame, ranked),
        ([TrecQrel(q, d, g, s) for q, s, d, g in QRELS], ranked),
        (ir_datasets.load("srd-small"), ir_datasets.load("srd-small")),
        (ir_datasets.load("srd-small").qrels_iter(), ir_datasets.load("srd-small").scoreddocs_iter()),
        ("ir-datasets:srd-small", files[1]),
    ):
        assert evaluate_run(qrels, run, MEASURES).per_topic == expected


def test_a_dataset_becomes_the_topics_of_its_files(files: tuple[Path, Path], tmp_path: Path) -> None:
    expected = load_trec(run=files[1], qrels=files[0])
    (made,) = load_ir_datasets("srd-small")
    assert (made.query_text, made.subtopic_texts) == ("jaguar", ("side 1", "side 2", "side 3"))
    assert made.doc_texts == (*(f"text of {d}" for d in range(7)), "")
    for name in ("doc_ids", "subtopic_ids", "pool_ids"):
        assert getattr(made, name) == getattr(expected[0], name)
    for name in ("judgments", "pool", "retrieval_scores"):
        assert getattr(made, name).tolist() == getattr(expected[0], name).tolist()
    out = tmp_path / "made.parquet"
    assert (
        main(["data", "build", "ir-datasets", "srd-small", "--run", str(files[1]), "--no-texts", "--out", str(out)])
        == 0
    )
    assert read_topics(out)[0].doc_texts is None
    assert read_topics(out)[0].judgments.tolist() == made.judgments.tolist()


def test_a_dataset_need_not_have_everything(files: tuple[Path, Path]) -> None:
    scored, judged = ir_datasets.load("srd-scored"), ir_datasets.load("srd-judged")
    expected = evaluate_run(read_qrels(files[0]), read_run(files[1]), MEASURES).per_topic
    assert evaluate_run(judged, scored, MEASURES).per_topic == expected
    with pytest.raises(ValueError, match="dataset srd-scored of ir_datasets has no judgments"):
        evaluate_run(scored, scored, MEASURES)
    with pytest.raises(ValueError, match="dataset srd-judged of ir_datasets has no scored documents: give a run"):
        load_ir_datasets("srd-judged")
    assert load_ir_datasets("srd-scored", run=files[1], texts=False)[0].judgments is None


def test_commands_take_a_dataset(files: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    said = []
    for qrels in (str(files[0]), "ir-datasets:srd-small"):
        assert main(["evaluate", "--qrels", qrels, "--run", str(files[1]), "--per-topic", "--json"]) == 0
        said.append(capsys.readouterr().out)
    assert said[0] == said[1]
    assert main(["evaluate", "--qrels", "ir-datasets:none", "--run", str(files[1])]) == 2
    assert "ir_datasets has no dataset 'none'" in capsys.readouterr().err


@pytest.mark.parametrize("year", WEB)
def test_trec_web_has_subtopics_in_judgments_and_queries(year: int) -> None:
    dataset = ir_datasets.load(WEB[year])
    assert "subtopic_id" in dataset.qrels_cls()._fields
    assert "subtopics" in dataset.queries_cls()._fields


@pytest.mark.skipif("SRD_DATA_DIR" not in os.environ, reason="needs the real files (SRD_DATA_DIR)")
@pytest.mark.parametrize("year", [2009, 2010, 2011, 2012])
def test_trec_web_scores_as_its_files_do(year: int, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = Path(os.environ["SRD_DATA_DIR"]) / "trec-web"
    qrels, run = folder / f"{year}.diversity.qrels.gz", folder / f"{year}.indri.run.gz"
    dataset = ir_datasets.load(WEB[year])
    # The library would fetch the qrels from NIST; here its own parser reads the same file.
    monkeypatch.setattr(dataset.qrels_handler(), "_qrels_dlc", Unpacked(qrels))
    expected = evaluate_run(read_qrels(qrels), read_run(run), MEASURES).per_topic
    assert len(expected) > 47
    assert evaluate_run(dataset, run, MEASURES).per_topic == expected


class Unpacked:
    """A download of the library that is there already."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def stream(self) -> Any:
        return gzip.open(self._path)
