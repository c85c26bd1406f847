"""Measures of relevance beside diversity, computed by the library ir_measures (for most by pytrec_eval), never here.

They score the ad-hoc view of diversity judgments: the grade of a document is its highest over subtopics, at least 0;
subtopic weights do not count. Rankings are handed over with scores that fall from rank to rank, so that all measures
see one order, that of the run.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from subprocess import CalledProcessError
from typing import Any, ClassVar, Self

from srd_gym.installing import how_to_install
from srd_gym.measures.base import Measure, Statistics
from srd_gym.measures.bound import Term

AD_HOC = ("AP", "Bpref", "IPrec", "Judged", "P", "R", "RR", "Rprec", "Success", "nDCG")
"""Measures by their names in ir_measures."""
AD_HOC_ALIASES = {"map": "AP", "mrr": "RR", "precision": "P", "recall": "R"}
"""Other names that ir_measures has for some of them."""


@dataclass(frozen=True, kw_only=True)
class AdHoc(Measure):
    """A measure of relevance in the notation of ir_measures, such as "nDCG@10" or "AP(rel=2)".

    It scores whole rankings: rewards and choices on validation topics need another measure.

    Parameters: those of ir_measures, as text.
    """

    name: ClassVar[str] = "ad hoc"
    whole_list: ClassVar[bool] = True

    title: str = field(default="nDCG")
    """One of `AD_HOC`."""
    given: str = field(default="")
    """The parameters between the brackets."""

    def __str__(self) -> str:
        cutoff = "" if self.cutoff is None else f"@{self.cutoff}"
        return self.title + (f"({self.given})" if self.given else "") + cutoff

    def at(self, k: int) -> Self:
        """The same measure: without a cutoff it is of the whole ranking."""
        return self

    def parsed(self) -> Any:
        """The measure of ir_measures.

        Raises:
            ImportError: it is not installed.
            ValueError: parameters that the measure does not have, or a cutoff that it needs.
        """
        try:
            import ir_measures
        except ImportError as error:
            raise ImportError(
                f"measure {str(self)!r} is computed by ir_measures, which is not installed: {how_to_install('ir')}"
            ) from error
        try:
            known: Any = ir_measures.parse_measure(str(self))
            known.validate_params()
        except Exception as error:  # of its parser: SyntaxError, NameError, AssertionError, ...
            raise ValueError(
                f"measure {str(self)!r}: ir_measures refuses it ({error}); expected its notation, such as nDCG@10, AP, "
                "P(rel=2)@5, R@100, RR or Judged@10"
            ) from error
        return known

    def _terms(self, statistics: Statistics, depth: int) -> tuple[Term, ...]:
        raise ValueError(
            f"measure {str(self)!r} is of relevance, and ir_measures computes it from whole rankings: it scores runs; "
            "for rewards, ideals and choices on validation topics take another, such as alpha_nDCG@10"
        )


def ad_hoc_scores(
    measures: Mapping[str, AdHoc],
    grades: Mapping[str, Mapping[str, int]],
    rankings: Mapping[str, Sequence[str | None]],
) -> dict[str, dict[str, float]]:
    """Values of every judged topic, as ir_measures computes them.

    Args:
        measures: by the names that they were asked for.
        grades: query id -> document id -> grade, as of `srd_gym.trec_files.grades_of`.
        rankings: query id -> document ids, best first, None where nothing judged is ranked; a judged query without one
            scores 0.

    Returns:
        Query id -> name -> value.

    Raises:
        ImportError, ValueError: as `AdHoc.parsed`; or nothing that is installed computes the measure of
            these grades.
    """
    names: defaultdict[Any, list[str]] = defaultdict(list)
    for name, each in measures.items():
        names[each.parsed()].append(name)
    scores = {query_id: dict.fromkeys(measures, 0.0) for query_id in grades}
    # Numbers stand for ids: gdeval takes no query ids of letters, and no document ids with spaces.
    queries = {str(number): query_id for number, query_id in enumerate(grades)}
    judged, run = {}, {}
    for query, query_id in queries.items():
        own, ranking = grades[query_id], rankings.get(query_id, ())
        judged[query] = {str(number): grade for number, grade in enumerate(own.values())}
        numbers: dict[str | None, str] = dict(zip(own, judged[query], strict=True))
        ids = [numbers.get(doc_id) or f"unjudged{rank}" for rank, doc_id in enumerate(ranking)]
        if ids:
            run[query] = dict(zip(ids, map(float, range(len(ids), 0, -1)), strict=True))
    if not run:
        return scores
    import ir_measures

    # Beside nDCG with gains of its own, ir_measures may compute others by these gains: each such measure has its call.
    with_gains = [[known] for known in names if "gains" in known.params]
    others = [known for known in names if "gains" not in known.params]
    calls = [others, *with_gains] if others else with_gains
    try:
        values = [value for part in calls for value in ir_measures.iter_calc(part, judged, run)]
    except CalledProcessError as error:
        raise ValueError(
            f"{', '.join(measures)}: ir_measures calls gdeval, which ended with exit status {error.returncode}; it "
            f"takes grades up to 4, and the highest is {max(max(own.values(), default=0) for own in grades.values())}"
        ) from error
    except (RuntimeError, ValueError) as error:
        raise ValueError(f"{', '.join(measures)}: ir_measures cannot compute it: {error}") from error
    for query, known, value in values:
        scores[queries[query]].update(dict.fromkeys(names[known], float(value)))
    return scores
