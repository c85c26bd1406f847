"""Scoring rankings of whole topic sets, from topics or from TREC files alone."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from srd_gym.dtypes import IntArray
from srd_gym.in_memory import QrelsSource, RunSource, as_qrels, as_run
from srd_gym.measures.ad_hoc import AdHoc, ad_hoc_scores
from srd_gym.measures.base import Measure
from srd_gym.measures.catalogue import parse_measure
from srd_gym.measures.ideal import IdealPool, Normalizer, default_normalizer
from srd_gym.measures.judgments import tell_irrelevant
from srd_gym.measures.label_free import LabelFree, Sources, label_free_values
from srd_gym.measures.risk import VRisk
from srd_gym.measures.scores import Evaluation, score_rankings
from srd_gym.reading import few, shown, with_type
from srd_gym.topic import GradeArray, Topic, TopicSet, as_topic_set
from srd_gym.trec_files import Qrels, Run, grades_of


def evaluate(
    topics: TopicSet | Iterable[Topic],
    rankings: Mapping[str, NDArray[np.integer[Any]] | Sequence[int]],
    measures: Iterable[str | Measure],
    normalizer: Normalizer | None = None,
    *,
    sources: Sources | None = None,
) -> Evaluation:
    """Score rankings of candidates.

    Args:
        topics: the topic set, or topics in a list; unlabelled topics are not judged and left out, unless every measure
            is label-free.
        rankings: query id -> candidate indices, best first; -1 is a rank left empty.
        measures: measures or their notation; "alpha_nDCG" and all others that need a cutoff must have one.
        normalizer: "pool" or "candidates"; None means "pool" where every topic has one, else "candidates". A measure
            with a normalizer of its own keeps it.
        sources: document id -> its source, for `sources` and `top_source`.

    Raises:
        ValueError: an unknown query id, a candidate that does not exist or is duplicated, a measure without a cutoff,
            no measure, "pool" where a topic has none, or what label-free measures need is missing.
    """
    topics = as_topic_set(topics)
    if not isinstance(rankings, Mapping):
        raise TypeError(f"rankings must be {{query id: candidate indices}}, got {with_type(rankings)}")
    wanted = _wanted(measures)
    rows = {one: _checked(ranking, topics[topics.position(one)]) for one, ranking in rankings.items()}
    by_judgments = {name: each for name, each in wanted.items() if not isinstance(each, LabelFree)}
    scored = None
    if by_judgments:
        judged = {topic.query_id: (topic.doc_ids, topic.judgments) for topic in topics if topic.judgments is not None}
        basis = _Basis(topics, normalizer or default_normalizer(topics), judged)
        basis.tell_irrelevant(by_judgments, "candidate judged")
        scored = basis.score(by_judgments, rows, rows)
    return _with_label_free(scored, topics, rows, wanted, sources)


def evaluate_run(
    qrels: QrelsSource | TopicSet,
    run: RunSource,
    measures: Iterable[str | Measure],
    *,
    sources: Sources | None = None,
) -> Evaluation:
    """Score a run against diversity qrels (no candidates or vectors needed), or a topic set's labels.

    Documents that are not judged are not relevant. Every judged topic counts. The ideal is that of ndeval, over the
    pool; of a topic set, over the candidates where a judged topic has no pool.

    Args:
        qrels: a topic set; or qrels in any form that `srd_gym.data.as_qrels` takes: from `srd_gym.data.read_qrels`, a
            path, records of ir_measures or ir_datasets, a data frame, dictionaries, "ir-datasets:ID".
        run: from `srd_gym.data.read_run`, or another form that `srd_gym.data.as_run` takes; its order is scored.
        measures: measures or their notation; all but NRBP, nNRBP and MAP_IA must have a cutoff. Label-free ones
            (`srd_gym.measures.label_free`) need a topic set; if all are, topics need no labels.
        sources: document id -> its source, for `sources` and `top_source`.

    Raises:
        TypeError, ImportError: as of `as_qrels` and `as_run`.
        ValueError: no measure, a measure without a cutoff, one with a normalizer that qrels or topics do not have, no
            topic in common, or what `as_qrels` and `as_run` refuse; for label-free measures no topic set, or
            what they need is missing, or a document that is not among the candidates.
    """
    wanted = _wanted(measures)
    run = as_run(run)
    by_judgments = {name: each for name, each in wanted.items() if not isinstance(each, LabelFree)}
    if not isinstance(qrels, TopicSet):
        if label_free := next((name for name in wanted if name not in by_judgments), None):
            raise ValueError(
                f"{label_free} needs the documents' vectors or sources, which qrels lack; give topics (--topics FILE) "
                "in their place"
            )
        return _by_labels(as_qrels(qrels), run, by_judgments)
    scored = _by_labels(qrels, run, by_judgments) if by_judgments else None
    if scored is not None and len(by_judgments) == len(wanted):
        return scored
    ranked = {topic.query_id: topic for topic in qrels if topic.query_id in run.rankings}
    rows = {query_id: _places(topic, run.rankings[query_id]) for query_id, topic in ranked.items()}
    return _with_label_free(scored, qrels, rows, wanted, sources, tuple(run.rankings.keys() - ranked.keys()))


def _by_labels(qrels: Qrels | TopicSet, run: Run, wanted: Mapping[str, Measure]) -> Evaluation:
    """`evaluate_run` by judgments."""
    basis = _basis_of_topics(qrels) if isinstance(qrels, TopicSet) else _basis_of_qrels(qrels, wanted)
    judged, what = basis.judged, "topics" if isinstance(qrels, TopicSet) else "qrels"
    if run.rankings.keys().isdisjoint(judged):
        some = [next(iter(part), None) for part in (run.rankings, judged)]
        raise ValueError(
            f"no query of the run is judged (the run has {shown(some[0])}, ...; the {what} have {shown(some[1])}, "
            f"...); check that run and {what} belong together"
        )
    rows: dict[str, IntArray] = {}
    # Ranks that some measure looks at; None: all, as where documents that are not judged are skipped.
    skipping = any(isinstance(each, AdHoc) and "judged_only" in each.given for each in wanted.values())
    cutoffs = [each.cutoff for each in wanted.values()]
    longest = None if skipping or None in cutoffs else max(filter(None, cutoffs))
    for query_id, (doc_ids, _) in judged.items():
        if query_id in run.rankings:
            position = {doc_id: row for row, doc_id in enumerate(doc_ids)}
            ranking = [position.get(doc_id, -1) for doc_id in run.rankings[query_id][:longest]]
            rows[query_id] = np.array(ranking, dtype=np.int64)
    basis.tell_irrelevant(wanted, "judgment of")
    if all(set(judged[query_id][0]).isdisjoint(run.rankings[query_id]) for query_id in rows):
        first = next(iter(rows))
        warnings.warn(
            f"no ranked document is judged (query {shown(first)}: the run has {few(run.rankings[first][:1])}, the "
            f"{basis.called} {few(judged[first][0][:1])}): are columns swapped, or is the run of another collection?",
            stacklevel=3,
        )
    return basis.score(wanted, rows, run.rankings)


def cut_short(run: Run, names: Iterable[str | Measure]) -> str:
    """The part of a sentence which says that a run ends above what measures look at; "" where it does not.

    Args:
        run: whose rankings all have the same length if somebody cut them.
        names: measures or their notation.
    """
    lengths = {len(ranking) for ranking in run.rankings.values()}
    if len(lengths) != 1 or len(run.rankings) < 2:
        return ""
    (length,) = lengths
    deeper = [str(each) for each in names if (parse_measure(each).cutoff or 0) > length]
    return f"every ranking ends at rank {length}, above the cutoff of {few(deeper)}" if deeper else ""


def risk_against(
    qrels: QrelsSource, run: RunSource, baseline: RunSource, what: str | Measure = "VRisk@10"
) -> dict[str, float]:
    """VRisk of a run where intents should get what a baseline gives them: what its worst-served intents lose by it.

    Takehi et al. (WSDM 2026) take either this or the best value of an intent, as `VRisk` does, for its target.

    Args:
        qrels: as of `evaluate_run`, with weights where intents are not equally likely.
        run: as of `evaluate_run`.
        baseline: the run that it is compared with.
        what: VRisk with a cutoff; its target is a share of the baseline's values, and relative losses are shares of
            them.

    Returns:
        Query id -> VRisk, for every judged topic; lower is better, and 0 where no intent loses. A missing ranking gives
        no intent anything.

    Raises:
        ValueError: another measure, or one without a cutoff.
    """
    (chosen,) = _wanted([what]).values()
    if not isinstance(chosen, VRisk) or chosen.cutoff is None:
        raise ValueError(f"expected VRisk with a cutoff, such as 'VRisk(beta=0.5)@10', got {shown(str(chosen))}")
    runs, found = (as_run(run), as_run(baseline)), {}
    for query_id, topic in as_qrels(qrels).topics.items():
        position = {doc_id: row for row, doc_id in enumerate(topic.doc_ids)}
        firsts = [each.rankings.get(query_id, ())[: chosen.cutoff] for each in runs]
        rows = [topic.judgments[[position[doc] for doc in first if doc in position]] for first in firsts]
        own, wanted = (np.count_nonzero(grades >= chosen.rel, axis=0)[None] for grades in rows)
        bound = chosen.bind([IdealPool(topic.judgments, topic.doc_ids, topic.subtopic_weights)], chosen.cutoff)
        worth = 1.0 / np.maximum(wanted, 1) if chosen.relative else bound.worth
        bound = replace(bound, wanted=chosen.target * wanted, worth=worth)
        found[query_id] = float(bound.risk(own, np.zeros(1, dtype=np.int64))[0])
    return found


@dataclass(frozen=True)
class _Basis:
    """Judgments that rankings are scored by."""

    source: Qrels | TopicSet
    normalizer: Normalizer
    judged: Mapping[str, tuple[tuple[str, ...], GradeArray]]
    """Documents and their judgments [P, S], by query id."""

    @property
    def called(self) -> str:
        """Name of the source in warnings."""
        return f"topic set {shown(self.source.name)}" if isinstance(self.source, TopicSet) else "qrels"

    def tell_irrelevant(self, wanted: Mapping[str, Measure], what: Literal["candidate judged", "judgment of"]) -> None:
        """Warn of topics whose judgments are all below the relevance level of a measure."""
        grades = ((query_id, judgments) for query_id, (_, judgments) in self.judged.items())
        tell_irrelevant(self.called, grades, [each.rel for each in wanted.values()], what)

    def references(self, normalizer: Normalizer) -> dict[str, IdealPool]:
        """The documents that the ideal rankings of the judged topics are made of."""
        if isinstance(self.source, TopicSet):
            return {query_id: IdealPool.of(self.source[query_id], normalizer) for query_id in self.judged}
        topics = self.source.topics.items()
        return {query_id: IdealPool(own.judgments, own.doc_ids, own.subtopic_weights) for query_id, own in topics}

    def score(self, wanted: Mapping[str, Measure], rows: Mapping[str, IntArray], asked: Iterable[str]) -> Evaluation:
        """Values of every judged topic.

        Args:
            wanted: measures by judgments.
            rows: query id -> rows of judged documents, best first; -1 where a rank is empty, or its document unjudged.
            asked: query ids of all rankings.
        """
        relevance = {name: each for name, each in wanted.items() if isinstance(each, AdHoc)}
        additive = {name: each for name, each in wanted.items() if name not in relevance}
        ranked = {
            query_id: (self.judged[query_id][1], row) for query_id, row in rows.items() if query_id in self.judged
        }
        unjudged = tuple(query_id for query_id in asked if query_id not in self.judged)
        needed = {each.normalizer or self.normalizer for each in additive.values()}
        needed |= {self.normalizer} if relevance else set()
        references = {each: self.references(each) for each in needed}
        scored = score_rankings(additive, ranked, references, self.normalizer, unjudged)
        if not relevance:
            return scored
        views = {
            query_id: grades_of(one.pool_ids or (), one.pool) for query_id, one in references[self.normalizer].items()
        }
        ids = {
            query_id: [None if place == -1 else self.judged[query_id][0][place] for place in rows[query_id].tolist()]
            for query_id in ranked
        }
        values = ad_hoc_scores(relevance, views, ids)
        both = {query_id: {**own, **values[query_id]} for query_id, own in scored.per_topic.items()}
        per_topic = {query_id: {name: row[name] for name in wanted} for query_id, row in both.items()}
        return replace(scored, per_topic=per_topic, names=tuple(wanted))


def _basis_of_qrels(qrels: Qrels, wanted: Mapping[str, Measure]) -> _Basis:
    """Judgments of TREC files."""
    for name, each in wanted.items():
        if each.normalizer == "candidates" and not isinstance(each, AdHoc):
            raise ValueError(f"{name}: TREC files have no candidates; a run is scored with normalizer='pool'")
    judged = {query_id: (topic.doc_ids, topic.judgments) for query_id, topic in qrels.topics.items()}
    return _Basis(qrels, "pool", judged)


def _basis_of_topics(topics: TopicSet) -> _Basis:
    """Judgments of a topic set: of candidates, and of the pool where every judged topic has one.

    Raises:
        ValueError: no topic is judged.
    """
    normalizer = default_normalizer(topics)
    judged = {}
    for topic in topics:
        if topic.judgments is None:
            continue
        ids, rows = topic.doc_ids, topic.judgments
        if normalizer == "pool" and topic.pool is not None and topic.pool_ids is not None:
            candidates = set(ids)
            others = [row for row, doc_id in enumerate(topic.pool_ids) if doc_id not in candidates]
            ids += tuple(topic.pool_ids[row] for row in others)
            rows = np.concatenate([rows, topic.pool[others]])
        judged[topic.query_id] = ids, rows
    if not judged:
        raise ValueError(
            f"no topic of {shown(topics.name)} is judged, so no run can be scored; give topics with judgments"
        )
    return _Basis(topics, normalizer, judged)


def _wanted(measures: Iterable[str | Measure]) -> dict[str, Measure]:
    """The measures by the name they were asked for."""
    if isinstance(measures, str | Measure) or not isinstance(measures, Iterable):
        measures = [measures]
    wanted = {str(each).strip(): parse_measure(each) for each in measures}
    if not wanted:
        raise ValueError("no measure given; expected at least one, e.g. 'alpha_nDCG@10'")
    for name, each in wanted.items():
        if each.cutoff is None and not each.whole_list:
            raise ValueError(f"measure {name!r} has no cutoff; write {name}@10, for instance")
    return wanted


def _with_label_free(
    scored: Evaluation | None,
    topics: TopicSet,
    ranked: Mapping[str, IntArray],
    wanted: Mapping[str, Measure],
    sources: Sources | None,
    strangers: tuple[str, ...] = (),
) -> Evaluation:
    """Scores by judgments, of the judged topics, with label-free values; without any, these of all topics.

    Args:
        scored: by judgments, if any measure is.
        topics: the topics.
        ranked: query id -> candidates, best first.
        wanted: all measures.
        sources: of the documents.
        strangers: query ids of rankings of other topics.

    Raises:
        ValueError: no topic is ranked, or what `label_free_values` refuses.
    """
    query_ids = list(topics.query_ids if scored is None else scored.per_topic)
    chosen = [query_id for query_id in query_ids if query_id in ranked]
    if not chosen and strangers:
        raise ValueError(
            f"no query of the run is among the topics (the run has {shown(strangers[0])}, ...; the topics have "
            f"{few(query_ids[:1])}, ...); check that run and topics belong together"
        )
    label_free = {name: each for name, each in wanted.items() if isinstance(each, LabelFree)}
    if scored is not None and not label_free:
        return scored
    ranked_topics, rankings = [topics[query_id] for query_id in chosen], [ranked[query_id] for query_id in chosen]
    values = label_free_values(ranked_topics, rankings, label_free, sources)
    per_topic = {one: {} if scored is None else dict(scored.per_topic[one]) for one in query_ids}
    for name, column in values.items():
        of_ranked = dict(zip(chosen, column.tolist(), strict=True))
        for query_id, row in per_topic.items():
            row[name] = of_ranked.get(query_id, 0.0)
    return Evaluation(
        per_topic={query_id: {name: row[name] for name in wanted} for query_id, row in per_topic.items()},
        missing_topics=tuple(query_id for query_id in query_ids if query_id not in ranked),
        unjudged=strangers if scored is None else scored.unjudged,
        names=tuple(wanted),
        normalizer=default_normalizer(topics) if scored is None else scored.normalizer,
    )


def _places(topic: Topic, doc_ids: Sequence[str]) -> IntArray:
    """[L] int64, these documents among the candidates.

    Raises:
        ValueError: one that is none of them.
    """
    place = {doc_id: i for i, doc_id in enumerate(topic.doc_ids)}
    if foreign := next((doc_id for doc_id in doc_ids if doc_id not in place), None):
        raise ValueError(
            f"document {shown(foreign)} of query {shown(topic.query_id)} is not among the topic's candidates, so that "
            "it has no vector; give topics that hold all documents of the run"
        )
    return np.array([place[doc_id] for doc_id in doc_ids], dtype=np.int64)


def _checked(ranking: ArrayLike, topic: Topic) -> IntArray:
    """[L] int64, a ranking whose candidates exist and come once; -1 is a rank left empty."""
    candidates = np.asarray(ranking)
    if candidates.ndim != 1 or not (candidates.dtype.kind in "iu" or candidates.size == 0):
        fault = f"a ranking is a list of candidate indices, got {with_type(ranking)}"
        raise ValueError(f"topic {shown(topic.query_id)}: {fault}")
    candidates = candidates.astype(np.int64)
    filled = candidates[candidates != -1]
    wrong = filled[(filled < 0) | (filled >= topic.n_candidates)]
    values, counts = np.unique(filled, return_counts=True)
    if len(wrong):
        fault = f"candidate {wrong[0]} does not exist; expected 0 to {topic.n_candidates - 1}"
    elif len(values) < len(filled):
        fault = f"candidate {values[counts > 1][0]} is ranked twice; keep the first"
    else:
        return candidates
    raise ValueError(f"topic {shown(topic.query_id)}: {fault}")
