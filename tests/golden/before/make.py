"""Scores and weights as they were before the code was rearranged: moves and new names change none of their bits.

    python tests/golden/before/make.py                 compare everything; exit code 1 where anything differs
    python tests/golden/before/make.py check weights   only these parts: weights, smoke, heuristics
    python tests/golden/before/make.py write           write the files anew from what the code does now

smoke, heuristics: every cell of the complete recipe, by `srd benchmark`: a mean, and a checksum of the scores by topic.
weights: every learner after `EPOCHS` epochs on toy topics: a checksum of its weights, and of how it ranks other topics.

heuristics needs SRD_DATA_DIR and is left out where that is unset. Bits depend on the machine, the versions and the
threads: one thread is used, and the files name the others. After a new name, fill `RENAMED` (or change `OPTIONS`)
instead of writing anew. This folder goes once the rearranging is done.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.metadata
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
PACKAGES = [str(ROOT / folder) for folder in (".", "agents", "train")]
LIBRARIES = ("numpy", "scipy", "scikit-learn", "torch", "gymnasium", "stable-baselines3", "sb3-contrib")

RENAMED: dict[str, str] = {"m2div": "mcts"}
"""Name in the files -> name now, of rankers, table rows, topic sets and measures."""
EPOCHS = 3
PARTS = ("weights", "smoke", "heuristics")
BEFORE = {"update": "episode", "prune_ranking": True}
"""What the pruned rows of MDP-DIV did before they did as published."""
OPTIONS: dict[str, dict[str, Any]] = {
    "mdp-div": {"update": "episode"},
    **dict.fromkeys(("mdp-div-knn10", "mdp-div-knn20", "mdp-div-knn30", "mdp-div-ntn-d", "mdp-div-ntn-e"), BEFORE),
    "mdp-div-batched, attention": {"policy": "attention"},
    "m2div, attention": {"attention": 8},
    "m2div, search": {"rank_by": "search", "rank_simulations": 16},
}
"""Options beside the number of epochs, by the name in the files; what follows a comma is no part of a ranker's name."""

Entries = dict[str, str]


def now(name: str) -> str:
    """What has this name in the files is called so in the code."""
    return RENAMED.get(name, name)


def sha256(parts: Iterable[str | bytes]) -> str:
    """A checksum of the parts, in their order."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part.encode() if isinstance(part, str) else part)
        digest.update(b"\n")
    return digest.hexdigest()


def scores(recipe: str, jobs: int) -> Entries:
    """Run a recipe by the public command; a mean and a checksum for every cell and measure."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "srd_train.cli", "benchmark", recipe, "--out", folder, "--jobs", str(jobs)]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"{' '.join(command)} ended with code {done.returncode}:\n{done.stderr[-4000:]}")
        records = [
            json.loads(path.read_text(encoding="utf-8")) for path in sorted(Path(folder, "cells").glob("*.json"))
        ]
    entries = {}
    for record in records:
        cell = [record["topic_set"]["name"], record["ranker"], f"fold {record['fold']}", f"seed {record['seed']}"]
        for measure, mean in record["measures"].items():
            by_topic = sorted((query, float(row[measure]).hex()) for query, row in record["per_topic"].items())
            checksum = sha256(f"{query} {value}" for query, value in by_topic)
            entries[" | ".join([*cell, measure])] = f"{mean!r} {checksum}"
    return entries


def toy_topics() -> Any:
    """Sixteen topics to learn from, then eight to rank; with texts, without which some learners refuse them."""
    import numpy as np

    from srd_gym.data import load_topics
    from srd_gym.topic import TopicSet

    def told(topic: Any, index: int) -> Any:
        words = np.random.default_rng([7, index]).choice(["own", "rare", "more", "some", "other"], topic.n_candidates)
        covered = [" ".join(f"about{s}" for s in np.flatnonzero(row >= 1)) for row in topic.judgments]
        return replace(topic, doc_texts=tuple(f"{a} {b}" for a, b in zip(covered, words, strict=True)))

    return TopicSet([told(topic, i) for i, topic in enumerate(load_topics("synthetic:serp:24:0"))], name="toy")


def learner_entry(name: str, topics: Any) -> str:
    """Fit one learner; checksums of its weights, whatever they are called, and of its rankings."""
    import numpy as np
    from safetensors.numpy import load_file

    from srd_agents import make_ranker

    # Without validation topics, which might choose the weights of epoch 0.
    learner: Any = make_ranker(now(name.split(", ")[0]), epochs=EPOCHS, **OPTIONS.get(name, {}))
    learner.fit(topics[:16], seed=0)
    with tempfile.TemporaryDirectory() as folder:
        learner.save(folder)
        arrays = list(load_file(Path(folder, "model.safetensors")).values())
    weights = sorted(sha256([str(a.dtype), str(a.shape), np.ascontiguousarray(a).tobytes()]) for a in arrays)
    rankings = (" ".join(map(str, ranking)) for ranking in learner.rank_batch(topics[16:], 10))
    size = f"{len(arrays)} arrays of {sum(a.size for a in arrays)} numbers"
    return f"{size}, weights {sha256(weights)}, rankings {sha256(rankings)}"


def weights(names: Iterable[str]) -> Entries:
    """An entry for each learner, by its name in the files."""
    topics, entries = toy_topics(), {}
    for name in names:
        try:
            entries[name] = learner_entry(name, topics)
        except Exception as error:  # one that fails is a difference, and the others are still worth knowing
            entries[name] = f"failed: {error!r}"
    return entries


def learners() -> list[str]:
    """Every learner of the registry, and the variants of `OPTIONS`."""
    from srd_agents import RANKERS

    return [*(name for name, spec in RANKERS.items() if spec.learns), *(name for name in OPTIONS if ", " in name)]


def made_with() -> dict[str, str]:
    """Versions and machine, on which bits depend."""
    found = {"python": platform.python_version()}
    for library in LIBRARIES:
        try:
            found[library] = importlib.metadata.version(library)
        except importlib.metadata.PackageNotFoundError:
            found[library] = "none"
    cpu = Path("/proc/cpuinfo")
    told = cpu.read_text(encoding="utf-8") if cpu.is_file() else ""
    model = re.search(r"^model name\s*: (.*)$", told, re.MULTILINE)
    wide = sorted({"avx2", "avx512f", "avx512_vnni", "amx_tile"} & set(told.split()))
    return found | {"processor": " ".join([model[1] if model else platform.processor(), *wide])}


def file_of(part: str) -> Path:
    """Where a part is stored."""
    return HERE / ("weights.json" if part == "weights" else f"scores-{part}.json")


def write(part: str, jobs: int) -> None:
    """Store what the code does now."""
    entries = weights(learners()) if part == "weights" else scores(part, jobs)
    failed = [f"{name}: {value}" for name, value in entries.items() if value.startswith("failed")]
    if failed:
        raise RuntimeError("nothing is written, since not every learner learns:\n" + "\n".join(failed))
    content = {"made_with": made_with(), "entries": entries}
    file_of(part).write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    say(f"{part}: wrote {len(entries)} entries")


def found_now(part: str, keys: Iterable[str], jobs: int) -> Entries:
    """What the code does now, by the keys of the files; those that have come to nothing are missing."""
    if part == "weights":
        return weights(keys)
    found = scores(part, jobs)
    names = {key: " | ".join(now(word) for word in key.split(" | ")) for key in keys}
    return {key: found[name] for key, name in names.items() if name in found}


def check(part: str, jobs: int) -> int:
    """Compare with what is stored, and list what differs; the number of differences."""
    stored = json.loads(file_of(part).read_text(encoding="utf-8"))
    began = time.perf_counter()
    entries: Entries = stored["entries"]
    found = found_now(part, entries, jobs)
    differ = [key for key, value in entries.items() if found.get(key) != value]
    for key in differ:
        say(f"{part}: {key}\n    stored {entries[key]}\n    now    {found.get(key, 'nothing')}")
    here = made_with()
    for what, version in stored["made_with"].items():
        if differ and here[what] != version:
            say(f"note: stored with {what} {version}, this is {here[what]}: the bits may differ for that alone")
    say(f"{part}: {len(differ)} of {len(entries)} entries differ ({time.perf_counter() - began:.0f} s)")
    return len(differ)


def say(line: str) -> None:
    """Write a line."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main() -> int:
    """Check or write the parts that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mode", nargs="?", choices=("check", "write"), default="check")
    parser.add_argument("parts", nargs="*", metavar="part", default=list(PARTS))
    parser.add_argument("--jobs", type=int, default=1, help="processes of a benchmark; they change no score")
    arguments = parser.parse_args()
    os.environ |= {"OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "0", "PYTHONPATH": os.pathsep.join(PACKAGES)}
    sys.path[:0] = PACKAGES
    if not set(arguments.parts) <= set(PARTS):
        parser.error(f"expected parts among {', '.join(PARTS)}, got {', '.join(arguments.parts)}")
    if arguments.mode == "write" and RENAMED:
        parser.error("empty RENAMED before writing anew: the files then have the new names")
    differ = 0
    for part in arguments.parts:
        if part == "heuristics" and not os.environ.get("SRD_DATA_DIR"):
            say("heuristics: left out, since SRD_DATA_DIR is unset")
        elif arguments.mode == "write":
            write(part, arguments.jobs)
        else:
            differ += check(part, arguments.jobs)
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
