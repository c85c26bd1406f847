"""`python -m studies`: runs a study as `srd` runs a command."""

from __future__ import annotations

import sys

from srd_train.cli import Group, Leaf, main

TREE = Group(
    "The experiments behind pages of the documentation.",
    {
        "results": Leaf("studies.results.run", "tables, sentences and pictures from stored scores", "Results"),
        "pretrain": Leaf("studies.pretrain.run", "the weights of relational-pretrained, made again", "Pretrain"),
        "policies": Leaf("studies.pretrain.policies", "the trained policies that load by name, made again", "Policies"),
        "language_models": Leaf(
            "studies.language_models.run", "a tiny language model learns to cover, by TRL's GRPO", "LanguageModels"
        ),
        "small_model": Leaf(
            "studies.language_models.run", "a real language model on real texts, supervised and by GRPO", "SmallModel"
        ),
        "audit": Leaf("studies.audit", "what numbers of a list without judgments predict", "Audits"),
        "speed": Leaf("studies.speed.run", "the speed table, side by side with peers", "Speed"),
    },
)

if __name__ == "__main__":
    sys.exit(main(tree=TREE, prog="python -m studies"))
