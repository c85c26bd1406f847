"""Tuned settings of BenchMARL's MAPPO, QMIX and VDN: `python tuned_benchmarl.py`, where BenchMARL is installed.

One list is one step of all documents, so a tenth of the environment steps of the other files.
"""

from __future__ import annotations

from collections.abc import Callable
from tempfile import gettempdir
from typing import Any

import torch
from benchmarl.algorithms import MappoConfig, QmixConfig, VdnConfig
from benchmarl.environments.pettingzoo.common import PettingZooClass
from benchmarl.experiment import Callback, Experiment, ExperimentConfig
from benchmarl.models.mlp import MlpConfig
from tensordict import TensorDict
from torchrl.envs import PettingZooWrapper
from torchrl.envs.utils import ExplorationType, set_exploration_type
from tuned import FOLD, TASK, Curve, record

from srd_agents.acting import ScoringRanker
from srd_gym import scoring_v0
from srd_gym.measures import evaluate

HORIZON = TASK["horizon"]
SCORES, MOST = 10, FOLD.train.max_candidates
GIVEN = {
    "topics": FOLD.train,
    "reward": TASK["reward"],
    "n_scores": SCORES,
    "observation": "local",
    "max_candidates": MOST,
}
LISTS, LEARNING_RATE = 160, 1e-3
"""Lists of an update, and the learning rate of Adam."""
ON_POLICY = {"minibatch_size": 160, "n_minibatch_iters": 10}
OFF_POLICY = {"train_batch_size": 160, "n_optimizer_steps": 20, "memory_size": 20_000}


class Task(PettingZooClass):
    """`scoring_v0`."""

    def get_env_fun(self, num_envs: int, continuous_actions: bool, seed: int | None, device: str) -> Callable[[], Any]:
        """One environment at a time."""
        return lambda: PettingZooWrapper(
            scoring_v0.parallel_env(**self.config),
            return_state=True,
            categorical_actions=True,
            device=device,
            seed=seed,
        )

    def supports_continuous_actions(self) -> bool:
        """Scores are levels."""
        return False

    def supports_discrete_actions(self) -> bool:
        """Scores are levels."""
        return True

    def has_state(self) -> bool:
        """The query and all documents."""
        return True

    def has_render(self, env: Any) -> bool:
        """Nothing is drawn."""
        return False

    def max_steps(self, env: Any) -> int:
        """An episode is one step."""
        return 1

    @staticmethod
    def env_name() -> str:
        """For BenchMARL's logs."""
        return "srd_gym"


def value(policy: Any) -> float:
    """Mean alpha_nDCG@10 of the test topics by the greedy policy's scores."""

    def scores(seen: Any) -> Any:
        seen = {name: torch.as_tensor(part) for name, part in seen.items()}
        query = seen["query"][:, None].expand_as(seen["documents"])
        observed = TensorDict({"query": query, "document": seen["documents"]}, query.shape[:2])
        doc = TensorDict({"observation": observed, "action_mask": seen["action_mask"].bool()}, query.shape[:2])
        with torch.no_grad(), set_exploration_type(ExplorationType.DETERMINISTIC):
            return policy(TensorDict({"doc": doc}, query.shape[:1]))["doc", "action"].numpy()

    ranker = ScoringRanker(scores, n_scores=SCORES, max_candidates=MOST)
    rankings = dict(zip(FOLD.test.query_ids, ranker.rank_batch(FOLD.test, HORIZON), strict=True))
    return evaluate(FOLD.test, rankings, TASK["reward"]).measures[TASK["reward"]]


class Points(Callback):
    """Adds to a curve after each update."""

    def __init__(self, curve: Curve) -> None:
        super().__init__()
        self.curve = curve

    def on_train_end(self, training_td: Any, group: str) -> None:
        """As BenchMARL calls it."""
        self.curve(HORIZON * self.experiment.total_frames, self.experiment.policy, value)


def training(algorithm: Any) -> Callable[[int, int, Curve], None]:
    """Training with this algorithm: BenchMARL's defaults and MLP, which all documents share, but for some settings."""

    def train(steps: int, seed: int, curve: Curve) -> None:
        config = ExperimentConfig.get_from_yaml()
        config.loggers, config.create_json, config.evaluation, config.save_folder = [], False, False, gettempdir()
        config.max_n_frames, config.lr = steps // HORIZON, LEARNING_RATE
        config.exploration_anneal_frames = config.max_n_frames // 2
        config.on_policy_n_envs_per_worker = config.off_policy_n_envs_per_worker = 1
        config.on_policy_collected_frames_per_batch = config.off_policy_collected_frames_per_batch = LISTS
        for kind, settings in (("on_policy", ON_POLICY), ("off_policy", OFF_POLICY)):
            for name, number in settings.items():
                setattr(config, f"{kind}_{name}", number)
        Experiment(
            task=Task("scoring_v0", GIVEN),
            algorithm_config=algorithm.get_from_yaml(),
            model_config=MlpConfig.get_from_yaml(),
            critic_model_config=MlpConfig.get_from_yaml(),
            seed=seed,
            config=config,
            callbacks=[Points(curve)],
        ).run()

    return train


if __name__ == "__main__":
    algorithms = {"MAPPO": MappoConfig, "QMIX": QmixConfig, "VDN": VdnConfig}
    record("BenchMARL", {name: training(kind) for name, kind in algorithms.items()})
