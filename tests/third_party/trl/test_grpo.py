"""TRL's own trainer with our reward and our tools: a tiny random Llama learns to answer with lists that cover."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import trl
from datasets import Dataset
from markdown_code import ROOT, code_below
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast
from trl import GRPOConfig, GRPOTrainer

from srd_agents.llm.tools import ListTools
from studies.language_models.tiny import make_model, make_reward, make_tokenizer, make_topics, train


def test_the_tutorial_learns_to_cover(monkeypatch: pytest.MonkeyPatch) -> None:
    """Measured: 0.31 to 0.98 in 35 s of processor time."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    cells = json.loads((ROOT / "docs" / "tutorials" / "language_model.ipynb").read_text(encoding="utf-8"))["cells"]
    begun = time.process_time()
    space: dict[str, Any] = {"__name__": "tutorial"}
    for cell in cells:
        if cell["cell_type"] == "code":
            exec(compile("".join(cell["source"]), cell["id"], "exec"), space)
    assert sum(weights.numel() for weights in space["model"].parameters()) < 100_000
    assert space["curve"][0][1] < 0.5
    assert space["curve"][-1][1] > 0.9
    assert np.mean(space["reward"](space["greedy"], space["topics"].query_ids)) > 0.9
    assert time.process_time() - begun < 60


def test_the_study_trains_and_evaluates() -> None:
    learned = train(updates=10, what="D_nDCG@5")
    assert learned.before < learned.curve[0][1] < 0.5
    assert 0 <= min(learned.after, learned.relevance) <= max(learned.after, learned.relevance) <= 1
    assert (learned.what, learned.seed) == ("D_nDCG@5", 0)


def one_token_a_call() -> PreTrainedTokenizerFast:
    """A tokenizer with Qwen3's chat template, for which each call of a tool is one token: random models call them."""
    calls = [{"name": "show", "arguments": {"number": number}} for number in range(1, 9)]
    calls += [{"name": "finish", "arguments": {}}, {"name": "show", "arguments": {"number": "none"}}]
    words = {word: index for index, word in enumerate(["<pad>", "<|im_end|>", "<unk>"])}
    tokens = Tokenizer(models.WordLevel(words, unk_token="<unk>"))
    tokens.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    special = {"pad_token": "<pad>", "eos_token": "<|im_end|>", "unk_token": "<unk>"}
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=tokens, padding_side="left", **special)
    tokenizer.add_tokens([f"<tool_call>\n{json.dumps(call)}\n</tool_call>" for call in calls])
    templates = Path(trl.__file__).parent / "chat_templates"
    tokenizer.chat_template = (templates / "qwen3.jinja").read_text(encoding="utf-8")
    return tokenizer


def test_grpo_calls_the_tools_and_is_paid_the_gains(tmp_path: Path) -> None:
    topics = make_topics(2)
    reward = make_reward(topics)
    made: list[ListTools] = []

    def factory() -> ListTools:
        made.append(ListTools(reward))
        return made[-1]

    tokenizer = one_token_a_call()
    options = GRPOConfig(
        str(tmp_path),
        per_device_train_batch_size=16,
        num_generations=8,
        max_completion_length=96,
        max_tool_calling_iterations=5,
        max_steps=2,
        logging_steps=1,
        save_strategy="no",
        report_to="none",
        use_cpu=True,
        disable_tqdm=True,
    )
    rows = Dataset.from_list(reward.rows(form="tools"))
    model = make_model(tokenizer, room=1024)
    trainer = GRPOTrainer(model, None, options, rows, processing_class=tokenizer, environment_factory=factory)
    trainer.train()
    paid = [entry["rewards/ListTools/mean"] for entry in trainer.state.log_history if "reward" in entry]
    assert len(made) == 16, "one for each answer, used again"
    lists = [tools.episode for tools in made if tools.episode is not None]
    assert paid[-1] == pytest.approx(np.mean([sum(episode.gains) for episode in lists]))
    assert paid[-1] > 0
    assert {len(episode.ranks) for episode in lists} & {2, 3, 4, 5}, "lists of several calls"
    for episode in lists:
        answer = " > ".join(f"[{rank + 1}]" for rank in episode.ranks)
        assert sum(episode.gains) == pytest.approx(reward.score(episode.query_id, answer))


def test_the_code_of_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ACCELERATE_USE_CPU", "true")
    topics = make_topics(2)
    tokenizer = make_tokenizer(topics)
    names = {"reward": make_reward(topics), "tokenizer": tokenizer, "model": make_model(tokenizer, room=64)}
    exec(compile(code_below(ROOT / "docs" / "language_models.md", "TRL"), "page", "exec"), names)
    assert names["trainer"].state.global_step == 1  # type: ignore[attr-defined]
