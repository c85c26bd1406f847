from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_topics import alone, small_topic

import srd_gym  # noqa: F401 registers the environments
from srd_gym.rendering.text import GRID_WIDTH, clipped, printable
from srd_gym.topic import Topic


def rendered(topic: Topic, *actions: int) -> list[str]:
    env = gym.make("SRD-v0", topics=alone(topic), observation="compact", render_mode="ansi", horizon=3)
    env.reset(seed=0)
    for action in actions:
        env.step(action)
    return env.render().splitlines()


def test_an_episode_that_begins_has_covered_nothing() -> None:
    """What else is shown, the playthroughs hold."""
    assert rendered(small_topic(query_text="jaguar")) == [
        'query 1 "jaguar"  rank 0 of 2 (2 candidates, 2 subtopics)',
        "      0 of 2 subtopics covered  return alpha_DCG(normalization=None)@3 = 0.0000  alpha_DCG@3 = 0.0000",
    ]


def test_ids_and_texts_are_data() -> None:
    topic = small_topic(
        [[1], [0]], "q\x1b[2J", query_text="line\nbreak\r\u202eback", doc_ids=("<b>bold</b>", "tab\there"),
        doc_texts=("<script>alert(1)</script>", "\x07bell \u2028 separator"),
    )  # fmt: skip
    lines = rendered(topic, 0, 1)
    text = "\n".join(lines)
    assert len(lines) == 4
    assert "<b>bold</b>" in text
    assert "<script>alert(1)</script>" in text
    assert r'q\x1b[2J "line\nbreak\r\u202eback"' in text
    assert r"tab\there" in text
    assert r"\x07bell \u2028 separator" in text


@given(st.text(st.sampled_from([*map(chr, range(0x300)), "\u2028", "\u202e", "\ufeff", "\ud800", "\U000e0001", "\n"])))
def test_nothing_printable_moves_a_cursor(text: str) -> None:
    shown = printable(text)
    assert shown.isprintable() or not set(shown) & {chr(c) for c in (*range(32), *range(127, 160))}
    assert len(shown.splitlines()) <= 1
    assert printable(shown) == shown


def test_long_texts_and_wide_grids_are_cut() -> None:
    assert clipped("a" * 10**7, 5) == "aaaa…"
    assert clipped("abcde", 5) == "abcde"
    assert clipped("\x00" * 9, 8) == r"\x00\x0…"
    assert "#" * GRID_WIDTH + "…" in rendered(small_topic(np.ones((1, 60))), 0)[1]


def test_other_modes_render_nothing_and_say_so() -> None:
    env = gym.make("SRD-v0", topics=alone(small_topic()), observation="compact", disable_env_checker=True)
    env.reset(seed=0)
    with pytest.warns(UserWarning, match="render_mode is None; make the environment with render_mode='ansi'"):
        assert env.render() is None
