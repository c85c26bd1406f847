"""Results of benchmarks, made up or run, for the tests of reports."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from srd_gym.data.parquet import write_topics
from srd_gym.data.synthetic import generate
from srd_gym.topic import TopicSet
from srd_gym.trec_files import write_run
from srd_train.experiment.benchmark import run_benchmark
from srd_train.experiment.recipe import RankerEntry, Recipe, load_recipe
from srd_train.experiment.records import SCHEMA_VERSION, Record
from srd_train.experiment.sources import TopicsEntry
from srd_train.report.tables import ResultTable, complete_tables

TINY = TopicsEntry(name="tiny", source="synthetic:tiny:15:0", folds=3)

HOSTILE = "</script><script>window.pwned = 1</script><img src=x onerror='window.pwned = 2'>"
"""What a title or a query may hold, and a page must show."""

_RECIPE = """
title = "Made for the tests {hostile}"
about = "A small benchmark."
reference = "mmr"
measures = ["alpha_nDCG@5", "StRecall@5"]
seeds = [0, 1]
depth = 5
[[topics]]
name = "tiny & <b>bold</b>"
source = {source}
folds = 3
[[topics]]
name = "web"
source = "synthetic:web:9:0"
folds = 3
run_folds = [1]
[[rankers]]
ranker = "random"
[[rankers]]
ranker = "mmr"
seeds = [0]
[[rankers]]
ranker = "reinforce"
name = "<i>learner</i>"
config = {{ epochs = 2, rollouts = 2, hidden_size = 4 }}
[[rankers]]
ranker = "oracle"
seeds = [0]
"""


def recipe(*rankers: RankerEntry | str, **changes: Any) -> Recipe:
    """A recipe of tiny topics; the first ranker is the reference."""
    entries = tuple(RankerEntry(ranker=one) if isinstance(one, str) else one for one in rankers)
    options: dict[str, Any] = {"name": "r", "title": "r", "topics": (TINY,), "rankers": entries}
    options |= {"reference": entries[0].name, "measures": ("alpha_nDCG@5",), "depth": 5}
    return Recipe(**(options | changes))


def recipe_file(folder: Path, *rankers: str, topics: str = 'source = "synthetic:tiny:12:0"\nrun_folds = [1]') -> Path:
    """A recipe as a file; the last ranker is the reference.

    Args:
        folder: of the file.
        rankers: names, or what else their tables hold.
        topics: what the topic set's table holds besides its name.
    """
    tables = [one if "\n" in one else f'ranker = "{one}"' for one in rankers]
    reference = tables[-1].split('"')[1]
    text = f'title = "Small"\nreference = "{reference}"\nmeasures = ["alpha_nDCG@5"]\n'
    text += f'[[topics]]\nname = "tiny"\n{topics}\n'
    path = folder / "small.toml"
    path.write_text(text + "".join(f"[[rankers]]\n{table}\n" for table in tables), encoding="utf-8")
    return path


def table_of(records: Sequence[Record], made_of: Recipe | None = None, **options: Any) -> ResultTable:
    """The only table of these records."""
    (table,), problems = complete_tables(records, made_of, **options)
    assert not problems
    return table


CHANGING = {"commit", "versions", "seconds"} | {
    f"{what}_seconds" for what in ("wall", "cpu", "fit", "fit_cpu", "rank", "rank_cpu")
}


def timeless(value: Any) -> Any:
    """A record without times, and the commit: another one may be made meanwhile."""
    if isinstance(value, dict):
        return {key: timeless(inner) for key, inner in value.items() if key not in CHANGING}
    return [timeless(inner) for inner in value] if isinstance(value, list) else value


def with_texts(topics: TopicSet) -> TopicSet:
    """The topics with texts that look like markup."""
    return topics.replace(
        dataclasses.replace(
            topic,
            query_text=f"query {number} {HOSTILE if number == 0 else ''}".strip(),
            doc_texts=tuple(f"title of {doc_id} {HOSTILE}\nsnippet <b>&amp;" for doc_id in topic.doc_ids),
            subtopic_texts=tuple(f"about {name} {HOSTILE}" for name in topic.subtopic_ids),
        )
        for number, topic in enumerate(topics)
    )


def bare_file(path: Path, count: int) -> Path:
    """A topic file without vectors, of which rankers that read them can rank nothing."""
    topics = generate("tiny", n_topics=count, seed=0)
    write_topics(path, topics.replace(dataclasses.replace(t, doc_vectors=None, query_vector=None) for t in topics))
    return path


def run_small(folder: Path) -> tuple[Path, Path]:
    """Run a benchmark of seconds; the folder of its results, and its recipe."""
    source = folder / "topics.parquet"
    write_topics(source, with_texts(generate("tiny", n_topics=15, seed=0)))
    recipe = folder / "mine.toml"
    recipe.write_text(_RECIPE.format(source=json.dumps(str(source)), hostile=HOSTILE), encoding="utf-8")
    run_benchmark(load_recipe(str(recipe)), folder / "results")
    return folder / "results", recipe


def record(ranker: str = "mmr", **changes: Any) -> dict[str, Any]:
    """The record of a cell with three topics."""
    name = f"made.{ranker}.fold1.seed0"
    topic_set = {"name": "made", "full_name": "made up", "fingerprint": "0" * 16, "marks": ["simulated"]}
    made = {
        "schema_version": SCHEMA_VERSION,
        "cell": name,
        "topic_set": {**topic_set, "test": 3},
        "ranker": ranker,
        "fitted_as": ranker,
        "view": None,
        "reads_judgments": ranker == "oracle",
        "config": {},
        "validation": None,
        "select_by": "alpha_nDCG@10",
        "fold": 1,
        "seed": 0,
        "depth": 5,
        "normalizer": "candidates",
        "measures": {"alpha_nDCG@5": 0.5},
        "per_topic": {f"q{i}": {"alpha_nDCG@5": 0.1 * i + 0.01 * len(ranker)} for i in range(3)},
        "history": None,
        "environment_episodes": None,
        "environment_steps": None,
        "fit_cpu_seconds": 1.0,
        "rank_cpu_seconds": 0.3,
        "commit": "abc",
        "versions": {"python": "3"},
        "run": f"runs/{name}.run",
    }
    return made | changes


def cells(ranker: str, mean: float, seeds: int = 1, **changes: Any) -> list[dict[str, Any]]:
    """Records of twelve topics around a mean; learned where there are several seeds."""
    history = {"measure": "alpha_nDCG@5", "records": []} if seeds > 1 else None
    return [
        record(
            ranker,
            cell=f"made.{ranker}.{seed}",
            seed=seed,
            per_topic={
                f"q{i:02d}": {"alpha_nDCG@5": mean + 0.01 * (i % 3) + 0.001 * seed * (i % 2)} for i in range(12)
            },
            **{"history": history} | changes,
        )
        for seed in range(seeds)
    ]


def write_records(folder: Path, records: Sequence[dict[str, Any]]) -> Path:
    """The folder with these records and without runs."""
    for one in records:
        path = folder / "cells" / f"{one['cell']}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(one) + "\n", encoding="utf-8")
    return folder


def write_large(
    folder: Path, topics: Mapping[str, Sequence[str]], rankers: Sequence[str], measures: Sequence[str], **changes: Any
) -> Path:
    """Made-up results, with runs of ten documents, of topics whose documents are given."""
    rng = np.random.default_rng(0)
    for name in rankers:
        rows = rng.random((len(topics), len(measures))).tolist()
        per_topic = {
            query_id: dict(zip(measures, row, strict=True)) for query_id, row in zip(topics, rows, strict=True)
        }
        one = record(name, measures=dict.fromkeys(measures, 0.5), per_topic=per_topic, depth=10, **changes)
        write_records(folder, [one])
        orders = {query_id: rng.permutation(doc_ids)[:10].tolist() for query_id, doc_ids in topics.items()}
        write_run(folder / one["run"], orders, tag="made")
    return folder


def made_runs(folder: Path, *, topics: int = 30) -> dict[str, Path]:
    """Qrels of made-up topics 1, 2, ... with 12 documents and 3 subtopics, and the runs first, second and third."""
    rng = np.random.default_rng(0)
    places = {name: folder / f"{name}.run" for name in ("first", "second", "third")} | {"qrels": folder / "some.qrels"}
    lines: dict[str, list[str]] = {name: [] for name in places}
    for query_id in range(1, topics + 1):
        judged = rng.random((12, 3)) < 0.3
        for doc, row in enumerate(judged):
            lines["qrels"] += [f"{query_id} {s + 1} {query_id}-{doc} {int(one)}\n" for s, one in enumerate(row)]
        for name, noise in (("first", 1.0), ("second", 0.5), ("third", 5.0)):
            scores = judged.sum(axis=1) + rng.normal(0, noise, 12)
            lines[name] += [
                f"{query_id} Q0 {query_id}-{doc} 0 {score:.6f} {name}\n" for doc, score in enumerate(scores)
            ]
    for name, path in places.items():
        path.write_text("".join(lines[name]), encoding="utf-8")
    return places
