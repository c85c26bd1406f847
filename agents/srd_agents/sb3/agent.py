"""sb3-contrib's MaskablePPO as a learner: its rollouts and updates, our policy, our loop around them.

Shapes: B episodes at once, N candidates, F vector width, K horizon.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch

from srd_agents.networks.attention import initialise
from srd_agents.networks.checkpoint import load_module, load_optimizer, module_arrays, optimizer_tree
from srd_agents.networks.learner import NetworkLearner
from srd_agents.sb3.config import MaskablePpoConfig
from srd_agents.sb3.network import CandidateNetwork, next_scores, rank_greedily
from srd_agents.sb3.randomness import PrivateRandomness
from srd_agents.storage import Tree
from srd_gym.core import SelectionCore
from srd_gym.protocols import BoolArray, IntArray, ScoreArray
from srd_gym.topic import Topic, TopicSet

if TYPE_CHECKING:
    from srd_agents.sb3.vec_env import RolloutVecEnv


class MaskablePpo(NetworkLearner[MaskablePpoConfig]):
    """MaskablePPO (Huang & Ontañón, FLAIRS 2022; PPO: Schulman et al. 2017) of sb3-contrib, unchanged, with our policy.

    An update is one rollout of K steps in B = batch_topics * rollouts episodes at once, and MaskablePPO's passes over
    it. A topic with fewer candidates than K begins again within the rollout. Training needs sb3-contrib; ranking needs
    torch alone.
    """

    name: str = "maskable-ppo"
    config_class: ClassVar[type[Any]] = MaskablePpoConfig

    _network: CandidateNetwork
    _model: Any
    _env: RolloutVecEnv
    _random: PrivateRandomness
    only_training: ClassVar[tuple[str, ...]] = ("_model", "_env")

    def adopt(self, network: CandidateNetwork) -> None:
        """Take over a copy of the weights of a network that was trained elsewhere."""
        self.vector_width = network.width
        self._build(network.width)
        self._set_weights(module_arrays(network))

    def score(self, topic: Topic, selected: IntArray, allowed: BoolArray) -> ScoreArray:
        """The score of each candidate as the next document: [N] float64, minus infinity where not allowed.

        Raises:
            ValueError: not trained, or a topic of another width.
        """
        self.check_topics([topic])
        return np.where(allowed, next_scores(self._network, topic, selected), -np.inf)

    def _build(self, vector_width: int) -> None:
        self._network = CandidateNetwork(vector_width, self.config.hidden)

    def _rank_batch(self, topics: Sequence[Topic], k: int) -> list[IntArray]:
        return [rank_greedily(self._network, topic, k) for topic in topics]

    def _prepare(self, topics: TopicSet, seed: int) -> None:
        config = self.config
        core = SelectionCore(topics, reward=config.reward, horizon=min(config.horizon, topics.max_candidates))
        initialise(self._network, torch.Generator().manual_seed(seed))
        if config.standardize:
            self._network.inputs.fit(topics)
        self._random = PrivateRandomness(seed, config.device)
        with self._random:
            self._model, self._env = _trainer(core, min(config.batch_topics, len(topics)) * config.rollouts, config)
        # What is trained and what ranks are one network from now on.
        trained = self._model.policy.features_extractor.network
        load_module(trained, module_arrays(self._network))
        self._network = trained

    def _update(self, batch: IntArray) -> Mapping[str, float]:
        model, env = self._model, self._env
        # A smaller last batch is filled up with more episodes of its topics: B cannot change in SB3.
        env.play(np.repeat(np.resize(batch, env.num_envs // self.config.rollouts), self.config.rollouts))
        with self._random:
            model.set_env(env)  # also makes `learn` reset it
            model.learn(env.num_envs * model.n_steps, reset_num_timesteps=False, log_interval=None)
        told = model.logger.name_to_value
        return {
            "return": float(env.returns.mean()),
            "entropy": -float(told["train/entropy_loss"]),
            "loss": float(told["train/loss"]),
            "value_loss": float(told["train/value_loss"]),
        }

    def _training_state(self) -> Tree:
        model = self._model
        return {
            "adam": optimizer_tree(model.policy.optimizer),
            "random": self._random.tree(),
            "steps": model.num_timesteps,
            "updates": model._n_updates,
        }

    def _restore_training(self, state: Tree) -> None:
        load_optimizer(self._model.policy.optimizer, state["adam"])
        self._random.load(state["random"])
        self._model.num_timesteps, self._model._n_updates = int(state["steps"]), int(state["updates"])


def _trainer(core: SelectionCore, episodes: int, config: MaskablePpoConfig) -> tuple[Any, RolloutVecEnv]:
    """MaskablePPO on these topics, and the environment it plays in.

    Raises:
        ImportError: sb3-contrib is not installed.
    """
    try:
        from sb3_contrib import MaskablePPO
        from stable_baselines3.common.logger import Logger
    except ModuleNotFoundError as error:
        raise ImportError(f'training maskable-ppo needs {error.name}: pip install "srd-gym[sb3]"') from error
    from srd_agents.sb3.policies import MaskablePointerPolicy
    from srd_agents.sb3.vec_env import RolloutVecEnv

    env = RolloutVecEnv(core, episodes)
    extractor = {"topics": core.arrays, "hidden": config.hidden}
    model = MaskablePPO(
        MaskablePointerPolicy,
        env,
        n_steps=core.horizon,
        batch_size=config.batch_size,
        n_epochs=config.n_epochs,
        learning_rate=config.learning_rate,
        gamma=config.gamma,
        gae_lambda=config.gae_lambda,
        clip_range=config.clip_range,
        ent_coef=config.entropy,
        vf_coef=config.value,
        max_grad_norm=config.clip_norm,
        policy_kwargs={"features_extractor_kwargs": extractor},
        device=config.device,
    )
    model.set_logger(Logger(folder=None, output_formats=[]))
    return model, env
