"""`srd audit`: how crowded result lists are, what diversifying would change, and one sentence of advice."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

import tyro

from srd_gym.data import load_topics
from srd_gym.data.trec import judged_fields
from srd_gym.measures.label_free import Sources
from srd_gym.reading import few, numbered_lines, shown
from srd_gym.topic import Topic, TopicSet
from srd_gym.trec_files import Qrels, read_run
from srd_train.commands.console import Output
from srd_train.commands.options import Files, SomeFile
from srd_train.commands.runs import inputs, qrels_of, sources_of, with_vectors
from srd_train.report.actions import bare
from srd_train.serving.json_lines import content_of, known, topic_of

if TYPE_CHECKING:
    from srd_train.report.audit import Audit

_LINES = (".jsonl", ".ndjson", ".json", ".gz")
_FEATURES = ("query_id", "doc_ids", "doc_vectors", "query_vector", "retrieval_scores", "query_text", "doc_texts")
"""Keys of a line that an audit reads, besides groups."""


@dataclass(frozen=True, kw_only=True)
class AuditLists:
    """Should I diversify, and did it help? Audit result lists, and get advice with its reason.

    A list is the order of the run (--run), else of the scores, else of the cosine with the query, else as it is. The
    audit shows near-duplicates, sources, similarity and scores by depth; what near-duplicates last, one document per
    source, the default of diversify (safe) and MMR change, each on pools of first documents; and where topics are
    judged, what they gain.

    JSON lines are those of srd rank; groups are sources, other keys are ignored. Texts without vectors are compared by
    their words.

    Examples:
      srd audit lists.jsonl --out audit.html
      srd audit my.parquet --run engine.run --sources sites.tsv
      srd audit lists.jsonl --qrels judged.qrels
      srd audit words --k 5 --pools 20 --markdown audit.md
    """

    ENDINGS: ClassVar = {"out": (".html", ".htm")}
    lists: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="FILE|NAME")]
    """JSON lines (.jsonl; "-" is standard input), a topic file (Parquet), "words", or
    "synthetic:PRESET[:TOPICS[:SEED]]"."""
    run: Files = ()
    """The lists, as a TREC run of the topics' candidates."""
    sources: SomeFile = None
    """Source (site, author, ...) of documents: lines "document<TAB>source"."""
    qrels: Files = ()
    """Judgments of the lists' documents (TREC qrels with subtopics), in place of those that a topic file brings: gains
    are then measured."""
    k: int = 10
    """Documents per page."""
    pools: Annotated[Sequence[int], tyro.conf.arg(metavar="N...", constructor=list[int])] = (20, 50, 100, 300)
    """Numbers of first documents that actions choose from."""
    per_topic: bool = False
    """Also show every list (with --json every list after every action)."""
    out: SomeFile = None
    """Also write one HTML page with the tables, and lists before and after side by side."""
    markdown: SomeFile = None
    """Also write the tables as Markdown."""
    json: bool = False
    """Print JSON: advice, figures by depth and by action, differences, problems, and what was written."""

    def execute(self, output: Output) -> int:
        """Audit and show.

        Raises:
            FileNotFoundError: a file that is not there.
            ValueError: a malformed line, nothing to audit, or lists without vectors and texts.
            ImportError: scikit-learn, scipy, or for the page jinja2, is not installed.
        """
        from srd_train.report.audit import audit

        topics, sources = self._given(output)
        qrels, run = inputs(self.qrels, self.run)
        if qrels:
            topics = _judged(topics, qrels_of(qrels))
        topics = with_vectors(topics, ["ILS@1"])
        lists = read_run(run) if run else None
        made = audit(topics, run=lists, sources=sources, k=self.k, pools=list(self.pools))
        written, problems = made.write(html=self.out, markdown=self.markdown)
        if self.json:
            output.data(self._content(made, written, [str(problem) for problem in problems]))
            return 0
        self._tables(made, output)
        for said in (*(f"notice: {problem}" for problem in problems), *map(str, written)):
            output.notice(said)
        return 0

    def _given(self, output: Output) -> tuple[TopicSet, Sources | None]:
        """Topics and sources."""
        sources: Sources | None = sources_of(self.sources)
        if self.lists != "-" and not self.lists.endswith(_LINES):
            return load_topics(self.lists), sources
        ((file,),) = inputs([self.lists])
        topics, groups, ignored = _of_lines(file)
        if ignored:
            output.notice(f"notice: keys that an audit does not read: {few(ignored)}")
        name = "standard input" if self.lists == "-" else Path(self.lists).name
        return TopicSet(topics, name=name), sources or groups or None

    def _content(self, made: Audit, written: Sequence[Path], problems: Sequence[str]) -> dict[str, object]:
        """Document that --json prints."""
        (table,), (compared,) = made.tables, made.differences
        scores = {record["ranker"]: record["per_topic"] for record in table.records}
        content = {
            "advice": asdict(made.advice),
            "lists": table.tested,
            "measures": table.measures,
            "depths": {
                depth: {name: dict(zip(("mean", "low", "high"), own, strict=True)) for name, own in values.items()}
                for depth, values in made.depths.items()
            },
            "actions": {row.ranker: {"means": row.means, "intervals": row.intervals} for row in table.rows},
            "differences": [asdict(each) | {"verdict": each.verdict} for each in compared],
            "problems": problems,
            "written": [str(path) for path in written],
        }
        return content | ({"per_topic": scores} if self.per_topic else {})

    def _tables(self, made: Audit, output: Output) -> None:
        """Print tables to read."""
        (table,) = made.tables
        where = "--markdown FILE, --json"
        output.table("The lists by depth: mean [95%]", *made.depth_cells(), elsewhere=where)
        about = "Means minus those of the lists as they are; moved counts ranks with another document."
        about += (
            f" Equal to the order or to a row above, so not shown: {', '.join(made.repeated)}." if made.repeated else ""
        )
        output.table(f"What actions change on {table.tested} lists", *made.change_cells(), about, elsewhere=where)
        if self.per_topic:
            (order,) = (record["per_topic"] for record in table.records if record["ranker"] == "order")
            rows = [
                [query_id, *(f"{values[name]:.3f}" for name in table.measures)] for query_id, values in order.items()
            ]
            output.table("Each list as it is", ["topic", *table.measures], rows, elsewhere=where)
        output.text(made.advice.sentence)


def _of_lines(file: str | os.PathLike[str]) -> tuple[list[Topic], dict[str, object], list[str]]:
    """Topics of JSON lines, the sources of their documents, and keys that were ignored.

    Raises:
        ValueError: a line that makes no topic (the message gives its number), or a document with two sources.
    """
    topics, sources, ignored = list[Topic](), dict[str, object](), dict[str, None]()
    for number, line in numbered_lines(file, "lists"):
        if not line.strip():
            continue
        try:
            content = content_of(line)
            ignored |= dict.fromkeys(key for key in content if key not in (*_FEATURES, "groups"))
            given = known({key: content[key] for key in (*_FEATURES, "groups") if key in content})
            groups = given.pop("groups", None)
            if given["doc_ids"]:
                topics.append(topic_of(given)[0])
                sources |= _sources(given["doc_ids"], groups, sources)
        except (ValueError, TypeError) as error:
            raise ValueError(f"line {number}: {error}") from error
    return topics, sources, list(ignored)


def _sources(doc_ids: Sequence[object], groups: object, earlier: dict[str, object]) -> dict[str, object]:
    """Source of each document of a line.

    Raises:
        ValueError: more or fewer groups than documents, or another source than in an earlier line.
    """
    if groups is None:
        return {}
    if not isinstance(groups, list) or len(groups) != len(doc_ids):
        raise ValueError(f"groups: expected a list of {len(doc_ids)}, one per document, got {shown(groups)}")
    found = {str(doc_id): group for doc_id, group in zip(doc_ids, groups, strict=True) if group is not None}
    for doc_id, group in found.items():
        if earlier.get(doc_id, group) != group:
            raise ValueError(
                f"document {shown(doc_id)} has the groups {shown(earlier[doc_id])} and {shown(group)}; give each "
                "document one id in all lines"
            )
    return found


def _judged(topics: TopicSet, qrels: Qrels) -> TopicSet:
    """The topics with these judgments and no others.

    Raises:
        ValueError: none of the lists is judged.
    """
    if qrels.topics.keys().isdisjoint(topics.query_ids):
        raise ValueError(
            f"qrels judge none of the {len(topics)} lists: they have queries {few(list(qrels.topics))}, the lists "
            f"{few(list(topics.query_ids))}; give the qrels of these queries"
        )
    made = [(topic, judged_fields(qrels.topics.get(topic.query_id), topic.doc_ids)) for topic in topics]
    return topics.replace(replace(bare(topic), **fields) for topic, fields in made)
