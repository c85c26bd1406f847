"""`python -m studies`: runs a study as `srd` runs a command."""

from __future__ import annotations

import sys

from srd_train.cli import Group, Leaf, main

TREE = Group(
    "The experiments behind pages of the documentation.",
    {
        "claims": Leaf("studies.claims.run", "tables from stored scores, and whether claims hold", "Claims"),
        "learning-curves": Leaf(
            "studies.learning_curves", "a picture of a benchmark's learning curves", "LearningCurves"
        ),
        "pretrain": Leaf("studies.pretrain.run", "the weights of relational-pretrained, made again", "Pretrain"),
        "safe-default": Leaf("studies.safe_default", "the default ranker without named subtopics", "SafeDefault"),
        "speed": Leaf("studies.speed.run", "the speed table, side by side with peers"),
        "training-queries": Leaf(
            "studies.training_queries", "a picture of scores by the number of training queries", "TrainingQueries"
        ),
    },
)

if __name__ == "__main__":
    sys.exit(main(tree=TREE, prog="python -m studies"))
