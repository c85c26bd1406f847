"""`python -m studies policies`: the trained policies that load by name, made again from generated topics alone."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from srd_agents.registry import POLICIES, PRETRAINED, RANKERS, make_ranker
from srd_agents.training.learner import Learner
from srd_agents.training.machine import versions
from srd_agents.training.options import as_values
from srd_agents.training.progress import topics_seen
from srd_agents.training.validation import Validation
from srd_gym.checks import check_integer
from srd_gym.data import load_topics
from srd_train.commands.console import Output
from srd_train.commands.options import Folder
from srd_train.experiment.provenance import commit
from srd_train.report.markup import markdown, write_text

CARD = "card.md"
MEASURE = "alpha_nDCG@10"
TRAINING_SEED = 51733
"""Seed of the training topics: no recipe and no page uses it."""
JUDGED_SEED = 0
"""Seed of the topics whose scores the cards show: the default topics of the environments."""
PLANS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "serp-mdp-div": ("mdp-div-batched", {"epochs": 40, "patience": 0, "reward": "alpha_nDCG"}),
    "serp-qmix": ("qmix", {"epochs": 80}),
    "serp-reinforce": ("reinforce", {"epochs": 24, "lr_decay_epochs": 24, "patience": 0}),
}
"""Name -> ranker, and its options other than the defaults."""


@dataclass(frozen=True, kw_only=True)
class Policies:
    """Train the policies that `load_ranker("pretrained:NAME")` loads, and write a card for each.

    The defaults made those that come with the package: seed 0, generated topics, four fifths to train on and the last
    fifth to choose the epoch.

    Example:
      python -m studies policies
    """

    topics: int = 1000
    """Generated topics to train on and to validate on."""
    judged: int = 1000
    """Generated topics of another seed, for the scores on the cards."""
    epochs: int | None = None
    """Passes over the training topics, instead of each policy's own."""
    out: Folder = POLICIES
    """Folder of the policies, a model folder each."""

    def execute(self, output: Output) -> int:
        """Train, rank, write.

        Raises:
            ValueError: too few topics.
        """
        check_integer("topics", self.topics, 5)
        topics = load_topics(f"synthetic:serp:{self.topics}:{TRAINING_SEED}")
        cut = 4 * len(topics) // 5
        judged = Validation(load_topics(f"synthetic:serp:{self.judged}:{JUDGED_SEED}"), MEASURE)
        others = {name: judged.mean(make_ranker(name)) for name in ("random", "retrieval-order", "mmr", "oracle")}
        scores = {}
        for name, (ranker, options) in PLANS.items():
            own = dict(options) if self.epochs is None else {**options, "epochs": self.epochs}
            policy: Any = make_ranker(ranker, **own)
            with output.progress(f"train {name}") as advance:
                policy.fit(topics[:cut], topics[cut:], seed=0, callback=topics_seen(advance))
            policy.history = None  # curves would be half of the file
            policy.save(self.out / name)
            scores[name] = judged.mean(policy)
            shown = {**others, f"{PRETRAINED}{name}": scores[name]}
            write_text(self.out / name / CARD, card(name, policy, own, shown, self.judged, cut))
        rows = [[name, f"{value:.4f}"] for name, value in {**others, **scores}.items()]
        output.table(MEASURE, ["policy", "mean"], rows, f"folder: {self.out}")
        return 0


def card(
    name: str, policy: Learner[Any], options: Mapping[str, Any], scores: Mapping[str, float], judged: int, cut: int
) -> str:
    """The Markdown card of a trained policy.

    Args:
        name: of the policy.
        policy: the trained ranker.
        options: those that are not the defaults.
        scores: name of a ranker -> mean alpha_nDCG@10 on the judged topics.
        judged: number of those topics.
        cut: number of topics that it was trained on.
    """
    spec = RANKERS[policy.name]
    rows = [[f"`{one}`", f"{value:.3f}"] for one, value in sorted(scores.items(), key=lambda item: item[1])]
    every = ", ".join(f"{key}={json.dumps(value)}" for key, value in as_values(policy.config).items())
    own = ", ".join(f"`{key}={json.dumps(value)}`" for key, value in options.items())
    software = ", ".join(f"{package} {number}" for package, number in versions().items())
    return "\n\n".join(
        (
            f"# {PRETRAINED}{name}",
            f"A trained `{policy.name}`: {spec.summary}.",
            f'```python\nfrom srd_agents import load_ranker\n\nranker = load_ranker("{PRETRAINED}{name}")\n```',
            f"- **For**: topics of `synthetic:serp`, of any seed, with vectors of width {policy.vector_width}: the "
            "default topics of the environments. To compare with, to start from, to try tools on.\n"
            "- **Not for**: other vectors. The vectors of `synthetic:serp` are drawn from the judgments; nothing "
            "learned from them holds for texts.\n"
            f"- **Trained on**: `synthetic:serp`, seed {TRAINING_SEED}, the first {cut} topics; the others chose the "
            f"epoch. Seed of training {policy.seed}. Options other than the defaults: {own}.\n"
            f"- **All options**: {every}.\n"
            f"- **Made by**: `python -m studies policies`, commit {commit()} ({software}).",
            f"Mean alpha_nDCG@10 on {judged:,} topics of `synthetic:serp`, seed {JUDGED_SEED}, none of them trained on "
            "(ideal of the candidates; `oracle` reads the judgments):",
            markdown(("ranker", "alpha_nDCG@10"), rows) + "\n",
        )
    )
