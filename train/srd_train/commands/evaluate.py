"""`srd evaluate`: score a TREC run against diversity qrels; needs no vectors and no torch."""

from __future__ import annotations

from dataclasses import dataclass

from srd_gym.measures import evaluate_run
from srd_gym.trec_files import read_qrels, read_run
from srd_train.commands.console import DEFAULT_MEASURES, Files, Measures, Output


@dataclass(frozen=True, kw_only=True)
class Evaluate:
    """Score a TREC run against diversity qrels, equal to the official tool ndeval.

    Means are over all judged topics: one without a ranking counts 0. Several files are parts of one run or one qrels.

    Example:
      srd evaluate --qrels 2009.qrels.gz 2010.qrels.gz --run a.run b.run --measures alpha_nDCG@10 NRBP
    """

    qrels: Files
    """Diversity judgments: lines "topic subtopic document judgment", plain or gzip."""
    run: Files
    """Rankings: lines "topic Q0 document rank score tag", plain or gzip."""
    measures: Measures = DEFAULT_MEASURES
    """What to compute, e.g. "alpha_nDCG(alpha=0.5)@10"; the result names each as typed here."""
    per_topic: bool = False
    """Show every topic's values too."""
    present_only: bool = False
    """Average over the topics that the run ranks only (what pyndeval does)."""
    trust: bool = False
    """Let --measures run code: "module:NAME@k", a measure of one's own."""
    json: bool = False
    """Print JSON: measures (name -> mean), topics, missing, and with --per-topic per_topic."""

    def execute(self, output: Output) -> int:
        """Score and show.

        Raises:
            FileNotFoundError: a file that is not there.
            ValueError: an unknown measure, a malformed line (the message gives file and line), a query in two files.
        """
        if not self.measures:
            raise ValueError("no measure named; expected at least one after --measures, such as alpha_nDCG@10")
        if any(":" in name for name in self.measures):
            # Imported here: with the agents the command takes twice as long to start.
            from srd_agents.registry import import_own

            import_own(self.measures, trust=self.trust)
        evaluation = evaluate_run(read_qrels(self.qrels), read_run(self.run), self.measures)
        if not evaluation.per_topic:
            raise ValueError("no topic is judged in the qrels; expected at least one line with a judgment")
        means = evaluation.mean(present_only=self.present_only)
        if self.json:
            counts = {"topics": evaluation.topics, "missing": evaluation.missing}
            output.data({"measures": means, **counts} | ({"per_topic": evaluation.per_topic} if self.per_topic else {}))
            return 0
        over = "ranked topics only" if self.present_only else "all judged topics, a missing ranking counts 0"
        left_out = f"; {len(evaluation.unjudged)} rankings of unjudged topics left out" if evaluation.unjudged else ""
        caption = (
            f"{evaluation.topics} judged topics, {evaluation.missing} missing; means over {over}; ideal of the pool"
            f"{left_out}"
        )
        if self.per_topic:
            scores = {**evaluation.per_topic, "mean": means}
            rows = [[name, *(f"{values[m]:.4f}" for m in means)] for name, values in scores.items()]
            output.table("Scores by topic", ["topic", *means], rows, caption)
        else:
            rows = [[name, f"{value:.4f}"] for name, value in means.items()]
            output.table("Scores", ["measure", "mean"], rows, caption)
        return 0
