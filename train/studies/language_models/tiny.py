"""A tiny random Llama, generated topics of single words, and GRPO: the smallest case in which a model learns to cover.

It needs trl, transformers and datasets, which are imported when something is asked for.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from srd_agents.llm.prompts import ListPrompt
from srd_agents.llm.rewards import CoverageReward
from srd_gym.topic import Topic, TopicSet

if TYPE_CHECKING:
    from transformers import LlamaForCausalLM, PreTrainedTokenizerFast

SENSES = ("cat", "car", "guitar", "river", "team", "film")
IRRELEVANT = "spam"
CANDIDATES, PRESENT = 8, 4
"""Documents of a topic, and senses that they have."""
MEASURE, RELEVANCE = "alpha_nDCG@5", "D_nDCG@5"
"""Coverage, and the nDCG of relevance: a document has one sense at most."""


@dataclass(frozen=True, kw_only=True)
class Learned:
    """What became of a model."""

    parameters: int
    what: str
    """The measure that was the reward."""
    seed: int
    before: float
    """Mean alpha_nDCG@5 of one greedy answer per topic, untrained."""
    after: float
    """The same, trained."""
    relevance: float
    """Mean nDCG@5 of relevance, trained."""
    curve: list[tuple[int, float]]
    """(updates, mean reward of the sampled answers since the point before)."""
    cpu_seconds: float
    """Processor time, imports included."""


def make_topics(count: int, seed: int = 0) -> TopicSet:
    """Topics of 8 documents: one word each, of 4 senses, which some documents share, or irrelevant."""
    rng = np.random.default_rng(seed)
    return TopicSet([_topic(f"query{number}", rng) for number in range(count)], name="senses", simulated=True)


def _topic(query_id: str, rng: np.random.Generator) -> Topic:
    senses = rng.permutation(len(SENSES))[:PRESENT]
    shared = (CANDIDATES - PRESENT) // 2
    documents = np.concatenate([senses, rng.choice(senses, shared), np.full(CANDIDATES - PRESENT - shared, -1)])
    documents = rng.permutation(documents)
    return Topic(
        query_id=query_id,
        query_text=query_id,
        doc_ids=tuple(f"{query_id}-{place}" for place in range(CANDIDATES)),
        doc_texts=tuple(SENSES[sense] if sense >= 0 else IRRELEVANT for sense in documents),
        subtopic_ids=SENSES,
        judgments=(documents[:, None] == np.arange(len(SENSES))).astype(np.int8),
    )


def make_reward(topics: TopicSet, what: str = MEASURE) -> CoverageReward:
    """The reward, with prompts of query and documents alone."""
    return CoverageReward(topics, what, prompt=ListPrompt(candidates=CANDIDATES, template="{query} {passages}"))


def make_tokenizer(topics: TopicSet) -> PreTrainedTokenizerFast:
    """One token for each word and each number in brackets."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    numbers = [f"[{number + 1}]" for number in range(CANDIDATES)]
    words = ["<pad>", "<eos>", "<unk>", *numbers, *SENSES, IRRELEVANT, *topics.query_ids]
    tokens = Tokenizer(models.WordLevel({word: index for index, word in enumerate(words)}, unk_token="<unk>"))
    tokens.normalizer = normalizers.Replace(":", " ")
    tokens.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    special = {"pad_token": "<pad>", "eos_token": "<eos>", "unk_token": "<unk>"}
    return PreTrainedTokenizerFast(tokenizer_object=tokens, padding_side="left", **special)


def make_model(tokenizer: PreTrainedTokenizerFast, seed: int = 0, room: int = 32) -> LlamaForCausalLM:
    """A Llama of one layer, width 96 and random weights, for prompts and answers of `room` tokens together."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(seed)
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=96,
        intermediate_size=192,
        num_hidden_layers=1,
        num_attention_heads=4,
        max_position_embeddings=room,
        tie_word_embeddings=True,
        pad_token_id=0,
        eos_token_id=1,
        bos_token_id=None,
    )
    return LlamaForCausalLM(config)


def train(*, topics: int = 4, updates: int = 80, seed: int = 0, what: str = MEASURE) -> Learned:
    """Train the tiny model with GRPO, and evaluate it on its topics, which it learns by heart.

    Args:
        topics: number of generated topics.
        updates: number of gradient steps; two steps share the 128 answers of a batch, 32 per prompt.
        seed: of weights and samples.
        what: the measure that is the reward; the evaluation is by `MEASURE`.
    """
    os.environ |= {"HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
    begun = time.process_time()
    from datasets import Dataset
    from trl import GRPOConfig, GRPOTrainer

    some = make_topics(topics)
    reward, tokenizer = make_reward(some, what), make_tokenizer(some)
    coverage, relevance = make_reward(some), make_reward(some, RELEVANCE)
    model = make_model(tokenizer, seed)
    before = float(np.mean(coverage(answers(model, tokenizer, reward), some.query_ids)))
    with tempfile.TemporaryDirectory() as folder:
        options = GRPOConfig(
            folder,
            per_device_train_batch_size=128,
            num_generations=32,
            num_iterations=2,
            max_completion_length=5,
            learning_rate=4e-3,
            lr_scheduler_type="constant",
            max_steps=updates,
            beta=0.0,
            logging_steps=10,
            save_strategy="no",
            report_to="none",
            use_cpu=True,
            disable_tqdm=True,
            seed=seed,
        )
        trainer = GRPOTrainer(model, reward, options, Dataset.from_list(reward.rows()), processing_class=tokenizer)
        trainer.train()
    history: list[dict[str, Any]] = trainer.state.log_history
    said = answers(model, tokenizer, reward)
    return Learned(
        parameters=sum(weights.numel() for weights in model.parameters()),
        what=what,
        seed=seed,
        before=before,
        after=float(np.mean(coverage(said, some.query_ids))),
        relevance=float(np.mean(relevance(said, some.query_ids))),
        curve=[(entry["step"], entry["reward"]) for entry in history if "reward" in entry],
        cpu_seconds=time.process_time() - begun,
    )


def answers(model: LlamaForCausalLM, tokenizer: PreTrainedTokenizerFast, reward: CoverageReward) -> Sequence[str]:
    """The model's likeliest answer to each prompt."""
    prompts = tokenizer([row["prompt"] for row in reward.rows()], return_tensors="pt", padding=True)
    ids, mask = prompts["input_ids"], prompts["attention_mask"]
    made = model.generate(input_ids=ids, attention_mask=mask, max_new_tokens=5, do_sample=False)
    texts: list[str] = tokenizer.batch_decode(made[:, ids.shape[1] :], skip_special_tokens=True)
    return texts
