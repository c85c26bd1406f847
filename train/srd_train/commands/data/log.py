"""`srd data log`: what a ranker shows simulated users and what they click, with propensities."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import ClassVar

import tyro

from srd_gym.checks import check_integer
from srd_gym.core.users import users_from
from srd_gym.data import load_topics
from srd_gym.offline import EpsilonPolicy, logged_parts, write_log
from srd_gym.offline.log import parts_folder
from srd_train.commands.console import Output
from srd_train.commands.options import File
from srd_train.experiment.lock import locked
from srd_train.serving.models import load_with_options


@dataclass(frozen=True, kw_only=True)
class LogData:
    """Log the lists that an exploring ranker shows to simulated users, with propensities and clicks.

    Each episode draws a topic and a user. Each rank shows the ranker's best document that is left, or with probability
    epsilon a random one. The same command continues an interrupted log, if topics and the ranker's order are the same.

    Columns of the log (Parquet), one row per episode:
      query_id            the topic
      shown               document ids, best first
      propensities        of each document, given those above it
      slot_propensities   of each document at its rank, over all lists
      ranking_propensity  of the whole list
      clicks              1 where the user clicked

    Example:
      srd data log mmr --topics synthetic:serp --epsilon 0.1 --out logs.parquet
    """

    OURS: ClassVar = b"PAR1"

    ranker: tyro.conf.Positional[str]
    """Model folder, "pretrained:NAME" or a ranker that needs no training; with options as "mmr(lambda_=0.3)"."""
    topics: str
    """Judged topics: file (Parquet), "words", or "synthetic:PRESET[:TOPICS[:SEED]]"."""
    out: File
    """The log to write."""
    episodes: int = 10_000
    """Number of lists to show."""
    epsilon: float = 0.1
    """Probability that a rank shows a random document, 0 to 1."""
    top_n: int | None = None
    """Show only the ranker's first N documents (default: all)."""
    k: int = 10
    """Documents per list."""
    users: str = "Clicks"
    """Click model, as "Clicks(model='dbn', patience=0.9)". Clicks alone: cascade users."""
    seed: int = 0
    """Random seed of topics, users and exploration."""
    force: bool = False
    """Replace a log of other settings, of other topics, or of a model that was trained again since."""
    trust: bool = False
    """Let a ranker of your own run: "module:Class", or a folder trained from one."""
    json: bool = False
    """Print JSON about the log written."""

    def execute(self, output: Output) -> int:
        """Log.

        Raises:
            FileNotFoundError, ValueError: topics or a ranker that cannot be used, another log at `out`, or another
                command that writes to it.
        """
        check_integer("--episodes", self.episodes, 1)
        users = users_from(self.users)
        if users is None:
            raise ValueError(f"--users must be Clicks or Clicks(option=value, ...), got {self.users!r}")
        model, topics = load_with_options(self.ranker, self.seed, trust=self.trust), load_topics(self.topics)
        policy = EpsilonPolicy(self.epsilon, self.top_n)
        said = {name: getattr(self, name) for name in ("epsilon", "top_n", "k", "seed", "episodes")}
        about = {"topics": topics.name, "fingerprint": topics.fingerprint, "users": str(users)}
        header = {"ranker": self.ranker, **about, **said}
        parts = logged_parts(model.ranker, topics, users, policy, depth=self.k, episodes=self.episodes, seed=self.seed)
        waiting = parts_folder(self.out)
        with locked(waiting), output.progress(f"logging {self.ranker}", self.episodes) as advance:
            try:
                new = write_log(self.out, parts, header, advance, force=self.force)
            except KeyboardInterrupt as stop:
                stop.add_note(f"to go on, run the same command again: finished parts wait in {waiting}")
                raise
        with contextlib.suppress(OSError):  # there is none, or something else is in it
            waiting.rmdir()
        text = f"{self.out}: {self.episodes} episodes{'' if new else ', written before'}"
        output.outcome({"file": str(self.out), "new": new, **header}, text)
        return 0
