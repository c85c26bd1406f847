"""`srd ope`: the value of rankers from the log of another one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Annotated, Any

import tyro

from srd_agents.own_code import import_own
from srd_gym.data import load_topics
from srd_gym.offline import Log, evaluate_offline, read_log
from srd_gym.offline.estimators import ESTIMATORS, FEWEST_EFFECTIVE, unsupported
from srd_gym.protocols import Ranker
from srd_train.commands.console import Output
from srd_train.commands.options import File
from srd_train.serving.models import load_with_options

_UNSUPPORTED = 0.01
"""Share of a ranker's places without support above which no estimate of it has an interval."""


@dataclass(frozen=True, kw_only=True)
class Ope:
    r"""Estimate each ranker's clicks per list from the log of another ranker (off-policy evaluation).

    Intervals come from a bootstrap over episodes. There is none ("-") below 100 effective episodes, and where the log
    cannot have shown what the ranker shows.

    Estimators and their assumptions:
      ips             none
      snips           none; a small bias
      cascade-dr      clicks depend on the documents above
      item-position   clicks depend on the document and its rank alone
      pseudo-inverse  a list's value is a sum over its ranks

    Example:
      srd ope --logs logs.parquet --topics synthetic:serp \
          --ranker mmr --ranker relational-pretrained
    """

    logs: File
    """The log (Parquet), from `srd data log` or your own, with columns query_id, shown (document ids), propensities
    and clicks, and optionally slot_propensities."""
    topics: str
    """The topics that were logged: file (Parquet), "words", or "synthetic:PRESET[:TOPICS[:SEED]]"."""
    ranker: Annotated[tyro.conf.UseAppendAction[list[str]], tyro.conf.arg(metavar="DIR|RANKER")]
    """Model folder, "pretrained:NAME" or a ranker that needs no training, with options as "mmr(lambda_=0.3)". Repeat it
    for each ranker."""
    estimators: Annotated[Sequence[str], tyro.conf.arg(metavar="NAME...", constructor=list)] = ()
    """Estimators (default: all that the log permits; pseudo-inverse only up to 50 candidates)."""
    epsilon: float = 0.0
    """Exploration of the evaluated rankers, 0 to 1; 0 is none."""
    clip: float | None = None
    """Largest importance weight; larger ones are cut (default: no limit)."""
    level: float = 0.95
    """Confidence level of the intervals."""
    resamples: int = 1000
    """Number of bootstrap samples."""
    seed: int = 0
    """Random seed of the bootstrap."""
    trust: bool = False
    """Let rankers of your own run: "module:Class", or folders trained from one."""
    json: bool = False
    """Print JSON."""

    def execute(self, output: Output) -> int:
        """Estimate.

        Raises:
            FileNotFoundError, ValueError: a log, topics or rankers that cannot be used.
        """
        import_own(list(self.ranker), trust=self.trust)
        topics = load_topics(self.topics)
        log = read_log(self.logs, topics)
        told = []
        with output.progress("estimating", len(self.ranker)) as advance:
            for name in self.ranker:
                ranker = load_with_options(name, self.seed, trust=self.trust).ranker
                told.append(self._told(name, log, ranker, output))
                advance(1)
        if self.json:
            output.data({"log": str(self.logs), "episodes": len(log.clicks), "rankers": told})
            return 0
        logged = float(log.clicks.sum(axis=1).mean())
        output.table(
            "clicks per list",
            ["ranker, estimator", "value", f"{100 * self.level:g}% from", "to", "effective episodes", "mean weight"],
            [
                [f"{each['ranker']}, {row['estimator']}" if len(told) > 1 else row["estimator"],
                 *("-" if row[key] is None else f"{row[key]:.4f}" for key in ("value", "low", "high")),
                 f"{row['effective_sample_size']:.0f}",
                 f"{row['mean_weight']:.3f}"]
                for each in told for row in each["estimates"]
            ],
            f"{len(log.clicks)} episodes, {logged:.4f} clicks on a list shown. A mean weight far from 1 says that the "
            "log does not support the ranker.",
        )  # fmt: skip
        return 0

    def _told(self, name: str, log: Log, ranker: Ranker, output: Output) -> dict[str, Any]:
        """The estimates of one ranker, and notices where the log cannot carry them."""
        found = evaluate_offline(
            log,
            ranker,
            epsilon=self.epsilon,
            estimators=self.estimators,
            clip=self.clip,
            level=self.level,
            resamples=self.resamples,
            seed=self.seed,
        )
        missing = unsupported(log, ranker, self.epsilon)
        if missing > 0:
            output.notice(
                f"notice: {name}: no support for {100 * missing:.1f}% of its places (topic, rank, document); "
                "explore more, log more episodes, or log a ranker closer to it"
            )
        weak = [each for each in ESTIMATORS if each in found and found[each].low is None]
        if weak:
            output.notice(f"notice: {name}: fewer than {FEWEST_EFFECTIVE} effective episodes: {', '.join(weak)}")
        without = {"low": None, "high": None} if missing > _UNSUPPORTED else {}
        estimates = [asdict(each) | without for each in found.values()]
        return {"ranker": name, "unsupported": missing, "estimates": estimates}
