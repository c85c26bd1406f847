"""The simulators in torch pay what those in numpy pay."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from small_topics import bare_topic, random_topics, refused
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode

from srd_agents.simulators import ScoringSimulator, SelectionSimulator, TopicTensors
from srd_agents.simulators.draws import uniform
from srd_gym.core import Clicks, ScoringCore, SelectionCore
from srd_gym.core.users import drawn_users
from srd_gym.pruning import KNN, ByRanker, Chain
from srd_gym.topic import TopicSet

MEASURES = (
    "alpha_DCG", "alpha_nDCG", "alpha_nDCG@5", "alpha_nDCG(alpha=0.7)@4", "alpha_nDCG(rel=2)", "ERR_IA", "nERR_IA",
    "StRecall", "NRBP", "nNRBP", "P_IA", "MAP_IA", "D_nDCG", "Dsharp_nDCG@3", "alpha_nDCG(alpha=1.0)",
    "alpha_DCG(alpha=0.0)",
)  # fmt: skip
USERS = (
    Clicks(),
    Clicks(model="dbn", patience=0.8, satisfaction=0.6, boredom=0.5),
    Clicks(model="pbm", decay=0.7, noise=0.1),
    Clicks(pays="reciprocal_rank", noise=0.2, cutoff=3),
    Clicks(attraction=(0.1, 0.4, 0.9), satisfaction=(0.0, 0.5, 0.9), model="dbn"),
    Clicks(expected=True, boredom=0.3),
    Clicks(expected=True, model="dbn", patience=0.7, pays="satisfaction"),
    Clicks(expected=True, model="pbm", noise=0.05),
)
PRUNING = (KNN(0.3), KNN(k=2), KNN(0.5, metric="cosine"), ByRanker("random", 0.5), ByRanker("random", 3))


def tensor(values: NDArray[Any]) -> Tensor:
    return torch.from_numpy(np.ascontiguousarray(values))


def largest_difference(
    seed: int, dtype: torch.dtype, *, compiled: bool = False, restarts: bool = True, **options: Any
) -> float:
    """Both simulators side by side on the same actions, empty ranks and restarts; masks and rankings must be equal."""
    topics, count, rng = random_topics(seed, 12, unlabelled=seed % 2 == 1), 48, np.random.default_rng(seed)
    core = SelectionCore(topics, horizon=6, **options)
    simulator = SelectionSimulator(topics, horizon=6, dtype=dtype, **options)
    step = torch.compile(simulator.step, fullgraph=True) if compiled else simulator.step
    index, users = rng.integers(len(topics), size=count), rng.integers(2**63, size=count)
    core.reset(index, users=users)
    state = simulator.reset(tensor(index), tensor(users))
    worst, empty = 0.0, 0
    for _ in range(core.horizon + 2):
        best = np.where(core.allowed, rng.random(core.allowed.shape), -1).argmax(1)
        actions = np.where(rng.random(count) < 0.25, rng.integers(core.arrays.max_candidates, size=count), best)
        expected = core.step(actions)
        state, result = step(state, tensor(actions))
        empty += int(expected.invalid.sum())
        np.testing.assert_array_equal(result.invalid, expected.invalid)
        np.testing.assert_array_equal(result.terminated, expected.terminated)
        np.testing.assert_array_equal(state.coverage[:, :-1], core.coverage)
        for name in ("allowed", "ranking", "rank"):
            np.testing.assert_array_equal(getattr(state, name), getattr(core, name), err_msg=name)
        pairs = [(result.reward, expected.reward), (result.gain, expected.gain), (state.returns, core.returns())]
        worst = max(worst, *(float(np.abs(ours.numpy().astype(float) - theirs).max()) for ours, theirs in pairs))
        ours, theirs = simulator.measures(state), core.measures()
        assert list(ours) == list(theirs)
        for name, value in theirs.items():
            np.testing.assert_allclose(ours[name], value, rtol=0, atol=1e-12 if dtype == torch.float64 else 1e-5)
        if core.bound is not None:
            tolerance = 1e-12 if dtype == torch.float64 else 1e-5
            np.testing.assert_allclose(simulator.candidate_gains(state), core.candidate_gains(), rtol=0, atol=tolerance)
        if restarts and (which := rng.random(count) < 0.2).any():
            index, users = rng.integers(len(topics), size=count), rng.integers(2**63, size=count)
            core.reset(index[which], np.flatnonzero(which), users[which])
            state = simulator.restart(state, tensor(which), tensor(index), tensor(users))
    assert empty
    return worst


@pytest.mark.parametrize("reward_type", ["dense", "sparse"])
@pytest.mark.parametrize("reward", MEASURES)
def test_measures_are_equal_to_the_last_bit(reward: str, reward_type: str) -> None:
    more = ("StRecall@3", "alpha_nDCG@5")
    assert {
        largest_difference(s, torch.float64, reward=reward, reward_type=reward_type, measures=more) for s in range(4)
    } == {0.0}
    assert max(largest_difference(s, torch.float32, reward=reward, reward_type=reward_type) for s in range(2)) < 2e-6


@pytest.mark.parametrize("reward", USERS, ids=str)
def test_users_do_the_same(reward: Clicks) -> None:
    for seed in range(6):
        worst = largest_difference(seed, torch.float64, reward=reward)
        assert worst < 1e-12 if reward.expected else worst == 0


@pytest.mark.parametrize("on_invalid", ["skip", "next"])
@pytest.mark.parametrize("pruning", PRUNING, ids=str)
def test_the_same_is_pruned(pruning: Any, on_invalid: str) -> None:
    for seed in range(6):
        options = {"reward": "alpha_nDCG", "pruning": pruning, "on_invalid": on_invalid}
        assert largest_difference(seed, torch.float64, **options) == 0


@pytest.mark.parametrize("options", [
    {"reward": "alpha_nDCG"},
    {"reward": "Dsharp_nDCG", "pruning": KNN(0.3), "on_invalid": "next"},
    {"reward": Clicks(model="dbn", boredom=0.5)},
], ids=str)  # fmt: skip
def test_steps_compile_as_one_graph(options: dict[str, Any]) -> None:
    torch._dynamo.reset()
    assert largest_difference(3, torch.float64, compiled=True, restarts=False, **options) == 0


@pytest.mark.parametrize("options", [
    {},
    {"reward": "Dsharp_nDCG", "pruning": KNN(0.3), "measures": ("alpha_nDCG",)},
    {"reward": Clicks(model="dbn", boredom=0.4)},
    {"reward": Clicks(expected=True), "reward_type": "sparse"},
], ids=str)  # fmt: skip
def test_no_step_looks_at_what_tensors_hold(options: dict[str, Any]) -> None:
    simulator = SelectionSimulator(random_topics(0, 6), horizon=4, **options)
    with FakeTensorMode(allow_non_fake_inputs=True) as mode:
        topic, actions, users = (mode.from_tensor(torch.zeros(5, dtype=torch.int64)) for _ in range(3))
        state = simulator.reset(topic, users)
        for _ in range(5):
            state, _ = simulator.step(state, actions)
        state = simulator.restart(state, simulator.done(state), topic, users)
        simulator.measures(state)


def test_a_state_is_a_value() -> None:
    simulator = SelectionSimulator(random_topics(0, 4), horizon=3)
    state = simulator.reset(torch.arange(4))
    before = [part.clone() for part in state]
    simulator.step(state, torch.zeros(4, dtype=torch.int64))
    assert all(torch.equal(one, other) for one, other in zip(before, state, strict=True))


def test_states_are_mapped_over() -> None:
    simulator = SelectionSimulator(random_topics(2, 6), horizon=3, dtype=torch.float64)
    generator = torch.Generator().manual_seed(0)
    topics, actions = (torch.randint(n, (5, 7), generator=generator) for n in (6, 9))
    _, mapped = torch.func.vmap(simulator.step)(torch.func.vmap(simulator.reset)(topics), actions)
    _, flat = simulator.step(simulator.reset(topics.flatten()), actions.flatten())
    assert torch.equal(mapped.reward.flatten(), flat.reward)


def test_topics_without_any_subtopic_pay_nothing() -> None:
    simulator = SelectionSimulator(TopicSet([bare_topic(4)], name="bare"), reward="Clicks")
    start = simulator.reset(torch.zeros(3, dtype=torch.int64), torch.arange(3))
    _, result = simulator.step(start, torch.arange(3))
    assert result.reward.tolist() == [0, 0, 0]


def test_what_no_topic_has_leaves_the_rank_empty() -> None:
    simulator = SelectionSimulator(random_topics(0, 4, n=5), horizon=3)
    before = simulator.reset(torch.zeros(3, dtype=torch.int64))
    state, result = simulator.step(before, torch.tensor([-1, 10**6, 0]))
    assert result.invalid.tolist() == [True, True, False]
    assert torch.equal(state.allowed[:2], before.allowed[:2])
    assert state.ranking[:, 0].tolist() == [-1, -1, 0]


class Own:
    """A reward of somebody's own."""

    name = "own"

    def bind(self, topics: Any, horizon: int) -> Any:
        return lambda step: np.ones(len(step.action))


@pytest.mark.parametrize("options", [
    {"reward": Own()},
    {"reward": "VRisk(beta=0.5)"},
    {"pruning": ByRanker("mmr", 0.5, when="step")},
    {"pruning": Chain((KNN(0.3), KNN(k=1)))},
], ids=["own reward", "no sum over ranks", "ranker at each step", "chain"])  # fmt: skip
def test_what_has_no_form_in_tensors_is_refused_by_name(options: dict[str, Any]) -> None:
    refused(lambda: SelectionSimulator(random_topics(0), **options), "srd_gym.core", TypeError)
    refused(lambda: ScoringSimulator(random_topics(0), reward="VRisk"), "no sum over ranks", TypeError)


def test_other_options_that_cannot_be_are_refused() -> None:
    refused(lambda: SelectionSimulator(random_topics(0), on_invalid="raise"), "on_invalid")
    refused(lambda: ScoringSimulator(random_topics(0), reward=Clicks()), "srd_gym.core.ScoringCore", TypeError)  # type: ignore[arg-type]
    simulator = SelectionSimulator(random_topics(0), reward=Clicks())
    refused(lambda: simulator.reset(torch.zeros(2, dtype=torch.int64)), "needs users")
    refused(
        lambda: simulator.candidate_gains(simulator.reset(torch.zeros(1).long(), torch.ones(1).long())), "not a measure"
    )


@pytest.mark.parametrize("reward", ["alpha_nDCG@10", "NRBP", ("alpha_nDCG@3", "ERR_IA@5"), "MAP_IA"])
def test_scored_lists_are_paid_the_same(reward: Any) -> None:
    for seed in range(4):
        topics, rng = random_topics(seed, 9, unlabelled=seed % 2 == 1), np.random.default_rng(seed)
        core = ScoringCore(topics, reward=reward, n_scores=4)
        simulator = ScoringSimulator(topics, reward=reward, n_scores=4, dtype=torch.float64)
        index = rng.integers(len(topics), size=40)
        scores = rng.integers(4, size=(40, core.arrays.max_candidates))
        expected = core.rank(index, scores)[:, : simulator.depth]
        np.testing.assert_array_equal(simulator.rank(tensor(index), tensor(scores)), expected)
        paid = simulator.step(tensor(index), tensor(scores))
        np.testing.assert_allclose(paid, core.step(index, scores), rtol=0, atol=1e-13)


def test_random_numbers_are_those_of_users_and_uniform() -> None:
    users = drawn_users(np.random.default_rng(0), 5)
    from srd_gym.core.users import _uniform

    ours = uniform(tensor(users)[:, None], torch.arange(1000))
    np.testing.assert_array_equal(ours, _uniform(users, np.arange(1000)))


def test_topics_are_laid_out_once_and_say_what_they_are() -> None:
    topics = TopicTensors(random_topics(1, 5))
    assert topics.documents is topics.documents
    np.testing.assert_array_equal(topics.documents, topics.arrays.documents)
    np.testing.assert_array_equal(topics.queries, topics.arrays.queries)
    np.testing.assert_array_equal(topics.retrieval_scores, topics.arrays.retrieval_scores)
    np.testing.assert_array_equal(topics.n_candidates, topics.arrays.n_candidates)
    assert len(topics) == 5
    assert "random" in repr(topics)


@pytest.mark.parametrize("pruning", [None, KNN(0.3), ByRanker("random", 0.5)], ids=str)
def test_states_may_be_narrower_than_the_largest_topic(pruning: Any) -> None:
    topics = random_topics(4, 12)
    counts = np.array([topic.n_candidates for topic in topics])
    small = np.flatnonzero(counts < counts.max())
    width = int(counts[small].max())
    simulator = SelectionSimulator(topics, horizon=5, pruning=pruning, reward="alpha_nDCG", on_invalid="next")
    wide, narrow = simulator.reset(tensor(small)), simulator.reset(tensor(small), width=width)
    for rank in range(6):
        actions = torch.full((len(small),), rank % width)
        if rank < 5:
            gains = simulator.candidate_gains(wide)[:, :width]
            assert torch.equal(simulator.candidate_gains(narrow), gains)
        (wide, expected), (narrow, found) = simulator.step(wide, actions), simulator.step(narrow, actions)
        assert torch.equal(wide.allowed[:, :width], narrow.allowed)
        assert torch.equal(wide.ranking, narrow.ranking)
        assert torch.equal(expected.reward, found.reward)
    again = simulator.restart(narrow, simulator.done(narrow), narrow.topic)
    assert again.allowed.shape == narrow.allowed.shape
