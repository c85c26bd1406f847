"""A language model in a folder of one's own, run by `transformers` on the device at hand."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from srd_gym.checks import check_integer
from srd_gym.files import PathLike
from srd_gym.showing import repr_of


class LocalModel:
    """A causal language model of `transformers`, which answers prompts greedily, in batches on the device.

    Nothing is downloaded, no code of the model's and no pickle is run: weights are safetensors or one GGUF file (which
    is unpacked to float32). Prompts become a message of the user where the tokenizer has a template for chats.
    `make_ranker("llm-listwise", llm=folder)` makes one; `srd_agents.llm.client.client_of` takes it as any other client.

    Args:
        path: folder with config, tokenizer and model.safetensors, or a GGUF file.
        batch_size: prompts that the model answers at once.
        new_tokens: largest number of tokens of an answer.
        device: as torch names it; "auto" is a GPU where there is one.

    Attributes:
        model_name: name of the folder or file, and a digest of the weights: a cache keeps answers under it.

    Raises:
        FileNotFoundError: no such folder or file, or one without weights.
        ImportError: transformers or torch is not installed.
    """

    __repr__ = repr_of("path", "batch_size", "new_tokens", "device")

    def __init__(self, path: PathLike, *, batch_size: int = 8, new_tokens: int = 256, device: str = "auto") -> None:
        check_integer("batch_size", batch_size, 1)
        check_integer("new_tokens", new_tokens, 1)
        self.path, self.batch_size, self.new_tokens, self.device = Path(path), batch_size, new_tokens, device
        gguf = self.path.is_file() and self.path.suffix == ".gguf"
        self._weights = [self.path] if gguf else sorted(self.path.glob("*.safetensors"))
        if not self._weights:
            what = "holds no *.safetensors" if self.path.is_dir() else "is neither a folder nor a .gguf file"
            raise FileNotFoundError(
                f"{self.path} {what}; a language model is a folder as save_pretrained of transformers writes it "
                "(config, tokenizer, model.safetensors), or one GGUF file"
            )
        try:
            import transformers  # noqa: F401  # said now, not in the middle of a run
        except ImportError as error:
            raise ImportError(
                f"language model {self.path} needs transformers: pip install transformers (and gguf for GGUF files)"
            ) from error

    @cached_property
    def model_name(self) -> str:
        """Name under which a cache keeps the answers."""
        digest = hashlib.sha256()
        for path in self._weights:
            with path.open("rb") as file:
                digest.update(hashlib.file_digest(file, "sha256").digest())
        return f"{self.path.name}-{digest.hexdigest()[:12]}"

    @cached_property
    def loaded(self) -> tuple[Any, Any]:
        """The tokenizer, which pads on the left, and the model, on its device."""
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer

        device = ("cuda" if torch.cuda.is_available() else "cpu") if self.device == "auto" else self.device
        place: dict[str, Any] = {"local_files_only": True}
        if self.path.is_file():
            place["gguf_file"] = self.path.name
        folder = self.path.parent if self.path.is_file() else self.path
        tokenizer = AutoTokenizer.from_pretrained(folder, padding_side="left", **place)
        if tokenizer.pad_token is None:
            tokenizer.pad_token = tokenizer.eos_token
        if self.path.is_dir():
            place["use_safetensors"] = True
        dtype = torch.bfloat16 if device.startswith("cuda") else torch.float32
        model = AutoModelForCausalLM.from_pretrained(folder, dtype=dtype, **place)
        return tokenizer, model.to(device).eval()

    def invoke(self, prompt: str) -> str:
        """The answer to one prompt."""
        return self.batch([prompt])[0]

    def batch(self, prompts: Sequence[str], return_exceptions: bool = False) -> list[str]:
        """The answers to prompts, of similar length side by side; `return_exceptions` is not looked at.

        Raises:
            ValueError: a prompt that leaves no room for an answer in the model's context.
        """
        tokenizer, _ = self.loaded
        chat = bool(tokenizer.chat_template)
        asked = [
            tokenizer.apply_chat_template([_message(prompt)], add_generation_prompt=True, tokenize=False)
            if chat
            else prompt
            for prompt in prompts
        ]
        tokens = [tokenizer(text, add_special_tokens=not chat)["input_ids"] for text in asked]
        by_length = sorted(range(len(tokens)), key=lambda place: len(tokens[place]))
        said = [""] * len(tokens)
        for start in range(0, len(by_length), self.batch_size):
            places = by_length[start : start + self.batch_size]
            for place, text in zip(places, self._answer([tokens[place] for place in places]), strict=True):
                said[place] = text
        return said

    def _answer(self, tokens: list[list[int]]) -> list[str]:
        """The answers to one batch."""
        import torch

        tokenizer, model = self.loaded
        width = max(map(len, tokens))
        room = getattr(model.config, "max_position_embeddings", None) or width + self.new_tokens
        if width >= room:
            raise ValueError(f"a prompt of {width} tokens, the model reads {room}: show fewer or shorter documents")
        padded = tokenizer.pad({"input_ids": tokens}, return_tensors="pt").to(model.device)
        with torch.inference_mode():
            made = model.generate(
                **padded,
                do_sample=False,
                max_new_tokens=min(self.new_tokens, room - width),
                pad_token_id=tokenizer.pad_token_id,
            )
        answers: list[str] = tokenizer.batch_decode(made[:, width:], skip_special_tokens=True)
        return answers


def _message(prompt: str) -> dict[str, str]:
    return {"role": "user", "content": prompt}
