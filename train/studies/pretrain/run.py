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
from srd_agents.training.loop import STATE_FILE, torch_threads
from srd_agents.training.options import MODEL_FILE, as_values, read_arrays, versions, write_json
from srd_agents.training.progress import OnProgress, topics_seen
from srd_gym.files import written_atomically
from srd_train.commands.console import Folder, Output
from srd_train.experiment.provenance import commit
from studies.pretrain.wide import wide_topics

LOG = "pretraining.json"
TRAINING_SEED, VALIDATION_SEED = 0, 1
"""Of the generator: no topic is in both."""
Outcomes = list[dict[str, Any]]


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What is trained; the defaults made the weights that come with the package."""

    seeds: tuple[int, ...] = (0, 1, 2, 3, 4)
    """One model is trained a seed, on the same topics."""
    topics: int = 2000
    """Generated topics to train on."""
    validation: int = 500
    """Generated topics that choose the epoch and the seed."""
    epochs: int = 2
    """Passes over the training topics."""
    learning_rate: float = 0.003
    """Learning rate of Adam."""
    average: float = 0.99
    """Decay of the running mean of the weights."""
    units: int = 64
    """Units of the first layer."""
    second: int = 32
    """Units of the second layer."""

    def config(self) -> ReinforceConfig:
        """The learner's options."""
        own: dict[str, Any] = {
            "epochs": self.epochs,
            "learning_rate": self.learning_rate,
            "hidden_sizes": (self.units, self.second),
        }
        own |= {"ema_decay": self.average, "lr_decay_epochs": 0, "entropy_coef": 0.01}
        return ReinforceConfig(parts="relations", init="random", patience=0, **own)


@dataclass(frozen=True, kw_only=True)
class Pretrain(Plan):
    """Train the relational ranker on generated topics, one model a seed, and keep the best one on others.

    The defaults made the weights that come with the package. An interrupted run continues where it stopped.

    Examples:
      make pretrain
      make pretrain ARGS="--seeds 0 --topics 500 --epochs 3 --out quick"
    """

    out: Folder = Path("pretrain")
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
            output.data({"outcomes": outcomes, "folder": str(self.out)})
            return 0
        forms = {"seed": "d", "validation": ".4f", "best_epoch": "d", "seconds": ".0f"}
        rows = [[f"{outcome[key]:{form}}" for key, form in forms.items()] for outcome in outcomes]
        caption = f"the best one is {self.out / CHECKPOINT}; log: {self.out / LOG}"
        output.table("Pretrained", ["seed", "validation", "best epoch", "seconds"], rows, caption)
        return 0


def pretrain(plan: Plan, out: Path, *, threads: int = 1, progress: OnProgress | None = None) -> Outcomes:
    """Train all seeds, or go on where an interrupted run stopped; write the models, the best one and the log.

    Args:
        plan: what to train.
        out: folder for `seed-S/` (a model folder each), the weights `seed-S.npz`, the best of them as `pretrained.npz`,
            and `pretraining.json`.
        threads: of torch.
        progress: called while training.

    Returns:
        For each seed: `seed`, `validation` (the measure on the generated validation topics), `best_epoch`, and
        `seconds` of processor time of the updates.

    Raises:
        ValueError: no seeds, or a folder that holds a run of another plan.
    """
    if not plan.seeds or len(set(plan.seeds)) != len(plan.seeds):
        raise ValueError(f"seeds must be different numbers, at least one; got {list(plan.seeds)}")
    plan.config()  # a wrong option should show before topics are made
    train = wide_topics(plan.topics, seed=TRAINING_SEED)
    validation = wide_topics(plan.validation, seed=VALIDATION_SEED)
    outcomes: Outcomes = []
    histories: list[dict[str, Any]] = []
    with torch_threads(threads):
        for seed in plan.seeds:
            ranker, folder = Reinforce(plan.config()), out / f"seed-{seed}"
            history = ranker.fit(
                train, validation, seed=seed, out=folder, resume=(folder / STATE_FILE).exists(), progress=progress
            )
            learned, _ = read_arrays(folder / MODEL_FILE, "weights")
            own = {name.removeprefix("relations."): array for name, array in learned.items()}
            _write_npz(out / f"seed-{seed}.npz", {name: own[name] for name in weight_shapes(0, 0)})
            if history.best_validation is None:
                raise ValueError(f"{folder} was trained without validation topics; remove it and begin anew")
            about = {"seed": seed, "validation": history.best_validation, "best_epoch": history.best_epoch}
            outcomes.append(about | {"seconds": float(history.records[-1]["cpu_seconds"])})
            histories.append({"seed": seed, **asdict(history)})
    best = max(outcomes, key=lambda outcome: outcome["validation"])["seed"]
    _write_npz(out / CHECKPOINT, read_weights(out / f"seed-{best}.npz"))
    log = {
        "plan": asdict(plan),
        "config": as_values(plan.config()),
        "topics": {"training": f"synthetic:wide:{plan.topics}:{TRAINING_SEED}", "simulated": True},
        "validation": f"synthetic:wide:{plan.validation}:{VALIDATION_SEED}",
        "chosen_seed": best,
        "outcomes": outcomes,
        "commit": commit(),
        "versions": versions(),
        "histories": histories,
    }
    write_json(out / LOG, log)
    return outcomes


def _write_npz(path: Path, weights: Weights) -> None:
    """The network's arrays, whole or not at all."""
    arrays: dict[str, Any] = dict(weights)
    with written_atomically(path) as temporary, temporary.open("wb") as file:
        np.savez(file, **arrays)
