"""An update on a device mixes nothing of it with the CPU's, and copies nothing back.

The device is torch's "meta": its tensors hold no numbers, so that every look at one fails.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from small_topics import judged_topic
from torch.optim import adam, optimizer
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from srd_agents.registry import RANKERS, make_ranker
from srd_gym.topic import TopicSet

LEARNERS: dict[str, dict[str, Any]] = {
    "reinforce": {"ema_decay": 0.9},
    "reinforce-logs": {"lists": 200},
    "mdp-div-batched": {},
    "qmix": {},
    "ma4div": {"state": "documents", "max_candidates": None},
    "vdn": {},
    "iql": {},
    "desa": {},
    "daletor": {},
    "mo4srd": {},
    "ntn": {},
    "ntn-div": {},
    "subtopic-classifier": {},
    "reinforce-subtopics": {"first_epochs": 1},
    "click-classifier": {"lists": 200},
    "click-classifier-logs": {"lists": 200},
    "reinforce-clicks": {"first_epochs": 1, "lists": 200},
    "relevance-mmr": {},
}
LEFT_OUT = {
    "mcts": "its search asks for one node at a time, which numpy answers sooner; the device learns from what it found",
    "mdp-div": "its gradients are numpy's, of one episode at a time",
    "mdp-div-ntn-d": "it is ntn-div, which is held to it above, and then mdp-div",
    "maskable-ppo": "Stable-Baselines3 keeps its episodes in numpy",
}


class OneDevice(TorchDispatchMode):
    """Refuses operations on tensors of two devices, but for copies and single numbers."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        tensors = [part for part in tree_leaves((args, kwargs)) if isinstance(part, torch.Tensor) and part.ndim]
        if func is not torch.ops.aten.copy_.default:
            assert len({part.device.type for part in tensors}) <= 1, func
        return func(*args, **(kwargs or {}))


@pytest.fixture
def topics(monkeypatch: pytest.MonkeyPatch) -> TopicSet:
    for place in (adam, optimizer):  # "meta" steps as well, but torch does not say so
        monkeypatch.setattr(place, "_get_fused_kernels_supported_devices", lambda: ["meta"], raising=False)
    return TopicSet([judged_topic(n, seed, 6) for seed, n in enumerate((9, 12, 7, 12))], name="sizes")


@pytest.mark.parametrize("name", LEARNERS)
def test_an_update_stays_on_its_device(name: str, topics: TopicSet) -> None:
    learner: Any = make_ranker(name, device="meta", **LEARNERS[name])
    with OneDevice():
        learner.prepare(topics, 3)
        assert {part.device.type for part in learner._network.state_dict().values()} == {"meta"}
        for _ in range(2):
            figures = learner._update(np.arange(3))
    assert figures["loss"].device.type == "meta"
    with pytest.raises((RuntimeError, NotImplementedError), match=r"item|no data"):
        float(figures["loss"])


@pytest.mark.parametrize(
    "name",
    [name for name in LEARNERS if hasattr(RANKERS[name].ranker_class, "fit_many") and name != "reinforce-logs"],
)
def test_an_update_of_many_seeds_stays_on_its_device(name: str, topics: TopicSet) -> None:
    learner: Any = make_ranker(name, device="meta", **LEARNERS[name])
    with OneDevice():
        learners = learner._seeded(topics, [0, 1, 2])
        together = learner.together_class(learners)
        for running in ([0, 1, 2], [0, 2]):
            figures = together.update(np.array([[0, 1, 2], [2, 1, 3], [3, 0, 1]]), running)
    assert {each["loss"].device.type for each in figures} == {"meta"}


def test_every_learner_with_a_device_is_held_to_it_or_left_out_with_a_reason() -> None:
    with_device = {
        RANKERS[name].ranker_class for name in RANKERS.built_in if hasattr(RANKERS[name].config_class, "device")
    }
    assert with_device == {RANKERS[name].ranker_class for name in (*LEARNERS, *LEFT_OUT)}
