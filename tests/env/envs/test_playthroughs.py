"""Whole episodes against files: a change of what the environment does shows as a change of text.

`pytest tests/env/envs/test_playthroughs.py --update-playthroughs` writes the files anew; read the difference before
keeping it. A change of results on the same topics and actions raises the environment's version.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from small_topics import EvenOnly, bare_topic, small_topic

import srd_gym  # noqa: F401 registers the environments
from srd_gym.topic import TopicSet

FOLDER = Path(__file__).parents[2] / "golden" / "playthroughs"

JUDGMENTS = [[1, 0, 0], [1, 1, 0], [0, 0, 0], [0, 2, 1], [-2, 1, 0], [0, 0, 3], [1, 1, 1], [0, 0, 0]]
JAGUAR = small_topic(
    JUDGMENTS, "jaguar", query_text="jaguar", query_vector=[1.0, 0.5], doc_ids=tuple(f"jaguar-{i}" for i in range(8)),
    doc_vectors=np.arange(16).reshape(8, 2) / 8, retrieval_scores=[9, 8, 7, 6, 5, 4, 3, 2],
    subtopic_ids=("cat", "car", "band"),
)  # fmt: skip
APPLE = small_topic(
    [[1, 0], [1, 0], [0, 1]], "apple", doc_ids=("a1", "a2", "a3"), doc_vectors=np.eye(3, 2),
    subtopic_ids=("fruit", "maker"), subtopic_weights=[2.0, 1.0],
)  # fmt: skip
NEW = bare_topic(2, "new", doc_ids=("n1", "n2"), doc_vectors=np.ones((2, 2)))
TOPICS = TopicSet([JAGUAR, APPLE, NEW], name="playthroughs")

CASCADE = "Clicks(attraction=0.9, boredom=0.5, reveal_intent=True)"
DBN = "Clicks(model='dbn', pays='reciprocal_rank', attraction=(0.2, 0.6, 0.9), patience=0.9)"
PLAYS: dict[str, tuple[dict[str, Any], str, list[int]]] = {
    "default": ({"horizon": 5}, "jaguar", [6, 3, 0, 5, 1]),
    "wasted-ranks": ({"horizon": 5}, "jaguar", [1, 1, 3, 1, 0]),
    "next-allowed": ({"horizon": 5, "on_invalid": "next"}, "jaguar", [1, 1, 3, 1, 0]),
    "fewer-candidates-than-ranks": ({"reward": "alpha_nDCG", "measures": ["NRBP", "StRecall@2"]}, "apple", [2, 7, 0]),
    "unlabelled": ({}, "new", [1, 0]),
    "sparse-reward": ({"reward": "ERR_IA", "reward_type": "sparse", "horizon": 3}, "jaguar", [3, 6, 0]),
    "pruned": ({"pruning": EvenOnly(), "horizon": 3}, "jaguar", [1, 3, 4]),
    "users-cascade": ({"reward": CASCADE, "horizon": 4}, "jaguar", [2, 0, 6, 3]),
    "users-dbn": ({"reward": DBN, "horizon": 3, "measures": ["StRecall"]}, "jaguar", [6, 3, 3]),
    "users-pbm": ({"reward": "Clicks(model='pbm', attraction=0.9, decay=0.5)", "horizon": 4}, "apple", [2, 1, 0]),
    "users-expected": ({"reward": "Clicks(pays='satisfaction', expected=True)", "horizon": 3}, "jaguar", [6, 2, 3]),
    "compact-bool-mask": ({"observation": "compact", "mask_dtype": "bool", "horizon": 2}, "apple", [0, 2]),
}


def written(value: Any) -> str:
    """A value as text; numbers to 6 digits."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {written(entry)}" for key, entry in value.items()) + "}"
    if isinstance(value, np.ndarray):
        entries = [format(entry, ".6g") if value.dtype.kind == "f" else str(entry) for entry in value.ravel().tolist()]
        return f"{value.dtype}{list(value.shape)} " + " ".join(entries)
    return format(value, ".6g") if isinstance(value, float) else repr(value)


def playthrough(arguments: dict[str, Any], query_id: str, actions: list[int]) -> str:
    env = gym.make("SRD-v0", topics=TOPICS, render_mode="ansi", **arguments)
    lines = [f"arguments: {arguments}", f"spaces: {env.observation_space}", f"        {env.action_space}", ""]
    observation, info = env.reset(seed=0, options={"query_id": query_id})
    lines += ["reset", *(f"  {key}: {written(observation[key])}" for key in observation), f"  info: {written(info)}"]
    for action in actions:
        observation, reward, terminated, truncated, info = env.step(action)
        lines += [f"step {action}: reward {reward:.6g}, terminated {terminated}, truncated {truncated}"]
        lines += [f"  {key}: {written(observation[key])}" for key in ("ranking", "action_mask")]
        lines += [f"  info: {written(info)}"]
    assert terminated
    return "\n".join([*lines, "", str(env.render())]) + "\n"


@pytest.mark.parametrize("name", PLAYS)
def test_playthrough(name: str, request: pytest.FixtureRequest) -> None:
    path = FOLDER / f"{name}.txt"
    text = playthrough(*PLAYS[name])
    if request.config.getoption("--update-playthroughs"):
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")


def test_no_file_is_left_over() -> None:
    assert {path.stem for path in FOLDER.glob("*.txt")} == set(PLAYS)
