from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from small_topics import refused

from srd_agents import make_ranker
from srd_agents.sb3.agent import PrivateRandomness
from srd_gym.data.synthetic import generate

pytest.importorskip("sb3_contrib")

SMALL: dict[str, Any] = {"hidden_size": 8, "batch_topics": 4, "rollouts": 2, "batch_size": 20, "n_epochs": 2}
TOPICS = generate("serp", n_topics=14, seed=1, candidates=(4, 8), width=6)


def test_training_leaves_the_global_generators_alone() -> None:
    before = np.random.get_state()[1].copy(), torch.get_rng_state()  # type: ignore[index,union-attr] # noqa: NPY002
    make_ranker("maskable-ppo", **SMALL, horizon=5, epochs=2).fit(TOPICS[:10], TOPICS[10:], seed=4)
    assert np.array_equal(np.random.get_state()[1], before[0])  # type: ignore[index] # noqa: NPY002
    assert torch.equal(torch.get_rng_state(), before[1])


def test_draws_of_another_device_are_private_and_go_on_too() -> None:
    def drawn(random: PrivateRandomness) -> list[float]:
        with random.in_force():
            return torch.rand(3).tolist()  # type: ignore[no-any-return]

    before = torch.get_rng_state()
    one, other = PrivateRandomness(0, "cuda"), PrivateRandomness(1, "cuda")
    first = drawn(one)
    other.load(one.tree())
    assert first != drawn(one) == drawn(other)
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("options", [
    {"rollouts": 7, "batch_topics": 1, "horizon": 3, "batch_size": 20},
    {"rollouts": 1, "batch_topics": 1, "horizon": 1},
])  # fmt: skip
def test_a_minibatch_of_one_step_is_refused_before_training(options: dict[str, int]) -> None:
    ranker: Any = make_ranker("maskable-ppo", **{**SMALL, **options})
    refused(lambda: ranker.fit(TOPICS[:10]), "leaves one of the (21|1) steps")
    assert ranker.history is None
    for name, value in ranker._weights().items():
        assert np.isfinite(value).all(), name
