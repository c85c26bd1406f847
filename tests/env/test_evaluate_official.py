"""The measures equal the official tool ndeval: on the Indri runs (live and golden) and on random judgments."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from srd_gym.measures import evaluate_run
from srd_gym.trec_files import Qrels, Run, TopicQrels, read_qrels, read_run

YEARS = ("2009", "2010", "2011", "2012")
GOLDEN = Path(__file__).parents[1] / "golden" / "indri-ndeval.json"
AT_CUTOFF = {
    "alpha_DCG": "alpha-DCG",
    "alpha_nDCG": "alpha-nDCG",
    "ERR_IA": "ERR-IA",
    "nERR_IA": "nERR-IA",
    "StRecall": "strec",
    "P_IA": "P-IA",
}
WHOLE_LIST = {"NRBP": "NRBP", "nNRBP": "nNRBP", "MAP_IA": "MAP-IA"}
OFFICIAL = {f"{ours}@{k}": f"{theirs}@{k}" for ours, theirs in AT_CUTOFF.items() for k in range(1, 21)} | WHOLE_LIST


def indri(data_dir: Path, year: str) -> tuple[Qrels, Run]:
    folder = data_dir / "trec-web"
    return read_qrels(folder / f"{year}.diversity.qrels.gz"), read_run(folder / f"{year}.indri.run.gz")


@pytest.mark.data
@pytest.mark.parametrize("year", YEARS)
def test_indri_runs_score_as_in_the_golden_file(data_dir: Path, year: str) -> None:
    golden = json.loads(GOLDEN.read_text(encoding="utf-8"))
    assert golden["tool"] == "pyndeval 0.0.8"
    found = evaluate_run(*indri(data_dir, year), golden["measures"])
    expected = golden["scores"][year]
    assert len(expected) == found.topics - found.missing
    for query_id, row in expected.items():
        ours = [found.per_topic[query_id][name] for name in golden["measures"]]
        np.testing.assert_allclose(ours, row, rtol=0, atol=1e-11, err_msg=f"topic {query_id}")
    means = found.mean(present_only=True)
    np.testing.assert_allclose(
        [means[name] for name in golden["measures"]], np.mean(list(expected.values()), axis=0), rtol=0, atol=1e-11
    )


@pytest.mark.parametrize("seed", range(30))
def test_random_judgments_score_as_in_pyndeval_for_any_parameters(seed: int) -> None:
    pyndeval = pytest.importorskip("pyndeval", reason="pyndeval is not installed")
    rng = np.random.default_rng(seed)
    documents, subtopics = int(rng.integers(3, 30)), int(rng.integers(1, 12))
    alpha, beta, rel = float(rng.choice([0.1, 0.3, 0.5, 0.77])), float(rng.choice([0.2, 0.5, 0.9])), int(seed % 2 + 1)
    judgments = np.maximum(rng.integers(-6, 4, (documents, subtopics)), -2).astype(np.int8)
    judgments[0, 0] = 3
    ids = tuple(f"d{i}" for i in rng.permutation(documents))
    names = tuple(str(s) for s in range(1, subtopics + 1))
    ranking = tuple(rng.permutation([*ids, "other-1", "other-2"])[: int(rng.integers(1, documents + 3))].tolist())
    qrels = Qrels(topics={"q": TopicQrels(doc_ids=ids, subtopic_ids=names, judgments=judgments)})
    run = Run(rankings={"q": ranking}, scores={"q": -np.arange(float(len(ranking)))})

    def notation(name: str) -> str:
        base, _, cutoff = name.partition("@")
        parameters = [f"rel={rel}"]
        if base not in ("StRecall", "P_IA", "MAP_IA"):
            parameters.append(f"alpha={alpha}")
        if base in ("NRBP", "nNRBP"):
            parameters.append(f"beta={beta}")
        return f"{base}({', '.join(parameters)})" + (f"@{cutoff}" if cutoff else "")

    ours = evaluate_run(qrels, run, [notation(name) for name in OFFICIAL]).per_topic["q"]

    lines = [("q", s, d, int(judgments[i, j])) for i, d in enumerate(ids) for j, s in enumerate(names)]
    tool = pyndeval.RelevanceEvaluator(lines, list(OFFICIAL.values()), relevance_level=rel, alpha=alpha, beta=beta)
    theirs = tool.evaluate([("q", doc_id, -float(rank)) for rank, doc_id in enumerate(ranking)])["q"]
    np.testing.assert_allclose(list(ours.values()), [theirs[name] for name in OFFICIAL.values()], rtol=0, atol=1e-14)
