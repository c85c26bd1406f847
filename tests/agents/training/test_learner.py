from __future__ import annotations

import json
import os
import pickle
import re
import signal
import sys
import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from noisy_linear import NoisyLinear, NoisyLinearConfig
from small_topics import OneByOne, refused

import srd_agents.training.loop as loop
from srd_agents.registry import load_ranker, pretrained_names
from srd_agents.training import History, Learner, LearnerConfig, Progress, Validation
from srd_gym import Topic, TopicSet
from srd_gym.core import SelectionCore
from srd_gym.data import generate, load_topics, write_topics
from srd_gym.dtypes import IntArray
from srd_gym.envs import SelectionEnv
from srd_gym.offline.log import orders_of
from srd_gym.pruning import ByRanker

TOPICS = generate("tiny", n_topics=15, seed=0)
TRAIN, VALIDATION = TOPICS[:10], TOPICS[10:]


def barren(topics: TopicSet) -> TopicSet:
    none = [replace(topic, judgments=np.zeros_like(topic.judgments)) for topic in topics]
    return topics.replace(none[i] if i in (0, 2) else topic for i, topic in enumerate(topics))


def learner(**options: Any) -> NoisyLinear:
    return NoisyLinear(NoisyLinearConfig(**options))


@pytest.fixture(autouse=True)
def _report_every_update(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "_PROGRESS_SECONDS", 0.0)


def test_it_learns_and_records() -> None:
    toy = learner(epochs=5)
    seen: list[Progress] = []
    history = toy.fit(TRAIN, VALIDATION, seed=1, callback=seen.append)
    assert [record["epoch"] for record in history.records] == [0, 1, 2, 3, 4, 5]
    assert [record["topics"] for record in history.records] == [0, 10, 20, 30, 40, 50]
    assert (history.measure, history.stopped_by) == ("alpha_nDCG@10", "epochs")
    values = [record["validation"] for record in history.records]
    assert history.best_validation == max(values) > 0.7
    assert history.best_epoch == values.index(max(values))
    assert json.loads(json.dumps(asdict(history))) == asdict(history)
    assert History(**asdict(history)) == history
    assert len(seen) == 5 * 4
    assert (seen[-1].epoch, seen[-1].topics_done, seen[0].topics_done, seen[0].topics) == (5, 0, 3, 10)


class Counter(OneByOne):
    """No learner: it counts the topics that it was shown, and ranks candidates as they come."""

    name, seed, config = "counter", 0, LearnerConfig(epochs=2, batch_topics=4, patience=0)
    pretraining_seconds = pretraining_cpu_seconds = 0.0
    count = np.zeros(1)

    def _update(self, batch: IntArray) -> Mapping[str, float]:
        self.count = self.count + len(batch)
        return {"loss": 1.0}

    def _weights(self) -> dict[str, Any]:
        return {"count": self.count.copy()}

    def _set_weights(self, weights: Mapping[str, Any]) -> None:
        self.count = weights["count"]

    def _training_state(self) -> dict[str, Any]:
        return {}

    def nothing(self, *_: Any) -> None: ...

    _restore_training = _write_model = check_weights = nothing

    def validation_on(self, topics: TopicSet) -> Validation:
        return Validation(topics, self.config.validation_measure)

    def validated(self, validation: Validation) -> float:
        return validation.mean(self)

    def rank(self, topic: Topic, k: int) -> IntArray:
        return np.arange(min(k, topic.n_candidates))


def test_the_loop_trains_what_is_no_learner(tmp_path: Path) -> None:
    counter = Counter()
    run = loop.TrainingLoop(counter, TRAIN, VALIDATION, out=tmp_path, time_budget=None, callback=None)
    run.run()
    assert [record["epoch"] for record in run.history.records] == [0, 1, 2]
    assert (run.history.best_epoch, counter.count.item()) == (0, 0), "no epoch ranks better than the first"
    more = Counter()
    more.config = replace(more.config, epochs=3)
    resumed = loop.TrainingLoop(more, TRAIN, VALIDATION, out=tmp_path, time_budget=None, callback=None)
    resumed.resume()
    assert more.count.item() == 2 * len(TRAIN)


def test_the_best_weights_are_kept_or_the_last_without_validation() -> None:
    toy = learner(epochs=8, rate=3.0)
    history = toy.fit(TRAIN, VALIDATION, seed=3)
    validation = Validation(VALIDATION, "alpha_nDCG@10")
    assert validation.mean(toy) == history.best_validation
    last = learner(epochs=8, rate=3.0)
    unguided = last.fit(TRAIN, seed=3)
    assert unguided.best_epoch is unguided.measure is None
    assert not np.array_equal(last.w, toy.w)


def test_patience_stops_early_and_validation_is_only_when_due_and_at_the_end() -> None:
    history = learner(epochs=500, patience=2).fit(TRAIN, VALIDATION, seed=0)
    assert history.stopped_by == "patience"
    assert len(history.records) == 1 + history.best_epoch + 2
    history = learner(epochs=5, validate_every=2).fit(TRAIN, VALIDATION, seed=0)
    assert [record["validation"] is None for record in history.records] == [False, True, False, True, False, False]


def check_resumed(folder: Path, validation: TopicSet | None = None, **options: Any) -> History:
    """The run in the folder goes on to the weights of one that never stopped."""
    resumed, whole = learner(**options), learner(**options)
    history = resumed.fit(TRAIN, validation, seed=3, out=folder, resume=True)
    whole.fit(TRAIN, validation, seed=3)
    np.testing.assert_array_equal(resumed.w, whole.w)
    return history


def test_resuming_goes_on_with_more_epochs(tmp_path: Path) -> None:
    learner(epochs=3).fit(TRAIN, VALIDATION, seed=3, out=tmp_path)
    check_resumed(tmp_path, VALIDATION, epochs=7)
    # Resuming what is finished changes nothing.
    before = (tmp_path / "model.safetensors").read_bytes()
    history = check_resumed(tmp_path, VALIDATION, epochs=7)
    assert (history.stopped_by, len(history.records)) == ("epochs", 8)
    assert (tmp_path / "model.safetensors").read_bytes() == before


def test_a_time_budget_ends_the_run_can_be_raised_and_still_validates(tmp_path: Path) -> None:
    toy = learner(epochs=100_000, patience=0)
    history = toy.fit(TRAIN, VALIDATION, seed=3, out=tmp_path, time_budget=0.1)
    assert history.stopped_by == "time_budget"
    assert history.records[-1]["seconds"] < 5
    budget: dict[str, Any] = {"out": tmp_path, "time_budget": 0.3, "resume": True}
    more = learner(epochs=100_000, patience=0).fit(TRAIN, VALIDATION, seed=3, **budget)
    assert len(more.records) > len(history.records) - 1

    class Slow(NoisyLinear):
        def _update(self, batch: IntArray) -> Mapping[str, float]:
            time.sleep(0.1)
            return super()._update(batch)

    history = Slow(NoisyLinearConfig(epochs=3)).fit(TRAIN, VALIDATION, seed=3, time_budget=0.09)
    assert [record.get("partial", False) for record in history.records] == [False, True]
    assert history.best_validation == max(record["validation"] for record in history.records)


def test_the_first_weights_stay_where_training_makes_things_worse() -> None:
    toy = learner(epochs=3)
    toy.fit(TRAIN, VALIDATION, seed=3)
    good = toy.w.copy()

    class Worsening(NoisyLinear):
        def _prepare(self, topics: TopicSet, seed: int) -> None:
            super()._prepare(topics, seed)
            self.w = good.copy()

        def _update(self, batch: IntArray) -> Mapping[str, float]:
            self.w = -good
            return {"loss": 0.0}

    worse = Worsening(NoisyLinearConfig(epochs=3))
    assert worse.fit(TRAIN, VALIDATION, seed=3).best_epoch == 0
    np.testing.assert_array_equal(worse.w, good)


def test_an_interrupt_waits_for_the_update_to_end(tmp_path: Path) -> None:
    class Signalled(NoisyLinear):
        def _update(self, batch: IntArray) -> Mapping[str, float]:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.001)  # the handler runs here, in the middle of the update
            return super()._update(batch)

    toy = Signalled(NoisyLinearConfig())
    with pytest.raises(KeyboardInterrupt):
        toy.fit(TRAIN, seed=3, out=tmp_path)
    assert toy.updates == 1
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    check_resumed(tmp_path)


def test_a_run_stopped_before_its_first_update_can_be_resumed(tmp_path: Path) -> None:
    class Stopped(NoisyLinear):
        def _rank_batch(self, topics: Sequence[Topic], k: int) -> list[IntArray]:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Stopped(NoisyLinearConfig()).fit(TRAIN, VALIDATION, seed=3, out=tmp_path)
    NoisyLinear.load(tmp_path)
    history = check_resumed(tmp_path, VALIDATION)
    assert [record["epoch"] for record in history.records] == list(range(7))


def test_resume_refuses_another_run(tmp_path: Path) -> None:
    refused(lambda: learner().fit(TRAIN, resume=True), "pass out=FOLDER")
    learner().fit(TRAIN, VALIDATION, seed=3, out=tmp_path)

    def resumed(topics: TopicSet = TRAIN, rate: float = 0.1, **changes: Any) -> None:
        learner(rate=rate).fit(topics, **{"validation": VALIDATION, "seed": 3, "out": tmp_path, **changes}, resume=True)

    other = "belongs to another run: "
    refused(lambda: resumed(validation=None), other + "validation topics' fingerprint was")
    refused(lambda: resumed(rate=0.2), other + r"rate was 0\.1, now 0\.2")
    refused(lambda: resumed(seed=4), other + "seed was 3, now 4")
    refused(lambda: resumed(TRAIN[1:]), other + "training topics' fingerprint was")
    refused(lambda: resumed(out=tmp_path / "nowhere"), "no training to resume in", FileNotFoundError)
    (tmp_path / "state.safetensors").write_bytes(pickle.dumps({"w": 1}))
    refused(resumed, "is a pickle, which can run code")


def test_topics_without_relevant_candidates_are_left_out_and_bad_ones_refused() -> None:
    left_out = sorted([TRAIN[0].query_id, TRAIN[2].query_id])
    told = "2 of 6 training topics have no relevant candidate and are left out of training: "
    with pytest.warns(UserWarning, match=told + ", ".join(left_out)):
        history = learner().fit(barren(TRAIN[:6]), seed=0)
    assert history.excluded == left_out
    assert history.records[0]["topics"] == 4
    refused(lambda: learner().fit(barren(TRAIN[:1])), "none of the 1 training topics has")
    narrow = generate("tiny", n_topics=2, width=3)
    refused(lambda: learner().fit(TRAIN, narrow), r"training vectors have width \d+")
    refused(lambda: learner().fit(TRAIN, TRAIN[:1]), "1 queries are in training")
    refused(lambda: learner().fit([]), "there are no training topics")
    refused(lambda: learner(validation_measure="alpha_nDCGG").fit(TRAIN, VALIDATION), "unknown measure")


def test_what_a_folder_holds_and_a_learner_without_a_name_goes_by_its_class(tmp_path: Path) -> None:
    toy = learner()
    refused(lambda: toy.save(tmp_path), "no weights to save")
    toy.fit(TRAIN, seed=8)
    toy.save(tmp_path)
    content = json.loads((tmp_path / "config.json").read_text())
    assert {"schema_version", "ranker", "config", "vector_width", "seed", "versions", "metadata"} <= content.keys()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["config.json", "model.safetensors"]
    methods = {key: value for key, value in vars(NoisyLinear).items() if key not in ("name", "__dict__", "__weakref__")}
    nameless: Any = type("Nameless", (Learner,), methods)
    made = nameless(NoisyLinearConfig(epochs=1))
    made.fit(TRAIN, out=tmp_path)
    assert made.name == nameless.load(tmp_path).name == "noisy_linear:Nameless"


@pytest.mark.parametrize(("file", "content", "message"), [
    ("config.json", None, "no file at "),
    ("config.json", "not json", "not JSON"),
    ("config.json", '{"ranker": "noisy-linear"}', "has schema version None"),
    ("model.safetensors", None, "no file at "),
    ("model.safetensors", "PK\3\4 and so on", "not a whole safetensors file"),
    ("config.json", {"vector_width": 99}, "come from different trainings"),
    ("config.json", {"ranker": "another"}, "holds a trained 'another', not 'noisy-linear'"),
    ("config.json", {"config": {"rate": "0.1"}}, "rate must be a number, got '0.1' (str)"),
    ("config.json", {"history": {"recordz": []}}, "'recordz'. Did you mean records"),
])  # fmt: skip
def test_damaged_folders_are_refused(tmp_path: Path, file: str, content: Any, message: str) -> None:
    toy, damaged = learner(epochs=1), tmp_path / file
    toy.fit(TRAIN, seed=8)
    toy.save(tmp_path)
    if isinstance(content, dict):
        content = json.dumps(json.loads(damaged.read_text()) | content)
    damaged.unlink()
    if content is not None:
        damaged.write_text(content)
    with pytest.raises((TypeError, ValueError, FileNotFoundError), match=re.escape(message)) as caught:
        NoisyLinear.load(tmp_path)
    assert str(tmp_path) in str(caught.value)
    refused(lambda: NoisyLinear.load(tmp_path / "nowhere"), "no file at .*nowhere", FileNotFoundError)


def test_divergence_and_rankings_that_repeat_a_document_are_refused() -> None:
    class Broken(NoisyLinear):
        def _update(self, batch: IntArray) -> Mapping[str, float]:
            return {"loss": float("nan")}

    refused(lambda: Broken(NoisyLinearConfig()).fit(TRAIN), "diverged: loss is nan in epoch 1", FloatingPointError)

    class Stuck(NoisyLinear):
        def _rank_batch(self, topics: Sequence[Topic], k: int) -> list[IntArray]:
            return [np.zeros(k, np.int64) for _ in topics]

    toy = Stuck(NoisyLinearConfig(epochs=1))
    toy.fit(TRAIN, seed=8)
    assert toy.rank(TRAIN[0], 1).tolist() == [0]
    refused(lambda: toy.rank(TRAIN[0], 2), "twice, .*are its vectors too large")


def test_a_full_disk_leaves_the_old_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    toy = learner()
    toy.fit(TRAIN, seed=8, out=tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}

    def full(self: Path, data: bytes) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    other = learner(rate=0.5)
    refused(lambda: other.fit(TRAIN, seed=9, out=tmp_path), "No space left", OSError)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


# what fit takes, and what a model knows of its vectors


def test_fit_and_validation_take_names_files_and_lists(tmp_path: Path) -> None:
    write_topics(tmp_path / "train.parquet", TRAIN)
    expected = learner(epochs=2)
    expected.fit(TRAIN, VALIDATION)
    for topics, validation in ((list(TRAIN), list(VALIDATION)), (tmp_path / "train.parquet", iter(VALIDATION))):
        toy = learner(epochs=2)
        toy.fit(topics, validation)
        np.testing.assert_array_equal(toy.w, expected.w)
    assert learner(epochs=1).fit("words").records[-1]["topics"] == 40
    assert Validation(list(VALIDATION), "P_IA@1").topics.fingerprint == VALIDATION.fingerprint
    refused(lambda: learner().fit("word"), "did you mean words", FileNotFoundError)
    refused(lambda: learner().fit([1]), "whose entry 0 is 1", TypeError)


def test_fit_trains_with_one_thread_of_torch_and_puts_their_number_back(monkeypatch: pytest.MonkeyPatch) -> None:
    counts, seen = [5], list[int]()  # of a stand-in for torch, so that the count of this process stays as it is
    torch: Any = SimpleNamespace(get_num_threads=lambda: counts[-1], set_num_threads=counts.append)
    monkeypatch.setitem(sys.modules, "torch", torch)

    class Watched(NoisyLinear):
        def _prepare(self, topics: TopicSet, seed: int) -> None:
            super()._prepare(topics, seed)
            seen.append(counts[-1])

        def _update(self, batch: IntArray) -> Mapping[str, float]:
            seen.append(counts[-1])
            if len(seen) > 8:
                raise RuntimeError("enough")
            return super()._update(batch)

    Watched(NoisyLinearConfig(epochs=1)).fit(TRAIN)
    assert (set(seen), counts[-1]) == ({1}, 5)
    refused(lambda: Watched(NoisyLinearConfig(epochs=9)).fit(TRAIN, threads=3), "enough", RuntimeError)
    assert (set(seen), counts[-1]) == ({1, 3}, 5)


@pytest.mark.parametrize(("trained", "ranked", "foreign"), [
    ({"encoder": "a.npz"}, {"encoder": "b.npz"}, True),
    ({"encoder": "a.npz"}, {"encoder": "a.npz", "name": "other"}, False),
    ({}, {}, False),
    ({}, {"name": "other"}, True),
    ({}, {"encoder": "a.npz"}, False),
    ({"encoder": "a.npz"}, {"name": "other"}, True),
    ({}, {"simulated": False}, True),
])  # fmt: skip
def test_a_model_tells_of_vectors_of_another_encoder_or_set(
    trained: dict[str, Any], ranked: dict[str, Any], foreign: bool, tmp_path: Path
) -> None:
    toy = learner(epochs=1)
    trained, ranked = {"encoder": None} | trained, {"encoder": None} | ranked
    toy.fit(TRAIN.replace(TRAIN, **trained))
    toy.save(tmp_path)
    loaded = NoisyLinear.load(tmp_path)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        loaded.rank_batch(VALIDATION.replace(VALIDATION, **ranked), 3)
        loaded.rank_batch(list(VALIDATION), 3)
    expected = ["ranker 'noisy-linear'"] if foreign else []
    assert [str(notice.message).partition(" was trained on vectors of ")[0] for notice in told] == expected


def test_a_policy_of_one_embedding_space_is_told_of_another_at_every_door_that_knows_the_set() -> None:
    policy, words = load_ranker("pretrained:serp-reinforce"), load_topics("words")
    assert policy.vector_width == words.vector_width, "of one width, which alone says nothing"  # type: ignore[attr-defined]
    assert {load_ranker(name).metadata["topic_set"]["encoder"] for name in pretrained_names()} == {"synthetic:serp"}  # type: ignore[attr-defined]
    message = r"'synthetic:serp' \(synthetic:serp, simulated\), and is to rank vectors of 'words' \(lsa:words"
    for door in (
        lambda topics: policy.rank_batch(topics, 3),
        lambda topics: orders_of(policy, topics),
        lambda topics: SelectionEnv(topics, pruning=ByRanker(policy, 0.5)).reset(seed=0),
        lambda topics: SelectionCore(topics, pruning=ByRanker("pretrained:serp-reinforce", 0.5)),
    ):
        with pytest.warns(UserWarning, match=message):
            door(words)
        with warnings.catch_warnings(action="error"):
            door(load_topics("synthetic:serp:4:9"))
    refused(
        lambda: SelectionCore(generate("tiny", n_topics=2), pruning=ByRanker(policy, 0.5)), "of width 64, but topic"
    )
