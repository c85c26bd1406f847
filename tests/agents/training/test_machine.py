from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from small_topics import refused

from srd_agents.registry import RANKERS, make_ranker
from srd_agents.training.learner import Learner
from srd_agents.training.torch_learner import NetworkLearner
from srd_gym.data.synthetic import generate
from srd_gym.topic import Topic

TOPICS = generate("tiny", n_topics=6, seed=0)
LEARNERS = {name: spec for name, spec in RANKERS.items() if spec.trainable}


@pytest.mark.parametrize("name", list(LEARNERS))
def test_a_device_that_is_not_here_is_refused(name: str) -> None:
    if issubclass(LEARNERS[name].ranker_class, NetworkLearner):
        for device in ("meta", "nowhere", "cuda:99"):
            ranker: Any = make_ranker(name, device=device)
            refused(lambda made=ranker: made.fit(TOPICS), "must be one that torch has")
            assert ranker.vector_width is None


@pytest.mark.parametrize("name", ["reinforce", "reinforce-subtopics", "mcts", "qmix", "maskable-ppo"])
def test_a_model_trained_elsewhere_ranks_here(tmp_path: Path, name: str) -> None:
    if name == "maskable-ppo":
        pytest.importorskip("sb3_contrib")
    ranker: Any = make_ranker(name, epochs=1)
    ranker.fit(TOPICS)
    ranker.config = replace(ranker.config, device="cuda:99")
    ranker.save(tmp_path)
    loaded: Learner[Any] = type(ranker).load(tmp_path, name=name)
    assert loaded.rank(TOPICS[0], 5).tolist() == ranker.rank(TOPICS[0], 5).tolist()


def test_replays_larger_than_memory_are_refused() -> None:
    ranker: Any = make_ranker("qmix", replay_capacity=10**15)
    refused(lambda: ranker.fit(TOPICS), "ranker 'qmix' needs more memory.*make batches and the network smaller")


def test_seeds_that_do_not_fit_together_are_refused() -> None:
    class TooLarge:
        def __init__(self, _learners: object) -> None:
            raise torch.OutOfMemoryError(FULL)

    ranker: Any = make_ranker("qmix")
    ranker.together_class = TooLarge
    refused(lambda: ranker.fit_many(TOPICS, seeds=[0, 1]), "1.00 GiB is free.*take fewer")


FULL = "CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has 79 GiB of which 1.00 GiB is free.\nMore."


@pytest.mark.parametrize("name", [
    "reinforce", "mdp-div", "mdp-div-batched", "qmix", "vdn", "desa", "daletor", "mo4srd", "ntn-div", "mcts",
    "subtopic-classifier", "reinforce-subtopics",
])  # fmt: skip
def test_training_goes_on_from_its_checkpoint_when_there_is_memory_again(name: str, tmp_path: Path) -> None:
    one_topic = {} if name == "mdp-div" else {"batch_topics": 2}
    options: dict[str, Any] = {"epochs": 2, "checkpoint_seconds": 1e-9, **one_topic}
    whole: Any = make_ranker(name, **options)
    whole.fit(TOPICS, seed=1)
    stopped: Any = make_ranker(name, **options)
    update, calls = stopped._update, iter(range(100))

    def full(batch: Any) -> Any:
        figures = update(batch)  # what it drew is lost as well
        if next(calls) == 3:
            raise torch.OutOfMemoryError(FULL)
        return figures

    stopped._update = full
    with pytest.raises(ValueError, match=r"Tried to allocate 2.00 GiB.*1.00 GiB is free.*smaller.*resume") as told:
        stopped.fit(TOPICS, seed=1, out=tmp_path)
    assert str(tmp_path) in str(told.value)
    assert "More." not in str(told.value)
    resumed: Any = make_ranker(name, **options)
    resumed.fit(TOPICS, seed=1, out=tmp_path, resume=True)
    for part, weights in whole._weights().items():
        np.testing.assert_array_equal(resumed._weights()[part], weights, err_msg=part)


def _too_large(topic: Topic) -> Topic:
    vectors = np.array(topic.doc_vectors)
    vectors[0] = np.sign(vectors[0]) * np.float32(3e38)
    return replace(topic, doc_vectors=vectors)


@pytest.mark.filterwarnings("ignore:(invalid|overflow).* encountered:RuntimeWarning")
@pytest.mark.parametrize(
    "name", ["mdp-div", "reinforce", "reinforce-subtopics", "mcts", "m2div", "ntn-div", "qmix", "daletor", "relational"]
)
def test_vectors_of_any_size_give_distinct_documents_or_an_error(name: str) -> None:
    fewer = {"simulations": 4, "rank_simulations": 4} if name == "m2div" else {}
    ranker: Any = make_ranker(name, epochs=1, **fewer)
    ranker.fit(TOPICS)
    for topic in TOPICS[:3]:
        try:
            ranking = ranker.rank(_too_large(topic), 10).tolist()
        except ValueError as error:
            if "scores are NaN" not in str(error):
                raise
        else:
            assert len(set(ranking)) == len(ranking) == min(10, topic.n_candidates)


HUGE = 2**40


@pytest.mark.parametrize(("name", "option"), [
    ("relational", "hidden_sizes"), ("mdp-div", "hidden_size"), ("mdp-div-ntn-e", "ntn_slices"),
    ("reinforce", "hidden_size"), ("reinforce-subtopics", "hidden_size"), ("mcts", "hidden_size"),
    ("ntn-div", "slices"), ("daletor", "width"), ("qmix", "hidden_size"), ("ma4div", "mixing_width"),
    ("maskable-ppo", "hidden_size"),
])  # fmt: skip
def test_networks_larger_than_memory_are_refused(name: str, option: str) -> None:
    options: dict[str, Any] = {"init": "random", option: (32, HUGE)} if name == "relational" else {option: HUGE}
    refused(lambda: make_ranker(name, **options).fit(TOPICS), f"ranker '{name}' needs more memory")  # type: ignore[attr-defined]


class Elsewhere(torch.Tensor):
    """A tensor that numpy cannot read, as one on a GPU, and so is all that is computed from it."""

    def cpu(self, *_: Any, **__: Any) -> torch.Tensor:
        return self.as_subclass(torch.Tensor)

    def numpy(self, *_: Any, **__: Any) -> Any:
        raise TypeError("can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() first")

    def __deepcopy__(self, memo: dict[int, Any]) -> torch.Tensor:
        copied = self.detach().clone()
        return torch.nn.Parameter(copied) if isinstance(self, torch.nn.Parameter) else copied


@pytest.mark.parametrize(
    "name", ["desa", "daletor", "mo4srd", "ntn-div", "reinforce", "mdp-div-batched", "mcts", "qmix"]
)
def test_what_a_network_on_another_device_says_is_fetched_first(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def moved(module: torch.nn.Module, *_: Any) -> torch.nn.Module:
        for part in module.modules():
            for key, value in part._parameters.items():
                part._parameters[key] = (
                    None if value is None else torch.nn.Parameter(value.detach().as_subclass(Elsewhere))
                )
            for key, buffer in part._buffers.items():
                part._buffers[key] = None if buffer is None else buffer.as_subclass(Elsewhere)
        return module

    plain: Any = make_ranker(name, epochs=1)
    plain.fit(TOPICS[:4], TOPICS[4:])
    monkeypatch.setattr(torch.nn.Module, "to", moved)
    ranker: Any = make_ranker(name, epochs=1)
    ranker.fit(TOPICS[:4], TOPICS[4:])
    assert [ranking.tolist() for ranking in ranker.rank_batch(TOPICS, 5)] == [
        ranking.tolist() for ranking in plain.rank_batch(TOPICS, 5)
    ]
