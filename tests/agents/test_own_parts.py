from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from own_parts import Early, First, Gains
from small_topics import refused

from srd_agents import RANKERS, load_ranker, make_ranker
from srd_agents.testing import check_learner
from srd_agents.training.learner import Learner
from srd_gym.data import generate
from srd_gym.pruning import KNN

pytest.importorskip("torch", reason='learners need torch: pip install "srd-gym[agents]"')

TOPICS = generate("tiny", n_topics=8, seed=0)
TRAIN, VALIDATION = TOPICS[:5], TOPICS[5:]
PAID: Mapping[str, dict[str, Any]] = {
    "reinforce": {"batch_topics": 2, "rollouts": 2},
    "mdp-div": {},
    "mdp-div-batched": {"batch_topics": 2, "rollouts": 2},
    "mcts": {"batch_topics": 2, "simulations": 4},
    "maskable-ppo": {"batch_topics": 2, "rollouts": 2, "hidden_size": 8, "batch_size": 20},
}
MEASURED = {"qmix": "reward", "ntn-div": "measure", "r-ltr": "measure", "structsvm": "measure"}


class Gone(Gains):
    """A reward whose module is not to be found."""


Gone.__module__ = "no_such_module"


def trained(name: str, out: Path | None = None, epochs: int = 2, **options: Any) -> Any:
    if name == "maskable-ppo":
        pytest.importorskip("sb3_contrib")
    made: Any = make_ranker(name, epochs=epochs, **PAID.get(name, {}), **options)
    made.fit(TRAIN, VALIDATION, out=out, resume=epochs > 2)  # two are the first part of three
    return made


def written(folder: Path) -> Any:
    return json.loads((folder / "config.json").read_text())["config"]


def same_weights(one: Learner[Any], other: Learner[Any]) -> None:
    mine, theirs = one._weights(), other._weights()
    assert mine.keys() == theirs.keys()
    for name, array in mine.items():
        np.testing.assert_array_equal(array, theirs[name])


def test_no_learner_with_a_reward_is_left_out() -> None:
    specs = [spec for spec in RANKERS.values() if spec.trainable and not spec.requires_trust]
    classes = {spec.ranker_class for spec in specs if hasattr(spec.configure(), "reward")}
    others = ("qmix", "vdn", "iql", "mdp-div-ntn-d", "reinforce-subtopics", "reinforce-clicks", "reinforce-logs")
    assert classes == {RANKERS[name].ranker_class for name in (*PAID, *others)}


def test_what_learns_in_torch_refuses_a_reward_that_has_no_form_there() -> None:
    message = "reward 'gains' has no form in tensors"
    refused(lambda: trained("reinforce-subtopics", reward=Gone()), message, TypeError)


@pytest.mark.parametrize("name", PAID)
def test_a_reward_of_ones_own_pays_is_named_and_not_needed_to_rank(name: str, tmp_path: Path) -> None:
    by_text = trained(name, reward="alpha_DCG")
    by_object = trained(name, tmp_path, reward=Gone())
    same_weights(by_text, by_object)
    assert by_text.history.records[-1]["return"] == pytest.approx(by_object.history.records[-1]["return"])
    assert written(tmp_path)["reward"] == "no_such_module:Gone"
    loaded = load_ranker(tmp_path)
    for topic in VALIDATION:
        np.testing.assert_array_equal(loaded.rank(topic, 5), by_object.rank(topic, 5))
    other = trained(name, reward=Gains(factor=-1.0))
    assert other.history.records[-1]["return"] != by_object.history.records[-1]["return"]


@pytest.mark.parametrize("name", PAID)
def test_training_resumes_with_the_reward_given_again_and_with_no_other(name: str, tmp_path: Path) -> None:
    trained(name, tmp_path, reward=Gone(factor=0.5))
    belongs = re.escape("no_such_module:Gone(factor=0.5)', now ")
    for other, told in ((Gone(), "'no_such_module:Gone'"), (Gains(factor=0.5), "'own_parts:"), ("alpha_DCG", "'alpha")):
        refused(lambda other=other: trained(name, tmp_path, epochs=3, reward=other), belongs + told)
    text = "no_such_module:Gone(factor=0.5)"
    refused(lambda: trained(name, tmp_path, epochs=3, reward=text), "not known here: in Python give")
    resumed = trained(name, tmp_path, epochs=3, reward=Gone(factor=0.5))
    whole: Any = make_ranker(name, epochs=3, **PAID[name], reward=Gone(factor=0.5))
    whole.fit(TRAIN, VALIDATION)
    same_weights(resumed, whole)


@pytest.mark.parametrize("name", ["reinforce", "mdp-div", "mdp-div-batched"])
def test_a_pruning_strategy_of_ones_own_prunes(name: str, tmp_path: Path) -> None:
    plain, pruned = trained(name), trained(name, tmp_path, pruning=First(10))
    assert plain.history.records[-1] != pruned.history.records[-1]
    assert written(tmp_path)["pruning"] == "own_parts:First(keep=10)"
    np.testing.assert_array_equal(load_ranker(tmp_path).rank(TOPICS[7], 5), pruned.rank(TOPICS[7], 5))
    refused(lambda: trained(name, tmp_path, epochs=3, pruning=First(11)), r"pruning was 'own_parts:First\(keep=10\)'")
    same_weights(trained(name, pruning=KNN(0.3)), trained(name, pruning="knn:0.3"))


def test_rankings_that_are_pruned_need_the_strategy(tmp_path: Path) -> None:
    trained("mdp-div", tmp_path, pruning=First(10), prune_ranking=True)
    loaded = load_ranker(tmp_path)
    refused(lambda: loaded.rank(TOPICS[0], 3), r"'own_parts:First\(keep=10\)' names code")


@pytest.mark.parametrize("name", ["reinforce", *MEASURED])
def test_a_measure_of_ones_own_chooses_and_is_learned(name: str, tmp_path: Path) -> None:
    options = {MEASURED[name]: Early(patience=0.5)} if name in MEASURED else {}
    found = trained(name, tmp_path, validation_measure=Early(cutoff=5), **options)
    assert written(tmp_path)["validation_measure"] == "own_parts:Early@5"
    assert all(written(tmp_path)[key] == "own_parts:Early(patience=0.5)" for key in options)
    np.testing.assert_array_equal(load_ranker(tmp_path).rank(TOPICS[7], 5), found.rank(TOPICS[7], 5))
    trained(name, tmp_path, epochs=3, validation_measure=Early(cutoff=5), **options)
    other = Early(cutoff=6)
    message = "was 'own_parts:Early@5', now"
    refused(lambda: trained(name, tmp_path, epochs=4, validation_measure=other, **options), message)


def test_the_oracle_maximises_a_measure_of_ones_own() -> None:
    ranked = [make_ranker("oracle", measure=which).rank(TOPICS[0], 5) for which in (Early(), "StRecall")]
    np.testing.assert_array_equal(*ranked)


def test_the_laws_hold_for_learners_with_parts_of_ones_own() -> None:
    options = {"epochs": 2, **PAID["reinforce"], "hidden_size": 8, "reward": Gains(), "pruning": First(8)}
    check_learner("reinforce", options=options, without=["toy", "refusals", "permutation"])


@pytest.mark.parametrize(("name", "options", "message"), [
    ("reinforce", {"reward": Gains}, r"reward must be text.*Gains\(\.\.\.\)"),
    ("reinforce", {"reward": object()}, "reward must be .* `name` and `bind`"),
    ("reinforce", {"pruning": First}, r"pruning must be text.*First\(\.\.\.\)"),
    ("qmix", {"reward": Gains()}, "reward must be text or a measure or Clicks, got"),
    ("listmle", {"validation_measure": First(3)}, "validation_measure must be text"),
])  # fmt: skip
def test_what_is_neither_is_refused(name: str, options: dict[str, Any], message: str) -> None:
    refused(lambda: make_ranker(name, **options), message, TypeError)
