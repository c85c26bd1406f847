"""An audit of ranked lists: how crowded they are, what diversifying would change, and advice with its reason.

Without judgments it tells what each action changes, not whether that helps; with judgments it measures the gain in
alpha_nDCG, by the paired test of `srd compare`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from srd_agents.heuristic.relevance import relevance_of
from srd_gym.checks import as_scores, check_integer
from srd_gym.dtypes import IntArray
from srd_gym.measures import evaluate
from srd_gym.measures.catalogue import parse_measure
from srd_gym.measures.label_free import LabelFree, Sources, label_free_values
from srd_gym.reading import few, shown
from srd_gym.topic import Topic, TopicSet
from srd_gym.trec_files import Run
from srd_train.report.actions import ORDER, POOLS, actions, bare, rankings
from srd_train.report.advice import Advice, measured, unmeasured
from srd_train.report.comparison import Comparison, record_of
from srd_train.report.differences import differences
from srd_train.report.markup import markdown
from srd_train.report.significance import interval
from srd_train.report.tables import Problem, complete_tables

QUALITY = "alpha_nDCG"
"""Measure of the gain, where topics are judged."""
_DEPTHS = (1, 5, 10, 20, 50, 100)
Depths = dict[int, dict[str, tuple[float, float, float]]]
"""Depth -> what -> mean over lists, and the ends of its 95% interval."""


@dataclass(frozen=True, kw_only=True)
class Audit(Comparison):
    """The lists as they are and after each action, as one table, with differences, depths and advice."""

    advice: Advice
    depths: Depths
    """Crowding and scores of the lists as they are."""
    tried: tuple[str, ...]
    """Rows in the order of actions and pools, the lists as they are first."""
    actions: tuple[str, ...]
    """Names of all actions."""

    def markdown(self) -> str:
        """Advice, depths, then means and differences, as Markdown."""
        return f"**{self.advice.sentence}**\n\n{markdown(*self.depth_cells())}\n\n{super().markdown()}"

    def depth_cells(self) -> tuple[list[str], list[list[str]]]:
        """Heads and rows of the table by depth."""
        names = list(dict.fromkeys(name for own in self.depths.values() for name in own))
        rows = [
            [str(depth), *("{:.3f} [{:.3f}, {:.3f}]".format(*own[name]) if name in own else "-" for name in names)]
            for depth, own in self.depths.items()
        ]
        return ["first documents", *names], rows

    def change_cells(self) -> tuple[list[str], list[list[str]]]:
        """Heads and rows of what actions change: means minus those of the order."""
        (table,) = self.tables
        means = {row.ranker: row.means for row in table.rows}
        order = means[ORDER]
        rows = [[row, *(f"{means[row][name] - order[name]:+.3f}" for name in table.measures)] for row in self.tried[1:]]
        return ["action", *table.measures], rows

    @property
    def repeated(self) -> list[str]:
        """Actions that do what the order or an earlier action does, on every pool."""
        return [name for name in self.actions if not any(row.startswith(name) for row in self.tried)]


def audit(
    topics: TopicSet,
    *,
    run: Run | None = None,
    sources: Sources | None = None,
    k: int = 10,
    pools: Sequence[int] = POOLS,
) -> Audit:
    """Audit the lists of topics.

    A list is the run's; without one in the order of scores, else of the cosine with the query, else as it is.

    Args:
        topics: with vectors. Where some are judged, only these count.
        run: lists of the topics' candidates; topics that it lacks, or of which it ranks no candidate, are left out.
        sources: document id -> its source; None: unknown, so that no cap is tried.
        k: documents of a page.
        pools: numbers of first documents that actions choose from, rising.

    Raises:
        ValueError: nothing to audit, no vectors, k or a pool out of range, or what a run's lists lack.
    """
    check_integer("k", k, 1)
    for pool in pools:
        check_integer("pools", pool, k)
    if not pools or any(one >= other for one, other in pairwise(pools)):
        raise ValueError(f"expected rising pools, got {few(pools)}")
    problems: list[Problem] = []
    listed = [_listed(topic, run, problems) for topic in topics if run is None or topic.query_id in run.rankings]
    made = [one for one in listed if one is not None]
    judged = [one for one, _ in made if one.labelled]
    if judged and len(judged) < len(made):
        why = f"{len(made) - len(judged)} of {len(made)} lists are not judged; left out"
        problems.append(Problem(kind="input", what=topics.name, why=why))
    kept = [(one, plain) for one, plain in made if one.labelled or not judged]
    if not kept:
        needed = "topics that have candidates" if run is None else "a run that ranks candidates of the topics"
        raise ValueError(f"there is no list to audit in {topics.name!r}; give {needed}")
    lists = topics.replace(one for one, _ in kept)
    ranked = dict(rankings([plain for _, plain in kept], k, pools, sources))
    names = [f"{name}@{k}" for name in _measures(bool(judged), sources)]
    records = [_record(lists, name, own, names, sources, k) for name, own in ranked.items()]
    (table,), _ = complete_tables(records, reference=ORDER)
    compared = differences(table, adjust="measure")
    if judged:
        advice = measured([each for each in compared if each.measure == names[0]], len(judged))
    else:
        scored = all(plain.retrieval_scores is not None for _, plain in kept)
        advice = unmeasured({row.ranker: row.means for row in table.rows}, k, scored=scored)
    return Audit(
        title=f"Audit of {topics.name}",
        about=advice.sentence,
        advice=advice,
        depths=_depths(lists, sources),
        tried=tuple(ranked),
        actions=tuple(action.name for action in actions(sources)),
        tables=(table,),
        problems=tuple(problems),
        topics=lists,
        adjust="measure",
    )


def _measures(judged: bool, sources: Sources | None) -> list[str]:
    """Names of the columns, without cutoffs."""
    of_sources = ("sources", "top_source") if sources else ()
    return [*([QUALITY] if judged else []), "score", "moved", "ILS", "Vendi", "duplicates", *of_sources]


def _listed(topic: Topic, run: Run | None, problems: list[Problem]) -> tuple[Topic, Topic] | None:
    """The topic with its candidates in the order of its list and scores that say so; and as rankers are to see it.

    None where the list holds none of the candidates.
    """
    topic.require_vectors("srd audit")
    if run is not None:
        place = {doc_id: i for i, doc_id in enumerate(topic.doc_ids)}
        ids, scores = run.rankings[topic.query_id], run.scores[topic.query_id]
        known = [i for i, doc_id in enumerate(ids) if doc_id in place]
        if len(known) < len(ids):
            why = f"{len(ids) - len(known)} documents are not among the candidates of {shown(topic.query_id)}; left out"
            problems.append(Problem(kind="input", what="run", why=why))
        if not known:
            return None
        topic = replace(topic.take([place[ids[i]] for i in known]), retrieval_scores=as_scores(scores[known]))
    elif topic.retrieval_scores is None and topic.query_vector is not None:
        near = relevance_of(topic, "cosine", "srd audit")
        order = np.argsort(-near, kind="stable")
        topic = topic.take(order)
        return replace(topic, retrieval_scores=near[order]), bare(topic)  # without scores rankers do otherwise
    elif topic.retrieval_scores is None:
        topic = replace(topic, retrieval_scores=np.arange(topic.n_candidates, 0, -1, dtype=np.float32))
    return topic, bare(topic)


def _record(
    lists: TopicSet, name: str, ranked: Sequence[IntArray], names: Sequence[str], sources: Sources | None, k: int
) -> dict[str, object]:
    """The record of a row."""
    scored = evaluate(lists, dict(zip(lists.query_ids, ranked, strict=True)), names, sources=sources)
    run = Run(
        rankings={
            topic.query_id: tuple(topic.doc_ids[i] for i in own) for topic, own in zip(lists, ranked, strict=True)
        },
        scores={
            query_id: np.arange(len(own), 0.0, -1.0) for query_id, own in zip(lists.query_ids, ranked, strict=True)
        },
    )
    return record_of(name, scored, lists.name, k, marks=lists.marks) | {"run": run}


def _depths(lists: TopicSet, sources: Sources | None) -> Depths:
    """Crowding of the first documents, and the scaled score at the last of these, as far as lists go."""
    found: Depths = {}
    for depth in _DEPTHS:
        long = [topic for topic in lists if topic.n_candidates >= depth]
        if not long:
            break
        names = [f"{name}@{depth}" for name in _measures(False, sources) if name not in ("score", "moved")]
        asked: Mapping[str, object] = {name: parse_measure(name) for name in (*names, f"score@{depth}")}
        free = {name.partition("@")[0]: each for name, each in asked.items() if isinstance(each, LabelFree)}
        last = {"score at it": free.pop("score")}
        whole = [np.arange(depth) for _ in long]
        values = label_free_values(long, whole, free, sources)
        values |= label_free_values(long, [np.array([depth - 1]) for _ in long], last, sources)
        found[depth] = {name: (float(own.mean()), *interval(own)) for name, own in values.items()}
    return found
