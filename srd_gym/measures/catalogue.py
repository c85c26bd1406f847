"""The measures, each with its paper, formula and parameters, and their notation: "alpha_nDCG(alpha=0.5)@10".

All are sums over ranks r = 1, 2, ... of discount(r) * sum_s w_s j_s novelty(c_s), with c_s how often subtopic s is
covered before rank r. S' is the number of subtopics with a relevant reference document (the sum of their weights where
subtopics have weights). A topic with S' = 0 scores 0. The notation follows ir_measures.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from srd_gym.checks import check_number, check_option, refuse_class, unknown
from srd_gym.dtypes import ScoreArray
from srd_gym.measures.ad_hoc import AD_HOC, AD_HOC_ALIASES, AdHoc
from srd_gym.measures.base import (
    Cascade,
    CollectionIndependent,
    Measure,
    Normalization,
    Statistics,
    parameters,
    ratio,
)
from srd_gym.measures.bound import Term
from srd_gym.measures.ideal import Normalizer
from srd_gym.measures.label_free import LABEL_FREE, LabelFree
from srd_gym.measures.risk import VRisk, VRiskReduction
from srd_gym.reading import shown


def log_discounts(depth: int) -> ScoreArray:
    """[depth] float64, 1 / log2(1 + r) for r = 1, 2, ... (Jarvelin & Kekalainen 2002)."""
    # log(2) / log(1 + r), not 1 / log2(1 + r): ndeval's rounding.
    discounts: ScoreArray = np.log(2.0) / np.log(np.arange(2, depth + 2, dtype=np.float64))
    return discounts


def reciprocal_discounts(depth: int) -> ScoreArray:
    """[depth] float64, 1 / r for r = 1, 2, ..."""
    return 1.0 / np.arange(1, depth + 1, dtype=np.float64)


@dataclass(frozen=True, kw_only=True)
class AlphaDCG(CollectionIndependent):
    """alpha_DCG@k: Clarke et al., "Novelty and diversity in information retrieval evaluation", SIGIR 2008.

    sum over r <= k of sum_s w_s j_s (1 - alpha)^c_s / log2(1 + r), the paper's gain vector G[r], discounted.

    Parameters: alpha 0 to 1; rel from 1 up; normalization "ndeval" or None.

    Differs from the paper: with normalization="ndeval" (the default) the sum is divided by
    S' * sum over r <= k of (1 - alpha)^(r - 1) / log2(1 + r), as ndeval does; at cutoff 1 the
    tool, and so this, divides by nothing.
    """

    name: ClassVar[str] = "alpha_DCG"

    _discounts = staticmethod(log_discounts)


@dataclass(frozen=True, kw_only=True)
class AlphaNDCG(Cascade):
    """alpha_nDCG@k: Clarke et al., SIGIR 2008; alpha_DCG@k divided by that of the greedy ideal ranking.

    Parameters: alpha 0 to 1; rel from 1 up. The ideal is greedy, as in the paper and in ndeval, so that
    a better ranking than it may exist in rare cases and score slightly above 1.
    """

    name: ClassVar[str] = "alpha_nDCG"

    _discounts = staticmethod(log_discounts)


@dataclass(frozen=True, kw_only=True)
class ERRIA(CollectionIndependent):
    """ERR_IA@k: Chapelle et al., "Intent-based diversification of web search results", Information Retrieval 14, 2011.

    sum over r <= k of sum_s w_s j_s (1 - alpha)^c_s / r.

    Parameters: alpha 0 to 1; rel from 1 up; normalization "ndeval", "chapelle" or None.

    With normalization="chapelle" it is exactly the paper's value for binary labels: expected reciprocal rank with stop
    probability alpha, averaged over the S' subtopics (so the sum times alpha / S').

    Differs from the paper: "ndeval" (the default) divides the sum by S' * sum over r <= k of (1 - alpha)^(r - 1) / r
    as ndeval does, by nothing at cutoff 1; None is the sum itself. Labels are binary.
    """

    name: ClassVar[str] = "ERR_IA"
    normalizations: ClassVar[tuple[Normalization, ...]] = ("ndeval", "chapelle")

    _discounts = staticmethod(reciprocal_discounts)


@dataclass(frozen=True, kw_only=True)
class NERRIA(Cascade):
    """nERR_IA@k: ERR_IA@k divided by that of the greedy ideal ranking, as ndeval does.

    Parameters: alpha 0 to 1; rel from 1 up.
    """

    name: ClassVar[str] = "nERR_IA"

    _discounts = staticmethod(reciprocal_discounts)


@dataclass(frozen=True, kw_only=True)
class _RankBiased(Cascade):
    """Cascades with discount beta^(r - 1)."""

    whole_list: ClassVar[bool] = True

    beta: float = 0.5
    """Patience: the chance that a user looks at the next document, 0 up to (not including) 1."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number(f"{self.name}: beta", self.beta, 0, 1)
        if self.beta == 1:
            raise ValueError(f"{self.name}: beta must be below 1")

    def _discounts(self, depth: int) -> ScoreArray:
        return np.multiply.accumulate(np.concatenate(([1.0], np.full(max(depth - 1, 0), self.beta))))[:depth]


@dataclass(frozen=True, kw_only=True)
class NRBP(_RankBiased):
    """NRBP: Clarke et al., "An effectiveness measure for ambiguous and underspecified queries", ICTIR 2009.

    (1 - (1 - alpha) beta) / S' * sum over r of sum_s w_s j_s (1 - alpha)^c_s beta^(r - 1).
    Over the whole list; a cutoff may be given all the same. Parameters: alpha 0 to 1; beta 0 to below 1; rel from 1 up.
    """

    name: ClassVar[str] = "NRBP"

    def _terms(self, statistics: Statistics, depth: int) -> tuple[Term, ...]:
        scale = 1.0 - (1.0 - self.alpha) * self.beta
        return self._cascade(ratio(scale * statistics.weights, statistics.total), depth)


@dataclass(frozen=True, kw_only=True)
class NNRBP(_RankBiased):
    """nNRBP: NRBP divided by that of the greedy ideal ranking (over the whole list, or to the cutoff where given).

    Parameters: alpha 0 to 1; beta 0 to below 1; rel from 1 up. Where ndeval has 0/0 (a topic without any
    relevant document), this is 0.
    """

    name: ClassVar[str] = "nNRBP"


@dataclass(frozen=True, kw_only=True)
class StRecall(Measure):
    """StRecall@k: Zhai, Cohen & Lafferty, "Beyond independent relevance", SIGIR 2003; their S-recall.

    The share of the S' subtopics that the first k documents cover: novelty 1 where c = 0, else 0.
    Parameters: rel from 1 up.
    """

    name: ClassVar[str] = "StRecall"

    def _terms(self, statistics: Statistics, depth: int) -> tuple[Term, ...]:
        return (self._recall(statistics, depth, 1.0),)

    def _recall(self, statistics: Statistics, depth: int, coefficient: float) -> Term:
        """Subtopic recall times a coefficient."""
        first = np.concatenate(([1.0], np.zeros(depth)))
        weights = ratio(coefficient * statistics.weights, statistics.total)
        return Term(self._cut(np.ones(depth)), first, weights)


@dataclass(frozen=True, kw_only=True)
class PIA(Measure):
    """P_IA@k: Agrawal et al., "Diversifying search results", WSDM 2009; precision at k, averaged over S' subtopics.

    Parameters: rel from 1 up. A list shorter than k is divided by k all the same.
    """

    name: ClassVar[str] = "P_IA"

    def _terms(self, statistics: Statistics, depth: int) -> tuple[Term, ...]:
        share = np.full(depth, 1.0 / (self.cutoff or depth))
        return (Term(self._cut(share), np.ones(depth + 1), ratio(statistics.weights, statistics.total)),)


@dataclass(frozen=True, kw_only=True)
class MAPIA(Measure):
    """MAP_IA: Agrawal et al., "Diversifying search results", WSDM 2009; average precision, averaged over S' subtopics.

    Precision at the rank of a relevant document is (c + 1) / r: novelty c + 1, discount 1/r, and the weight of a
    subtopic divided by its number of relevant reference documents. Over the whole list; a cutoff may be given all the
    same. Parameters: rel from 1 up.
    """

    name: ClassVar[str] = "MAP_IA"
    whole_list: ClassVar[bool] = True

    def _terms(self, statistics: Statistics, depth: int) -> tuple[Term, ...]:
        counted = np.arange(1, depth + 2, dtype=np.float64)
        weights = ratio(statistics.weights / np.maximum(statistics.relevant, 1), statistics.total)
        return (Term(self._cut(reciprocal_discounts(depth)), counted, weights),)


@dataclass(frozen=True, kw_only=True)
class _GlobalGain(StRecall):
    """Measures with the global gain sum_s w_s j_s of a document."""

    def _global_gain(self, statistics: Statistics, depth: int, coefficient: float) -> Term:
        """D-nDCG times a coefficient."""
        cutoff = self.cutoff or depth
        ideal = np.zeros(len(statistics.references))
        for row, reference in enumerate(statistics.references):
            best = reference.ideal_global_gains(self.rel)[:cutoff]
            ideal[row] = np.dot(best, log_discounts(len(best)))
        weights = ratio(coefficient * statistics.weights, ideal)
        return Term(self._cut(log_discounts(depth)), np.ones(depth + 1), weights)


@dataclass(frozen=True, kw_only=True)
class DNDCG(_GlobalGain):
    """D_nDCG@k: Sakai & Song, "Evaluating diversified search results using per-intent graded relevance", SIGIR 2011.

    nDCG (discount 1/log2(1 + r)) of the global gain sum_s w_s j_s; the ideal ranking falls by global gain.

    Parameters: rel from 1 up. The paper's intent probabilities are the subtopic weights; their sum cancels.

    Differs from the paper: a judgment of at least rel counts 1, as in all measures here; the paper adds grades.
    """

    name: ClassVar[str] = "D_nDCG"

    def _terms(self, statistics: Statistics, depth: int) -> tuple[Term, ...]:
        return (self._global_gain(statistics, depth, 1.0),)


@dataclass(frozen=True, kw_only=True)
class DsharpNDCG(_GlobalGain):
    """Dsharp_nDCG@k (D#-nDCG): Sakai & Song, SIGIR 2011; gamma * I-rec@k + (1 - gamma) * D_nDCG@k.

    Parameters: gamma 0 to 1; rel from 1 up.

    Differs from the paper: as `DNDCG`; I-rec divides by the S' subtopics that a relevant reference document covers, and
    weighs them where subtopics have weights (the paper's intents all have one, and count alike).
    """

    name: ClassVar[str] = "Dsharp_nDCG"

    gamma: float = 0.5
    """Weight of subtopic recall against D_nDCG."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number(f"{self.name}: gamma", self.gamma, 0, 1)

    def _terms(self, statistics: Statistics, depth: int) -> tuple[Term, ...]:
        recall = self._recall(statistics, depth, self.gamma)
        return (recall, self._global_gain(statistics, depth, 1.0 - self.gamma))


MEASURES: dict[str, type[Measure]] = {
    kind.name: kind
    for kind in (
        AlphaDCG,
        AlphaNDCG,
        ERRIA,
        NERRIA,
        NRBP,
        NNRBP,
        StRecall,
        PIA,
        MAPIA,
        DNDCG,
        DsharpNDCG,
        VRisk,
        VRiskReduction,
    )
}
"""Every measure by its name in the notation."""

_NAME = r"[^\s()@]+"
_PATTERN = re.compile(rf"\s*(?P<name>{_NAME})\s*(?:\((?P<parameters>[^)]*)\)\s*)?(?:@\s*(?P<cutoff>[0-9]+)\s*)?")


_ALIASES = {
    "adcg": "alpha_DCG",
    "andcg": "alpha_nDCG",
    "strec": "StRecall",
    "srecall": "StRecall",
    "subtopicrecall": "StRecall",
    "irec": "StRecall",
    "d#ndcg": "Dsharp_nDCG",
    "apia": "MAP_IA",
}


def _key(name: str) -> str:
    """One spelling of a name."""
    return name.casefold().replace("-", "").replace("_", "")


_FOLDED = {_key(name): name for name in (*MEASURES, *LABEL_FREE)} | _ALIASES
_RELEVANCE = {_key(name): name for name in AD_HOC} | AD_HOC_ALIASES


def parse_measure(what: str | Measure, *, normalizer: Normalizer | None = None) -> Measure:
    """A measure from its notation, NAME, NAME@k or NAME(parameter=value, ...)@k.

    Names ignore case, "-" and "_", and common spellings are understood (strec, S-recall, D#-nDCG). Measures without
    judgments (`srd_gym.measures.label_free.LABEL_FREE`) have names, too. nDCG, AP, P, R, RR, Judged and others of
    relevance are those of ir_measures, which computes them (`srd_gym.measures.ad_hoc`).

    Args:
        what: the notation; a measure, which is returned as it is (but for the argument below); or one of ir_measures.
        normalizer: "pool" or "candidates", if given in place of the measure's own.

    Raises:
        TypeError: neither text nor a measure.
        ValueError: an unknown name or parameter (the nearest are suggested), or a value out of range.

    Examples:
        >>> str(parse_measure("alpha-ndcg@10"))
        'alpha_nDCG@10'
        >>> parse_measure("ERR_IA(normalization=None)@5").plain() == parse_measure("ERR_IA@5").plain()
        True
    """
    refuse_class("measure", what)
    if type(what).__module__.partition(".")[0] == "ir_measures":  # whose measures write themselves as notation
        what = str(what)
    if isinstance(what, str):
        chosen = _parsed(what)
    elif isinstance(what, Measure):
        chosen = what
    else:
        raise TypeError(f"expected a measure or its notation such as 'alpha_nDCG@10', got {shown(what)}")
    return chosen if normalizer is None else replace(chosen, normalizer=normalizer)


def only_label_free(measures: Iterable[str | Measure]) -> bool:
    """Whether no measure needs judgments."""
    return all(isinstance(parse_measure(each), LabelFree) for each in measures)


def add_measure(name: str, kind: type[Measure]) -> None:
    """Let notation name a measure of the user's own, in this process: "NAME@10" then stands for `kind(cutoff=10)`.

    The class stays as it is, and may have several names.

    Args:
        name: the name, without spaces, brackets and "@"; as always, case, "-" and "_" do not matter.
        kind: the class.

    Raises:
        TypeError: not the class of a measure, or an abstract one.
        ValueError: no such name, or the name of another measure.
    """
    if not (isinstance(kind, type) and issubclass(kind, Measure)) or inspect.isabstract(kind):
        raise TypeError(f"measure {name!r}: expected a subclass of Measure that has `_terms`, got {kind!r}")
    if not re.fullmatch(_NAME, name):
        raise ValueError(f"a measure's name has no spaces, brackets or '@', got {name!r}")
    spelling = _FOLDED.get(_key(name), name)
    there = MEASURES.get(spelling) or LABEL_FREE.get(spelling)
    if there is not None and (there.__module__, there.__qualname__) != (kind.__module__, kind.__qualname__):
        raise ValueError(f"{name!r} is the name of {there.__module__}.{there.__qualname__} already; choose another")
    MEASURES[spelling], _FOLDED[_key(name)] = kind, spelling


def _parsed(text: str) -> Measure:
    """The measure that a text stands for."""
    match = _PATTERN.fullmatch(text)
    if match is None:
        raise ValueError(f"cannot read measure {shown(text)}; expected NAME@k or NAME(parameter=value, ...)@k, k whole")
    key = _key(match["name"])
    if key in _RELEVANCE and key not in _FOLDED:
        cutoff = None if match["cutoff"] is None else int(match["cutoff"])
        return AdHoc(title=_RELEVANCE[key], given=(match["parameters"] or "").strip(), cutoff=cutoff)
    if key not in _FOLDED:
        own = (
            "One of your own is known where its recipe, or --measures, comes with --trust; in Python, pass the object."
        )
        hint = own if ":" in match["name"] else "Write it as NAME@k, e.g. alpha_nDCG@10."
        raise unknown("measure", match["name"], (*MEASURES, *LABEL_FREE, *AD_HOC), hint)
    name = _FOLDED[key]
    kind = MEASURES.get(name) or LABEL_FREE[name]
    given = _parameters(text, kind, match["parameters"] or "")
    if name != kind.name:
        given["known_as"] = name
    if match["cutoff"] is not None:
        given["cutoff"] = int(match["cutoff"])
    try:
        return kind(**given)
    except TypeError as error:
        raise ValueError(f"measure {shown(text)}: {error}") from None


def _parameters(text: str, kind: type[Measure], inside: str) -> dict[str, Any]:
    """The parameters between the brackets."""
    names = [each.name for each in parameters(kind)]
    given: dict[str, Any] = {}
    for part in filter(None, map(str.strip, inside.split(","))):
        name, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals or name in given:
            raise ValueError(f"measure {shown(text)}: expected parameter=value, each once, got {shown(part)}")
        check_option(f"parameter of {kind.name}:", name, names)
        given[name] = _value(value)
    return given


def _value(text: str) -> Any:
    """A number, None, or a word with or without quotes."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return None if text.casefold() == "none" else text
