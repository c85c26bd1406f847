"""Options of the linear rankers: R-LTR, PAMM, SGDMM, ListMLE, StructSVM and SVM-DIV."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from srd_agents.config import Count, NotNegative, Positive, Share
from srd_agents.learner import LearnerConfig

Pooling = Literal["max", "min", "mean"]


@dataclass(frozen=True, kw_only=True)
class LinearConfig(LearnerConfig):
    """What all linear rankers share."""

    batch_topics: Count = 2
    """Topics per update."""
    optimizer: Literal["adam", "sgd"] = "adam"
    """"sgd" is the papers' plain gradient descent."""
    learning_rate: Positive = 0.03
    """Step size."""
    clip_norm: Positive = 10.0
    """Length that a step's gradient is cut to."""
    depth: Count = 20
    """Ranks that it learns from: rankings and likelihoods are truncated here."""


@dataclass(frozen=True, kw_only=True)
class ColumnsConfig(LinearConfig):
    """Those that read columns."""

    columns: str = ""
    """The topics' own columns to read as well (names of `feature_names`, separated by commas); one named
    "relation:..." is a position whose differences are a relation of documents."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if any(not name for name in self.columns.split(",")) and self.columns:
            raise ValueError(f"columns must be names separated by commas, got {self.columns!r}")

    @property
    def column_names(self) -> tuple[str, ...]:
        """The names in `columns`."""
        return tuple(name.strip() for name in self.columns.split(",")) if self.columns else ()


@dataclass(frozen=True, kw_only=True)
class RltrConfig(ColumnsConfig):
    """R-LTR: the likelihood of the ideal ranking."""

    pooling: Pooling = "min"
    """How the relations with the documents ranked so far are summed up."""
    measure: str = "alpha_nDCG"
    """E, what an ideal ranking maximises; without a cutoff it counts to `depth`."""


@dataclass(frozen=True, kw_only=True)
class PairConfig(RltrConfig):
    """PAMM, SGDMM-Log and SGDMM-Exp: learners from pairs of a good and a bad ranking."""

    positives: Count = 5
    """tau+, good rankings a topic: the ideal and variants of it with equally judged documents swapped."""
    negatives: Count = 20
    """tau-, bad rankings a topic, drawn at random."""
    negative_below: Share = 0.8
    """What a bad ranking may reach in the measure, in shares of the ideal's."""


@dataclass(frozen=True, kw_only=True)
class ListMleConfig(ColumnsConfig):
    """ListMLE: the likelihood of the ranking by number of covered subtopics; relevance only."""

    depth: Count = 1000
    """Ranks that it learns from; ListMLE's likelihood is that of the whole list."""


@dataclass(frozen=True, kw_only=True)
class StructSvmConfig(ColumnsConfig):
    """StructSVM(E): a linear score whose ranking should beat every other one by its loss 1 - E."""

    measure: str = "alpha_nDCG"
    """E; without a cutoff it counts to `depth`."""
    regularisation: NotNegative = 0.001
    """What half the squared length of the weights costs."""


@dataclass(frozen=True, kw_only=True)
class SvmDivConfig(LinearConfig):
    """SVM-DIV: the set of documents that covers the most weight of words."""

    depth: Count = 10
    """Documents of the sets that it learns from."""
    measure: str = "alpha_nDCG"
    """What the sets to be learned maximise (greedily); without a cutoff it counts to `depth`."""
    max_words: Count = 2000
    """Words of a topic at most, those that most documents use."""
    regularisation: NotNegative = 0.001
    """What half the squared length of the weights costs."""
