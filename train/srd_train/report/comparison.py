"""TREC runs compared by judgments alone: the tables, tests and page of a benchmark, of runs that any system made."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from srd_agents.training.machine import versions
from srd_gym.checks import unknown
from srd_gym.data.queries import TopicText
from srd_gym.data.trec import judged_fields, topic_qrels
from srd_gym.measures import Evaluation, Measure, evaluate_run, parse_measure
from srd_gym.measures.catalogue import only_label_free
from srd_gym.measures.evaluation import cut_short
from srd_gym.measures.label_free import Sources
from srd_gym.reading import few
from srd_gym.topic import Topic, TopicSet
from srd_gym.trec_files import Qrels, Run, TopicQrels
from srd_train.experiment.provenance import commit
from srd_train.report.differences import TESTS, Adjust, Difference, Test, differences
from srd_train.report.markup import SIGNS, as_markdown, differences_markdown
from srd_train.report.page import Report
from srd_train.report.tables import SIGNIFICANT, Problem, ResultTable, Row, complete_tables, verdict_of

_SHOWN = 10
"""Ranks that the page shows where no measure looks further."""


@dataclass(frozen=True, kw_only=True)
class Comparison(Report):
    """The one table of several runs, with the differences between them by every measure."""

    @property
    def legend(self) -> str:
        """Interval and test, and what p is adjusted over."""
        (compared,) = self.differences
        adjusted = compared[0].family if compared else "not adjusted"
        tested = adjusted if adjusted.startswith("Tukey") else f"{TESTS[self.test]}, {adjusted}"
        return (
            f"Interval: 95% over topics, by Student's t; of a mean within the topics' values. p: {tested}; "
            f"{SIGNS['above']} significantly above, {SIGNS['below']} significantly below, {SIGNS['level']} no "
            f"significant difference (p >= {SIGNIFICANT:g}). Wins, ties and losses: topics."
        )

    def markdown(self) -> str:
        """The means, then the differences, as Markdown."""
        (compared,) = self.differences
        more = differences_markdown(compared)
        return as_markdown(self.tables, self.problems, legend=self.legend, more=more) + "\n"


def compare(
    qrels: Qrels | TopicSet,
    runs: Mapping[str, Run],
    measures: Iterable[str | Measure],
    *,
    reference: str | None = None,
    pairs: bool = False,
    test: Test = "t",
    adjust: Adjust = "all",
    topics: TopicSet | Mapping[str, TopicText] | None = None,
    ranked_topics_only: bool = False,
    sources: Sources | None = None,
) -> Comparison:
    """Score several runs against diversity qrels, and test their differences by every measure.

    Scores are those of `srd_gym.measures.evaluate_run`. Every topic of the qrels counts, a missing ranking 0.

    Args:
        qrels: from `srd_gym.data.read_qrels`, or judged topics, whose texts the page shows then; if all measures are
            label-free, topics need no labels.
        runs: name -> run, from `srd_gym.data.read_run`.
        measures: measures or their notation; the table is ordered by the first.
        reference: the run to test against, by its name (the baseline); None: the first.
        pairs: test all pairs of runs instead.
        test: "t" (paired t-test over topics) or "randomisation" (paired randomisation test).
        adjust: "all" (Holm over every measure and every pair that is compared), "measure" (Holm, measure by measure),
            "none", or "tukey" (Tukey's HSD of all pairs).
        topics: where the page takes texts from, by query, subtopic and document id: a topic set, or what
            `srd_gym.data.read_queries` read.
        ranked_topics_only: count only the topics that every run ranks.
        sources: document id -> its source, for `sources` and `top_source`.

    Returns:
        One table (`.tables[0]`: a row for each run, by falling mean; scores by topic), the differences
        (`.differences[0]`), what was odd about the runs (`.problems`), as `.html()`, `.markdown()`, `.latex()` and
        `.csv()`, and as files by `.write()`.

    Raises:
        ValueError: fewer than two runs, a reference that is none of them, a run without a judged topic, a measure that
            cannot be computed, or no topic that every run ranks.
    """
    if len(runs) < 2:
        raise ValueError(f"expected two runs or more to compare, got {len(runs)}; `srd evaluate` scores one")
    if reference is not None and reference not in runs:
        raise unknown("run to test against,", reference, runs, "The reference is one of the runs that are compared.")
    wanted = [measures] if isinstance(measures, str | Measure) else list(measures)
    judged = _judged(qrels, wanted)
    scored = {name: _scored(name, qrels, run, wanted, sources) for name, run in runs.items()}
    unranked = (
        {query_id for each in scored.values() for query_id in each.missing_topics} if ranked_topics_only else set()
    )
    if len(unranked) == len(judged):
        raise ValueError("no judged topic is ranked by every run, so that none is left to compare them on")
    about = f"{len(runs)} runs" + (", on the topics that all of them rank" if ranked_topics_only else "")
    depth = max(parse_measure(name).cutoff or _SHOWN for name in next(iter(scored.values())).names)
    records = [
        record_of(name, each, about, depth, unranked=unranked) | {"run": runs[name]} for name, each in scored.items()
    ]
    (table,), _ = complete_tables(records, reference=reference or next(iter(runs)))
    compared = differences(table, pairs=pairs, test=test, adjust=adjust)
    return Comparison(
        title=f"{len(runs)} runs compared",
        tables=(_tested_with(table, compared),),
        problems=tuple(_problems(runs, scored, unranked)),
        topics=_topics(judged, runs, qrels if isinstance(qrels, TopicSet) else None, topics),
        pairs=pairs,
        test=test,
        adjust=adjust,
    )


def _tested_with(table: ResultTable, compared: Sequence[Difference]) -> ResultTable:
    """The table with the p values of these differences in its rows, those of its first measure."""
    first = {(each.ranker, each.baseline): each for each in compared if each.measure == table.measures[0]}

    def tested(row: Row) -> Row:
        own = first.get((row.ranker, table.reference)) or first.get((table.reference, row.ranker))
        if own is None:
            return row
        gain = own.mean if own.ranker == row.ranker else -own.mean
        return dataclasses.replace(row, p_value=own.p_value, verdict=verdict_of(own.p_value, gain))

    return dataclasses.replace(table, rows=tuple(map(tested, table.rows)))


def _judged(qrels: Qrels | TopicSet, measures: Iterable[str | Measure]) -> Mapping[str, TopicQrels | None]:
    """Judgments of each topic that counts; None where no measure reads any."""
    if not isinstance(qrels, TopicSet):
        return qrels.topics
    return dict.fromkeys(qrels.query_ids) if only_label_free(measures) else topic_qrels(qrels).topics


def _scored(
    name: str, qrels: Qrels | TopicSet, run: Run, measures: Iterable[str | Measure], sources: Sources | None
) -> Evaluation:
    """The scores of a run; that it has none is an error that names it."""
    try:
        return evaluate_run(qrels, run, measures, sources=sources)
    except ValueError as error:
        if run.rankings.keys() & (qrels.query_ids if isinstance(qrels, TopicSet) else qrels.topics):
            raise
        raise ValueError(f"{name}: {error}") from error


def record_of(
    name: str, scored: Evaluation, topics: str, depth: int, *, unranked: Collection[str] = (), marks: Sequence[str] = ()
) -> dict[str, object]:
    """The record of a ranker or run, as benchmarks keep one of a cell; without fold, times and rankings.

    Args:
        name: of the row in the table.
        scored: its scores.
        topics: name of the topics.
        depth: documents of a ranking that a page shows.
        unranked: topics that do not count.
        marks: of the topics.
    """
    per_topic = {query_id: values for query_id, values in scored.per_topic.items() if query_id not in unranked}
    return {
        "cell": name,
        "ranker": name,
        "fitted_as": name,
        "view": None,
        "topic_set": {"name": topics, "fingerprint": "", "marks": list(marks)},
        "depth": depth,
        "commit": commit(),
        "versions": versions(),
        "history": None,
        "reads_judgments": False,
        "seed": 0,
        "normalizer": scored.normalizer,
        "measures": dataclasses.replace(scored, per_topic=per_topic).measures,
        "per_topic": per_topic,
    }


def _problems(runs: Mapping[str, Run], scored: Mapping[str, Evaluation], unranked: set[str]) -> list[Problem]:
    """Problems of the runs that a reader of the figures must know."""
    said: dict[str, list[str]] = {}
    for name, each in scored.items():
        if each.missing_topics:
            counted = "left out for every run" if unranked else "each counts as an empty ranking"
            many = f"{each.missing} of {each.topics} judged topics ({few(each.missing_topics)})"
            said.setdefault(f"no ranking of {many}; {counted}", []).append(name)
        if each.unjudged:
            said.setdefault(f"rankings without judgments ({few(each.unjudged)}); left out", []).append(name)
        short = cut_short(runs[name], each.names)
        if short and any(not cut_short(run, each.names) for run in runs.values()):
            why = f"{short}, where another run goes on; `srd rank --k` says how many to rank"
            said.setdefault(why, []).append(name)
    for one, other in combinations(runs, 2):
        if runs[one].rankings == runs[other].rankings:
            said.setdefault("the same rankings; is one run given twice?", []).extend([one, other])
    return [Problem(kind="input", what=", ".join(dict.fromkeys(names)), why=why) for why, names in said.items()]


def _topics(
    judged: Mapping[str, TopicQrels | None],
    runs: Mapping[str, Run],
    scored: TopicSet | None,
    topics: TopicSet | Mapping[str, TopicText] | None,
) -> TopicSet:
    """The judged topics that runs rank, with the texts that are known.

    Args:
        judged: judgments by topic.
        runs: all of them; without topics, candidates are the documents that any of them ranks.
        scored: the topics that runs are scored by, if not by qrels.
        topics: as of `compare`.
    """
    judged_topics = []
    topics = topics or scored or {}
    texts = {topic.query_id: topic for topic in topics} if isinstance(topics, TopicSet) else topics
    for query_id, own in judged.items():
        doc_ids = tuple(dict.fromkeys(doc for run in runs.values() for doc in run.rankings.get(query_id, ())))
        if not doc_ids:
            continue
        if scored is None:
            topic = Topic(query_id=query_id, doc_ids=doc_ids, **judged_fields(own, doc_ids))
        else:
            topic = scored[query_id]
        about_topic = texts.get(query_id)
        about, documents = _texts(about_topic)
        judged_topics.append(
            dataclasses.replace(
                topic,
                query_text=None if about_topic is None else about_topic.query_text,
                doc_texts=tuple(documents.get(doc_id, "") for doc_id in topic.doc_ids) if documents else None,
                subtopic_texts=tuple(about.get(name) or name for name in topic.subtopic_ids),
            )
        )
    return TopicSet(judged_topics, name="runs")


def _texts(about: Topic | TopicText | None) -> tuple[Mapping[str, str], Mapping[str, str]]:
    """Texts of subtopics and of documents, by their ids."""
    if not isinstance(about, Topic):
        return ({} if about is None else about.subtopics), {}
    subtopics = dict(zip(about.subtopic_ids, about.subtopic_texts or (), strict=False))
    return subtopics, dict(zip(about.doc_ids, about.doc_texts or (), strict=False))
