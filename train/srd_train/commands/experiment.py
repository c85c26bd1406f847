"""`srd experiment`: from a run, queries, judgments and texts to the table and page of a benchmark, in one command.

It only writes a topic file and a recipe; `srd data build trec`, `srd benchmark` and `srd report` do the rest.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

from srd_agents.pipeline.naming import Namer
from srd_gym.checks import check_integer
from srd_gym.data import read_topics, write_topics
from srd_gym.data.fusion import FUSIONS, Fusion
from srd_gym.data.queries import read_queries
from srd_gym.data.splits import read_folds
from srd_gym.files import written_atomically
from srd_gym.measures import LabelFree, parse_measure
from srd_gym.measures.ad_hoc import AdHoc
from srd_gym.reading import few
from srd_gym.topic import TopicSet
from srd_gym.trec_files import Order
from srd_train.commands.benchmark import Benchmark
from srd_train.commands.console import Output
from srd_train.commands.data.build import RUNS, Trec, run_names
from srd_train.commands.options import Files, Folder, SomeFile
from srd_train.commands.report import Report
from srd_train.commands.runs import named_run
from srd_train.experiment.recipe import RankerEntry

ORDER = "retrieval-order"
"""The row that all others are tested against: the run itself."""
MINILM = "model:sentence-transformers/all-MiniLM-L6-v2"


@dataclass(frozen=True, kw_only=True)
class Experiment:
    r"""Diversify a run with several rankers and compare them: writes topics, recipe, table and page.

    Rankers are tuned, and trained, on the training and validation queries of each fold; each query is tested once.
    The recipe is a file to read and to edit; `srd benchmark` runs it again. The same command continues an interrupted
    experiment.

    Examples:
      srd experiment --run my.run --topics queries.tsv --qrels my.qrels \
          --corpus corpus.jsonl --out mine
      srd experiment --run my.run --topics web.xml --qrels my.qrels \
          --corpus corpus.jsonl --rankers mmr,xquad,safe,reinforce --out mine
      srd experiment --run my.run --topics queries.tsv --qrels my.qrels \
          --vectors docs.npz --subtopics named.jsonl --rankers xquad,pm2 \
          --out mine
      srd experiment --run bm25.run dense.run --fuse rrf --topics q.tsv \
          --qrels my.qrels --corpus corpus.jsonl --out fused
    """

    run: Files
    """The retrieval run: candidates and their scores. Several files are parts of one run."""
    fuse: Fusion | None = None
    """Take the files of --run as several runs, [NAME=]FILE[,FILE], and fuse them: by reciprocal ranks, CombSUM or
    CombMNZ."""
    order: Order = "score"
    """Order of a run: by score, by its rank column (as many published runs need), or as pyndeval; see srd compare."""
    qrels: Files
    """Diversity judgments: lines "topic subtopic document judgment"."""
    out: Folder
    """Folder to write: topics.parquet, recipe.toml, results, table.md, table.tex and report.html."""
    topics: Files = ()
    """Queries, which --vectors of texts need: lines id<TAB>text or id:text, JSON lines (BEIR, MS MARCO), TREC <top> or
    Web Track XML."""
    corpus: Annotated[Files, tyro.conf.arg(aliases=["--texts"])] = ()
    """Texts of the documents: JSON lines in BEIR's format. A document that is in none has an empty text."""
    subtopics: Files = ()
    """Named subtopics, for xquad and the like: lines query<TAB>subtopic<TAB>text or query<TAB>text, or JSON lines
    {"query_id": ..., "subtopics": [...]}; in place of those of Web Track XML."""
    namer: Annotated[Path | None, tyro.conf.arg(metavar="DIR")] = None
    """A language model for transformers, in a folder, that names the subtopics of --topics: subtopics.jsonl in --out
    keeps them, to read and edit."""
    vectors: Annotated[str, tyro.conf.arg(metavar="lsa|minilm|model:NAME|FILE|runs")] = "lsa"
    """Embeddings. lsa: fitted on the texts of each fold's training queries. minilm, model:NAME: of a
    sentence-transformers model. FILE: by document id; an .npz may hold those of queries and subtopics, too. runs: no
    texts, but ranks and scores of the runs that --fuse fuses; each run, and each fusion, is a row of the table."""
    query_vectors: SomeFile = None
    """Embeddings by query id or query text, beside --vectors FILE."""
    missing: Literal["error", "drop"] = "error"
    """Treatment of documents without an embedding: stop, or drop them, and queries that are left without any."""
    candidates: Annotated[int | None, tyro.conf.arg(metavar="N")] = None
    """Keep the first N candidates of each query (default: all); training takes longer with more."""
    rankers: Annotated[str, tyro.conf.arg(metavar="NAME[,NAME]...")] = "mmr,safe"
    """Rankers to compare with the run, by their names in the registry."""
    measures: Annotated[Sequence[str], tyro.conf.arg(metavar="NAME...", constructor=list)] = (
        *("alpha_nDCG@10", "ERR_IA@10", "StRecall@10"),
    )
    """Measures of the table. The first one is tested. Options are chosen by the first one that is neither of
    ir_measures (nDCG@10) nor label-free (ILS@10), else by alpha_nDCG@10."""
    folds: Annotated[int, tyro.conf.arg(metavar="N")] = 5
    """Number of folds to draw."""
    folds_file: SomeFile = None
    """Published test sets in place of drawn folds, all of them: lines "fold1: [2, 7, ...]" of query ids."""
    seeds: Annotated[int, tyro.conf.arg(metavar="N")] = 1
    """Seeds of learners. 1: one for each fold, another in each. More: as many in every fold."""
    jobs: Annotated[int, tyro.conf.arg(metavar="N")] = 1
    """Number of processes on this machine, with one thread each."""
    write_only: bool = False
    """Write the topics and the recipe, and run nothing."""

    def execute(self, output: Output) -> int:
        """Build, write, run, report.

        Returns:
            The exit code of the benchmark.

        Raises:
            FileNotFoundError, ValueError: a file that is missing or of another form, an unknown ranker or measure, a
                ranker that needs named subtopics where a query has none, or a recipe that was edited.
        """
        rows = self._rows()
        file, recipe, results = (self.out / name for name in ("topics.parquet", "recipe.toml", "results"))
        folds = self._number_of_folds()
        made = recipe.is_file() and file.is_file()  # how deep it ranks may depend on the topics
        if made and recipe.read_text(encoding="utf-8") != "\n".join(self._recipe(rows, folds, file)):
            raise ValueError(
                f"{recipe} is there and differs from what this command writes: run it by srd benchmark {recipe} --out "
                f"{results}, or give another folder as --out"
            )
        self._build(file, self._subtopics(output)).execute(output)
        topics = read_topics(file)
        if unjudged := [topic.query_id for topic in topics if not topic.labelled]:
            output.notice(
                f"notice: {len(unjudged)} queries of the run are not judged and are left out: {few(unjudged)}"
            )
            topics = topics.replace(topic for topic in topics if topic.labelled)
            write_topics(file, topics)
        _check_subtopics(rows, topics, made=self.vectors == "lsa")
        with written_atomically(recipe) as temporary:
            temporary.write_text("\n".join(self._recipe(rows, folds, file)), encoding="utf-8")
        output.notice(f"{recipe}: run it again by srd benchmark {recipe} --out {results}")
        if self.write_only:
            return 0
        markdown, latex = self.out / "table.md", self.out / "table.tex"
        run = Benchmark(recipe=str(recipe), out=results, jobs=self.jobs, markdown=markdown, latex=latex)
        code = run.execute(output)
        return Report(results=results, out=self.out / "report.html").execute(output) or code

    def _rows(self) -> tuple[RankerEntry, ...]:
        """The rankers, the run before them; unknown names and measures are refused before files are read."""
        check_integer("--seeds", self.seeds, 1)
        if self.candidates is not None:
            check_integer("--candidates", self.candidates, 1)
        for name in self.measures:
            parse_measure(name)
        names = [name.strip() for name in self.rankers.split(",")]
        rows = tuple(RankerEntry(ranker=name) for name in dict.fromkeys([ORDER, *names]))
        if self.vectors != RUNS:
            return rows
        columns = [name for name in (*FUSIONS, *run_names(self.run)) if name != self.fuse]
        single = (RankerEntry(ranker=ORDER, name=name, config={"by": name}) for name in columns)
        return (rows[0], *single, *rows[1:])

    def _number_of_folds(self) -> int:
        """The number of folds to draw, or of those in the file."""
        if self.folds_file is None:
            check_integer("--folds", self.folds, 3)
            return self.folds
        folds = len(read_folds(self.folds_file))
        check_integer(f"the number of folds in {self.folds_file}", folds, 3)
        return folds

    def _depth(self, file: Path) -> int:
        """Ranks that the measures see, at least 10; one without a cutoff sees the longest list of candidates."""
        cutoffs = [parse_measure(name).cutoff for name in self.measures]
        longest = read_topics(file).max_candidates if None in cutoffs and file.is_file() else 0
        return max(10, min(longest, self.candidates or longest), *filter(None, cutoffs))

    def _subtopics(self, output: Output) -> Files:
        """The files of named subtopics: those given, or the one with what the model names, now or before."""
        if self.namer is None:
            return self.subtopics
        if self.subtopics or not self.topics:
            raise ValueError("--namer names subtopics of --topics: give these, and leave --subtopics out")
        file = self.out / "subtopics.jsonl"
        if not file.is_file():
            queries = read_queries(self.topics)
            named = Namer(self.namer).many([query.query_text for query in queries.values()])
            with written_atomically(file) as temporary, temporary.open("w", encoding="utf-8") as stream:
                for query_id, names in zip(queries, named, strict=True):
                    stream.write(json.dumps({"query_id": query_id, "subtopics": names}, ensure_ascii=False) + "\n")
        output.notice(f"{file}: subtopics that {self.namer} named")
        return (str(file),)

    def _build(self, file: Path, subtopics: Files) -> Trec:
        """The command that makes the topic file."""
        vectors = {"lsa": None, "minilm": MINILM}.get(self.vectors, self.vectors)
        if (vectors is None or vectors.startswith("model:")) and not (self.corpus and self.topics):
            raise ValueError(f"--vectors {self.vectors} are of texts: give --topics and --corpus, or --vectors FILE")
        names = ("run", "fuse", "order", "topics", "qrels", "query_vectors", "missing")
        own: Any = {name: getattr(self, name) for name in names}
        return Trec(**own, subtopics=subtopics, texts=self.corpus, vectors=vectors, out=file)

    def _recipe(self, rows: Sequence[RankerEntry], folds: int, file: Path) -> Iterator[str]:
        """The lines of the recipe."""
        names = [row.name for row in rows]
        runs = few([named_run(run).name or Path(run).name for run in self.run]) + (
            f" ({self.fuse})" if self.fuse else ""
        )
        yield f"# Written by srd experiment; srd benchmark {file.with_name('recipe.toml')} --out FOLDER runs it again."
        yield f"title = {_toml(f'Rankers on {runs}')}"
        yield f'about = "The candidates of a run, {folds}-fold cross-validation by query."'
        yield f"reference = {_toml(ORDER)}"
        yield from ('second_reference = "mmr"',) if "mmr" in names else ()
        yield f"measures = {_toml(self.measures)}"
        choosing = (name for name in self.measures if not isinstance(parse_measure(name), AdHoc | LabelFree))
        yield f"select_by = {_toml(next(choosing, 'alpha_nDCG@10'))}"
        if (depth := self._depth(file)) > 10:
            yield f"depth = {depth}  # documents ranked per query"
        yield f"seeds = {_toml(range(folds if self.seeds == 1 else self.seeds))}"
        yield from ("", "[[topics]]", f"name = {_toml(runs)}", f"source = {_toml(file.as_posix())}")
        if self.vectors == "lsa":
            yield 'vectors = "lsa"  # fitted on the training queries of each fold'
        yield from () if self.candidates is None else (f"candidates = {self.candidates}",)
        yield f"folds = {folds}"
        yield from () if self.folds_file is None else (f"folds_file = {_toml(self.folds_file.as_posix())}",)
        if self.seeds == 1:
            yield "one_seed_a_fold = true  # learners: fold 1 has the first seed, fold 2 the second"
        for row in rows:
            yield from ("", "[[rankers]]", f"ranker = {_toml(row.ranker)}")
            if row.name != row.ranker:
                yield f"name = {_toml(row.name)}"
                yield f"config = {{ by = {_toml(row.config['by'])} }}"
            if not row.resolved.spec.trainable and self.seeds > 1:
                yield "seeds = [0]"
            if grid := row.resolved.grid:
                yield "# chosen on the validation queries of each fold:"
                yield f"grid = {{ {', '.join(f'{name} = {_toml(values)}' for name, values in grid.items())} }}"
        yield ""


def _check_subtopics(rows: Sequence[RankerEntry], topics: TopicSet, *, made: bool) -> None:
    """Refuse rankers with explicit subtopics where a query has none, or none with a vector.

    Args:
        rows: the rankers.
        topics: what they are to rank.
        made: whether vectors are made of the texts later.
    """
    wanting = ", ".join(row.name for row in rows if "subtopic vectors" in row.resolved.spec.needs)
    without = [topic.query_id for topic in topics if not any(topic.subtopic_texts or ())]
    if wanting and without:
        raise ValueError(
            f"{wanting}: expected named subtopics of every query, and {len(without):,} of {len(topics):,} have none "
            f"({few(without)}); give --subtopics FILE, --namer DIR, or Web Track XML as --topics"
        )
    lacking = [topic.query_id for topic in topics if topic.subtopic_vectors is None]
    if wanting and lacking and not made:
        raise ValueError(
            f"{wanting}: expected embeddings of every named subtopic, and {len(lacking):,} of {len(topics):,} queries "
            f"lack some ({few(lacking)}); give --vectors lsa or model:NAME, or an .npz that has them"
        )


def _toml(value: Any) -> str:
    """A text, number or list as TOML, which writes these as JSON does."""
    return json.dumps(value if isinstance(value, str) else list(value), ensure_ascii=False)
