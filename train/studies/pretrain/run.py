"""`make pretrain`: make the weights of `relational-pretrained` again, from generated topics alone.

No file of any data set is read. One model a seed is trained; the one that is best on the generated validation topics is
written as `pretrained.npz`, with a log of everything beside it.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from srd_agents.reinforce.agent import Reinforce
from srd_agents.reinforce.config import ReinforceConfig
from srd_agents.relational.ranker import CHECKPOINT, Weights, read_weights, weight_shapes
from srd_agents.training.files import MODEL_FILE, STATE_FILE, read_arrays, write_json
from srd_agents.training.machine import versions
from srd_agents.training.options import as_values
from srd_agents.training.progress import OnProgress, topics_seen
from srd_gym.files import written_atomically
from srd_train.commands.console import Output
from srd_train.commands.options import Folder
from srd_train.experiment.provenance import commit
from studies.pretrain.wide import wide_topics

LOG = "pretraining.json"
TRAINING_SEED, VALIDATION_SEED = 0, 1
"""Of the generator: no topic is in both."""


@dataclass(frozen=True, kw_only=True)
class Pretrain:
    """Train the relational ranker on generated topics, one model a seed, and keep the best one on others.

    The defaults made the weights that come with the package. An interrupted run continues where it stopped.

    Examples:
      make pretrain
      make pretrain ARGS="--seeds 0 --topics 500 --epochs 3 --out quick"
    """

    seeds: tuple[int, ...] = (0, 1, 2, 3, 4)
    """One model is trained a seed, on the same topics."""
    topics: int = 2000
    """Generated topics to train on."""
    validation: int = 500
    """Generated topics that choose the epoch and the seed."""
    epochs: int = 2
    """Passes over the training topics."""
    out: Folder = Path("pretrain")
    """Folder for the models, pretrained.npz and pretraining.json."""

    def config(self) -> ReinforceConfig:
        """The learner's options."""
        own: dict[str, Any] = {"epochs": self.epochs, "lr_decay_epochs": 0, "patience": 0, "learning_rate": 0.003}
        own |= {"hidden_sizes": (64, 32), "ema_decay": 0.99, "entropy_coef": 0.01}
        return ReinforceConfig(parts="relations", init="random", **own)

    def execute(self, output: Output) -> int:
        """Train, choose, write.

        Raises:
            ValueError: values out of range, or a folder of another run.
        """
        with output.progress(f"pretrain seeds {', '.join(map(str, self.seeds))}") as advance:
            outcomes = self.trained(topics_seen(advance))
        forms = {"seed": "d", "validation": ".4f", "best_epoch": "d", "seconds": ".0f"}
        rows = [[f"{outcome[key]:{form}}" for key, form in forms.items()] for outcome in outcomes]
        caption = f"the best one is {self.out / CHECKPOINT}; log: {self.out / LOG}"
        output.table("Pretrained", ["seed", "validation", "best epoch", "seconds"], rows, caption)
        return 0

    def trained(self, progress: OnProgress | None = None) -> list[dict[str, Any]]:
        """Train all seeds, or go on where an interrupted run stopped; write the models, the best one and the log.

        `out` gets `seed-S/` (a model folder each), the weights `seed-S.npz`, the best of them as `pretrained.npz`, and
        `pretraining.json`.

        Returns:
            For each seed: `seed`, `validation` (the measure on the generated validation topics), `best_epoch`, and
            `seconds` of processor time of the updates.

        Raises:
            ValueError: no seeds, or a folder that holds a run of another plan.
        """
        if not self.seeds or len(set(self.seeds)) != len(self.seeds):
            raise ValueError(f"seeds must be different numbers, at least one; got {list(self.seeds)}")
        self.config()  # a wrong option should show before topics are made
        train = wide_topics(self.topics, seed=TRAINING_SEED)
        validation = wide_topics(self.validation, seed=VALIDATION_SEED)
        outcomes: list[dict[str, Any]] = []
        histories: list[dict[str, Any]] = []
        for seed in self.seeds:
            ranker, folder = Reinforce(self.config()), self.out / f"seed-{seed}"
            history = ranker.fit(
                train, validation, seed=seed, out=folder, resume=(folder / STATE_FILE).exists(), callback=progress
            )
            learned, _ = read_arrays(folder / MODEL_FILE, "weights")
            own = {name.removeprefix("relations."): array for name, array in learned.items()}
            _write_npz(self.out / f"seed-{seed}.npz", {name: own[name] for name in weight_shapes(0, 0)})
            about = {"seed": seed, "validation": history.best_validation, "best_epoch": history.best_epoch}
            outcomes.append(about | {"seconds": float(history.records[-1]["cpu_seconds"])})
            histories.append({"seed": seed, **asdict(history)})
        best = max(outcomes, key=lambda outcome: outcome["validation"])["seed"]
        _write_npz(self.out / CHECKPOINT, read_weights(self.out / f"seed-{best}.npz"))
        log = {
            "plan": {name: value for name, value in asdict(self).items() if name != "out"},
            "config": as_values(self.config()),
            "topics": {"training": f"synthetic:wide:{self.topics}:{TRAINING_SEED}", "simulated": True},
            "validation": f"synthetic:wide:{self.validation}:{VALIDATION_SEED}",
            "chosen_seed": best,
            "outcomes": outcomes,
            "commit": commit(),
            "versions": versions(),
            "histories": histories,
        }
        write_json(self.out / LOG, log)
        return outcomes


def _write_npz(path: Path, weights: Weights) -> None:
    """The network's arrays, whole or not at all."""
    arrays: dict[str, Any] = dict(weights)
    with written_atomically(path) as temporary, temporary.open("wb") as file:
        np.savez(file, **arrays)
