"""`make language-models`: the curve of a tiny language model that learns to cover."""

from __future__ import annotations

import platform
from dataclasses import dataclass

from srd_train.commands.console import Output
from srd_train.commands.options import SomeFile
from srd_train.report.markup import markdown, write_page

TITLE = "Known numbers: a tiny language model learns to cover"


@dataclass(frozen=True, kw_only=True)
class LanguageModels:
    """Train a tiny random Llama with TRL's GRPO and the coverage reward, and show its curve; a minute on one core.

    Examples:
      make language-models
      make language-models ARGS="--seeds 0 1 2"
      make language-models ARGS="--markdown docs/language_models.md"
    """

    updates: int = 80
    """Gradient steps."""
    topics: int = 4
    """Generated topics, which are learnt by heart."""
    seeds: tuple[int, ...] = (0,)
    """Of weights and samples: one training each."""
    measure: str = "alpha_nDCG@5"
    """The reward; greedy answers are always evaluated by alpha_nDCG@5."""
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

        learned = [train(topics=self.topics, updates=self.updates, seed=seed, what=self.measure) for seed in self.seeds]
        heads = ["updates", *(f"reward, seed {seed}" for seed in self.seeds)]
        curves = [dict(each.curve) for each in learned]
        rows = [[str(step), *(f"{curve[step]:.2f}" for curve in curves)] for step in curves[0]]
        rows += [["greedy, untrained", *(f"{each.before:.2f}" for each in learned)]]
        rows += [["greedy, trained", *(f"{each.after:.2f}" for each in learned)]]
        rows += [["CPU seconds", *(f"{each.cpu_seconds:.0f}" for each in learned)]]
        size = f"a Llama of {learned[0].parameters:,} parameters"
        words = f"Reward {self.measure} of sampled answers (means since the row above), {size}"
        output.table("A tiny language model", heads, rows, words, elsewhere="--markdown")
        if self.markdown is not None:
            machine = f"{platform.machine()}, {platform.system()}, Python {platform.python_version()}"
            made = f"Made by `make language-models` ({machine}, one thread)."
            part = f"{words}.\n\n{markdown(heads, rows)}\n\n{made}"
            write_page(self.markdown, "language_models", TITLE, part)
        return 0
