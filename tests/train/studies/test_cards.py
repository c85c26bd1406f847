"""Films of episodes."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image, ImageSequence

from studies.cards import FILMS, PICTURES, film


@pytest.mark.parametrize(("name", "frames"), [("srd-v0", 11), ("srd-click-v0", 11), ("scoring-v0", 2)])
def test_the_films_of_the_pages_show_whole_episodes(name: str, frames: int) -> None:
    with Image.open(PICTURES / f"{name}.gif") as picture:
        shown = [np.asarray(frame.convert("RGB")) for frame in ImageSequence.Iterator(picture)]
    assert len(shown) == frames
    assert all((one != other).any() for one, other in itertools.pairwise(shown))
    assert (PICTURES / f"{name}.gif").stat().st_size < 100_000
    assert FILMS.keys() == {path.stem for path in PICTURES.glob("*.gif")}


def test_a_film_has_each_frame_once_and_is_the_same_each_time(tmp_path: Path) -> None:
    grey = np.tile(np.arange(128, dtype=np.uint8)[None, :, None], (72, 1, 3))
    frames: list[Any] = [np.roll(grey, shift, axis=1) for shift in (0, 40, 90)]
    for name in ("one.gif", "other.gif"):
        film(iter(frames), tmp_path / name)
    assert (tmp_path / "one.gif").read_bytes() == (tmp_path / "other.gif").read_bytes()
    with Image.open(tmp_path / "one.gif") as picture:
        assert (picture.n_frames, picture.size) == (3, (800, 450))
