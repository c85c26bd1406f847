"""Scoring rankings of whole topic sets, from topics or from TREC files alone."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from srd_gym.dtypes import IntArray
from srd_gym.in_memory import QrelsSource, RunSource, as_qrels, as_run
from srd_gym.measures.ad_hoc import AdHoc, ad_hoc_scores, grades_of
from srd_gym.measures.base import Measure
from srd_gym.measures.catalogue import parse_measure
from srd_gym.measures.ideal import IdealPool, Normalizer, default_normalizer
from srd_gym.measures.judgments import judged, tell_irrelevant
from srd_gym.measures.label_free import LabelFree, Sources, label_free_values
from srd_gym.measures.risk import VRisk
from srd_gym.measures.scores import Evaluation, Ranked, score_rankings
from srd_gym.reading import few, shown, with_type
from srd_gym.topic import GradeArray, Topic, TopicSet, as_topic_set
from srd_gym.trec_files import Qrels, Run


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
    chosen = normalizer or default_normalizer(topics)
    wanted = _wanted(measures)
    for query_id in rankings:
        topics.position(query_id)
    by_judgments = {name: each for name, each in wanted.items() if not isinstance(each, LabelFree)}
    scored = _by_candidates(topics, rankings, by_judgments, chosen) if by_judgments else None
    if scored is not None and len(by_judgments) == len(wanted):
        return scored
    rows = {query_id: _checked(ranking, topics[query_id]) for query_id, ranking in rankings.items()}
    return _with_label_free(scored, topics, rows, wanted, sources)


def _by_candidates(
    topics: TopicSet,
    rankings: Mapping[str, NDArray[np.integer[Any]] | Sequence[int]],
    wanted: Mapping[str, Measure],
    chosen: Normalizer,
) -> Evaluation:
    """`evaluate` by judgments."""
    judged = [topic for topic in topics if topic.judgments is not None]
    levels = [each.rel for each in wanted.values()]
    grades = ((topic.query_id, topic.judgments) for topic in judged if topic.judgments is not None)
    tell_irrelevant(f"topic set {shown(topics.name)}", grades, levels)
    rows = {
        topic.query_id: (topic.judgments, _checked(rankings[topic.query_id], topic))
        for topic in judged
        if topic.judgments is not None and topic.query_id in rankings
    }
    unjudged = tuple(query_id for query_id in rankings if query_id not in rows)
    additive, relevance = _by_kind(wanted)
    scored = score_rankings(additive, rows, _references(judged, additive, chosen), chosen, unjudged)
    if not relevance:
        return scored
    views = {topic.query_id: _grades_of_topic(topic, chosen) for topic in judged}
    ids = {topic.query_id: _ids(rankings[topic.query_id], topic) for topic in judged if topic.query_id in rankings}
    return _with_relevance(scored, wanted, ad_hoc_scores(relevance, views, ids))


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
    if len(by_judgments) == len(wanted):
        return _by_labels(qrels, run, wanted)
    if not isinstance(qrels, TopicSet):
        name = next(name for name in wanted if name not in by_judgments)
        raise ValueError(
            f"{name} needs the documents' vectors or sources, which qrels lack; give topics (--topics FILE) in their "
            "place"
        )
    scored = _by_labels(qrels, run, by_judgments) if by_judgments else None
    ranked = {topic.query_id: topic for topic in qrels if topic.query_id in run.rankings}
    rows = {query_id: _places(topic, run.rankings[query_id]) for query_id, topic in ranked.items()}
    return _with_label_free(scored, qrels, rows, wanted, sources, tuple(run.rankings.keys() - ranked.keys()))


def _by_labels(qrels: QrelsSource | TopicSet, run: Run, asked: Mapping[str, Measure]) -> Evaluation:
    """`evaluate_run` by judgments."""
    wanted, relevance = _by_kind(asked)
    if not isinstance(qrels, TopicSet):
        qrels = as_qrels(qrels)
    read = _by_topics(qrels, wanted) if isinstance(qrels, TopicSet) else _by_qrels(qrels, wanted)
    normalizer, judged, references = read
    unjudged = tuple(query_id for query_id in run.rankings if query_id not in judged)
    if len(unjudged) == len(run.rankings):
        what = "topics" if isinstance(qrels, TopicSet) else "qrels"
        some = [next(iter(part), None) for part in (run.rankings, judged)]
        raise ValueError(
            f"no query of the run is judged (the run has {shown(some[0])}, ...; the {what} have {shown(some[1])}, "
            f"...); check that run and {what} belong together"
        )
    rows: dict[str, Ranked] = {}
    cutoffs = [each.cutoff for each in asked.values()]
    longest = None if None in cutoffs else max(filter(None, cutoffs))  # ranks that some measure looks at; None: all
    for query_id, (doc_ids, judgments) in judged.items():
        if query_id in run.rankings:
            position = {doc_id: row for row, doc_id in enumerate(doc_ids)}
            ranking = [position.get(doc_id, -1) for doc_id in run.rankings[query_id][:longest]]
            rows[query_id] = judgments, np.array(ranking, dtype=np.int64)
    grades = ((query_id, judgments) for query_id, (_, judgments) in judged.items())
    what = f"topic set {shown(qrels.name)}" if isinstance(qrels, TopicSet) else "qrels"
    tell_irrelevant(what, grades, [each.rel for each in asked.values()], "judgment of")
    if not any((ranking >= 0).any() for _, ranking in rows.values()):
        first = next(iter(rows))
        warnings.warn(
            f"no ranked document is judged (query {shown(first)}: the run has {few(run.rankings[first][:1])}, the "
            f"{what} {few(judged[first][0][:1])}): are columns swapped, or is the run of another collection?",
            stacklevel=3,
        )
    scored = score_rankings(wanted, rows, references, normalizer, unjudged)
    if not relevance:
        return scored
    if isinstance(qrels, TopicSet):
        views = {topic.query_id: _grades_of_topic(topic, normalizer) for topic in qrels if topic.labelled}
    else:
        views = {query_id: grades_of(*pair) for query_id, pair in judged.items()}
    return _with_relevance(scored, asked, ad_hoc_scores(relevance, views, run.rankings))


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


_Judged = tuple[Normalizer, dict[str, tuple[tuple[str, ...], GradeArray]], dict[Normalizer, dict[str, IdealPool]]]
"""Basis of a run's scores: the normalizer, each topic's judged documents with their judgments, and its references."""


def _by_qrels(qrels: Qrels, wanted: Mapping[str, Measure]) -> _Judged:
    """Judgments of TREC files."""
    for name, each in wanted.items():
        if each.normalizer == "candidates":
            raise ValueError(f"{name}: TREC files have no candidates; a run is scored with normalizer='pool'")
    judged = {query_id: (topic.doc_ids, topic.judgments) for query_id, topic in qrels.topics.items()}
    references = {
        query_id: IdealPool(topic.judgments, topic.doc_ids, topic.subtopic_weights)
        for query_id, topic in qrels.topics.items()
    }
    return "pool", judged, {"pool": references}


def _by_topics(topics: TopicSet, wanted: Mapping[str, Measure]) -> _Judged:
    """Judgments of a topic set: of candidates, and of the pool where every judged topic has one.

    Raises:
        ValueError: no topic is judged.
    """
    if not any(topic.labelled for topic in topics):
        raise ValueError(
            f"no topic of {shown(topics.name)} is judged, so no run can be scored; give topics with judgments"
        )
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
    return normalizer, judged, _references([topic for topic in topics if topic.labelled], wanted, normalizer)


def _references(
    judged: Sequence[Topic], wanted: Mapping[str, Measure], normalizer: Normalizer
) -> dict[Normalizer, dict[str, IdealPool]]:
    """The references of judged topics, for each normalizer that a measure asks for."""
    asked = {each.normalizer or normalizer for each in wanted.values()} or {normalizer}
    return {each: {topic.query_id: IdealPool.of(topic, each) for topic in judged} for each in asked}


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


def _by_kind(wanted: Mapping[str, Measure]) -> tuple[dict[str, Measure], dict[str, AdHoc]]:
    """The measures that are computed here, and those of relevance, which ir_measures computes."""
    relevance = {name: each for name, each in wanted.items() if isinstance(each, AdHoc)}
    return {name: each for name, each in wanted.items() if name not in relevance}, relevance


def _grades_of_topic(topic: Topic, normalizer: Normalizer) -> dict[str, int]:
    """The ad-hoc view of a judged topic: of its pool, or of its candidates."""
    if normalizer == "pool" and topic.pool is not None and topic.pool_ids is not None:
        return grades_of(topic.pool_ids, topic.pool)
    return grades_of(topic.doc_ids, judged(topic))


def _ids(ranking: ArrayLike, topic: Topic) -> list[str]:
    """Document ids of a ranking of candidates; a rank left empty holds an id that nobody has judged."""
    places = np.asarray(ranking).tolist()
    return [f" empty rank {rank}" if place == -1 else topic.doc_ids[place] for rank, place in enumerate(places)]


def _with_relevance(
    scored: Evaluation, wanted: Mapping[str, Measure], relevance: Mapping[str, Mapping[str, float]]
) -> Evaluation:
    """The scores with those of relevance among them, in the order in which they were asked for."""
    rows = {query_id: {**own, **relevance[query_id]} for query_id, own in scored.per_topic.items()}
    per_topic = {query_id: {name: row[name] for name in wanted} for query_id, row in rows.items()}
    return replace(scored, per_topic=per_topic, names=tuple(wanted))


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
