from __future__ import annotations

import sys
import warnings
from dataclasses import dataclass, fields, replace
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from noisy_linear import NoisyLinear, NoisyLinearConfig
from small_topics import judged_topic, refused

import srd_agents.registry as registry
from srd_agents import RANKERS, RankerSpec, diversify, load_ranker, make_ranker
from srd_agents.registry import model_folder, pretrained_names
from srd_agents.testing import check_learner
from srd_agents.training.options import Config
from srd_agents.training.validation import Validation
from srd_gym.data import generate
from srd_gym.protocols import Ranker
from srd_gym.testing import check_ranker
from srd_gym.topic import Topic

NEED_MORE = {"model file", "language model"}
"""Of which rankers that need them are not built without: a file, a client."""
HEURISTICS = [spec.name for spec in RANKERS.values() if not spec.trainable and NEED_MORE.isdisjoint(spec.needs)]


def topics(shuffled: bool = False) -> list[Topic]:
    """Topics with all that a heuristic may look at; shuffled ones have no retrieval order."""
    generator = np.random.default_rng(6)
    order = {"retrieval_scores": None} if shuffled else {}
    return [
        judged_topic(n, index, 5, s, query_id=f"q{index}", subtopic_vectors=generator.normal(size=(s, 5)), **order)
        for index, (n, s) in enumerate([(1, 1), (7, 3), (7, 3), (12, 2), (7, 4), (25, 3)])
    ]


@pytest.mark.parametrize("name", list(RANKERS))
def test_specs_are_complete(name: str) -> None:
    spec = RANKERS[name]
    assert spec.name == name
    assert spec.summary
    config = spec.config_class()
    assert getattr(spec.ranker_class, "config_class", spec.config_class) is spec.config_class
    assert getattr(spec.config_class, "__dataclass_params__").frozen  # noqa: B009 - mypy does not know it
    known = {field.name for field in fields(config)}
    for option, values in spec.parameters_to_tune.items():
        assert option in known
        for value in values:
            spec.configure(**{option: value})
    if NEED_MORE.isdisjoint(spec.needs):
        assert isinstance(spec.build(config), Ranker)


@pytest.mark.parametrize(("name", "published"), [
    ("m2div", {"horizon": 5, "simulations": 5000, "hidden_size": 5, "c_puct": 3.0, "root": "puct", "batch_topics": 1}),
    ("m2div", {"optimizer": "adagrad", "learning_rate": 0.01}),
    ("mdp-div", {"batch_topics": 1, "update": "step", "hidden_size": 5, "standardize": False, "return_only": False}),
    ("mdp-div-return-only", {"return_only": True, "update": "episode", "reward": "alpha_DCG"}),
    ("mdp-div-s-recall", {"reward": "StRecall", "validation_measure": "StRecall@10", "update": "step"}),
    ("ntn-div", {"init": "random", "features": False, "tensor_rate": 1.0, "optimizer": "sgd", "loss": "margin",
                 "batch_topics": 1, "learning_rate": 0.009, "pooling": "max"}),
    ("mdp-div-ntn-e", {"when": "step", "ntn_slices": 100, "ntn_learning_rate": 0.009}),
    ("ma4div", {"epsilon_episodes": 300_000, "learning_rate": 1e-4, "rollouts": 1, "state": "flat", "n_scores": 15}),
    ("ma4div", {"attention_width": 256, "heads": 4, "batch_size": 256, "rewards": ("alpha_nDCG@5", "alpha_nDCG@15")}),
    ("ma4div", {"max_grad_norm": 10.0, "epsilon_start": 1.0, "epsilon_end": 0.05}),
])  # fmt: skip
def test_a_papers_name_has_its_published_settings(name: str, published: dict[str, Any]) -> None:
    config = RANKERS[name].configure(epochs=7)
    assert config.epochs == 7
    assert {option: getattr(config, option) for option in published} == published


@pytest.mark.parametrize("name", HEURISTICS)
def test_heuristics_keep_the_ranker_contract(name: str) -> None:
    ranker, given = make_ranker(name), topics()
    check_ranker(ranker, given, k=4)
    assert ranker.rank(given[1], 4).dtype == np.int64
    refused(lambda: ranker.rank(given[0], 0), "k must be")
    refused(lambda: ranker.rank(given[0], 2.0), "k must be", TypeError)  # type: ignore[arg-type]


def test_overrides_reach_the_config_and_unknown_names_suggest_the_nearest() -> None:
    assert make_ranker("mmr", lambda_=0.3).config.lambda_ == 0.3  # type: ignore[attr-defined]
    assert RANKERS["random"].build(seed=9).config.seed == 9  # type: ignore[attr-defined]
    refused(lambda: make_ranker("mrm"), r"unknown ranker 'mrm'\. Did you mean mmr")
    refused(lambda: make_ranker("mmr", relevance="cosin"), r"relevance: 'cosin'\. Did you mean cosine")
    refused(lambda: make_ranker("oracle", measure="alpha_DCGG"), "unknown measure")


@pytest.mark.parametrize("name", pretrained_names())
def test_trained_policies_load_rank_and_are_small(name: str) -> None:
    folder = model_folder(name)
    assert folder is not None
    assert sum(path.stat().st_size for path in folder.iterdir()) < 300_000
    card = (folder / "card.md").read_text(encoding="utf-8")
    assert card.startswith(f"# {name}\n")
    assert "+changes" not in card, "made from a clean checkout"
    topics = generate("serp", n_topics=60)
    ranker = load_ranker(name)
    check_ranker(ranker, topics[:5])
    validation = Validation(topics, "alpha_nDCG@10")
    assert validation.mean(ranker) > validation.mean(make_ranker("mmr")) + 0.02
    topic = topics[0]
    made = diversify(topic.query_vector, topic.doc_vectors, 5, name, topic.retrieval_scores)
    assert made.indices.tolist() == ranker.rank(topic, 5).tolist()


def test_rankers_load_by_name_and_what_is_not_there_is_named(tmp_path: Path) -> None:
    assert isinstance(load_ranker("mmr"), RANKERS["mmr"].ranker_class)
    refused(lambda: load_ranker("mdp-div"), "'mdp-div' must be trained first")
    refused(lambda: load_ranker("models/x"), "'models/x'.*there is no such folder")
    refused(lambda: load_ranker(str(tmp_path)), "no file at .*config.json", FileNotFoundError)
    spec = RankerSpec(name="theirs", summary="x", config_path="json:Options", class_path="json:Ranker")
    refused(spec.configure, "json:Options cannot be imported", ImportError)
    assert pretrained_names() == ["pretrained:serp-mdp-div", "pretrained:serp-qmix", "pretrained:serp-reinforce"]
    refused(lambda: load_ranker("pretrained:serp-reinforc"), "Did you mean pretrained:serp-re")
    refused(lambda: load_ranker("serp-qmix"), "package: pretrained:serp-mdp-div")
    refused(lambda: load_ranker("pretrained:serp-qmix").rank(judged_topic(4, 0, 5, 2), 2), "vectors of width 64")


class Fitted(NoisyLinear):
    """A learner that another distribution has made."""


class Unfitted:
    """Has `fit`, and nothing else of a learner."""

    def fit(self) -> None: ...

    def rank(self, topic: Topic, k: int) -> None: ...

    def rank_batch(self, topics: list[Topic], k: int) -> None: ...


@dataclass(frozen=True, kw_only=True)
class OtherConfig(NoisyLinearConfig):
    """Options that the class does not read."""


HERE = "third_party_rankers"
LEARNER = RankerSpec(name="theirs", summary="x", class_path=f"{HERE}:Fitted", needs=("vectors",))
HEURISTIC = RankerSpec(name="heuristic", summary="x", class_path="srd_agents.heuristic.order:RandomOrder")
THEIRS = replace(HEURISTIC, name="theirs")
NO_LEARNER = RankerSpec(name="no-learner", summary="x", class_path=f"{HERE}:Unfitted")
NO_FIT = replace(HEURISTIC, name="no-fit", trainable=True)
OTHER = replace(LEARNER, name="other", config_path=f"{HERE}:OtherConfig")
NO_TORCH = RankerSpec(name="no-torch", summary="x", class_path="no_such_library:Learner")


@pytest.fixture
def _announced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, HERE, sys.modules[__name__])
    named = {"learner": "LEARNER", "heuristic": "HEURISTIC", "no-learner": "NO_LEARNER", "no-torch": "NO_TORCH"}
    named |= {"theirs": "THEIRS", "wrong": "Fitted", "mmr": "THEIRS", "no-fit": "NO_FIT", "other": "OTHER"}
    points = [EntryPoint(name, f"{HERE}:{value}", registry.GROUP) for name, value in named.items()]
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: points if group == registry.GROUP else [])


@pytest.mark.usefixtures("_announced")
def test_entry_points_add_rankers_and_take_none_over() -> None:
    assert list(RANKERS).count("mmr") == 1
    assert RANKERS["theirs"] is THEIRS
    assert RANKERS["mmr"] is not THEIRS
    assert len(RANKERS) == len(list(RANKERS))
    refused(lambda: make_ranker("their"), "Did you mean theirs")
    refused(lambda: make_ranker("wrong"), "entry point 'wrong'.*RankerSpec", TypeError)


@pytest.mark.usefixtures("_announced")
def test_an_announced_learner_learns_under_the_name_that_announces_it(tmp_path: Path) -> None:
    spec = RANKERS["learner"]
    assert (spec.name, spec.trainable, spec.config_class) == ("learner", True, NoisyLinearConfig)
    assert not RANKERS["heuristic"].trainable
    assert RANKERS["heuristic"].config_class is Config
    learner: Any = make_ranker("learner", epochs=2)
    learner.fit(generate("tiny", n_topics=6, seed=0), seed=3, out=tmp_path)
    loaded: Any = load_ranker(tmp_path)
    assert (loaded.name, loaded.seed, loaded.config.epochs) == ("learner", 3, 2)
    refused(lambda: load_ranker("learner"), "must be trained first")
    check_learner("learner", options={"noise": 0.01}, toy_options={"epochs": 20})


@pytest.mark.usefixtures("_announced")
@pytest.mark.parametrize(("name", "message", "error"), [
    ("no-fit", ":RandomOrder has no method `fit`", TypeError),
    ("other", "has the options .*:OtherConfig", TypeError),
    ("no-torch", "no_such_library", ImportError),
])  # fmt: skip
def test_a_spec_that_lacks_something_is_listed_and_refused_when_used(
    name: str, message: str, error: type[Exception]
) -> None:
    assert RANKERS[name].summary == "x"
    refused(lambda: make_ranker(name), message, error)


def distribution(folder: Path, name: str, entry_point: str) -> None:
    """Install a distribution that has nothing but what it says of itself."""
    made = folder / f"{name}-1.0.dist-info"
    made.mkdir()
    (made / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (made / "entry_points.txt").write_text(f"[srd_gym.rankers]\n{entry_point}\n")


@pytest.mark.parametrize("broken", [
    "nowhere_to_be_found:SPEC\nsecond = nowhere_to_be_found:SPEC", "json:SPEC", "json:loads", "((",
    "plug_in_that_exits:SPEC", "plug_in_that_raises:SPEC",
])  # fmt: skip
def test_a_broken_entry_point_is_skipped_with_one_notice(
    broken: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    distribution(tmp_path, "unsound", f"broken = {broken}")
    distribution(tmp_path, "sound", "theirs = sound_plug_in:THEIRS")
    (tmp_path / "plug_in_that_exits.py").write_text("raise SystemExit(3)\n")
    (tmp_path / "plug_in_that_raises.py").write_text("1 / 0\n")
    monkeypatch.setitem(sys.modules, "sound_plug_in", sys.modules[__name__])
    monkeypatch.syspath_prepend(tmp_path)
    rankers = registry.Registry(dict(RANKERS.built_in))
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        assert set(rankers) == {*RANKERS.built_in, "theirs"}
        assert [spec.name for spec in rankers.values()][-1] == "theirs"
        assert len(rankers) == len(RANKERS.built_in) + 1
        refused(lambda: rankers.find("mmmr"), r"Did you mean .*\bmmr\b")
        assert rankers.find("mmr").build()
    assert ["distribution 'unsound'" in str(one.message) for one in told] == [True]
    kind = TypeError if broken == "json:loads" else ImportError
    refused(lambda: rankers.find("broken"), "'broken'.* of distribution 'unsound'", kind)


def test_order_free_rankers_follow_a_permutation_of_the_candidates() -> None:
    generator = np.random.default_rng(0)
    for ranker in (make_ranker("xquad", relevance="cosine"), make_ranker("pm2"), make_ranker("oracle")):
        for topic in topics(shuffled=True):
            order = generator.permutation(topic.n_candidates)
            moved = ranker.rank(topic.take(order), 10)
            np.testing.assert_array_equal(order[moved], ranker.rank(topic, 10))
