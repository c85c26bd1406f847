"""Random numbers by counters: the same on every device, and those of `srd_gym.core.users`.

A number is a function of a seed and of its place; there is no state to pass on, and nothing to wait for.

Shapes: B episodes, D numbers of each.
"""

from __future__ import annotations

from torch import Tensor

from srd_gym.core.users import SPLITMIX


def _wrapped(value: int) -> int:
    """The same 64 bits as a signed number."""
    return value - 2**64 if value >= 2**63 else value


_GOLDEN, _FIRST, _SECOND = map(_wrapped, SPLITMIX)


def uniform(seeds: Tensor, places: Tensor) -> Tensor:
    """Uniform numbers in [0, 1), float64, by SplitMix64 (Steele et al. 2014); whole numbers of torch wrap around.

    Args:
        seeds: [...] int64.
        places: int64, from 0; what broadcasts with the seeds.
    """
    z = seeds + (places + 1) * _GOLDEN
    z = (z ^ _shifted(z, 30)) * _FIRST
    z = (z ^ _shifted(z, 27)) * _SECOND
    return _shifted(z ^ _shifted(z, 31), 11).double() * 2.0**-53


def _shifted(values: Tensor, bits: int) -> Tensor:
    """Values shifted to the right as unsigned numbers are."""
    shifted: Tensor = (values >> bits) & (2 ** (64 - bits) - 1)
    return shifted
