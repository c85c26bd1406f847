"""The tables of docs/synthetic.md: `python -m studies.synthetic_tables` writes them anew between their marks.

The real sets are read from the folder that the variable SRD_DATA_DIR names.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from srd_agents.registry import make_ranker
from srd_agents.training.validation import Validation
from srd_gym.data.ambient import load_ambient
from srd_gym.data.label_files import load_du_div, load_rl4srd
from srd_gym.data.notices import DataNotice
from srd_gym.data.simulate import NOISE_SWEEP, simulate_vectors
from srd_gym.data.synthetic import PRESETS, generate
from srd_gym.data.trec import load_trec
from srd_gym.topic import TopicSet
from srd_train.experiment.sources import data_root
from srd_train.report.markup import markdown, with_parts, write_text
from srd_train.report.topic_statistics import MEASURE, statistics, statistics_table

PAGE = Path(__file__).parents[2] / "docs" / "synthetic.md"
LEFT_OUT = ("judged topics", "vectors", "ideal from")
"""Statistics that the tables of all sets together do not show."""
LAMBDAS = (0.0, 0.25, 0.5, 0.75, 0.9, 1.0)
"""What MMR's lambda is chosen from."""


def noise_sweep(topics: TopicSet) -> Iterator[list[str]]:
    """How a random order and MMR (relevance by cosine) fare on simulated vectors of judged topics, noise by noise.

    The topics are cut in two by position: even ones choose MMR's lambda, odd ones are scored. Rows: the noise, what a
    random order and MMR come to, and the lambda.
    """
    for noise in NOISE_SWEEP:
        simulated = simulate_vectors(topics, noise=noise)
        chosen_on, scored_on = simulated[::2], simulated[1::2]
        best = max(LAMBDAS, key=partial(_value, Validation(chosen_on, MEASURE)))
        means = (statistics(scored_on)["values"]["random"], _value(Validation(scored_on, MEASURE), best))
        yield [f"{noise:g}", *(f"{mean:.3f}" for mean in means), f"{best:g}"]


def _value(measure: Validation, lambda_: float) -> float:
    """The measure of MMR's first ten of every topic."""
    return measure.mean(make_ranker("mmr", lambda_=lambda_, relevance="cosine"))


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
    heads = [f"{topics.name}, {what}" for topics in (du_div, rl4srd) for what in ("random order", "MMR", "its lambda")]
    rows = [[*one, *other[1:]] for one, other in zip(noise_sweep(du_div), noise_sweep(rl4srd), strict=True)]
    return {
        "statistics of the presets": _statistics(presets),
        "statistics of the real sets": _statistics(real),
        "sweep": markdown(("noise", *heads), rows),
    }


def _statistics(sets: Sequence[dict[str, Any]]) -> str:
    """A table of statistics."""
    heads, rows = statistics_table(sets)
    return markdown(heads, [row for row in rows if row[0] not in LEFT_OUT])


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataNotice)
        write_text(PAGE, with_parts(PAGE.read_text(encoding="utf-8"), tables()))
