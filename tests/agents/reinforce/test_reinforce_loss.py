from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from srd_agents.mdp_div.network import RecurrentPolicy
from srd_agents.networks.inputs import Inputs, chosen_log_policy, log_policy
from srd_agents.reinforce.learner import Played
from srd_agents.reinforce.loss import entropy, leave_one_out_advantages, policy_loss, returns_from, worths_of
from srd_agents.reinforce.rollout import SampledEpisodes, drawn

Array = NDArray[np.float64]
NAMES = ("query_weight", "input_weight", "state_weight", "scoring_weight")


def sigma(x: Array) -> Array:
    return np.asarray(1 / (1 + np.exp(-x)))


def log_chances(weights: dict[str, Array], query: Array, documents: Array, actions: NDArray[np.int64]) -> list[float]:
    """The log-probability of every choice by the paper's equations, one rank and one document at a time."""
    vq, v, w, u = (weights[name] for name in NAMES)
    state, left, found = sigma(vq @ query), list(range(len(documents))), []
    for action in actions.tolist():
        logits = {i: float(documents[i] @ u @ state) for i in left}
        found.append(logits[action] - math.log(sum(map(math.exp, logits.values()))))
        state = sigma(v @ documents[action] + w @ state)
        left.remove(action)
    return found


def network_with(weights: dict[str, Array]) -> RecurrentPolicy:
    hidden, width = weights["query_weight"].shape
    network = RecurrentPolicy(width, hidden).double()
    given = {name: torch.from_numpy(array.copy()) for name, array in weights.items()}
    network.load_state_dict({**network.state_dict(), **given})
    return network


def random_case(seed: int, topics: int, rollouts: int, n: int = 6, width: int = 4, hidden: int = 3, ranks: int = 5):
    rng = np.random.default_rng(seed)
    shapes = ((hidden, width), (hidden, width), (hidden, hidden), (width, hidden))
    weights = {name: rng.uniform(-1, 1, shape) for name, shape in zip(NAMES, shapes, strict=True)}
    actions = np.stack([rng.permutation(n)[:ranks] for _ in range(topics * rollouts)])
    rewards = rng.uniform(0, 2, actions.shape)
    return weights, rng.standard_normal((topics, width)), rng.standard_normal((topics, n, width)), actions, rewards


def episodes_of(actions: NDArray[np.int64], candidates: int, rewards: Array) -> SampledEpisodes:
    """Episodes [B, R, T] in which all but the documents ranked before were allowed."""
    before = np.where(np.tri(actions.shape[-1], k=-1, dtype=np.bool_), actions[..., None, :], -1)
    allowed = (before[..., None] != np.arange(candidates)).all(-2)
    return SampledEpisodes(actions, allowed, rewards, np.ones(actions.shape, np.bool_))


def learned_from(logits: torch.Tensor, episodes: SampledEpisodes) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """The log-probabilities of what was done, the entropies, and which ranks were filled."""
    log_pi = log_policy(logits, torch.from_numpy(episodes.allowed))
    chosen = chosen_log_policy(log_pi, torch.from_numpy(episodes.actions))
    return chosen, entropy(log_pi), torch.from_numpy(episodes.active)


def paid(rewards: Array, active: NDArray[np.bool_]) -> Played:
    none = torch.zeros(0)
    return Played(torch.from_numpy(rewards), torch.from_numpy(active), 0, lambda: (none, none))


@pytest.mark.parametrize(("topics", "rollouts"), [(1, 1), (1, 3), (2, 3)])
def test_the_gradient_is_that_of_the_papers_equations(topics: int, rollouts: int) -> None:
    weights, queries, documents, actions, rewards = random_case(3, topics, rollouts)
    network, shape = network_with(weights), (topics, rollouts, -1)
    seen = Inputs(torch.from_numpy(queries), torch.from_numpy(documents))
    episodes = episodes_of(actions.reshape(shape), documents.shape[1], rewards)
    returns = returns_from(torch.from_numpy(rewards)).view(shape)
    logits = network.logits(seen, torch.from_numpy(episodes.actions))
    policy_loss(*learned_from(logits, episodes), returns, 0.0)[0].backward()

    def objective(changed: dict[str, Array]) -> float:
        total = 0.0
        for episode, row in enumerate(actions):
            topic, paid = episode // rollouts, rewards[episode]
            found = log_chances(changed, queries[topic], documents[topic], row)
            total += sum(paid[t:].sum() * log_chance for t, log_chance in enumerate(found))
        return total

    for name in NAMES:
        gradient = network.get_parameter(name).grad
        for index in np.ndindex(weights[name].shape):
            up, down = ({**weights, name: weights[name].copy()} for _ in range(2))
            up[name][index] += 1e-5
            down[name][index] -= 1e-5
            assert -gradient[index].item() == pytest.approx((objective(up) - objective(down)) / 2e-5, abs=1e-6)


def test_vectors_are_shifted_and_scaled_and_no_query_is_the_middle_state() -> None:
    weights, queries, documents, actions, _ = random_case(8, 2, 2)
    shift, scale = np.array([0.3, -1.0, 2.0, 0.1]), 1.7
    taken = torch.from_numpy(actions).view(2, 2, -1)
    plain, shifted = network_with(weights), network_with(weights)
    shifted.shift.copy_(torch.from_numpy(shift))
    shifted.scale.fill_(scale)
    moved = Inputs(*(torch.from_numpy((array - shift) / scale) for array in (queries, documents)))
    as_is = Inputs(torch.from_numpy(queries), torch.from_numpy(documents))
    found, expected = (each.logits(one, taken).softmax(-1) for each, one in ((shifted, as_is), (plain, moved)))
    np.testing.assert_allclose(found.detach(), expected.detach(), rtol=1e-12)
    network = network_with(random_case(1, 1, 1)[0])
    network.shift.fill_(2.0)
    _, initial = network.begin(Inputs(torch.zeros(2, 4).double(), torch.zeros(2, 3, 4).double()))
    assert (initial == 0.5).all()


def test_returns_loss_and_advantages_by_hand() -> None:
    rewards = torch.tensor([[1.0, 2.0, 4.0], [3.0, 0.0, 0.0]])
    assert returns_from(rewards).tolist() == [[7.0, 6.0, 4.0], [3.0, 0.0, 0.0]]
    episodes = episodes_of(np.array([[[0, 1]]]), 3, np.array([[[1.0, 2.0]]]))
    assert episodes.allowed.tolist() == [[[[True, True, True], [False, True, True]]]]
    (worths,) = worths_of([paid(episodes.rewards, episodes.active)], 1, 2)
    assert worths.tolist() == [[[3.0, 2.0]]]
    loss, spread = policy_loss(*learned_from(torch.zeros(1, 1, 2, 3).double(), episodes), worths, 0.5)
    assert spread.item() == pytest.approx(math.log(3) + math.log(2))
    assert loss.item() == pytest.approx(3 * math.log(3) + 2 * math.log(2) - 0.5 * spread.item())
    returns = torch.tensor([[6.0], [3.0], [0.0], [10.0], [10.0], [40.0]])
    assert leave_one_out_advantages(returns, 3).flatten().tolist() == [4.5, 0.0, -4.5, -15.0, -15.0, 30.0]


def test_scaling_makes_the_root_mean_square_one_over_filled_ranks_of_all_parts() -> None:
    """Two parts of a topic of two episodes each; a rank that was not filled does not count."""
    rewards, active = np.array([[[[0, 6.0], [0, 0]]], [[[8.0, 0], [0, 0]]]]), np.ones((2, 1, 2, 2), np.bool_)
    active[1, ..., 1] = False
    parts = [paid(rewards[i], active[i]) for i in range(2)]
    found = worths_of(parts, 2, 6)
    worths = torch.cat([each[part.active] for each, part in zip(found, parts, strict=True)]) * 6
    assert worths.square().mean().item() == pytest.approx(1.0)
    assert (worths / worths[0]).tolist() == pytest.approx([1, 1, -1, -1, 4 / 3, -4 / 3])
    alike = [part._replace(rewards=torch.zeros(1, 2, 2)) for part in parts]
    assert not any(each.any() for each in worths_of(alike, 2, 6))


def test_draws_are_of_the_softmax_and_never_of_what_is_off() -> None:
    scores, count = np.array([-np.inf, 0.0, 1.0, -np.inf, 2.0, -200.0], np.float32), 100_000
    found = np.bincount(drawn(np.broadcast_to(scores, (count, 6)), np.random.default_rng(0)), minlength=6) / count
    policy = np.exp(scores) / np.exp(scores).sum()
    assert (np.abs(found - policy) <= 5 * np.sqrt(policy * (1 - policy) / count)).all()
    for nothing in (np.full((2, 3), -np.inf), np.full((2, 3), np.nan)):
        assert drawn(nothing, np.random.default_rng(0)).tolist() == [0, 0]


def test_policy_and_entropy_by_hand() -> None:
    logits = torch.tensor([[math.log(1.0), math.log(3.0), 50.0], [1.0, 2.0, 3.0], [7.0, 7.0, 7.0]], requires_grad=True)
    allowed = torch.tensor([[True, True, False], [False, True, False], [True, True, True]])
    log_pi = log_policy(logits, allowed)
    assert log_pi[0, :2].exp().tolist() == pytest.approx([0.25, 0.75])
    assert log_pi.exp()[0, 2] == 0
    by_hand = [-(0.25 * math.log(0.25) + 0.75 * math.log(0.75)), 0.0, math.log(3)]
    assert entropy(log_pi).tolist() == pytest.approx(by_hand, rel=1e-6, abs=1e-7)
    none = log_policy(logits, torch.zeros(3, 3, dtype=torch.bool))
    for found in (log_pi, none):
        (gradient,) = torch.autograd.grad(entropy(found).sum(), logits, retain_graph=True)
        assert gradient.isfinite().all()
    assert torch.autograd.grad(entropy(log_pi).sum(), logits)[0][0, 2] == 0
