"""`srd data minari`: episodes of a ranker as a Minari data set, for offline reinforcement learning."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import tyro

from srd_agents.own_code import import_own
from srd_gym.offline import EpsilonPolicy
from srd_gym.offline.minari_data import collect_minari
from srd_train.commands.console import Output
from srd_train.serving.models import load_with_options


@dataclass(frozen=True, kw_only=True)
class MinariData:
    """Save episodes of a ranker as a Minari data set, Farama's format for offline reinforcement learning.

    Minari's own collector plays the episodes in SRD-v0 and writes them below MINARI_DATASETS_PATH (default:
    ~/.minari/datasets). Reading them needs Minari alone. With this package, `recover_environment` makes the
    environment, in which an episode's seed and actions replay its rewards.

    Example:
      srd data minari mmr --topics synthetic:serp --id srd/serp/mmr-v0
    """

    ranker: tyro.conf.Positional[str]
    """Model folder, "pretrained:NAME" or a ranker that needs no training; with options as "mmr(lambda_=0.3)"."""
    topics: str
    """Topics: file (Parquet), "words", or "synthetic:PRESET[:TOPICS[:SEED]]"."""
    id: str
    """Id of the data set: NAMESPACE/NAME-vNUMBER."""
    episodes: int = 1000
    """Episodes to play."""
    epsilon: float = 0.0
    """Probability that a rank takes a random document, 0 to 1."""
    reward: str = "alpha_DCG"
    """Reward: a measure, or users as "Clicks(model='dbn')"."""
    horizon: int = 10
    """Ranks of an episode."""
    observation: Literal["full", "compact"] = "full"
    """"compact" keeps the topic's index in place of vectors: smaller, and of use only with the topics."""
    seed: int = 0
    """Random seed; episode i is reset with seed + i."""
    trust: bool = False
    """Let a ranker of your own run: "module:Class", or a folder trained from one."""
    json: bool = False
    """Print JSON about the data set."""

    def execute(self, output: Output) -> int:
        """Play and keep.

        Raises:
            ImportError: Minari is not installed.
            FileNotFoundError, ValueError: topics, a ranker or an id that cannot be used.
        """
        import_own([self.ranker, self.reward], trust=self.trust)
        ranker = load_with_options(self.ranker, self.seed, trust=self.trust).ranker
        with output.progress(f"playing {self.ranker}", self.episodes) as advance:
            made = collect_minari(
                self.id,
                ranker,
                topics=self.topics,
                episodes=self.episodes,
                policy=EpsilonPolicy(self.epsilon),
                seed=self.seed,
                about={
                    "algorithm_name": self.ranker,
                    "author": "srd_gym",
                    "description": f"{self.ranker} on {self.topics}, epsilon {self.epsilon:g}, reward {self.reward}",
                },
                told=advance,
                reward=self.reward,
                horizon=self.horizon,
                observation=self.observation,
            )
        about = {"id": self.id, "episodes": int(made.total_episodes), "steps": int(made.total_steps)}
        output.outcome(about, f"{self.id}: {made.total_episodes} episodes, {made.total_steps} steps")
        return 0
