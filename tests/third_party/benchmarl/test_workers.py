"""BenchMARL collects in worker processes of TorchRL: the page's task in a script, as a reader would write it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from markdown_code import THIRD_PARTY, fences

TRAINING = """
if __name__ == "__main__":
    from benchmarl.algorithms import MappoConfig
    from benchmarl.experiment import Experiment, ExperimentConfig
    from benchmarl.models.mlp import MlpConfig
    from torchrl.envs import ParallelEnv

    config = ExperimentConfig.get_from_yaml()
    config.loggers, config.create_json, config.evaluation, config.save_folder = [], False, False, "."
    config.parallel_collection = True
    config.on_policy_n_envs_per_worker, config.on_policy_collected_frames_per_batch = 2, 40
    config.on_policy_minibatch_size, config.on_policy_n_minibatch_iters, config.max_n_frames = 20, 1, 40
    experiment = Experiment(
        task=task, algorithm_config=MappoConfig.get_from_yaml(), model_config=MlpConfig.get_from_yaml(), seed=0,
        config=config,
    )
    experiment.run()
    assert isinstance(experiment.env_func().base_env, ParallelEnv)
    assert experiment.total_frames == 40
    experiment.close()
"""


def test_workers_import_the_task(tmp_path: Path) -> None:
    _, _, task = fences(THIRD_PARTY / "benchmarl.md")[0]
    script = tmp_path / "train.py"
    script.write_text(task + TRAINING)
    done = subprocess.run([sys.executable, script.name], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
