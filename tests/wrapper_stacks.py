"""The wrapper stacks that ship with the project, for the tests that hold each of them against a checker."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium as gym

import srd_gym  # noqa: F401 registers the environments
from srd_gym.wrappers import BoolMask, FlatObservation, KNNPruning, RankerPruning, RLlibObservation, TianshouObservation

TOPICS = "synthetic:tiny:20"
Stack = Callable[[Any], Any]
STACKS: dict[str, tuple[dict[str, Any], Stack]] = {
    "nothing": ({}, lambda env: env),
    "compact": ({"observation": "compact"}, lambda env: env),
    "features": ({"observation": "features"}, lambda env: env),
    "BoolMask, features": ({"observation": "features"}, BoolMask),
    "mask_dtype": ({"mask_dtype": "bool"}, lambda env: env),
    "BoolMask": ({}, BoolMask),
    "BoolMask, compact": ({"observation": "compact"}, BoolMask),
    "FlatObservation": ({}, FlatObservation),
    "TianshouObservation": ({}, TianshouObservation),
    "TianshouObservation as it is": ({}, lambda env: TianshouObservation(env, flat=False)),
    "TianshouObservation, compact": ({"observation": "compact"}, lambda env: TianshouObservation(env, flat=False)),
    "RLlibObservation": ({}, RLlibObservation),
    "KNNPruning": ({}, lambda env: KNNPruning(env, 0.3)),
    "RankerPruning": ({"horizon": 3}, lambda env: RankerPruning(env, "mmr", 5, when="step")),
    "pruned and flat": ({"horizon": 3}, lambda env: FlatObservation(KNNPruning(BoolMask(env), k=1))),
}
SHARED = {"share_documents": True, "disable_env_checker": True}


def made(stack: str, **arguments: Any) -> Any:
    options, wrap = STACKS[stack]
    return wrap(gym.make("SRD-v0", **({"topics": TOPICS} | options | arguments)))
