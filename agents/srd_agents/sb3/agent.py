"""sb3-contrib's MaskablePPO as a learner: its rollouts and updates, our policy, our loop around them.

Shapes: B episodes at once, N candidates, F vector width, K horizon.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch

from srd_agents.networks.attention import initialise
from srd_agents.sb3.config import MaskablePpoConfig
from srd_agents.sb3.network import CandidateNetwork, rank_greedily
from srd_agents.training.checkpoint import load_module, module_arrays
from srd_agents.training.files import Tree
from srd_agents.training.torch_learner import NetworkLearner
from srd_gym.core import SelectionCore
from srd_gym.dtypes import IntArray
from srd_gym.installing import how_to_install
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
    only_training: ClassVar[tuple[str, ...]] = ("_optimizer", "_model", "_env")

    def _build(self, vector_width: int) -> None:
        self._network = CandidateNetwork(vector_width, self.config.hidden_size)

    def _rank_batch(self, topics: Sequence[Topic], k: int) -> list[IntArray]:
        return [rank_greedily(self._network, topic, k) for topic in topics]

    def _prepare(self, topics: TopicSet, seed: int) -> None:
        config = self.config
        core = SelectionCore(topics, reward=config.reward, horizon=min(config.horizon, topics.max_candidates))
        initialise(self._network, torch.Generator().manual_seed(seed))
        if config.standardize:
            self._network.inputs.fit(topics)
        self._random = PrivateRandomness(seed, config.device)
        users = None
        if core.users is not None:
            users = self._generator = np.random.default_rng([seed, 1])
        episodes = min(config.batch_topics, len(topics)) * config.rollouts
        if (steps := episodes * core.horizon) % config.batch_size == 1:
            raise ValueError(
                f"batch_size={config.batch_size} leaves one of the {steps} steps of an update ({episodes} episodes of "
                f"{core.horizon}) for the last minibatch, which must have two at least; take another batch_size"
            )
        with self._random.in_force():
            self._model, self._env = _trainer(core, episodes, config, users)
        # What is trained and what ranks are one network from now on.
        trained = self._model.policy.features_extractor.network
        load_module(trained, module_arrays(self._network))
        self._network, self._optimizer = trained, self._model.policy.optimizer

    def _update(self, batch: IntArray) -> Mapping[str, float]:
        model, env = self._model, self._env
        # A smaller last batch is filled up with more episodes of its topics: B cannot change in SB3.
        env.play(np.repeat(np.resize(batch, env.num_envs // self.config.rollouts), self.config.rollouts))
        with self._random.in_force():
            model.set_env(env)  # also makes `learn` reset it
            model.learn(env.num_envs * model.n_steps, reset_num_timesteps=False, log_interval=None)
        told = model.logger.name_to_value
        return {
            "return": float(env.returns.mean()),
            "entropy": -float(told["train/entropy_loss"]),
            "loss": float(told["train/loss"]),
            "value_loss": float(told["train/value_loss"]),
            "learning_rate": float(told["train/learning_rate"]),
            "episodes": env.episodes / len(batch),
            "steps": env.num_envs * model.n_steps / len(batch),
        }

    def _training_state(self) -> Tree:
        counts = {"steps": self._model.num_timesteps, "updates": self._model._n_updates}
        return {**super()._training_state(), **counts, "random": self._random.tree()}

    def _restore_training(self, state: Tree) -> None:
        super()._restore_training(state)
        self._random.load(state["random"])
        self._model.num_timesteps, self._model._n_updates = int(state["steps"]), int(state["updates"])


def _trainer(
    core: SelectionCore, episodes: int, config: MaskablePpoConfig, users: np.random.Generator | None
) -> tuple[object, RolloutVecEnv]:
    """MaskablePPO on these topics, and the environment it plays in.

    Raises:
        ImportError: sb3-contrib is not installed.
    """
    try:
        from sb3_contrib import MaskablePPO
        from stable_baselines3.common.logger import Logger
    except ModuleNotFoundError as error:
        raise ImportError(f"training maskable-ppo needs {error.name}: {how_to_install('sb3')}") from error
    from srd_agents.sb3.policies import MaskablePointerPolicy
    from srd_agents.sb3.vec_env import RolloutVecEnv

    env = RolloutVecEnv(core, episodes, users)
    extractor = {"topics": core.arrays, "hidden": config.hidden_size}
    model = MaskablePPO(
        MaskablePointerPolicy,
        env,
        n_steps=core.horizon,
        batch_size=config.batch_size,
        n_epochs=config.n_epochs,
        learning_rate=config.learning_rate,
        gamma=1.0,  # the return is then the measure
        gae_lambda=config.gae_lambda,
        ent_coef=config.entropy_coef,
        policy_kwargs={"features_extractor_kwargs": extractor},
        device=config.device,
    )
    model.set_logger(Logger(folder=None, output_formats=[]))
    return model, env


class PrivateRandomness:
    """States of the two global generators that belong to one learner; they are in force inside `with x.in_force():`.

    SB3 draws from the global generators of numpy and torch; a learner must neither depend on these nor move them.

    Torch's is the CPU's. That of another device is seeded from it as a block begins, and not put back.

    Args:
        seed: of both.
        device: where torch draws, in its words.
    """

    def __init__(self, seed: int, device: str = "cpu") -> None:
        self._elsewhere = torch.device(device).type != "cpu"
        bits = np.random.MT19937(np.random.SeedSequence([seed, 0x5B3]))
        self._numpy: Any = np.random.RandomState(bits).get_state(legacy=False)
        self._torch = torch.Generator().manual_seed(seed).get_state()

    @contextmanager
    def in_force(self) -> Iterator[None]:
        """Inside, the global generators are the learner's."""
        theirs = np.random.get_state(legacy=False)  # noqa: NPY002 - SB3's minibatches come from it
        with torch.random.fork_rng(devices=[]):
            np.random.set_state(self._numpy)  # noqa: NPY002 - as above
            torch.set_rng_state(self._torch)
            if self._elsewhere:
                torch.manual_seed(int(torch.randint(2**62, ())))  # all of torch's generators
            try:
                yield
            finally:
                self._numpy, self._torch = np.random.get_state(legacy=False), torch.get_rng_state()  # noqa: NPY002
                np.random.set_state(theirs)  # noqa: NPY002

    def tree(self) -> Tree:
        """Both states, as arrays and JSON values."""
        return {"torch": self._torch.numpy().copy(), "numpy": {**self._numpy, "state": dict(self._numpy["state"])}}

    def load(self, tree: Tree) -> None:
        """Take over what `tree` gave."""
        self._numpy, self._torch = tree["numpy"], torch.from_numpy(np.array(tree["torch"], np.uint8))
