"""The scores in the records equal those that the official tool gives to the written runs."""

from __future__ import annotations

import dataclasses
import gzip
from pathlib import Path

import numpy as np
import pytest

from srd_gym.trec_files import read_run
from srd_train.experiment.benchmark import run_benchmark
from srd_train.experiment.cells import tasks
from srd_train.experiment.recipe import Recipe, load_recipe

pyndeval = pytest.importorskip("pyndeval", reason="pyndeval is not installed (the extra dev has it)")

OFFICIAL = {"alpha_nDCG": "alpha-nDCG", "ERR_IA": "ERR-IA", "StRecall": "strec"}
CLOSE = 1e-6
Judgment = tuple[str, str, str, int]


def quick(name: str, *rankers: str) -> Recipe:
    """The recipe with its measures and topics as they are, and these rankers; learners hardly learn."""
    recipe = load_recipe(name)
    rankers = tuple(
        dataclasses.replace(entry, config={"epochs": 1, "rollouts": 2} if "batched" in entry.ranker else {}, grid={})
        for entry in recipe.rankers
        if entry.ranker in rankers and "tuned" not in entry.name
    )
    topics = tuple(dataclasses.replace(entry, run_folds=(1,)) for entry in recipe.topics)
    return dataclasses.replace(recipe, rankers=rankers, topics=topics, seeds=(0,))


def assert_official(recipe: Recipe, qrels: list[Judgment], out: Path) -> None:
    """Run the recipe, and score each run with the official tool."""
    records = run_benchmark(recipe, out)
    assert {record["ranker"] for record in records} == {entry.ranker for entry in recipe.rankers}
    names = {name: name.replace(name.split("@")[0], OFFICIAL[name.split("@")[0]]) for name in recipe.measures}
    for record in records:
        run = read_run(out / record["run"])
        scored = [
            (query_id, doc_id, float(score))
            for query_id, ranking in run.rankings.items()
            for doc_id, score in zip(ranking, run.scores[query_id], strict=True)
        ]
        found = pyndeval.ndeval(qrels, scored, list(names.values()))
        assert len(found) > 0.9 * len(record["per_topic"])
        for query_id, values in record["per_topic"].items():
            for ours, theirs in names.items():
                expected = found[query_id][theirs] if query_id in found else 0.0  # without a relevant document
                assert values[ours] == pytest.approx(expected, abs=CLOSE), (record["cell"], query_id, ours)
        for name, mean in record["measures"].items():
            assert mean == pytest.approx(np.mean([row[name] for row in record["per_topic"].values()]), abs=1e-12)


def test_the_runs_of_smoke_score_as_in_the_records(tmp_path: Path) -> None:
    recipe = quick("smoke", "mmr", "oracle", "mdp-div-batched")
    judged = [
        (topic.query_id, subtopic, doc_id, int(grade))
        for topic in next(tasks(recipe)).topics
        if topic.judgments is not None
        for doc_id, row in zip(topic.doc_ids, topic.judgments, strict=True)
        for subtopic, grade in zip(topic.subtopic_ids, row, strict=True)
    ]
    assert_official(recipe, judged, tmp_path)


@pytest.mark.data
def test_the_runs_of_trec_indri_score_as_in_the_records(data_dir: Path, tmp_path: Path) -> None:
    rows = gzip.decompress((data_dir / "trec-web" / "2009.diversity.qrels.gz").read_bytes()).decode().splitlines()
    qrels = [(query, subtopic, doc_id, int(grade)) for query, subtopic, doc_id, grade in map(str.split, rows)]
    recipe = quick("simulated", "random", "mmr", "retrieval-order", "oracle")
    topics = tuple(dataclasses.replace(e, years=(2009,)) for e in recipe.topics if e.source == "trec-indri")
    assert_official(dataclasses.replace(recipe, topics=topics), qrels, tmp_path)
