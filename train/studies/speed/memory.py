"""Peak memory of training runs, each in a process of its own."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from srd_gym.data.parquet import write_topics
from srd_gym.data.synthetic import generate
from studies.speed.sb3 import REPLAY, REPLAY_TARGET, replay_memory
from studies.speed.search import CANDIDATES, HORIZON, SIMULATIONS, TREES, bytes_per_simulation

_MDP_DIV_TARGET = 600.0
_DU_DIV = (4_473, 15, 1_024)
_VECTORS = _DU_DIV[0] * (_DU_DIV[1] + 1) * _DU_DIV[2] * 4 / 1e6
_QMIX_TARGET = 2_000.0
_SEARCH_TARGET = 1_000.0

_PEAK = """
try:
    peak = next(line for line in open('/proc/self/status') if line.startswith('VmHWM')).split()[1]
except OSError:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    peak = peak // 1024 if sys.platform == 'darwin' else peak
print(f'peak={peak}')
sys.exit(status)
"""


@dataclass(frozen=True, kw_only=True)
class MemoryCase:
    """A line on memory."""

    name: str
    """What `--only` finds it by."""
    what: str
    """What was trained on what."""
    target: float
    """Megabytes to stay under."""
    run: Callable[[], float]
    """Gives the peak in megabytes."""


def memory_cases() -> list[MemoryCase]:
    """The lines on memory."""
    lines = [
        MemoryCase(
            name=f"memory {ranker}",
            what=f"peak memory of training {ranker} on 198 topics, F = 100",
            target=_MDP_DIV_TARGET,
            run=partial(training_memory, ranker),
        )
        for ranker in ("mdp-div", "mdp-div-batched")
    ]
    topics, documents, width = _DU_DIV
    what = (
        f"peak memory of training qmix (paper-du-div) on {topics:,} topics of {documents} documents, F = {width:,}; "
        f"{_VECTORS:.0f} MB of it are vectors"
    )
    lines.append(MemoryCase(name="memory qmix", what=what, target=_QMIX_TARGET + _VECTORS, run=qmix_memory))
    what = f"a DQN replay of {REPLAY:,} transitions, compact observations, N = 200, F = 100, and its networks"
    lines.append(MemoryCase(name="memory sb3 replay", what=what, target=REPLAY_TARGET, run=replay_memory))
    what = (
        f"peak memory of an M2Div search: {SIMULATIONS:,} simulations of {TREES} trees, {CANDIDATES} candidates, K = "
        f"{HORIZON}; a simulation takes at most {bytes_per_simulation():,} bytes"
    )
    return [*lines, MemoryCase(name="memory m2div", what=what, target=_SEARCH_TARGET, run=search_memory)]


def training_memory(name: str, *, topics: int = 198, epochs: int = 2) -> float:
    """Peak megabytes of a training run on topics of 65 to 419 candidates, F = 100, by the command.

    Raises:
        RuntimeError: the run failed; the message is its own.
    """
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "topics.parquet"
        write_topics(file, generate("web", n_topics=topics, seed=0, width=100, candidates=(65, 419)))
        words = ["train", name, "--topics", str(file), "--epochs", str(epochs), "--out", str(Path(folder) / "model")]
        return _peak("from srd_train.cli import main\nstatus = main(sys.argv[1:])", words)


def qmix_memory(topics: int = _DU_DIV[0], width: int = _DU_DIV[2]) -> float:
    """Peak megabytes of an epoch of QMIX in the paper's setting for DU-DIV, on as many topics of 15 documents.

    The replay is as large at the first visit as at the last, so that one epoch shows the peak.

    Raises:
        RuntimeError: the run failed; the message is its own.
    """
    program = (
        "from studies.speed.scoring import drawn\n"
        "from srd_agents.registry import make_ranker\n"
        f"topics = drawn({topics}, {_DU_DIV[1]}, {width})\n"
        "qmix = make_ranker('ma4div', state='documents', max_candidates=None, epochs=1)\n"
        "qmix.fit(topics[100:], topics[:100], seed=0)\n"
        "status = 0"
    )
    return _peak(program, [])


def search_memory(trees: int = TREES, simulations: int = SIMULATIONS) -> float:
    """Peak megabytes of one M2Div search with the paper's network, by default of the size that memory is stated for.

    Raises:
        RuntimeError: the run failed; the message is its own.
    """
    program = f"from studies.speed.search import largest_search\nlargest_search({trees}, {simulations})\nstatus = 0"
    return _peak(program, [])


def _peak(program: str, words: Sequence[str]) -> float:
    """Peak megabytes of a process that runs the program, which leaves its exit code in `status`."""
    whole = f"import resource, sys\n{program}\n{_PEAK}"
    done = subprocess.run([sys.executable, "-c", whole, *words], capture_output=True, text=True, check=False)
    peak = re.search(r"^peak=(\d+)$", done.stdout, re.MULTILINE)
    if done.returncode != 0 or peak is None:
        raise RuntimeError(f"the training run for the memory figure failed: {done.stderr.strip()[-500:]}")
    return int(peak[1]) * 1024 / 1e6
