"""Paths that are refused as language models; tests/third_party/trl runs real models."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from srd_agents import make_ranker
from srd_agents.llm.local import LocalModel


def test_a_path_must_hold_a_model(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"is neither a folder nor a \.gguf file; a language model is a folder"):
        make_ranker("llm-listwise", llm=str(tmp_path / "absent"))
    with pytest.raises(FileNotFoundError, match=r"holds no \*\.safetensors"):
        LocalModel(tmp_path)
    (tmp_path / "pytorch_model.bin").write_bytes(b"a pickle")
    with pytest.raises(FileNotFoundError, match=r"holds no \*\.safetensors"):
        LocalModel(tmp_path)


@pytest.mark.skipif(importlib.util.find_spec("transformers") is not None, reason="transformers is installed")
def test_the_error_says_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_bytes(b"")
    with pytest.raises(ImportError, match="needs transformers: pip install transformers"):
        make_ranker("llm-listwise", llm=tmp_path)
