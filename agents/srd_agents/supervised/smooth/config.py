"""Options of DALETOR and MO4SRD."""

from __future__ import annotations

from dataclasses import dataclass

from srd_agents.config import check_between, check_count, check_one_of, check_positive
from srd_agents.learner import LearnerConfig


@dataclass(frozen=True, kw_only=True)
class SmoothConfig(LearnerConfig):
    """What scorers that are trained on a smooth diversity measure share."""

    batch_topics: int = 16
    """Topics per update."""
    width: int = 64
    """Width of the rows that the attention works on, a multiple of `heads`."""
    heads: int = 4
    """Heads of the attention."""
    blocks: int = 2
    """Blocks of self-attention and feed-forward layer, one upon the other."""
    alpha: float = 0.5
    """How much a covered subtopic is worth less each further time, from 0 to below 1."""
    features: bool = True
    """Also read the cosine of query and document and the retrieval order, where topics have them."""
    standardize: bool = True
    """Shift and scale the vectors by the training documents' mean and deviation."""
    learning_rate: float = 0.001
    """Step size of Adam."""
    clip_norm: float = 1.0
    """Length that gradients are cut to."""
    device: str = "cpu"
    """Where it is trained, in torch's words ("cpu", "cuda"); ranking always runs on the CPU."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("width", "heads", "blocks"):
            check_count(name, getattr(self, name))
        if self.width % self.heads:
            raise ValueError(f"width must be a multiple of heads, got width {self.width} and {self.heads} heads")
        check_between("alpha", self.alpha, 0.0, 1.0)
        if self.alpha == 1:
            raise ValueError("alpha must be below 1, where a second document on a subtopic is still worth something")
        check_positive("learning_rate", self.learning_rate)
        check_positive("clip_norm", self.clip_norm)


@dataclass(frozen=True, kw_only=True)
class DaletorConfig(SmoothConfig):
    """DALETOR: a smooth alpha_DCG of scores."""

    temperature: float = 0.1
    """T of the sigmoid that takes the place of "is ranked before": smaller is closer to the measure, and steeper."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive("temperature", self.temperature)


@dataclass(frozen=True, kw_only=True)
class Mo4srdConfig(SmoothConfig):
    """MO4SRD: a measure of expected ranks, scores being Gaussian."""

    measure: str = "alpha_DCG"
    """What is maximised: "alpha_DCG" or "ERR_IA"."""
    correlated: bool = False
    """Whether the scores of two documents correlate as much as the cosine of their rows says."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_one_of("measure", self.measure, ("alpha_DCG", "ERR_IA"))
