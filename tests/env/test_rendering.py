from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_topics import alone, bare_topic, small_topic

import srd_gym  # noqa: F401 registers the environments
from srd_gym.rendering.text import GRID_WIDTH, clipped, printable
from srd_gym.topic import Topic


def rendered(topic: Topic, *actions: int) -> list[str]:
    env = gym.make("SRD-v0", topics=alone(topic), observation="compact", render_mode="ansi", horizon=3)
    env.reset(seed=0)
    for action in actions:
        env.step(action)
    return env.render().splitlines()


TEXTS = ("big cats", "cats and cars", "other")
JUDGED = small_topic([[1, 0], [1, 1], [0, 0]], "7", query_text="jaguar", doc_texts=TEXTS)


def test_the_ranking_its_coverage_and_its_gains() -> None:
    assert rendered(JUDGED) == [
        'query 7 "jaguar"  rank 0 of 3 (3 candidates, 2 subtopics)',
        "      0 of 2 subtopics covered  return 0.0000  alpha_DCG@3 = 0.0000",
    ]
    lines = rendered(JUDGED, 0, 0, 1)
    assert lines[0].startswith('query 7 "jaguar"  rank 3 of 3')
    assert lines[1].split() == ["1", "a", "#.", "+1.0000", "big", "cats"]
    assert lines[2] == "   2  (rank wasted: the document was not on offer)"
    assert lines[3].split() == ["3", "b", "+#", "+0.7500", "cats", "and", "cars"]
    assert lines[4] == "      2 of 2 subtopics covered  return 1.7500  alpha_DCG@3 = 0.6074"
    assert rendered(JUDGED, 0, 2)[2].split()[:3] == ["2", "c", ".."], "what another document covers is not its own"


def test_unlabelled_topics_show_neither_grid_nor_gains() -> None:
    lines = rendered(bare_topic(2, "7", subtopic_ids=("x",)), 1)
    assert lines[0] == "query 7  rank 1 of 2 (2 candidates, 1 subtopics, unlabelled)"
    assert lines[1].split() == ["1", "b"]
    assert lines[2] == "      no judgments: nothing to score"


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
    env = gym.make("SRD-v0", topics=alone(JUDGED), observation="compact", disable_env_checker=True)
    env.reset(seed=0)
    with pytest.warns(UserWarning, match="render_mode is None; make the environment with render_mode='ansi'"):
        assert env.render() is None
