from __future__ import annotations

import copy
import itertools
import pickle
import re
import sys
import types
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from small_topics import alone, bare_topic, random_topics, refused, small_topic

import srd_gym  # noqa: F401 registers the environments
from srd_gym import scoring_v0
from srd_gym.envs import SelectionEnv, SelectionVectorEnv, selection
from srd_gym.rendering import scoring_scene
from srd_gym.rendering.scene import map_of
from srd_gym.topic import Topic

matplotlib = pytest.importorskip("matplotlib")

JUDGED = small_topic([[1, 0], [1, 1], [0, 0]], doc_vectors=[[0, 0], [2, 0], [0, 1]], query_vector=[1, 1])
ONE = alone(JUDGED)


def test_gains_of_a_scored_list_add_up_to_its_reward() -> None:
    topics = random_topics(2)
    env = scoring_v0.parallel_env(topics, reward=("alpha_nDCG@3", "StRecall@5"), render_mode="rgb_array")
    for seed in range(4):
        env.reset(seed=seed)
        assert seed or env.render().shape == (720, 1280, 3)
        scores = np.random.default_rng(seed).integers(30, size=len(env.agents))
        _, rewards, *_ = env.step(dict(zip(env.agents, scores.tolist(), strict=True)))
        scene = scoring_scene(env.core, topics.position(env.query_id), scores, env.ranking, env.measures)
        assert sum(scene.gains) == pytest.approx(next(iter(rewards.values())), abs=1e-12)
        assert scene.ranking == env.ranking
        assert scene.scores == sorted(scene.scores, reverse=True)


def test_the_map_keeps_distances_in_the_plane_does_not_change_and_needs_few_documents() -> None:
    points, query = map_of(JUDGED)
    shown, vectors = np.vstack([points, query]), np.array([[0, 0], [2, 0], [0, 1], [1, 1]], float)
    distances = [np.linalg.norm(each[:, None] - each, axis=2) for each in (shown, vectors)]
    np.testing.assert_allclose(*distances, atol=1e-6)
    np.testing.assert_array_equal(points, map_of(JUDGED)[0])
    for vectors, spread in (([[1.0, 2.0]], 0.0), ([[1.0], [3.0]], 2.0), ([[1.0, 1.0]] * 2, 0.0)):
        points, query = map_of(bare_topic(len(vectors), doc_vectors=vectors))
        assert query is None
        assert np.ptp(points, axis=0).tolist() == pytest.approx([spread, 0.0])
    assert map_of(bare_topic()) is None


def frames(topic: Topic = JUDGED, **options: Any) -> list[np.ndarray]:
    env = gym.make("SRD-v0", topics=alone(topic), render_mode="rgb_array", disable_env_checker=True, **options)
    env.reset(seed=0)
    shown = [env.render()]
    for action in range(topic.n_candidates):
        env.step(action)
        shown.append(env.render())
    return shown


@pytest.fixture(scope="module")
def first() -> list[np.ndarray]:
    return frames()


def test_pictures_show_each_step_and_repeat_exactly(first: list[np.ndarray]) -> None:
    for one, two in zip(first, frames(), strict=True):
        assert (one.shape, one.dtype) == ((720, 1280, 3), np.uint8)
        np.testing.assert_array_equal(one, two)
    for before, after in itertools.pairwise(first):
        assert (before != after).any()
    assert not np.shares_memory(first[0], first[1])
    # Whatever was on the sheet before leaves no trace: an episode's first picture comes again after others.
    env = SelectionEnv(ONE, render_mode="rgb_array")
    env.reset(seed=0)
    env.step(1)
    env.render()
    env.reset(seed=0)
    for twin in (env, copy.deepcopy(env), pickle.loads(pickle.dumps(env))):
        np.testing.assert_array_equal(twin.render(), first[0])


def test_a_new_document_is_dark_and_a_repeated_one_light(first: list[np.ndarray]) -> None:
    colours = [set(map(tuple, frame[180:300, 412:490].reshape(-1, 3).tolist())) for frame in first[:3]]
    dark, light = (8, 81, 156), (107, 174, 214)
    assert [dark in seen for seen in colours] == [False, True, True]
    assert [light in seen for seen in colours] == [False, False, True]


def test_every_kind_of_topic_can_be_drawn() -> None:
    awkward = small_topic(
        np.ones((3, 60)), "7$x^2$", query_text="$\\frac{1}{2}$ \u65e5 <b>\x1b[2J\nnext", doc_vectors=np.eye(3, 2),
        doc_ids=("a", "b" * 300, "c"), doc_texts=("$$ a_b^", "x " * 500, ""),
    )  # fmt: skip
    unlabelled, long, uncovered = bare_topic(2), small_topic(np.eye(22, 1)), small_topic(np.ones((1, 0)))
    for topic in (awkward, unlabelled, long, uncovered):
        shown = frames(topic, horizon=None, observation="compact")
        assert {shown[0].shape, shown[-1].shape} == {(720, 1280, 3)}


def test_rendering_changes_nothing_and_nothing_is_drawn_unasked(monkeypatch: pytest.MonkeyPatch) -> None:
    def play(mode: str | None) -> list[Any]:
        env = SelectionEnv(random_topics(4, n=5), render_mode=mode)
        told = [env.reset(seed=3)]
        for action in range(5):
            if mode:
                env.render()
            told.append(env.step(action))
        return told

    drawn = str(play("rgb_array"))
    monkeypatch.setattr(selection, "render", lambda *_: pytest.fail("drawn"))
    assert drawn == str(play(None))


@pytest.mark.parametrize(("reward", "shown"), [
    ("alpha_nDCG@10", r"return alpha_nDCG@10 = \d\.\d{4}"),
    ("ERR_IA@3", r"return ERR_IA\(normalization=None\)@3 = \d\.\d{4}  ERR_IA@3 = \d\.\d{4}"),
])  # fmt: skip
def test_pictures_say_what_the_return_is_and_what_tables_print(
    reward: str, shown: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from matplotlib.figure import Figure

    written, write = [], Figure.text
    monkeypatch.setattr(Figure, "text", lambda *args, **style: written.append(args[3]) or write(*args, **style))
    env = SelectionEnv(ONE, reward=reward, render_mode="rgb_array")
    env.reset()
    env.step(0)
    env.render()
    assert re.fullmatch(f"1 of 2 subtopics covered  {shown}", written[1])


def test_the_vector_environment_renders_every_episode() -> None:
    vector = gym.make_vec("SRD-v0", num_envs=3, topics=random_topics(3), render_mode="rgb_array")
    vector.reset(seed=0)
    for seed, frame in zip(range(3), vector.render(), strict=True):
        single = SelectionEnv(random_topics(3), render_mode="rgb_array")
        single.reset(seed=seed)
        np.testing.assert_array_equal(frame, single.render())


def test_gymnasiums_checker_renders_all_modes_also_without_a_display() -> None:
    from matplotlib import pyplot

    pyplot.switch_backend("agg")
    env = gym.make("SRD-v0", topics=random_topics(3), disable_env_checker=True)
    with pytest.warns(UserWarning, match="found no display .matplotlib backend 'agg'.; nothing is shown"):
        check_env(env.unwrapped)


@pytest.fixture
def pyplot(monkeypatch: pytest.MonkeyPatch) -> Any:
    """pyplot with a backend whose windows are shown to nobody; pauses are counted, not slept."""
    from matplotlib import pyplot
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    class FigureCanvas(FigureCanvasAgg):
        required_interactive_framework = "headless"

    backend: Any = types.ModuleType("no_window")
    backend.FigureCanvas = FigureCanvas
    monkeypatch.setitem(sys.modules, "no_window", backend)
    before = matplotlib.get_backend()
    pyplot.switch_backend("module://no_window")
    monkeypatch.setattr(pyplot, "pauses", [], raising=False)
    monkeypatch.setattr(pyplot, "pause", pyplot.pauses.append)
    yield pyplot
    pyplot.close("all")
    pyplot.switch_backend(before)


def test_human_shows_every_reset_and_step_in_one_window(pyplot: Any, first: list[np.ndarray]) -> None:
    env = gym.make("SRD-v0", topics=ONE, render_mode="human", disable_env_checker=True)
    env.reset(seed=0)
    for action in (0, 1, 2):
        env.step(action)
    assert env.render() is None
    assert pyplot.pauses == [0.25] * 5
    (number,) = pyplot.get_fignums()
    (axes,) = pyplot.figure(number).axes
    np.testing.assert_array_equal(axes.images[0].get_array(), first[-1])
    env.close()
    assert pyplot.get_fignums() == []


def test_human_in_the_other_environments(pyplot: Any) -> None:
    vector = SelectionVectorEnv(random_topics(3), num_envs=2, render_mode="human")
    vector.reset(seed=0)
    vector.step([0, 0])
    assert vector.render() is None
    vector.close()
    env = scoring_v0.parallel_env(random_topics(3), render_mode="human")
    env.reset(seed=0)
    env.step(dict.fromkeys(env.agents, 1))
    assert env.render() is None
    env.close()
    assert len(pyplot.pauses) == 6
    assert [each.metadata["render_fps"] for each in (SelectionEnv, vector, env)] == [4] * 3
    assert pyplot.get_fignums() == []


@pytest.mark.parametrize("mode", ["rgb_array", "human"])
def test_without_matplotlib_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch, mode: str) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "matplotlib"]:
        monkeypatch.setitem(sys.modules, name, None)
    env = SelectionEnv(ONE, render_mode=mode)  # libraries ask for modes that they never render
    message = "rendering pictures needs matplotlib"
    if mode == "rgb_array":
        env.reset(seed=0)
    refused(env.render if mode == "rgb_array" else env.reset, message, ImportError)
