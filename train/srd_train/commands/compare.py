"""`srd compare`: TREC runs side by side, scored, tested and shown; needs no vectors and no torch."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import tyro

from srd_agents.registry import import_own
from srd_gym.data import load_topics
from srd_gym.data.trec import TopicText, read_topics_xml
from srd_gym.topic import TopicSet
from srd_gym.trec_files import read_qrels, read_run
from srd_train.commands.console import DEFAULT_MEASURES, Files, Measures, Output, SomeFile, SomeText, print_table


@dataclass(frozen=True, kw_only=True)
class Compare:
    """Compare TREC runs by diversity qrels: means with 95% intervals, and tests against one of the runs.

    Scores are those of `srd evaluate`. p is of the paired test over topics of the first measure, Holm-adjusted.
    Means are over all judged topics: one without a ranking counts 0. Join the files of one run with cat.

    Examples:
      srd compare bm25.run mmr.run mine.run --qrels 2009.qrels.gz 2010.qrels.gz
      srd compare a.run b.run --qrels web.qrels --reference b --measures ERR_IA@20 --markdown table.md
      srd compare a.run b.run --qrels web.qrels --topics topics.xml --out page.html
    """

    runs: Annotated[tyro.conf.Positional[tuple[Path, ...]], tyro.conf.arg(metavar="RUN...")]
    """Runs, a file each: lines "topic Q0 document rank score tag", plain or gzip."""
    qrels: Files
    """Diversity judgments: lines "topic subtopic document judgment", plain or gzip; several files are parts of one."""
    reference: SomeText = None
    """The run to test against, by its file or its name in the table; by default the first."""
    measures: Measures = DEFAULT_MEASURES
    """What to compute; the test is on the first."""
    present_only: bool = False
    """Count only the topics that every run ranks."""
    per_topic: bool = False
    """Show the first measure topic by topic too; with --json, every measure."""
    topics: Files = ()
    """Texts for the page: topics XML (several files are parts of one), or a topic file (.parquet)."""
    out: SomeFile = None
    """Also write one HTML page: tables, topic by topic, and the rankings."""
    markdown: SomeFile = None
    """Also write the table as Markdown."""
    latex: SomeFile = None
    """Also write the table as LaTeX (booktabs)."""
    trust: bool = False
    """Let --measures run code: "module:NAME@k", a measure of one's own."""
    json: bool = False
    """Print JSON: the figures of each run, the problems, and what was written."""

    def execute(self, output: Output) -> int:
        """Score, test and show.

        Raises:
            FileNotFoundError: a file that is not there.
            ValueError: fewer than two runs, one of them twice, an unknown reference or measure, a malformed line.
            ImportError: scipy, or for the page jinja2, is not installed.
        """
        from srd_train.report.comparison import compare
        from srd_train.report.markup import legend_of

        import_own(self.measures, trust=self.trust)
        named = _named(self.runs, output)
        made = compare(
            read_qrels(self.qrels),
            {name: read_run(path) for name, path in named.items()},
            self.measures,
            reference=next((name for name, path in named.items() if self.reference == str(path)), self.reference),
            topics=_texts(self.topics),
            present_only=self.present_only,
        )
        written, problems = made.write(html=self.out, markdown=self.markdown, latex=self.latex)
        (table,) = made.tables
        scores = {record["ranker"]: record["per_topic"] for record in table.records}
        if self.json:
            figures = ("means", "intervals", "p_value", "verdict", "wins_ties_losses")
            content = {
                "reference": table.reference,
                "measures": table.measures,
                "topics": table.tested,
                "runs": {row.ranker: {name: getattr(row, name) for name in figures} for row in table.rows},
                "problems": [asdict(problem) for problem in problems],
                "written": [str(path) for path in written],
            }
            output.data(content | ({"per_topic": scores} if self.per_topic else {}))
            return 0
        print_table(table, output, legend_of([table]))
        if self.per_topic:
            first = table.measures[0]
            rows = [
                [query_id, *(f"{of_run[query_id][first]:.4f}" for of_run in scores.values())]
                for query_id in next(iter(scores.values()))
            ]
            output.table(f"{first} by topic", ["topic", *scores], rows)
        for said in (*(f"notice: {problem}" for problem in problems), *map(str, written)):
            output.notice(said)
        return 0


def _named(paths: tuple[Path, ...], output: Output) -> dict[str, Path]:
    """The runs by name: that of the file, without its endings.

    Raises:
        ValueError: a file that is given twice.
    """
    seen: dict[Path, Path] = {}
    for path in paths:
        if seen.setdefault(path.resolve(), path) is not path:
            raise ValueError(f"{path} is given twice; expected each run once")
    named = {re.sub(r"(?<=.)(\.run|\.txt)?(\.gz)?$", "", path.name): path for path in paths}
    if len(named) < len(paths):
        output.notice("notice: some runs have files of one name; the table calls each by its path")
        return {str(path): path for path in paths}
    return named


def _texts(paths: Sequence[str]) -> TopicSet | Mapping[str, TopicText] | None:
    """What the topic files say, if any are given."""
    if len(paths) == 1 and Path(paths[0]).suffix == ".parquet":
        return load_topics(paths[0])
    return read_topics_xml(paths) if paths else None
