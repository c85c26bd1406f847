"""Episodes of rankers as Minari data sets, Farama's format for offline reinforcement learning."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any
from unittest.mock import patch

import gymnasium as gym
import numpy as np

from srd_gym.checks import check_integer
from srd_gym.files import _temporary
from srd_gym.installing import how_to_install
from srd_gym.offline.log import orders_of
from srd_gym.offline.policy import EpsilonPolicy
from srd_gym.protocols import Ranker
from srd_gym.reading import shown
from srd_gym.sources import topics_from

_EPISODES = ".episodes"
"""End of the names of folders of episodes that are being played, beside a temporary file that is locked."""


def collect_minari(
    dataset_id: str,
    ranker: Ranker,
    *,
    topics: str,
    episodes: int,
    policy: EpsilonPolicy,
    seed: int = 0,
    env_id: str = "srd_gym:SRD-v0",
    about: Mapping[str, object] | None = None,
    told: Callable[[float], None] = lambda _: None,
    **arguments: object,
) -> Any:
    """Play a ranker through an environment with Minari's own collector, and keep the episodes as a data set.

    Episode i is reset with seed + i, and the data set records it: `recover_environment` and these seeds replay the same
    rewards.

    Args:
        dataset_id: as "srd/serp/mmr-v0".
        ranker: whose order is explored.
        topics: a name or a path, which the data set's environment finds its topics by.
        episodes: how many.
        policy: how the order is explored.
        seed: of environment and exploration.
        env_id: of the environment.
        about: further arguments of Minari's `create_dataset` (algorithm_name, author, description, ...).
        told: called with the number of episodes just played.
        arguments: of the environment, such as `reward` and `observation="compact"`. The data set keeps them as JSON:
            measures, users (`Clicks`) and pruning by their notation, all else as plain values.

    Returns:
        The `minari.MinariDataset`.

    Raises:
        ImportError: Minari is not installed.
        ValueError: no id of a data set, one that exists already, less than one episode, or arguments that the
            environment cannot be recovered from; nothing is played then.
        TypeError: topics that are not named.
    """
    try:
        import h5py  # noqa: F401 Minari imports its extras late, after the episodes are played
        import jax  # noqa: F401
        import minari
        import PIL  # noqa: F401
        from minari.dataset.minari_dataset import parse_dataset_id
    except ModuleNotFoundError as error:
        raise ImportError(f"Minari data sets need {error.name}: {how_to_install('offline')}") from error
    check_integer("episodes", episodes, 1)
    if not isinstance(topics, str):
        raise TypeError(f"topics must be a name or a path, by which the environment is recovered, got {shown(topics)}")
    try:
        parse_dataset_id(dataset_id)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{shown(dataset_id)} is not an id of a Minari data set ({error}); write NAMESPACE/NAME-vNUMBER, such "
            "as srd/serp/mmr-v0"
        ) from error
    if Path(minari.storage.get_dataset_path(dataset_id)).exists():
        raise ValueError(f"there is a data set {dataset_id}; choose another version, or minari.delete_dataset it")
    # What JSON holds, so that the environment is the one that is recovered; or an error before anything is played.
    env = gym.make(env_id, topics=topics, **json.loads(json.dumps(arguments, default=str)))
    order = orders_of(ranker, topics_from(topics))
    with _own_folder(Path(minari.storage.get_dataset_path())) as folder:
        with patch.dict(os.environ, MINARI_DATASETS_PATH=str(folder)):  # where it keeps episodes until all are played
            collector = minari.DataCollector(env)
        with contextlib.closing(collector):
            _play(collector, order, policy, episodes, seed, told)
            with warnings.catch_warnings(action="ignore"):  # it asks for scores of random and expert policies
                return collector.create_dataset(dataset_id=dataset_id, **(about or {}))


@contextlib.contextmanager
def _own_folder(root: Path) -> Iterator[Path]:
    """A folder of this process, gone after the block; those of processes that were killed are removed before it."""
    with _temporary(root, "srd_gym") as locked:
        folder = locked.with_suffix(_EPISODES)
        for left in root.glob(f".srd_gym.*{_EPISODES}"):
            if not left.with_suffix(locked.suffix).exists():
                shutil.rmtree(left, ignore_errors=True)
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def _play(
    collector: Any, orders: Any, policy: EpsilonPolicy, episodes: int, seed: int, told: Callable[[float], None]
) -> None:
    """Play the episodes."""
    core, generator = collector.unwrapped.core, np.random.default_rng(seed)
    for episode in range(episodes):
        collector.reset(seed=seed + episode)
        topic = core.topic_index.item(0)
        reach = policy.reach(core.arrays.n_candidates[topic : topic + 1], core.horizon)
        for position in policy.sample(reach, core.horizon, generator)[0].tolist():
            if position >= 0:
                collector.step(orders[topic, position])
        told(1)
