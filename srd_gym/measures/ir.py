"""Measures of this package as objects of ir_measures, for `ir_measures.calc_aggregate` and PyTerrier's experiments."""

from __future__ import annotations

from typing import Any

from srd_gym.installing import how_to_install
from srd_gym.measures.base import Measure
from srd_gym.measures.catalogue import parse_measure
from srd_gym.measures.evaluation import evaluate_run
from srd_gym.measures.label_free import LabelFree

_COLUMNS = ["query_id", "doc_id", "relevance", "iteration"]


def to_ir_measures(what: str | Measure) -> Any:
    """A measure as an object of ir_measures, whose values are those of `evaluate_run`.

    The column `iteration` of the qrels is the subtopic. "nDCG@10" and other measures of relevance see a document's
    highest grade over subtopics; those of ir_measures itself see one of its rows.

    Args:
        what: a measure or its notation, with its cutoff.

    Raises:
        ImportError: ir_measures is not installed.
        ValueError: an unknown measure, or one without judgments, which ir_measures has no inputs for.
    """
    own = parse_measure(what)
    if isinstance(own, LabelFree):
        raise ValueError(f"{own} needs the documents' vectors or sources, which ir_measures does not hand over")
    try:
        import ir_measures
    except ImportError as error:
        raise ImportError(f"ir_measures is not installed: {how_to_install('ir')}") from error

    def values(qrels: Any, run: Any) -> list[tuple[str, float]]:
        if run.empty:
            return []  # ir_measures counts what is missing
        scored = evaluate_run(qrels, run, [own])
        missing = set(scored.missing_topics)
        return [(query_id, row[str(own)]) for query_id, row in scored.per_topic.items() if query_id not in missing]

    return ir_measures.define(values, str(own), support_cutoff=False, qrel_inputs=_COLUMNS)
