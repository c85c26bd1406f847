"""Random directions and noise: what all generated vectors are made of."""

from __future__ import annotations

import hashlib
import json

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]


def generator_of(*key: object) -> np.random.Generator:
    """A generator that depends on the key alone, on every machine (Python's own hash differs between runs)."""
    # JSON keeps ("a", "bc") and ("ab", "c") apart, and escapes whatever an id may hold.
    digest = hashlib.blake2b(json.dumps(key).encode(), digest_size=16).digest()
    return np.random.default_rng(int.from_bytes(digest, "little"))


def directions(rng: np.random.Generator, count: int, width: int) -> Vectors:
    """Random directions, uniform on the unit sphere.

    Returns:
        [count, width] float32, rows of length 1.
    """
    return to_unit_length(rng.standard_normal((count, width), dtype=np.float32))


def to_unit_length(vectors: Vectors) -> Vectors:
    """The rows scaled to length 1; [..., F] float32 in and out."""
    lengths = np.sqrt(np.einsum("...f,...f->...", vectors, vectors))[..., None]
    scaled: Vectors = vectors / np.maximum(lengths, np.float32(1e-12))
    return scaled


def noise_like(rng: np.random.Generator, vectors: Vectors, length: float) -> Vectors:
    """Gaussian noise of the vectors' shape whose rows have the expected (root mean square) length `length`."""
    scale = np.float32(length / np.sqrt(vectors.shape[-1]))
    return rng.standard_normal(vectors.shape, dtype=np.float32) * scale
