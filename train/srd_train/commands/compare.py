"""`srd compare`: TREC runs side by side, scored, tested and shown; needs no vectors and no torch."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, ClassVar, Literal

import tyro

from srd_agents.own_code import import_own
from srd_gym.data import load_topics
from srd_gym.data.queries import TopicText, read_queries
from srd_gym.reading import shown
from srd_gym.run_metadata import read_run_metadata
from srd_gym.topic import TopicSet
from srd_gym.trec_files import Order, Qrels, read_run
from srd_train.commands.console import Output
from srd_train.commands.options import DEFAULT_MEASURES, Files, Measures, SomeFile
from srd_train.commands.runs import NamedRun, inputs, named_run, qrels_of, sources_of, trec_lines, with_vectors
from srd_train.commands.tables import print_table
from srd_train.report.comparison import Comparison, compare
from srd_train.report.differences import Adjust, Test
from srd_train.report.markup import difference_cells, topics_csv
from srd_train.report.tables import Problem

_RUNS = tyro.conf.arg(metavar="[NAME=]FILE[,FILE]...", help_behavior_hint="(required)")


@dataclass(frozen=True, kw_only=True)
class Compare:
    """Compare TREC runs by diversity qrels or a topic file: means, differences, 95% intervals, significance tests.

    Scores are those of `srd evaluate`: means are over all judged topics, and a topic without a ranking counts as an
    empty one. The p values are of paired tests over topics, adjusted over all tests that are shown (--adjust).

    Examples:
      srd compare bm25.run mmr.run mine.run --qrels web.qrels.gz
      srd compare BM25=bm25.2009.run,bm25.2010.run mine.run --qrels *.qrels.gz
      srd compare a.run b.run --qrels web.qrels --baseline b --format latex
      srd compare a.run b.run c.run --qrels q.qrels --pairs --adjust tukey
      srd compare a.run b.run --qrels web.qrels --topics web.xml --out page.html
      srd compare a.run b.run --topics words
    """

    ENDINGS: ClassVar = {"out": (".html", ".htm")}
    runs: Annotated[tyro.conf.Positional[tuple[str, ...]], _RUNS]
    """Two or more runs: lines "topic Q0 document rank score tag", plain, gzip, xz or bz2. Commas join files that are
    parts of one run. NAME= names the run in the tables (default: its file). "-" is standard input. A file whose own
    name holds "=" or "," is read as it is."""
    qrels: Files = ()
    """Diversity judgments: lines "topic subtopic document judgment", plain, gzip, xz or bz2 (several files are parts
    of one), or "ir-datasets:ID", a dataset of the library ir_datasets."""
    order: Order = "score"
    """Order of a run: by score, as trec_eval and ndeval -traditional; by its rank column, as ndeval; or as pyndeval."""
    weights: Files = ()
    """Intent probabilities for --qrels: lines "topic subtopic weight". Without them each subtopic counts 1."""
    baseline: Annotated[str | None, tyro.conf.arg(metavar="NAME")] = None
    """Run to test the others against, as written above or by its name in the table (default: the first)."""
    pairs: bool = False
    """Test all pairs of runs, not only each against the baseline."""
    test: Test = "t"
    """Significance test: paired t-test, or paired randomisation test (exact, or by 100,000 samples)."""
    adjust: Adjust = "all"
    """Family of the tests: Holm's adjustment over all that are shown, or by measure; none; or Tukey's HSD (--pairs)."""
    measures: Measures = DEFAULT_MEASURES
    """Measures to compute. The first one orders the rows. Label-free ones (srd evaluate --help) need --topics."""
    sources: SomeFile = None
    """Source of documents, for sources@k and top_source@k: lines "document<TAB>source"."""
    ranked_topics_only: bool = False
    """Count only the topics that every run ranks."""
    per_topic: bool = False
    """Also show the first measure topic by topic (every measure with --json and --format csv or trec)."""
    format: Literal["table", "markdown", "csv", "latex", "trec"] = "table"
    """Format of the output: tables to read, Markdown, CSV, LaTeX (booktabs), or trec: lines "measure topic value"."""
    topics: Annotated[Files, tyro.conf.arg(metavar="FILE|NAME...")] = ()
    """Texts for the page: queries (id<TAB>text, id:text, JSON lines, TREC or Web Track topics), or a topic file:
    Parquet, "words" or "synthetic:PRESET[:TOPICS[:SEED]]". Without --qrels, its labels score the runs."""
    out: SomeFile = None
    """Also write one HTML page with the tables, all topics and the rankings."""
    markdown: SomeFile = None
    """Also write the tables as Markdown."""
    latex: SomeFile = None
    """Also write the tables as LaTeX."""
    csv: SomeFile = None
    """Also write means and differences as CSV."""
    trust: bool = False
    """Let --measures run code: "module:NAME@k", a measure of your own."""
    json: bool = False
    """Print JSON: the figures of each run, its header (srd rank --actor), the problems, and what was written."""

    def execute(self, output: Output) -> int:
        """Score, test and show.

        Raises:
            FileNotFoundError: a file that is not there.
            ValueError: fewer than two runs, one of them twice, an unknown reference or measure, a malformed line.
            ImportError: scipy, or for the page jinja2, is not installed.
        """
        import_own(self.measures, trust=self.trust)
        named = _named([named_run(word) for word in self.runs], output)
        texts = _texts(self.topics)
        qrels, *runs = inputs(self.qrels, *(run.files for run in named.values()))
        judged = qrels_of(qrels, self.weights) if qrels else None if self.weights else texts
        if not isinstance(judged, Qrels | TopicSet):
            raise ValueError(
                "runs are compared by --qrels FILE, which --weights and query texts need too, or by the labels of a "
                "topic file, --topics FILE; expected one of the two"
            )
        if isinstance(judged, TopicSet):
            judged = with_vectors(judged, self.measures)
        made = compare(
            judged,
            {name: read_run(files, order=self.order) for name, files in zip(named, runs, strict=True)},
            self.measures,
            reference=next((name for name, run in named.items() if self.baseline == run.word), self.baseline),
            pairs=self.pairs,
            test=self.test,
            adjust=self.adjust,
            topics=texts,
            ranked_topics_only=self.ranked_topics_only,
            sources=sources_of(self.sources),
        )
        metadata = {name: own for name, files in zip(named, runs, strict=True) if (own := read_run_metadata(files[0]))}
        written, problems = made.write(html=self.out, markdown=self.markdown, latex=self.latex, csv=self.csv)
        if self.json:
            output.data(self._content(made, problems, written) | {"metadata": metadata})
            return 0
        if self.format == "table":
            self._tables(made, output)
        else:
            output.text(self._text(made).removesuffix("\n"))
        headers = (_told(name, own) for name, own in metadata.items())
        for said in (*headers, *(f"notice: {problem}" for problem in problems), *map(str, written)):
            output.notice(said)
        return 0

    def _content(self, made: Comparison, problems: Sequence[Problem], written: Sequence[Path]) -> dict[str, object]:
        """Document that --json prints."""
        (table,), (compared,) = made.tables, made.differences
        figures = ("means", "intervals", "p_value", "verdict", "wins_ties_losses")
        content = {
            "reference": table.reference,
            "measures": table.measures,
            "topics": table.tested,
            "runs": {row.ranker: {name: getattr(row, name) for name in figures} for row in table.rows},
            "differences": [asdict(each) | {"verdict": each.verdict} for each in compared],
            "test": made.test,
            "adjust": made.adjust,
            "problems": [asdict(problem) for problem in problems],
            "written": [str(path) for path in written],
        }
        return content | ({"per_topic": _scores(made)} if self.per_topic else {})

    def _tables(self, made: Comparison, output: Output) -> None:
        """Print tables to read."""
        (table,), (compared,) = made.tables, made.differences
        print_table(table, output, "")
        output.table("Differences", *difference_cells(compared), made.legend, texts=2)
        if self.per_topic:
            first, scores = table.measures[0], _scores(made)
            rows = [
                [query_id, *(f"{of_run[query_id][first]:.4f}" for of_run in scores.values())]
                for query_id in next(iter(scores.values()))
            ]
            output.table(f"{first} by topic", ["topic", *scores], rows)

    def _text(self, made: Comparison) -> str:
        """Text that --format prints."""
        if self.format == "markdown":
            return made.markdown()
        if self.format == "latex":
            return made.latex()
        if self.format == "csv" and not self.per_topic:
            return made.csv()
        if self.format == "csv":
            return topics_csv(made.tables)
        (table,) = made.tables
        means = {row.ranker: row.means for row in table.rows}
        return "".join(
            trec_lines(scores if self.per_topic else {}, means[name], name) for name, scores in _scores(made).items()
        )


def _scores(made: Comparison) -> dict[str, dict[str, dict[str, float]]]:
    """Run -> topic -> measure -> value."""
    return {record["ranker"]: record["per_topic"] for record in made.tables[0].records}


def _told(name: str, metadata: Mapping[str, object]) -> str:
    """Who made a run, with what and when, as far as its header says."""
    actor, method = metadata.get("actor"), metadata.get("method")
    who = actor.get("name") if isinstance(actor, Mapping) else actor
    what = method.get("retrieval") if isinstance(method, Mapping) else method
    parts = {"tag": metadata.get("tag"), "actor": who, "date": metadata.get("date"), "method": what}
    return f"{name}: " + "; ".join(f"{key}: {shown(value)}" for key, value in parts.items() if value)


def _named(runs: Sequence[NamedRun], output: Output) -> dict[str, NamedRun]:
    """The runs by name: the one given, else that of their files.

    Raises:
        ValueError: a run or a name that is given twice.
    """
    run_of: dict[tuple[Path, ...], NamedRun] = {}
    for run in runs:
        if run_of.setdefault(tuple(Path(file).resolve() for file in run.files), run) is not run:
            raise ValueError(f"{run.word} is given twice; expected each run once")
    often = Counter(run.name or run.file_name for run in runs)
    names = [run.name or (run.file_name if often[run.file_name] == 1 else run.word) for run in runs]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"two runs have the name {name}; join the files of one run by commas: {name}=FILE,FILE")
    if any(name == run.word != run.file_name for name, run in zip(names, runs, strict=True)):
        output.notice("notice: some runs have files of one name; the table calls each by its path")
    return dict(zip(names, runs, strict=True))


def _texts(paths: Sequence[str]) -> TopicSet | Mapping[str, TopicText] | None:
    """The topics or texts of the topic files, if any are given."""
    if len(paths) == 1 and (Path(paths[0]).suffix == ".parquet" or re.match("words$|synthetic:", paths[0])):
        return load_topics(paths[0])
    return read_queries(paths) if paths else None
