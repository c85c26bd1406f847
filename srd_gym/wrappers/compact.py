"""The agent's side of `observation="compact"`: what the environment left out, looked up by topic.

A compact observation is small (replay buffers), and everything else in a full one depends on the topic alone:

    env = gym.make("srd_gym:SRD-v0", observation="compact")
    known = topic_tables(env)
    full = expand_observation(observation, known)

`expand_observation` only indexes, so the tables may be tensors of another library, on another device:

    known = {name: torch.as_tensor(table, device="cuda") for name, table in topic_tables(env).items()}

Shapes: T topics, N candidates, F vector width; `...` stands for leading axes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium as gym
from gymnasium.vector import VectorEnv

from srd_gym.core.arrays import TopicArrays
from srd_gym.envs.selection import SelectionEnv
from srd_gym.envs.selection_vector import SelectionVectorEnv
from srd_gym.sources import TopicSource, arrays_from
from srd_gym.topic import FloatArray

TableSource = gym.Env[Any, Any] | VectorEnv[Any, Any, Any] | TopicSource


def topic_tables(source: TableSource) -> dict[str, FloatArray]:
    """Arrays of all topics that a full observation has beyond a compact one, under the names of the observation.

    Args:
        source: the environment (single or native vector, wrapped or not), or the topics that it was made of.

    Returns:
        `query` [T, F], `documents` [T, N, F] and `retrieval_scores` [T, N], float32, read-only, not copied.

    Raises:
        TypeError: another environment, or no topics.
        ValueError: topics without vectors, or an unknown name.
    """
    if isinstance(source, gym.Env | VectorEnv):
        inner: object = source.unwrapped
        if not isinstance(inner, SelectionEnv | SelectionVectorEnv):
            raise TypeError(
                f"expected SRD-v0, its native vector environment, or topics, got {type(inner).__name__}; of other "
                "vector environments pass the topics"
            )
        arrays: TopicArrays = inner.core.arrays
    else:
        arrays = arrays_from(source)
    return {"query": arrays.queries, "documents": arrays.documents, "retrieval_scores": arrays.retrieval_scores}


def expand_observation(observation: Mapping[str, Any], tables: Mapping[str, Any]) -> dict[str, object]:
    """The full observation that a compact one stands for.

    Args:
        observation: `topic` [..., 1] of integers, and other keys, which are passed on as they are.
        tables: as `topic_tables` gives them, or as tensors of the library that `topic` is a tensor of.

    Returns:
        `query` [..., F], `documents` [..., N, F], `retrieval_scores` [..., N], and the observation without `topic`.

    Raises:
        IndexError: indices that are not integers (SB3 and others turn observations into floats: cast them back), or
            not below T.
        ValueError: an observation without `topic`.
    """
    if "topic" not in observation:
        raise ValueError(
            f"expected a compact observation, with 'topic', got {sorted(observation)}; make the environment with "
            "observation='compact'"
        )
    topic = observation["topic"][..., 0]
    rest = {name: part for name, part in observation.items() if name != "topic"}
    return {name: table[topic] for name, table in tables.items()} | rest
