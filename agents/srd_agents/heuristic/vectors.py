"""Documents as directions: cosines that depend on the two vectors only, to the last bit.

Every product of a document and a direction is a dot product of its own (`numpy.vecdot`), never a row of a matrix
product, whose last bits depend on where in the matrix the row stands. Copies of a document therefore tie exactly,
wherever they stand and whatever is computed with them, and ties fall by the documented rule.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from srd_gym.topic import FloatArray

SMALL, LARGE = np.float32(1e-30), np.float32(1e30)
"""Squared lengths between which float32 is exact enough."""


class Rows(NamedTuple):
    """Vectors with what scales each to length 1; nothing is copied to scale it."""

    vectors: FloatArray
    """[..., N, F] float32 as given (where float32 cannot square them: scaled to length 1)."""
    scale: FloatArray
    """[..., N] float32, 1 / length; 0 for a zero vector, whose cosine with anything is 0."""

    def project(self, direction: FloatArray) -> FloatArray:
        """Products of the unit vectors with one direction a topic: [..., N] from [..., F]."""
        products: FloatArray = np.vecdot(self.vectors, direction[..., None, :])
        products *= self.scale
        return products

    def project_each(self, directions: FloatArray) -> FloatArray:
        """`project` with several directions: [N, t] from [t, F]. Each vector is read once."""
        products: FloatArray = np.vecdot(self.vectors[:, None, :], directions)
        products *= self.scale[:, None]
        return products

    def unit(self, index: Any) -> FloatArray:
        """The chosen vectors, scaled to length 1."""
        scaled: FloatArray = self.vectors[index] * self.scale[index][..., None]
        return scaled


def rows_of(vectors: FloatArray) -> Rows:
    """Vectors ready to be compared.

    Args:
        vectors: [..., N, F] float32. Rows whose squares leave float32's range are measured in float64.
    """
    with np.errstate(over="ignore"):
        squares: FloatArray = np.vecdot(vectors, vectors)
    extreme = (squares < SMALL) | (squares > LARGE)
    if not extreme.any():
        return Rows(vectors, np.reciprocal(np.sqrt(squares)))
    squares[extreme] = 1
    scale = np.reciprocal(np.sqrt(squares))
    wide = vectors[extreme].astype(np.float64)
    lengths = np.linalg.norm(wide, axis=-1)
    scaled = vectors.copy()
    scaled[extreme] = wide / np.where(lengths > 0, lengths, 1.0)[:, None]
    scale[extreme] = lengths > 0
    return Rows(scaled, scale)


def min_max(values: NDArray[Any]) -> FloatArray:
    """Values scaled to [0, 1]; all 1 where they are equal."""
    wide = values.astype(np.float64)
    low, high = wide.min(), wide.max()
    if high == low:
        return np.ones(values.shape, dtype=np.float32)
    scaled: FloatArray = ((wide - low) / (high - low)).astype(np.float32)
    return scaled


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
