"""Memory for the speed table, and training on a file that need not fit into memory. Linux only.

    python -m studies.speed.memory FILE TOPICS RANKER [OPTIONS of srd train]

makes the file where there is none, trains on it, and prints the most that this took.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from srd_gym.data.parquet import write_topics
from srd_gym.data.synthetic import generate

_GROUP = 200


def peaks(*words: str) -> dict[str, float]:
    """Run Python with these words.

    Returns:
        Megabytes at the highest: `VmHWM`, all resident memory, mapped files included; `RssAnon`, without them (looked
        at twenty times a second).

    Raises:
        RuntimeError: the run failed.
    """
    most = {"VmHWM": 0.0, "RssAnon": 0.0}
    with subprocess.Popen([sys.executable, *words], stdout=subprocess.DEVNULL) as running:
        status = Path(f"/proc/{running.pid}/status")
        while running.poll() is None:
            for name, kilobytes in re.findall(r"^(\w+):\s+(\d+) kB$", status.read_text(), re.MULTILINE):
                if name in most:
                    most[name] = max(most[name], int(kilobytes) * 1024 / 1e6)
            time.sleep(0.05)
    if running.returncode != 0:
        raise RuntimeError(f"{' '.join(words)} ended with {running.returncode}")
    return most


def train(path: Path, ranker: str, *options: str) -> dict[str, float]:
    """`peaks` of training by the command."""
    with tempfile.TemporaryDirectory() as folder:
        words = ("train", ranker, "--topics", str(path), "--out", f"{folder}/model", *options)
        return peaks("-m", "srd_train", *words)


def train_mdp_div() -> float:
    """Training on 198 topics of 65 to 419 candidates, F = 100."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "topics.parquet")
        write_topics(path, generate("web", n_topics=198, seed=0, width=100, candidates=(65, 419)))
        return train(path, "mdp-div-batched", "--epochs", "2")["VmHWM"]


def train_qmix() -> float:
    """`qmix_epoch`."""
    return peaks("-c", "from studies.speed.learners import qmix_epoch; qmix_epoch()")["VmHWM"]


def search(trees: int = 32, simulations: int = 5_000) -> float:
    """One M2Div search with the paper's network."""
    return peaks("-c", f"from studies.speed.learners import searched; searched({trees}, {simulations})()")["VmHWM"]


def write_large(path: Path, topics: int, *, candidates: int = 100, width: int = 384) -> None:
    """Write generated topics, which are never all in memory."""
    about = {"width": width, "candidates": (candidates, candidates)}
    starts = range(0, topics, _GROUP)
    parts = (generate("web", n_topics=min(_GROUP, topics - start), seed=start, **about) for start in starts)
    write_topics(path, (topic for part in parts for topic in part), simulated=True)


def main(words: list[str]) -> int:
    """Make the file where there is none, train, and print the peaks."""
    if len(words) < 3 or not words[1].isdecimal():
        print(__doc__, file=sys.stderr)  # noqa: T201
        return 2
    path = Path(words[0])
    if not path.exists():
        write_large(path, int(words[1]))
    most = train(path, *words[2:])
    print(f"peak {most['VmHWM']:,.0f} MB, without mapped files {most['RssAnon']:,.0f} MB")  # noqa: T201
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
