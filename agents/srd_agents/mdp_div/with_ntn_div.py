"""MDP-DIV on fewer candidates, chosen by an NTN-DIV trained first (Liu et al. 2018)."""

from __future__ import annotations

import time
from typing import Any, ClassVar

import numpy as np

from srd_agents.mdp_div.agent import MdpDiv
from srd_agents.mdp_div.config import MdpDivNtnConfig
from srd_agents.registry import RANKERS
from srd_agents.supervised.ntn_div.agent import NtnDiv
from srd_agents.training.files import Weights
from srd_gym.dtypes import AnyArray
from srd_gym.pruning import ByRanker
from srd_gym.topic import TopicSet

_PREFIX = "ntn."


class MdpDivNtn(MdpDiv):
    """MDP-DIV-NTN(D) and (E): the policy sees the half of the candidates that NTN-DIV puts first.

    D: it ranks a topic's candidates once. E (`when="step"`): it chooses after each rank, given what was selected; drops
    are final, so it prunes once, after the first rank.

    NTN-DIV is trained before the policy, on the same training topics (a fifth of them, drawn from the seed, tells it
    when to stop), and its weights are part of this model and of its checkpoints. Its training counts in the history's
    seconds and towards a time budget.

    Differs from the paper: NTN-DIV, ranker `ntn-div` with 100 slices, is trained on four fifths of the training topics;
    what else differs for `ntn-div` and `mdp-div`.
    """

    name: str = "mdp-div-ntn-d"
    config_class: ClassVar[type[Any]] = MdpDivNtnConfig

    config: MdpDivNtnConfig
    _ntn: NtnDiv

    def _build(self, vector_width: int) -> None:
        super()._build(vector_width)
        config = RANKERS["ntn-div"].configure(
            slices=self.config.ntn_slices,
            epochs=self.config.ntn_epochs,
            loss=self.config.ntn_loss,
            learning_rate=self.config.ntn_learning_rate,
            tensor_rate=self.config.ntn_tensor_rate,
            device=self.config.device,
        )
        self._ntn = NtnDiv(config)
        self._ntn.vector_width = vector_width
        self._ntn._build(vector_width)
        self.pruning = ByRanker(self._ntn, 0.5, when=self.config.when)

    def _prepare(self, topics: TopicSet, seed: int) -> None:
        if not self._resuming:  # a checkpoint has its weights
            self._pretrain(topics, seed)
        super()._prepare(topics, seed)

    def _pretrain(self, topics: TopicSet, seed: int) -> None:
        """Train NTN-DIV."""
        began, cpu = time.monotonic(), time.process_time()
        order = np.random.default_rng([seed, 0x4E54]).permutation(len(topics)).tolist()
        held_out = len(topics) // 5
        rest = topics.replace(topics[index] for index in sorted(order[held_out:]))
        judge = topics.replace(topics[index] for index in sorted(order[:held_out])) if held_out else None
        self._ntn.fit(rest, judge, seed=seed)
        self.pretraining_seconds = time.monotonic() - began
        self.pretraining_cpu_seconds = time.process_time() - cpu

    def _weights(self) -> dict[str, AnyArray]:
        return super()._weights() | {_PREFIX + name: array for name, array in self._ntn._weights().items()}

    def _set_weights(self, weights: Weights) -> None:
        super()._set_weights({name: array for name, array in weights.items() if not name.startswith(_PREFIX)})
        own = {name.removeprefix(_PREFIX): array for name, array in weights.items() if name.startswith(_PREFIX)}
        self._ntn._set_weights(own)
