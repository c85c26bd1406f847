"""Options of the policy of relations and directions."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, Literal

from srd_agents.training.learner import LearnerConfig
from srd_agents.training.options import Count, CountFromZero, NotNegative, Positive, PruningOption, RewardOption
from srd_gym.checks import check_integer, check_number
from srd_gym.core.own import UnknownClassError
from srd_gym.pruning import pruning_from

Rollouts = Annotated[int, partial(check_integer, least=2)]
"""Episodes of a topic that are compared with each other."""


def _two_sizes(name: str, value: Any) -> None:
    """Refuse other sizes of layers than two whole numbers from 1 up.

    Raises:
        TypeError: no whole number.
        ValueError: more or fewer than two, or a number below 1.
    """
    if len(value) != 2:
        raise ValueError(f"{name} must be two numbers, one per layer, as [32, 32]; got {list(value)}")
    for size in value:
        check_integer(name, size, 1)


@dataclass(frozen=True, kw_only=True)
class EpisodesConfig(LearnerConfig):
    """Options of learners of sampled episodes."""

    reward: RewardOption = "alpha_nDCG"
    """Measure that is the return. Without a cutoff it counts to the horizon. A reward of your own: "module:NAME"."""
    horizon: int | None = 10
    """Ranks of a training episode; None ranks the whole list."""
    pruning: PruningOption = None
    """Strategy that masks candidates in training episodes: "knn:0.3", "ranker:0.5:step:FOLDER", or "module:NAME" of
    your own (`srd_gym.pruning.parse_pruning`); None masks none."""
    device: str = "cpu"
    """Device for training, as torch names it ("cpu", "cuda"). On others than the CPU episodes, rewards and updates stay
    there, but for rewards and pruning of your own and for `mdp-div`; batches of hundreds of topics keep it busy.
    Ranking always runs on the CPU."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.horizon is not None:
            check_integer("horizon", self.horizon, 1)
        if self.pruning is not None:
            with contextlib.suppress(UnknownClassError):  # a model ranks without what its training was pruned by
                pruning_from(self.pruning)


@dataclass(frozen=True, kw_only=True)
class ReinforceConfig(EpisodesConfig):
    """A policy of relations and directions, trained by REINFORCE with batches, a baseline and Adam."""

    epochs: Count = 20
    """Largest number of passes over the training topics."""
    batch_topics: Count = 16
    """Topics per update."""
    parts: Literal["both", "relations", "directions"] = "both"
    """Parts of the policy. "relations" reads similarity and rank features, so it serves embeddings of any width.
    "directions" reads the embeddings themselves."""
    relations_only: Annotated[float, partial(check_number, least=0.0, most=0.99)] = 0.5
    """Share of the updates in which relations act and learn without directions, where the policy has both. Relations
    can then rank alone where, by validation, directions do not transfer."""
    init: Literal["pretrained", "random"] = "pretrained"
    """Initial weights of the relations: those of the package (training is then fine-tuning), or random ones."""
    hidden_sizes: Annotated[tuple[int, int], _two_sizes] = (32, 32)
    """Units of the two layers that read relations; "pretrained" weights have their own sizes."""
    hidden_size: Count = 64
    """H, width of the layers that read embedding features."""
    rollouts: Rollouts = 8
    """Episodes of each topic per update, at least 2. Each is compared with the mean of the others."""
    learning_rate: Positive = 0.003
    """Initial learning rate of Adam."""
    lr_decay_epochs: CountFromZero = 20
    """Epochs over which the learning rate falls along half a cosine, to a twentieth; 0: it stays constant."""
    entropy_coef: NotNegative = 0.02
    """Weight of the policy's entropy (nats per rank), beside advantages of unit size."""
    max_grad_norm: Positive = 1.0
    """Largest norm of the gradient of an update; larger ones are shortened."""
    ema_decay: Annotated[float, partial(check_number, least=0.0, most=0.9999)] = 0.0
    """Decay of the moving average of the weights, per update. The average is validated and saved. It begins as a plain
    mean, so that it forgets the initial weights. 0: no average."""
