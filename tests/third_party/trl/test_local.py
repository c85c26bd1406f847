"""A model in a local folder ranks as `llm-listwise` does, and answers in batches as it answers alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from srd_agents import make_ranker
from srd_agents.llm.local import LocalModel
from srd_gym.measures import evaluate
from srd_gym.topic import TopicSet
from studies.language_models.tiny import make_model, make_tokenizer, make_topics

PROMPT = "{query} {passages}"


@pytest.fixture(scope="module")
def topics() -> TopicSet:
    return make_topics(6)


@pytest.fixture(scope="module")
def folder(topics: TopicSet, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny model with random weights, as transformers saves it."""
    path = tmp_path_factory.mktemp("models") / "tiny"
    tokenizer = make_tokenizer(topics)
    make_model(tokenizer, room=48).save_pretrained(path)
    tokenizer.save_pretrained(path)
    return path


def test_batches_answer_as_single_prompts_do(folder: Path, topics: TopicSet) -> None:
    prompts = [f"{topic.query_id} " + " ".join(topic.doc_texts or ()) for topic in topics] + ["query0 cat"]
    model = LocalModel(folder, batch_size=3, new_tokens=12)
    together = model.batch(prompts)
    assert together == [LocalModel(folder, new_tokens=12).invoke(prompt) for prompt in prompts]
    assert len(set(together)) > 1
    assert all(len(answer.split()) <= 12 for answer in together)
    assert model.model_name.startswith("tiny-")
    with pytest.raises(ValueError, match="a prompt of 50 tokens, the model reads 48"):
        model.invoke("cat " * 50)


def test_a_folder_is_a_ranker(folder: Path, topics: TopicSet, tmp_path: Path) -> None:
    ranker: Any = make_ranker("llm-listwise", llm=str(folder), prompt=PROMPT, cache=str(tmp_path))
    with pytest.warns(UserWarning, match="the model gave no usable answer"):
        rankings = ranker.rank_batch(topics, 5)
    assert ranker.counts["prompts"] == len(topics)
    assert [len(set(each.tolist())) for each in rankings] == [5] * len(topics)
    found = evaluate(topics, dict(zip(topics.query_ids, rankings, strict=True)), ["alpha_nDCG@5"]).measures
    assert 0 < found["alpha_nDCG@5"] <= 1


def test_answers_are_kept_under_the_weights(folder: Path, topics: TopicSet, tmp_path: Path) -> None:
    """A folder whose weights were trained further is another model to the cache."""
    first = LocalModel(folder).model_name
    tokenizer = make_tokenizer(topics)
    make_model(tokenizer, seed=1, room=48).save_pretrained(tmp_path / "tiny")
    tokenizer.save_pretrained(tmp_path / "tiny")
    second = LocalModel(tmp_path / "tiny").model_name
    assert first.split("-")[0] == second.split("-")[0] == "tiny"
    assert first != second


def test_a_pickle_is_no_model(tmp_path: Path) -> None:
    (tmp_path / "pytorch_model.bin").write_bytes(b"")
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "llama"}), encoding="utf-8")
    with pytest.raises(FileNotFoundError, match=r"holds no \*.safetensors"):
        LocalModel(tmp_path)
