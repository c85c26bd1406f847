"""`srd doctor`: what is installed, what this machine has, and what to install for the rest."""

from __future__ import annotations

import os
import platform
import re
import time
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from srd_gym.installing import NAME, how_to_install, installed_from
from srd_train.commands.console import Output

_BLAS = ("OMP_NUM_THREADS", "OPENBLAS_CORETYPE", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
_COLLECTED = ("all", "dev", "docs")
"""Extras that are sums of others, or for those who change the code."""


@dataclass(frozen=True, kw_only=True)
class Doctor:
    """Say what is installed, whether it works, and what to install for the rest; the text can stand in a bug report.

    The command plays an episode. It ends with 1 where that fails. No file's content and no variable but those shown
    is read.

    Examples:
      srd doctor
      srd doctor --json
    """

    json: bool = False
    """Print JSON."""

    def execute(self, output: Output) -> int:
        """Look, and show."""
        played, works = episode()
        found = {**versions(), **machine(), "data": data_folder(), **extras(), "episode": played}
        if self.json:
            output.data({**found, "works": works})
        else:
            width = max(map(len, found))
            output.text("\n".join(f"{name:<{width}}  {value}" for name, value in found.items()))
        return 0 if works else 1


def versions() -> dict[str, str]:
    """The package, Python, and what it is made of."""
    made_of = ("numpy", "gymnasium", "pettingzoo", "torch")
    source = "a clone" if installed_from() == "clone" else "an index or a wheel"
    return {
        "srd-gym": f"{metadata.version(NAME)}, from {source}",
        "python": f"{platform.python_version()}, {platform.system()} {platform.release()} {platform.machine()}",
        "libraries": ", ".join(f"{name} {_version(name) or 'not installed'}" for name in made_of),
    }


def machine() -> dict[str, str]:
    """Processors, threads of matrix products, and devices."""
    import numpy as np

    blas = np.show_config(mode="dicts")["Build Dependencies"]["blas"]
    said = [f"{name}={os.environ[name]}" for name in _BLAS if name in os.environ]
    found = {
        "threads": f"{os.cpu_count()} processors, {blas['name']} {blas['version']}, {', '.join(said) or 'no limit'}"
    }
    if _version("torch"):
        import torch

        gpus = [torch.cuda.get_device_name(number) for number in range(torch.cuda.device_count())]
        found["devices"] = ", ".join([f"cpu, {torch.get_num_threads()} threads of torch", *gpus])
    return found


def data_folder() -> str:
    """The folder of real files."""
    if not (folder := os.environ.get("SRD_DATA_DIR")):
        return "SRD_DATA_DIR is unset: names of real collections are not found, files and generated topics are"
    if not (path := Path(folder)).is_dir():
        return f"SRD_DATA_DIR names {path}, which is no folder"
    return (
        f"SRD_DATA_DIR holds {', '.join(sorted(entry.name for entry in path.iterdir() if entry.is_dir())) or 'nothing'}"
    )


def extras() -> dict[str, str]:
    """The extras that are complete, and the command for each of the others."""
    names = [name for name in metadata.metadata(NAME).get_all("Provides-Extra") or () if name not in _COLLECTED]
    lacking = {name: [one for one in needed(name) if not _version(one)] for name in names}
    found = {"extras": ", ".join(name for name, absent in lacking.items() if not absent) or "none"}
    for name, absent in lacking.items():
        if absent:
            found[f"  {name}"] = f"lacks {', '.join(absent)}: {how_to_install(name)}"
    return found


def needed(extra: str) -> list[str]:
    """Names of the distributions that an extra asks for, those of the extras in it among them."""
    names: list[str] = []
    for requirement in metadata.requires(NAME) or ():
        what, _, marker = requirement.partition(";")
        if f"extra == '{extra}'" not in marker.replace('"', "'"):
            continue
        ((name, inner),) = re.findall(r"^([\w.-]+)(?:\[([\w, -]+)\])?", what)
        if name.replace("_", "-").lower() == NAME:
            names += [one for each in inner.split(",") for one in needed(each.strip())]
        else:
            names.append(name)
    return list(dict.fromkeys(names))


def episode() -> tuple[str, bool]:
    """One episode, in words, and whether it worked."""
    begun = time.perf_counter()
    try:
        import gymnasium as gym

        env = gym.make("srd_gym:SRD-v0", topics="synthetic:serp:2")
        _, info = env.reset(seed=0)
        total, ended = 0.0, False
        while not ended:
            _, reward, ended, _, info = env.step(int(info["action_mask"].argmax()))
            total += float(reward)
    except Exception as error:  # whatever is broken here is what people want to paste
        return f"failed: {type(error).__name__}: {error}", False
    return f"played SRD-v0 in {time.perf_counter() - begun:.2f} s, return {total:.3f}", True


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None
