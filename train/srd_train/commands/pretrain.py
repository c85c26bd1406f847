"""`srd pretrain`: make the weights of `relational-pretrained` again, from generated topics alone."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from srd_agents.relational.ranker import CHECKPOINTS
from srd_train.commands.options import Folder
from srd_train.commands.output import Output
from srd_train.experiment.fit import topics_seen
from srd_train.experiment.pretraining import LOG, Plan, pretrain


@dataclass(frozen=True, kw_only=True)
class Pretrain(Plan):
    """Train the relational ranker on generated topics, one model a seed, and keep the best one on others.

    The defaults made the weights that come with the package. An interrupted run continues where it stopped.

    Examples:
      srd pretrain --out pretrained
      srd pretrain --seeds 0 --topics 500 --epochs 3 --out quick
      srd pretrain --without order --no-one-pass --out without-order
    """

    out: Folder
    """Folder for the models, pretrained.npz and pretraining.json."""
    threads: int = 1
    """Of torch."""
    json: bool = False
    """Print JSON: the outcome of each seed."""

    def execute(self, output: Output) -> int:
        """Train, choose, write.

        Raises:
            ValueError: values out of range, or a folder of another run.
        """
        plan = Plan(**{name: getattr(self, name) for name in Plan.__dataclass_fields__})
        with output.progress(f"pretrain seeds {', '.join(map(str, self.seeds))}") as advance:
            outcomes = pretrain(plan, self.out, threads=self.threads, progress=topics_seen(advance))
        if self.json:
            output.data({"outcomes": [asdict(outcome) for outcome in outcomes], "folder": str(self.out)})
            return 0
        rows = [[str(o.seed), f"{o.validation:.4f}", str(o.best_epoch), f"{o.seconds:.0f}"] for o in outcomes]
        files = ", ".join(CHECKPOINTS.values()) if self.one_pass else CHECKPOINTS["greedy"]
        caption = f"the best ones are in {self.out} ({files}); log: {self.out / LOG}"
        output.table("Pretrained", ["seed", "validation", "best epoch", "seconds"], rows, caption)
        return 0
