"""Calls that take what a stranger gives: JSON lines, arguments of environments, and actions."""

from __future__ import annotations

import functools
import json
import random
from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np
from fuzz.damage import ODD_VALUES, SMALL_TOPICS, mutated_json

import srd_gym
from srd_gym import scoring_v0
from srd_gym.core.arrays import TopicArrays
from srd_train.serving.json_lines import rank_lines
from srd_train.serving.models import load_model

gym.register_envs(srd_gym)

Case = Callable[[], object]

MODEL = load_model("mmr")
_ARRAYS = TopicArrays.of(SMALL_TOPICS)
LINE = {
    "query_id": "1", "doc_ids": ["a", "b"], "doc_vectors": [[1.0, 0.0], [0.0, 1.0]], "query_vector": [1.0, 1.0],
    "retrieval_scores": [0.5, 1.5], "query_text": "x", "doc_texts": ["p", "q"],
}  # fmt: skip


def json_lines(rng: random.Random) -> Case:
    text = mutated_json(json.dumps(LINE).encode(), rng).decode(errors="replace")
    return lambda: rank_lines(MODEL, [text], lambda answer: None, 2)


_NAMES = ("alpha_DCG", "ERR_IA@5", "alpha_nDCG(alpha=2)", "nope", "StRecall@0", "x@", "(", "alpha_DCG@-1", "MAP_IA")
_ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "reward": _NAMES, "reward_type": ("dense", "sparse", "never"), "measures": (("StRecall@5",), "ERR_IA@10", _NAMES),
    "horizon": (1, 10, None, 10**9), "max_candidates": (1, 10, 50, None, 10**9, 10**13),
    "pruning": ("knn:0.1", "knn:x", "nope:1"),
    "normalizer": ("pool", "candidates"), "on_invalid": ("skip", "raise"),
    "observation": ("full", "compact", "features", "local", "flat"),
    "mask_dtype": (bool, "int8", np.int8, float), "share_documents": (True, False),
    "render_mode": ("ansi", "human", "x"),
    "topics": ("synthetic:tiny:3", "synthetic:nope", "synthetic:tiny:0", "no-such-file", "/"),
    "unknown": (1,),
    "n_scores": (1, 30, 10**9), "ties": ("retrieval", "random"), "agents": ("all", "present"),
    "measure": ("alpha_DCG",),
}  # fmt: skip


def environments(rng: random.Random) -> Case:
    chosen = {
        name: rng.choice(_ARGUMENTS[name] if name == "render_mode" or rng.random() < 0.5 else ODD_VALUES)
        for name in rng.sample(sorted(_ARGUMENTS), rng.randint(1, 3))
    }
    chosen.setdefault("topics", _ARRAYS)
    make = rng.choice((
        lambda: gym.make("SRD-v0", disable_env_checker=True, **chosen),
        lambda: gym.make_vec("SRD-v0", num_envs=2, vectorization_mode="vector_entry_point", **chosen),
        lambda: scoring_v0.parallel_env(**chosen),
    ))  # fmt: skip
    return lambda: make().reset(seed=0)


_ACTIONS = (*ODD_VALUES, *range(-2, 12), np.int8(1), np.array(1), np.array([1]), np.array([1, 2]), np.float64(1),
            np.nan, np.array([]), np.array(["a"]), np.array([None]), "1", b"1", 10**30, np.uint64(2**64 - 1),
            object())  # fmt: skip


@functools.cache
def _envs() -> tuple[Any, Any, Any]:
    single = gym.make("SRD-v0", topics=_ARRAYS, horizon=4, disable_env_checker=True).unwrapped
    vector = gym.make_vec("SRD-v0", num_envs=2, vectorization_mode="vector_entry_point", topics=_ARRAYS, horizon=4)
    return single, vector, scoring_v0.parallel_env(topics=_ARRAYS)


def actions(rng: random.Random) -> Case:
    single, vector, scoring = _envs()
    kind, chosen = rng.randrange(4), [rng.choice(_ACTIONS) for _ in range(4)]

    def played() -> object:
        if kind == 0:
            single.reset(seed=0)
            return [single.step(action) for action in chosen[:3]]
        if kind == 1:
            vector.reset(seed=0)
            return vector.step(rng.choice((chosen[:2], chosen[0], np.array([1, 2]), chosen)))
        if kind == 2:
            scoring.reset(seed=0)
            agents = scoring.agents[: rng.randint(0, len(scoring.agents))]
            return scoring.step({agent: rng.choice((0, 1, rng.choice(_ACTIONS))) for agent in agents})
        odd = {"query_id": chosen[0]} if rng.random() < 0.7 else rng.choice(({"x": 1}, {}, chosen[1]))
        return single.reset(seed=rng.choice((0, None, chosen[2])), options=odd)

    return played
