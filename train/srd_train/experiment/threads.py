"""How many threads torch uses: policies here are small, and threads that wait for each other only cost time."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator


@contextlib.contextmanager
def torch_threads(count: int) -> Iterator[None]:
    """Let torch use this many threads in the block, if anything here uses torch: learners that do have imported it.

    One thread is the fastest for networks of these sizes: on a busy machine with two cores, two threads trained four
    times slower. The same number of threads also belongs to "bitwise the same weights".

    Raises:
        ValueError: fewer than one.
    """
    if count < 1:
        raise ValueError(f"threads must be at least 1, got {count}")
    torch = sys.modules.get("torch")
    if torch is None:
        yield
        return
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)
