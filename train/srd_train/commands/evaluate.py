"""`srd evaluate`: score a TREC run by diversity qrels or by a topic file; by qrels it needs no vectors and no torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

import tyro

from srd_gym.data.notices import notice
from srd_gym.measures import Evaluation, evaluate_run
from srd_gym.measures.catalogue import only_label_free
from srd_gym.measures.evaluation import cut_short
from srd_gym.trec_files import Order, read_run
from srd_train.commands.console import Output
from srd_train.commands.options import DEFAULT_MEASURES, Files, Measures
from srd_train.commands.runs import inputs, named_run, needs_vectors, qrels_of, sources_of, trec_lines, with_vectors


@dataclass(frozen=True, kw_only=True)
class Evaluate:
    """Score a TREC run by diversity qrels, as ndeval does, or by the labels of a topic file.

    Means are over all judged topics. A topic without a ranking counts as an empty one, which
    has 0 by every measure but VRisk.

    Examples:
      srd evaluate --qrels web.qrels.gz --run my.run --measures alpha_nDCG@10 NRBP
      srd evaluate --qrels 2009.qrels.gz 2010.qrels.gz --run 2009.run 2010.run
      srd evaluate --topics words --run my.run
      zcat my.run.gz | srd evaluate --qrels web.qrels --run mine=-
    """

    run: Annotated[Files, tyro.conf.arg(metavar="[NAME=]FILE...")]
    """Run to score: lines "topic Q0 document rank score tag", plain, gzip, xz or bz2. Several files are parts of one
    run; "-" is standard input. NAME heads the table."""
    qrels: Files = ()
    """Diversity judgments: lines "topic subtopic document judgment", plain, gzip, xz or bz2 (several files are parts of
    one), or "ir-datasets:ID", a dataset of the library ir_datasets."""
    order: Order = "score"
    """Order of a run: by score, as trec_eval and ndeval -traditional; by its rank column, as ndeval; or as pyndeval."""
    weights: Files = ()
    """Intent probabilities for --qrels: lines "topic subtopic weight". Without them each subtopic counts 1."""
    # No None: to look for it in a type, tyro imports a checker of types.
    topics: Annotated[str, tyro.conf.arg(metavar="FILE|NAME")] = ""
    """In place of --qrels: a topic file (Parquet), "words", or "synthetic:PRESET[:TOPICS[:SEED]]". The ideal ranking is
    that of the pool where every judged topic has one, else that of the candidates."""
    measures: Measures = DEFAULT_MEASURES
    """Measures to compute, e.g. "alpha_nDCG(alpha=0.5)@10". The result names each as typed here. Label-free ones
    need --topics: ILS, Vendi, duplicates, sources, top_source, score, moved (@k)."""
    sources: Annotated[str, tyro.conf.arg(metavar="FILE")] = ""
    """Source (site, author, ...) of documents, for sources@k and top_source@k: lines "document<TAB>source"."""
    per_topic: bool = False
    """Also show the values of every topic."""
    ranked_topics_only: bool = False
    """Average over the topics that the run ranks only, as ndeval without -c, and pyndeval."""
    trust: bool = False
    """Let --measures run code: "module:NAME@k", a measure of your own."""
    format: Literal["table", "trec"] = "table"
    """Format of the output: a table, or trec: lines "measure topic value"."""
    json: bool = False
    """Print JSON: measures (name -> mean), topics, missing, with --per-topic per_topic, and run where it has a NAME."""

    def execute(self, output: Output) -> int:
        """Score and show.

        Raises:
            FileNotFoundError: a file that is not there.
            ValueError: an unknown measure, a malformed line (the message gives file and line), a query in two files,
                both --qrels and --topics or neither, or topics without labels.
        """
        if not self.measures:
            raise ValueError("no measure named; expected at least one after --measures, such as alpha_nDCG@10")
        if any(":" in name for name in self.measures):
            # Imported here: with the agents the command takes twice as long to start.
            from srd_agents.own_code import import_own

            import_own(self.measures, trust=self.trust)
        name, evaluation = self._evaluated()
        means = evaluation.mean(ranked_topics_only=self.ranked_topics_only)
        if self.json:
            content: dict[str, object] = {"run": name} if name else {}
            content |= {"measures": means, "topics": evaluation.topics, "missing": evaluation.missing}
            output.data(content | ({"per_topic": evaluation.per_topic} if self.per_topic else {}))
            return 0
        if self.format == "trec":
            output.text(trec_lines(evaluation.per_topic if self.per_topic else {}, means, name).removesuffix("\n"))
            return 0
        judged = "" if only_label_free(self.measures) else "judged "
        over = f"all {judged}topics, a missing ranking counts as empty"
        over = "ranked topics only" if self.ranked_topics_only else over
        left_out = f"; {len(evaluation.unjudged)} rankings of unjudged topics left out" if evaluation.unjudged else ""
        ideal = f"; ideal of the {evaluation.normalizer}" if judged else ""
        caption = (
            f"{evaluation.topics} {judged}topics, {evaluation.missing} missing; means over {over}{ideal}{left_out}"
        )
        scores_of = f"Scores of {name}" if name else "Scores"
        if self.per_topic:
            scores = {**evaluation.per_topic, "mean": means}
            rows = [[name, *(f"{values[m]:.4f}" for m in means)] for name, values in scores.items()]
            output.table(f"{scores_of} by topic", ["topic", *means], rows, caption)
        else:
            rows = [[name, f"{value:.4f}"] for name, value in means.items()]
            output.table(scores_of, ["measure", "mean"], rows, caption)
        return 0

    def _evaluated(self) -> tuple[str | None, Evaluation]:
        """The run's name, where it has one, and its scores."""
        if bool(self.qrels) == bool(self.topics):
            came = "both" if self.qrels else "neither"
            raise ValueError(
                f"a run is scored by --qrels FILE or by --topics FILE; expected one of the two, got {came}"
            )
        if self.weights and not self.qrels:
            raise ValueError("--weights is for --qrels; a topic file has its own subtopic weights")
        parts = [named_run(word) for word in self.run]
        names = list(dict.fromkeys(part.name for part in parts if part.name is not None))
        if len(names) > 1:
            raise ValueError(f"--run is one run, but has the names {', '.join(names)}; to compare runs: srd compare")
        qrels, run = inputs(self.qrels, [file for part in parts for file in part.files])
        name = names[0] if names else None
        ranked = read_run(run, order=self.order)
        if short := cut_short(ranked, self.measures):
            notice(f"{name or 'the run'}: {short}; `srd rank --k` says how many to rank")
        if not self.topics:
            return name, evaluate_run(qrels_of(qrels, self.weights), ranked, self.measures)
        from srd_gym.data import load_topics  # imported here: pyarrow is slow to import

        needed = needs_vectors(self.measures)
        topics = with_vectors(load_topics(self.topics, vectors=needed), self.measures)
        return name, evaluate_run(topics, ranked, self.measures, sources=sources_of(self.sources))
