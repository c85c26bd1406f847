"""The machine that a ranker is trained on: its memory, torch's threads, and the versions of what is installed."""

from __future__ import annotations

import contextlib
import platform
import re
import sys
from collections.abc import Iterator
from functools import cache
from typing import Any

from srd_gym.checks import check_integer
from srd_gym.files import PathLike


@contextlib.contextmanager
def enough_memory(name: str, out: PathLike | None = None) -> Iterator[None]:
    """Say what was asked and what to do where memory does not suffice.

    Args:
        name: of the ranker.
        out: folder of a run whose checkpoint lies there; None: there is none.

    Raises:
        ValueError: memory did not suffice: numpy has an error of its own for it, torch a text.
    """
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        reason = str(error).strip().split("\n")[0]
        if not isinstance(error, MemoryError) and not re.search("memory|overflow", reason):
            raise
        resume = "" if out is None else f"; once memory is free, resume goes on from the checkpoint in {out}"
        raise ValueError(
            f"ranker {name!r} needs more memory than there is ({reason or 'MemoryError'}); make batches and the "
            f"network smaller, or take fewer topics and seeds or shorter vectors{resume}"
        ) from error


@contextlib.contextmanager
def torch_threads(count: int) -> Iterator[None]:
    """Let torch use this many threads in the block; where nothing has imported torch yet, there is none to limit.

    One thread is the fastest for networks of these sizes: on a busy machine with two cores, two threads trained four
    times slower. The same number of threads also belongs to "bitwise the same weights".

    Raises:
        TypeError: not a whole number.
        ValueError: fewer than one, or more than torch can count.
    """
    check_integer("threads", count, 1, 2**15 - 1)
    torch: Any = sys.modules.get("torch")
    if torch is None:
        yield
        return
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@cache
def versions() -> dict[str, str]:
    """Versions of Python and of the packages that results depend on."""
    from importlib.metadata import PackageNotFoundError, version  # here, as it is slow to import

    numbers = {"python": platform.python_version()}
    for name in ("srd-gym", "numpy", "torch", "scikit-learn", "scipy", "gymnasium", "pyarrow"):
        with contextlib.suppress(PackageNotFoundError):
            numbers[name] = version(name)
    return numbers
