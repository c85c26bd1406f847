"""Many writers of the same files at once, in threads and processes: `make kills ARGS="--writers 120"`.

All of them ask one naming cache for the same queries and write one output; readers look meanwhile. Whatever is there
must be whole, nothing may raise, and nothing may be left over. A cache is emptied again and again, as files that are
not there yet are what writers race for.
"""

from __future__ import annotations

import multiprocessing
import os
import tempfile
import threading
import time
import traceback
from pathlib import Path

from srd_agents.pipeline.naming import Namer
from srd_gym.files import written_atomically

QUERIES = [f"query {number}" for number in range(4)]
LINES = 200
"""Of the output, all alike, another one for each writer."""


def answer(prompt: str) -> str:
    """Names, always the same for a prompt."""
    query = next(query for query in QUERIES if query in prompt)
    return f'["{query} one", "{query} two"]'


def write(folder: Path, until: float, me: str, problems: list[str]) -> int:
    """Write and read until then; how often."""
    output, cache, count = folder / "output.run", folder / "cache", 0
    namer = Namer(answer, model="made", cache=cache)
    while time.time() < until:
        query = QUERIES[count % len(QUERIES)]
        try:
            names = namer(query)
            with written_atomically(output) as temporary:
                temporary.write_text(f"{me} {count}\n" * LINES)
            lines = output.read_text().splitlines()
            if len(lines) != LINES or len(set(lines)) != 1:
                problems.append(f"torn output: {len(lines)} lines, {len(set(lines))} kinds")
            if names != [f"{query} one", f"{query} two"]:
                problems.append(f"other names: {names}")
            for kept in cache.glob("*.json"):
                if count % 3 == 0:
                    kept.unlink(missing_ok=True)
        except Exception:
            problems.append(traceback.format_exc(limit=-3))
        count += 1
    return count


def process(folder: Path, seconds: float, threads: int, results: multiprocessing.Queue[tuple[int, list[str]]]) -> None:
    """One process of them."""
    problems: list[str] = []
    counts: list[int] = []
    until = time.time() + seconds

    def work(number: int) -> None:
        counts.append(write(folder, until, f"{os.getpid()}.{number}", problems))

    all_threads = [threading.Thread(target=work, args=(number,)) for number in range(threads)]
    for thread in all_threads:
        thread.start()
    for thread in all_threads:
        thread.join()
    results.put((sum(counts), problems))


def write_together(seconds: float, processes: int = 4, threads: int = 8) -> tuple[int, list[str]]:
    """How often all of them wrote, and what went wrong; what is left over counts."""
    context = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as place:
        folder, results = Path(place), context.Queue()
        running = [context.Process(target=process, args=(folder, seconds, threads, results)) for _ in range(processes)]
        for one in running:
            one.start()
        counts, problems = zip(*(results.get(timeout=seconds + 60) for _ in running), strict=True)
        for one in running:
            one.join()
        left = [f"left over: {path.name}" for path in folder.rglob(".*")]
        return sum(counts), [problem for several in problems for problem in several] + left
