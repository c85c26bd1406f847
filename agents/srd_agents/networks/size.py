"""Whether a network fits into memory, found out before it takes any."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

_COPIES = 4
"""What training holds of every weight: itself, its gradient and two means of Adam."""
_MOST_TENSORS = 1_000
"""Of a network: each costs time, however small it is."""


class _TooLargeError(Exception):
    """A network outgrew its limit."""


def check_fits(owner: str, config: Any, vector_width: int, build: Callable[[Any], None]) -> None:
    """Refuse options whose network could not be trained in the memory of this machine.

    Args:
        owner: whose options, for the error.
        config: the options, a dataclass.
        vector_width: F.
        build: makes the network of such options.

    Raises:
        ValueError: the message names the option that is furthest above its default.
    """
    limit = _memory() // _COPIES
    if _fits(lambda: build(config), limit):
        return
    defaults = vars(type(config)())
    times = {name: value / (defaults[name] or 1) for name, value in vars(config).items() if type(value) is int}
    most = max(times, key=times.__getitem__, default="")
    named = f"{most} = {getattr(config, most)}" if times.get(most, 0) > 1 else ""
    raise ValueError(
        f"ranker {owner!r} needs more memory than there is: its network for vectors of width {vector_width} takes "
        f"over {limit:,} bytes (a quarter of this machine's memory) or has over {_MOST_TENSORS:,} tensors; make "
        f"{f'{named} smaller' if named else 'the vectors shorter'}"
    )


def _fits(build: Callable[[], None], limit: int) -> bool:
    """Whether what is built takes at most so many bytes; on torch's device "meta" tensors have sizes but no memory."""
    taken = 0

    def count(_module: nn.Module, _name: str, tensor: Tensor | None) -> None:
        nonlocal taken
        if tensor is not None and tensor.is_meta:  # others belong to other threads
            taken += max(tensor.nbytes, limit // _MOST_TENSORS)
        if taken > limit:
            raise _TooLargeError

    hooks = (
        nn.modules.module.register_module_parameter_registration_hook(count),
        nn.modules.module.register_module_buffer_registration_hook(count),
    )
    try:
        with torch.device("meta"):
            build()
    except _TooLargeError:
        return False
    except (RuntimeError, TypeError, OverflowError) as error:
        if re.search("[Oo]verflow", str(error)):  # of the size itself
            return False
        raise
    finally:
        for hook in hooks:
            hook.remove()
    return True


def _memory() -> int:
    """Bytes of this machine's memory; 1 TiB where the system does not tell."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return 2**40
