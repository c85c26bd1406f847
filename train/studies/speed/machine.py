"""What the machine can do at most, so that a line of the speed table says how far it is from that."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cache

import numpy as np

_SIDE, _BYTES = 1_024, 1 << 28


@cache
def operations() -> float:
    """Floating-point operations a second in products of float32 matrices, two for a multiply-add: the best of 20."""
    left, right = np.random.default_rng(0).standard_normal((2, _SIDE, _SIDE), dtype=np.float32)
    return 2 * _SIDE**3 / min(_seconds(lambda: left @ right) for _ in range(20))


@cache
def reading() -> float:
    """Bytes a second that are read from memory in order: the best of six."""
    numbers = np.ones(_BYTES // 4, dtype=np.float32)
    return numbers.nbytes / min(_seconds(lambda: numbers.dot(numbers)) for _ in range(6))


def limit(*, multiply_adds: float = 0.0, read: float = 0.0) -> float:
    """Units a second where a unit needs so many multiply-adds in products and so many bytes from memory."""
    return 1 / max(2 * multiply_adds / operations(), read / reading())


def multiply_adds(work: Callable[[], object]) -> float:
    """How many multiply-adds torch's products of matrices have in this work; others are not counted."""
    from torch.utils.flop_counter import FlopCounterMode

    with FlopCounterMode(display=False) as counter:
        work()
    operations_counted: int = counter.get_total_flops()
    return operations_counted / 2


def described() -> str:
    """The limits in words."""
    return (
        f"The limits of one core, measured beside the lines: {operations() / 1e9:,.0f} thousand million floating-point "
        f"operations a second in products of float32 matrices, {reading() / 1e9:.1f} GB/s in reading memory. What a "
        "unit needs of them at least is counted: products, and one pass over the vectors."
    )


def _seconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start
