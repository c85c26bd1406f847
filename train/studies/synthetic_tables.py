"""The tables of docs/synthetic.md: `python -m studies.synthetic_tables docs/synthetic.md`.

It writes the tables anew between their marks; without a file it prints them. The real sets are read from the folder
that the variable SRD_DATA_DIR names.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from srd_agents.heuristic.config import MMRConfig
from srd_agents.heuristic.mmr import MMR
from srd_gym.data.ambient import load_ambient
from srd_gym.data.du_div import load_du_div
from srd_gym.data.rl4srd import load_rl4srd
from srd_gym.data.simulate import NOISE_SWEEP, simulate_vectors
from srd_gym.data.streams import DataNotice
from srd_gym.data.synthetic import PRESETS, generate
from srd_gym.data.trec import load_trec
from srd_gym.files import written_atomically
from srd_gym.topic import Topic, TopicSet
from srd_train.experiment.sources import data_root
from srd_train.report.markup import markdown, with_parts
from srd_train.report.topic_statistics import Rankings, mean_value, random_value, shown, statistics, statistics_table

LAMBDAS = (0.0, 0.25, 0.5, 0.75, 0.9, 1.0)
"""What MMR's lambda is chosen from."""


def noise_sweep(topics: TopicSet, *, catalogue: int | None = None) -> Iterator[dict[str, Any]]:
    """How a random order, MMR and a linear regression fare on simulated vectors, noise by noise.

    The topics are cut in two by position: even ones fit the regression and choose MMR's lambda, odd ones are scored.

    Args:
        topics: judged topics without vectors.
        catalogue: as for `simulate_vectors`.

    Yields:
        For every noise of `NOISE_SWEEP`: `name`, `noise`, `random`, `mmr` (relevance by cosine), `lambda` and
        `linear`: ridge regression from document and query vector to subtopics, ranked greedily by what it predicts;
        None where subtopics are private, as then there is nothing that one topic could teach about another.
    """
    for noise in NOISE_SWEEP:
        simulated = simulate_vectors(topics, noise=noise, catalogue=catalogue)
        chosen_on, scored_on = simulated[::2], simulated[1::2]
        by_lambda = {each: mean_value(chosen_on, _mmr(chosen_on, each)) for each in LAMBDAS}
        best = max(by_lambda, key=by_lambda.__getitem__)
        yield {
            "name": simulated.name,
            "noise": noise,
            "random": random_value(scored_on, seed=0),
            "mmr": mean_value(scored_on, _mmr(scored_on, best)),
            "lambda": best,
            "linear": mean_value(scored_on, _linear(chosen_on, scored_on)) if catalogue else None,
        }


def tables() -> dict[str, str]:
    """The tables of docs/synthetic.md by the names of their marks.

    Raises:
        FileNotFoundError: the real files are not there, or SRD_DATA_DIR is unset.
    """
    root = data_root()
    du_div, rl4srd = load_du_div(root / "du-div"), load_rl4srd(root / "rl4srd")
    presets = [statistics(generate(name)) for name in PRESETS]
    real = [
        statistics(topics)
        for topics in (du_div, rl4srd, _trec_indri(root / "trec-web"), load_ambient(root / "ambient"))
    ]
    sweep = [*noise_sweep(du_div, catalogue=25), *noise_sweep(du_div), *noise_sweep(rl4srd)]
    columns = {"random": ".3f", "mmr": ".3f", "lambda": "g", "linear": ".3f"}
    return {
        "statistics of the presets": markdown(*statistics_table(presets)),
        "statistics of the real sets": markdown(*statistics_table(real)),
        "sweep": markdown(
            ("set", "random order", "MMR", "its lambda", "linear regression"),
            [[row["name"], *(shown(row[key], form) for key, form in columns.items())] for row in sweep],
        ),
    }


def main(arguments: Sequence[str]) -> int:
    """Write the tables into the file named, or print them; returns the exit code."""
    if len(arguments) > 1:
        sys.stderr.write("usage: python -m studies.synthetic_tables [docs/synthetic.md]\n")
        return 2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataNotice)
        made = tables()
    if not arguments:
        sys.stdout.write("\n\n".join(made.values()) + "\n")
        return 0
    page = Path(arguments[0])
    text = with_parts(page.read_text(encoding="utf-8"), made)
    with written_atomically(page) as temporary:
        temporary.write_text(text, encoding="utf-8")
    return 0


def _trec_indri(folder: Path) -> TopicSet:
    """The Web Track topics of 2009 to 2012 with the Indri runs' candidates."""
    runs = sorted(folder.glob("*.indri.run.gz"))
    return load_trec(run=runs, qrels=sorted(folder.glob("*.qrels.gz")), name="trec-indri")


def _mmr(topics: TopicSet, lambda_: float) -> Rankings:
    """MMR's first ten of every topic."""
    ranker = MMR(MMRConfig(lambda_=lambda_, relevance="cosine"))
    return dict(zip(topics.query_ids, ranker.rank_batch(topics, 10), strict=True))


def _linear(train: TopicSet, test: TopicSet) -> Rankings:
    """Greedy rankings by the subtopics that ridge regression (penalty 1) predicts: the labels of `test` stay unread."""
    column = {name: i for i, name in enumerate(sorted({name for topic in train for name in topic.subtopic_ids}))}
    inputs = np.concatenate([_inputs(topic) for topic in train])
    outputs = np.zeros((len(inputs), len(column)))
    start = 0
    for topic in train:
        rows = slice(start, start + topic.n_candidates)
        outputs[rows, [column[name] for name in topic.subtopic_ids]] = np.asarray(topic.judgments) >= 1
        start = rows.stop
    weights = np.linalg.solve(inputs.T @ inputs + np.eye(inputs.shape[1]), inputs.T @ outputs)
    return {topic.query_id: _greedy(np.clip(_inputs(topic) @ weights, 0, 1)) for topic in test}


def _inputs(topic: Topic) -> NDArray[np.float64]:
    """[N, 2F + 1] float64: document vectors, the query vector beside each, and a column of ones."""
    documents = np.asarray(topic.doc_vectors, dtype=np.float64)
    query = np.tile(np.asarray(topic.query_vector, dtype=np.float64), (len(documents), 1))
    return np.column_stack([documents, query, np.ones(len(documents))])


def _greedy(chances: NDArray[np.float64]) -> NDArray[np.int64]:
    """The first ten by expected gain: each subtopic's chance times 0.5 to the power of its coverage so far."""
    coverage = np.zeros(chances.shape[1])
    left = np.ones(len(chances), dtype=np.bool_)
    ranking = np.empty(min(10, len(chances)), dtype=np.int64)
    for rank in range(len(ranking)):
        ranking[rank] = np.where(left, (chances * 0.5**coverage).sum(axis=1), -np.inf).argmax()
        left[ranking[rank]] = False
        coverage += chances[ranking[rank]]
    return ranking


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
