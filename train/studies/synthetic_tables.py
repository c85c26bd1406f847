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

from srd_agents.heuristic.config import MMRConfig
from srd_agents.heuristic.trade_off import MMR
from srd_gym.data.ambient import load_ambient
from srd_gym.data.label_files import load_du_div, load_rl4srd
from srd_gym.data.notices import DataNotice
from srd_gym.data.simulate import NOISE_SWEEP, simulate_vectors
from srd_gym.data.synthetic import PRESETS, generate
from srd_gym.data.trec import load_trec
from srd_gym.files import written_atomically
from srd_gym.measures import evaluate
from srd_gym.topic import TopicSet
from srd_train.experiment.sources import data_root
from srd_train.report.markup import markdown, with_parts
from srd_train.report.topic_statistics import MEASURE, shown, statistics, statistics_table

LAMBDAS = (0.0, 0.25, 0.5, 0.75, 0.9, 1.0)
"""What MMR's lambda is chosen from."""


def noise_sweep(topics: TopicSet) -> Iterator[dict[str, Any]]:
    """How a random order and MMR (relevance by cosine) fare on simulated vectors of judged topics, noise by noise.

    The topics are cut in two by position: even ones choose MMR's lambda, odd ones are scored.
    """
    for noise in NOISE_SWEEP:
        simulated = simulate_vectors(topics, noise=noise)
        chosen_on, scored_on = simulated[::2], simulated[1::2]
        by_lambda = {each: _value(chosen_on, each) for each in LAMBDAS}
        best = max(by_lambda, key=by_lambda.__getitem__)
        yield {
            "name": simulated.name,
            "noise": noise,
            "random": statistics(scored_on)["values"]["random"],
            "mmr": _value(scored_on, best),
            "lambda": best,
        }


def _value(topics: TopicSet, lambda_: float) -> float:
    """The measure of MMR's first ten of every topic."""
    ranker = MMR(MMRConfig(lambda_=lambda_, relevance="cosine"))
    rankings = dict(zip(topics.query_ids, ranker.rank_batch(topics, 10), strict=True))
    return evaluate(topics, rankings, [MEASURE]).measures[MEASURE]


def tables() -> dict[str, str]:
    """The tables of docs/synthetic.md by the names of their marks.

    Raises:
        FileNotFoundError: the real files are not there, or SRD_DATA_DIR is unset.
    """
    root = data_root()
    du_div, rl4srd = load_du_div(root / "du-div"), load_rl4srd(root / "rl4srd")
    presets = [statistics(generate(name)) for name in PRESETS]
    runs = sorted((root / "trec-web").glob("*.indri.run.gz"))
    indri = load_trec(run=runs, qrels=sorted((root / "trec-web").glob("*.qrels.gz")), name="trec-indri")
    real = [statistics(topics) for topics in (du_div, rl4srd, indri, load_ambient(root / "ambient"))]
    sweep = [*noise_sweep(du_div), *noise_sweep(rl4srd)]
    columns = {"random": ".3f", "mmr": ".3f", "lambda": "g"}
    rows = [[row["name"], *(shown(row[key], form) for key, form in columns.items())] for row in sweep]
    return {
        "statistics of the presets": markdown(*statistics_table(presets)),
        "statistics of the real sets": markdown(*statistics_table(real)),
        "sweep": markdown(("set", "random order", "MMR", "its lambda"), rows),
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


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
