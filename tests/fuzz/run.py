"""The long run, `make fuzz`: every subject or those named, side by side, each case within limits."""

from __future__ import annotations

import argparse
import datetime
import faulthandler
import multiprocessing
import os
import random
import re
import resource
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from types import FrameType

from fuzz.subjects import SUBJECTS, WORST, HangError, judged

SECONDS = 10
MEMORY = 2 * 2**30
PART = 10_000
"""Cases that a process runs: what is lost where one of them ends it."""
_MARK = "<!-- made by make fuzz -->"


@dataclass
class Tally:
    """What became of a subject's cases."""

    ends: Counter[str] = field(default_factory=Counter)
    peak: int = 0
    """Bytes that the process took at most, Python and libraries included."""
    examples: dict[str, str] = field(default_factory=dict)
    """The first of each kind of fault."""

    @property
    def cases(self) -> int:
        return self.ends.total()

    def count(self, index: int, end: str, error: BaseException | None) -> None:
        self.ends[end] += 1
        if end in WORST and error is not None and len(self.examples) < 40:
            key = f"{end}: {type(error).__name__}: {re.sub(r'[0-9]+', '0', str(error))[:60]}"
            frame = traceback.extract_tb(error.__traceback__)[-1]
            self.examples.setdefault(key, f"case {index}: {str(error)[:300]!r} at {frame.filename}:{frame.lineno}")

    def __iadd__(self, part: Tally) -> Tally:
        self.ends += part.ends
        self.peak = max(self.peak, part.peak)
        self.examples |= part.examples
        return self


def work(name: str, seed: int, first: int, last: int, deadline: float, pipe: Connection) -> None:
    """Run cases of one subject, in a process that may end with them."""
    subject, tally = SUBJECTS[name], Tally()

    def too_long(number: int, frame: FrameType | None) -> None:
        raise HangError(f"over {SECONDS} s")

    signal.signal(signal.SIGALRM, too_long)
    # In memory, where there is such a place: most of the time would go into writing small files to a disk.
    place = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="srd-fuzz-", dir=place) as folder:
        make = subject.prepare(Path(folder))
        used = int(re.search(r"VmData:\s+(\d+)", Path("/proc/self/status").read_text())[1]) * 1024  # type: ignore[index]
        resource.setrlimit(resource.RLIMIT_DATA, (used + MEMORY, resource.RLIM_INFINITY))
        for index in range(first, last):
            if time.monotonic() > deadline:
                break
            run = make(random.Random(f"{name}/{seed}/{index}"))
            # A hang inside a library hears no signal: then the process ends, and its parent counts it.
            faulthandler.dump_traceback_later(3 * SECONDS, exit=True)
            signal.alarm(SECONDS)
            end, error = judged(subject, Path(folder), run)
            signal.alarm(0)
            tally.count(index, end, error)
    faulthandler.cancel_dump_traceback_later()
    tally.peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    pipe.send(tally)


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def run_all(names: list[str], cases: int, seed: int, processes: int, seconds: float) -> dict[str, Tally]:
    """Cases of all subjects, so many at a time, each part of a subject's in a process of its own."""
    context, share = multiprocessing.get_context("spawn"), seconds * processes / max(1, len(names))

    def run(name: str) -> Tally:
        total, deadline = Tally(), time.monotonic() + share
        for first in range(0, cases, PART):
            last = min(first + PART, cases)
            here, there = context.Pipe(duplex=False)
            worker = context.Process(target=work, args=(name, seed, first, last, deadline, there))
            worker.start()
            there.close()
            try:
                total += here.recv()
            except EOFError:
                worker.join()
                kind = "crash" if (worker.exitcode or 0) < 0 else "hang"
                total.ends[kind] += 1
                total.examples[f"{kind} {first}"] = f"cases {first} to {last}: exit code {worker.exitcode}"
        _say(_aligned(_cells(name, total)))
        return total

    with ThreadPoolExecutor(processes) as threads:
        return dict(zip(names, threads.map(run, names), strict=True))


_HEAD = ("subject", "cases", "accepted", "refused", *WORST, "peak MB")


def _cells(name: str, tally: Tally) -> list[str]:
    ends = [f"{tally.ends[kind]:,}" for kind in ("accepted", "refused", *WORST)]
    return [name, f"{tally.cases:,}", *ends, f"{tally.peak / 1e6:,.0f}"]


def _aligned(cells: Sequence[str]) -> str:
    return f"{cells[0]:<17}" + "".join(f"{cell:>11}" for cell in cells[1:])


def write_markdown(path: Path, tallies: dict[str, Tally], seed: int) -> None:
    """Put the table between the two marks of a page, without what the line above it says."""
    before, _, rest = path.read_text(encoding="utf-8").partition(_MARK)
    _, _, after = rest.partition(_MARK)
    today = datetime.datetime.now(datetime.UTC).date()
    none = [kind for kind in WORST if not any(tally.ends[kind] for tally in tallies.values())]
    rows = [_HEAD, ["---", *["---:"] * (len(_HEAD) - 1)], *(_cells(name, tally) for name, tally in tallies.items())]
    each = {tally.cases for tally in tallies.values()}
    left_out = {*none, "refused", *(["cases"] if len(each) == 1 else [])}
    shown = [place for place, head in enumerate(_HEAD) if head not in left_out]
    table = "\n".join("| " + " | ".join(row[place] for place in shown) + " |" for row in rows)
    said = f"Last run on {today}, seed {seed}: {sum(tally.cases for tally in tallies.values()):,} cases"
    said += f", {min(each):,} of each subject." if len(each) == 1 else "."
    said += f" Faults of which there were none: {', '.join(none)}." if none else ""
    path.write_text(f"{before}{_MARK}\n\n{said}\n\n{table}\n\n{_MARK}{after}", encoding="utf-8")


def main() -> int:
    """Fuzz; exit code 1 where anything ended as it should not."""
    parser = argparse.ArgumentParser(prog="make fuzz", description=__doc__)
    parser.add_argument("names", nargs="*", default=list(SUBJECTS), help="subjects; all unless named")
    parser.add_argument("--cases", type=int, default=100_000, help="of each subject")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after about this long in all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--markdown", type=Path, help="the page to put the table into")
    options = parser.parse_args()
    if unknown := set(options.names).difference(SUBJECTS):
        parser.error(f"unknown subject {min(unknown)!r}; expected some of {', '.join(SUBJECTS)}")
    _say(_aligned(_HEAD))
    tallies = run_all(options.names, options.cases, options.seed, options.processes, options.seconds)
    for name, tally in tallies.items():
        for key, example in tally.examples.items():
            _say(f"{name}: {key}\n    {example}")
    if options.markdown is not None:
        write_markdown(options.markdown, tallies, options.seed)
    return 1 if any(tally.ends[kind] for tally in tallies.values() for kind in WORST) else 0
