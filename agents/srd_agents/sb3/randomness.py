"""SB3 draws from the global generators of numpy and torch; a learner must neither depend on these nor move them."""

from __future__ import annotations

from types import TracebackType
from typing import Any

import numpy as np
import torch

from srd_agents.networks.checkpoint import load_generator
from srd_agents.storage import Tree


class PrivateRandomness:
    """States of the two global generators that belong to one learner; they are in force inside a `with` block.

    Torch's is the CPU's. That of another device is seeded from it as a block begins, and not put back.

    Args:
        seed: of both.
        device: where torch draws, in its words.
    """

    def __init__(self, seed: int, device: str = "cpu") -> None:
        self._elsewhere = torch.device(device).type != "cpu"
        bits = np.random.MT19937(np.random.SeedSequence([seed, 0x5B3]))
        numpy: dict[str, Any] = np.random.RandomState(bits).get_state(legacy=False)
        self._mine = (numpy, torch.Generator().manual_seed(seed).get_state())

    def __enter__(self) -> None:
        self._theirs = _now()
        _put(self._mine)
        if self._elsewhere:
            torch.manual_seed(int(torch.randint(2**62, ())))  # all of torch's generators

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._mine = _now()
        _put(self._theirs)

    def tree(self) -> Tree:
        """Both states, as arrays and JSON values."""
        numpy, torch_state = self._mine
        return {"torch": torch_state.numpy().copy(), "numpy": {**numpy, "state": dict(numpy["state"])}}

    def load(self, tree: Tree) -> None:
        """Take over what `tree` gave.

        Raises:
            ValueError: not the states of the two generators.
        """
        numpy, state = tree["numpy"], tree["numpy"]["state"]
        key, place = state["key"], state["pos"]
        # Numpy takes any place and would read beyond its key.
        if key.shape != (624,) or key.dtype != np.uint32 or not isinstance(place, int) or not 0 <= place <= 624:
            raise ValueError("training state: not the state of numpy's MT19937 generator; the file was changed")
        load_generator(torch.Generator(), tree["torch"])
        self._mine = (numpy, torch.from_numpy(np.array(tree["torch"], np.uint8)))


def _now() -> tuple[dict[str, Any], torch.Tensor]:
    state: Any = np.random.get_state(legacy=False)  # noqa: NPY002 - SB3's minibatches come from it
    return state, torch.get_rng_state()


def _put(states: tuple[dict[str, Any], torch.Tensor]) -> None:
    np.random.set_state(states[0])  # noqa: NPY002 - as above
    torch.set_rng_state(states[1])
