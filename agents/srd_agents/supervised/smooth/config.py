"""Options of DALETOR and MO4SRD."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from srd_agents.supervised.attention_config import AttentionConfig
from srd_agents.training.options import Positive


@dataclass(frozen=True, kw_only=True)
class DaletorConfig(AttentionConfig):
    """DALETOR: a smooth alpha_DCG of scores."""

    temperature: Positive = 0.1
    """T of the sigmoid that replaces "is ranked before": smaller is steeper, and closer to the measure."""


@dataclass(frozen=True, kw_only=True)
class Mo4srdConfig(AttentionConfig):
    """MO4SRD: a measure of expected ranks, scores being Gaussian."""

    measure: Literal["alpha_DCG", "ERR_IA"] = "alpha_DCG"
    """Measure to maximise."""
    correlated: bool = False
    """Let the scores of two documents correlate as the cosine of their rows."""
