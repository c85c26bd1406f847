"""Films of an episode of each environment, for its page: `python -m studies.cards` writes them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
from PIL import Image

from srd_agents.acting import as_policy
from srd_gym import load_topics, scoring_v0
from srd_gym.files import written_atomically

PICTURES = Path(__file__).parents[2] / "docs" / "pictures"
TOPIC, SEED = "jaguar", 1
"""The query, and the seed of its user."""
WIDTH, MILLISECONDS = 800, 1200
"""Width of a film in pixels, and duration of a frame."""


def selection(environment: str) -> Iterator[Any]:
    """The frames of an episode of `SRD-v0` or its kin, [H, W, 3] uint8: the empty ranking, then each rank."""
    given: dict[str, Any] = {"topics": "words", "render_mode": "rgb_array"}
    if environment == "SRD-v0":
        given["reward"] = "alpha_nDCG@10"
    with gym.make(f"srd_gym:{environment}", **given) as env:
        policy: Any = as_policy("mmr", env)
        observation, _ = env.reset(seed=SEED, options={"query_id": TOPIC})
        yield env.render()
        done = False
        while not done:
            action, _ = policy.predict(observation)
            observation, _, done, _, _ = env.step(action)
            yield env.render()


def scoring() -> Iterator[Any]:
    """The frames of an episode of `scoring_v0`: before and after its step."""
    topic = load_topics("words").select([TOPIC])[0].take(np.arange(18))  # as many as a picture has lines
    env = scoring_v0.parallel_env([topic], reward="alpha_nDCG@10", render_mode="rgb_array")
    policy: Any = as_policy("mmr", env)
    observations, _ = env.reset(seed=SEED)
    yield env.render()
    actions, _ = policy.predict(observations)
    env.step(actions)
    yield env.render()
    env.close()


FILMS: dict[str, Any] = {
    "srd-v0": lambda: selection("SRD-v0"),
    "srd-click-v0": lambda: selection("SRD-Click-v0"),
    "scoring-v0": scoring,
}
"""Frames by the name of the film."""


def film(frames: Iterator[Any], path: Path) -> None:
    """Write an endless GIF; the last frame stays three times as long."""
    pictures = [Image.fromarray(np.asarray(frame)) for frame in frames]
    height = round(WIDTH * pictures[0].height / pictures[0].width)
    small = [picture.resize((WIDTH, height), Image.Resampling.LANCZOS) for picture in pictures]
    colours = small[-1].quantize(64)
    first, *others = (picture.quantize(palette=colours, dither=Image.Dither.NONE) for picture in small)
    durations = [MILLISECONDS] * len(others) + [3 * MILLISECONDS]
    with written_atomically(path) as temporary:
        first.save(temporary, format="GIF", save_all=True, append_images=others, duration=durations, loop=0)


if __name__ == "__main__":
    for name, frames in FILMS.items():
        film(frames(), PICTURES / f"{name}.gif")
