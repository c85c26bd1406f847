"""Cutting a batch of topics into blocks that numpy can work on side by side."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from math import prod


def blocks_of_equal_shape(shapes: Sequence[tuple[int, ...]], size: int) -> Iterator[list[int]]:
    """Indices of items of one shape, in blocks of bounded size.

    Nothing is padded: padding could change the last bit of a sum, and with it how a tie falls, so that a topic's
    ranking would depend on what else is in the batch.

    Args:
        shapes: the shape of each item.
        size: entries a block may hold; a larger item is a block of its own.

    Yields:
        Indices, every one once.
    """
    groups: defaultdict[tuple[int, ...], list[int]] = defaultdict(list)
    for index, shape in enumerate(shapes):
        groups[shape].append(index)
    for shape, members in groups.items():
        step = max(1, size // max(1, prod(shape)))
        for start in range(0, len(members), step):
            yield members[start : start + step]
