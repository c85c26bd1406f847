"""A small real language model on real texts: untrained, supervised on greedy ideal lists, and with GRPO by two rewards.

It needs trl, transformers, datasets and the model's file, which are asked for when something is trained.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from srd_agents.heuristic.oracle import Oracle
from srd_agents.llm.local import LocalModel
from srd_agents.llm.prompts import ListPrompt
from srd_agents.llm.rewards import CoverageReward
from srd_agents.registry import make_ranker
from srd_gym.files import written_atomically
from srd_gym.measures import evaluate
from srd_gym.topic import TopicSet
from srd_train.experiment.folds import fold_of
from srd_train.experiment.sources import TopicsEntry, load_entry
from srd_train.experiment.split import Split

if TYPE_CHECKING:
    from datasets import Dataset
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

COVERAGE, RELEVANCE = "alpha_nDCG@5", "D_nDCG@5"
"""Rewards, and columns of the table. A passage of these topics has one type, so D_nDCG is the nDCG of relevance."""
K = 5
ENTRY = TopicsEntry(
    name="medical-questions, 10 candidates",
    source="texts/medical-questions",
    vectors="texts/medical-questions/minilm-384.npz",
    retrieve="cosine",
    candidates=10,
    twins="texts/medical-questions/minilm-384.npz",
    train_queries=1000,
    validation_queries=100,
)
"""The topics of the page `medical`, fold 1, with the first ten candidates."""
TEMPLATE = """\
Query: {query}
{passages}
Choose the {k} passages that answer the query and cover different kinds of questions. Answer as in [n] > [n]."""
TOKENS = 10
"""Tokens of a passage in a prompt: its question."""
ANSWER = 24
"""Longest answer in tokens."""


@dataclass(frozen=True, kw_only=True)
class Size:
    """Numbers of queries and updates."""

    supervised: int = 200
    """Training queries of the supervised model, each once."""
    updates: int = 40
    """Gradient steps of GRPO, each with eight answers to one prompt."""
    rewards: tuple[str, ...] = (COVERAGE, RELEVANCE)
    """Measures; one training by GRPO each."""
    test_queries: int = 100
    """Queries to evaluate on."""
    seed: int = 0
    """Of samples and of the draw of queries."""


@dataclass(frozen=True, kw_only=True)
class Row:
    """One row of the table: means over the test queries."""

    name: str
    coverage: float
    """alpha_nDCG@5; what a model leaves out stands behind in the initial order, as `llm-listwise` has it."""
    relevance: float
    """nDCG@5, likewise."""
    reward: float | None
    """alpha_nDCG@5 of the answer as the reward reads it: nothing is filled up. None of other rankers."""
    cpu_seconds: float
    """Of training."""
    milliseconds: float
    """Processor time of one ranking."""


def study(model: Path, out: Path, size: Size, tell: Callable[[str], None]) -> list[Row]:
    """Train and evaluate; what `out` holds already is not done again.

    Args:
        model: a folder of transformers, or a GGUF file.
        out: made; holds the trained models and a file for each row.
        size: of the study.
        tell: told what begins.
    """
    os.environ |= {"HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
    out.mkdir(parents=True, exist_ok=True)
    split = fold_of(load_entry(ENTRY), ENTRY, 1)
    assert split.test is not None  # noqa: S101  # a fold has one
    rng = np.random.default_rng(size.seed)
    train = split.train.trainable()
    drawn = train.select(train.query_ids[place] for place in rng.permutation(len(train)))
    first, rest = drawn[: size.supervised], drawn[size.supervised :]
    test = split.test.select(
        split.test.query_ids[place] for place in sorted(rng.permutation(len(split.test))[: size.test_queries])
    )
    ends = {"initial ranking": "retrieval-order", "reinforce-subtopics": "reinforce-subtopics"}
    stages: dict[str, Callable[[Path], float]] = {
        "untrained": lambda to: _unpacked(model, to),
        "supervised": lambda to: _supervised(out / "untrained", first, to, size),
    }
    for what in size.rewards:
        stages[f"supervised, then GRPO with {what}"] = partial(_grpo, out / "supervised", rest, what, size)
    rows = [_once(out, name, partial(_ranker, ranker, split, test), tell) for name, ranker in ends.items()]
    for name, stage in stages.items():
        to = out / name.replace(", then GRPO with ", "-").replace("@", "-")
        rows.append(_once(out, name, partial(_evaluated, name, stage, to, test), tell))
    return rows


def _once(out: Path, name: str, make: Callable[[], Row], tell: Callable[[str], None]) -> Row:
    """A row, from its file where there is one."""

    def made() -> dict[str, Any]:
        tell(name)
        return asdict(make())

    return Row(**_kept(out / f"{name}.json", made))


def _kept(path: Path, make: Callable[[], object]) -> Any:
    """A value of JSON from its file; it is made where there is none, and the file written once it is."""
    if not path.exists():
        value = make()
        with written_atomically(path) as temporary:
            temporary.write_text(json.dumps(value), encoding="utf-8")
    return json.loads(path.read_text(encoding="utf-8"))


def _ranker(name: str, split: Split, test: TopicSet) -> Row:
    """One of the package's rankers on the same candidates."""
    begun = time.process_time()
    ranker: Any = make_ranker(name)
    if hasattr(ranker, "fit"):
        ranker.fit(split.train, split.validation, seed=0)
    trained = time.process_time()
    rankings = ranker.rank_batch(test, K)
    ranked = 1000 * (time.process_time() - trained) / len(test)
    means = _means(test, rankings)
    return Row(name=name, **means, reward=None, cpu_seconds=trained - begun, milliseconds=ranked)


def _evaluated(name: str, stage: Callable[[Path], float], model: Path, test: TopicSet) -> Row:
    """A language model on the test queries, once it is trained."""
    seconds: float = _kept(model / "seconds.json", lambda: stage(model))
    reward = make_reward(test, COVERAGE)
    ask = LocalModel(model, new_tokens=ANSWER)
    begun = time.process_time()
    answers = ask.batch([reward.ask(query) for query in test.query_ids])
    each = 1000 * (time.process_time() - begun) / len(test)
    rankings = []
    for query, answer in zip(test.query_ids, answers, strict=True):
        named = [int(place) for place in reward.read(query, answer)[0] if place >= 0]
        others = [place for place in range(test[test.position(query)].n_candidates) if place not in named]
        rankings.append(np.array([*named, *others][:K]))
    value = float(np.mean(reward(answers, test.query_ids)))
    return Row(name=name, **_means(test, rankings), reward=value, cpu_seconds=seconds, milliseconds=each)


def _means(test: TopicSet, rankings: Any) -> dict[str, float]:
    rankings = dict(zip(test.query_ids, rankings, strict=True))
    found: Mapping[str, float] = evaluate(test, rankings, [COVERAGE, RELEVANCE]).measures
    return {"coverage": found[COVERAGE], "relevance": found[RELEVANCE]}


def make_reward(topics: TopicSet, what: str) -> CoverageReward:
    """The reward, with short prompts."""
    return CoverageReward(topics, what, prompt=ListPrompt(candidates=10, tokens=TOKENS, template=TEMPLATE))


def _loaded(model: Path) -> tuple[PreTrainedTokenizerBase, PreTrainedModel]:
    tokenizer, loaded = LocalModel(model).loaded
    return tokenizer, loaded.train()


def _unpacked(model: Path, to: Path) -> float:
    """The untrained model as a folder: transformers trains no GGUF file."""
    from transformers import AutoModelForCausalLM

    tokenizer, loaded = LocalModel(model).loaded
    loaded.config.__dict__.pop("quantization_config", None)
    plain = AutoModelForCausalLM.from_config(loaded.config)
    plain.load_state_dict(loaded.state_dict())
    plain.save_pretrained(to)
    tokenizer.save_pretrained(to)
    return 0.0


def _rows(topics: TopicSet) -> list[dict[str, Any]]:
    """Prompts, each with the greedy ideal list as the answer."""
    ideal = Oracle().rank_batch(topics, K)
    rows = make_reward(topics, COVERAGE).rows(form="chat")
    for row, ranking in zip(rows, ideal, strict=True):
        row["completion"] = [{"role": "assistant", "content": " > ".join(f"[{place + 1}]" for place in ranking)}]
    return rows


def _supervised(model: Path, topics: TopicSet, to: Path, size: Size) -> float:
    from datasets import Dataset
    from trl import SFTConfig, SFTTrainer

    begun = time.process_time()
    tokenizer, loaded = _loaded(model)
    options = SFTConfig(
        str(to / "steps"),
        per_device_train_batch_size=8,
        num_train_epochs=1,
        learning_rate=1e-4,
        lr_scheduler_type="constant",
        **_common(size),
    )
    data: Dataset = Dataset.from_list([{key: row[key] for key in ("prompt", "completion")} for row in _rows(topics)])
    trainer = SFTTrainer(loaded, options, train_dataset=data, processing_class=tokenizer)
    return _end(trainer, tokenizer, to, begun)


def _grpo(model: Path, topics: TopicSet, what: str, size: Size, to: Path) -> float:
    from datasets import Dataset
    from trl import GRPOConfig, GRPOTrainer

    begun = time.process_time()
    tokenizer, loaded = _loaded(model)
    options = GRPOConfig(
        str(to / "steps"),
        per_device_train_batch_size=8,
        num_generations=8,
        max_completion_length=ANSWER,
        learning_rate=5e-6,
        lr_scheduler_type="constant",
        max_steps=size.updates,
        beta=0.0,
        **_common(size),
    )
    reward = make_reward(topics, what)
    data: Dataset = Dataset.from_list(reward.rows(form="chat"))
    trainer = GRPOTrainer(loaded, reward, options, data, processing_class=tokenizer)
    return _end(trainer, tokenizer, to, begun)


def _common(size: Size) -> dict[str, Any]:
    """Options of both trainers."""
    import torch

    return {
        "seed": size.seed,
        "use_cpu": not torch.cuda.is_available(),
        "bf16": torch.cuda.is_available(),
        "gradient_checkpointing": False,
        "save_strategy": "no",
        "logging_steps": 5,
        "report_to": "none",
        "disable_tqdm": True,
    }


def _end(trainer: Any, tokenizer: PreTrainedTokenizerBase, to: Path, begun: float) -> float:
    """Train, save, and say how many processor seconds it took."""
    trainer.train()
    trainer.model.save_pretrained(to)
    tokenizer.save_pretrained(to)
    return time.process_time() - begun
